"""DML_OPERATOR_ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from typing import Any

import torch

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator


def identity(desc: Any, tensors: Tensors) -> Tensors:
    """ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY: `output[c...] = input[c...]`, scaled where there is a ScaleBias."""
    source, scale_bias = tensors["input_tensor"], getattr(desc, "scale_bias", None)
    if scale_bias is None:
        return {"output_tensor": source}
    numbers = source.view(NUMBERS[desc.input_tensor.data_type])
    scaled = numbers.to(torch.float64).mul_(scale_bias.scale).add_(scale_bias.bias)
    return {"output_tensor": scaled.to(numbers.dtype)}


def choose(desc: Any, tensors: Tensors) -> Tensors:
    """ELEMENT_WISE_IF: `output[c...] = condition[c...] != 0 ? a[c...] : b[c...]`."""
    condition, a, b = tensors["condition_tensor"], tensors["a_tensor"], tensors["b_tensor"]
    if not condition.shape == a.shape == b.shape:  # torch would broadcast them
        raise PlanError(f"sizes {tuple(condition.shape)}, {tuple(a.shape)} and {tuple(b.shape)} are not the same")
    return {"output_tensor": torch.where(condition != 0, a, b)}


OPERATORS = {
    "ELEMENT_WISE_IDENTITY": TorchOperator(identity),
    "ACTIVATION_IDENTITY": TorchOperator(identity),
    "ELEMENT_WISE_IF": TorchOperator(choose, agree=(("a_tensor", "b_tensor", "output_tensor"),)),
}
