"""DML_OPERATOR_SPACE_TO_DEPTH, DEPTH_TO_SPACE and their successors: blocks of an image become channels, and back.

The successors let the order of the new channels be chosen; the older ones have DEPTH_COLUMN_ROW. The sizes of
SPACE_TO_DEPTH here are the corrected ones (errata SPACE_TO_DEPTH-1, SPACE_TO_DEPTH1-1): the pages print those of the
opposite operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dml_conformance.spec.constraints import Rules, within
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source

Shape = Callable[[Any], Shapes | Misfit]

RANK = 4  # batch, channels, height, width


def order_of(desc: Any) -> int:
    """The successors' Order; DEPTH_COLUMN_ROW of the operators that have none."""
    return int(getattr(desc, "order", enumeration("DML_DEPTH_SPACE_ORDER").DEPTH_COLUMN_ROW))


def space_to_depth_shape(desc: Any) -> Shapes | Misfit:
    """Height and width shrink by BlockSize, the channels grow by its square."""
    misfit, block = _image_misfit(desc), desc.block_size
    if misfit is not None:
        return misfit
    batch, channels, height, width = desc.input_tensor.sizes
    if height % block or width % block:
        return Misfit("BlockSize", f"{block} does not divide the input's height and width, {height} and {width}")
    return {"output_tensor": (batch, channels * block * block, height // block, width // block)}


def depth_to_space_shape(desc: Any) -> Shapes | Misfit:
    """The channels shrink by BlockSize squared, height and width grow by BlockSize."""
    misfit, block = _image_misfit(desc), desc.block_size
    if misfit is not None:
        return misfit
    batch, channels, height, width = desc.input_tensor.sizes
    if channels % (block * block):
        return Misfit("BlockSize", f"{block} squared does not divide the input's {channels} channels")
    return {"output_tensor": (batch, channels // (block * block), height * block, width * block)}


def _image_misfit(desc: Any) -> Misfit | None:
    if len(desc.input_tensor.sizes) != RANK:
        return Misfit("InputTensor.DimensionCount", str(len(desc.input_tensor.sizes)))
    return None if desc.block_size else Misfit("BlockSize", "0")


def _rules(operator: str, page: str, shape: Shape, divided: str, settles: tuple[str, ...]) -> Rules:
    comparable = shapes_comparable(operator) | ids(operator, "dimension-counts")

    def divisible(desc: Any, level: Level) -> Breach | None:
        found = shape(desc)
        return Breach(*found) if isinstance(found, Misfit) else None

    return (
        within(
            "BlockSize",
            1,
            None,
            name="block-size",
            statement="BlockSize is above 0; by the formula of the output's sizes 0 gives an output without elements",
            remedy="use 1 for blocks of one element, which leave everything in its place",
        ),
        Rule(
            f"{operator}.divisible",
            Category.SHAPE,
            f"{divided}, as the output holds every element of the input",
            Source(page, "OutputTensor"),
            "pad the input, or use another BlockSize",
            check=divisible,
            needs=comparable | ids(operator, "block-size"),
        ),
        output_sizes_rule(
            operator,
            Source(page, "OutputTensor"),
            comparable | ids(operator, "block-size", "divisible"),
            settles=settles,
        ),
    )


def _operator(name: str, shape: Shape, divided: str, settles: tuple[str, ...] = (), **stated: str) -> OperatorSpec:
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    return operator_spec(
        name,
        shape=shape,
        own_rules=_rules(name, page, shape, divided, settles),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                "every output element is the input element of its block and place, bit for bit",
                Source(page),
            ),
        ),
        **stated,
    )


_SPACE = "BlockSize divides the input's height and width"
_DEPTH = "BlockSize squared divides the input's channels"
_TO_DEPTH = "moves blocks of height and width into the channels"
_TO_SPACE = "moves channels into blocks of height and width"

SPECS = (
    _operator(
        "SPACE_TO_DEPTH",
        space_to_depth_shape,
        _SPACE,
        ("SPACE_TO_DEPTH-1",),
        summary=_TO_DEPTH,
        pseudocode="output[n, (y * B + x) * C + c, h, w] = input[n, c, h * B + y, w * B + x]",
    ),
    _operator(
        "DEPTH_TO_SPACE",
        depth_to_space_shape,
        _DEPTH,
        summary=_TO_SPACE,
        pseudocode="output[n, c, h * B + y, w * B + x] = input[n, (y * B + x) * C + c, h, w]",
    ),
    _operator(
        "DEPTH_TO_SPACE1",
        depth_to_space_shape,
        _DEPTH,
        summary=f"{_TO_SPACE}, from either order of the channels",
        pseudocode="output[n, c, h * B + y, w * B + x] = input[n, (y * B + x) * C + c, h, w], "
        "or input[n, (c * B + y) * B + x, h, w] for COLUMN_ROW_DEPTH",
    ),
    _operator(
        "SPACE_TO_DEPTH1",
        space_to_depth_shape,
        _SPACE,
        ("SPACE_TO_DEPTH1-1",),
        summary=f"{_TO_DEPTH}, in either order of them",
        pseudocode="output[n, (y * B + x) * C + c, h, w], or [n, (c * B + y) * B + x, h, w] for COLUMN_ROW_DEPTH, = "
        "input[n, c, h * B + y, w * B + x]",
    ),
)


def block_size_squared_in_32_bits(desc: Any) -> bool:
    """The sizes fit where BlockSize squared and the products with it are cut to 32 bits."""
    block, squared = desc.block_size, desc.block_size**2 % 2**32
    if None in (desc.input_tensor, desc.output_tensor) or not squared or squared == block * block:
        return False
    if len(desc.input_tensor.sizes) != RANK:
        return False
    batch, channels, height, width = desc.input_tensor.sizes
    fitting = (batch, channels // squared, height * block % 2**32, width * block % 2**32)
    return channels % squared == 0 and bool(desc.output_tensor.sizes == fitting)


def division_by_block_size_squared(desc: Any) -> bool:
    """BlockSize squared is 0 in 32 bits, BlockSize is not."""
    return bool(desc.block_size and desc.block_size % 2**16 == 0)


DIVERGENCES = {
    "DIV-depth-to-space-block-in-32-bits": block_size_squared_in_32_bits,
    "DIV-depth-to-space-divides-by-zero": division_by_block_size_squared,
}
