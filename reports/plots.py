"""What the pages draw: how near to the limit each operator runs, and where the cases lie thick or thin.

Here are the figures only, in the units of the drawing; the templates hold the shapes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reports.records import Phase, Throughput
from reports.summary import Summary

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 74, 16, 14, 46  # room for the axes
# One for each operator, so that no point is told by its colour alone; all about 9 units wide, around the origin.
MARKERS = (
    "M-4.5-4.5h9v9h-9z",
    "M0-5.5L5.5 4.5h-11z",
    "M0-6L6 0 0 6-6 0z",
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "M0 5.5L5.5-4.5h-11z",
    "M-5.5-2h3.5v-3.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5z",
)
SHADES = 5  # of a heat map, beside the empty one
_SIZES = re.compile(r"\{(\d+(?:,\d+)*)\}")


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Point:
    """One measurement: its place, how far its slowest and fastest run lie from it, and what it tells in words."""

    x: float
    y: float
    slowest: float
    fastest: float
    marker: str
    told: str


@dataclass(frozen=True)
class Roofline:
    """Elements written a second over elements written for each byte moved, both logarithmic.

    An operator that only moves data can at best move it as fast as a copy does: that is the slanted line.

    Attributes:
        points: the measurements.
        roof: the ends of the line, x1, y1, x2, y2.
        roof_told: the limit in words.
        x_ticks, y_ticks: of the axes.
        markers: an operator's marker, in the order of the operators.
        left_out: measurements whose shape names no output, so that they have no place here.
    """

    points: Sequence[Point]
    roof: tuple[float, float, float, float]
    roof_told: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    markers: Mapping[str, str]
    left_out: int


def roofline(rows: Iterable[Throughput]) -> Roofline | None:
    """The plot of the measurements of one device; None where none can be drawn."""
    rows = list(rows)
    drawn = [(row, count) for row in rows if (count := _elements_written(row)) and _is_drawable(row)]
    if not drawn:
        return None
    copies = sorted(row.copy_bytes_per_second for row, _ in drawn)
    copy = copies[len(copies) // 2]
    intensities = [count / row.useful_bytes for row, count in drawn]
    x_low, x_high = math.floor(math.log2(min(intensities))), math.ceil(math.log2(max(intensities)))
    x_low, x_high = (x_low - 1, x_high + 1) if x_low == x_high else (x_low, x_high)
    roof_ends = copy * 2.0**x_low, copy * 2.0**x_high
    rates = [count / seconds for row, count in drawn for seconds in row.seconds]
    y_low = math.floor(math.log10(min(*rates, roof_ends[0])))
    y_high = math.ceil(math.log10(max(*rates, roof_ends[1])))

    def across(intensity: float) -> float:
        return _scaled(math.log2(intensity), x_low, x_high, LEFT, WIDTH - RIGHT)

    def up(rate: float) -> float:
        return _scaled(math.log10(rate), y_low, y_high, HEIGHT - BOTTOM, TOP)

    operators = dict.fromkeys(row.operator for row, _ in drawn)
    markers = {operator: MARKERS[i % len(MARKERS)] for i, operator in enumerate(operators)}
    points = [
        Point(
            across(intensity),
            up(count / row.median_seconds),
            up(count / max(row.seconds)),
            up(count / min(row.seconds)),
            markers[row.operator],
            f"{row.operator} {row.data_type}: {_rate(count / row.median_seconds)} elements/s, "
            f"{100 * row.fraction_of_copy:.3g} % of copy",
        )
        for (row, count), intensity in zip(drawn, intensities, strict=True)
    ]
    return Roofline(
        points,
        (across(2.0**x_low), up(roof_ends[0]), across(2.0**x_high), up(roof_ends[1])),
        f"copy, {copy / 1e9:,.4g} GB/s",
        [Tick(across(2.0**n), f"1/{2**-n}" if n < 0 else str(2**n)) for n in range(x_low, x_high + 1)],
        [Tick(up(10.0**n), _rate(10.0**n)) for n in range(y_low, y_high + 1)],
        markers,
        len(rows) - len(drawn),
    )


def _elements_written(row: Throughput) -> int:
    """Of the output, whose sizes stand last in the row's shape; 0 where there are none."""
    sizes = _SIZES.findall(row.shape)
    return math.prod(map(int, sizes[-1].split(","))) if sizes else 0


def _is_drawable(row: Throughput) -> bool:
    figures = (*row.seconds, row.copy_bytes_per_second, row.useful_bytes)
    return bool(row.seconds) and all(math.isfinite(figure) and figure > 0 for figure in figures)


def _scaled(value: float, low: float, high: float, start: float, end: float) -> float:
    return start + (value - low) / ((high - low) or 1) * (end - start)


def _rate(per_second: float) -> str:
    for power, letter in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if per_second >= 10**power:
            return f"{per_second / 10**power:.3g} {letter}"
    return f"{per_second:.3g}"


@dataclass(frozen=True)
class Heat:
    """A table of counts, each with a shade from 0 (none) to SHADES (the most), by order of magnitude.

    Attributes:
        title: of the table.
        traits: of a case, what rows and columns stand for.
        columns: their names.
        rows: name, and for each column the count and its shade.
    """

    title: str
    traits: tuple[str, str]
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[int, int]]]]

    @classmethod
    def of(
        cls,
        title: str,
        traits: tuple[str, str],
        rows: Sequence[str],
        columns: Sequence[str],
        counts: Mapping[tuple[str, str], int],
    ) -> Heat:
        most = max(counts.values(), default=0)

        def shaded(row: str) -> list[tuple[int, int]]:
            found = [counts.get((row, column), 0) for column in columns]
            return [(n, math.ceil(SHADES * math.log1p(n) / math.log1p(most)) if n else 0) for n in found]

        return cls(title, traits, columns, [(row, shaded(row)) for row in rows])


def rules_by_phase(summary: Summary) -> Heat:
    """How many cases each phase made about each rule."""
    counts: Counter[tuple[str, str]] = Counter()
    for (_, _, phase, rule), test in summary.tests.items():
        counts[rule, str(phase)] += test.counts.total()
    rules = [rule["id"] for rule in summary.campaign.rules]
    seen = {rule for rule, _ in counts}
    phases = [str(phase) for phase in Phase if phase in summary.phases()]
    rows = [*rules, *sorted(seen - {*rules, ""})]
    return Heat.of("Rules by phase", ("rule", "phase"), rows, phases, counts)


def types_by_rank_and_level(summary: Summary) -> list[tuple[str, Heat]]:
    """For each data type of the output how many judged, accepted cases had which dimension count at which level."""
    counts = summary.shapes
    most = max(counts.values(), default=0)
    levels = summary.campaign.levels
    found = []
    for data_type in sorted({data_type for data_type, _, _ in counts if data_type}):
        ranks = sorted({rank for of, rank, _ in counts if of == data_type})
        own = {(str(rank), level): counts[data_type, rank, level] for rank in ranks for level in levels}
        heat = Heat.of(data_type, ("rank", "level"), [str(rank) for rank in ranks], levels, {**own, ("", ""): most})
        found.append((data_type, heat))
    return found
