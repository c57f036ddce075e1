"""ELEMENT_WISE_POW and ELEMENT_WISE_CONSTANT_POW: elements raised to powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.arithmetic import Arithmetic, Function, scaled
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.expectation import Expectation, Numbers

# What an exponent is. These numbers stay what they are where a bound moves all arguments by a small part of them.
FRACTION, ODD, EVEN = 0.0, 1.0, 2.0
LARGEST_WHOLE = 2.0**24  # FLOAT32 has all whole numbers up to it


def pow_tensor(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = pow(input[c...], exponent[c...])"""
    data_type = desc.input_tensor.data_type
    base = as_numbers(arrays["input_tensor"], data_type)
    exponent = as_numbers(arrays["exponent_tensor"], desc.exponent_tensor.data_type)
    if not data_type.is_float:
        return {"output_tensor": _of_integers(desc, base, exponent)}
    rounded = () if desc.exponent_tensor.data_type.is_float else (_with_exponent_as_float32,)
    return _of_floats(desc, base, exponent, rounded)


def pow_constant(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = pow(input[c...], Exponent)"""
    data_type = desc.input_tensor.data_type
    with np.errstate(over="ignore"):
        exponent = np.array(desc.exponent, np.float32)
        own = exponent.astype(NUMBERS[data_type])
    rounded = () if own == exponent else (lambda x, y, kind: power(x, own.astype(np.float64), kind_of(own)),)
    return _of_floats(desc, as_numbers(arrays["input_tensor"], data_type), exponent, rounded)


def _of_floats(desc: Any, base: Array, exponent: Array, also: tuple[Function, ...]) -> dict[str, Any]:
    inner = scaled(desc.scale_bias, desc.input_tensor.data_type)
    arguments = (base, exponent, kind_of(exponent))
    return {"output_tensor": Arithmetic(power, arguments, inner, also=(_by_logarithm, _of_infinities, *also))}


def kind_of(exponents: Array) -> Numbers:
    """Whether they are fractions, odd or even; infinities are even."""
    with np.errstate(invalid="ignore"):
        wide = exponents.astype(np.float64)
        rest = np.abs(np.fmod(wide, 2.0))
    return np.where((rest == 0) | np.isinf(wide), EVEN, np.where(rest == 1, ODD, FRACTION))


def power(base: Numbers, exponent: Numbers, kind: Numbers) -> Numbers:
    """base^exponent; of a negative base only where the exponent was a whole number, wherever it has been moved since"""
    magnitude = np.power(np.abs(base), exponent)
    is_whole = (np.rint(kind) != FRACTION) | (exponent == 0)
    found = np.where(np.rint(kind) == ODD, np.copysign(magnitude, base), magnitude)
    return np.where((base < 0) & ~is_whole, np.nan, found)


def _by_logarithm(base: Numbers, exponent: Numbers, kind: Numbers) -> Numbers:
    """2^(exponent * log2(base)), of a negative base with the sign that the exponent gives it"""
    no_number = np.isnan(exponent * np.log2(np.abs(base))) | ((base < 0) & np.isinf(exponent))
    return np.where(no_number, np.nan, power(np.where(base == 0, 0.0, base), exponent, kind))


def _of_infinities(base: Numbers, exponent: Numbers, kind: Numbers) -> Numbers:
    """C's result of a fractional power of -infinity; the other sign where the exponent is infinite, or the base -0"""
    magnitude = np.power(np.abs(base), exponent)
    found = np.where(np.isneginf(base) & (np.rint(kind) == FRACTION), magnitude, power(base, exponent, kind))
    is_other = ((base < 0) & np.isinf(exponent)) | ((base == 0) & np.signbit(base))
    return np.where(is_other, -magnitude, found)


def _with_exponent_as_float32(base: Numbers, exponent: Numbers, kind: Numbers) -> Numbers:
    is_large = np.abs(exponent) > LARGEST_WHOLE
    rounded = exponent.astype(np.float32).astype(np.float64)
    return power(base, np.where(is_large, rounded, exponent), np.where(is_large, EVEN, kind))


def _of_integers(desc: Any, base: Array, exponent: Array) -> Expectation:
    """The power, by squaring; free where that is no number of the type"""
    bits = UNSIGNED[base.itemsize]
    free = np.full(base.shape, desc.scale_bias is not None or exponent.dtype.kind == "f")
    if free.all():
        return Expectation(base.view(bits), free=free)
    is_unit = (base == 1) | (base == -1)  # whose negative powers are the positive ones
    count = np.abs(exponent.astype(np.int64))
    values, factor = np.ones(base.shape, np.uint64), base.astype(np.int64).astype(np.uint64)
    for bit in range(32):
        values = np.where(count >> bit & 1, values * factor, values)
        factor = factor * factor
    with np.errstate(over="ignore"):
        magnitude = np.power(np.abs(base.astype(np.float64)), count.astype(np.float64))
    exact = np.where((base < 0) & (count % 2 == 1), -magnitude, magnitude)
    least, most = desc.input_tensor.data_type.limits
    free |= (exact < least) | (exact > most) | ((exponent < 0) & ~is_unit)
    return Expectation(values.astype(bits), free=free if free.any() else None)


OPERATORS: dict[str, Compute] = {"ELEMENT_WISE_POW": pow_tensor, "ELEMENT_WISE_CONSTANT_POW": pow_constant}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
