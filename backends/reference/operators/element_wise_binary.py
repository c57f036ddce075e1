"""Arithmetic on two numbers: ELEMENT_WISE_ADD, _DIVIDE, _MAX, _MODULUS_FLOOR, _ATAN_YX and their like."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dml_conformance.backends.reference.arithmetic import ENDS, Arithmetic, Function, Inner, spacing
from dml_conformance.backends.reference.layout import NUMBERS, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Mask, Numbers, Within

Found = dict[str, Any]
# A unit in the last place of a reciprocal less, and more; the same of what is computed from it.
WAYS = (-1.0, 1.0)


def compute(function: Function, desc: Any, arrays: Arrays) -> Found:
    """output[c...] = function(a[c...], b[c...]); integers keep the low bits of what is exact"""
    a, b = _operands(desc, arrays)
    return {"output_tensor": Arithmetic(function, (a, b)) if a.dtype.kind == "f" else function(a, b)}


def difference_square(desc: Any, arrays: Arrays) -> Found:
    """output[c...] = (a[c...] - b[c...]) * (a[c...] - b[c...])"""
    data_type = desc.a_tensor.data_type
    a, b = _operands(desc, arrays)
    if not data_type.is_float:
        return {"output_tensor": np.square(a - b)}
    difference = Inner(np.subtract, lambda a, b: _unit(a - b, data_type), takes=2)
    return {"output_tensor": Arithmetic(np.square, (a, b), difference)}


def add_activated(desc: Any, arrays: Arrays) -> Found:
    """output[c...] = activation(a[c...] + b[c...])"""
    if desc.fused_activation is None:
        return compute(np.add, desc, arrays)
    data_type = desc.output_tensor.data_type
    return activated(desc.fused_activation, desc.output_tensor, _sum(data_type), _operands(desc, arrays))


def _sum(data_type: DataType) -> Inner:
    """a + b, rounded or not; anything beyond the largest number, and a subnormal FLOAT32 number or 0"""
    info = np.finfo(NUMBERS[data_type])

    def error(a: Numbers, b: Numbers) -> Numbers:
        total = np.abs(a + b)
        flushed = np.where(total < float(info.tiny), total, 0.0) if data_type is DataType.FLOAT32 else 0.0
        within = np.maximum(_unit(total, data_type), flushed)
        return np.where(np.isfinite(total) & (total > float(info.max)), np.inf, within)

    return Inner(np.add, error, takes=2)


def mean(desc: Any, arrays: Arrays) -> Found:
    """output[c...] = (a[c...] + b[c...]) / 2; of integers with a negative odd sum either of the nearest, and free where
    the sum overflows"""
    a, b = _operands(desc, arrays)
    if a.dtype.kind == "f":
        return {"output_tensor": Arithmetic(lambda a, b: (a + b) / 2, (a, b))}
    total = a.astype(np.int64) + b.astype(np.int64)  # of 32 bits at most
    low, high = (total // 2).astype(a.dtype), np.trunc(total / 2).astype(a.dtype)
    is_free = total != a + b
    within = Within(_bits(low), _bits(high), where=(low != high) & ~is_free)
    return {"output_tensor": Expectation(_bits(high), free=is_free, within=within)}


def extreme(functions: tuple[Function, Function], desc: Any, arrays: Arrays) -> Found:
    """output[c...] = a[c...] or b[c...]; where one is a NaN, the other or a NaN"""
    of_numbers, of_nan = functions
    a, b = _operands(desc, arrays)
    if a.dtype.kind == "f":
        return {"output_tensor": Arithmetic(of_numbers, (a, b), also=(lambda _, a, b: of_nan(a, b),))}
    return {"output_tensor": of_numbers(a, b)}


def divide(desc: Any, arrays: Arrays) -> Found:
    """output[c...] = a[c...] / b[c...], that of integers toward 0"""
    data_type = desc.a_tensor.data_type
    a, b = _operands(desc, arrays)
    if data_type.is_float:
        steps = tuple(partial(quotient, way, data_type) for way in WAYS)
        return {"output_tensor": Arithmetic(np.divide, (a, b), steps=steps)}
    return _where_defined(lambda a, b: a // b + ((a % b != 0) & ((a < 0) != (b < 0))), a, b)


def modulus(rounding: Function, remainder: Function, desc: Any, arrays: Arrays) -> Found:
    """output[c...] = a[c...] - b[c...] * rounding(a[c...] / b[c...])"""
    data_type = desc.a_tensor.data_type
    a, b = _operands(desc, arrays)
    if not data_type.is_float:
        return _where_defined(remainder, a, b)
    computed_in = {data_type, DataType.FLOAT32}
    steps: list[Function] = [
        partial(_remainder, rounding, ways, of) for of in computed_in for ways in product(WAYS, WAYS)
    ]
    if rounding is np.floor and data_type is DataType.FLOAT32:
        steps.append(_floor_of_zero)
    also = tuple(partial(_remainder_or, end, data_type) for end in ENDS)
    return {"output_tensor": Arithmetic(remainder, (a, b), also=also, steps=tuple(steps))}


def atan_yx(desc: Any, arrays: Arrays) -> Found:
    """output[c...] = atan2(a[c...], b[c...]); anything where both are 0, or infinite"""
    steps = tuple(partial(angle, way, DataType.FLOAT32) for angle in (_angle, _angle_of_inverse) for way in WAYS)
    also = tuple(partial(_angle_or, end) for end in ENDS)
    arguments = _operands(desc, arrays)
    return {"output_tensor": Arithmetic(np.arctan2, arguments, also=also, steps=steps, compared=_angle_of_zero)}


def quotient(way: float, data_type: DataType, a: Numbers, b: Numbers) -> Numbers:
    """a * (1 / b), with a reciprocal that is a unit in its last place less or more"""
    exact = np.reciprocal(b)
    return a * _limited(exact + np.sign(exact) * way * _unit(exact, data_type), data_type)


def _limited(numbers: Numbers, data_type: DataType) -> Numbers:
    """Infinite beyond the largest number of a type, and of FLOAT32 0 below the least that is not subnormal"""
    info = np.finfo(NUMBERS[data_type])
    least = float(info.tiny) if data_type is DataType.FLOAT32 else 0.0
    magnitudes = np.abs(numbers)
    limited = np.where(magnitudes > float(info.max), np.inf, np.where(magnitudes < least, 0.0, magnitudes))
    return np.copysign(limited, numbers)


def _remainder(rounding: Function, ways: tuple[float, float], data_type: DataType, a: Numbers, b: Numbers) -> Numbers:
    """The formula with a quotient, by a reciprocal or not, that is rounded; it and the multiple are a unit in their
    last place less or more"""
    exact, found = a / b, quotient(ways[0], data_type, a, b)
    found = np.where((np.abs(found) > np.abs(exact)) == (ways[0] > 0), found, exact)
    found = found.astype(NUMBERS[data_type]).astype(np.float64)
    found = _limited(found + np.sign(found) * ways[0] * _unit(found, data_type), data_type)
    multiple = b * rounding(found)
    multiple = multiple + ways[1] * np.where(multiple == 0, 0.0, _unit(multiple, data_type))
    return a - _limited(multiple, data_type)


def _floor_of_zero(a: Numbers, b: Numbers) -> Numbers:
    """Where truncation leaves a subnormal FLOAT32 number, that: taken for 0, it is not brought to the sign of b"""
    left = np.fmod(a, b)
    return np.where(np.abs(left) < float(np.finfo(np.float32).tiny), left, np.mod(a, b))


def _remainder_or(open_value: float, data_type: DataType, exact: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Open where the quotient is finite, but beyond the largest number"""
    found = a / b
    is_open = np.isfinite(found) & (np.abs(found) > float(np.finfo(NUMBERS[data_type]).max))
    return np.where(is_open, open_value, exact)


def _angle(way: float, data_type: DataType, y: Numbers, x: Numbers) -> Numbers:
    """The arctangent of such a quotient, brought into its quadrant"""
    angle = np.arctan(np.abs(quotient(way, data_type, y, x)))
    return np.copysign(np.where(np.signbit(x), np.pi - angle, angle), y)


def _angle_of_inverse(way: float, data_type: DataType, y: Numbers, x: Numbers) -> Numbers:
    """The same by the quotient the other way round, where that is the smaller one"""
    angle = np.pi / 2 - np.arctan(np.abs(quotient(way, data_type, x, y)))
    found = np.copysign(np.where(np.signbit(x), np.pi - angle, angle), y)
    return np.where(np.abs(y) > np.abs(x), found, np.arctan2(y, x))


def _angle_of_zero(y: Numbers, x: Numbers) -> Numbers:
    """Of a subnormal FLOAT32 y the angle on the other side too: a comparison takes it for 0, of whatever sign"""
    return np.arctan2(np.where(np.abs(y) < float(np.finfo(np.float32).tiny), -y, y), x)


def _angle_or(open_value: float, exact: Numbers, y: Numbers, x: Numbers) -> Numbers:
    is_open = ((y == 0) & (x == 0)) | (np.isinf(y) & np.isinf(x))
    return np.where(is_open, open_value, exact)


def _where_defined(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Found:
    """Of integers; free where they are divided by 0, and where the type does not have the quotient"""
    least = np.iinfo(a.dtype).min
    is_free: Mask = b == 0
    if least < 0:
        is_free = is_free | ((a == least) & (b == -1))
    found = function(a, np.where(is_free, b.dtype.type(1), b)).astype(a.dtype)
    return {"output_tensor": Expectation(_bits(found), free=is_free if is_free.any() else None)}


def _operands(desc: Any, arrays: Arrays) -> tuple[Array, Array]:
    data_type = desc.a_tensor.data_type
    return as_numbers(arrays["a_tensor"], data_type), as_numbers(arrays["b_tensor"], data_type)


def _unit(numbers: Numbers, data_type: DataType) -> Numbers:
    """A unit in the last place; of what is not finite none"""
    return np.where(np.isfinite(numbers), spacing(numbers, data_type), 0.0)


def _bits(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view(f"<u{numbers.itemsize}").reshape(numbers.shape)


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_ADD": partial(compute, np.add),
    "ELEMENT_WISE_ADD1": add_activated,
    "ELEMENT_WISE_ATAN_YX": atan_yx,
    "ELEMENT_WISE_DIFFERENCE_SQUARE": difference_square,
    "ELEMENT_WISE_DIVIDE": divide,
    "ELEMENT_WISE_MAX": partial(extreme, (np.fmax, np.maximum)),
    "ELEMENT_WISE_MEAN": mean,
    "ELEMENT_WISE_MIN": partial(extreme, (np.fmin, np.minimum)),
    "ELEMENT_WISE_MODULUS_FLOOR": partial(modulus, np.floor, np.mod),
    "ELEMENT_WISE_MODULUS_TRUNCATE": partial(modulus, np.trunc, np.fmod),
    "ELEMENT_WISE_MULTIPLY": partial(compute, np.multiply),
    "ELEMENT_WISE_SUBTRACT": partial(compute, np.subtract),
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
