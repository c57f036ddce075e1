"""DML_OPERATOR_GATHER_ELEMENTS: one input element for each index, along one axis."""

from __future__ import annotations

from typing import ClassVar

from dml_conformance.spec.datatypes import ALL, INDEX_TYPES, UINT32_ONLY, UP_TO_32_BIT
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    DATA,
    FOUR_ONLY,
    INDICES,
    ONE_TO_EIGHT,
    IndexRule,
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
from dml_conformance.spec.operators._indexing import axis_range_rule, indexing_execution_rules
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc

PAGE = "ns-directml-dml_gather_elements_operator_desc"


class GatherElementsDesc(OperatorDesc, frozen=True):
    """`DML_GATHER_ELEMENTS_OPERATOR_DESC`."""

    operator: ClassVar[str] = "GATHER_ELEMENTS"
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int


def output_sizes(desc: GatherElementsDesc) -> tuple[int, ...]:
    """The sizes of the index tensor."""
    return desc.indices_tensor.sizes


def _sizes_off_axis(desc: GatherElementsDesc, level: Level) -> list[Breach]:
    pairs = zip(desc.input_tensor.sizes, desc.indices_tensor.sizes, strict=True)
    return [
        Breach(f"IndicesTensor.Sizes[{d}]", f"{index_size}, InputTensor has {input_size}")
        for d, (input_size, index_size) in enumerate(pairs)
        if d != desc.axis and input_size != index_size
    ]


_COMPARABLE = shapes_comparable("GATHER_ELEMENTS")

SPEC = OperatorSpec(
    name="GATHER_ELEMENTS",
    type_value=107,
    desc=GatherElementsDesc,
    introduced_in=Level.L2_1,
    fields=(
        tensor_input("InputTensor", "input_tensor"),
        tensor_input("IndicesTensor", "indices_tensor", INDICES),
        tensor_output("OutputTensor", "output_tensor"),
        uint("Axis", "axis"),
    ),
    tables={
        Level.L2_1: {DATA: Support(FOUR_ONLY, UP_TO_32_BIT), INDICES: Support(FOUR_ONLY, UINT32_ONLY)},
        Level.L3_0: {DATA: Support(ONE_TO_EIGHT, UP_TO_32_BIT), INDICES: Support(ONE_TO_EIGHT, INDEX_TYPES)},
        Level.L4_1: {DATA: Support(ONE_TO_EIGHT, ALL), INDICES: Support(ONE_TO_EIGHT, INDEX_TYPES)},
    },
    output_sizes=output_sizes,
    own_rules=(
        axis_range_rule("GATHER_ELEMENTS", PAGE),
        Rule(
            "GATHER_ELEMENTS.sizes-off-axis",
            Category.SHAPE,
            "IndicesTensor has the sizes of InputTensor in every dimension but Axis",
            Source(PAGE, "IndicesTensor"),
            "give both the same sizes off the axis",
            check=_sizes_off_axis,
            needs=_COMPARABLE | ids("GATHER_ELEMENTS", "axis-range"),
        ),
        output_sizes_rule("GATHER_ELEMENTS", Source(PAGE, "OutputTensor"), _COMPARABLE),
    ),
    execution_rules=indexing_execution_rules(
        "GATHER_ELEMENTS", PAGE, Level.L2_1, "the Axis dimension", silent=("GATHER_ELEMENTS-2",)
    ),
    source=Source(PAGE),
    summary="gathers single elements of the input along Axis, one for each index",
    pseudocode="output[..., i, ...] = input[..., indices[..., i, ...], ...]",
    index=IndexRule("indices_tensor", "input_tensor", lambda desc: (desc.input_tensor.sizes[desc.axis],)),
)
