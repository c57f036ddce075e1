"""DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.spec.levels import Level

_INPUTS = ("input_tensor", "scale_tensor", "bias_tensor")
_OPTIONAL = _INPUTS[1:]


def normalize(desc: Any, tensors: Tensors) -> Tensors:
    """`activation(scale * (x - mean) / sqrt(variance + Epsilon) + bias)`, in FLOAT32."""
    source = tensors["input_tensor"]
    if any(axis >= source.dim() for axis in desc.axes):
        raise PlanError(f"Axes are {desc.axes}, InputTensor has {source.dim()} dimensions")
    scale, bias = (tensors[key].expand(source.shape).float() if key in tensors else None for key in _OPTIONAL)
    found, axes = source.float(), sorted(set(desc.axes))
    if axes:
        found = found - found.mean(axes, keepdim=True)
        variance = found.square().mean(axes, keepdim=True)
    else:
        found, variance = found - found, found - found
    if desc.normalize_variance:
        found = found / (variance + desc.epsilon).sqrt()
    found = found if scale is None else found * scale
    found = found if bias is None else found + bias
    return {"output_tensor": activated(desc.fused_activation, found).to(source.dtype)}


def _fault(desc: Any, level: Level) -> str:
    given = [tensor for key in _OPTIONAL if (tensor := getattr(desc, key)) is not None]
    if level < Level.L5_2 and len(given) == 1:
        return "one of ScaleTensor and BiasTensor is missing"
    sizes = desc.input_tensor.sizes
    if level < Level.L4_0 and len(sizes) == 4 and any(tensor.sizes[1:2] != sizes[1:2] for tensor in given):
        return "ScaleTensor or BiasTensor has other channels"
    return fusion_fault(desc, level)


OPERATORS = {
    "MEAN_VARIANCE_NORMALIZATION1": TorchOperator(
        normalize, ((*_INPUTS, "output_tensor"),), frozenset(_INPUTS), fault=_fault
    ),
}
