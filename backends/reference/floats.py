"""FLOAT64's arithmetic on arrays of NumPy's or torch's, and the types that its numbers stand for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from threading import local
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from array_api_compat import array_namespace

from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.datatypes import DataType

Array = Any  # of NumPy or of torch
P = ParamSpec("P")
R = TypeVar("R")

UNIT = 2.0**-52  # of FLOAT64, as a part of a number: twice what an operation that rounds to nearest is off by
OWN_ERROR = 2.0**-49  # of FLOAT64's functions, likewise
OUTWARD = 1.0 + 2.0**-28  # what an error is multiplied by: more than FLOAT64 loses where it is added to a number
LEAST = 2.0**-1074  # of FLOAT64's numbers above 0
EXPONENT = 0x7FF0000000000000  # of FLOAT64's bits
MANY = 2**12  # numbers, of which it is worth the while to prepare a conversion


@cache
def type_name(dtype: Any) -> str:
    """`FLOAT32`; of a type of NumPy's, which takes as long as ten sums to say so, or of torch's."""
    return str(dtype).rpartition(".")[2].upper()


def namespace(array: Array) -> Any:
    """The functions of the array API standard for an array.

    NumPy's are its own: array-api-compat's copy of them imports all of NumPy, which costs a process 0.1 s.
    """
    return np if isinstance(array, (np.ndarray, np.generic)) else array_namespace(array)


class _Quiet(local):
    """Whether a thread is in a quiet function: saying so again would cost a fifth of what small arrays do."""

    inside = False


_QUIET = _Quiet()


def quiet(function: Callable[P, R]) -> Callable[P, R]:
    """The function without NumPy's warnings of infinities and NaN, which are results like others here."""

    @wraps(function)
    def silenced(*arguments: P.args, **options: P.kwargs) -> R:
        if _QUIET.inside:
            return function(*arguments, **options)
        _QUIET.inside = True
        try:
            with np.errstate(all="ignore"):
                return function(*arguments, **options)
        finally:
            _QUIET.inside = False

    return silenced


def some(mask: Array) -> bool:
    """Whether anything in a mask is true; NumPy counts four times as fast as it looks for one."""
    return bool(np.count_nonzero(mask) if isinstance(mask, np.ndarray) else mask.any())


def every(mask: Array) -> bool:
    """Whether all in a mask is true."""
    return bool(np.count_nonzero(mask) == mask.size if isinstance(mask, np.ndarray) else mask.all())


def at_least(numbers: Array, least: float) -> Array:
    """The numbers, or a greater one; NumPy's maximum takes half as long as its clip."""
    return np.maximum(numbers, least) if isinstance(numbers, np.ndarray) else numbers.clip(least, None)


def at_most(numbers: Array, most: float) -> Array:
    """The numbers, or a lesser one."""
    return np.minimum(numbers, most) if isinstance(numbers, np.ndarray) else numbers.clip(None, most)


def replaced(xp: Any, mask: Array, value: float, numbers: Array) -> Array:
    """The numbers with a value in place of some; as they are where that is nowhere, as it mostly is."""
    return xp.where(mask, value, numbers) if some(mask) else numbers


def pair(xp: Any, one: Array, other: Array) -> Array:
    """Two arrays along a new first axis; NumPy's stack takes five times as long over small ones."""
    return np.array([one, other]) if xp is np else xp.stack([one, other])


def ends_of(ends: Array) -> tuple[Array, Array]:
    """The least numbers and the greatest of a `pair`, in which these have the other sign."""
    return ends[0], -ends[1]


class Format(NamedTuple):
    """A floating-point type: its last place as a part of a number, its least number above 0, the least and the largest
    that are normal, and the power of two that comes after."""

    epsilon: float
    subnormal: float
    normal: float
    largest: float
    beyond: float


def _format(data_type: DataType) -> Format:
    info = np.finfo(NUMBERS[data_type])
    eps, least, normal, largest = map(float, (info.eps, info.smallest_subnormal, info.smallest_normal, info.max))
    return Format(eps, least, normal, largest, 2.0 ** int(info.maxexp))


FORMATS = {data_type: _format(data_type) for data_type in (DataType.FLOAT16, DataType.FLOAT32)}


def spacing(xp: Any, numbers: Array, data_type: DataType) -> Array:
    """A unit in the last place of a type at each number, that of the largest one beyond it."""
    of = FORMATS[data_type]
    powers = (numbers.view(xp.int64) & EXPONENT).view(xp.float64)
    return at_most(at_least(powers * of.epsilon, of.subnormal), of.beyond * of.epsilon / 2)


def nearest(xp: Any, numbers: Array, data_type: DataType) -> Array:
    """The nearest numbers of a type, infinite beyond the largest one."""
    found = narrow(xp, numbers, data_type)
    return found.astype(np.float64) if xp is np else xp.astype(found, xp.float64)


@quiet
def narrow(xp: Any, numbers: Array, data_type: DataType) -> Array:
    """The same in that type."""
    if xp is np and data_type is DataType.FLOAT16 and numbers.size >= MANY:
        # NumPy takes thirty times as long over what is beyond the largest number, or between subnormal ones.
        unit = spacing(xp, numbers, data_type)
        numbers = numbers / unit
        np.rint(numbers, numbers)
        numbers *= unit
        numbers[np.abs(numbers) >= FORMATS[data_type].beyond] *= np.inf
    return numbers.astype(NUMBERS[data_type]) if xp is np else xp.astype(numbers, getattr(xp, data_type.name.lower()))


def is_short(xp: Any, numbers: Array) -> Array:
    """Which numbers FLOAT32 has: FLOAT64 has products of two."""
    return nearest(xp, numbers, DataType.FLOAT32) == numbers


def outward(xp: Any, numbers: Array, is_inexact: Array) -> tuple[Array, Array]:
    """The numbers that an inexact operation of FLOAT64 may stand for; the same array twice where all are exact."""
    if not some(is_inexact):
        return numbers, numbers
    slack = xp.where(is_inexact & xp.isfinite(numbers), xp.abs(numbers) * UNIT + LEAST, 0.0)
    return numbers - slack, numbers + slack
