"""Integers that stand for numbers, by scales and zero points, among what is multiplied and added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, either, known, where
from dml_conformance.backends.reference.floats import FORMATS
from dml_conformance.backends.reference.layout import Array, Arrays, as_numbers
from dml_conformance.backends.reference.operators._quantize import quantized_between
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.expectation import Expectation, Mask

SUM = 2**31  # beyond which INT32 does not reach
OF = FORMATS[DataType.FLOAT32]


def numbers_of(desc: OperatorDesc, arrays: Arrays, key: str) -> Array:
    """The elements of an input as FLOAT64; 0 where there is no such tensor."""
    if key not in arrays:
        return np.zeros(())
    with np.errstate(invalid="ignore"):
        return as_numbers(arrays[key], getattr(desc, key).data_type).astype(np.float64)


def has_no_int32(sums: Array) -> Mask:
    """Which whole numbers INT32 does not have."""
    return np.asarray((sums < -SUM) | (sums >= SUM))


def as_int32(sums: Array) -> Expectation:
    """What is right of sums of integers: anything where INT32 does not have them."""
    is_open = has_no_int32(sums)
    values = np.where(is_open, 0.0, sums).astype(np.int32).view(np.uint32)
    return Expectation(values, free=is_open if is_open.any() else None)


def as_float32(numbers: Enclosure) -> Enclosure:
    """Whole numbers, which may be rounded to FLOAT32 before they are computed with."""
    return either(numbers, numbers.to(DataType.FLOAT32)) if (np.abs(numbers.value) > 2.0**24).any() else numbers


def over(numbers: Enclosure, scale: Enclosure) -> Enclosure:
    """The quotient, which is not rounded where the scale is a power of two: by a division or by its reciprocal."""
    is_power = _is_power_of_two(scale)
    quotient = numbers / scale
    if not is_power.any():
        return quotient
    reciprocal = Enclosure(scale.evaluation, 1.0 / np.where(is_power, scale.value, 1.0))
    return where(known(np.broadcast_to(is_power, quotient.shape)), numbers * reciprocal, quotient)


def over_scale(sums: Enclosure, scaled: Enclosure, scales: tuple[Enclosure, Enclosure], scale: Enclosure) -> Enclosure:
    """The sums of products times the scales of both factors, divided by that of the results, in any of its orders.

    Args:
        sums: of the products of whole numbers.
        scaled: those of the numbers that these stand for.
        scales: of the factors; where both are powers of two, neither rounds a term, and `scaled` is `sums` times both.
        scale: of the results.
    """
    factor = scales[0] * scales[1]
    found = sums * factor
    is_moved = np.broadcast_to(_is_power_of_two(scales[0]) & _is_power_of_two(scales[1]), found.shape)
    return either(over(where(known(is_moved), found, either(scaled, found)), scale), sums * over(factor, scale))


def _is_power_of_two(numbers: Enclosure) -> Mask:
    return np.asarray(np.abs(np.frexp(numbers.value)[0]) == 0.5)


def has_no_quotient(factors: Sequence[Array], scale: Array) -> Mask:
    """Where scales, or their products and quotients, are no normal numbers of FLOAT32 that have a reciprocal.

    Args:
        factors: the scales of what is multiplied, or of each of both; they may be 0.
        scale: that of the results.
    """
    with np.errstate(all="ignore"):
        found = ~_is_normal(scale) | ~_is_normal(1.0 / scale)
        for factor in factors:
            for number in (factor, factor / scale):
                found = found | ~((number == 0) | _is_normal(number))
    return np.asarray(found)


def _is_normal(numbers: Array) -> Mask:
    sizes = np.abs(numbers)
    return np.asarray((sizes >= OF.normal) & (sizes <= OF.largest))


def quantized(quotient: Enclosure, zero_point: Array, data_type: DataType, is_open: Mask) -> Expectation:
    """What is right of a quotient that is rounded, ties to even, and held between the limits of a type."""
    ends = quotient.low, quotient.value, quotient.high
    return quantized_between(*ends, (zero_point,) * 3, quotient.nan | is_open, data_type)
