"""Trends of many runs as one HTML page that holds all it needs: verdicts, throughput, and the steps in both.

Everything drawn stands beside it in figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.history.database import HistoryRun
from dml_conformance.reports.history.trends import Rates, Trend
from dml_conformance.reports.model.grouping import distinct, grouped
from dml_conformance.reports.model.records import NOT_CONFORMANT, Timing, Verdict
from dml_conformance.reports.model.summary import CellVerdict, Verdicts
from dml_conformance.reports.model.text import binary_size, counts_text, rate
from dml_conformance.reports.page.drawing import LONGEST_LABEL, Area, Tick
from dml_conformance.reports.page.html import render
from dml_conformance.reports.page.report import CampaignCell, Matrix, by_family

PANEL = Area(width=340, height=170, left=66, right=14, top=28, bottom=24)
SPARK = Area(width=150, height=26, left=3, right=3, top=3, bottom=3)
MAX_PANELS = 48  # of one kind in one series; every measurement that there is room for has its line in the tables
MAX_SERIES = 40
MAX_RUNS = 30  # of a map, the latest
MAX_SPARKS = 2_000  # lines of measurements on the page, shared by its series
_RUN_TICKS = 6


@dataclass(frozen=True)
class StepMark:
    """A run from which on a figure was another, drawn as an upright line with its text."""

    x: float
    y: float
    text: str
    anchor: str
    is_sure: bool


@dataclass(frozen=True)
class Chart:
    """A figure over the runs.

    Attributes:
        title: of the chart.
        told: what it shows, in words.
        path: through its points.
        points: of the runs that have the figure, each with what it tells.
        levels: the medians between the steps, as a path; "" where there are none.
        marks: of the steps.
        x_ticks, y_ticks: of the axes.
    """

    title: str
    told: str
    path: str
    points: Sequence[tuple[float, float, str]]
    levels: str
    marks: Sequence[StepMark]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]


@dataclass(frozen=True)
class _Axes:
    """Where runs and figures lie: runs one by one, figures from 0 on, so that a small change looks small."""

    area: Area
    runs: int
    highest: float

    def across(self, run: float) -> float:
        return self.area.across((run - 1) / (self.runs - 1) if self.runs > 1 else 0.5)

    def up(self, value: float) -> float:
        return self.area.up(value / self.highest)

    def path(self, runs: Iterable[int], values: Iterable[float]) -> str:
        points = [f"{self.across(run):.1f} {self.up(value):.1f}" for run, value in zip(runs, values, strict=True)]
        return "M" + "L".join(points) if len(points) > 1 else ""

    def ticks(self, told: Callable[[float], str]) -> tuple[list[Tick], list[Tick]]:
        step = max(1, -(-self.runs // _RUN_TICKS))
        runs = range(1, self.runs + 1, step)
        shares = (0.0, 0.5, 1.0) if self.highest > 1 else (0.0, 1.0)
        values = [Tick(self.area.up(share), told(share * self.highest)) for share in shares]
        return [Tick(self.across(run), str(run)) for run in runs], values

    def mark(self, run: int, text: str, height: float, is_sure: bool) -> StepMark:
        """Between the runs before and after; its text at this share of the height, on the side with more room."""
        x = self.across(run - 0.5)
        return StepMark(x, self.area.up(height), text, "end" if run > self.runs / 2 else "start", is_sure)


def history_html(trends: Sequence[Trend]) -> str:
    """The whole page; the same for the same runs."""
    sparks = MAX_SPARKS // max(1, min(len(trends), MAX_SERIES))
    shown = [_shown(number, trend, sparks) for number, trend in enumerate(trends[:MAX_SERIES], 1)]
    return render(
        "history.html.j2",
        series=shown,
        series_left_out=len(trends) - len(shown),
        run_count=sum(len(trend.runs) for trend in trends),
        change_count=sum(len(trend.changes) for trend in trends),
        step_count=sum(len(of["steps"]) for of in shown),
        panel=PANEL,
        spark=SPARK,
        outcomes={str(verdict): verdict for verdict in CellVerdict},
        passed=(Verdict.PASS,),
        failed=NOT_CONFORMANT,
    )


def _shown(number: int, trend: Trend, most_sparks: int) -> dict[str, Any]:
    """What the page tells of a series, with so many lines of measurements at most."""
    runs = trend.runs
    matrix = _matrix(distinct(run.counts for run in runs), runs[-MAX_RUNS:])
    stepped = sorted(
        (rates for rates in trend.rates if rates.steps),
        key=lambda rates: -max(abs(step.change) for step in rates.steps),
    )
    return {
        "id": f"series-{number}",
        "backend": runs[0].backend,
        "device": runs[0].device,
        "runs": runs,
        "changes": trend.changes,
        "steps": trend.stepped_together(),
        "timing": _about,
        "columns": [str(number) for number in range(1, len(runs) + 1)][-MAX_RUNS:],
        "families": by_family(matrix),
        "matrix": matrix,
        "stepped": [_rate_chart(rates, len(runs)) for rates in stepped[:MAX_PANELS]],
        "stepped_count": len(stepped),
        "sparks": grouped(trend.rates[:most_sparks], lambda rates: rates.timing.operator),
        "spark_axes": lambda rates: _Axes(SPARK, len(runs), max(rates.values)),
        "step_texts": _step_texts,
        "sparks_left_out": trend.left_out + max(0, len(trend.rates) - most_sparks),
    }


def _matrix(operators: Sequence[str], runs: Sequence[HistoryRun]) -> Matrix:
    """For each operator a cell for each run."""
    return [(operator, [("", [_run_cell(operator, run) for run in runs])]) for operator in operators]


def _run_cell(operator: str, run: HistoryRun) -> CampaignCell | None:
    """The worst of an operator's cases in a run; None where it had none."""
    counts = Verdicts(
        {verdict: run.counts[operator].get(str(verdict), 0) for verdict in Verdict} if operator in run.counts else {}
    )
    if not counts.total():
        return None
    found = (
        (CellVerdict.NOT_CONFORMANT, counts.failed),
        (CellVerdict.INCOMPLETE, counts[Verdict.ERROR]),
        (CellVerdict.NARROWER, counts[Verdict.PASS] and counts[Verdict.NOT_SUPPORTED]),
        (CellVerdict.CONFORMANT, counts[Verdict.PASS]),
        (CellVerdict.OBSERVED_ONLY, counts[Verdict.OBSERVED]),
        (CellVerdict.NOT_SUPPORTED, counts.total()),
    )
    verdict = next(verdict for verdict, count in found if count)
    text = f"{counts.failed:,} differ" if counts.failed else verdict.word
    told = f"{operator} in the run of {run.started}: {counts_text(counts)}"
    return CampaignCell(text, verdict, told, is_hollow=counts[Verdict.NOT_SUPPORTED] + counts[Verdict.WAIVED] > 0)


def _rate_chart(rates: Rates, runs: int) -> Chart:
    axes = _Axes(PANEL, runs, max(rates.values))
    points = [
        (axes.across(run), axes.up(value), f"run {run}: {rate(value)}")
        for run, value in zip(rates.runs, rates.values, strict=True)
    ]
    marks = [axes.mark(rates.runs[step.at], f"{step.change:+.0%}", 0.1, step.confirmed) for step in rates.steps]
    title = f"{one_line(rates.timing.operator, LONGEST_LABEL)} {_about(rates.timing)}"
    told = f"{title}: {rate(rates.values[0])} in run {rates.runs[0]}, {rate(rates.values[-1])} in run {rates.runs[-1]}"
    told = "; ".join([told, *_step_texts(rates)])
    return Chart(
        title, told, axes.path(rates.runs, rates.values), points, _levels(rates, axes), marks, *axes.ticks(rate)
    )


def _levels(rates: Rates, axes: _Axes) -> str:
    """The medians before, between and after the steps."""
    edges = [0, *(step.at for step in rates.steps), len(rates.values)]
    medians = [rates.steps[0].before, *(step.after for step in rates.steps)]
    return "".join(
        f"M{axes.across(rates.runs[start] - 0.5 * (start > 0)):.1f} {axes.up(level):.1f}"
        f"H{axes.across(rates.runs[end - 1] + 0.5 * (end < len(rates.values))):.1f}"
        for start, end, level in zip(edges, edges[1:], medians, strict=False)
    )


def _step_texts(rates: Rates) -> list[str]:
    """`-30% at run 7`, of each step."""
    return [
        f"{step.change:+.0%} at run {rates.runs[step.at]}{'' if step.confirmed else ', not yet confirmed'}"
        for step in rates.steps
    ]


def _about(timing: Timing) -> str:
    """What of an operator was timed; a size that was not recorded is not named."""
    size = f", {binary_size(timing.size)}" if timing.size else ""
    return f"{one_line(timing.data_type, LONGEST_LABEL)}{size}, {timing.caches}"
