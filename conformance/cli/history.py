"""`dml-conformance history`: what became of verdicts and throughput from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click

from conformance.cli.cases import Advancing, opened_results
from conformance.cli.lazy import CommandLine
from conformance.cli.options import format_option
from conformance.cli.output import print_json, print_table
from reports.console import Steps
from reports.history import History, Run
from reports.records import NOT_CONFORMANT, Verdict
from reports.steps import Step, steps
from reports.stream import FanOut
from reports.summary import Summary
from reports.text import printable

DEFAULT_LAST = 100


@click.group(
    cls=CommandLine,
    commands_at={"add": "conformance.cli.history:add", "show": "conformance.cli.history:show"},
)
def history() -> None:
    """Keep the sums of many runs, and show what changed."""


@click.command()
@click.argument("database", metavar="DB", type=click.Path(path_type=Path))
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True, type=click.Path(path_type=Path))
def add(database: Path, results: Sequence[Path]) -> None:
    """Add the sums of RESULTS to the history DB, which is made where there is none.

    RESULTS are results.sqlite files, folders that certify or run left, or packages. A run that is there already is not
    added again. Exit code 0: all are in it; 2: wrong usage or bad input.
    """
    summaries = []
    for path in results:
        with opened_results(path) as store, Steps(f"Reading {path}", len(store)) as progress:
            summary = Summary()
            store.replay(FanOut(summary, Advancing(progress)))
            summaries.append(summary)
    with History(database, create=True) as kept:
        added = sum(kept.add(summary) for summary in summaries)
    there = f", {len(summaries) - added} were there already" if added < len(summaries) else ""
    click.echo(f"{click.format_filename(database)}: {added} {'run' if added == 1 else 'runs'} added{there}")


@click.command()
@click.argument("database", metavar="DB", type=click.Path(path_type=Path))
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Only this backend; may be repeated.")
@click.option(
    "--last",
    type=click.IntRange(min=2),
    default=DEFAULT_LAST,
    show_default=True,
    help="So many runs of each backend and device, the latest ones.",
)
@format_option("text", "json")
def show(database: Path, backends: tuple[str, ...], last: int, format_: str) -> None:
    """Show runs, the points where verdicts changed, and the steps of throughput.

    Exit code 0: it is shown, whatever it says; 2: wrong usage or bad input.
    """
    with History(database) as kept:
        series = kept.series(last)
    shown = [Trend.of(runs) for (name, _), runs in series.items() if not backends or name in backends]
    if format_ == "json":
        print_json({"format": 1, "series": [_as_json(trend) for trend in shown]})
        return
    if not shown:
        click.echo("No runs.")
    for number, trend in enumerate(shown):
        click.echo("\n" * bool(number), nl=False)
        _print(trend)


class VerdictChange(NamedTuple):
    """A run in which other cases of an operator failed than in the run before, or as many in another setup."""

    run: int
    operator: str
    before: int
    after: int
    same_setup: bool


class Rates(NamedTuple):
    """The throughput of an operator and data type: by the runs that measured it, and its steps among those."""

    operator: str
    data_type: str
    runs: tuple[int, ...]
    values: tuple[float, ...]
    steps: tuple[Step, ...]


class Trend(NamedTuple):
    """One series and what changed in it; runs are numbered from 1."""

    runs: Sequence[Run]
    changes: tuple[VerdictChange, ...]
    rates: tuple[Rates, ...]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Trend:
        return cls(runs, tuple(_changes(runs)), tuple(_rates(runs)))


def _changes(runs: Sequence[Run]) -> Iterator[VerdictChange]:
    for number, (before, after) in enumerate(pairwise(runs), 2):
        for operator in dict.fromkeys((*before.counts, *after.counts)):
            if operator in before.counts and operator in after.counts:
                counts = before.failed(operator), after.failed(operator)
                if counts[0] != counts[1]:
                    yield VerdictChange(number, operator, *counts, before.setup == after.setup)


def _rates(runs: Sequence[Run]) -> Iterator[Rates]:
    for operator, data_type in dict.fromkeys(key for run in runs for key in run.throughput):
        key = operator, data_type
        measured = [(number, run.throughput[key]) for number, run in enumerate(runs, 1) if run.throughput.get(key)]
        if measured:
            numbers, values = zip(*measured, strict=True)
            yield Rates(operator, data_type, numbers, values, tuple(steps(values)))


def _print(trend: Trend) -> None:
    runs = trend.runs
    click.echo(printable(f"{runs[0].backend} on {runs[0].device}: {len(runs)} {'run' if len(runs) == 1 else 'runs'}\n"))
    print_table(
        ("run", "started", "suite", "outcome", "pass", "failed", "observed", "digest"),
        [
            (
                str(number),
                run.started,
                run.suite_version,
                run.outcome,
                f"{run.total(Verdict.PASS):,}",
                f"{sum(run.total(verdict) for verdict in NOT_CONFORMANT):,}",
                f"{run.total(Verdict.OBSERVED):,}",
                run.digest[:12],
            )
            for number, run in enumerate(runs, 1)
        ],
    )
    click.echo("")
    for change in trend.changes:
        kind = "" if change.same_setup else " (other cases: suite, budget, seed, operators or levels differ)"
        click.echo(f"run {change.run}: {change.operator}: {change.before:,} failed, then {change.after:,}{kind}")
    if not trend.changes:
        click.echo("Verdicts: no operator's number of failed cases changed.")
    stepped = [rates for rates in trend.rates if rates.steps]
    for rates in stepped:
        for step in rates.steps:
            sure = "" if step.confirmed else ", not yet confirmed"
            click.echo(
                f"run {rates.runs[step.at]}: {rates.operator} {rates.data_type}: {step.before / 1e9:,.4g} GB/s, then "
                f"{step.after / 1e9:,.4g} ({step.change:+.0%}{sure})"
            )
    if trend.rates and not stepped:
        click.echo("Throughput: no step.")


def _as_json(trend: Trend) -> dict[str, Any]:
    """A series as `show --format json` prints it."""
    return {
        "backend": trend.runs[0].backend,
        "device": trend.runs[0].device,
        "runs": [
            {
                "run": number,
                "digest": run.digest,
                "started": run.started,
                "suite_version": run.suite_version,
                "versions": run.versions,
                "setup": run.setup,
                "outcome": run.outcome,
                "verdicts": run.counts,
            }
            for number, run in enumerate(trend.runs, 1)
        ],
        "verdict_changes": [change._asdict() for change in trend.changes],
        "throughput": [
            {
                "operator": rates.operator,
                "data_type": rates.data_type,
                "runs": rates.runs,
                "bytes_per_second": rates.values,
                "steps": [
                    {
                        "run": rates.runs[step.at],
                        "before": step.before,
                        "after": step.after,
                        "change": step.change,
                        "confirmed": step.confirmed,
                    }
                    for step in rates.steps
                ],
            }
            for rates in trend.rates
        ],
    }
