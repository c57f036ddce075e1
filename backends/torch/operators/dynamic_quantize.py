"""DYNAMIC_QUANTIZE_LINEAR."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._shares import share
from dml_conformance.spec.structures import DynamicQuantize


def dynamic_quantize(desc: DynamicQuantize, tensors: Tensors) -> Tensors:
    """The range holds 0; the zero point is rounded and held between the ends of its type."""
    source = tensors["input_tensor"].to(torch.float32)
    dtype = NUMBERS[desc.output_tensor.data_type]
    info = torch.iinfo(dtype)
    one = (1,) * source.dim()
    if source.is_meta:
        single = source.new_empty(one)
        return {"output_tensor": source, "output_scale_tensor": single, "output_zero_point_tensor": single}
    low, high = source.amin().clamp(max=0.0), source.amax().clamp(min=0.0)
    scale = share(high - low, info.max - info.min)
    zero_point = torch.round(info.min - low / scale).nan_to_num(0.0).clamp(info.min, info.max)
    numbers = torch.round(source / scale).nan_to_num(0.0) + zero_point
    return {
        "output_tensor": numbers.clamp(info.min, info.max).to(dtype),
        "output_scale_tensor": scale.reshape(one),
        "output_zero_point_tensor": zero_point.to(dtype).reshape(one),
    }


OPERATORS = {
    "DYNAMIC_QUANTIZE_LINEAR": TorchOperator(
        dynamic_quantize, (("output_tensor", "output_zero_point_tensor"),), frozenset({"input_tensor"})
    )
}
