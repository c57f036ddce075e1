"""Numbers as integers of 8 bits and back: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR.

ScaleTensor and ZeroPointTensor have an element for each of InputTensor; strides of 0 let one stand for many.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import given, same_type
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.sources import DATA_CONVERSION_RULES, Source

QUANTIZE, DEQUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"


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


def _scale_data_type(desc: Any, level: Level) -> Breach | None:
    found, wanted = desc.scale_tensor.data_type, scale_data_type(desc.input_tensor.data_type)
    if found == wanted:
        return None
    return Breach(
        "ScaleTensor.DataType", f"{found.name}, {desc.input_tensor.data_type.name} is scaled by {wanted.name}"
    )


SPECS = (
    element_wise(
        QUANTIZE,
        "every output element is the input element divided by that of ScaleTensor, rounded to the nearest whole "
        "number, of two that are as near to the even one, and with the element of ZeroPointTensor, or 0, added; what "
        "the type does not reach becomes its least or largest number. The quotient may be 2.5 ULP of ScaleTensor's "
        "type off, unless the scale is a power of two, and INT32 may be rounded to FLOAT32 before; subnormal FLOAT32 "
        "may be taken for 0. Left open are NaN, and scales that are 0 or not finite, or that are subnormal or have a "
        "subnormal reciprocal",
        settles=(f"{QUANTIZE}-1", f"{QUANTIZE}-2", f"{QUANTIZE}-3"),
        own_rules=(
            ZERO_POINT,
            same_type(
                "ScaleTensor",
                "InputTensor",
                name="scale-data-type",
                statement="ScaleTensor has the data type of InputTensor; of INT32 it is FLOAT32",
                section="Members, ScaleTensor",
                remedy="give ScaleTensor that data type",
                check=_scale_data_type,
            ),
        ),
        groups={"ScaleTensor": "", "ZeroPointTensor": "quantized", "OutputTensor": "quantized"},
        domains={"InputTensor": "terms", "ScaleTensor": "scales", "ZeroPointTensor": "zero points"},
        summary="stands for numbers by integers of 8 bits",
        pseudocode="output[c...] = clamp(round(input[c...] / scale[c...]) + zero_point[c...], least, largest)",
    ),
    element_wise(
        DEQUANTIZE,
        "every output element is the difference of the input element and that of ZeroPointTensor, or 0, times the "
        "element of ScaleTensor. Integers of 32 bits may be rounded to FLOAT32 before; left open are differences of "
        "them that their type does not have, and elements whose scale is 0, to which subnormal FLOAT32 ones may count. "
        "A number beyond FLOAT16 becomes its largest, as Direct3D's conversions have it, or infinite",
        settles=(f"{DEQUANTIZE}-1", f"{DEQUANTIZE}-2", f"{DEQUANTIZE}-3"),
        also=(Source(DATA_CONVERSION_RULES, "Floating Point Conversion"),),
        own_rules=(ZERO_POINT,),
        groups={"InputTensor": "quantized", "ZeroPointTensor": "quantized"},
        primitives=("add", "multiply"),
        in_own_type=True,
        domains={"InputTensor": "terms", "ScaleTensor": "scales", "ZeroPointTensor": "zero points"},
        summary="makes numbers of the integers that stand for them",
        pseudocode="output[c...] = (input[c...] - zero_point[c...]) * scale[c...]",
    ),
)
