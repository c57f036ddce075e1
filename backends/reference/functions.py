"""Functions of enclosures: each is taken of the least and the greatest argument, or where it turns between them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Condition, Enclosure, Function, Number, either, zeros
from dml_conformance.backends.reference.floats import FORMATS, OUTWARD, OWN_ERROR, UNIT, Array, quiet, some, spacing
from dml_conformance.spec.accuracy import Bound

INF = math.inf
LESS = 1.0 - UNIT / 2  # than 1, by as little as FLOAT64 has
_ERF, _ERFC = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)


@quiet
def _monotonic(
    name: str,
    function: Function,
    x: Enclosure,
    domain: tuple[float, float] = (-INF, INF),
    falls: bool = False,
    limits: tuple[float, float] = (-INF, INF),
    factor: float = 1.0,
) -> Enclosure:
    """Of a function that rises over its domain, or falls, and comes to its limits nowhere but at infinities.

    A multiple of it by a factor is one function with it, whose errors are counted in units of the product: rounded
    after a product, errors of a function just above a power of two would count twice just below another.
    """
    if factor == 0:
        return factor * _monotonic(name, function, x, domain, falls, limits)
    if factor != 1.0:
        of_one, falls = function, falls != (factor < 0)
        limits = (factor * limits[0], factor * limits[1]) if factor > 0 else (factor * limits[1], factor * limits[0])

        def function(numbers: Array) -> Array:
            return factor * of_one(numbers)

    xp = x.xp
    value = function(x.value)
    low, high = _moved(x, x.evaluation.primitive(name)[1])
    maybe_nan = x.maybe_nan
    if domain != (-INF, INF):
        outside = (low < domain[0]) | (high > domain[1])
        if some(outside):
            is_none = (high < domain[0]) | (low > domain[1])
            maybe_nan = outside if maybe_nan is None else maybe_nan | outside
            low, high = (xp.where(is_none, xp.nan, _clipped(xp, end, *domain)) for end in (low, high))
    ends = [value if end is x.value else function(end) for end in ((low,) if low is high else (low, high))]
    if falls:
        ends.reverse()
    least, most = _below(xp, ends[0], limits[0]), _above(xp, ends[-1], limits[1])
    return x.evaluation.result(name, value, least, most, maybe_nan, _exact(value, x), factor)


def _exact(value: Array, *arguments: Enclosure) -> Array:
    """The finite results of arguments that are known, else NaN."""
    xp = arguments[0].xp
    is_known = xp.isfinite(value)
    for x in arguments:
        if not x.is_exact:
            is_known = is_known & (x.low == x.value) & (x.high == x.value)
    return xp.where(is_known, value, xp.nan)


def _moved(x: Enclosure, bound: Bound) -> tuple[Array, Array]:
    """The least and the greatest argument that a bound has a result be of."""
    if not bound.argument and not bound.shift:
        return x.low, x.high
    xp = x.xp
    low, high = (xp.where(xp.isfinite(end), bound.argument * xp.abs(end) + bound.shift, 0.0) for end in (x.low, x.high))
    return x.low - low, x.high + high


def _clipped(xp: Any, numbers: Array, least: float, most: float) -> Array:
    """Inside a domain; what is there stays as it is, a zero's sign too."""
    return xp.where(numbers < least, least, xp.where(numbers > most, most, numbers))


def _below(xp: Any, numbers: Array, least: float = -INF) -> Array:
    """The least that FLOAT64's function may stand for; it has zeros and infinities where these are exact.

    What it has above the least that a function comes to stays above.
    """
    low = xp.minimum(numbers * (1.0 - OWN_ERROR), numbers * (1.0 + OWN_ERROR))
    return low if least == -INF else xp.where(numbers > least, xp.maximum(low, xp.full_like(low, least * LESS)), low)


def _above(xp: Any, numbers: Array, most: float = INF) -> Array:
    """The greatest."""
    return -_below(xp, -numbers, -most)


def or_nan(compared: Condition, *of: Enclosure, value: bool = False) -> Condition:
    """A comparison that may be true of a NaN, and false; `value` is which one it is by the page."""
    nan = reduce(lambda a, b: a | b, [each.nan for each in of])
    exact = compared.value | nan if value else compared.value & ~nan
    return Condition(exact, compared.possible | nan, compared.certain & ~nan)


def sqrt(x: Enclosure) -> Enclosure:
    return _monotonic("sqrt", x.xp.sqrt, x, (0.0, INF))


def exp(x: Enclosure) -> Enclosure:
    return _monotonic("exp", x.xp.exp, x)


def expm1(x: Enclosure, factor: float = 1.0) -> Enclosure:
    return _monotonic("expm1", x.xp.expm1, x, limits=(-1.0, INF), factor=factor)


def log(x: Enclosure) -> Enclosure:
    return _monotonic("log", x.xp.log, x, (0.0, INF))


def sinh(x: Enclosure) -> Enclosure:
    return _monotonic("sinh", x.xp.sinh, x)


def tanh(x: Enclosure, factor: float = 1.0) -> Enclosure:
    return _monotonic("tanh", x.xp.tanh, x, limits=(-1.0, 1.0), factor=factor)


def asinh(x: Enclosure) -> Enclosure:
    return _monotonic("asinh", x.xp.asinh, x)


def acosh(x: Enclosure) -> Enclosure:
    return _monotonic("acosh", x.xp.acosh, x, (1.0, INF))


def atanh(x: Enclosure) -> Enclosure:
    return _monotonic("atanh", x.xp.atanh, x, (-1.0, 1.0))


def asin(x: Enclosure) -> Enclosure:
    return _monotonic("asin", x.xp.asin, x, (-1.0, 1.0))


def acos(x: Enclosure) -> Enclosure:
    return _monotonic("acos", x.xp.acos, x, (-1.0, 1.0), falls=True)


def atan(x: Enclosure) -> Enclosure:
    return _monotonic("atan", x.xp.atan, x)


def erf(x: Enclosure) -> Enclosure:
    return _monotonic("erf", getattr(x.xp, "erf", partial(_of_every, _ERF)), x, limits=(-1.0, 1.0))


def erfc(x: Enclosure) -> Enclosure:
    """1 - erf(x), of which FLOAT64 loses little where erf(x) is near 1"""
    return _monotonic("erfc", getattr(x.xp, "erfc", partial(_of_every, _ERFC)), x, falls=True)


def _of_every(function: Function, numbers: Array) -> Array:
    return np.positive(function(numbers), dtype=np.float64, casting="unsafe")


def sigmoid(x: Enclosure) -> Enclosure:
    """1 / (1 + exp(-x)), as one function"""
    return _monotonic("sigmoid", lambda numbers: 1.0 / (1.0 + x.xp.exp(-numbers)), x, limits=(-INF, 1.0))


def softplus(x: Enclosure, factor: float = 1.0) -> Enclosure:
    """ln(1 + exp(x)), which is finite where x is"""
    return _monotonic("softplus", lambda numbers: x.xp.logaddexp(numbers, x.xp.zeros_like(numbers)), x, factor=factor)


@quiet
def cosh(x: Enclosure) -> Enclosure:
    """It has its least value at 0."""
    return _monotonic("cosh", x.xp.cosh, abs(x))


def sin(x: Enclosure) -> Enclosure:
    return _periodic("sin", x.xp.sin, x, math.pi / 2)


def cos(x: Enclosure) -> Enclosure:
    return _periodic("cos", x.xp.cos, x, 0.0)


@quiet
def _periodic(name: str, function: Function, x: Enclosure, top: float) -> Enclosure:
    """Of a wave that is 1 at `top` and -1 half a period later."""
    xp = x.xp
    value = function(x.value)
    _, bound = x.evaluation.primitive(name)
    low, high = _moved(x, bound)
    ends = [function(end) for end in ((low,) if low is high else (low, high))]
    least, most = _below(xp, reduce(xp.fmin, ends), -1.0), _above(xp, reduce(xp.fmax, ends), 1.0)
    if low is not high:
        # Turns are irrational: between numbers a wave comes as near to 1 and -1 as any, where units are half as large.
        lowest, highest = (xp.full_like(low, end) for end in (-LESS, LESS))
        least = xp.where(_holds_turn(xp, low, high, top + math.pi), xp.minimum(least, lowest), least)
        most = xp.where(_holds_turn(xp, low, high, top), xp.maximum(most, highest), most)
    is_infinite = xp.isinf(low) | xp.isinf(high)
    maybe_nan = x.maybe_nan
    if some(is_infinite):
        maybe_nan = is_infinite if maybe_nan is None else maybe_nan | is_infinite
        is_none = (low == high) & is_infinite
        least, most = (
            xp.where(is_none, xp.nan, xp.where(is_infinite, end, of)) for end, of in ((-1.0, least), (1.0, most))
        )
    found = x.evaluation.result(name, value, least, most, maybe_nan, _exact(value, x))
    return _within_reach(x, found, bound)


def _holds_turn(xp: Any, low: Array, high: Array, turn: float) -> Array:
    """Where an interval holds a number that is a multiple of a period beside another, as far as FLOAT64 can tell."""
    margin = (xp.abs(low) + xp.abs(high)) * OWN_ERROR
    one, two = ((end - turn) / (2 * math.pi) for end in (low - margin, high + margin))
    return xp.floor(two) > xp.floor(one)


def _within_reach(x: Enclosure, found: Enclosure, bound: Bound) -> Enclosure:
    """Beyond the largest argument that a bound holds for, anything that it names."""
    if bound.reach == INF:
        return found
    xp = x.xp
    is_beyond = ((x.high > bound.reach) | (x.low < -bound.reach)) & ~xp.isnan(found.low)
    low, high = (xp.where(is_beyond, end, of) for end, of in zip(bound.beyond, (found.low, found.high), strict=True))
    return Enclosure(found.evaluation, found.value, low, high, found.maybe_nan)


@quiet
def tan(x: Enclosure) -> Enclosure:
    """It rises from pole to pole."""
    xp = x.xp
    _, bound = x.evaluation.primitive("tan")
    low, high = _moved(x, bound)
    least, most = _below(xp, xp.tan(low)), _above(xp, xp.tan(high))
    if low is not high:
        has_pole = _holds_turn(xp, 2 * low, 2 * high, math.pi)
        least, most = xp.where(has_pole, -INF, least), xp.where(has_pole, INF, most)
    is_infinite = xp.isinf(x.low) | xp.isinf(x.high)
    maybe_nan = x.maybe_nan
    if some(is_infinite):
        maybe_nan = is_infinite if maybe_nan is None else maybe_nan | is_infinite
        is_none = (x.low == x.high) & is_infinite
        least, most = (xp.where(is_none, xp.nan, end) for end in (least, most))
    value = xp.tan(x.value)
    return _within_reach(x, x.evaluation.result("tan", value, least, most, maybe_nan, _exact(value, x)), bound)


@quiet
def of_ends(name: str, function: Callable[..., Sequence[Array]], *arguments: Enclosure) -> Enclosure:
    """Of a function that is least and greatest where each argument is at an end, or at 0 between them.

    Args:
        name: of the primitive.
        function: gives all results that are right; the first one is the value.
        arguments: what it takes.
    """
    first = arguments[0]
    xp, evaluation = first.xp, first.evaluation
    found = list(function(*(x.value for x in arguments)))
    ends, maybe_nan = [], None
    for x in arguments:
        low, high = _moved(x, evaluation.primitive(name)[1])
        between = [_clipped(xp, 0.0 * low, low, high)] if some((low < 0) & (high > 0)) else []
        ends.append([low] if low is high else [low, high, *between])
        if x.maybe_nan is not None:
            maybe_nan = x.maybe_nan if maybe_nan is None else maybe_nan | x.maybe_nan
    value = found[0]
    found += [result for taken in product(*ends) for result in function(*taken)]
    no_number = reduce(operator.or_, map(xp.isnan, found))
    if some(no_number):
        maybe_nan = no_number if maybe_nan is None else maybe_nan | no_number
    least, most = _below(xp, reduce(xp.fmin, found)), _above(xp, reduce(xp.fmax, found))
    return evaluation.result(name, value, least, most, maybe_nan, _exact(value, *arguments))


def atan2(y: Enclosure, x: Enclosure) -> Enclosure:
    """The angle of a point; of numbers that are known but for what is subnormal."""
    return of_ends("atan2", lambda a, b: [y.xp.atan2(a, b)], y, x)


def truncated_remainder(a: Enclosure, b: Enclosure) -> Enclosure:
    """a - b * trunc(a / b) in one step, of numbers that are known but for what is subnormal"""
    return of_ends("remainder", lambda one, other: [a.xp.fmod(one, other)], a, b)


def floored_remainder(a: Enclosure, b: Enclosure) -> Enclosure:
    """a - b * floor(a / b), likewise"""
    return of_ends("modulus", lambda one, other: [a.xp.remainder(one, other)], a, b)


@quiet
def stepped(function: Function, x: Enclosure) -> Enclosure:
    """Of a function that rises in steps, as floor does: its results are numbers of every type."""
    value = function(x.value)
    low = value if x.low is x.value else function(x.low)
    high = low if x.high is x.low else function(x.high)
    return Enclosure(x.evaluation, value, low, high, x.maybe_nan)


@quiet
def maximum(one: Enclosure, other: Enclosure | Number) -> Enclosure:
    """The greater of two; where one is a NaN, the other or a NaN."""
    other, xp = one.operand(other), one.xp
    value = xp.fmax(one.value, other.value)
    nan = one.nan | other.nan
    maybe_nan = nan if some(nan) else None
    differ = (one.value == 0) & (other.value == 0) & (xp.signbit(one.value) != xp.signbit(other.value))
    if one.is_exact and other.is_exact and not some(differ):
        return Enclosure(one.evaluation, value, maybe_nan=maybe_nan)
    low, high = xp.fmax(one.low, other.low), xp.fmax(one.high, other.high)
    for first, second in ((one, other), (other, one)):
        if first.maybe_nan is not None:
            low = xp.where(first.maybe_nan, xp.fmin(low, second.low), low)
    low, high = zeros(xp, low, high, (one.low, other.low), (one.high, other.high))  # either is the greater one
    return Enclosure(one.evaluation, value, low, high, maybe_nan)


def minimum(one: Enclosure, other: Enclosure | Number) -> Enclosure:
    """The lesser of two; where one is a NaN, the other or a NaN."""
    return -maximum(-one, -one.operand(other))


@quiet
def lerp(one: Enclosure, other: Enclosure, part: Enclosure) -> Enclosure:
    """(1 - part) * one + part * other, or one + part * (other - one), each step rounded.

    What `part` adds to one term it takes from the other, which the formula does not know: the exact result is least and
    greatest where each argument is at an end, and what the steps lose comes on top.
    """
    xp, evaluation = one.xp, one.evaluation
    stepwise, shifted = (1.0 - part) * one + part * other, one + part * (other - one)
    if stepwise.is_exact and shifted.is_exact:
        return stepwise
    ends = [(of.low,) if of.low is of.high else (of.low, of.high) for of in (one, other, part)]
    corners = [a + t * (b - a) for a in ends[0] for b in ends[1] for t in ends[2]]
    a, b, t, rest = (xp.maximum(xp.abs(of.low), xp.abs(of.high)) for of in (one, other, part, 1.0 - part))
    add, multiply = (OUTWARD**8 * evaluation.primitive(name)[1].ulp for name in ("add", "multiply"))
    steps = ((add * a, rest), (multiply, rest * a), (multiply, t * b), (add, rest * a + t * b))
    shifts = ((add * t, a + b), (multiply, t * (a + b)), (add, a + t * (a + b)))
    found = []
    for way, sizes in ((stepwise, steps), (shifted, shifts)):
        radius = 8 * OWN_ERROR * (a + b) * (1 + t)
        if evaluation.data_type is not None:
            for factor, size in sizes:
                radius = radius + factor * spacing(xp, size, evaluation.data_type)
            radius = radius + (3 + a + t) * FORMATS[evaluation.data_type].normal
        low, high = reduce(xp.minimum, corners) - radius, reduce(xp.maximum, corners) + radius
        is_known = xp.isfinite(low) & xp.isfinite(high) & xp.isfinite(way.low) & xp.isfinite(way.high)
        low = xp.where(is_known, xp.maximum(low, way.low), way.low)
        high = xp.where(is_known, xp.minimum(high, way.high), way.high)
        found.append(Enclosure(evaluation, stepwise.value, low, high, way.maybe_nan))
    return either(*found)
