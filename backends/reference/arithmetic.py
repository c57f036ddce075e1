"""Results that are rounded: the exact value, and the interval around it that the operator's bound allows.

An operator's function returns an `Arithmetic`: what is computed, and of what. It is computed here in FLOAT64, whose own
error (a few units in its last place, 2^29 times less than those of FLOAT32) is added to what the bound allows. Where an
argument is not known exactly (it was itself rounded, as by ScaleBias, or it is subnormal and may be taken for zero) the
interval has the results of all that it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array
from dml_conformance.spec.accuracy import Bound, Profile, Subnormals
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask, Numbers, Within
from dml_conformance.spec.field_kinds import ScaleBias

# What FLOAT64's own functions may be off by, as a part of the result: some 16 units in the last place.
OWN_ERROR = 2.0**-49
# Where between the ends of what an argument may be it is tried, as parts of how far from the middle these are.
BETWEEN = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
# Together with what lies between, anything: an operator's function gives each where the result is left open.
ENDS = (-np.inf, np.inf, np.nan)
Function = Callable[..., Numbers]
EVERY_FLOAT16 = np.arange(2**16, dtype=UNSIGNED[2]).view(NUMBERS[DataType.FLOAT16])


class Arithmetic(NamedTuple):
    """Results of arithmetic, before they are rounded.

    Attributes:
        function: of FLOAT64 arguments; gives the exact value, but for FLOAT64's own rounding.
        arguments: numbers, each in its own type.
        inner: what is done to the first argument before, by another rounded operation; None for nothing.
        is_element_wise: whether each result depends on the arguments at its own place alone.
        keeps_zero_signs: whether the sign of a result that is zero is right only as computed.
        extremes: of a function with a period, the least and the greatest value.
        error: of the same arguments; how far from the exact value analysis allows a result to be, besides the bound.
        also: functions of the exact value and the same arguments whose results are right too, and what lies between.
        steps: functions of the same arguments that are so where the bound has steps that are rounded on the way.
        compared: the same, where an argument is taken for zero by a comparison alone, and then moved as it is.
        unit: of the same arguments; what the bound's absolute part is a multiple of. None: of 1.
        nan: where a NaN is right too; None for nowhere.
        bounds_of: the operator whose bounds hold; empty for that of the descriptor.
        kinds: how many of the last arguments tell what kind of numbers others are: no bound moves these.
    """

    function: Function
    arguments: tuple[Array, ...]
    inner: Inner | None = None
    is_element_wise: bool = True
    keeps_zero_signs: bool = False
    extremes: tuple[float, float] | None = None
    error: Function | None = None
    also: tuple[Function, ...] = ()
    steps: tuple[Function, ...] = ()
    compared: Function | None = None
    unit: Function | None = None
    nan: Mask | None = None
    bounds_of: str = ""
    kinds: int = 0


class Inner(NamedTuple):
    """An operation whose rounded result is the first argument of another.

    Attributes:
        function: of all arguments; gives the first one of the other operation.
        error: of all arguments; how far from that a rounded result may be.
        takes: how many arguments it takes; the outer function gets its result and those that are left.
    """

    function: Function
    error: Function
    takes: int = 1


def scaled(scale_bias: ScaleBias | None, data_type: DataType) -> Inner | None:
    """What ScaleBias does to an argument of a type: `x * Scale + Bias`, each step rounded, or both at once."""
    if scale_bias is None:
        return None
    scale, bias = float(np.float32(scale_bias.scale)), float(np.float32(scale_bias.bias))
    # Half a unit in the last place as a part of a number, twice: of FLOAT32 one unit is allowed, of FLOAT16 half a one,
    # and half a one where Scale and Bias become FLOAT16.
    info = np.finfo(NUMBERS[data_type])
    unit, least, largest = float(info.eps), float(info.smallest_subnormal), float(info.max)

    def error(x: Numbers) -> Numbers:
        product, result = np.abs(x * scale), np.abs(x * scale + bias)
        found = (2 * product + abs(bias)) * unit + 2 * least
        overflows = np.maximum(product, result) > largest  # in steps of the type, but not in wider ones
        return np.where(np.isfinite(result), np.where(overflows, np.inf, found), 0.0)

    return Inner(lambda x: x * scale + bias, error)


def chained(first: Inner, then: Inner | None) -> Inner:
    """One inner operation and another, monotonic one of its result as one."""
    if then is None:
        return first

    def error(*taken: Numbers) -> Numbers:
        middle, away = first.function(*taken), first.error(*taken)
        ends = [np.where(away > 0, middle + sign * away, middle) for sign in (-1.0, 0.0, 1.0)]
        moved = [np.abs(then.function(end) - then.function(middle)) for end in ends]
        found = np.max(moved, axis=0) + np.max([then.error(end) for end in ends], axis=0)
        return np.where(np.isfinite(middle), np.where(np.isnan(found), np.inf, found), then.error(middle))

    return Inner(lambda *taken: then.function(first.function(*taken)), error, takes=first.takes)


def expectation(found: Arithmetic, data_type: DataType, bound: Bound, profile: Profile) -> Expectation:
    """What is right of results of a type, under a bound."""
    if (places := _of_every_value(found)) is not None:
        return expectation(found._replace(arguments=(EVERY_FLOAT16,)), data_type, bound, profile).cut((places,))
    return bounded(found, data_type, bound, profile)[0]


def bounded(
    found: Arithmetic, data_type: DataType, bound: Bound, profile: Profile
) -> tuple[Expectation, tuple[Numbers, Numbers]]:
    """The same, and the least and the greatest number that is right before these are rounded to the type."""
    if bound.steps:
        found = found._replace(also=(*found.also, *map(_of_arguments, found.steps)))
    with np.errstate(all="ignore"):
        arguments = [_wide(argument) for argument in found.arguments]
        computed, *others = [_interval(found, taken, data_type, bound) for taken in _taken(found, arguments)]
        interval = _hulls([computed, *others], bound, found.extremes)
        if found.inner is not None and found.extremes is not None:
            is_anywhere = found.inner.error(*arguments[: found.inner.takes]) > 1.0
            interval = _anywhere(interval, is_anywhere, found.extremes)
        if (tiny := _tiny(found.arguments, profile)) is not None:
            interval = _flushed(found, arguments, tiny, interval, data_type, bound, profile)
        if found.nan is not None:
            interval = (*interval[:2], interval[2] | found.nan)
        counted = _counted(found, computed, tiny, data_type, bound, profile)
        return _rounded(found, computed, interval, counted, data_type, bound, profile), interval[:2]


def _of_every_value(found: Arithmetic) -> Bits | None:
    """The argument's bits where it has more elements than FLOAT16 has values: it is computed of each of these once."""
    (first, *others) = found.arguments
    is_alone = found.is_element_wise and not others and found.nan is None
    if not is_alone or first.dtype != EVERY_FLOAT16.dtype or first.size <= EVERY_FLOAT16.size:
        return None
    return np.ascontiguousarray(first).view(UNSIGNED[2]).reshape(first.shape)


Interval = tuple[Numbers, Numbers, Mask]  # low, high, and where NaN is right; low is above high where nothing else is


class _Computed(NamedTuple):
    exact: Numbers
    argument: Numbers | None
    interval: Interval


def _taken(found: Arithmetic, arguments: Sequence[Numbers]) -> Iterator[Sequence[Numbers]]:
    """What the function is given: what its first argument is, then all that this may be.

    That is both ends, some places between them for where the function turns, and -1, zeros and 1, where many end.
    """
    if found.inner is None:
        yield arguments
        return
    taken, rest = arguments[: found.inner.takes], arguments[found.inner.takes :]
    first, error = found.inner.function(*taken), found.inner.error(*taken)
    yield [first, *rest]
    for part in BETWEEN:
        yield [np.where(error > 0, first + part * error, first) if part else first, *rest]
    for end in (-1.0, -0.0, 0.0, 1.0):
        yield [np.clip(end, first - error, first + error), *rest]


def _of_arguments(function: Function) -> Function:
    """The function, where it is given the exact value too."""
    return lambda _, *arguments: function(*arguments)


def _interval(found: Arithmetic, arguments: Sequence[Numbers], data_type: DataType, bound: Bound) -> _Computed:
    """From the least to the greatest number that is near enough to the value, or to one that is right too."""
    tried = [arguments, *_moved(arguments, len(arguments) - found.kinds, bound)]
    exact = [np.asarray(found.function(*taken), np.float64) for taken in tried]
    computed = _around(exact, found, arguments, data_type, bound)
    interval = computed.interval
    for function in found.also:
        others = [np.asarray(function(of, *taken), np.float64) for of, taken in zip(exact, tried, strict=True)]
        interval = _hull(interval, _around(others, found, arguments, data_type, bound).interval)
    return computed._replace(interval=interval)


def _moved(arguments: Sequence[Numbers], count: int, bound: Bound) -> Iterator[Sequence[Numbers]]:
    """The arguments with the first `count` of them as far away as the bound has them, either way each."""
    if not bound.argument and not bound.shift:
        return
    numbers, kinds = arguments[:count], arguments[count:]
    away = [np.where(np.isfinite(a), bound.argument * np.abs(a) + bound.shift, 0.0) for a in numbers]
    for signs in product((-1.0, 1.0), repeat=count):
        yield [*(a + sign * by for a, sign, by in zip(numbers, signs, away, strict=True)), *kinds]


def _around(
    results: Sequence[Numbers], found: Arithmetic, arguments: Sequence[Numbers], data_type: DataType, bound: Bound
) -> _Computed:
    """The same of the results of one function: the exact one, and those of moved arguments."""
    exact, *moved = results
    is_like = found.is_element_wise or arguments[0].shape == exact.shape
    argument = np.broadcast_to(arguments[0], exact.shape) if is_like else None
    low = high = exact
    for near in moved:
        low, high = np.fmin(low, near), np.fmax(high, near)
        if found.extremes is not None:  # where it changes its sign by more than 1 there is a pole between
            has_pole = (np.sign(near) != np.sign(exact)) & (np.abs(near - exact) > 1.0)
            low, high = np.where(has_pole, found.extremes[0], low), np.where(has_pole, found.extremes[1], high)
    if not bound.is_exact:
        units = np.where(exact == 0, 0.0, bound.ulp * spacing(exact, data_type))  # no part of 0 is more than 0
        absolute = bound.absolute if found.unit is None else bound.absolute * found.unit(*arguments)
        allowed = (units + absolute if bound.is_sum else np.maximum(units, absolute)) + OWN_ERROR * np.abs(exact)
        if found.error is not None:
            allowed = allowed + found.error(*arguments)
        is_finite = np.isfinite(exact)
        low, high = np.where(is_finite, low - allowed, low), np.where(is_finite, high + allowed, high)
    if bound.reach < np.inf and argument is not None:
        is_beyond = (np.abs(argument) > bound.reach) & np.isfinite(exact)
        low, high = np.where(is_beyond, bound.beyond[0], low), np.where(is_beyond, bound.beyond[1], high)
    return _Computed(exact, argument, _without_nan(low, high, np.isnan(exact)))


def _without_nan(low: Numbers, high: Numbers, nan: Mask) -> Interval:
    return np.where(nan, np.inf, low), np.where(nan, -np.inf, high), nan


def _hulls(computed: Sequence[_Computed], bound: Bound, extremes: tuple[float, float] | None) -> Interval:
    """Of all that an argument may be; between two places that were tried there is half their difference more, unless
    the function is exact: those turn at the places alone. What has a period may have a pole there where this is much.
    """
    interval = computed[0].interval
    for other in computed[1:]:
        interval = _hull(interval, other.interval)
    if len(computed) == 1 or bound.is_exact:
        return interval
    low, high, nan = interval
    steps = [np.abs(one.exact - other.exact) for one, other in pairwise(computed[1 : 1 + len(BETWEEN)])]
    more = np.max([np.where(np.isfinite(step), step, 0.0) for step in steps], axis=0) / 2
    wider = np.where(np.isfinite(low), low - more, low), np.where(np.isfinite(high), high + more, high), nan
    return wider if extremes is None else _anywhere(wider, more > 0.5, extremes)


def _anywhere(interval: Interval, chosen: Mask, extremes: tuple[float, float]) -> Interval:
    """The intervals, at some elements from one extreme to the other."""
    low, high, nan = interval
    return np.where(chosen, extremes[0], low), np.where(chosen, extremes[1], high), nan


def _hull(one: Interval, other: Interval) -> Interval:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1]), one[2] | other[2]


def spacing(numbers: Numbers, data_type: DataType) -> Numbers:
    """A unit in the last place of a type at each number."""
    info = np.finfo(NUMBERS[data_type])
    _, exponent = np.frexp(numbers)
    exponent = np.where(numbers == 0, info.minexp, exponent - 1)  # of 0 frexp gives that of 1/2
    units: Numbers = np.ldexp(1.0, np.clip(exponent, info.minexp, info.maxexp - 1) - info.nmant)
    return units


def _wide(argument: Array) -> Numbers:
    """As FLOAT64, with quiet NaN: of a signaling one NumPy's maximum of numbers is now the number, now the NaN."""
    wide = np.asarray(argument, np.float64)
    return np.where(np.isnan(wide), np.nan, wide)


def _tiny(arguments: Sequence[Array], profile: Profile) -> Mask | None:
    """Where an argument is subnormal in its type, and may be taken for zero; None for nowhere."""
    may_be_zero = [NUMBERS[of] for of, subnormals in profile.subnormals.items() if subnormals is not Subnormals.KEPT]
    found: Mask | None = None
    for argument in arguments:
        if argument.dtype in may_be_zero:
            is_tiny = (argument != 0) & (np.abs(argument) < np.finfo(argument.dtype).tiny)
            if is_tiny.any():
                found = is_tiny if found is None else found | is_tiny
    return found


def _flushed(
    found: Arithmetic,
    arguments: Sequence[Numbers],
    tiny: Mask,
    kept: Interval,
    data_type: DataType,
    bound: Bound,
    profile: Profile,
) -> Interval:
    """The intervals with the results of arguments that are taken for zero where they are subnormal, each or not."""
    if found.compared is not None:
        found = found._replace(also=(*found.also, _of_arguments(found.compared)))
    where: Any = np.broadcast_to(tiny, kept[0].shape) if found.is_element_wise else ...
    wide = [np.broadcast_to(part, kept[0].shape)[where] if found.is_element_wise else part for part in arguments]
    own = [np.broadcast_to(part, kept[0].shape)[where] if found.is_element_wise else part for part in found.arguments]
    zeros = [
        part if (is_tiny := _tiny([of], profile)) is None else np.where(is_tiny, part * 0.0, part)
        for of, part in zip(own, wide, strict=True)
    ]
    interval = (kept[0][where], kept[1][where], kept[2][where])
    for choice in product(*({id(part): part for part in pair}.values() for pair in zip(wide, zeros, strict=True))):
        interval = _hull(
            interval,
            _hulls(
                [_interval(found, taken, data_type, bound) for taken in _taken(found, choice)], bound, found.extremes
            ),
        )
    low, high, nan = kept[0].copy(), kept[1].copy(), kept[2].copy()
    low[where], high[where], nan[where] = interval
    return low, high, nan


def _counted(
    found: Arithmetic, computed: _Computed, tiny: Mask | None, data_type: DataType, bound: Bound, profile: Profile
) -> Mask | None:
    """Where an error says something; see `Within`. A result is near the subnormal numbers up to twice their end."""
    left_out: Mask | None = None
    if profile.subnormals[data_type] is not Subnormals.KEPT:
        left_out = (computed.exact != 0) & (np.abs(computed.exact) < 2 * np.finfo(NUMBERS[data_type]).tiny)
    if tiny is not None and found.is_element_wise:
        left_out = tiny if left_out is None else left_out | tiny
    if bound.reach < np.inf and computed.argument is not None:
        is_beyond = np.abs(computed.argument) > bound.reach
        left_out = is_beyond if left_out is None else left_out | is_beyond
    return None if left_out is None or not left_out.any() else np.broadcast_to(~left_out, computed.exact.shape)


def _rounded(
    found: Arithmetic,
    computed: _Computed,
    interval: Interval,
    counted: Mask | None,
    data_type: DataType,
    bound: Bound,
    profile: Profile,
) -> Expectation:
    """The numbers of a type that lie in the intervals; beyond the largest one they are infinite."""
    target = NUMBERS[data_type]
    info = np.finfo(target)
    beyond = 2.0 ** float(info.maxexp)  # what would come after the largest number; infinity stands in its place
    least, most, nan = interval
    values = computed.exact.astype(target)
    values = np.where(np.isnan(values), target.type(np.nan), values)  # whatever NaN is computed, the same one
    low = least.astype(target)
    low = np.where(low < least, np.nextafter(low, target.type(np.inf)), low)
    low = np.where(least <= -beyond, target.type(-np.inf), low)
    high = most.astype(target)
    high = np.where(high > most, np.nextafter(high, target.type(-np.inf)), high)
    high = np.where(most >= beyond, target.type(np.inf), high)
    if bound.overflow < 1.0:
        high = np.where(most >= bound.overflow * beyond, target.type(np.inf), high)
        low = np.where(least <= -bound.overflow * beyond, target.type(-np.inf), low)
    if data_type in profile.cut:
        is_beyond, largest = np.isfinite(computed.exact), info.max
        low = np.where(is_beyond & (low == np.inf), largest, low)
        high = np.where(is_beyond & (high == -np.inf), -largest, high)
    # The nearest number is right whatever the bound: half a unit away there may be none that is nearer.
    is_number = ~np.isnan(values) & (least <= most)
    low = np.where(is_number & (values < low), values, low)
    high = np.where(is_number & (values > high), values, high)
    if profile.subnormals[data_type] is not Subnormals.KEPT:
        normal, zero = info.tiny, target.type(0)
        to_zero = (low <= high) & (low < normal) & (high > -normal)
        low, high = np.where(to_zero, np.minimum(low, zero), low), np.where(to_zero, np.maximum(high, zero), high)
    one = target.type(1)
    low, high = np.where(least > most, one, low), np.where(least > most, -one, high)
    where: Mask | None = None
    if found.keeps_zero_signs:
        where = ~((low == 0) & (high == 0)) | nan
    argument = computed.argument if found.inner is None else None
    any_nan = nan if nan.any() else None
    within = Within(_bits(low), _bits(high), any_nan, where, computed.exact, argument, counted)
    return Expectation(_bits(values), within=within)


def _bits(numbers: Array) -> Bits:
    return np.ascontiguousarray(numbers).view(UNSIGNED[numbers.itemsize]).reshape(numbers.shape)
