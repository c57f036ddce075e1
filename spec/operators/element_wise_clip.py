"""Operators that hold elements between limits, ELEMENT_WISE_CLIP, _CLIP1 and _THRESHOLD, and the gradients of CLIP.

Limits are FLOAT members, which become numbers of the tensors' type first; CLIP1 has them in that type.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import type_of
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.structures import DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC

SPECS = (
    element_wise("ELEMENT_WISE_CLIP"),
    element_wise("ELEMENT_WISE_THRESHOLD"),
    element_wise("ELEMENT_WISE_CLIP1", type_of("MinMaxDataType")),
    element_wise("ELEMENT_WISE_CLIP_GRAD"),
    element_wise("ELEMENT_WISE_CLIP_GRAD1", type_of("MinMaxDataType", "OutputGradientTensor")),
)


def limits_of_any_type(desc: DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC) -> bool:
    """Whether CLIP1's limits are not of the tensors' type."""
    return desc.min_max_data_type != desc.output_tensor.data_type


DIVERGENCES = {"DIV-clip1-limits-of-any-type": limits_of_any_type}
