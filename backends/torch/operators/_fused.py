"""Activation functions of what another operator computes."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dml_conformance.backends.torch.operators.activation import OPERATORS
from dml_conformance.spec.levels import Level

SINCE = {
    **dict.fromkeys(OPERATORS, Level.L2_0),
    "ACTIVATION_IDENTITY": Level.L2_0,
    "ACTIVATION_CELU": Level.L3_0,
}
NEVER = frozenset({"ACTIVATION_GELU", "ACTIVATION_HARD_SWISH", "ACTIVATION_PARAMETERIZED_RELU", "ACTIVATION_SWISH"})


def activated(desc: Any, result: Tensor) -> Tensor:
    """The activation of a result, or that itself where there is none."""
    activation = desc.fused_activation
    if activation is None or activation.operator == "ACTIVATION_IDENTITY":
        return result
    return OPERATORS[activation.operator].run(activation, {"input_tensor": result})["output_tensor"]


def fusion_fault(desc: Any, level: Level) -> str:
    """Why FusedActivation cannot be fused; "" where it can."""
    activation = desc.fused_activation
    if activation is None:
        return ""
    name = activation.operator
    if name in NEVER or name not in SINCE or level < SINCE[name]:
        return f"{name} cannot be fused at {level}"
    if activation.input_tensor is not None or activation.output_tensor is not None:
        return "FusedActivation has a tensor"
    fault = OPERATORS[name].fault if name in OPERATORS else None
    return "" if fault is None else fault(activation, level)
