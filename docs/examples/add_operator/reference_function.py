"""What is added to `backends/reference/operators.py` and `backends/reference/decisions.py`."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference import decisions, layout, operators
from dml_conformance.backends.reference.decisions import FOUR, Rejection, Sizes, TypeTableRow
from dml_conformance.backends.reference.layout import Bits
from dml_conformance.spec.levels import Level


def space_to_depth(desc: Any, source: Bits, out: Bits) -> None:
    """output[n, (y * B + x) * C + c, h, w] = input[n, c, h * B + y, w * B + x]; B is BlockSize."""
    batch, channels, height, width = source.shape
    block = desc.block_size
    height, width = height // block, width // block
    blocks = source.reshape(batch, channels, height, block, width, block)
    out.reshape(batch, block, block, channels, height, width)[...] = blocks.transpose(0, 3, 5, 1, 2, 4)


def space_to_depth_sizes(desc: Any) -> Sizes:
    batch, channels, height, width = desc.input_tensor.sizes
    block = desc.block_size
    if block < 1 or height % block or width % block:
        raise Rejection(f"blocks of {block} in {height} by {width}")
    return (batch, channels * block**2, height // block, width // block)


COMPUTED = operators.OperatorFunction(space_to_depth, {"input_tensor": layout.bits})
DECIDED = decisions.OperatorDecisions(
    (TypeTableRow(Level.L1_0, FOUR, 0, 4), TypeTableRow(Level.L2_1, FOUR, 4, 4), TypeTableRow(Level.L5_0, FOUR, 8, 8)),
    ("input_tensor", "output_tensor"),
    space_to_depth_sizes,
)
