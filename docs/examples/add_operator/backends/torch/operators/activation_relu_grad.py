"""DML_OPERATOR_ACTIVATION_RELU_GRAD."""

from __future__ import annotations

import torch

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.spec.structures import ActivationReluGrad

TENSORS = ("input_tensor", "input_gradient_tensor", "output_gradient_tensor")


def relu_grad(desc: ActivationReluGrad, tensors: Tensors) -> Tensors:
    """`output[c...] = input[c...] > 0 ? gradient[c...] : 0`."""
    source, gradient = tensors["input_tensor"], tensors["input_gradient_tensor"]
    return {"output_gradient_tensor": torch.where(source > 0, gradient, torch.zeros_like(gradient))}


OPERATORS = {
    "ACTIVATION_RELU_GRAD": TorchOperator(relu_grad, (TENSORS,), numbers=frozenset({"input_tensor"}), alike=True)
}
