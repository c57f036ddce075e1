"""Where a series of measurements took a step, told from noise.

Ratios matter, so it works on logarithms. What one run differs from the next by chance is estimated by the median of
those differences, which a few steps do not move. The series is cut in two where the absolute deviations from the
medians of the two parts are smallest in sum; the cut is a step if the medians differ by more than `LEAST` and by more
than `NOISE` times the chance difference. Each part is then looked at in the same way.

One run alone is no proof: a step needs `CONFIRMED` runs on each side, and the last ones of a series are marked as not
yet confirmed, and have to differ by twice as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

LEAST = 0.05  # of the figure
NOISE = 4.0
CONFIRMED = 3
_TO_DEVIATION = 1.4826 / math.sqrt(2)  # from a median absolute difference to the standard deviation of one value


@dataclass(frozen=True)
class Step:
    """A change that lasts.

    Attributes:
        at: index of the first value after it.
        before: median of the values before it, back to the step before.
        after: median of those after it.
        confirmed: whether enough runs show it.
    """

    at: int
    before: float
    after: float
    confirmed: bool

    @property
    def change(self) -> float:
        """As a share of what was: -0.3 is a loss of three tenths."""
        return self.after / self.before - 1


def steps(values: Sequence[float]) -> list[Step]:
    """The steps of a series of positive values, in order."""
    logarithms = [math.log(value) for value in values]
    if len(values) < 2:
        return []
    differences = [abs(b - a) for a, b in pairwise(logarithms)]
    # Of two or three values the median difference is the step itself; only the least counts then.
    chance = _TO_DEVIATION * median(differences) if len(values) > CONFIRMED else 0.0
    needed = max(math.log1p(LEAST), NOISE * chance)
    cuts = sorted(_cuts(logarithms, 0, len(values), needed))
    newest = _unconfirmed(logarithms, cuts[-1] if cuts else 0, 2 * needed)
    edges = [0, *cuts, *([newest] if newest is not None else []), len(values)]
    return [
        Step(at, median(values[start:at]), median(values[at:end]), at != newest)
        for start, at, end in zip(edges, edges[1:], edges[2:], strict=False)
    ]


def _cuts(values: Sequence[float], start: int, end: int, needed: float) -> list[int]:
    """Indices at which steps of values[start:end] begin."""
    places = range(start + CONFIRMED, end - CONFIRMED + 1)
    if not places:
        return []
    at = min(places, key=lambda place: _spread(values[start:place]) + _spread(values[place:end]))
    before, after = median(values[start:at]), median(values[at:end])
    if abs(after - before) <= needed or abs(values[at] - before) < abs(values[at] - after):
        return []  # in the second case the last ones, too few, drew the median of a part that begins before them
    return [*_cuts(values, start, at, needed), at, *_cuts(values, at, end, needed)]


def _unconfirmed(values: Sequence[float], start: int, needed: float) -> int | None:
    """Where the last values, too few to confirm it, leave what came before since the last step; None if they do not."""
    for at in range(max(len(values) - CONFIRMED + 1, start + 1), len(values)):
        level, last = median(values[start:at]), values[at:]
        if all(value - level > needed for value in last) or all(level - value > needed for value in last):
            return at
    return None


def _spread(values: Sequence[float]) -> float:
    level = median(values)
    return sum(abs(value - level) for value in values)
