"""DML_OPERATOR_TILE: the input repeated along each dimension."""

from __future__ import annotations

from typing import ClassVar

from dml_conformance.spec.datatypes import FLOATS, UP_TO_32_BIT, UP_TO_64_BIT_NO_FLOAT64
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    DATA,
    FOUR_ONLY,
    ONE_TO_EIGHT,
    OperatorDesc,
    OperatorSpec,
    Support,
    ids,
    output_sizes_rule,
    shapes_comparable,
    tensor_input,
    tensor_output,
    uint_array,
)
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

PAGE = "ns-directml-dml_tile_operator_desc"


class TileDesc(OperatorDesc, frozen=True):
    """`DML_TILE_OPERATOR_DESC`; RepeatsCount is the length of `repeats`."""

    operator: ClassVar[str] = "TILE"
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    repeats: tuple[int, ...]


def output_sizes(desc: TileDesc) -> tuple[int, ...]:
    """Each size times its repeat."""
    return tuple(size * repeat for size, repeat in zip(desc.input_tensor.sizes, desc.repeats, strict=True))


def _repeats_count(desc: TileDesc, level: Level) -> Breach | None:
    given, count = len(desc.repeats), len(desc.input_tensor.sizes)
    return None if given == count else Breach("RepeatsCount", f"{given}, InputTensor has {count} dimensions")


def _repeats(desc: TileDesc, level: Level) -> list[Breach]:
    return [Breach(f"Repeats[{d}]", "0") for d, repeat in enumerate(desc.repeats) if repeat == 0]


_COMPARABLE = shapes_comparable("TILE")

SPEC = OperatorSpec(
    name="TILE",
    type_value=70,
    desc=TileDesc,
    introduced_in=Level.L1_0,
    fields=(
        tensor_input("InputTensor", "input_tensor"),
        tensor_output("OutputTensor", "output_tensor"),
        uint_array("Repeats", "repeats", "RepeatsCount"),
    ),
    tables={
        Level.L1_0: {DATA: Support(FOUR_ONLY, FLOATS)},
        Level.L2_1: {DATA: Support(FOUR_ONLY, UP_TO_32_BIT)},
        Level.L3_1: {DATA: Support(ONE_TO_EIGHT, UP_TO_32_BIT)},
        Level.L4_1: {DATA: Support(ONE_TO_EIGHT, UP_TO_64_BIT_NO_FLOAT64)},
    },
    output_sizes=output_sizes,
    own_rules=(
        Rule(
            "TILE.repeats-count",
            Category.ATTRIBUTES,
            "RepeatsCount is InputTensor.DimensionCount",
            Source(PAGE, "RepeatsCount"),
            "give one repeat for each dimension",
            check=_repeats_count,
            needs=_COMPARABLE,
        ),
        Rule(
            "TILE.repeats",
            Category.ATTRIBUTES,
            "every repeat is above 0",
            Source(PAGE, "Repeats"),
            "use 1 for a dimension that is not repeated",
            check=_repeats,
            needs=ids("TILE", "introduced-in"),
        ),
        output_sizes_rule("TILE", Source(PAGE, "OutputTensor"), _COMPARABLE | ids("TILE", "repeats-count", "repeats")),
    ),
    execution_rules=(
        Rule(
            "TILE.values",
            Category.EXECUTION,
            "every output element is the input element at its coordinates modulo the input's sizes, bit for bit",
            Source(PAGE),
        ),
    ),
    source=Source(PAGE),
    summary="repeats the input along each dimension",
    pseudocode="output[c...] = input[c[d] % InputTensor.Sizes[d] for each d]",
)
