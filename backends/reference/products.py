"""What products of many elements may be, each step of which is rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure
from dml_conformance.backends.reference.floats import FORMATS, UNIT, Array, quiet
from dml_conformance.spec.accuracy import Subnormals

FAR = 1e4  # exponents that are beyond those of all numbers
NEAR = 1e-3  # what exponents of products may be off by


@quiet
def cumulative_product(x: Enclosure, axis: int) -> Enclosure:
    """The products of the elements up to each one along an axis, of known numbers.

    On the way to them are products of runs of elements, in any order: one after the other, or as a tree. Each step
    loses a part of its result, or where that is no normal number as much as there is of these. What is lost so is
    multiplied by what is before the run, and by what is after. Where a run overflows, infinity is right too.
    """

    def any_(mask: Array) -> Array:
        return np.logical_or.accumulate(mask, axis=axis)

    numbers = x.value
    has_infinity, has_zero = any_(np.isinf(numbers)), any_(numbers == 0)
    is_none = any_(np.isnan(numbers)) | (has_infinity & has_zero)
    sign = np.cumprod(np.copysign(1.0, numbers), axis=axis)
    size = np.abs(np.cumprod(numbers, axis=axis))
    size = np.where(has_infinity, np.inf, np.where(has_zero, 0.0, size))

    vanishes = any_((x.low <= 0) & (x.high >= 0))
    radius, is_over, is_under = _lost(x, size, axis)
    bottom = np.where(np.isinf(size) & (has_infinity | ~is_under), np.inf, np.fmax(size - radius, 0.0))
    bottom = np.where(vanishes & ~has_infinity, 0.0, bottom)
    top = np.where(is_over, np.inf, size + radius)
    top = np.where(has_zero, 0.0, top)

    value = np.where(is_none, np.nan, sign * size)
    low = np.where(is_none, np.nan, np.where(sign > 0, bottom, -top))
    high = np.where(is_none, np.nan, np.where(sign > 0, top, -bottom))
    maybe_nan = ~is_none & is_over & (vanishes | is_under)
    return Enclosure(x.evaluation, value, low, high, maybe_nan if maybe_nan.any() else None)


def _lost(x: Enclosure, size: Array, axis: int) -> tuple[Array, Array, Array]:
    """How far products of such a size may be off, and where a run may overflow, or be no normal number."""
    evaluation, data_type = x.evaluation, x.evaluation.data_type
    assert data_type is not None
    of, multiply = FORMATS[data_type], evaluation.primitive("multiply")[1]
    steps = np.reshape(np.arange(x.shape[axis]), [-1 if d == axis else 1 for d in range(len(x.shape))])
    most, least = _runs(np.nan_to_num(np.log2(np.abs(x.value)), nan=0.0, posinf=FAR, neginf=-FAR), axis)
    is_over = most >= np.log2(of.beyond) - NEAR
    is_under = (least <= np.log2(of.normal) + NEAR) & (steps > 0)
    part = steps * (multiply.ulp * of.epsilon + UNIT)
    lost = of.subnormal if evaluation.tolerance.subnormals[data_type] is Subnormals.KEPT else 2 * of.normal
    is_exact = np.cumsum(_digits(x.value), axis=axis) <= 1 - np.log2(of.epsilon)
    radius = np.where(is_exact, 0.0, size * part * (1.0 + part))
    radius = radius + np.where(is_under, steps * lost * np.exp2(np.minimum(2.0 * most, FAR)), 0.0)
    return radius, is_over, is_under


def _runs(exponents: Array, axis: int) -> tuple[Array, Array]:
    """Of the products of runs up to each element, some of which hold none, the largest exponent and the least."""
    after = np.cumsum(exponents, axis=axis)
    before = after - exponents
    most = np.maximum.accumulate(after - np.minimum.accumulate(before, axis=axis), axis=axis)
    least = np.minimum.accumulate(after - np.maximum.accumulate(before, axis=axis), axis=axis)
    return np.maximum(most, 0.0), np.minimum(least, 0.0)


def _digits(numbers: Array) -> Any:
    """How many binary digits numbers have from their first to their last that is not 0, of powers of two none:
    products have no more than their factors together."""
    mantissa = np.ldexp(np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))[0], 53).astype(np.int64)
    odd = np.abs(mantissa) / np.maximum(mantissa & -mantissa, 1)
    return np.log2(np.maximum(odd, 1.0))
