"""DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION_GRAD."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.spec.structures import LocalResponse

_GRADIENTS = ("input_tensor", "input_gradient_tensor", "output_gradient_tensor")


def normalize(desc: LocalResponse, tensors: Tensors) -> Tensors:
    """`x / (Bias + Alpha / LocalSize * the sum of squares around x) ^ Beta`, in FLOAT32."""
    source = tensors["input_tensor"]
    _check(desc, source)
    if source.is_meta:
        return {"output_tensor": source}
    return {"output_tensor": _normalized(desc, source.float()).to(source.dtype)}


def gradient(desc: LocalResponse, tensors: Tensors) -> Tensors:
    """What torch's autograd makes of the same steps."""
    source, incoming = tensors["input_tensor"], tensors["input_gradient_tensor"]
    _check(desc, source)
    check_sizes("InputGradientTensor", incoming, source.shape)
    if source.is_meta:
        return {"output_gradient_tensor": torch.empty_like(source)}
    with torch.inference_mode(False), torch.enable_grad():
        x = source.float().clone().requires_grad_()
        (found,) = torch.autograd.grad(_normalized(desc, x), x, incoming.float().clone())
    return {"output_gradient_tensor": found.to(source.dtype)}


def _apart(desc: LocalResponse) -> tuple[int, ...]:
    return (0, 2, 3) if desc.cross_channel else (0, 1)


def _check(desc: LocalResponse, source: Tensor) -> None:
    if desc.local_size < 1:
        raise PlanError("LocalSize is 0")
    if source.dim() != 4:
        raise PlanError(f"InputTensor has {source.dim()} dimensions")


def _normalized(desc: LocalResponse, x: Tensor) -> Tensor:
    total = x.square()
    for dimension in (1,) if desc.cross_channel else (2, 3):
        total = _around(total, dimension, desc.local_size)
    found: Tensor = x / (desc.bias + desc.alpha / desc.local_size * total).pow(desc.beta)
    return found


def _around(numbers: Tensor, dimension: int, count: int) -> Tensor:
    """The sums of so many elements around each along a dimension, of an even number one more behind it."""
    most = numbers.shape[dimension] - 1
    before, behind = min((count - 1) // 2, most), min(count // 2, most)
    pads = [0, 0] * (numbers.dim() - 1 - dimension) + [before, behind]
    return functional.pad(numbers, pads).unfold(dimension, before + behind + 1, 1).sum(-1)


OPERATORS = {
    "LOCAL_RESPONSE_NORMALIZATION": TorchOperator(normalize, numbers=frozenset({"input_tensor"}), apart=_apart),
    "LOCAL_RESPONSE_NORMALIZATION_GRAD": TorchOperator(
        gradient, (_GRADIENTS,), frozenset(_GRADIENTS[:2]), apart=_apart
    ),
}
