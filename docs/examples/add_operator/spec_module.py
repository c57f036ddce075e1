"""DML_OPERATOR_SPACE_TO_DEPTH: blocks of height and width moved into channels."""

from __future__ import annotations

from typing import ClassVar

from dml_conformance.spec.datatypes import ALL, FLOATS, UP_TO_32_BIT
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    DATA,
    FOUR_ONLY,
    OperatorDesc,
    OperatorSpec,
    Support,
    ids,
    output_sizes_rule,
    shapes_comparable,
    tensor_input,
    tensor_output,
    uint,
)
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

PAGE = "ns-directml-dml_space_to_depth_operator_desc"


class SpaceToDepthDesc(OperatorDesc, frozen=True):
    """`DML_SPACE_TO_DEPTH_OPERATOR_DESC`."""

    operator: ClassVar[str] = "SPACE_TO_DEPTH"
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    block_size: int


def output_sizes(desc: SpaceToDepthDesc) -> tuple[int, ...]:
    """Height and width divided by BlockSize, channels times its square."""
    batch, channels, height, width = desc.input_tensor.sizes
    block = desc.block_size
    return (batch, channels * block * block, height // block, width // block)


def _block_size(desc: SpaceToDepthDesc, level: Level) -> Breach | None:
    return None if desc.block_size else Breach("BlockSize", "0")


def _whole_blocks(desc: SpaceToDepthDesc, level: Level) -> list[Breach]:
    sizes = desc.input_tensor.sizes
    return [Breach(f"InputTensor.Sizes[{d}]", str(sizes[d])) for d in (2, 3) if sizes[d] % desc.block_size]


_COMPARABLE = shapes_comparable("SPACE_TO_DEPTH") | ids("SPACE_TO_DEPTH", "dimension-counts")

SPEC = OperatorSpec(
    name="SPACE_TO_DEPTH",
    type_value=68,
    desc=SpaceToDepthDesc,
    introduced_in=Level.L1_0,
    fields=(
        tensor_input("InputTensor", "input_tensor"),
        tensor_output("OutputTensor", "output_tensor"),
        uint("BlockSize", "block_size"),
    ),
    tables={
        Level.L1_0: {DATA: Support(FOUR_ONLY, FLOATS)},
        Level.L2_1: {DATA: Support(FOUR_ONLY, UP_TO_32_BIT)},
        Level.L5_0: {DATA: Support(FOUR_ONLY, ALL)},
    },
    output_sizes=output_sizes,
    own_rules=(
        Rule(
            "SPACE_TO_DEPTH.block-size",
            Category.ATTRIBUTES,
            "BlockSize is above 0",
            Source(PAGE, "BlockSize"),
            "use 1 to move nothing",
            check=_block_size,
            needs=ids("SPACE_TO_DEPTH", "introduced-in"),
        ),
        Rule(
            "SPACE_TO_DEPTH.whole-blocks",
            Category.SHAPE,
            "height and width of the input are multiples of BlockSize",
            Source(PAGE, "OutputTensor"),
            "pad the input, or choose another BlockSize",
            check=_whole_blocks,
            needs=_COMPARABLE | ids("SPACE_TO_DEPTH", "block-size"),
        ),
        output_sizes_rule(
            "SPACE_TO_DEPTH",
            Source(PAGE, "OutputTensor"),
            _COMPARABLE | ids("SPACE_TO_DEPTH", "block-size", "whole-blocks"),
        ),
    ),
    execution_rules=(
        Rule(
            "SPACE_TO_DEPTH.values",
            Category.EXECUTION,
            "every output element is the input element that the block order names, bit for bit",
            Source(PAGE),
        ),
    ),
    source=Source(PAGE),
    summary="moves blocks of height and width into channels",
    pseudocode="output[n, (y * BlockSize + x) * C + c, h, w] = input[n, c, h * BlockSize + y, w * BlockSize + x]",
)
