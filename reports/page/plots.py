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
from dml_conformance.reports.model.grouping import family_name, grouped
from dml_conformance.reports.model.records import Caches, Throughput, at_largest_size
from dml_conformance.reports.model.text import binary_size, brief_seconds, rate, share_of_copy
from dml_conformance.reports.page.drawing import LONGEST_LABEL, MARKERS, LogScale, Tick, path_through

_NAMED_BITS = re.compile(r"(.*?)(\d+)")  # FLOAT, 16
_TICK_RATIO = 16  # between labelled sizes
MAX_PANELS = 24  # of one plot; five operators with types of four widths are 20
_SLOWEST, _FASTEST = 1e-6, 1e18  # bytes a second; what is beyond was not measured but comes out of a damaged file


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
        left_out: measurements that have no place here, as their size or a figure is unknown or not plausible, or there
            is no room.
    """

    caches: Caches
    operators: Mapping[str, Sequence[Panel]]
    scale: SpeedScale
    kinds: Sequence[tuple[str, str]]
    left_out: int


def roofline(caches: Caches, rows: Sequence[Throughput]) -> Roofline | None:
    """The plot of measurements in one state of the caches; None where none of them can be drawn."""
    drawn = [row for row in rows if _is_drawable(row)]
    if not drawn:
        return None
    scale = SpeedScale.of(drawn)
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


def _panel(title: str, rows: Sequence[Throughput], scale: SpeedScale, kinds: Mapping[str, int]) -> Panel:
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


@dataclass(frozen=True)
class SpeedScale(LogScale):
    """Where sizes and speeds lie in a panel.

    Attributes:
        sizes: that have a line, ascending.
    """

    sizes: Sequence[int]

    @classmethod
    def of(cls, rows: Sequence[Throughput]) -> SpeedScale:
        """From medians and copies to whole powers of ten; one run that was held up does not stretch the axis."""
        rates = [speed for row in rows for speed in (row.bytes_per_second, row.copy_bytes_per_second)]
        fastest = max(*rates, *(row.fastest_bytes_per_second for row in rows))
        slowest = math.floor(math.log10(min(rates)))
        sizes = sorted({row.output_bytes for row in rows})
        return cls(math.log2(sizes[0]), math.log2(sizes[-1]), slowest, math.ceil(math.log10(fastest)), sizes)

    def across(self, size: int) -> float:
        return self.across_of(math.log2(size))

    def x_ticks(self) -> list[Tick]:
        """A line for each size, and a text where there is room for one, from the largest downwards."""
        ticks, last = [], _TICK_RATIO * self.sizes[-1]
        for size in reversed(self.sizes):
            is_labelled = size * _TICK_RATIO <= last
            last = size if is_labelled else last
            ticks.append(Tick(self.across(size), binary_size(size) if is_labelled else ""))
        return ticks

    def y_ticks(self) -> list[Tick]:
        return self.powers(rate)


def _bits(row: Throughput) -> int:
    """Of an element, by the name of its type; 0 where that has none."""
    named = _NAMED_BITS.fullmatch(row.data_type)
    return int(named[2]) if named else 0


def _kind(row: Throughput) -> str:
    """The name of its data type without the width: FLOAT, INT, UINT."""
    named = _NAMED_BITS.fullmatch(row.data_type)
    return named[1] if named else row.data_type


def _is_drawable(row: Throughput) -> bool:
    if not row.seconds or min(row.seconds) <= 0 or row.output_bytes <= 0 or not row.is_plausible:
        return False
    rates = (*(row.useful_bytes / seconds for seconds in row.seconds), row.copy_bytes_per_second)
    return all(_SLOWEST <= speed <= _FASTEST for speed in rates)


@dataclass(frozen=True)
class SpeedTable:
    """The measurements in one state of the caches.

    Attributes:
        caches: their state.
        families: of each family of operators the part of the copy's speed that the median measurement of the largest
            size has, and how many these are; slowest first.
        roofline: the plot; None where nothing can be drawn.
        largest: of the largest size, by operator.
        widest: bytes a second of the fastest run or copy among those, where their bars end.
        sizes: ascending.
        by_size: for each operator its data types, each with a measurement or None for each size.
    """

    caches: Caches
    families: Sequence[tuple[str, float, int]]
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
    plausible = [row for row in largest if row.is_plausible]
    widest = max((max(row.fastest_bytes_per_second, row.copy_bytes_per_second) for row in plausible), default=1.0)
    by_size = {
        operator: [
            (data_type, [{row.output_bytes: row for row in of_type}.get(size) for size in sizes])
            for data_type, of_type in grouped(found, attrgetter("data_type")).items()
        ]
        for operator, found in grouped(rows, attrgetter("operator")).items()
    }
    families = sorted(
        ((name, median(row.fraction_of_copy for row in own), len(own)) for name, own in _by_family(plausible).items()),
        key=lambda family: family[1],
    )
    by_operator = grouped(largest, attrgetter("operator"))
    return SpeedTable(caches, families, roofline(caches, rows), by_operator, widest, sizes, by_size)


def _by_family(rows: Sequence[Throughput]) -> dict[str, list[Throughput]]:
    return grouped(rows, lambda row: family_name(row.operator))
