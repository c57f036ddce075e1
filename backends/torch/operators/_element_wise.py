"""What element-wise operators share."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors

OPERANDS = ("a_tensor", "b_tensor")


def operands(tensors: Tensors, *keys: str) -> tuple[Tensor, Tensor]:
    """Two inputs, A and B unless others are named; PlanError where their sizes differ, which torch would broadcast."""
    a, b = (tensors[key] for key in keys or OPERANDS)
    if a.shape != b.shape:
        raise PlanError(f"sizes {tuple(a.shape)} and {tuple(b.shape)} are not the same")
    return a, b


def scale(desc: Any, source: Tensor) -> Tensor:
    """`x * Scale + Bias` where the descriptor has ScaleBias; of integers what comes is left open."""
    scale_bias = getattr(desc, "scale_bias", None)
    if scale_bias is None or not source.is_floating_point():
        return source
    scaled: Tensor = source * scale_bias.scale + scale_bias.bias
    return scaled
