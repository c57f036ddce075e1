"""`dml-conformance history`: what became of verdicts and throughput from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dml_conformance.conformance.cli.cases import opened_results, shown_summary
from dml_conformance.conformance.cli.files import HTML, STDOUT, OutputFile, output_options
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import PATH, format_option, results_argument
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.reports.history.database import HistoryFile
from dml_conformance.reports.history.page import MAX_SERIES, history_html
from dml_conformance.reports.history.trends import SteppedTogether, Trend, merged
from dml_conformance.reports.model.records import NOT_CONFORMANT, Timing, Verdict
from dml_conformance.reports.model.text import binary_size, count_of

DEFAULT_LAST = 100
_RUN_FIELDS = ("digest", "started", "suite_version", "versions", "setup", "outcome")  # as `--format json` has them


@click.group()
def history() -> None:
    """Keep the sums of many runs, and show what changed."""


@history.command()
@click.argument("database", metavar="DB", type=PATH)
@results_argument
def add(database: Path, results: Sequence[Path]) -> None:
    """Add the sums of RESULTS to the history DB, which is made where there is none.

    RESULTS are results.sqlite files, folders that certify or run left, or packages. A run that is there already is not
    added again. Exit code 0: all are in it; 2: wrong usage or bad input.
    """
    summaries = []
    for path in results:
        with opened_results(path) as store:
            summaries.append(shown_summary(store))
    with HistoryFile(database, create=True) as kept:
        added = sum(kept.add(summary) for summary in summaries)
    left_out = sum(summary.throughputs_left_out for summary in summaries)
    if left_out:
        echo(f"{left_out:,} measurements are left out: a history has room for those of a campaign", err=True)
    there = f", {len(summaries) - added} were there already" if added < len(summaries) else ""
    echo(f"{database}: {added} {'run' if added == 1 else 'runs'} added{there}")


@history.command()
@click.argument("databases", metavar="DB...", nargs=-1, required=True, type=PATH)
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Only this backend; may be repeated.")
@click.option(
    "--last",
    type=click.IntRange(min=2),
    default=DEFAULT_LAST,
    show_default=True,
    help="So many runs of each backend and device, the latest ones.",
)
@format_option("text", "json", "html")
@output_options("HISTORY.html")
def show(
    databases: Sequence[Path],
    backends: tuple[str, ...],
    last: int,
    format_: str,
    output: Path,
    replace: bool,
) -> None:
    """Show runs, the points where verdicts changed, and the steps of throughput.

    The runs of several histories are shown together. HTML is one page that holds all it needs. Exit code 0: it is
    shown, whatever it says; 2: wrong usage or bad input.
    """
    if format_ != "html" and (output != STDOUT or replace):
        raise click.UsageError("-o and --replace go with --format html; other forms are for standard output.")
    page = OutputFile(output, replace=replace, signature=HTML)
    found = []
    for database in databases:
        with HistoryFile(database) as kept:
            found.append(kept.series())
    series = merged(found)
    shown = [Trend.of(runs[-last:]) for (name, _), runs in series.items() if not backends or name in backends]
    if format_ == "html":
        page.write(history_html(shown))
        return
    if format_ == "json":
        print_json({"format": 2, "series": [_as_json(trend) for trend in shown]})
        return
    if not shown:
        echo("No runs.")
    for number, trend in enumerate(shown[:MAX_SERIES]):
        if number:
            echo()
        _print(trend)
    if len(shown) > MAX_SERIES:
        echo(f"{len(shown) - MAX_SERIES:,} more backends and devices are left out; --backend NAME shows one.")


def _about(timing: Timing) -> str:
    """What of an operator was timed; a size that was not recorded is not named."""
    size = f" {binary_size(timing.size)}" if timing.size else ""
    return f"{timing.data_type}{size} {timing.caches}"


def _print(trend: Trend) -> None:
    runs = trend.runs
    echo(f"{runs[0].backend} on {runs[0].device}: {len(runs)} {'run' if len(runs) == 1 else 'runs'}")
    echo()
    print_table(
        ("run", "started", "suite", "outcome", "pass", "failed", "observed", "digest"),
        [
            (
                str(number),
                run.started,
                run.suite_version,
                run.outcome,
                f"{run.total(Verdict.PASS):,}",
                f"{run.total(*NOT_CONFORMANT):,}",
                f"{run.total(Verdict.OBSERVED):,}",
                run.digest[:12],
            )
            for number, run in enumerate(runs, 1)
        ],
    )
    echo()
    for change in trend.changes:
        kind = "" if change.same_setup else " (another setup: suite, budget, seed, accuracy, operators or levels)"
        failed = count_of(change.before, "failed case")
        echo(f"run {change.run}: {change.operator}: {failed}, then {change.after:,}{kind}")
    if not trend.changes:
        echo("Verdicts: no operator's number of failed cases changed.")
    together = trend.stepped_together()
    for group in reversed(together):
        echo(f"run {group.run}: {_told(group)}")
    if trend.rates and not together:
        echo("Throughput: no step.")
    if trend.left_out:
        echo(f"Throughput: {trend.left_out:,} more measurements are left out.")


def _told(group: SteppedTogether) -> str:
    """The steps of an operator in one run: how many, how large, and the largest in figures."""
    rates, step = group.largest
    sure = "" if group.is_confirmed else ", not yet confirmed"
    change = f"{step.change:+.0%}"
    if len(group.steps) > 1:
        change = f"{group.least:+.0%} to {change} in {len(group.steps)} of {group.timed} measurements; most: "
        change = f"{group.operator} {change}{_about(rates.timing)}"
    else:
        change = f"{group.operator} {change}: {_about(rates.timing)}"
    return f"{change}, {step.before / 1e9:,.4g} GB/s, then {step.after / 1e9:,.4g}{sure}"


def _as_json(trend: Trend) -> dict[str, Any]:
    """A series as `show --format json` prints it."""
    return {
        "backend": trend.runs[0].backend,
        "device": trend.runs[0].device,
        "runs": [
            {
                "run": number,
                **{name: getattr(run, name) for name in _RUN_FIELDS},
                "verdicts": run.counts,
            }
            for number, run in enumerate(trend.runs, 1)
        ],
        "verdict_changes": [change._asdict() for change in trend.changes],
        "throughput_left_out": trend.left_out,
        "throughput": [
            {
                "operator": rates.timing.operator,
                "data_type": rates.timing.data_type,
                "output_bytes": rates.timing.size,
                "caches": str(rates.timing.caches),
                "runs": rates.runs,
                "bytes_per_second": rates.values,
                "steps": [
                    {
                        "run": rates.runs[step.at],
                        **{name: getattr(step, name) for name in ("before", "after", "change", "confirmed")},
                    }
                    for step in rates.steps
                ],
            }
            for rates in trend.rates
        ],
    }
