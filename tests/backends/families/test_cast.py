"""CAST: a slow reference with fractions, and what holds of conversions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, is_right, numbers, small_runs, with_values

from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.datatypes import ALL, DataType
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators, rules
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

# Of a floating-point type: exponent of the unit of the least numbers, digits, and its greatest exponent.
FLOATS = {DataType.FLOAT16: (-24, 11, 15), DataType.FLOAT32: (-149, 24, 127), DataType.FLOAT64: (-1074, 53, 1023)}


def neighbours(number: Fraction, data_type: DataType) -> tuple[Any, Any]:
    """The greatest number of a type that is not above another, and the least one that is not below it."""
    if data_type not in FLOATS:
        return math.floor(number), math.ceil(number)
    least, digits, most = FLOATS[data_type]
    largest = Fraction((2**digits - 1) * 2 ** (most - digits + 1))
    if abs(number) > largest:
        return (largest, math.inf) if number > 0 else (-math.inf, -largest)
    exponent = least
    while abs(number) >= Fraction(2) ** (exponent + digits):
        exponent += 1
    unit = Fraction(2) ** exponent
    return math.floor(number / unit) * unit, math.ceil(number / unit) * unit


def is_subnormal(number: Any, data_type: DataType) -> bool:
    if data_type not in FLOATS or number in (0, math.inf, -math.inf):
        return False
    least, digits, _ = FLOATS[data_type]
    return bool(abs(number) < Fraction(2) ** (least + digits - 1))


def holds(expected: Expectation, value: Any, data_type: DataType) -> bool:
    """Whether a number is right for the only element of an expectation."""
    found = np.array([value if data_type.limits else float(value)]).astype(NUMBERS[data_type])
    return bool(is_right(expected, found.view(expected.values.dtype), data_type).all())


def beside(right: set[Any], data_type: DataType) -> list[Any]:
    """The numbers of a type next to the least and the greatest of some."""
    least, most = min(right), max(right)
    if data_type.limits is not None:
        return [n for n in (least - 1, most + 1) if data_type.limits[0] <= n <= data_type.limits[1]]
    number = NUMBERS[data_type].type
    with np.errstate(over="ignore"):
        ends = np.nextafter(number(float(least)), number(-np.inf)), np.nextafter(number(float(most)), number(np.inf))
    return [end for end in map(float, ends) if end not in (float(least), float(most))]


def check(run: Run) -> int:
    """Holds the expectation of every element against the slow reference; returns how many are not free."""
    source, target = run.desc.input_tensor.data_type, run.desc.output_tensor.data_type
    expected = run.expected["output_tensor"]
    judged = 0
    for place, c in enumerate(slow.walk(run.desc.input_tensor.sizes)):
        element = run.memory("input_tensor").element(c)
        number = np.frombuffer(element, NUMBERS[source])[0].item()
        one = expected.cut(np.unravel_index([place], expected.values.shape))
        is_free = one.free is not None and bool(one.free[0])
        if isinstance(number, float) and not math.isfinite(number):
            if target not in FLOATS:
                assert is_free
            elif math.isnan(number):
                assert holds(one, math.nan, target)
                assert not any(holds(one, value, target) for value in (0.0, 1.0, math.inf))
            else:
                assert one.open is None or not one.open[0]
                assert numbers(one.values, target)[0] == number
            continue
        low, high = neighbours(Fraction(number), target)
        limits = target.limits
        assert is_free == (limits is not None and not limits[0] <= low <= high <= limits[1]), (number, target)
        if is_free:
            continue
        judged += 1
        if low == high == 0:
            assert numbers(one.values, target)[0] == 0
            continue
        may_be_zero = is_subnormal(Fraction(number), source) or any(is_subnormal(n, target) for n in (low, high))
        right = {low, high} | ({0} if may_be_zero else set())
        assert all(holds(one, value, target) for value in right), (number, target)
        assert not any(holds(one, value, target) for value in beside(right, target)), (number, target)
    return judged


def test_agrees_with_the_slow_reference() -> None:
    assert sum(check(run) for run in small_runs("CAST", 120)) > 1000


@pytest.mark.parametrize("target", sorted(ALL), ids=lambda data_type: data_type.name)
def test_conversions_at_the_ends_of_types_agree_with_the_slow_reference(target: DataType) -> None:
    for source in ALL:
        if source.limits is not None:
            low, high = source.limits
            ends = [low, low + 1, 0, 1, high - 1, high, *(high // 2**n for n in (1, 7, 8, 9, 10, 30, 40))]
        else:
            ends = [0.0, 0.5, 1.5, 127.5, 128.0, 255.5, 2049.0, 65504.0, 65519.0, 65520.0, 16777217.0, 1e300]
            ends += [2.0**n for n in (-149, -126, -25, -24, -15, -14, 31, 32, 63, 64)]
            ends += [2.0**63 - 1024, math.inf, math.nan]
            ends += [-number for number in ends]
        with np.errstate(over="ignore"):
            array = np.array(ends, NUMBERS[source])
        tensors = (TensorDesc.of(data_type, array.shape) for data_type in (source, target))
        check(with_values(operators()["CAST"].desc(*tensors), HIGHEST, input_tensor=array))


def test_a_cast_to_a_wider_type_and_back_changes_nothing() -> None:
    every = np.arange(2**16, dtype=np.uint16)
    for narrow, wide in product((DataType.FLOAT16, DataType.INT16), (DataType.FLOAT32, DataType.FLOAT64)):
        tensors = [TensorDesc.of(data_type, (2**16,)) for data_type in (narrow, wide)]
        there = with_values(operators()["CAST"].desc(*tensors), HIGHEST, input_tensor=every)
        values = there.expected["output_tensor"].values
        back = with_values(operators()["CAST"].desc(*reversed(tensors)), HIGHEST, input_tensor=values)
        kept = back.expected["output_tensor"].values
        is_nan = np.isnan(numbers(every, narrow)) if narrow is DataType.FLOAT16 else np.zeros(2**16, bool)
        assert (kept == every)[~is_nan].all()


def test_its_two_types_need_not_agree() -> None:
    assert "CAST.same-data-type" not in rules()
    tensors = [TensorDesc.of(data_type, (2, 3)) for data_type in (DataType.FLOAT64, DataType.UINT8)]
    assert decide(operators()["CAST"].desc(*tensors), HIGHEST).outcome is Outcome.ACCEPT


def test_a_cast_keeps_the_order() -> None:
    random = np.random.default_rng(5)
    array = np.sort(random.normal(0, 60, 2000)).astype(np.float32)
    for target in (DataType.FLOAT16, DataType.INT8, DataType.INT64):
        tensors = [TensorDesc.of(data_type, array.shape) for data_type in (DataType.FLOAT32, target)]
        expected = with_values(operators()["CAST"].desc(*tensors), HIGHEST, input_tensor=array).expected[
            "output_tensor"
        ]
        judged = numbers(expected.values, target)
        assert (np.diff(judged if expected.free is None else judged[~expected.free]) >= 0).all()


def test_parts_are_those_of_the_whole() -> None:
    for run in small_runs("CAST", 30):
        assert (run.parts("output_tensor").values == run.expected["output_tensor"].values).all()
