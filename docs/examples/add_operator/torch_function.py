"""What is added to `backends/torch/operators.py` and `backends/torch/tables.py`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError
from dml_conformance.backends.torch.tables import FLOAT, FOUR, TO_32_BIT, TO_64_BIT, TensorSupport, TorchOperator
from dml_conformance.spec.levels import Level


def space_to_depth(desc: Any, source: Tensor, out: Tensor | None = None) -> Tensor:
    """SPACE_TO_DEPTH: `output[n, (y * B + x) * C + c, h, w] = input[n, c, h * B + y, w * B + x]`; B is BlockSize."""
    batch, channels, height, width = source.shape
    block = desc.block_size
    if block < 1 or height % block or width % block:
        raise PlanError(f"BlockSize is {block}, the input has height {height} and width {width}")
    height, width = height // block, width // block
    blocks = source.view(batch, channels, height, block, width, block).permute(0, 3, 5, 1, 2, 4)
    if out is None:
        return blocks.reshape(batch, channels * block**2, height, width)
    out.view(blocks.shape).copy_(blocks)
    return out


ROW = TorchOperator(
    space_to_depth,
    ("input_tensor",),
    {
        Level.L1_0: TensorSupport(FOUR, FLOAT),
        Level.L2_1: TensorSupport(FOUR, TO_32_BIT),
        Level.L5_0: TensorSupport(FOUR, TO_64_BIT),
    },
)
