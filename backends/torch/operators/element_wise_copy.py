"""DML_OPERATOR_ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from typing import Any

import torch

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import scale


def identity(desc: Any, tensors: Tensors) -> Tensors:
    """ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY: `output[c...] = input[c...]`, scaled where there is a ScaleBias."""
    source = tensors["input_tensor"]
    if getattr(desc, "scale_bias", None) is None:
        return {"output_tensor": source}
    return {"output_tensor": scale(desc, source.view(NUMBERS[desc.input_tensor.data_type]))}


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
