"""`dml-conformance strength`: run the suite on wrong backends, and say which of them it finds."""

from __future__ import annotations

from pathlib import Path

import click

from dml_conformance.conformance.cli.files import JSON, OutputFile, output_options
from dml_conformance.conformance.cli.options import LEVEL, OPERATOR, format_option
from dml_conformance.conformance.cli.output import table_lines
from dml_conformance.conformance.strength.measure import EVERY_FAMILY, Plan, measure
from dml_conformance.conformance.strength.score import PROMISED, Score, recorded
from dml_conformance.conformance.strength.show import TITLE, as_markdown, as_text, cells, headers
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators as all_operators

_SIGNATURES = {"markdown": TITLE.encode(), "json": JSON, "text": b"quick"}


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
@click.option("--recorded", "is_recorded", is_flag=True, help="Show the score that this release came with.")
@click.option("--coverage", "is_coverage", is_flag=True, help="Count what the cases reach instead.")
@format_option("text", "json", "markdown")
@output_options("FILE")
def strength(
    budgets: tuple[str, ...],
    operators: tuple[str, ...],
    levels: tuple[Level, ...],
    families: tuple[str, ...],
    seeds: int,
    workers: int,
    is_recorded: bool,
    is_coverage: bool,
    format_: str,
    output: Path | None,
    replace: bool,
) -> None:
    """Say how many wrong backends a campaign finds.

    Each is the reference with one fault, some made by hand and the others derived from the rules. Without options all
    of them are run at every operator and level, which takes minutes. Exit code 0: the quick budget finds 90 % of them
    and the standard one all, and with --coverage there is no gap; 1: not so; 2: wrong usage.
    """
    if is_coverage:
        raise SystemExit(_coverage(operators, levels))
    target = None if output is None else OutputFile(output, replace=replace, signature=_SIGNATURES[format_])
    if is_recorded:
        if budgets or operators or levels or families:
            raise click.UsageError("--recorded shows the score as it is; leave out what selects.")
        kept = recorded()
        if kept is None:
            raise click.UsageError("this release came without a score; leave out --recorded to measure one.")
        score = kept
    else:
        plan = Plan(
            tuple(dict.fromkeys(operators)) or tuple(all_operators()),
            sorted(set(levels)) or tuple(Level),
            tuple(dict.fromkeys(families)) or EVERY_FAMILY,
            tuple(name for name in PROMISED if name in (budgets or PROMISED)),
            tuple(range(seeds)),
        )
        score = Score.of(plan, (outcome for outcomes in measure(plan, workers) for outcome in outcomes))
    text = _shown(score, format_)
    if target is None:
        click.echo(text, nl=False)
    else:
        target.write(text)
    raise SystemExit(0 if score.keeps_promises else 1)


def _shown(score: Score, format_: str) -> str:
    if format_ == "json":
        return score.to_json().decode()
    if format_ == "markdown":
        return as_markdown(score)
    table = table_lines(headers(score), [cells(score, row) for row in score.families])
    stale = [] if score.is_current else ["measured on other sources than these"]
    return "\n".join((*as_text(score), *stale, "", *table)) + "\n"


def _coverage(operators: tuple[str, ...], levels: tuple[Level, ...]) -> int:
    """Print what the cases reach, and give the exit code."""
    from dml_conformance.conformance.strength.coverage import Coverage, gaps

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
