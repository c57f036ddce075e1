"""How near to the limit each operator runs: the figures of plots and tables; the templates hold the shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from statistics import median

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.grouping import grouped
from dml_conformance.reports.records import Caches, Throughput, at_largest_size
from dml_conformance.reports.text import binary_size, brief_seconds, rate, share_of_copy

# One for each kind of data type, so that no line is told by its colour alone; about 7 units wide, around the origin.
MARKERS = (
    "M-3-3h6v6h-6z",
    "M0-4L3.8 3h-7.6z",
    "M0 4L3.8-3h-7.6z",
    "M0-4.4L4.4 0 0 4.4-4.4 0z",
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
)
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
class Curve:
    """The measurements of one data type.

    Attributes:
        kind: number of its kind of data type, which marker and dashes go by.
        path: through them.
        rows: by size.
    """

    kind: int
    path: str
    rows: Sequence[Throughput]


@dataclass(frozen=True)
class Panel:
    """One operator with the data types of one width.

    Attributes:
        title: of the panel.
        told: what it shows, in words.
        curves: a line for each data type.
        limit: through the copy's speed at each size.
        limit_end: where its name stands.
    """

    title: str
    told: str
    curves: Sequence[Curve]
    limit: str
    limit_end: tuple[float, float]


@dataclass(frozen=True)
class Roofline:
    """Bytes a second over size, both logarithmic, with all measurements in the same state of the caches.

    An operator that only moves data can at best move it as fast as the device copies as many bytes: that is the limit.

    Attributes:
        caches: their state.
        operators: for each operator a panel for each width of its data types.
        scale: of all panels.
        kinds: the kinds of data types with their markers, in the order of their numbers.
        left_out: measurements that have no place here, as their size or a figure is unknown or there is no room.
    """

    caches: Caches
    operators: Mapping[str, Sequence[Panel]]
    scale: PanelScale
    kinds: Sequence[tuple[str, str]]
    left_out: int


def roofline(caches: Caches, rows: Sequence[Throughput]) -> Roofline | None:
    """The plot of measurements in one state of the caches; None where none of them can be drawn."""
    drawn = [row for row in rows if _is_drawable(row)]
    if not drawn:
        return None
    scale = PanelScale.of(drawn)
    by_width = (
        (operator, bits, found)
        for operator, own in grouped(drawn, attrgetter("operator")).items()
        for bits, found in sorted(grouped(own, _bits).items())
    )
    shown = list(islice(by_width, MAX_PANELS))
    kinds = {kind: i for i, kind in enumerate(sorted({_kind(row) for *_, found in shown for row in found}))}
    panels: dict[str, list[Panel]] = {}
    for operator, bits, found in shown:
        title = f"{one_line(operator, LONGEST_LABEL)}, {f'{bits} bit' if bits else 'other types'}"
        panels.setdefault(operator, []).append(_panel(title, found, scale, kinds))
    return Roofline(
        caches,
        panels,
        scale,
        [(one_line(kind, LONGEST_LABEL), MARKERS[i % len(MARKERS)]) for kind, i in kinds.items()],
        len(rows) - sum(len(found) for *_, found in shown),
    )


def _panel(title: str, rows: Sequence[Throughput], scale: PanelScale, kinds: Mapping[str, int]) -> Panel:
    lines, told = [], []
    for data_type, found in grouped(rows, attrgetter("data_type")).items():
        own = sorted(found, key=lambda row: row.output_bytes)
        path = path_through([(scale.across(row.output_bytes), scale.up(row.bytes_per_second)) for row in own])
        lines.append(Curve(kinds[_kind(own[0])], path, own))
        ends = [
            f"{rate(row.bytes_per_second)} at {binary_size(row.output_bytes)}" for row in own[:: max(len(own) - 1, 1)]
        ]
        label, share = one_line(data_type, LONGEST_LABEL), share_of_copy(own[-1], " of the copy")
        told.append(f"{label} {' to '.join(ends)}, {share}")
    limit = [
        (scale.across(size), scale.up(median(row.copy_bytes_per_second for row in of_size)))
        for size, of_size in sorted(grouped(rows, attrgetter("output_bytes")).items())
    ]
    return Panel(title, f"{title}: {'; '.join(told)}", lines, path_through(limit), limit[-1])


def measurement_text(row: Throughput) -> str:
    """`INT8, 64 KiB: 2.1 GB/s, 20 % of the copy, 31.2 µs`."""
    share = share_of_copy(row, " of the copy")
    data_type, size = one_line(row.data_type, LONGEST_LABEL), binary_size(row.output_bytes)
    return f"{data_type}, {size}: {rate(row.bytes_per_second)}, {share}, {brief_seconds(row.median_seconds)}"


def path_through(points: Sequence[tuple[float, float]]) -> str:
    """Through the points; of a single one a short stroke, which a line of no length would not be."""
    if len(points) == 1:
        ((x, y),) = points
        points = [(x - 8, y), (x + 8, y)]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


@dataclass(frozen=True)
class PanelScale:
    """Where sizes and speeds lie in a panel: sizes by their binary, speeds by their decimal logarithm."""

    sizes: Sequence[int]
    slowest: int
    fastest: int

    @classmethod
    def of(cls, rows: Sequence[Throughput]) -> PanelScale:
        """From medians and copies to whole powers of ten; one run that was held up does not stretch the axis."""
        rates = [speed for row in rows for speed in (row.bytes_per_second, row.copy_bytes_per_second)]
        fastest = max(row.fastest_bytes_per_second for row in rows)
        slowest = math.floor(math.log10(min(rates)))
        return cls(sorted({row.output_bytes for row in rows}), slowest, math.ceil(math.log10(max(*rates, fastest))))

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
    if not row.seconds or min(row.seconds) <= 0 or row.output_bytes <= 0:
        return False
    rates = (*(row.useful_bytes / seconds for seconds in row.seconds), row.copy_bytes_per_second)
    return all(_SLOWEST <= speed <= _FASTEST for speed in rates)


@dataclass(frozen=True)
class SpeedTable:
    """The measurements in one state of the caches.

    Attributes:
        caches: their state.
        roofline: the plot; None where nothing can be drawn.
        largest: of the largest size, by operator.
        widest: bytes a second of the fastest run or copy among those, where their bars end.
        sizes: ascending.
        by_size: for each operator its data types, each with a measurement or None for each size.
    """

    caches: Caches
    roofline: Roofline | None
    largest: Mapping[str, Sequence[Throughput]]
    widest: float
    sizes: Sequence[int]
    by_size: Mapping[str, Sequence[tuple[str, Sequence[Throughput | None]]]]


def speed_tables(rows: Sequence[Throughput]) -> list[SpeedTable]:
    """The measurements of one device, by the state of the caches."""
    return [_speed_table(caches, own) for caches in Caches if (own := [row for row in rows if row.caches is caches])]


def _speed_table(caches: Caches, rows: Sequence[Throughput]) -> SpeedTable:
    sizes = sorted({row.output_bytes for row in rows})
    largest = at_largest_size(rows)
    widest = max(max(row.fastest_bytes_per_second, row.copy_bytes_per_second) for row in largest)
    by_size = {
        operator: [
            (data_type, [{row.output_bytes: row for row in of_type}.get(size) for size in sizes])
            for data_type, of_type in grouped(found, attrgetter("data_type")).items()
        ]
        for operator, found in grouped(rows, attrgetter("operator")).items()
    }
    return SpeedTable(caches, roofline(caches, rows), grouped(largest, attrgetter("operator")), widest, sizes, by_size)
