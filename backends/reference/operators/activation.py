"""Activation functions of one number: ACTIVATION_RELU, _ELU, _SIGMOID, _SOFTPLUS and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from dml_conformance.backends.reference.arithmetic import Arithmetic, Function, Inner, scaled
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.expectation import Expectation, Mask, Numbers
from dml_conformance.spec.field_kinds import ScaleBias

FLOAT32 = np.finfo(np.float32)


def compute(function: Function, desc: Any, arrays: Arrays, **more: Any) -> dict[str, Any]:
    """output[c...] = function(input[c...])"""
    return {"output_tensor": Arithmetic(function, (_numbers(desc, arrays),), **more)}


def _numbers(desc: Any, arrays: Arrays) -> Array:
    return as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)


def of_attributes(*names: str) -> Callable[[Callable[..., dict[str, Any]]], Compute]:
    """A function that takes attributes besides, as FLOAT32 has them; free where one of them is not finite."""

    def taking(function: Callable[..., dict[str, Any]]) -> Compute:
        @wraps(function)
        def found(desc: Any, arrays: Arrays) -> dict[str, Any]:
            attributes = [float(np.float32(getattr(desc, name))) for name in names]
            if not all(map(math.isfinite, attributes)):
                return _free(arrays)
            return function(desc, arrays, *attributes)

        return found

    return taking


def _free(arrays: Arrays) -> dict[str, Any]:
    source = arrays["input_tensor"]
    return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}


# --- of parts that are straight ---------------------------------------------------------------------------------------


def relu(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = max(0, input[c...]); of a NaN, it or 0"""
    numbers = _numbers(desc, arrays)
    if numbers.dtype.kind != "f":
        return {"output_tensor": np.maximum(numbers, 0).view(arrays["input_tensor"].dtype)}
    return compute(lambda x: np.fmax(x, 0.0), desc, arrays, nan=np.isnan(numbers))


@of_attributes("alpha")
def leaky_relu(desc: Any, arrays: Arrays, alpha: float) -> dict[str, Any]:
    """output[c...] = x >= 0 ? x : Alpha * x"""

    def function(x: Numbers) -> Numbers:
        return np.where(x >= 0, x, alpha * x)

    return compute(function, desc, arrays, compared=_or_itself(function))


def parameterized_relu(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = x >= 0 ? x : slope[c...] * x; free where an integer type does not have the product"""
    data_type = desc.input_tensor.data_type
    numbers, slopes = _numbers(desc, arrays), as_numbers(arrays["slope_tensor"], data_type)
    if data_type.is_float:
        return {"output_tensor": Arithmetic(_by_slopes, (numbers, slopes), compared=_or_itself(_by_slopes))}
    wide = numbers.astype(np.int64)
    return _integers(np.where(wide >= 0, wide, slopes.astype(np.int64) * wide), numbers)


def _by_slopes(x: Numbers, slopes: Numbers) -> Numbers:
    return np.where(x >= 0, x, slopes * x)


def _or_itself(function: Function) -> Function:
    """Of a subnormal FLOAT32 number that itself: a comparison may take a negative one for 0, which is at least 0"""

    def found(x: Numbers, *others: Numbers) -> Numbers:
        return np.where(np.abs(x) < float(FLOAT32.tiny), x, function(x, *others))

    return found


def _integers(found: Array, numbers: Array, is_open: Mask | bool = False) -> dict[str, Any]:
    """Whole numbers as a type has them; free where it does not."""
    info = np.iinfo(numbers.dtype)
    free = (found < info.min) | (found > info.max) | is_open
    bits = found.astype(numbers.dtype).view(f"u{numbers.itemsize}")
    return {"output_tensor": Expectation(bits, free=free if free.any() else None)}


@of_attributes("alpha")
def thresholded_relu(desc: Any, arrays: Arrays, alpha: float) -> dict[str, Any]:
    """output[c...] = x > Alpha ? x : 0"""
    return compute(lambda x: np.where(x > alpha, x, 0.0), desc, arrays)


@of_attributes("bias", "threshold")
def shrink(desc: Any, arrays: Arrays, bias: float, threshold: float) -> dict[str, Any]:
    """output[c...] = x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0; free of integers that FLOAT32 does not
    have, where Bias or Threshold is none of the type, and where the type does not have the result"""

    def function(x: Numbers) -> Numbers:
        return np.where(x > threshold, x - bias, np.where(x < -threshold, x + bias, 0.0))

    numbers = _numbers(desc, arrays)
    if desc.input_tensor.data_type.is_float:
        return compute(function, desc, arrays)
    info = np.iinfo(numbers.dtype)
    are_whole = all(value == int(value) and info.min <= value <= info.max for value in (bias, threshold))
    is_exact = are_whole & (np.abs(numbers.astype(np.int64)) <= 2**24)
    return _integers(function(numbers.astype(np.float64)).astype(np.int64), numbers, ~is_exact)


@of_attributes("alpha", "beta")
def linear(desc: Any, arrays: Arrays, alpha: float, beta: float) -> dict[str, Any]:
    """output[c...] = Alpha * x + Beta"""
    inner = scaled(ScaleBias(alpha, beta), desc.input_tensor.data_type)
    return compute(np.positive, desc, arrays, inner=inner)


def _sum_to_clamp(desc: Any, alpha: float, beta: float) -> Inner:
    """Alpha * x + Beta; anything from 0 to 1 where that is a NaN, as max and min may make of it"""
    inner = scaled(ScaleBias(alpha, beta), desc.input_tensor.data_type)
    assert inner is not None

    def function(x: Numbers) -> Numbers:
        found = inner.function(x)
        return np.where(np.isnan(found), 0.5, found)

    return Inner(function, lambda x: np.where(np.isnan(inner.function(x)), 0.5, inner.error(x)))


@of_attributes("alpha", "beta")
def hard_sigmoid(desc: Any, arrays: Arrays, alpha: float, beta: float) -> dict[str, Any]:
    """output[c...] = max(0, min(Alpha * x + Beta, 1)); where the sum is a NaN, it or from 0 to 1"""
    with np.errstate(all="ignore"):
        nan = np.isnan(alpha * _numbers(desc, arrays).astype(np.float64) + beta)
    inner = _sum_to_clamp(desc, alpha, beta)
    return compute(lambda t: np.clip(t, 0.0, 1.0), desc, arrays, inner=inner, nan=nan)


@of_attributes("alpha", "beta")
def hard_swish(desc: Any, arrays: Arrays, alpha: float, beta: float) -> dict[str, Any]:
    """output[c...] = x * max(0, min(Alpha * x + Beta, 1))"""
    numbers = _numbers(desc, arrays)
    inner = _sum_to_clamp(desc, alpha, beta)
    with np.errstate(all="ignore"):
        nan = np.isnan(alpha * numbers.astype(np.float64) + beta)
    return {"output_tensor": Arithmetic(lambda t, x: x * np.clip(t, 0.0, 1.0), (numbers, numbers), inner, nan=nan)}


def softsign(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = x / (1 + abs(x)); of so large ones that the reciprocal is subnormal, anything down to 0"""
    return compute(
        lambda x: x / (1.0 + np.abs(x)), desc, arrays, error=lambda x: np.where(np.abs(x) > 2.0**126, 1.0, 0.0)
    )


# --- of exponentials --------------------------------------------------------------------------------------------------


@of_attributes("alpha")
def elu(desc: Any, arrays: Arrays, alpha: float) -> dict[str, Any]:
    """output[c...] = x >= 0 ? x : Alpha * (exp(x) - 1)"""

    def function(x: Numbers) -> Numbers:
        return np.where(x >= 0, x, alpha * np.expm1(x))

    return compute(
        function,
        desc,
        arrays,
        compared=_or_itself(function),
        unit=lambda x: np.where(x >= 0, 0.0, abs(alpha)),
    )


@of_attributes("alpha")
def celu(desc: Any, arrays: Arrays, alpha: float) -> dict[str, Any]:
    """output[c...] = max(0, x) + min(0, Alpha * (exp(x / Alpha) - 1)); of a NaN, it or 0; free where Alpha is 0"""
    if alpha == 0:
        return _free(arrays)
    return compute(
        lambda x: np.fmax(x, 0.0) + np.fmin(alpha * np.expm1(x / alpha), 0.0),
        desc,
        arrays,
        unit=lambda x: np.where(x >= 0, 0.0, abs(alpha)),
        nan=np.isnan(_numbers(desc, arrays)),
    )


@of_attributes("alpha", "gamma")
def scaled_elu(desc: Any, arrays: Arrays, alpha: float, gamma: float) -> dict[str, Any]:
    """output[c...] = x > 0 ? Gamma * x : Gamma * (Alpha * exp(x) - Alpha)"""
    return compute(
        lambda x: np.where(x > 0, gamma * x, gamma * alpha * np.expm1(x)),
        desc,
        arrays,
        unit=lambda x: np.where(x > 0, 0.0, abs(alpha * gamma)),
    )


def _softplus(x: Numbers) -> Numbers:
    """ln(1 + exp(x)), which is finite where x is"""
    return np.logaddexp(x, 0.0)


@of_attributes("steepness")
def softplus(desc: Any, arrays: Arrays, steepness: float) -> dict[str, Any]:
    """output[c...] = ln(1 + exp(Steepness * x)) / Steepness; free where that is 0"""
    if steepness == 0:
        return _free(arrays)
    return compute(
        lambda x: _softplus(steepness * x) / steepness,
        desc,
        arrays,
        unit=lambda x: 1.0 / abs(steepness),
        error=partial(_overflown, steepness),
    )


@of_attributes("alpha", "beta")
def parametric_softplus(desc: Any, arrays: Arrays, alpha: float, beta: float) -> dict[str, Any]:
    """output[c...] = Alpha * ln(1 + exp(Beta * x))"""
    with np.errstate(all="ignore"):
        is_nan = _overflown(beta, _numbers(desc, arrays).astype(np.float64)) > 0
    return compute(
        lambda x: alpha * _softplus(beta * x),
        desc,
        arrays,
        unit=lambda x: abs(alpha),
        error=partial(_overflown, beta),
        nan=is_nan if alpha == 0 else None,
    )


def _overflown(coefficient: float, x: Numbers) -> Numbers:
    """Anything is right where the product with a number is none of FLOAT32's."""
    return np.where(np.isfinite(x) & (np.abs(coefficient * x) > float(FLOAT32.max)), np.inf, 0.0)


def _logistic(x: Numbers) -> Numbers:
    """1 / (1 + exp(-x))"""
    found: Numbers = 1.0 / (1.0 + np.exp(-x))
    return found


@of_attributes("sigmoid_input_scale")
def swish(desc: Any, arrays: Arrays, scale: float) -> dict[str, Any]:
    """output[c...] = x * (1 / (1 + exp(-SigmoidInputScale * x))), the second factor of which may be flushed"""
    return compute(lambda x: x * _logistic(scale * x), desc, arrays, error=lambda x: np.abs(x) * float(FLOAT32.tiny))


@of_attributes("alpha", "beta")
def scaled_tanh(desc: Any, arrays: Arrays, alpha: float, beta: float) -> dict[str, Any]:
    """output[c...] = Alpha * tanh(Beta * x)"""
    return compute(lambda x: alpha * np.tanh(beta * x), desc, arrays, unit=lambda x: abs(alpha))


def gelu(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = 0.5 * x * (1 + erf(x / sqrt(2)))"""
    return compute(lambda x: 0.5 * x * _erfc(-x / math.sqrt(2.0)), desc, arrays, unit=np.abs)


def _erfc(numbers: Numbers) -> Numbers:
    """1 - erf(x), of which little is lost where erf(x) is near 1"""
    return np.positive(_ERFC(numbers), dtype=np.float64, casting="unsafe")


_ERFC = np.frompyfunc(math.erfc, 1, 1)
OPERATORS: dict[str, Compute] = {
    "ACTIVATION_CELU": celu,
    "ACTIVATION_ELU": elu,
    "ACTIVATION_GELU": gelu,
    "ACTIVATION_HARD_SIGMOID": hard_sigmoid,
    "ACTIVATION_HARD_SWISH": hard_swish,
    "ACTIVATION_LEAKY_RELU": leaky_relu,
    "ACTIVATION_LINEAR": linear,
    "ACTIVATION_PARAMETERIZED_RELU": parameterized_relu,
    "ACTIVATION_PARAMETRIC_SOFTPLUS": parametric_softplus,
    "ACTIVATION_RELU": relu,
    "ACTIVATION_SCALED_ELU": scaled_elu,
    "ACTIVATION_SCALED_TANH": scaled_tanh,
    "ACTIVATION_SHRINK": shrink,
    "ACTIVATION_SIGMOID": partial(compute, _logistic),
    "ACTIVATION_SOFTPLUS": softplus,
    "ACTIVATION_SOFTSIGN": softsign,
    "ACTIVATION_SWISH": swish,
    "ACTIVATION_TANH": partial(compute, np.tanh),
    "ACTIVATION_THRESHOLDED_RELU": thresholded_relu,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
