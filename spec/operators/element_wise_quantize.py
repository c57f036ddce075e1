"""Numbers as integers of 8 bits and back: ELEMENT_WISE_QUANTIZE_LINEAR, _DEQUANTIZE_LINEAR and _QUANTIZED_LINEAR_ADD.

ScaleTensor and ZeroPointTensor have an element for each of InputTensor; strides of 0 let one stand for many. What is
added has one scale and one zero point for all elements.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import Constraint, given, same_sizes, same_type, sizes_follow
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._element_wise import element_wise, first_sizes
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.structures import DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC

QUANTIZE, DEQUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"
ADD = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"


def scale_data_type(data_type: DataType) -> DataType:
    """That of the scales by which elements of a type are quantized."""
    return data_type if data_type.is_float else DataType.FLOAT32


ZERO_POINT = given(
    "ZeroPointTensor",
    statement="below level 6_2 ZeroPointTensor is given",
    section="Tensor support",
    remedy="give it, full of zeros, or ask for level 6_2",
    until=Level.L6_2,
)


def _scale_data_type(desc: DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, level: Level) -> Breach | None:
    found, wanted = desc.scale_tensor.data_type, scale_data_type(desc.input_tensor.data_type)
    if found == wanted:
        return None
    return Breach(
        "ScaleTensor.DataType", f"{found.name}, {desc.input_tensor.data_type.name} is scaled by {wanted.name}"
    )


def _one_element(tensor: str) -> Constraint:
    """A size of 1 along every dimension."""
    return sizes_follow(
        tensor, lambda desc: (1,) * len(desc.a_tensor.sizes), "one element has", f"{tensor} has one element"
    )


SPECS = (
    element_wise(
        QUANTIZE,
        ZERO_POINT,
        same_type("ScaleTensor", "InputTensor", check=_scale_data_type),
    ),
    element_wise(DEQUANTIZE, ZERO_POINT),
    element_wise(
        ADD,
        same_sizes("BTensor", "ATensor"),
        *(_one_element(f"{of}{what}Tensor") for what in ("Scale", "ZeroPoint") for of in ("A", "B", "Output")),
        shape=first_sizes,
    ),
)
