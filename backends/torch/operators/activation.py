"""Activation functions of one number: DML_OPERATOR_ACTIVATION_RELU, _ELU, _SIGMOID and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._numbers import narrow, widen
from dml_conformance.backends.torch.operators._order import UNSIGNED
from dml_conformance.spec import structures
from dml_conformance.spec.levels import Level

Function = Callable[[Any, Tensor], Tensor]


def compute(function: Function, desc: structures.Activation, tensors: Tensors) -> Tensors:
    """`output[c...] = function(input[c...])`, in FLOAT32; integers stay what they are."""
    source = tensors["input_tensor"]
    wide = source.float() if source.is_floating_point() else source
    return {"output_tensor": function(desc, wide).to(source.dtype)}


def parameterized_relu(desc: structures.Activation, tensors: Tensors) -> Tensors:
    """PARAMETERIZED_RELU: `x >= 0 ? x : slope[c...] * x`."""
    source, slopes = tensors["input_tensor"], tensors["slope_tensor"]
    return {"output_tensor": torch.where(source >= 0, source, slopes * source)}


def shrink(desc: structures.DML_ACTIVATION_SHRINK_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """SHRINK: `x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0`; of integers with whole coefficients."""
    source = tensors["input_tensor"]
    if source.is_floating_point():
        return compute(_shrunk, desc, tensors)
    wide = widen(source) if source.dtype in UNSIGNED else source
    found = _shrunk(desc, wide.double()).to(torch.int64)
    return {"output_tensor": narrow(found, source.dtype) if source.dtype in UNSIGNED else found.to(source.dtype)}


def _shrunk(desc: structures.DML_ACTIVATION_SHRINK_OPERATOR_DESC, x: Tensor) -> Tensor:
    low = torch.where(x < -desc.threshold, x + desc.bias, torch.zeros_like(x))
    found: Tensor = torch.where(x > desc.threshold, x - desc.bias, low)
    return found


def _is_too_flat(desc: structures.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, level: Level) -> str:
    return "" if level >= Level.L6_4 or desc.steepness >= 1 else f"Steepness is {desc.steepness}"


def _hard_sigmoid(desc: structures.WithBeta, x: Tensor) -> Tensor:
    return torch.clamp(x * desc.alpha + desc.beta, 0, 1)


_FUNCTIONS: dict[str, Function] = {
    "CELU": lambda desc, x: x.clamp(min=0) + (torch.expm1(x / desc.alpha) * desc.alpha).clamp(max=0),
    "ELU": lambda desc, x: torch.where(x >= 0, x, torch.expm1(x) * desc.alpha),
    "GELU": lambda desc, x: x * 0.5 * torch.special.erfc(x * -math.sqrt(0.5)),
    "HARD_SIGMOID": _hard_sigmoid,
    "HARD_SWISH": lambda desc, x: x * _hard_sigmoid(desc, x),
    "LEAKY_RELU": lambda desc, x: functional.leaky_relu(x, desc.alpha),
    "LINEAR": lambda desc, x: x * desc.alpha + desc.beta,
    "PARAMETRIC_SOFTPLUS": lambda desc, x: functional.softplus(x * desc.beta) * desc.alpha,
    "RELU": lambda desc, x: torch.relu(x),
    "SCALED_ELU": lambda desc, x: torch.where(x > 0, x, torch.expm1(x) * desc.alpha) * desc.gamma,
    "SCALED_TANH": lambda desc, x: torch.tanh(x * desc.beta) * desc.alpha,
    "SIGMOID": lambda desc, x: torch.sigmoid(x),
    "SOFTSIGN": lambda desc, x: functional.softsign(x),
    "SWISH": lambda desc, x: x * torch.sigmoid(x * desc.sigmoid_input_scale),
    "TANH": lambda desc, x: torch.tanh(x),
    "THRESHOLDED_RELU": lambda desc, x: torch.where(x > desc.alpha, x, torch.zeros_like(x)),
}
_NUMBERS = frozenset({"input_tensor"})
OPERATORS = {
    **{
        f"ACTIVATION_{name}": TorchOperator(partial(compute, function), numbers=_NUMBERS, alike=True)
        for name, function in _FUNCTIONS.items()
    },
    "ACTIVATION_SHRINK": TorchOperator(shrink, numbers=_NUMBERS, alike=True),
    "ACTIVATION_SOFTPLUS": TorchOperator(
        partial(compute, lambda desc, x: functional.softplus(x, desc.steepness)),
        numbers=_NUMBERS,
        fault=_is_too_flat,
        alike=True,
    ),
    "ACTIVATION_PARAMETERIZED_RELU": TorchOperator(
        parameterized_relu,
        (("input_tensor", "slope_tensor", "output_tensor"),),
        numbers=_NUMBERS | {"slope_tensor"},
        alike=True,
    ),
}
