"""DML_OPERATOR_VALUE_SCALE_2D."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.structures import ValueScale


def value_scale(desc: ValueScale, tensors: Tensors) -> Tensors:
    """`x * Scale + Bias` of each channel."""
    source = tensors["input_tensor"]
    count = len(desc.bias)
    if count not in (1, 3) or count != source.shape[1]:
        raise PlanError(f"{count} biases for {source.shape[1]} channels")
    if source.is_meta:
        return {"output_tensor": source}
    bias = torch.tensor(desc.bias, dtype=source.dtype, device=source.device).reshape(1, count, 1, 1)
    return {"output_tensor": source * desc.scale + bias}


OPERATORS = {"VALUE_SCALE_2D": TorchOperator(value_scale, numbers=frozenset({"input_tensor"}))}
