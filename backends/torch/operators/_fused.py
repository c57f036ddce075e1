"""Activation functions of what another operator computes."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dml_conformance.backends.torch.operators import activation as functions
from dml_conformance.backends.torch.operators import softmax
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level

OPERATORS = {**functions.OPERATORS, **softmax.OPERATORS}
SINCE = {
    **dict.fromkeys(functions.OPERATORS, Level.L1_0),
    "ACTIVATION_IDENTITY": Level.L1_0,
    "ACTIVATION_SHRINK": Level.L2_0,
    "ACTIVATION_CELU": Level.L3_0,
}
ALONG_AXES = frozenset({"ACTIVATION_SOFTMAX", "ACTIVATION_SOFTMAX1"})  # of GEMM, from 6_1 on
NEVER = frozenset({"ACTIVATION_GELU", "ACTIVATION_HARD_SWISH", "ACTIVATION_PARAMETERIZED_RELU", "ACTIVATION_SWISH"})


def activated(activation: Any, result: Tensor) -> Tensor:
    """The activation of a result, or that itself where there is none."""
    if activation is None or activation.operator == "ACTIVATION_IDENTITY":
        return result
    return OPERATORS[activation.operator].run(activation, {"input_tensor": result})["output_tensor"]


def fusion_fault(desc: OperatorDesc, level: Level) -> str:
    """Why one of its activations cannot be fused; "" where all can."""
    given = getattr(desc, "activation_descs", None) or [getattr(desc, "fused_activation", None)]
    return next((fault for one in given if one is not None and (fault := _fault(desc.operator, one, level))), "")


def _fault(operator: str, activation: Any, level: Level) -> str:
    name = activation.operator
    is_fused = name not in NEVER and name in SINCE and level >= SINCE[name]
    if not is_fused and not (operator == "GEMM" and name in ALONG_AXES and level >= Level.L6_1):
        return f"{name} cannot be fused at {level}"
    if activation.input_tensor is not None or activation.output_tensor is not None:
        return "an activation has a tensor"
    fault = OPERATORS[name].fault if name in OPERATORS else None
    return "" if fault is None else fault(activation, level)
