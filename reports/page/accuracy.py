"""How far results of arithmetic were from the exact values: the figures of a table and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.errors import ErrorCounts
from dml_conformance.reports.model.grouping import distinct, grouped
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.model.text import ulp_text
from dml_conformance.reports.page.drawing import LONGEST_LABEL, MARKERS, LogScale, Tick, path_through
from dml_conformance.spec.accuracy import TOLERANCES, Tolerance

MAX_ROWS = 400  # of the table: operators with two types each
MAX_CURVES = 720  # of all panels
MAX_OPEN = 12  # operators that are shown at once; of more each is folded away
_POINTS = 48  # of a curve
_APART = 36  # units across between those that are marked
_TICKS = 6
_LEAST, _MOST = -1, 6  # powers of ten of ULP: what is beyond is drawn at the edge
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class AccuracyRow:
    """An operator and data type, with the errors in each campaign; None where it has no results of them."""

    operator: str
    data_type: str
    errors: Sequence[ErrorCounts | None]

    @property
    def largest(self) -> float:
        """In ULP, of all campaigns."""
        return max(errors.largest for errors in self.errors if errors is not None)

    @property
    def used(self) -> float:
        """The largest part of what the bound allows, of all campaigns."""
        return max(errors.used for errors in self.errors if errors is not None)


@dataclass(frozen=True)
class ErrorCurve:
    """The largest errors of one campaign and data type by the size of the argument.

    Attributes:
        kind: number of its kind, which marker and dashes go by.
        path: through them.
        marked: some of them, the largest included: where they are, and what they say.
    """

    kind: int
    path: str
    marked: Sequence[tuple[float, float, str]]


@dataclass(frozen=True)
class ErrorPanel:
    """One operator.

    Attributes:
        title: of the panel.
        operator: its name.
        told: what it shows, in words.
        used: the largest part of what the bound allows that an error was.
        curves: one for each campaign and data type.
    """

    title: str
    operator: str
    told: str
    used: float
    curves: Sequence[ErrorCurve]


class ErrorScale(LogScale):
    """Where arguments and errors lie in a panel."""

    def across(self, power: int) -> float:
        return self.across_of(power)

    def x_ticks(self) -> list[Tick]:
        """Powers of two, so many apart that their names do not meet."""
        first, last, step = int(self.first), int(self.last), 1
        while (last - first) / step >= _TICKS:
            step *= 2
        powers = range(-(-first // step) * step, last + 1, step)
        return [Tick(self.across(power), f"2{str(power).translate(_SUPERSCRIPT)}") for power in powers]

    def y_ticks(self) -> list[Tick]:
        return self.powers("{:,.10g}".format)


@dataclass(frozen=True)
class AccuracyResults:
    """What a report says of accuracy.

    Attributes:
        tolerances: whose bounds results were held to, with the labels of the campaigns.
        rows: of the table, what needs most of its bound first.
        rows_left_out: for which it has no room.
        panels: of the plot.
        scale: of all panels.
        kinds: names and markers of the curves, in the order of their numbers.
        operators_left_out: for which the plot has no room, or whose arguments were rounded before.
        is_folded: whether there are too many operators to show them at once.
    """

    tolerances: Sequence[tuple[Tolerance, Sequence[str]]]
    rows: Sequence[AccuracyRow]
    rows_left_out: int
    panels: Sequence[ErrorPanel]
    scale: ErrorScale
    kinds: Sequence[tuple[str, str]]
    operators_left_out: int
    is_folded: bool


def accuracy_results(campaigns: Sequence[tuple[str, Summary]]) -> AccuracyResults | None:
    """The results of arithmetic of campaigns, each with its label; None where there are none."""
    rows = accuracy_rows([summary for _, summary in campaigns])
    if not rows:
        return None
    by_operator = grouped(rows, lambda row: row.operator)
    labels = [label for label, _ in campaigns]
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys(kind for row in rows for kind, _ in _drawn(row, labels)))}
    powers = sorted({power for row in rows for _, errors in _drawn(row, labels) for power in errors.magnitudes}) or [0]
    largest = max(row.largest for row in rows)
    highest = min(max(math.ceil(math.log10(largest)) if largest > 0 else 1, 1), _MOST)
    scale = ErrorScale(powers[0], powers[-1], _LEAST, highest)
    panels, room = [], MAX_CURVES
    for operator, own in by_operator.items():
        curves = [of for row in own for of in _drawn(row, labels)]
        room -= len(curves)
        if curves and room >= 0:
            panels.append(_panel(operator, max(row.used for row in own), curves, scale, kinds))
    tolerances = grouped(campaigns, lambda campaign: campaign[1].campaign.accuracy)
    return AccuracyResults(
        [(TOLERANCES[name], [label for label, _ in found]) for name, found in tolerances.items()],
        rows[:MAX_ROWS],
        len(rows[MAX_ROWS:]),
        panels,
        scale,
        [(_kind_text(kind, len(campaigns) == 1), _marker(i)) for kind, i in kinds.items()],
        len(by_operator) - len(panels),
        len(by_operator) > MAX_OPEN,
    )


def accuracy_rows(summaries: Sequence[Summary]) -> list[AccuracyRow]:
    """For each operator and data type the errors in each campaign, what needs most of its bound first."""
    order = distinct(summary.campaign.operators for summary in summaries)
    found = distinct(sorted(summary.errors) for summary in summaries)
    place = {operator: i for i, operator in enumerate(order)}
    rows = [AccuracyRow(*key, [summary.errors.get(key) for summary in summaries]) for key in found]
    return sorted(
        rows,
        key=lambda row: (-row.used, -row.largest, place.get(row.operator, len(place)), row.operator, row.data_type),
    )


_Kind = tuple[str, str]  # label of a campaign, data type
_Point = tuple[int, float]  # power of two, largest error


def _drawn(row: AccuracyRow, labels: Sequence[str]) -> Iterator[tuple[_Kind, ErrorCounts]]:
    for label, errors in zip(labels, row.errors, strict=True):
        if errors is not None and errors.magnitudes:
            yield (label, row.data_type), errors


def _kind_text(kind: _Kind, is_single: bool) -> str:
    return one_line(kind[1] if is_single else f"{kind[1]}, {kind[0]}", LONGEST_LABEL)


def _marker(kind: int) -> str:
    """Of curves with the same dashes none has the same marker, unless there are 26 kinds."""
    return MARKERS[(kind + kind // len(MARKERS)) % len(MARKERS)]


def _panel(
    operator: str,
    used: float,
    curves: Sequence[tuple[_Kind, ErrorCounts]],
    scale: ErrorScale,
    kinds: Mapping[_Kind, int],
) -> ErrorPanel:
    title = one_line(operator, LONGEST_LABEL)
    is_single = len({label for label, _ in kinds}) == 1
    lines, told = [], []
    for kind, errors in curves:
        name = _kind_text(kind, is_single)
        points = _thinned(errors.magnitudes)
        worst = max(points, key=lambda point: point[1])
        marked = [
            (scale.across(power), scale.up(error), f"{name}, {ulp_text(error)} about 2^{power}")
            for power, error in _spread(points, worst, scale)
        ]
        path = path_through([(scale.across(power), scale.up(error)) for power, error in points])
        lines.append(ErrorCurve(kinds[kind], path, marked))
        told.append(f"{name} up to {ulp_text(worst[1])} about 2^{worst[0]}")
    told_of_all = f"{title}, largest error by the size of the argument: {'; '.join(told)}"
    return ErrorPanel(title, operator, told_of_all, used, lines)


def _thinned(magnitudes: Mapping[int, float]) -> list[_Point]:
    """Of neighbours that would not be told apart the one with the largest error."""
    points = sorted(magnitudes.items())
    width = -(-(points[-1][0] - points[0][0] + 1) // _POINTS)
    return [
        max(found, key=lambda point: point[1]) for found in grouped(points, lambda point: point[0] // width).values()
    ]


def _spread(points: Sequence[_Point], worst: _Point, scale: ErrorScale) -> list[_Point]:
    """The worst of the points, and of the others as many as are far enough from it and from each other."""
    found = [worst]
    for point in points:
        if all(abs(scale.across(point[0]) - scale.across(other[0])) >= _APART for other in found):
            found.append(point)
    return found
