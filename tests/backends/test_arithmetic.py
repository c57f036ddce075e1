"""Intervals of results of arithmetic, beside those that were computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dml_conformance.backends.reference.arithmetic import Arithmetic, Function, Inner, expectation, scaled, spacing
from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Bound, Profile, Subnormals, computed_in_float32
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import ScaleBias

FLOAT32, FLOAT16 = DataType.FLOAT32, DataType.FLOAT16
EXACT, HALF, ONE = Bound(), Bound(0.5), Bound(1.0)
MAX = 2.0**128 - 2.0**104
INF, NAN = math.inf, math.nan
FLUSHING = Profile("flushing", "a test", dict.fromkeys((FLOAT16, FLOAT32), Subnormals.FLUSHED))


def of(
    arithmetic: Arithmetic, bound: Bound, data_type: DataType = FLOAT32, profile: Profile = DIRECTML
) -> list[tuple[float, float, bool]]:
    """Of each element the least number that is right, the greatest, and whether a NaN is."""
    within = expectation(arithmetic, data_type, bound, profile).within
    assert within is not None
    low, high = (part.view(NUMBERS[data_type]).astype(float) for part in (within.low, within.high))
    nan = np.zeros(low.shape, bool) if within.nan is None else within.nan
    return [(float(a), float(b), bool(c)) for a, b, c in zip(low.flat, high.flat, nan.flat, strict=True)]


def giving(*exact: float) -> Arithmetic:
    """Of which these are the exact values."""
    return Arithmetic(lambda _: np.array(exact), (np.ones(len(exact), np.float32),))


def one(function: Function, *arguments: float, kind: Any = np.float32, **more: Any) -> Arithmetic:
    """Of a single element."""
    return Arithmetic(function, tuple(np.array([argument], kind) for argument in arguments), **more)


def numbers(low: float, high: float) -> list[tuple[float, float, bool]]:
    return [(low, high, False)]


# --- what a bound allows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data_type", "number", "unit"),
    [
        (FLOAT32, 1.0, 2.0**-23),
        (FLOAT32, -1.5, 2.0**-23),
        (FLOAT32, 2.0, 2.0**-22),
        (FLOAT32, np.nextafter(2.0, 0), 2.0**-23),
        (FLOAT32, 0.0, 2.0**-149),
        (FLOAT32, 1e-40, 2.0**-149),
        (FLOAT32, MAX, 2.0**104),
        (FLOAT32, 1e60, 2.0**104),
        (FLOAT16, 1.0, 2.0**-10),
        (FLOAT16, 6e-8, 2.0**-24),
        (FLOAT16, 65504.0, 32.0),
    ],
)
def test_a_unit_in_the_last_place(data_type: DataType, number: float, unit: float) -> None:
    assert spacing(np.array([number]), data_type).tolist() == [unit]


@pytest.mark.parametrize(
    ("bound", "exact", "low", "high"),
    [
        (ONE, 1.5, 1.5 - 2**-23, 1.5 + 2**-23),
        (Bound(4.0), -3.0, -3 - 2**-20, -3 + 2**-20),
        # Above 1 units are twice as large as below it; its own unit is the one above.
        (ONE, 1.0, 1 - 2**-23, 1 + 2**-23),
        # Ties: both neighbours, but of what is beside the middle the nearer one alone.
        (HALF, 1 + 2**-24, 1.0, 1 + 2**-23),
        (HALF, 1 + 2**-25, 1.0, 1.0),
        (HALF, 1 + 3 * 2**-25, 1 + 2**-23, 1 + 2**-23),
        (EXACT, 1 + 2**-25, 1.0, 1.0),
        (EXACT, 0.1, float(np.float32(0.1)), float(np.float32(0.1))),
        # The wider one of both.
        (Bound(1.0, 0.25), 1.5, 1.25, 1.75),
        (Bound(1.0, 2.0**-30), 1.5, 1.5 - 2**-23, 1.5 + 2**-23),
        # Where no number is as near as that, the nearest one is right.
        (Bound(0.25), 1 + 2**-24 + 2**-30, 1 + 2**-23, 1 + 2**-23),
    ],
)
def test_a_bound_in_units_or_as_a_number(bound: Bound, exact: float, low: float, high: float) -> None:
    assert of(giving(exact), bound) == numbers(low, high)


@pytest.mark.parametrize(
    ("bound", "exact", "low", "high"),
    [
        (HALF, MAX, MAX, MAX),
        (ONE, MAX, MAX - 2.0**104, INF),
        (EXACT, 2.0**128 - 2.0**103, INF, INF),  # the middle; the even one of both would be 2^128
        (HALF, 2.0**128 - 2.0**102, INF, INF),
        (ONE, 2.0**128, MAX, INF),
        (ONE, -(2.0**128), -INF, -MAX),
        (ONE, 2.0**129, INF, INF),
        (ONE, INF, INF, INF),
        (ONE, -INF, -INF, -INF),
        (Bound(1.0, overflow=0.5), 2.0**126, 2.0**126 - 2.0**103, 2.0**126 + 2.0**103),
        (Bound(1.0, overflow=0.5), 1.5 * 2.0**127, 1.5 * 2.0**127 - 2.0**104, INF),
        (Bound(1.0, overflow=0.5), -1.5 * 2.0**127, -INF, -1.5 * 2.0**127 + 2.0**104),
    ],
)
def test_beyond_the_largest_number_there_is_infinity(bound: Bound, exact: float, low: float, high: float) -> None:
    assert of(giving(exact), bound) == numbers(low, high)


def test_of_float16_it_begins_at_65536() -> None:
    exact = giving(65504.0, 65519.0, 65520.0, 65536.0)
    known = [(65504.0, 65504.0, False), (65504.0, 65504.0, False), (65504.0, INF, False)]
    assert of(exact, HALF, FLOAT16, PRECISE) == [*known, (INF, INF, False)]


def test_the_largest_number_of_float16_may_stand_for_what_is_beyond_it() -> None:
    exact = giving(65536.0, -1e6, INF, -INF)
    assert of(exact, HALF, FLOAT16) == numbers(65504.0, INF) + numbers(-INF, -65504.0) + numbers(INF, INF) + numbers(
        -INF, -INF
    )
    assert of(exact, EXACT, FLOAT32)[:2] == numbers(65536.0, 65536.0) + numbers(-1e6, -1e6)


def test_an_absolute_error_may_come_on_top_of_a_rounding() -> None:
    exact, absolute = giving(1.0), 2.0**-12
    assert of(exact, Bound(1.0, absolute), FLOAT16, PRECISE) == numbers(1 - 2.0**-10, 1 + 2.0**-10)
    bound = computed_in_float32(Bound(4.0, 2.0**-9))[FLOAT16]
    assert of(exact, bound, FLOAT16) == numbers(1 - 3 * 2.0**-10, 1 + 3 * 2.0**-10)
    assert bound.formula == "1.00049 ULP plus 0.00195"


def test_where_there_is_no_number_a_nan_is_right_alone() -> None:
    within = expectation(giving(NAN, 1.0), FLOAT32, ONE, DIRECTML).within
    assert within is not None
    found = np.array([[NAN, 1.0], [0.0, NAN], [INF, 1.0]], np.float32).view(np.uint32)
    assert [within.holds(row, FLOAT32).tolist() for row in found] == [[True, True], [False, False], [False, True]]


def test_a_bound_on_arguments() -> None:
    """Of x * x what a number between 3 and 5 has."""
    assert of(one(np.square, 4.0), Bound(argument=0.25)) == numbers(9.0, 25.0)
    assert of(one(np.square, 4.0), Bound(shift=1.0)) == numbers(9.0, 25.0)
    low, high, _ = of(one(np.square, 4.0), Bound(1.0, argument=0.125, shift=0.5))[0]
    assert (low, high) == (9.0 - 2**-19, 25.0 + 2**-19)
    assert of(one(np.subtract, 4.0, 2.0), Bound(argument=0.25)) == numbers(0.5, 3.5)
    assert of(one(np.square, INF), Bound(argument=0.25)) == numbers(INF, INF)


def test_a_bound_has_a_reach() -> None:
    bound = Bound(1.0, reach=10.0, beyond=(-1.0, 1.0))
    of_ten, of_more = (of(one(np.cos, x), bound)[0] for x in (10.0, np.nextafter(np.float32(10), np.float32(11))))
    assert of_ten[0] > -0.84
    assert of_ten[1] < -0.83
    assert of_more == (-1.0, 1.0, False)
    assert of(one(np.cos, INF), bound)[0][2]


def test_an_error_that_analysis_allows_is_added() -> None:
    found = one(np.add, 1.5, 1.5, error=lambda a, b: np.abs(a) * 2.0**-10 + 0 * b)
    assert of(found, ONE) == numbers(3 - 1.5 * 2**-10 - 2**-22, 3 + 1.5 * 2**-10 + 2**-22)


# --- subnormal numbers ------------------------------------------------------------------------------------------------


def step(x: Any) -> Any:
    """2 of a positive number, 1 of zero."""
    return np.where(x > 0, 2.0, 1.0)


def test_a_subnormal_argument_may_be_taken_for_zero() -> None:
    tiny = 2.0**-127
    assert of(one(step, tiny), EXACT) == numbers(1.0, 2.0)
    assert of(one(step, 2.0**-126), EXACT) == numbers(2.0, 2.0)
    assert of(one(step, tiny), EXACT, profile=PRECISE) == numbers(2.0, 2.0)
    half = one(step, 2.0**-15, kind=np.float16)
    assert of(half, EXACT, FLOAT16) == numbers(2.0, 2.0)
    assert of(half, EXACT, FLOAT16, FLUSHING) == numbers(1.0, 2.0)


def test_each_of_two_arguments_may_be() -> None:
    """a - 2 b with both or with either: the difference, a, -2 b, and 0."""
    arithmetic = one(lambda a, b: np.ldexp(a - 2 * b, 127), 2.0**-127, 2.0**-127)
    assert of(arithmetic, EXACT) == numbers(-2.0, 1.0)
    assert of(arithmetic, EXACT, profile=PRECISE) == numbers(-1.0, -1.0)


def test_a_sum_of_elements_is_computed_as_a_whole() -> None:
    numbers_ = np.array([2.0**-127, 1.0, 2.0**-127], np.float32)
    arithmetic = Arithmetic(
        lambda x: np.sum(np.ldexp(np.where(x < 1, x, 0), 127), keepdims=True), (numbers_,), is_element_wise=False
    )
    assert of(arithmetic, EXACT) == numbers(0.0, 2.0)


def test_a_subnormal_result_may_be_zero() -> None:
    normal = 2.0**-126
    arithmetic = giving(normal / 2, -normal / 2, normal, normal * 2)
    kept = [normal / 2, -normal / 2, normal, normal * 2]
    assert of(arithmetic, EXACT) == [
        (0.0, normal / 2, False),
        (-normal / 2, 0.0, False),
        (normal, normal, False),
        (2 * normal, 2 * normal, False),
    ]
    assert of(arithmetic, EXACT, profile=PRECISE) == [(number, number, False) for number in kept]
    # What is normal, but by its bound could be subnormal.
    assert of(giving(normal), ONE)[0][0] == 0.0
    assert of(giving(2.0**-20), EXACT, FLOAT16) == numbers(2.0**-20, 2.0**-20)
    assert of(giving(2.0**-20), EXACT, FLOAT16, FLUSHING) == numbers(0.0, 2.0**-20)


def test_the_sign_of_a_zero_is_open_unless_it_is_kept() -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    negative = zeros.view(np.uint32)[::-1]
    open_, kept = (
        expectation(Arithmetic(np.sqrt, (zeros,), keeps_zero_signs=keeps), FLOAT32, ONE, DIRECTML)
        for keeps in (False, True)
    )
    assert open_.within is not None
    assert open_.within.holds(negative, FLOAT32).all()
    assert kept.intervals is not None
    assert not kept.intervals.any()  # these are exact
    assert kept.values.tolist() == zeros.view(np.uint32).tolist()


# --- arguments that were rounded before -------------------------------------------------------------------------------


def test_scale_bias_is_rounded_twice_or_once() -> None:
    assert scaled(None, FLOAT32) is None
    inner = scaled(ScaleBias(3.0, -1.25), FLOAT32)
    assert inner is not None
    assert inner.function(np.array([2.0])).tolist() == [4.75]
    assert inner.error(np.array([2.0])).tolist() == [(2 * 6 + 1.25) * 2.0**-23 + 2 * 2.0**-149]
    assert inner.error(np.array([INF, NAN])).tolist() == [0.0, 0.0]
    of_halves = scaled(ScaleBias(3.0, -1.25), FLOAT16)
    assert of_halves is not None
    assert of_halves.error(np.array([2.0])).tolist() == [(2 * 6 + 1.25) * 2.0**-10 + 2 * 2.0**-24]


def test_scale_bias_has_numbers_of_float32() -> None:
    inner = scaled(ScaleBias(0.1, 0.0), FLOAT32)
    assert inner is not None
    assert inner.function(np.array([1.0])).tolist() == [float(np.float32(0.1))]


def of_scaled(function: Function, x: float, scale: float, bias: float, bound: Bound = EXACT, **more: Any) -> Any:
    return of(one(function, x, inner=scaled(ScaleBias(scale, bias), FLOAT32), **more), bound)[0]


def test_a_function_of_what_was_rounded_has_the_results_of_all_that_it_may_be() -> None:
    assert of_scaled(np.floor, 10.0, 0.1, 0.0)[:2] == (0.0, 1.0)  # a little more than 1, or after rounding less
    assert of_scaled(np.floor, 10.0, 0.15, 0.0)[:2] == (1.0, 1.0)
    low, high, nan = of_scaled(np.sqrt, 3.0, 1.0, -3.0)  # zero, or on either side of it
    assert nan
    assert low == 0.0
    assert math.sqrt(6e-7) < high < 2 * math.sqrt(1.1e-6)
    low, high, nan = of_scaled(np.reciprocal, 3.0, 1.0, -3.0)
    assert (low, high) == (-INF, INF)
    low, high, nan = of_scaled(np.arccos, 1.0, 1.0, 0.0)  # 1, the last that it is defined of
    assert nan
    assert low == 0.0
    assert 4e-4 < high < 2e-3


def test_a_product_that_overflows_may_be_infinite_and_no_nan() -> None:
    """1.2e38 * 3 is too large; with -1e38 added at once it is not."""
    low, high, nan = of_scaled(np.positive, 1.2e38, 3.0, -1e38)
    assert low < 2.7e38
    assert high == INF
    assert not nan


def test_of_what_has_a_period_and_is_not_known_to_one_every_value_is_right() -> None:
    bound = Bound(1.0, reach=1e30, beyond=(-1.0, 1.0))
    far, near = (of_scaled(np.sin, x, 1.0, 1.0, bound, extremes=(-1.0, 1.0)) for x in (1e9, 1e3))
    assert far == (-1.0, 1.0, False)
    assert near[1] - near[0] < 1e-2


def test_an_inner_operation_may_take_several_arguments() -> None:
    inner = Inner(np.add, lambda a, b: np.full(np.shape(a), 0.5) + 0 * b, takes=2)
    found = of(one(lambda total, factor: total * factor, 1.0, 2.0, 10.0, inner=inner), EXACT)
    low, high, _ = found[0]
    assert low <= 25.0
    assert high >= 35.0
    assert low > 22.0
    assert high < 38.0


def test_at_a_pole_there_is_no_limit() -> None:
    """Of what may lie on either side of it."""
    x = float(np.float32(math.pi / 2))
    poles = one(np.tan, x, extremes=(-INF, INF))
    assert of(poles, Bound(1.0, shift=1e-6)) == numbers(-INF, INF)
    assert of(poles, ONE)[0][1] < -2e7
    inner = scaled(ScaleBias(1.0, 0.0), FLOAT32)
    assert of(poles._replace(inner=inner), ONE) == numbers(-INF, INF)
    away = of(one(np.tan, 1.5, extremes=(-INF, INF), inner=inner), Bound(1.0, shift=1e-6))
    assert 14.1 < away[0][0] < away[0][1] < 14.2
