"""`dml-conformance replay`: judge single cases again, from the line that a report gives, or out of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.backends.processes.backend import opened
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.cli.cases import NamedCase, read_cases
from dml_conformance.conformance.cli.lines import complain
from dml_conformance.conformance.cli.options import LEVEL, format_option, isolation_options, repeat_option
from dml_conformance.conformance.cli.output import print_json
from dml_conformance.conformance.exchange.replay import ReplayChange, ReplayOutcome
from dml_conformance.conformance.exchange.replay import replay as judge_again
from dml_conformance.conformance.judge.explain import explain
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import NOT_CONFORMANT, Verdict
from dml_conformance.reports.views.console import Steps
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Reading


@click.command()
@click.argument("cases", metavar="CASE...", nargs=-1, required=True)
@click.option("--backend", "backend_name", required=True, metavar="NAME", help="As for certify.")
@click.option("--level", type=LEVEL, help="Feature level to judge the cases at, in place of their own.")
@click.option(
    "--spec",
    type=click.Choice([str(reading) for reading in Reading]),
    help="As for certify; by default as recorded, or documented.",
)
@click.option(
    "--accuracy",
    type=click.Choice(list(TOLERANCES)),
    help="As for certify; by default as recorded, or directml.",
)
@repeat_option
@isolation_options
@format_option("text", "json")
def replay(
    cases: tuple[str, ...],
    backend_name: str,
    level: Level | None,
    spec: str | None,
    accuracy: str | None,
    repeat: int,
    limits: Limits | None,
    format_: str,
) -> None:
    """Judge CASE... again and say what comes of it.

    CASE is a case as JSON text; a file with one case, with a list of them, or a DxDispatch model; - for standard input;
    or RESULTS#ID: a case of results.sqlite, of the folder of a certification, or of a package, by 8 or more digits of
    its digest or by its number. RESULTS alone stands for the smallest failing case of each kind, operator and rule.

    A case out of results is held against what is on record: FIXED, STILL FAILS, or DIFFERENT. Exit code 0: nothing is
    wrong; 1: a case fails; 2: wrong usage; 3: the harness could not judge it.
    """
    named = [one for argument in cases for one in read_cases(argument, level)]
    replayed: list[ReplayOutcome] = []
    given_up = ""
    with opened(backend_name, limits) as backend, Steps("Judging", len(named)) as steps:
        judges = {
            (reading, name): Judge(backend, backend_name, reading, repeat=repeat, tolerance=tolerance)
            for reading in Reading
            for name, tolerance in TOLERANCES.items()
        }
        try:
            for one in steps.over(named):
                reading = Reading(spec) if spec else one.reading or Reading.DOCUMENTED
                judge = judges[reading, accuracy or one.accuracy]
                replayed.append(judge_again(judge, one.case, one.record))
        except GivenUp as reason:
            given_up = f"{reason}; {len(replayed)} of {len(named)} cases were judged"
    named = named[: len(replayed)]
    if format_ == "json":
        print_json(as_json(named, replayed))
    elif replayed or not given_up:
        click.echo(as_text(named, replayed))
    if given_up:
        complain(given_up)
    verdicts = {one.record.verdict for one in replayed}
    if not verdicts.isdisjoint(NOT_CONFORMANT):
        raise SystemExit(1)
    if given_up or Verdict.ERROR in verdicts:
        raise SystemExit(3)


def as_text(named: Sequence[NamedCase], replayed: Sequence[ReplayOutcome]) -> str:
    """Each case with its change and, unless it is well again or as it was, all there is to say of it; then a sum."""
    parts = []
    for one, found in zip(named, replayed, strict=True):
        head = "" if found.change is None else one_line(f"{found.change}: {one.name}: {found.told}")
        quiet = found.change in (ReplayChange.FIXED, ReplayChange.AS_RECORDED)
        parts.append("\n".join(filter(None, (head, "" if quiet else explain(found.record)))))
    changes = Counter(found.change for found in replayed if found.change is not None)
    if not named:
        parts.append("No case in the results fails.")
    elif changes.total() > 1:
        parts.append(", ".join(f"{changes[change]} {change}" for change in ReplayChange if changes[change]))
    return "\n\n".join(parts)


def as_json(named: Sequence[NamedCase], replayed: Sequence[ReplayOutcome]) -> list[dict[str, Any]]:
    """For each case `name`, `change` (null where nothing is on record), `told`, and `record` in the published form."""
    return [
        {
            "name": one.name,
            "change": None if found.change is None else str(found.change),
            "told": found.told,
            "record": msgspec.to_builtins(found.record),
        }
        for one, found in zip(named, replayed, strict=True)
    ]
