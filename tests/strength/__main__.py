"""`python tests/strength`: run the suite on wrong backends, and say which of them it finds."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TextIO

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from dml_conformance.conformance.cli.options import LEVEL, OPERATOR
from dml_conformance.conformance.cli.output import print_table
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators as all_operators
from strength.coverage import Coverage, gaps
from strength.measure import EVERY_FAMILY, Outcome, Plan, measure
from strength.score import PROMISED, Record, Score
from strength.show import as_text, cells, details, headers, with_figures

PAGE = Path(__file__).parents[2] / "docs" / "strength.md"
RECORD = PAGE.parent / "measured" / "strength.json"


@click.command()
@click.option(
    "--budget",
    "budgets",
    type=click.Choice(list(PROMISED)),
    multiple=True,
    help="What a campaign does; may be given twice, which is the default.",
)
@click.option("--operator", "operators", multiple=True, type=OPERATOR, help="Operator such as GATHER; may be repeated.")
@click.option("--level", "levels", multiple=True, type=LEVEL, help="Feature level such as 3_0; may be repeated.")
@click.option(
    "--family",
    "families",
    multiple=True,
    type=click.Choice(EVERY_FAMILY),
    help="What the faults are about; may be repeated.",
)
@click.option(
    "--seeds", type=click.IntRange(1, 100), default=1, show_default=True, help="Campaigns, each with a seed of its own."
)
@click.option("--workers", type=click.IntRange(1, 1024), default=1, show_default=True, help="Processes that judge.")
@click.option(
    "--record",
    "is_recorded",
    is_flag=True,
    help="Measure at the newest level the operators named, or all whose rules, wrong backends or cases have changed, "
    "and write docs/measured/strength.json, docs/strength.md and the totals.",
)
@click.option(
    "--details",
    "details_file",
    type=click.File("w", encoding="utf-8", lazy=True),
    help="Write a row for each wrong backend, with its smallest failing case, to this file; - is the screen.",
)
@click.option("--coverage", "is_coverage", is_flag=True, help="Count what the cases reach instead.")
def strength(
    budgets: tuple[str, ...],
    operators: tuple[str, ...],
    levels: tuple[Level, ...],
    families: tuple[str, ...],
    seeds: int,
    workers: int,
    is_recorded: bool,
    details_file: TextIO | None,
    is_coverage: bool,
) -> None:
    """Say how many wrong backends a campaign finds.

    Each is the reference with one fault, some made by hand and the others derived from the rules. Without options all
    of them are run at every operator and level, which takes minutes. Exit code 0: the quick budget finds 90 % of them
    and the standard one all, and with --coverage there is no gap; 1: not so; 2: wrong usage.
    """
    if is_coverage:
        raise SystemExit(_coverage(operators, levels))
    if is_recorded and (budgets or levels or families):
        raise click.UsageError("--record measures all budgets and faults at one level; leave out what selects.")
    record = Record.load(RECORD) if is_recorded else None
    plan = Plan(
        tuple(dict.fromkeys(operators)) or tuple(all_operators() if record is None else record.out_of_date()),
        [HIGHEST] if is_recorded else sorted(set(levels)) or tuple(Level),
        tuple(dict.fromkeys(families)) or EVERY_FAMILY,
        tuple(name for name in PROMISED if name in (budgets or PROMISED)),
        tuple(range(seeds)),
        with_witnesses=details_file is not None,  # the page and the totals have none, and each takes 300 tries
    )
    found = measure(plan, workers)
    score = Score.of(plan, chain.from_iterable(found if record is None else _kept(record, found)))
    for line in as_text(score):
        click.echo(line)
    print_table(headers(score), [cells(score, row) for row in score.families])
    if record is not None:
        record.totals().save()
        PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")
    if details_file is not None:
        details_file.write(details(score))
    raise SystemExit(0 if score.keeps_promises else 1)


def _kept(record: Record, found: Iterable[list[Outcome]]) -> Iterator[list[Outcome]]:
    """The outcomes, those of each operator put on record as they come: what is interrupted goes on with the others."""
    for outcomes in found:
        record.keep(outcomes)
        record.save(RECORD)
        yield outcomes


def _coverage(operators: tuple[str, ...], levels: tuple[Level, ...]) -> int:
    """Print what the cases reach, and give the exit code."""
    found = Coverage()
    for operator in operators or all_operators():
        for level in sorted(set(levels)) or Level:
            found.count(operator, level)
    missing = gaps(found)
    for facet, number in found.reached().items():
        click.echo(f"{facet}: {number:,} reached")
    for gap in missing:
        click.echo(f"gap: {gap}")
    click.echo(f"{len(missing)} gaps in {found.cases:,} cases")
    return 1 if missing else 0


if __name__ == "__main__":
    strength()
