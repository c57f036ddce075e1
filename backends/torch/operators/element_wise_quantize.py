"""ELEMENT_WISE_QUANTIZE_LINEAR, ELEMENT_WISE_DEQUANTIZE_LINEAR and ELEMENT_WISE_QUANTIZED_LINEAR_ADD."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import operands
from dml_conformance.backends.torch.operators._numbers import widen
from dml_conformance.backends.torch.operators._quantized import quantized
from dml_conformance.spec import structures
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level

_INPUTS = frozenset({"input_tensor", "scale_tensor", "zero_point_tensor"})


def quantize(desc: structures.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """QUANTIZE_LINEAR: `clamp(round(input[c...] / scale[c...]) + zero_point[c...], least, largest)`, in FLOAT32."""
    source, scale, zero_point = _operands(tensors)
    return {"output_tensor": quantized(source.to(torch.float32), scale, zero_point, desc.output_tensor.data_type)}


def quantized_add(desc: structures.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """QUANTIZED_LINEAR_ADD: both are made numbers, and their sum is quantized, in FLOAT32."""
    (a, b), single = operands(tensors), [key for key in tensors if key.endswith(("scale_tensor", "zero_point_tensor"))]
    if a.shape != b.shape or any(tensors[key].numel() != 1 for key in single):
        raise PlanError("A and B have the same sizes, scales and zero points one element each")
    if a.is_meta:
        return {"output_tensor": a}
    total = _number(tensors, "a", a) + _number(tensors, "b", b)
    scale, zero_point = tensors["output_scale_tensor"], tensors.get("output_zero_point_tensor")
    return {"output_tensor": quantized(total, scale, zero_point, desc.output_tensor.data_type)}


def _number(tensors: Tensors, name: str, source: Tensor) -> Tensor:
    """`(x - zero point) * scale`."""
    zero_point = tensors.get(f"{name}_zero_point_tensor")
    difference = source.float() if zero_point is None else source.float() - zero_point
    return difference * tensors[f"{name}_scale_tensor"]


def dequantize(
    desc: structures.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC | structures.Quantize, tensors: Tensors
) -> Tensors:
    """DEQUANTIZE_LINEAR: `(input[c...] - zero_point[c...]) * scale[c...]`, in FLOAT32."""
    source, scale, zero_point = _operands(tensors)
    if source.is_meta:
        return {"output_tensor": source}
    difference = widen(source) if zero_point is None else widen(source) - widen(zero_point)
    return {"output_tensor": (difference.to(torch.float32) * scale.to(torch.float32)).to(scale.dtype)}


def _operands(tensors: Tensors) -> tuple[Tensor, Tensor, Tensor | None]:
    return tensors["input_tensor"], tensors["scale_tensor"], tensors.get("zero_point_tensor")


def _fault_of_scale(desc: structures.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, level: Level) -> str:
    """Whether a scale is of another type than what it scales."""
    source, scale = desc.input_tensor.data_type, desc.scale_tensor.data_type
    if scale != (source if source.is_float else DataType.FLOAT32):
        return f"{source.name} is not scaled by {scale.name}"
    return _fault(desc, level)


def _fault(desc: structures.WithZeroPointTensor, level: Level) -> str:
    """Whether ZeroPointTensor is missing where it has to be there."""
    return "ZeroPointTensor is missing" if level < Level.L6_2 and desc.zero_point_tensor is None else ""


OPERATORS = {
    "ELEMENT_WISE_QUANTIZE_LINEAR": TorchOperator(
        quantize, agree=(("zero_point_tensor", "output_tensor"),), numbers=_INPUTS, fault=_fault_of_scale, alike=True
    ),
    "ELEMENT_WISE_DEQUANTIZE_LINEAR": TorchOperator(
        dequantize,
        agree=(("input_tensor", "zero_point_tensor"), ("scale_tensor", "output_tensor")),
        numbers=_INPUTS,
        fault=_fault,
        alike=True,
    ),
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD": TorchOperator(
        quantized_add,
        agree=tuple((f"{of}_tensor", f"{of}_zero_point_tensor") for of in ("a", "b", "output")),
        numbers=frozenset(
            f"{of}_{what}tensor" for of in ("a", "b", "output") for what in ("", "scale_", "zero_point_")
        ),
    ),
}
