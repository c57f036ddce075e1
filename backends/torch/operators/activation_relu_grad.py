"""ACTIVATION_RELU_GRAD."""

from __future__ import annotations

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.spec.structures import ActivationReluGrad


def relu_grad(desc: ActivationReluGrad, tensors: Tensors) -> Tensors:
    """`input[c...] > 0 ? gradient[c...] : 0`."""
    source, gradient = tensors["input_tensor"], tensors["input_gradient_tensor"]
    return {"output_gradient_tensor": gradient.masked_fill(~(source > 0), 0)}


_AGREE = (("input_tensor", "input_gradient_tensor", "output_gradient_tensor"),)
OPERATORS = {
    "ACTIVATION_RELU_GRAD": TorchOperator(relu_grad, agree=_AGREE, numbers=frozenset({"input_tensor"}), alike=True)
}
