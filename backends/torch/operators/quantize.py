"""QUANTIZE and DEQUANTIZE: blocks of elements share a scale and a zero point."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, element_wise_quantize
from dml_conformance.backends.torch.operators._quantized import quantized
from dml_conformance.spec.levels import Level
from dml_conformance.spec.structures import Quantize

_KEYS = {"quantization_tensors[0]": "scale_tensor", "quantization_tensors[1]": "zero_point_tensor"}


def quantize(desc: Quantize, tensors: Tensors) -> Tensors:
    """`clamp(round(input / scale) + zero_point, least, largest)`, in FLOAT32."""
    found = _in_blocks(tensors)
    source, zero_point = found["input_tensor"].to(torch.float32), found.get("zero_point_tensor")
    blocks = quantized(source, found["scale_tensor"], zero_point, desc.output_tensor.data_type)
    return {"output_tensor": blocks.reshape(tensors["input_tensor"].shape)}


def dequantize(desc: Quantize, tensors: Tensors) -> Tensors:
    """`(input - zero_point) * scale`, in FLOAT32."""
    blocks = element_wise_quantize.dequantize(desc, _in_blocks(tensors))["output_tensor"]
    return {"output_tensor": blocks.reshape(tensors["input_tensor"].shape)}


def _in_blocks(tensors: Tensors) -> Tensors:
    """The inputs with two dimensions for each one, the blocks and the elements of a block: those share one scale."""
    sizes, counts = tensors["input_tensor"].shape, tensors["quantization_tensors[0]"].shape
    if any(size % count for size, count in zip(sizes, counts, strict=True)):
        raise PlanError(f"{tuple(counts)} blocks do not make {tuple(sizes)} elements")
    split = [n for size, count in zip(sizes, counts, strict=True) for n in (count, size // count)]
    ones = [n for count in counts for n in (count, 1)]
    found = {_KEYS[key]: tensor.reshape(ones) for key, tensor in tensors.items() if key in _KEYS}
    return found | {"input_tensor": tensors["input_tensor"].reshape(split)}


def _apart(desc: Quantize) -> list[int]:
    sizes = zip(desc.input_tensor.sizes, desc.quantization_tensors[0].sizes, strict=True)
    return [d for d, (size, count) in enumerate(sizes) if count in (1, size)]


def _fault(desc: Quantize, level: Level) -> str:
    """What is wrong with the number, sizes and types of the scale and the zero point."""
    tensors = desc.quantization_tensors
    if len(tensors) != int(desc.quantization_type):
        return f"{len(tensors)} tensors do not go with QuantizationType {desc.quantization_type}"
    if any(tensor.sizes != tensors[0].sizes for tensor in tensors):
        return "scale and zero point have different sizes"
    types = desc.input_tensor.data_type, desc.output_tensor.data_type
    wanted = types if types[0].is_float else types[::-1]
    found = tuple(tensor.data_type for tensor in tensors)
    return "" if found == wanted[: len(found)] else f"scale and zero point are {[each.name for each in found]}"


_NUMBERS = frozenset({"input_tensor", "quantization_tensors"})
OPERATORS = {
    "QUANTIZE": TorchOperator(quantize, agree=(), numbers=_NUMBERS, fault=_fault, apart=_apart),
    "DEQUANTIZE": TorchOperator(dequantize, agree=(), numbers=_NUMBERS, fault=_fault, apart=_apart),
}
