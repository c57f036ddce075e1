"""DML_OPERATOR_GATHER_ELEMENTS: one input element for each index, along one axis."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of, same_sizes_off
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    Shapes,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._indexing import (
    axis_limit,
    indexing_execution_rules,
)
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_gather_elements_operator_desc"


def shape(desc: Any) -> Shapes:
    """The sizes of the index tensor."""
    return {"output_tensor": desc.indices_tensor.sizes}


_COMPARABLE = shapes_comparable("GATHER_ELEMENTS")

GATHER_ELEMENTS = operator_spec(
    "GATHER_ELEMENTS",
    shape=shape,
    groups={"IndicesTensor": INDICES},
    own_rules=(
        axis_of("Axis"),
        same_sizes_off("Axis", "IndicesTensor", "InputTensor", after=("axis-range",)),
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
