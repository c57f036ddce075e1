"""How accurate results are: their errors, and whether wrong ones are near enough to be called inaccurate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from dml_conformance.backends.reference.floats import spacing
from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.reports.model.errors import BINS_A_POWER, LARGEST_POWER, LEAST_BIN, Errors
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask, Numbers

# A wrong result is inaccurate where it is no farther from the exact value than so many times what the bound allows, and
# than this part of the value, unless it is a few times that alone; another wrong result is a wrong value.
NEAR, NEAR_PART, NEAR_TIMES = 1024.0, 1 / 64, 4.0
MOST_USED = 1e6  # times what the bound allows: beyond it numbers say nothing


def near(actual: Bits, expected: Expectation, data_type: DataType) -> Mask:
    """Which results are near the exact value, in their intervals or not."""
    within = expected.within
    if within is None or within.exact is None:
        return np.zeros(actual.shape, np.bool_)
    number = NUMBERS[data_type]
    with np.errstate(all="ignore"):
        low, high = (part.view(number).astype(np.float64) for part in (within.low, within.high))
        allowed = np.maximum(within.exact - low, high - within.exact)
        away = np.abs(actual.view(number).astype(np.float64) - within.exact)
        most = np.minimum(NEAR * allowed, NEAR_PART * np.abs(within.exact))
        return np.asarray(away <= np.maximum(NEAR_TIMES * allowed, most)) & np.isfinite(allowed)


def ulps(actual: Bits, exact: Numbers, data_type: DataType) -> Numbers:
    """How far results are from exact values, in units in the last place of these; finite where both are."""
    with np.errstate(all="ignore"):
        away = np.abs(actual.view(NUMBERS[data_type]).astype(np.float64) - exact)
        found: Numbers = away / spacing(np, exact, data_type)
        return found


class CountedErrors:
    """The errors of a case's results, counted part by part."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._magnitudes: dict[int, float] = {}
        self._largest = self._used = 0.0

    def add(self, actual: Bits, expected: Expectation, data_type: DataType, times: int = 1) -> None:
        """Count those of elements of an output of a type, of which there are so many parts."""
        within = expected.within
        if within is None or within.exact is None:
            return
        error = ulps(actual, within.exact, data_type)
        is_known = np.isfinite(error) & within.counts
        if not is_known.any():
            return
        self._used = max(self._used, _used(actual, expected, data_type, is_known))
        if within.argument is None:
            return
        error, least = error[is_known], int(np.finfo(NUMBERS[data_type]).minexp)
        self._largest = max(self._largest, float(error.max()))
        every = np.bincount(_bins_of(error) - LEAST_BIN)
        bins = np.flatnonzero(every)
        self._counts.update(dict(zip((bins + LEAST_BIN).tolist(), (times * every[bins]).tolist(), strict=True)))
        for power, most in _by_magnitude(within.argument[is_known], error, least):
            self._magnitudes[power] = max(most, self._magnitudes.get(power, most))

    @property
    def errors(self) -> Errors | None:
        """What was counted; None where no result is one of arithmetic."""
        if not self._counts and not self._used:
            return None
        bins, magnitudes = tuple(sorted(self._counts.items())), tuple(sorted(self._magnitudes.items()))
        return Errors(self._largest, bins, magnitudes, brief(self._used))


def errors_of(parts: Iterable[tuple[Bits, Expectation, DataType, int]]) -> Errors | None:
    """The errors of a case's results; None where none of them is one of arithmetic.

    Args:
        parts: elements of outputs as they are, what is right of them, their type, and how many such parts there are.
    """
    counted = CountedErrors()
    for part in parts:
        counted.add(*part)
    return counted.errors


def _used(actual: Bits, expected: Expectation, data_type: DataType, is_known: Mask) -> float:
    """The largest part of the way from the nearest number to the last one that is right that results went."""
    within, is_other = expected.within, is_known & (actual != expected.values)
    if expected.intervals is not None:
        is_other = is_other & expected.intervals
    for is_open in (expected.free, expected.one_of):  # where other numbers are right too
        is_other = is_other if is_open is None else is_other & ~is_open
    if within is None or within.exact is None or not is_other.any():
        return 0.0
    parts = (actual, expected.values, within.low, within.high)
    found, nearest, low, high = (part[is_other].view(NUMBERS[data_type]).astype(np.float64) for part in parts)
    exact = within.exact[is_other]
    with np.errstate(all="ignore"):
        least, end = np.abs(nearest - exact), np.where(found > exact, high, low)
        used = (np.abs(found - exact) - least) / (np.abs(end - exact) - least)
    return float(np.nan_to_num(used, nan=0.0, posinf=MOST_USED).clip(0.0, MOST_USED).max())


def _bins_of(error: Any) -> Any:
    """The bins that errors are counted in."""
    with np.errstate(all="ignore"):
        places = np.ceil(BINS_A_POWER * np.log2(error))
    return np.maximum(places, LEAST_BIN).astype(np.int64)


class PossibleErrors:
    """What the errors of results that are right can be. Too small ones cannot be told from these."""

    def __init__(self) -> None:
        self._least_count = self._most_count = 0
        self._largest = 0.0

    def add(self, expected: Expectation, data_type: DataType) -> None:
        """Count what is right of elements of an output of a type."""
        within = expected.within
        if within is None or within.exact is None or within.argument is None:
            return
        low, high = (ulps(end, within.exact, data_type) for end in (within.low, within.high))
        is_known = np.isfinite(within.exact) & within.counts
        is_sure = is_known & np.isfinite(low) & np.isfinite(high) & (True if within.nan is None else ~within.nan)
        self._most_count += int(is_known.sum())
        self._least_count += int(is_sure.sum())
        farther = np.where(np.isfinite(low) & np.isfinite(high), np.fmax(low, high), np.inf)[is_known]
        self._largest = max(self._largest, float(farther.max(initial=0.0)))

    def why_not(self, errors: Errors | None) -> str:
        """Why these cannot be the errors; "" where they can."""
        counts = [count for _, count in errors.bins] if errors else []
        if not self._least_count <= sum(counts) <= self._most_count or min(counts, default=1) < 1:
            return f"{sum(counts)} results; expected from {self._least_count} to {self._most_count}"
        if errors and not errors.largest <= self._largest:
            return f"an error of {errors.largest:g} ULP, where up to {self._largest:g} ULP are right"
        if errors and not errors.used <= 1:
            return f"an error of {errors.used:g} of what its bound allows"
        if errors and errors.bins and errors.bins[-1][0] != _bins_of(errors.largest):
            return f"an error of {errors.largest:g} ULP, which no bin has counted"
        return ""


def _by_magnitude(arguments: Numbers, errors: Numbers, least: int) -> tuple[tuple[int, float], ...]:
    is_finite = np.isfinite(arguments)
    _, exponents = np.frexp(arguments[is_finite])
    places = np.maximum(exponents - 1 - least, 0)
    places[arguments[is_finite] == 0] = 0
    largest = np.full(LARGEST_POWER - least, -1.0)
    np.maximum.at(largest, places, errors[is_finite])
    known = np.flatnonzero(largest >= 0)
    return tuple(zip((known + least).tolist(), [brief(one) for one in largest[known].tolist()], strict=True))


def brief(error: float) -> float:
    """An error to as many digits as are kept."""
    return float(f"{error:.4g}")
