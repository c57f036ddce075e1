"""FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, repeat
from math import prod
from typing import Any

import numpy as np
import pytest
from family_cases import Run, numbers, small_runs, with_values

from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

NAMES = ("FILL_VALUE_CONSTANT", "FILL_VALUE_SEQUENCE")


def sequence(data_type: DataType, start: float, delta: float, *sizes: int) -> Run:
    output = TensorDesc.of(data_type, sizes)
    return with_values(operators()["FILL_VALUE_SEQUENCE"].desc(output, int(data_type), start, delta), HIGHEST)


def elements(run: Run) -> list[Any]:
    """The numbers that are expected; None where an element is free, or may be another number too."""
    expected = run.expected["output_tensor"]
    found = numbers(expected.values, run.desc.output_tensor.data_type).reshape(-1).tolist()
    free = np.zeros(expected.values.shape, bool) if expected.free is None else expected.free
    if expected.within is not None:
        free = expected.within.low != expected.within.high
    free = free.reshape(-1)
    return [None if is_free else number for number, is_free in zip(found, free, strict=True)]


def test_a_constant_is_everywhere() -> None:
    for run in small_runs("FILL_VALUE_CONSTANT"):
        assert run.expected["output_tensor"].open is None
        number = NUMBERS[run.desc.output_tensor.data_type].type(run.desc.value).item()
        assert elements(run) == [number] * run.desc.output_tensor.element_count


def test_a_sequence_agrees_with_the_slow_reference() -> None:
    """Added up step by step, without a rounding."""
    judged = 0
    for run in small_runs("FILL_VALUE_SEQUENCE"):
        data_type, count = run.desc.output_tensor.data_type, prod(run.desc.output_tensor.sizes)
        start, delta = Fraction(run.desc.value_start), Fraction(run.desc.value_delta)
        sums = accumulate(repeat(delta, count - 1), initial=start)
        if data_type.limits is not None and data_type.limits[0] == 0:
            sums = (number % 2**data_type.bits for number in sums)
        for found, number in zip(elements(run), sums, strict=True):
            assert found is None or found == number, run.desc
            judged += found is not None
    assert judged > 1000


@pytest.mark.parametrize(
    ("data_type", "start", "delta", "expected"),
    [
        (DataType.UINT8, 254, 1, [254, 255, 0, 1]),
        (DataType.UINT64, 1, 2**64 - 1, [1, 0, 2**64 - 1, 2**64 - 2]),
        (DataType.INT8, 126, 1, [126, 127, None, None]),
        (DataType.INT64, 2 - 2**63, -1, [2 - 2**63, 1 - 2**63, -(2**63), None]),
        (DataType.FLOAT16, 2046.0, 1.0, [2046.0, 2047.0, 2048.0, None]),
        (DataType.FLOAT32, 2.0**24, 2.0, [2.0**24, 2.0**24 + 2, 2.0**24 + 4, 2.0**24 + 6]),
        (DataType.FLOAT32, 2.0**24 + 2, -1.0, [None] * 4),
        (DataType.FLOAT32, 0.1, 0.1, None),
        (DataType.FLOAT32, 0.0, 2.0**-149, [None] * 4),
        (DataType.FLOAT32, -1.0, 0.0, [-1.0] * 4),
        (DataType.FLOAT32, float("inf"), 1.0, [None] * 4),
    ],
)
def test_what_may_be_rounded_or_overflows_is_free(
    data_type: DataType, start: float, delta: float, expected: list[Any] | None
) -> None:
    if expected is None:  # a number of as many digits as the type has
        start = delta = float(np.float32(start))
        expected = [start, None, None, None]
    assert elements(sequence(data_type, start, delta, 1, 4)) == expected


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize(("start", "delta"), [(0.1, 0.3), (-7.0, 0.01), (1000.0, -0.7), (2049.0, 1.0), (0.0, 1e-7)])
def test_steps_and_products_are_right_that_are_rounded(kind: Any, start: float, delta: float) -> None:
    """In the type itself, up to the 500th element; another step of a hundredth is not, where it comes to something."""
    data_type = DataType[np.dtype(kind).name.upper()]
    start, delta = (float(kind(number)) for number in (start, delta))
    within = sequence(data_type, start, delta, 500).expected["output_tensor"].within
    assert within is not None

    def right(found: Any) -> Any:
        return within.holds(found.astype(kind).view(within.low.dtype), data_type)

    steps = np.arange(500).astype(kind)
    assert right(
        np.array(list(accumulate(repeat(kind(delta), 499), lambda a, b: kind(a + b), initial=kind(start))))
    ).all()
    assert right(kind(start) + steps * kind(delta)).all()
    assert right(start + np.arange(500) * delta).all()
    other = start + np.arange(500) * delta * 1.01
    if kind is np.float32:
        assert not right(other)[100:].any()


@pytest.mark.parametrize("data_type", [DataType.UINT8, DataType.INT16, DataType.FLOAT16])
def test_layers_of_a_sequence_are_sequences(data_type: DataType) -> None:
    whole = elements(sequence(data_type, 5, 2, 3, 4, 5))
    layers = [elements(sequence(data_type, 5 + 2 * 20 * n, 2, 4, 5)) for n in range(3)]
    assert whole == [*layers[0], *layers[1], *layers[2]]


@pytest.mark.parametrize("name", NAMES)
def test_parts_are_those_of_the_whole(name: str) -> None:
    for run in small_runs(name, 40):
        whole, parts = run.expected["output_tensor"], run.parts("output_tensor")
        free = np.zeros(whole.values.shape, bool) if whole.free is None else whole.free
        assert parts.free is not None
        assert (free == parts.free).all()
        assert (whole.values == parts.values)[~free].all()
