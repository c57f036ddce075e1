"""What the pages draw: how near to the limit each operator runs, and where the cases lie thick or thin.

Here are the figures only, in the units of the drawing; the templates hold the shapes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.records import Caches, Phase, Throughput
from dml_conformance.reports.summary import Summary
from dml_conformance.reports.text import binary_size, brief_seconds, rate, share_of_copy

# One for each kind of data type, so that no line is told by its colour alone; about 7 units wide, around the origin.
MARKERS = (
    "M-3-3h6v6h-6z",
    "M0-4L3.8 3h-7.6z",
    "M0 4L3.8-3h-7.6z",
    "M0-4.4L4.4 0 0 4.4-4.4 0z",
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
)
SHADES = 5  # of a heat map, beside the empty one
_NAMED_BITS = re.compile(r"(.*?)(\d+)")  # FLOAT, 16
_TICK_RATIO = 16  # between labelled sizes
MAX_PANELS = 24  # of one plot; five operators with types of four widths are 20
LONGEST_LABEL = 40  # characters of a name in a plot
_SLOWEST, _FASTEST = 1e-6, 1e18  # bytes a second; what is beyond was not measured but comes out of a damaged file


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
class Point:
    """One measurement: its place, how far its slowest and fastest run lie from it, and what it tells in words."""

    x: float
    y: float
    slowest: float
    fastest: float
    told: str


@dataclass(frozen=True)
class Line:
    """The measurements of one data type.

    Attributes:
        kind: number of its kind of data type, which marker and dashes go by.
        path: through its points.
        points: by size.
    """

    kind: int
    path: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Panel:
    """One operator with the data types of one width.

    Attributes:
        title: of the panel.
        told: what it shows, in words.
        lines: a line for each data type.
        limit: through the copy's speed at each size.
        limit_end: where its name stands.
        x_ticks: of its axis of sizes.
    """

    title: str
    told: str
    lines: Sequence[Line]
    limit: str
    limit_end: tuple[float, float]
    x_ticks: Sequence[Tick]


@dataclass(frozen=True)
class Roofline:
    """Bytes a second over size, both logarithmic, with all measurements in the same state of the caches.

    An operator that only moves data can at best move it as fast as the device copies as many bytes: that is the limit.

    Attributes:
        caches: their state.
        operators: for each operator a panel for each width of its data types; all panels have the same axes.
        y_ticks: of the axis of speed.
        kinds: the kinds of data types with their markers, in the order of their numbers.
        left_out: measurements that have no place here, as their size or a figure is unknown or there is no room.
    """

    caches: Caches
    operators: Mapping[str, Sequence[Panel]]
    y_ticks: Sequence[Tick]
    kinds: Sequence[tuple[str, str]]
    left_out: int


def rooflines(rows: Iterable[Throughput]) -> list[Roofline]:
    """The plots of the measurements of one device, one for each state of the caches that can be drawn."""
    rows = list(rows)
    return [
        plot
        for caches in Caches
        if (plot := _roofline(caches, [row for row in rows if row.caches is caches])) is not None
    ]


def _roofline(caches: Caches, rows: Sequence[Throughput]) -> Roofline | None:
    drawn = [row for row in rows if _is_drawable(row)]
    if not drawn:
        return None
    scale = _Scale.of(drawn)
    grouped = _grouped(drawn)
    shown = dict(list(grouped.items())[:MAX_PANELS])
    kinds = {kind: i for i, kind in enumerate(sorted({_kind(row) for found in shown.values() for row in found}))}
    panels: dict[str, list[Panel]] = {}
    for (operator, bits), found in shown.items():
        title = f"{one_line(operator, LONGEST_LABEL)}, {f'{bits} bit' if bits else 'other types'}"
        panels.setdefault(operator, []).append(_panel(title, found, scale, kinds))
    return Roofline(
        caches,
        panels,
        scale.y_ticks(),
        [(one_line(kind, LONGEST_LABEL), MARKERS[i % len(MARKERS)]) for kind, i in kinds.items()],
        len(rows) - sum(map(len, shown.values())),
    )


def _grouped(rows: Iterable[Throughput]) -> dict[tuple[str, int], list[Throughput]]:
    """Rows by operator, in their order, and width of the type, ascending."""
    order = {operator: i for i, operator in enumerate(dict.fromkeys(row.operator for row in rows))}
    found: dict[tuple[str, int], list[Throughput]] = {}
    for row in rows:
        found.setdefault((row.operator, _bits(row)), []).append(row)
    return dict(sorted(found.items(), key=lambda item: (order[item[0][0]], item[0][1])))


def _panel(title: str, rows: Sequence[Throughput], scale: _Scale, kinds: Mapping[str, int]) -> Panel:
    lines, told = [], []
    by_type: dict[str, list[Throughput]] = {}
    for row in rows:
        by_type.setdefault(row.data_type, []).append(row)
    for data_type, found in by_type.items():
        own = sorted(found, key=lambda row: row.size)
        points = [_point(row, scale) for row in own]
        lines.append(Line(kinds[_kind(own[0])], _path([(point.x, point.y) for point in points]), points))
        ends = [f"{rate(row.bytes_per_second)} at {binary_size(row.size)}" for row in own[:: max(len(own) - 1, 1)]]
        label, share = one_line(data_type, LONGEST_LABEL), share_of_copy(own[-1], " of the copy")
        told.append(f"{label} {' to '.join(ends)}, {share}")
    copies: dict[int, list[float]] = {}
    for row in rows:
        copies.setdefault(row.size, []).append(row.copy_bytes_per_second)
    limit = [(scale.across(size), scale.up(median(copies[size]))) for size in sorted(copies)]
    return Panel(title, f"{title}: {'; '.join(told)}", lines, _path(limit), limit[-1], scale.x_ticks())


def _point(row: Throughput, scale: _Scale) -> Point:
    share = share_of_copy(row, " of the copy")
    return Point(
        scale.across(row.size),
        scale.up(row.bytes_per_second),
        scale.up(row.useful_bytes / max(row.seconds)),
        scale.up(row.useful_bytes / min(row.seconds)),
        f"{one_line(row.data_type, LONGEST_LABEL)}, {binary_size(row.size)}: {rate(row.bytes_per_second)}, {share}, "
        f"{brief_seconds(row.median_seconds)}",
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Through the points; of a single one a short stroke, which a line of no length would not be."""
    if len(points) == 1:
        ((x, y),) = points
        points = [(x - 8, y), (x + 8, y)]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


@dataclass(frozen=True)
class _Scale:
    """Where sizes and speeds lie in a panel: sizes by their binary, speeds by their decimal logarithm."""

    sizes: Sequence[int]
    slowest: int
    fastest: int

    @classmethod
    def of(cls, rows: Sequence[Throughput]) -> _Scale:
        """From medians and copies to whole powers of ten; one run that was held up does not stretch the axis."""
        rates = [speed for row in rows for speed in (row.bytes_per_second, row.copy_bytes_per_second)]
        fastest = max(row.useful_bytes / min(row.seconds) for row in rows)
        slowest = math.floor(math.log10(min(rates)))
        return cls(sorted({row.size for row in rows}), slowest, math.ceil(math.log10(max(*rates, fastest))))

    def across(self, size: int) -> float:
        first, last = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        return PANEL.across(0.5 if first == last else (math.log2(size) - first) / (last - first))

    def up(self, speed: float) -> float:
        return PANEL.up((math.log10(speed) - self.slowest) / max(self.fastest - self.slowest, 1))

    def x_ticks(self) -> list[Tick]:
        """A line for each size, and a text where there is room for one, from the largest downwards."""
        ticks, last = [], _TICK_RATIO * self.sizes[-1]
        for size in reversed(self.sizes):
            is_labelled = size * _TICK_RATIO <= last
            last = size if is_labelled else last
            ticks.append(Tick(self.across(size), binary_size(size) if is_labelled else ""))
        return ticks

    def y_ticks(self) -> list[Tick]:
        return [Tick(self.up(10.0**power), rate(10.0**power)) for power in range(self.slowest, self.fastest + 1)]


def _bits(row: Throughput) -> int:
    """Of an element, by the name of its type; 0 where that has none."""
    named = _NAMED_BITS.fullmatch(row.data_type)
    return int(named[2]) if named else 0


def _kind(row: Throughput) -> str:
    """The name of its data type without the width: FLOAT, INT, UINT."""
    named = _NAMED_BITS.fullmatch(row.data_type)
    return named[1] if named else row.data_type


def _is_drawable(row: Throughput) -> bool:
    if not row.seconds or min(row.seconds) <= 0 or row.size <= 0:
        return False
    rates = (*(row.useful_bytes / seconds for seconds in row.seconds), row.copy_bytes_per_second)
    return all(_SLOWEST <= speed <= _FASTEST for speed in rates)


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
