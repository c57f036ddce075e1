"""What the plots of all pages are drawn with: areas, axes, markers and lines; the templates hold the shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# One for each kind of data type, so that no line is told by its colour alone; about 7 units wide, around the origin.
MARKERS = (
    "M-3-3h6v6h-6z",
    "M0-4L3.8 3h-7.6z",
    "M0 4L3.8-3h-7.6z",
    "M0-4.4L4.4 0 0 4.4-4.4 0z",
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
)
LONGEST_LABEL = 40  # characters of a name in a plot


@dataclass(frozen=True)
class Area:
    """Of a drawing, with room for the axes around."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    def across(self, share: float) -> float:
        return self.left + share * (self.width - self.right - self.left)

    def up(self, share: float) -> float:
        """Downwards in the drawing; what is below the axis is on it."""
        return self.height - self.bottom - max(share, 0.0) * (self.height - self.bottom - self.top)


PANEL = Area(width=300, height=216, left=62, right=24, top=28, bottom=24)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis; without a text a line alone."""

    at: float
    text: str


@dataclass(frozen=True)
class LogScale:
    """Where values lie in a panel: across by their binary, upwards by their decimal logarithm.

    Attributes:
        first, last: binary logarithms at the ends of the axis.
        lowest, highest: powers of ten at the ends of the other; what is beyond is drawn at the edge.
    """

    first: float
    last: float
    lowest: int
    highest: int

    def across_of(self, logarithm: float) -> float:
        is_point = self.first == self.last
        return PANEL.across(0.5 if is_point else (logarithm - self.first) / (self.last - self.first))

    def up(self, value: float) -> float:
        share = (math.log10(value) - self.lowest) / max(self.highest - self.lowest, 1) if value > 0 else 0.0
        return PANEL.up(min(share, 1.0))

    def powers(self, told: Callable[[float], str]) -> list[Tick]:
        """The powers of ten, each in words."""
        values = [10.0**power for power in range(self.lowest, self.highest + 1)]
        return [Tick(self.up(value), told(value)) for value in values]


def path_through(points: Sequence[tuple[float, float]]) -> str:
    """Through the points; of a single one a short stroke, which a line of no length would not be."""
    if len(points) == 1:
        ((x, y),) = points
        points = [(x - 8, y), (x + 8, y)]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
