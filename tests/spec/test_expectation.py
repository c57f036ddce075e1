"""What is right of an output: the order of a type's values, and the parts of an expectation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Within, box_of, boxes, in_order, nans

NARROW = [data_type for data_type in DataType if data_type.bits in (8, 16)]
EVERY = {1: np.arange(2**8, dtype="<u1"), 2: np.arange(2**16, dtype="<u2")}


@pytest.mark.parametrize("data_type", NARROW)
def test_integers_are_in_the_order_of_the_numbers(data_type: DataType) -> None:
    """Of every value of a narrow type; the zeros of a float are one place, and neighbours differ by 1."""
    bits = EVERY[data_type.size]
    numbers = bits.view(data_type.name.lower())
    is_nan = nans(bits, data_type)
    assert (is_nan == (numbers != numbers)).all()
    places = in_order(bits, data_type).astype(np.int64)[~is_nan]
    steps = np.diff(places[np.argsort(numbers[~is_nan], kind="stable")])
    assert steps.tolist().count(0) == data_type.is_float
    assert set(steps.tolist()) == ({0, 1} if data_type.is_float else {1})


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT64, DataType.INT64, DataType.UINT64])
def test_wide_types_are_in_order_too(data_type: DataType) -> None:
    numbers = [0, 1, 2**63, 2**64 - 1] if data_type is DataType.UINT64 else [-(2**40), -1, 0, 1, 2**40]
    elements = np.array(numbers, data_type.name.lower()).view(f"<u{data_type.size}")
    places = in_order(elements, data_type).tolist()
    assert sorted(set(places)) == places


def test_what_is_not_exact_is_open() -> None:
    values = np.arange(4, dtype="<u4")
    first, last = np.arange(4) == 0, np.arange(4) == 3
    assert Expectation(values).open is None
    assert Expectation(values, first, "input_tensor").open is first
    found = Expectation(values, first, "input_tensor", within=Within(values, values, None, last))
    assert found.open is not None
    assert found.open.tolist() == [True, False, False, True]
    assert Expectation(values, within=Within(values, values)).open is not None
    assert Expectation(values, within=Within(values, values)).open.all()  # type: ignore[union-attr]


@pytest.mark.parametrize("sizes", [(2, 3, 5, 4), (1, 7, 1, 9), (30,), (1, 1)])
@pytest.mark.parametrize("most", [1, 4, 7, 20, 1000])
def test_the_box_of_an_element_is_the_one_it_is_in(sizes: tuple[int, ...], most: int) -> None:
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    for box in boxes(sizes, most):
        assert all(box_of(sizes, most, element) == box for element in numbers[box].ravel().tolist())


def test_a_cut_has_the_parts_of_its_elements() -> None:
    values = np.arange(6, dtype="<u4").reshape(2, 3)
    even = values % 2 == 0
    whole = Expectation(values, even, "input_tensor", ~even, Within(values, values + 1, even, even))
    part = whole.cut((slice(1, 2), slice(0, 2)))
    assert part.values.tolist() == [[3, 4]]
    assert part.one_of is not None
    assert part.one_of.tolist() == [[False, True]]
    assert part.within is not None
    assert part.within.high.tolist() == [[4, 5]]
    assert whole.at((1, 0)).values.tolist() == [[3]]
    assert [box for box, _ in whole.parts()] == [(slice(0, 2), slice(0, 3))]
