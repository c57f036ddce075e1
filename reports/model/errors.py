"""How far results of arithmetic were from the exact ones: of a case, and of all cases of an operator and data type.

Errors are in units in the last place of the exact value (ULP), in the result's type. They are counted in bins, four for
each power of two, so that a share of all results can be told without keeping them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import msgspec

BINS_A_POWER = 4
MOST = 0.999  # of the results
LEAST_BIN = -5 * BINS_A_POWER  # smaller errors, and none at all, are counted here

WITHOUT_ULP = (
    "Of sums, products of matrices, and functions of what was rounded before, the part of the bound alone is known."
)

MOST_BIN = 1024 * BINS_A_POWER - 1  # larger errors are no numbers
LARGEST_POWER = 1100  # of two, that an argument of any type may have; the least is this below 0


class Errors(msgspec.Struct, frozen=True, omit_defaults=True):
    """The errors of the results of one case.

    Attributes:
        largest: in ULP, of those results that are finite where the exact value is.
        bins: bins, ascending, and how many results each has: those with an error up to `2^(bin / 4)` ULP and above that
            of the bin before.
        magnitudes: powers of two, ascending, and the largest error, in ULP, of results whose argument's size is rounded
            down to each; that of 0 and of subnormal arguments is the least.
        used: the largest part of what the bound allows beyond rounding: 0 is the nearest number, 1 the last one that
            is right, more is wrong. It is known of all arithmetic, the rest where no argument was rounded before.
    """

    largest: float
    bins: tuple[tuple[int, int], ...] = ()
    magnitudes: tuple[tuple[int, float], ...] = ()
    used: float = 0.0


class ErrorCounts:
    """The errors of all results of an operator and data type; `wrong` is how many are farther off than is right."""

    def __init__(self) -> None:
        self.largest = self.used = 0.0
        self.wrong = 0
        self.bins: Counter[int] = Counter()
        self.magnitudes: dict[int, float] = {}

    def add(self, errors: Errors, wrong: int = 0) -> None:
        """Count the errors of a case, so many of whose results are wrong."""
        self.wrong += wrong
        self.largest, self.used = max(self.largest, errors.largest), max(self.used, errors.used)
        self.bins.update(dict(errors.bins))
        for power, largest in errors.magnitudes:
            self.magnitudes[power] = max(self.magnitudes.get(power, 0.0), largest)

    @property
    def count(self) -> int:
        """Results."""
        return self.bins.total()

    def quantile(self, share: float) -> float:
        """An error that this share of the results does not exceed: the end of a bin, or the largest."""
        left = share * self.count
        for place, count in sorted(self.bins.items()):
            left -= count
            if left <= 0:
                return min(bin_end(place), self.largest)
        return self.largest

    @property
    def most(self) -> float:
        """What nearly all results (`MOST`) do not exceed."""
        return self.quantile(MOST)

    def histogram(self) -> Mapping[float, int]:
        """How many results have an error up to so many ULP, and above the number before it."""
        return {bin_end(place): count for place, count in sorted(self.bins.items())}


def bin_end(place: int) -> float:
    """The largest error, in ULP, that a bin counts, to six digits: more are no use to a reader, and half of a table."""
    return float(f"{math.exp2(place / BINS_A_POWER):.6g}")
