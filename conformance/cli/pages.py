"""`spec check-page` and `spec import`: documents of the specification read, checked, and written as models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.conformance.cli.files import JSON, OutputFile, output_options
from dml_conformance.conformance.cli.lines import complain
from dml_conformance.conformance.cli.options import PATH, format_option
from dml_conformance.conformance.cli.output import print_table, table_lines
from dml_conformance.reports.model.text import count_of, indented_json

if TYPE_CHECKING:
    from dml_conformance.documents.check import CheckedPages
    from dml_conformance.documents.check.differences import PageDifference
    from dml_conformance.documents.check.report import PageFindings
    from dml_conformance.documents.read.collect import OtherFile, UnreadableFile
    from dml_conformance.documents.read.model import Page

_SHOWN = 3  # files passed over that are named
_PAGES = click.argument("paths", nargs=-1, required=True, metavar="PAGE...", type=PATH)


@click.command(name="check-page")
@_PAGES
@click.option("--ignore-known", is_flag=True, help="Errors that are known errata do not count.")
@format_option("text", "json", "sarif")
@output_options("FILE")
@click.pass_context
def check_page_command(
    context: click.Context,
    paths: tuple[Path, ...],
    ignore_known: bool,
    format_: str,
    output: Path,
    replace: bool,
) -> None:
    """Check pages of the specification, in any language.

    PAGE is a Markdown or text file, or a folder, of which all .md and .txt files are looked at. Each page is held
    against itself (its examples are run on the reference), against the English original that it carries, and against
    the registry of this project; then pages on one operator are laid side by side, with what they differ in.

    Ends with 0 if there is no error; 1 if there is one, known or not; 2 if a page cannot be read. The others are
    checked all the same.
    """
    from dml_conformance.documents.check import check_pages
    from dml_conformance.documents.read.collect import collect
    from dml_conformance.documents.report import sarif

    signature = b"" if format_ == "text" else JSON
    target = OutputFile(output, replace=replace, signature=signature)
    collection = collect(paths)
    checked = check_pages(
        collection.pages,
        ignore_known=ignore_known,
        skipped=collection.skipped,
        failures=collection.failures,
    )
    if format_ != "text":
        log = checked if format_ == "json" else sarif(checked)
        target.write(indented_json(log) + "\n")
    elif collection.pages or not target.is_stdout:
        lines = _lines(checked, partial(table_lines, is_file=not target.is_stdout))
        target.write("".join(f"{line}\n" for line in lines))
    if not target.is_stdout:
        click.echo(_summary(checked))
    _complain_of(checked.failures)
    if checked.failures:
        context.exit(Exit.BAD_INPUT)
    context.exit(Exit.CONFORMANT if checked.ok else Exit.NOT_CONFORMANT)


@click.command(name="import")
@_PAGES
@output_options("PAGES.json", required=True)
@click.pass_context
def import_command(context: click.Context, paths: tuple[Path, ...], output: Path, replace: bool) -> None:
    """Write what pages say as JSON, by the published schema: fields, tables, examples, texts, each with its place.

    PAGE is as for check-page. Nothing is corrected or added. Ends with 2 if a page cannot be read; the others are
    written all the same.
    """
    from dml_conformance.documents.read.collect import PageCollection, collect
    from dml_conformance.documents.read.model import FORMAT

    target = OutputFile(output, replace=replace, signature=JSON)
    collection = collect(paths)
    if collection.pages:
        target.write(PageCollection(FORMAT, collection.pages).to_json().decode())
    if collection.pages and not target.is_stdout:
        print_table(
            ("page", "operator", "language", "fields", "tables", "examples", "not read"),
            [_imported(page) for page in collection.pages],
            whole=2,
        )
        for line in _skipped(collection.skipped):
            click.echo(line)
    _complain_of(collection.failures)
    if collection.failures:
        context.exit(Exit.BAD_INPUT)


def _imported(page: Page) -> tuple[str, ...]:
    return (
        page.path,
        page.operator,
        page.language or "-",
        str(len(page.declarations) or len(page.members)),
        _levels([table.level for table in page.tables]),
        str(len(page.examples)),
        str(len(page.problems) or "-"),
    )


def _complain_of(failures: Sequence[UnreadableFile]) -> None:
    """A line on standard error for each."""
    for failure in failures:
        complain(failure.problem)


# --- text ---------------------------------------------------------------------------------------------------------


def _lines(checked: CheckedPages, table: Callable[..., list[str]]) -> Iterator[str]:
    """Pages with findings, then all of them side by side, then how many findings there are."""
    from dml_conformance.documents.report import finding_lines

    for finding in checked.findings:
        yield from finding_lines(finding)
        yield ""
    if len(checked.pages) > 1:
        headers = ("page", "operator", "language", "edition", "since", "tables", "errors", "warnings", "notes")
        operators = list(dict.fromkeys(page.operator for page in checked.pages))
        pages = sorted(checked.pages, key=lambda page: operators.index(page.operator))
        yield from table(headers, map(_side_by_side, pages))
        for operator, differences in groupby(checked.differences, lambda difference: difference.operator):
            yield from ("", f"{operator}, where its pages differ:", "")
            yield from table(("subject", "what is said", "by"), _said(differences))
        yield ""
    yield from _skipped(checked.skipped)
    yield _summary(checked)


def _side_by_side(page: PageFindings) -> tuple[str, ...]:
    counts = Counter(str(finding.severity) for finding in page.findings)
    return (
        page.path,
        page.operator,
        (page.language or "-") + (" and en" if page.has_original else ""),
        page.edition or "-",
        page.introduced_in or "-",
        _levels(page.levels),
        *(str(counts[severity] or "-") for severity in ("error", "warning", "note")),
    )


def _said(differences: Iterable[PageDifference]) -> Iterator[tuple[str, ...]]:
    """A row for each thing that is said, those said of the same together."""
    for difference in differences:
        for i, version in enumerate(difference.versions):
            yield "" if i else difference.subject, one_line(version.value), ", ".join(version.paths)


def _skipped(skipped: Sequence[OtherFile]) -> Iterator[str]:
    if skipped:
        more = f" and {len(skipped) - _SHOWN:,} more" if len(skipped) > _SHOWN else ""
        named = ", ".join(passed.path for passed in skipped[:_SHOWN])
        yield f"{count_of(len(skipped), 'file')} in folders passed over: {named}{more}"


def _summary(checked: CheckedPages) -> str:
    from dml_conformance.documents.report import count_line

    unread = f"; {len(checked.failures):,} could not be read" if checked.failures else ""
    return f"{count_of(len(checked.pages), 'page')}: {count_line(checked)}{unread}"


def _levels(levels: Sequence[str | None]) -> str:
    return ", ".join(level or "?" for level in levels) or "-"
