"""ELEMENT_WISE_POW and ELEMENT_WISE_CONSTANT_POW: elements raised to powers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.formula import Formula, scaled
from dml_conformance.backends.reference.functions import of_ends
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec import structures
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Numbers, Within

# What an exponent is.
FRACTION, ODD, EVEN = 0.0, 1.0, 2.0


def pow_tensor(desc: structures.DML_ELEMENT_WISE_POW_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = pow(input[c...], exponent[c...])"""
    data_type = desc.input_tensor.data_type
    base = as_numbers(arrays["input_tensor"], data_type)
    exponent = as_numbers(arrays["exponent_tensor"], desc.exponent_tensor.data_type)
    if not data_type.is_float:
        if desc.scale_bias is None and exponent.dtype.kind == "f":
            return {"output_tensor": partial(_of_integers_to_floats, data_type, base, exponent)}
        return {"output_tensor": _of_integers(desc, base, exponent)}
    if not desc.exponent_tensor.data_type.is_float:  # it may be rounded to FLOAT32, which changes large ones alone
        return _of_floats(desc, base, exponent, exponent.astype(np.float32))
    return _of_floats(desc, base, exponent)


def pow_constant(desc: structures.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = pow(input[c...], Exponent)"""
    data_type = desc.input_tensor.data_type
    with np.errstate(over="ignore"):
        exponent = np.array(desc.exponent, np.float32)
        own = exponent.astype(NUMBERS[data_type])
    return _of_floats(desc, as_numbers(arrays["input_tensor"], data_type), exponent, own)


def _of_floats(desc: structures.ElementWisePower, base: Array, *exponents: Array) -> dict[str, Any]:
    """Of an exponent, and what it may be rounded to."""

    def formula(x: Enclosure, *exponents: Enclosure) -> Enclosure:
        x = scaled(x, desc.scale_bias)
        return either(*(_power(x, exponent) for exponent in exponents))

    data_type, is_chained = desc.input_tensor.data_type, desc.scale_bias is not None
    return {"output_tensor": Formula(formula, (base, *exponents), data_type, is_chained=is_chained)}


def _power(base: Enclosure, exponent: Enclosure) -> Enclosure:
    """What a power may be: C's, that of a logarithm, and where these differ from library to library either sign."""
    kind = kind_of(exponent.value)

    def results(base: Array, exponent: Array) -> list[Array]:
        exact = power(base, exponent, kind)
        return [exact, _by_logarithm(exact, base, exponent), _of_infinities(exact, base, exponent, kind)]

    return of_ends("pow", results, base, exponent)


def kind_of(exponents: Array) -> Numbers:
    """Whether they are fractions, odd or even; infinities are even."""
    with np.errstate(invalid="ignore"):
        rest = np.abs(np.fmod(exponents, 2.0))
    return np.where((rest == 0) | np.isinf(exponents), EVEN, np.where(rest == 1, ODD, FRACTION))


def power(base: Numbers, exponent: Numbers, kind: Numbers) -> Numbers:
    """base^exponent; of a negative base only where the exponent was a whole number, wherever it has been moved since"""
    magnitude = np.power(np.abs(base), exponent)
    is_no_number = (base < 0) & (kind == FRACTION) & (exponent != 0)
    found = np.where(kind == ODD, np.copysign(magnitude, base), magnitude)
    return np.where(is_no_number, np.nan, found)


def _by_logarithm(exact: Numbers, base: Numbers, exponent: Numbers) -> Numbers:
    """2^(exponent * log2(base)), of a negative base with the sign that the exponent gives it"""
    no_number = np.isnan(exponent * np.log2(np.abs(base))) | ((base < 0) & np.isinf(exponent))
    return np.where(no_number, np.nan, np.where(base == 0, np.abs(exact), exact))


def _of_infinities(exact: Numbers, base: Numbers, exponent: Numbers, kind: Numbers) -> Numbers:
    """C's result of a fractional power of -infinity; the other sign where the exponent is infinite, or the base -0"""
    is_fractional = np.isneginf(base) & (kind == FRACTION)
    found = np.where(is_fractional, np.where(exponent > 0, np.inf, np.where(exponent < 0, 0.0, exact)), exact)
    is_other = ((base < 0) & np.isinf(exponent)) | ((base == 0) & np.signbit(base))
    return np.where(is_other, -np.abs(exact), found)


def _of_integers(desc: structures.ElementWisePower, base: Array, exponent: Array) -> Expectation:
    """The power, modulo 2^64; free where that is no number of the type"""
    bits = UNSIGNED[base.itemsize]
    free = np.full(base.shape, desc.scale_bias is not None)
    if free.all():
        return Expectation(base.view(bits), free=free)
    is_unit = (base == 1) | (base == -1)  # whose negative powers are the positive ones
    count = np.abs(exponent.astype(np.int64))
    values = np.power(base.astype(np.int64).astype(np.uint64), count.astype(np.uint64))
    with np.errstate(over="ignore"):
        magnitude = np.power(np.abs(base.astype(np.float64)), count.astype(np.float64))
    exact = np.where((base < 0) & (count % 2 == 1), -magnitude, magnitude)
    least, most = desc.input_tensor.data_type.limits or (0, 0)
    free |= (exact < least) | (exact > most) | ((exponent < 0) & ~is_unit)
    return Expectation(values.astype(bits), free=free if free.any() else None)


@quiet
def _of_integers_to_floats(data_type: DataType, base: Array, exponent: Array, tolerance: Tolerance) -> Expectation:
    """The power as FLOAT32 has it of the base or of FLOAT32's number nearest to it, cut to a whole number or rounded;
    free where that is no number of the type"""
    evaluation = Evaluation(tolerance)
    x = evaluation.of(base)
    found = _power(either(x, x.to(DataType.FLOAT32)), evaluation.of(exponent))
    low = np.minimum(np.trunc(found.low), np.rint(found.low))
    high = np.maximum(np.trunc(found.high), np.rint(found.high))
    least, most = data_type.limits or (0, 0)
    free = found.nan | ~(low >= least) | ~(high <= most)
    ends = (np.where(free, 0, end).astype(base.dtype) for end in (low, np.rint(found.value), high))
    low, values, high = (end.view(UNSIGNED[base.itemsize]) for end in ends)
    return Expectation(values, free=free if free.any() else None, within=Within(low, high, where=~free))


OPERATORS: dict[str, Compute] = {"ELEMENT_WISE_POW": pow_tensor, "ELEMENT_WISE_CONSTANT_POW": pow_constant}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
