"""Arithmetic on two numbers: ELEMENT_WISE_ADD, _DIVIDE, _MAX, _MODULUS_FLOOR, _ATAN_YX and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from dml_conformance.backends.reference import functions
from dml_conformance.backends.reference.enclosure import Enclosure, either, known, where
from dml_conformance.backends.reference.floats import FORMATS, nearest
from dml_conformance.backends.reference.formula import Formula, in_float32
from dml_conformance.backends.reference.functions import stepped
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Mask, Within
from dml_conformance.spec.structures import DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, ElementWiseBinary

Found = dict[str, Any]


def compute(
    function: Callable[[Any, Any], Any],
    desc: ElementWiseBinary,
    arrays: Arrays,
    of_integers: Callable[..., Array] | None = None,
) -> Found:
    """output[c...] = function(a[c...], b[c...]); integers keep the low bits of what is exact"""
    data_type = desc.a_tensor.data_type
    a, b = _operands(desc, arrays)
    if data_type.is_float:
        return {"output_tensor": Formula(function, (a, b), data_type)}
    return {"output_tensor": (of_integers or function)(a, b)}


def difference_square(a: Any, b: Any) -> Any:
    """(a - b) * (a - b)"""
    difference = a - b
    return difference * difference


def add_activated(desc: DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, arrays: Arrays) -> Found:
    """output[c...] = activation(a[c...] + b[c...])"""
    data_type, activation = desc.output_tensor.data_type, desc.fused_activation
    is_chained = activation is not None and activation.operator != "ACTIVATION_IDENTITY"
    arguments = _operands(desc, arrays)
    found = Formula(lambda a, b: activated(activation, a + b, data_type), arguments, data_type, is_chained=is_chained)
    return {"output_tensor": found}


def mean(desc: ElementWiseBinary, arrays: Arrays) -> Found:
    """output[c...] = (a[c...] + b[c...]) / 2; of integers with a negative odd sum either of the nearest, and free where
    the sum overflows"""
    a, b = _operands(desc, arrays)
    if a.dtype.kind == "f":
        return compute(lambda a, b: (a + b) * 0.5, desc, arrays)
    total = a.astype(np.int64) + b.astype(np.int64)  # of 32 bits at most
    low, high = (total // 2).astype(a.dtype), np.trunc(total / 2).astype(a.dtype)
    is_free = total != a + b
    within = Within(_bits(low), _bits(high), where=(low != high) & ~is_free)
    return {"output_tensor": Expectation(_bits(high), free=is_free, within=within)}


def divide(desc: ElementWiseBinary, arrays: Arrays) -> Found:
    """output[c...] = a[c...] / b[c...], that of integers toward 0"""
    a, b = _operands(desc, arrays)
    if desc.a_tensor.data_type.is_float:
        return compute(truediv, desc, arrays)
    return _where_defined(lambda a, b: a // b + ((a % b != 0) & ((a < 0) != (b < 0))), a, b)


def modulus(rounding: str, of_integers: Callable[..., Array], desc: ElementWiseBinary, arrays: Arrays) -> Found:
    """output[c...] = a[c...] - b[c...] * rounding(a[c...] / b[c...])"""
    if desc.a_tensor.data_type.is_float:
        return compute(partial(_remainder, rounding), desc, arrays)
    return _where_defined(of_integers, *_operands(desc, arrays))


def _remainder(rounding: str, a: Enclosure, b: Enclosure) -> Enclosure:
    """In one step, or by the formula with every step rounded; open where the quotient is finite, but beyond the largest
    number"""
    xp, of = a.xp, FORMATS[a.evaluation.data_type or DataType.FLOAT32]
    truncated = functions.truncated_remainder(a, b)
    found = truncated if rounding == "trunc" else functions.floored_remainder(a, b)
    if not a.evaluation.tolerance.is_precise:
        own = a.evaluation.data_type
        exact_a, reciprocal = a.computed_in(None), b.reciprocal().computed_in(None)
        quotient = either(exact_a / b.computed_in(None), exact_a * reciprocal).computed_in(own)
        whole = stepped(getattr(xp, rounding), _nearest(_a_unit_off(a, _nearest(quotient))))
        multiple = b.computed_in(None) * whole.computed_in(None)
        found = either(found, a - _a_unit_off(a, multiple))
        if a.evaluation.data_type is DataType.FLOAT32:  # what is left and taken for 0 is not brought to the sign of b
            found = where(abs(truncated) < of.normal, either(found, truncated), found)
    exact = a.value / b.value
    return found.opened(xp.isfinite(exact) & (abs(exact) > of.largest))


def _nearest(x: Enclosure) -> Enclosure:
    """The nearest numbers of the type that it is computed in."""
    data_type = x.evaluation.data_type or DataType.FLOAT32
    low, high = (nearest(x.xp, end, data_type) for end in (x.low, x.high))
    return Enclosure(x.evaluation, x.value, low, high, x.maybe_nan)


def _a_unit_off(a: Enclosure, x: Enclosure) -> Enclosure:
    """A unit in the last place off: the WebNN tests, whose tolerance of products is a unit, count it from the nearest
    number, by the distance of bit patterns, and not from the exact one as Direct3D's rules do."""
    return a.evaluation.result("divide", x.value, x.low, x.high, x.maybe_nan)


def atan_yx(y: Enclosure, x: Enclosure) -> Enclosure:
    """atan2(y, x), or the arctangent of a quotient; anything where both are 0, or infinite"""
    found = functions.atan2(y, x)
    if not y.evaluation.tolerance.is_precise:
        found = either(found, _angle(y, x), where(known(abs(y.value) > abs(x.value)), _inverse_angle(y, x), found))
        if y.evaluation.data_type is DataType.FLOAT32:  # a comparison takes y for 0, of whatever sign
            is_tiny = (y.value != 0) & (abs(y.value) < FORMATS[DataType.FLOAT32].normal)
            found = where(known(is_tiny), either(found, -found), found)
    are_zero = (y.low <= 0) & (y.high >= 0) & (x.low <= 0) & (x.high >= 0)
    return found.opened(are_zero | (y.xp.isinf(y.value) & y.xp.isinf(x.value)))


@in_float32
def _angle(y: Enclosure, x: Enclosure) -> Enclosure:
    return _in_quadrant(functions.atan(abs(y / x)), y, x)


@in_float32
def _inverse_angle(y: Enclosure, x: Enclosure) -> Enclosure:
    return _in_quadrant(math.pi / 2 - functions.atan(abs(x / y)), y, x)


def _in_quadrant(angle: Enclosure, y: Enclosure, x: Enclosure) -> Enclosure:
    """The angle of a point that has these signs."""
    angle = where(known(y.xp.signbit(x.value)), math.pi - angle, angle)
    return where(known(y.xp.signbit(y.value)), -angle, angle)


def _where_defined(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Found:
    """Of integers; free where they are divided by 0, and where the type does not have the quotient"""
    least = np.iinfo(a.dtype).min
    is_free: Mask = b == 0
    if least < 0:
        is_free = is_free | ((a == least) & (b == -1))
    found = function(a, np.where(is_free, b.dtype.type(1), b)).astype(a.dtype)
    return {"output_tensor": Expectation(_bits(found), free=is_free if is_free.any() else None)}


def _operands(desc: ElementWiseBinary, arrays: Arrays) -> tuple[Array, Array]:
    data_type = desc.a_tensor.data_type
    return as_numbers(arrays["a_tensor"], data_type), as_numbers(arrays["b_tensor"], data_type)


def _bits(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view(f"<u{numbers.itemsize}").reshape(numbers.shape)


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_ADD": partial(compute, add),
    "ELEMENT_WISE_ADD1": add_activated,
    "ELEMENT_WISE_ATAN_YX": partial(compute, atan_yx),
    "ELEMENT_WISE_DIFFERENCE_SQUARE": partial(compute, difference_square),
    "ELEMENT_WISE_DIVIDE": divide,
    "ELEMENT_WISE_MAX": partial(compute, functions.maximum, of_integers=np.maximum),
    "ELEMENT_WISE_MEAN": mean,
    "ELEMENT_WISE_MIN": partial(compute, functions.minimum, of_integers=np.minimum),
    "ELEMENT_WISE_MODULUS_FLOOR": partial(modulus, "floor", np.mod),
    "ELEMENT_WISE_MODULUS_TRUNCATE": partial(modulus, "trunc", np.fmod),
    "ELEMENT_WISE_MULTIPLY": partial(compute, mul),
    "ELEMENT_WISE_SUBTRACT": partial(compute, sub),
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
