"""`spec ...`: levels compared, the specification held against itself, its pages and the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from dml_conformance.conformance.cli.audit import audit_command
from dml_conformance.conformance.cli.errata import errata_command
from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.conformance.cli.level_diff import level_diff
from dml_conformance.conformance.cli.options import LEVEL, OPERATOR, format_option
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.conformance.cli.pages import check_page_command, import_command
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.registry import operators

if TYPE_CHECKING:
    from dml_conformance.documents.consistency import Report


@click.group()
def spec() -> None:
    """Compare and check the specification itself."""


spec.add_command(audit_command)
spec.add_command(errata_command)
spec.add_command(check_page_command)
spec.add_command(import_command)


@spec.command()
@click.argument("first", type=LEVEL)
@click.argument("second", type=LEVEL)
@click.option("--operator", "names", type=OPERATOR, multiple=True, help="Only this operator; may be given again.")
@format_option("text", "json")
def diff(first: Level, second: Level, names: tuple[str, ...], format_: str) -> None:
    """Show what operators, tables and rules the level SECOND has over FIRST."""
    specs = [operator_named(name) for name in names] if names else list(operators().values())
    difference = level_diff(first, second, specs)
    if format_ == "json":
        print_json(difference)
        return
    rows = list(_diff_rows(difference))
    if rows:
        print_table(("subject", "of", "change"), rows)
    else:
        click.echo(f"{first} and {second} do not differ" + (f" for {', '.join(names)}" if names else ""))


def _diff_rows(difference: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    before, after = difference["dimension_count_max"]
    if before != after:
        yield "every tensor", "DimensionCount", f"at most {before} before, {after} after"
    yield from _change_rows("every tensor", "rules", difference["tensor_rules"])
    for entry in difference["operators"]:
        name = entry["operator"]
        if entry["exists"] == [False, True]:
            yield name, "operator", "added"
        elif entry["exists"] == [True, False]:
            yield name, "operator", "removed"
        for tensors in entry["tensors"]:
            of = ", ".join(tensors["tensors"])
            if "variants" in tensors:
                of += f" of {', '.join(tensors['variants'])}"
            yield from _change_rows(name, f"{of}: DimensionCount", tensors["dimension_counts"])
            yield from _change_rows(name, f"{of}: DataType", tensors["data_types"])
        if entry["exists"] == [True, True]:  # else all of them, which `rules` lists
            yield from _change_rows(name, "rules", entry["rules"])


def _change_rows(subject: str, of: str, changes: dict[str, list[Any]]) -> Iterator[tuple[str, str, str]]:
    for change, items in changes.items():
        if items:
            yield subject, of, f"{change}: {', '.join(map(str, items))}"


@spec.command(name="check")
@format_option("text", "json")
@click.pass_context
def check_command(context: click.Context, format_: str) -> None:
    """Hold tables, rules, formulas, examples and history of the specification against each other.

    Prints every contradiction with the erratum that explains it, then the errata that none of these checks can show.
    Ends with 0 if every contradiction is a known erratum, 1 if there is a new one or a known one no longer appears.
    """
    from dml_conformance.documents.consistency import check_specification

    report = check_specification()
    if format_ == "json":
        print_json(report.as_json())
    else:
        _print_report(report)
    context.exit(Exit.CONFORMANT if report.ok else Exit.NOT_CONFORMANT)


def _print_report(report: Report) -> None:
    print_table(
        ("check", "looked at", "found", "what should hold"),
        ((c.name, str(c.subjects), str(len(c.findings)), c.statement) for c in report.checks),
    )
    click.echo("\nContradictions that the checks find:\n")
    print_table(
        ("finding", "erratum", "what contradicts"),
        ((f.id, report.explained_by.get(f.id, "NEW"), f.what) for f in report.findings.values()),
        whole=2,
    )
    for title, shown in (
        ("Errata that these show:", True),
        ("Errata that none of them can show (silence, wording, what stands on a page alone):", False),
    ):
        click.echo(f"\n{title}")
        for erratum in report.errata.values():
            if bool(erratum.checks) is shown:
                click.echo(f"\n  {erratum.id} ({erratum.kind}, {erratum.resolution})")
                click.echo(f"    {erratum.finding}")
                click.echo(f"    {erratum.reason}")
                click.echo("".join(f"    {address}\n" for address in (erratum.source.url, *erratum.see)), nl=False)
    click.echo()
    for finding in report.new:
        click.echo(f"NEW: {finding.id}: {finding.what}; no erratum explains it")
    for finding_id, erratum_id in report.stale:
        click.echo(f"STALE: {finding_id}: expected by {erratum_id}, but it no longer appears")
    known = len(report.findings) - len(report.new)
    click.echo(
        f"{len(report.findings)} contradictions: {known} known, {len(report.new)} new; {len(report.stale)} stale; "
        f"{len(report.errata)} errata"
    )
