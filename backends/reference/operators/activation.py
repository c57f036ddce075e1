"""Activation functions of one number: ACTIVATION_RELU, _ELU, _SIGMOID, _SOFTPLUS and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, known, where
from dml_conformance.backends.reference.floats import FORMATS
from dml_conformance.backends.reference.formula import Formula, attribute, in_float32, scaled
from dml_conformance.backends.reference.functions import erfc, expm1, maximum, minimum, sigmoid, tanh
from dml_conformance.backends.reference.functions import softplus as softplus_of
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Mask
from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.structures import DML_ACTIVATION_SHRINK_OPERATOR_DESC, Activation


class ActivationFunction(NamedTuple):
    """An activation function.

    Attributes:
        function: of an enclosure, and of the attributes as FLOAT32 has them.
        attributes: their names.
        divisor: that of the one by which something is divided; "" for none.
        is_chained: whether the function takes a sum that is rounded before.
    """

    function: Callable[..., Enclosure]
    attributes: tuple[str, ...] = ()
    divisor: str = ""
    is_chained: bool = False


def applied(desc: Activation) -> Callable[[Enclosure], Enclosure] | None:
    """The function that a descriptor names; None where the pages do not say what it is: of attributes that are not
    finite, and where one is 0 that something is divided by."""
    found = ACTIVATIONS[desc.operator]
    with np.errstate(over="ignore"):
        attributes = {name: float(np.float32(getattr(desc, name))) for name in found.attributes}
    if not all(map(math.isfinite, attributes.values())) or attributes.get(found.divisor) == 0:
        return None
    return partial(_with_attributes, found.function, tuple(attributes.values()))


def _with_attributes(function: Callable[..., Enclosure], attributes: tuple[float, ...], *of: Enclosure) -> Enclosure:
    return function(*of, *attributes)


def compute(desc: Activation, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = function(input[c...])"""
    data_type, function = desc.input_tensor.data_type, applied(desc)
    source = arrays["input_tensor"]
    if function is None:
        return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}
    arguments = tuple(as_numbers(array, data_type) for array in arrays.values())
    is_chained = ACTIVATIONS[desc.operator].is_chained
    return {"output_tensor": Formula(function, arguments, data_type, is_chained=is_chained)}


# --- of parts that are straight ---------------------------------------------------------------------------------------


def relu(x: Enclosure) -> Enclosure:
    """max(0, x); of a NaN, it or 0"""
    return maximum(x, 0.0)


def leaky_relu(x: Enclosure, alpha: float) -> Enclosure:
    """x >= 0 ? x : Alpha * x"""
    return where(x >= 0.0, x, attribute(x, alpha) * x)


def parameterized_relu(x: Enclosure, slope: Enclosure) -> Enclosure:
    """x >= 0 ? x : slope * x"""
    return where(x >= 0.0, x, slope * x)


def thresholded_relu(x: Enclosure, alpha: float) -> Enclosure:
    """x > Alpha ? x : 0"""
    return where(x > alpha, x, 0.0)


def shrink(x: Enclosure, bias: float, threshold: float) -> Enclosure:
    """x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0"""
    return where(x > threshold, x - bias, where(x < -threshold, x + bias, 0.0))


def linear(x: Enclosure, alpha: float, beta: float) -> Enclosure:
    """Alpha * x + Beta"""
    return scaled(x, ScaleBias(alpha, beta))


def hard_sigmoid(x: Enclosure, alpha: float, beta: float) -> Enclosure:
    """max(0, min(Alpha * x + Beta, 1)); where the sum is a NaN, it or from 0 to 1"""
    return maximum(minimum(linear(x, alpha, beta), 1.0), 0.0)


def hard_swish(x: Enclosure, alpha: float, beta: float) -> Enclosure:
    """x * max(0, min(Alpha * x + Beta, 1))"""
    return x * hard_sigmoid(x, alpha, beta)


@in_float32
def softsign(x: Enclosure) -> Enclosure:
    """x / (1 + abs(x))"""
    return x / (1.0 + abs(x))


# --- of exponentials --------------------------------------------------------------------------------------------------


@in_float32
def elu(x: Enclosure, alpha: float) -> Enclosure:
    """x >= 0 ? x : Alpha * (exp(x) - 1)"""
    return where(x >= 0.0, x, expm1(x, alpha))


@in_float32
def celu(x: Enclosure, alpha: float) -> Enclosure:
    """max(0, x) + min(0, Alpha * (exp(x / Alpha) - 1)), of which one is 0; of a NaN, it or 0"""
    return where(x >= 0.0, maximum(x, 0.0), minimum(expm1(_divided(x, alpha), alpha), 0.0))


@in_float32
def scaled_elu(x: Enclosure, alpha: float, gamma: float) -> Enclosure:
    """x > 0 ? Gamma * x : Gamma * (Alpha * exp(x) - Alpha)"""
    inner = expm1(x, alpha)
    is_tiny = known(abs(inner.value) < 2 * FORMATS[DataType.FLOAT32].normal)  # it loses digits before it is multiplied
    return where(x > 0.0, gamma * x, where(is_tiny, gamma * inner, expm1(x, gamma * alpha)))


@in_float32
def softplus(x: Enclosure, steepness: float) -> Enclosure:
    """ln(1 + exp(Steepness * x)) / Steepness"""
    return softplus_of(steepness * x, 1.0 / steepness)


@in_float32
def parametric_softplus(x: Enclosure, alpha: float, beta: float) -> Enclosure:
    """Alpha * ln(1 + exp(Beta * x))"""
    return softplus_of(beta * x, alpha)


@in_float32
def swish(x: Enclosure, scale: float) -> Enclosure:
    """x * (1 / (1 + exp(-SigmoidInputScale * x)))"""
    return _weighted(x, sigmoid(scale * x))


@in_float32
def scaled_tanh(x: Enclosure, alpha: float, beta: float) -> Enclosure:
    """Alpha * tanh(Beta * x)"""
    return tanh(beta * x, alpha)


@in_float32
def gelu(x: Enclosure) -> Enclosure:
    """0.5 * x * (1 + erf(x / sqrt(2)))"""
    return _weighted(0.5 * x, erfc(x * -math.sqrt(0.5)))


def _weighted(x: Enclosure, part: Enclosure) -> Enclosure:
    """x times a part of it, which of infinities is known."""
    is_infinite = known(x.xp.isinf(x.value))
    return x * where(is_infinite, Enclosure(part.evaluation, part.value), part)


def _divided(x: Enclosure, divisor: float) -> Enclosure:
    """The quotient by a constant; that by a power of two is not rounded, also as a product with its reciprocal."""
    return x * (1.0 / divisor) if abs(math.frexp(divisor)[0]) == 0.5 else x / divisor


# --- of integers ------------------------------------------------------------------------------------------------------


def relu_any(desc: Activation, arrays: Arrays) -> dict[str, Any]:
    """max(0, x)"""
    source, data_type = arrays["input_tensor"], desc.input_tensor.data_type
    if data_type.is_float:
        return compute(desc, arrays)
    return {"output_tensor": np.maximum(as_numbers(source, data_type), 0).view(source.dtype)}


def parameterized_relu_any(desc: Activation, arrays: Arrays) -> dict[str, Any]:
    """x >= 0 ? x : slope * x; free where an integer type does not have the product"""
    data_type = desc.input_tensor.data_type
    if data_type.is_float:
        return compute(desc, arrays)
    numbers, slopes = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "slope_tensor"))
    wide = numbers.astype(np.int64)
    return _integers(np.where(wide >= 0, wide, slopes.astype(np.int64) * wide), numbers)


def shrink_any(desc: DML_ACTIVATION_SHRINK_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0; free of integers that FLOAT32 does not have, where Bias
    or Threshold is none of the type, and where the type does not have the result"""
    data_type = desc.input_tensor.data_type
    if data_type.is_float or applied(desc) is None:
        return compute(desc, arrays)
    numbers = as_numbers(arrays["input_tensor"], data_type)
    bias, threshold = float(np.float32(desc.bias)), float(np.float32(desc.threshold))
    info, wide = np.iinfo(numbers.dtype), numbers.astype(np.float64)
    are_whole = all(value == int(value) and info.min <= value <= info.max for value in (bias, threshold))
    is_exact = are_whole & (np.abs(numbers.astype(np.int64)) <= 2**24)
    found = np.where(wide > threshold, wide - bias, np.where(wide < -threshold, wide + bias, 0.0))
    return _integers(found.astype(np.int64), numbers, ~is_exact)


def _integers(found: Any, numbers: Any, is_open: Mask | bool = False) -> dict[str, Any]:
    """Whole numbers as a type has them; free where it does not."""
    info = np.iinfo(numbers.dtype)
    free = (found < info.min) | (found > info.max) | is_open
    bits = found.astype(numbers.dtype).view(f"u{numbers.itemsize}")
    return {"output_tensor": Expectation(bits, free=free if free.any() else None)}


ACTIVATIONS = {
    "ACTIVATION_CELU": ActivationFunction(celu, ("alpha",), "alpha"),
    "ACTIVATION_ELU": ActivationFunction(elu, ("alpha",)),
    "ACTIVATION_GELU": ActivationFunction(gelu),
    "ACTIVATION_HARD_SIGMOID": ActivationFunction(hard_sigmoid, ("alpha", "beta"), is_chained=True),
    "ACTIVATION_HARD_SWISH": ActivationFunction(hard_swish, ("alpha", "beta"), is_chained=True),
    "ACTIVATION_IDENTITY": ActivationFunction(lambda x: x),
    "ACTIVATION_LEAKY_RELU": ActivationFunction(leaky_relu, ("alpha",)),
    "ACTIVATION_LINEAR": ActivationFunction(linear, ("alpha", "beta"), is_chained=True),
    "ACTIVATION_PARAMETERIZED_RELU": ActivationFunction(parameterized_relu),
    "ACTIVATION_PARAMETRIC_SOFTPLUS": ActivationFunction(parametric_softplus, ("alpha", "beta")),
    "ACTIVATION_RELU": ActivationFunction(relu),
    "ACTIVATION_SCALED_ELU": ActivationFunction(scaled_elu, ("alpha", "gamma")),
    "ACTIVATION_SCALED_TANH": ActivationFunction(scaled_tanh, ("alpha", "beta")),
    "ACTIVATION_SHRINK": ActivationFunction(shrink, ("bias", "threshold")),
    "ACTIVATION_SIGMOID": ActivationFunction(sigmoid),
    "ACTIVATION_SOFTPLUS": ActivationFunction(softplus, ("steepness",), "steepness"),
    "ACTIVATION_SOFTSIGN": ActivationFunction(softsign),
    "ACTIVATION_SWISH": ActivationFunction(swish, ("sigmoid_input_scale",)),
    "ACTIVATION_TANH": ActivationFunction(tanh),
    "ACTIVATION_THRESHOLDED_RELU": ActivationFunction(thresholded_relu, ("alpha",)),
}
OPERATORS: dict[str, Compute] = {
    **{name: compute for name in ACTIVATIONS if name != "ACTIVATION_IDENTITY"},
    "ACTIVATION_PARAMETERIZED_RELU": parameterized_relu_any,
    "ACTIVATION_RELU": relu_any,
    "ACTIVATION_SHRINK": shrink_any,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
