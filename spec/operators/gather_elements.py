"""DML_OPERATOR_GATHER_ELEMENTS: one input element for each index, along one axis."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._indexing import axis_limit, axis_range_rule, indexing_execution_rules
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_gather_elements_operator_desc"


def shape(desc: Any) -> Shapes:
    """The sizes of the index tensor."""
    return {"output_tensor": desc.indices_tensor.sizes}


def _sizes_off_axis(desc: Any, level: Level) -> list[Breach]:
    pairs = zip(desc.input_tensor.sizes, desc.indices_tensor.sizes, strict=True)
    return [
        Breach(f"IndicesTensor.Sizes[{d}]", f"{index_size}, InputTensor has {input_size}")
        for d, (input_size, index_size) in enumerate(pairs)
        if d != desc.axis and input_size != index_size
    ]


_COMPARABLE = shapes_comparable("GATHER_ELEMENTS")

GATHER_ELEMENTS = operator_spec(
    "GATHER_ELEMENTS",
    shape=shape,
    groups={"IndicesTensor": INDICES},
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
        "GATHER_ELEMENTS", PAGE, "the Axis dimension", silent=("GATHER_ELEMENTS-2",)
    ),
    summary="gathers single elements of the input along Axis, one for each index",
    pseudocode="output[..., i, ...] = input[..., indices[..., i, ...], ...]",
    index=IndexRule("indices_tensor", "input_tensor", axis_limit),
)

SPECS = (GATHER_ELEMENTS,)
