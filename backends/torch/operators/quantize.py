"""QUANTIZE and DEQUANTIZE: blocks of elements share a scale and a zero point."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, element_wise_quantize
from dml_conformance.backends.torch.operators._quantized import quantized
from dml_conformance.spec.levels import Level
from dml_conformance.spec.structures import Quantize

_KEYS = {"quantization_tensors[0]": "scale_tensor", "quantization_tensors[1]": "zero_point_tensor"}


def quantize(desc: Quantize, tensors: Tensors) -> Tensors:
    """`clamp(round(input / scale) + zero_point, least, largest)`, in FLOAT32."""
    source, found = tensors["input_tensor"].to(torch.float32), _spread(tensors)
    scale, zero_point = found["scale_tensor"], found.get("zero_point_tensor")
    return {"output_tensor": quantized(source, scale, zero_point, desc.output_tensor.data_type)}


def dequantize(desc: Quantize, tensors: Tensors) -> Tensors:
    """`(input - zero_point) * scale`, in FLOAT32."""
    return element_wise_quantize.dequantize(desc, _spread(tensors))


def _spread(tensors: Tensors) -> Tensors:
    """The inputs, with a scale and a zero point for each element."""
    sizes = tensors["input_tensor"].shape
    return {_KEYS.get(key, key): _repeated(tensor, sizes) for key, tensor in tensors.items()}


def _repeated(blocks: Tensor, sizes: torch.Size) -> Tensor:
    """Every element as often as its block is long."""
    for axis, size in enumerate(sizes):
        length, rest = divmod(size, blocks.shape[axis])
        if rest:
            raise PlanError(f"{blocks.shape[axis]} blocks do not make {size} elements along dimension {axis}")
        if length > 1:
            blocks = blocks.repeat_interleave(length, axis)
    return blocks


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
    "QUANTIZE": TorchOperator(quantize, agree=(), numbers=_NUMBERS, fault=_fault),
    "DEQUANTIZE": TorchOperator(dequantize, agree=(), numbers=_NUMBERS, fault=_fault),
}
