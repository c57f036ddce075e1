"""Formulas and what they give for tensors: beside those of the families, which are computed by hand there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dml_conformance.backends.reference import functions
from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation
from dml_conformance.backends.reference.floats import spacing
from dml_conformance.backends.reference.formula import EVERY_FLOAT16, Formula, scaled
from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.backends.reference.operators.activation import scaled_elu
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import ScaleBias

FLOAT32, FLOAT16 = DataType.FLOAT32, DataType.FLOAT16
MAX = 2.0**128 - 2.0**104
INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("data_type", "number", "unit"),
    [
        (FLOAT32, 1.0, 2.0**-23),
        (FLOAT32, -1.5, 2.0**-23),
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
    assert spacing(np, np.array([number]), data_type).tolist() == [unit]


# --- what an output may hold ------------------------------------------------------------------------------------------


def ends(low: Any, high: Any, data_type: DataType, tolerance: Tolerance = DIRECTML, value: Any = None) -> list[Any]:
    """Of numbers between two the least and the greatest that an output may hold, and whether a NaN is right."""
    low, high = np.array([low]), np.array([high])
    found = Enclosure(Evaluation(tolerance, data_type), low if value is None else np.array([value]), low, high)
    within = found.expectation(data_type).within
    assert within is not None
    nan = False if within.nan is None else bool(within.nan[0])
    return [*(float(part.view(NUMBERS[data_type])[0]) for part in (within.low, within.high)), nan]


def test_an_output_holds_the_numbers_of_its_type() -> None:
    assert ends(1 + 2**-25, 1 + 3 * 2**-24, FLOAT32) == [1.0, 1 + 2**-23, False]  # the nearest, though it is outside
    assert ends(0.9, 1.1, FLOAT16, value=1.0) == [
        float(np.nextafter(np.float16(0.9), np.float16(1))),
        1.099609375,
        False,
    ]
    assert ends(NAN, NAN, FLOAT32) == [1.0, -1.0, True]


def test_beyond_the_largest_number_there_is_infinity() -> None:
    assert ends(MAX, 2.0**128, FLOAT32) == [MAX, INF, False]
    assert ends(-(2.0**129), -(2.0**128), FLOAT32) == [-INF, -INF, False]
    assert ends(65519.0, 65519.0, FLOAT16, PRECISE) == [65504.0, 65504.0, False]
    assert ends(65536.0, 65536.0, FLOAT16, PRECISE) == [INF, INF, False]
    assert ends(65536.0, 65536.0, FLOAT16) == [65504.0, INF, False]  # by conversions that cut
    assert ends(INF, INF, FLOAT16) == [INF, INF, False]


def test_the_sign_of_a_zero_is_open_unless_it_is_kept() -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    negative = zeros.view(np.uint32)[::-1]
    open_, kept = (
        Formula(functions.sqrt, (zeros,), FLOAT32, keeps_zero_signs=keeps).expectation(DIRECTML)
        for keeps in (False, True)
    )
    assert open_.within is not None
    assert open_.within.holds(negative, FLOAT32).all()
    assert kept.intervals is not None
    assert not kept.intervals.any()  # these are exact
    assert kept.values.tolist() == zeros.view(np.uint32).tolist()


# --- what is known of the results -------------------------------------------------------------------------------------


def within(formula: Formula, tolerance: Tolerance = DIRECTML, **more: Any) -> Any:
    found = formula.expectation(tolerance, **more).within
    assert found is not None
    return found


def test_errors_count_where_they_say_something() -> None:
    tiny = 2.0**-126
    numbers = np.array([1.0, tiny, 2 * tiny, tiny / 2, 0.0, 5.0], np.float32)
    formula = Formula(lambda x: x, (numbers,), FLOAT32)
    assert within(formula).counted.tolist() == [True, False, True, False, True, True]
    assert within(formula, reach=4.0).counted.tolist() == [True, False, True, False, True, False]
    assert within(formula, PRECISE).counted is None
    halves = Formula(lambda x: x, (np.array([2.0**-20], np.float16),), FLOAT16)
    assert within(halves).counted is None


def test_an_error_is_of_the_first_argument_unless_that_was_rounded_before() -> None:
    numbers = np.array([1.0, 3.0], np.float32)
    formula = Formula(lambda x, y: x * y, (numbers, numbers), FLOAT32)
    assert within(formula).argument.tolist() == [1.0, 3.0]
    assert within(formula._replace(is_chained=True)).argument is None


@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE])
def test_units_are_those_of_the_exact_result(tolerance: Tolerance) -> None:
    below = within(Formula(functions.exp, (np.array([-(2.0**-52)], np.float32),), FLOAT32), tolerance)
    assert below.high.view(np.float32).tolist() == [1 + 2.0**-22]  # four units below 1, which are half of those above
    numbers = np.array([4.05859375], np.float16)
    turns = within(Formula(lambda x: functions.cos(scaled(x, ScaleBias(0.7, 0.3))), (numbers,), FLOAT16), tolerance)
    assert turns.low.view(np.float16).tolist() == [-1.0]  # -1 is the cosine of no number


@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE])
@pytest.mark.parametrize("factor", [0.7, -1.3, 1e-20, 3e38])
def test_errors_of_multiples_are_in_units_of_the_product(factor: float, tolerance: Tolerance) -> None:
    numbers = -np.geomspace(2.0**-10, 64, 1000, dtype=np.float32)
    multiple = Formula(lambda x: functions.expm1(x, factor), (numbers,), FLOAT32)
    wide = numbers.astype(np.float64)
    found, exact = multiple(tolerance), factor * np.expm1(wide)
    absolute = 0.0 if tolerance is PRECISE else 3 * 2.0**-23 * abs(factor)
    argument = 0.0 if tolerance is PRECISE else 2.0**-23 * np.abs(wide * factor * np.exp(wide))
    allowed = np.maximum(4 * spacing(np, exact, FLOAT32), absolute) + argument
    for away in (found.high - exact, exact - found.low):
        assert (away <= allowed * (1 + 1e-6)).all()
        assert (away >= allowed * (1 - 1e-3)).all()


def test_of_a_product_that_is_subnormal_digits_may_be_lost() -> None:
    numbers = -np.geomspace(1e-36, 1e-30, 100, dtype=np.float32)
    alpha, gamma = np.float32(1e-10), np.float32(1e5)
    stepwise = gamma * (alpha * np.expm1(numbers))
    found = Formula(lambda x: scaled_elu(x, float(alpha), float(gamma)), (numbers,), FLOAT32)
    assert within(found, PRECISE).holds(stepwise.view(np.uint32), FLOAT32).all()


def test_of_many_float16_numbers_each_is_computed_once() -> None:
    taken = []

    def function(x: Enclosure) -> Enclosure:
        taken.append(x.shape)
        return functions.exp(x)

    numbers = np.random.default_rng(0).permutation(np.tile(EVERY_FLOAT16, 2)).reshape(2, -1)
    once = Formula(function, (numbers,), FLOAT16).expectation(DIRECTML)
    assert taken == [(2**16,)]
    every = Formula(function, (numbers[0],), FLOAT16, axes=(0,)).expectation(DIRECTML)
    assert (once.values[0] == every.values).all()
    assert (within(Formula(function, (numbers,), FLOAT16)).low[0] == every.within.low).all()  # type: ignore[union-attr]


# --- ScaleBias --------------------------------------------------------------------------------------------------------


def of_scaled(
    x: float, scale: float, bias: float, kind: Any = np.float32, tolerance: Tolerance = DIRECTML
) -> Enclosure:
    data_type = DataType[np.dtype(kind).name.upper()]
    return scaled(Evaluation(tolerance, data_type).of(np.array([x], kind)), ScaleBias(scale, bias))


def test_scale_bias_is_rounded_twice_or_once() -> None:
    exact = 1.1 * float(np.float32(0.3))
    found = of_scaled(np.float32(1.1), 0.3, 10.0)
    assert found.low[0] <= np.float32(np.float32(np.float32(1.1) * np.float32(0.3)) + np.float32(10)) <= found.high[0]
    assert found.low[0] <= 10 + exact <= found.high[0]
    assert found.high[0] - found.low[0] <= 2 * 2.0**-20
    whole = of_scaled(2.0, 3.0, -1.25)
    assert whole.low[0] == whole.high[0] == 4.75


def test_float16_may_have_coefficients_of_float16() -> None:
    found = of_scaled(1.0, 0.1, 0.0, np.float16)
    assert found.low[0] <= float(np.float16(0.1)) <= found.high[0]
    assert found.low[0] <= float(np.float32(0.1)) <= found.high[0]
    beyond = of_scaled(2.0**-10, 1e6, 0.0, np.float16)  # FLOAT16 has no such coefficient
    assert beyond.high[0] < 1000


def test_a_product_that_overflows_may_be_infinite_and_no_nan() -> None:
    """1.2e38 * 3 is too large; with -1e38 added at once it is not."""
    found = of_scaled(1.2e38, 3.0, -1e38)
    assert found.low[0] < 2.7e38
    assert found.high[0] == INF
    assert not found.nan.any()


def test_a_product_with_a_power_of_two_is_not_rounded() -> None:
    x = Evaluation(PRECISE).of(np.array([0.1], np.float32)) * 0.3
    twice, thrice = x * 2.0, x * 3.0
    assert (twice.low[0], twice.high[0]) == (2 * x.low[0], 2 * x.high[0])
    assert thrice.high[0] > 3 * x.high[0] or thrice.low[0] < 3 * x.low[0]


# --- functions of several numbers -------------------------------------------------------------------------------------


def test_a_function_of_two_has_what_all_its_ends_give() -> None:
    evaluation = Evaluation(DIRECTML)
    tiny = np.array([1e-40], np.float32)  # or 0
    found = functions.of_ends("remainder", lambda a, b: [a - 2 * b], evaluation.of(tiny), evaluation.of(2 * tiny))
    assert found.low[0] <= -4 * tiny[0]
    assert found.high[0] >= tiny[0]
    with np.errstate(all="ignore"):
        divided = functions.truncated_remainder(evaluation.of(np.array([5.0], np.float32)), evaluation.of(tiny))
    assert divided.nan.all()
