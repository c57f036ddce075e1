"""What NumPy's functions give for operators whose results are rounded: of FLOAT32, and for FLOAT16 rounded again.

`dml-conformance accuracy --backend docs/examples/numpy_backend.py:NumPyBackend` measures them. Operators without a
formula here are computed as the reference does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.base import Bindings, Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.reference.layout import NUMBERS, as_numbers, bits
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import inputs as input_slots
from dml_conformance.spec.operators.softmax import axes_of

Array = np.ndarray[Any, Any]
F = np.float32


def _of_each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """One of Python's functions, for which NumPy has none."""
    return np.vectorize(function, otypes=[F])


erf, erfc = _of_each(math.erf), _of_each(math.erfc)


def _sigmoid(x: Array) -> Array:
    return F(1) / (F(1) + np.exp(-x))


def _softplus(x: Array) -> Array:
    return np.logaddexp(x, F(0))


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return np.clip(F(alpha) * x + F(beta), F(0), F(1))


def _softmax(x: Array, axes: tuple[int, ...]) -> Array:
    part = np.exp(x - x.max(axes, keepdims=True))
    return part / part.sum(axes, keepdims=True)


def _log_softmax(x: Array, axes: tuple[int, ...]) -> Array:
    below = x - x.max(axes, keepdims=True)
    return below - np.log(np.exp(below).sum(axes, keepdims=True))


# Of an operator's floating-point inputs, in the order of its page; `d` is the descriptor.
FORMULAS: dict[str, Callable[..., Array]] = {
    "ELEMENT_WISE_ACOS": lambda d, x: np.arccos(x),
    "ELEMENT_WISE_ACOSH": lambda d, x: np.arccosh(x),
    "ELEMENT_WISE_ADD": lambda d, a, b: a + b,
    "ELEMENT_WISE_ADD1": lambda d, a, b: a + b,
    "ELEMENT_WISE_ASIN": lambda d, x: np.arcsin(x),
    "ELEMENT_WISE_ASINH": lambda d, x: np.arcsinh(x),
    "ELEMENT_WISE_ATAN": lambda d, x: np.arctan(x),
    "ELEMENT_WISE_ATANH": lambda d, x: np.arctanh(x),
    "ELEMENT_WISE_ATAN_YX": lambda d, y, x: np.arctan2(y, x),
    "ELEMENT_WISE_CONSTANT_POW": lambda d, x: np.power(x, F(d.exponent)),
    "ELEMENT_WISE_COS": lambda d, x: np.cos(x),
    "ELEMENT_WISE_COSH": lambda d, x: np.cosh(x),
    "ELEMENT_WISE_DIFFERENCE_SQUARE": lambda d, a, b: (a - b) * (a - b),
    "ELEMENT_WISE_DIVIDE": lambda d, a, b: a / b,
    "ELEMENT_WISE_ERF": lambda d, x: erf(x),
    "ELEMENT_WISE_EXP": lambda d, x: np.exp(x),
    "ELEMENT_WISE_LOG": lambda d, x: np.log(x),
    "ELEMENT_WISE_MEAN": lambda d, a, b: (a + b) * F(0.5),
    "ELEMENT_WISE_MODULUS_FLOOR": lambda d, a, b: np.mod(a, b),
    "ELEMENT_WISE_MODULUS_TRUNCATE": lambda d, a, b: np.fmod(a, b),
    "ELEMENT_WISE_MULTIPLY": lambda d, a, b: a * b,
    "ELEMENT_WISE_POW": lambda d, x, exponent: np.power(x, exponent),
    "ELEMENT_WISE_RECIP": lambda d, x: F(1) / x,
    "ELEMENT_WISE_SIN": lambda d, x: np.sin(x),
    "ELEMENT_WISE_SINH": lambda d, x: np.sinh(x),
    "ELEMENT_WISE_SQRT": lambda d, x: np.sqrt(x),
    "ELEMENT_WISE_SUBTRACT": lambda d, a, b: a - b,
    "ELEMENT_WISE_TAN": lambda d, x: np.tan(x),
    "ELEMENT_WISE_TANH": lambda d, x: np.tanh(x),
    "ACTIVATION_CELU": lambda d, x: np.where(x >= 0, x, F(d.alpha) * np.expm1(x / F(d.alpha))),
    "ACTIVATION_ELU": lambda d, x: np.where(x >= 0, x, F(d.alpha) * np.expm1(x)),
    "ACTIVATION_GELU": lambda d, x: F(0.5) * x * erfc(x * F(-math.sqrt(0.5))),
    "ACTIVATION_HARD_SIGMOID": lambda d, x: _hard_sigmoid(x, d.alpha, d.beta),
    "ACTIVATION_HARD_SWISH": lambda d, x: x * _hard_sigmoid(x, d.alpha, d.beta),
    "ACTIVATION_LEAKY_RELU": lambda d, x: np.where(x >= 0, x, F(d.alpha) * x),
    "ACTIVATION_LINEAR": lambda d, x: F(d.alpha) * x + F(d.beta),
    "ACTIVATION_LOG_SOFTMAX": lambda d, x: _log_softmax(x, axes_of(d)),
    "ACTIVATION_LOG_SOFTMAX1": lambda d, x: _log_softmax(x, axes_of(d)),
    "ACTIVATION_PARAMETERIZED_RELU": lambda d, x, slope: np.where(x >= 0, x, slope * x),
    "ACTIVATION_PARAMETRIC_SOFTPLUS": lambda d, x: F(d.alpha) * _softplus(F(d.beta) * x),
    "ACTIVATION_SCALED_ELU": lambda d, x: F(d.gamma) * np.where(x > 0, x, F(d.alpha) * np.expm1(x)),
    "ACTIVATION_SCALED_TANH": lambda d, x: F(d.alpha) * np.tanh(F(d.beta) * x),
    "ACTIVATION_SIGMOID": lambda d, x: _sigmoid(x),
    "ACTIVATION_SOFTMAX": lambda d, x: _softmax(x, axes_of(d)),
    "ACTIVATION_SOFTMAX1": lambda d, x: _softmax(x, axes_of(d)),
    "ACTIVATION_SOFTPLUS": lambda d, x: _softplus(F(d.steepness) * x) / F(d.steepness),
    "ACTIVATION_SOFTSIGN": lambda d, x: x / (F(1) + np.abs(x)),
    "ACTIVATION_SWISH": lambda d, x: x * _sigmoid(F(d.sigmoid_input_scale) * x),
    "ACTIVATION_TANH": lambda d, x: np.tanh(x),
}


class NumPyBackend(ReferenceBackend):
    """Computes in FLOAT32 what the reference computes in FLOAT64."""

    def capabilities(self) -> Capabilities:
        return msgspec.structs.replace(super().capabilities(), name="numpy")

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        if desc.operator not in FORMULAS or not desc.output_tensor.data_type.is_float or not _is_plain(desc):
            super().execute(desc, level, inputs, outputs)
            return
        target = desc.output_tensor
        arrays = (as_numbers(bits(inputs[of.key], of.tensor), of.tensor.data_type) for of in input_slots(desc))
        with np.errstate(all="ignore"):
            results = FORMULAS[desc.operator](desc, *(each.astype(F) for each in arrays))
            results = results.astype(NUMBERS[target.data_type])
        bits(outputs["output_tensor"], target)[...] = results.view(f"u{target.data_type.size}")


def _is_plain(desc: Any) -> bool:
    """Whether nothing is computed before or after the function itself."""
    return getattr(desc, "scale_bias", None) is None and getattr(desc, "fused_activation", None) is None
