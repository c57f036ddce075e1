"""Numbers as numbers of another data type, with what is right where that has no such number."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask, Within


def converted(numbers: Array, data_type: DataType) -> Expectation:
    """What CAST makes of numbers: the same number, or one of the two next to it; see `CAST.values`."""
    with np.errstate(all="ignore"):
        if data_type.is_float:
            return _as_floats(numbers, data_type)
        return _as_integers(numbers, data_type)


def scalar(value: float | int, data_type: DataType) -> Array:
    """A number of DML_SCALAR_UNION as an array of one element; of one that its type does not have the low bits."""
    if data_type.is_float:
        with np.errstate(over="ignore"):
            return np.array(value, NUMBERS[data_type])
    whole = int(value) if np.isfinite(value) else 0
    return np.array(whole % 2**data_type.bits, UNSIGNED[data_type.size]).view(NUMBERS[data_type])


def _as_integers(numbers: Array, data_type: DataType) -> Expectation:
    """Whole numbers stay; of others come the one below or the one above, if the type has both."""
    least, most = data_type.limits or (0, 0)
    target = NUMBERS[data_type]
    if numbers.dtype.kind != "f":
        own = np.iinfo(numbers.dtype)
        outside = (numbers < max(least, int(own.min))) | (numbers > min(most, int(own.max)))
        return Expectation(_bits(numbers.astype(target)), free=_any(outside))
    wide = numbers.astype(np.float64)
    low, high = np.floor(wide), np.ceil(wide)
    inside = (low >= least) & (high < most + 1.0)  # a power of two, which FLOAT64 has; False for NaN
    low, high, kept = (np.where(inside, part, 0.0).astype(target) for part in (low, high, np.trunc(wide)))
    return _expectation(kept, low, high, where=inside & (low != high), free=~inside)


def _as_floats(numbers: Array, data_type: DataType) -> Expectation:
    """The nearest number, and the next one on the other side of what is converted."""
    target = NUMBERS[data_type]
    nearest = numbers.astype(target)
    side = _side(nearest, numbers)
    low = np.where(side > 0, np.nextafter(nearest, target.type(-np.inf)), nearest)
    high = np.where(side < 0, np.nextafter(nearest, target.type(np.inf)), nearest)
    tiny = np.zeros(numbers.shape, np.bool_)
    for part in (numbers, low, high) if numbers.dtype.kind == "f" else (low, high):
        tiny |= (part != 0) & (np.abs(part) < np.finfo(part.dtype).tiny)
    zero = target.type(0)
    low, high = np.where(tiny, np.minimum(low, zero), low), np.where(tiny, np.maximum(high, zero), high)
    is_nan = np.isnan(nearest)
    low, high = np.where(is_nan, target.type(1), low), np.where(is_nan, target.type(-1), high)  # no number is right
    return _expectation(nearest, low, high, where=(low != high) | is_nan, nan=_any(is_nan))


def _side(nearest: Array, numbers: Array) -> Array:
    """Above 0 where a float is greater than the number that it stands for, below 0 where it is less; exact."""
    if numbers.dtype.kind == "f" or numbers.itemsize < 8:
        near, wide = nearest.astype(np.float64), numbers.astype(np.float64)
        return np.subtract(near > wide, near < wide, dtype=np.int8)
    end = 2.0 ** (64 if numbers.dtype.kind == "u" else 63)
    near = nearest.astype(np.float64)
    beyond = np.abs(near) >= end  # no integer of the type, but for the least one
    whole = np.where(beyond, 0, near).astype(numbers.dtype)
    side = np.subtract(whole > numbers, whole < numbers, dtype=np.int8)
    exact = (near == -end) & (numbers == np.iinfo(numbers.dtype).min) & (numbers.dtype.kind == "i")
    return np.where(beyond, np.where(exact, 0, np.sign(near)), side).astype(np.int8)


def _expectation(
    values: Array, low: Array, high: Array, *, where: Mask, nan: Any = None, free: Any = None
) -> Expectation:
    within = Within(_bits(low), _bits(high), nan, np.asarray(where)) if where.any() else None
    return Expectation(_bits(values), free=None if free is None else _any(free), within=within)


def _bits(numbers: Array) -> Bits:
    return np.ascontiguousarray(numbers).view(UNSIGNED[numbers.itemsize]).reshape(numbers.shape)


def _any(mask: Mask) -> Mask | None:
    return np.asarray(mask) if mask.any() else None
