"""DML_OPERATOR_GATHER_ELEMENTS: one input element for each index, along one axis."""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, same_sizes_off
from dml_conformance.spec.operator import IndexRule, Shapes, operator_spec, output_sizes
from dml_conformance.spec.operators._indexing import axis_limit
from dml_conformance.spec.structures import GatherElements


def shape(desc: GatherElements) -> Shapes:
    """The sizes of the index tensor."""
    return {"output_tensor": desc.indices_tensor.sizes}


SPECS = (
    operator_spec(
        "GATHER_ELEMENTS",
        shape=shape,
        own_rules=(
            axis_of("Axis"),
            same_sizes_off("Axis", "IndicesTensor", "InputTensor", after=("axis-range",)),
            output_sizes(),
        ),
        index=IndexRule("indices_tensor", "input_tensor", axis_limit),
    ),
)
