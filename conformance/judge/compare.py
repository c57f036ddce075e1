"""Comparing an output with what is right of it: bit for bit, in an interval, one of several values, or anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.conformance.judge.accuracy import brief, near, ulps
from dml_conformance.reports.model.records import Difference
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask, in_order
from dml_conformance.strategies.values import NUMPY_TYPE

# Differing elements that are recorded: all of a small output, so that it can be drawn whole; of a larger one the first.
SMALL_OUTPUT = 256
RECORDED = 64
OPEN = "any element of the input"
ANYTHING = "anything"
NAN = "NaN"


class OutputComparison(NamedTuple):
    """What differs.

    Attributes:
        wrong: how many elements.
        shown: the first of them in row-major order.
        inaccurate: how many of them are no more than that, being near the right value.
    """

    wrong: int
    shown: tuple[Difference, ...]
    inaccurate: int = 0

    def and_then(self, other: OutputComparison) -> OutputComparison:
        """This, and what differs behind it in the same output."""
        if not self.wrong or not other.wrong:
            return other if other.wrong else self
        inaccurate = self.inaccurate + other.inaccurate
        return OutputComparison(self.wrong + other.wrong, (self.shown + other.shown)[:RECORDED], inaccurate)


EQUAL = OutputComparison(0, ())


def compare(
    actual: Bits,
    expected: Expectation,
    data_type: DataType,
    allowed: Bits | None = None,
    start: Sequence[int] = (),
) -> OutputComparison:
    """Find the elements that are wrong.

    Args:
        actual: the output's elements as unsigned integers, in the output's sizes.
        expected: what is right of them.
        data_type: theirs.
        allowed: where one of several values is right, these.
        start: coordinates of the first element, where these are part of an output; () = they are all of it.
    """
    if expected.is_exact and actual.tobytes() == expected.values.tobytes():
        return EQUAL
    wrong = ~right(actual, expected, data_type, allowed)
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return EQUAL
    places = np.flatnonzero(wrong)[: SMALL_OUTPUT if wrong.size <= SMALL_OUTPUT else RECORDED]
    index = np.unravel_index(places, wrong.shape)
    begins = start or (0,) * wrong.ndim
    coordinates = zip(*((along + begin).tolist() for along, begin in zip(index, begins, strict=True)), strict=True)
    found, wanted = shown(actual[index], data_type), wanted_text(expected, index, data_type)
    told = zip(coordinates, wanted, found, _ulps(actual, expected, index, data_type), strict=True)
    differences = tuple(Difference(at, *want, *got, ulp) for at, want, got, ulp in told)
    return OutputComparison(count, differences, int(np.count_nonzero(wrong & near(actual, expected, data_type))))


def _ulps(actual: Bits, expected: Expectation, index: Any, data_type: DataType) -> list[float | None]:
    """How far elements are from the exact results of arithmetic; None where that is no number."""
    found = np.ascontiguousarray(actual[index])
    if expected.within is None or expected.within.exact is None:
        return [None] * len(found)
    return [
        brief(ulp) if math.isfinite(ulp) else None
        for ulp in ulps(found, expected.within.exact[index], data_type).tolist()
    ]


def right(actual: Bits, expected: Expectation, data_type: DataType, allowed: Bits | None) -> Mask:
    """Which elements are right; see `compare`."""
    found = np.asarray(actual == expected.values)
    if expected.one_of is not None:
        assert allowed is not None
        found[expected.one_of] = np.isin(actual[expected.one_of], allowed)
    if expected.within is not None:
        where, inside = expected.within.where, expected.within.holds(actual, data_type)
        found = inside if where is None else np.where(where, inside, found)
    if expected.free is not None:
        found |= expected.free
    return found


def wanted_text(expected: Expectation, index: Any, data_type: DataType) -> list[tuple[str, str]]:
    """What is right of some elements, in words or as a number, and the bits where there is but one value.

    Args:
        expected: of the whole.
        index: of NumPy; one array for each dimension.
        data_type: of the elements.
    """
    wanted = shown(expected.values[index], data_type)
    for mask, text in ((expected.one_of, OPEN), (expected.free, ANYTHING)):
        if mask is not None:
            wanted = [(text, "") if there else known for there, known in zip(mask[index].tolist(), wanted, strict=True)]
    if expected.within is not None and (where := expected.intervals) is not None:
        ends = zip(_interval_text(expected, index, data_type), where[index].tolist(), strict=True)
        wanted = [(text, "") if there else known for (text, there), known in zip(ends, wanted, strict=True)]
    return wanted


def _interval_text(expected: Expectation, index: Any, data_type: DataType) -> list[str]:
    """`from 0.5 to 0.75 or NaN`, or `0.5` where nothing else is right."""
    within = expected.within
    assert within is not None
    lows, highs = within.low[index], within.high[index]
    empty = (in_order(lows, data_type) > in_order(highs, data_type)).tolist()
    nan = [False] * len(empty) if within.nan is None else within.nan[index].tolist()
    texts = []
    for (low, _), (high, _), none, or_nan in zip(
        shown(lows, data_type), shown(highs, data_type), empty, nan, strict=True
    ):
        numbers = [] if none else [low if low == high else f"from {low} to {high}"]
        texts.append(" or ".join([*numbers, *([NAN] if or_nan else [])]) or "nothing")
    return texts


def shown(elements: Bits, data_type: DataType) -> list[tuple[str, str]]:
    """Elements as numbers in their own type, `nan` and `-0.0` included, and their bits as wide as the type."""
    digits = data_type.size * 2  # all at once: a NumPy scalar for each element takes ten times as long
    values = np.ascontiguousarray(elements).view(NUMPY_TYPE[data_type]).tolist()
    return [(repr(value), f"0x{bits:0{digits}x}") for value, bits in zip(values, elements.tolist(), strict=True)]
