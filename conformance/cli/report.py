"""`dml-conformance report`: the page of one stored campaign, or of several side by side."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from conformance.cli.output import print_table
from reports.comparison import Comparison, comparison_html
from reports.html import report_html
from reports.store import Store
from reports.writing import RESULTS, OutputError

_DOCTYPE = b"<!doctype html>"


@click.command()
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="REPORT.html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write; it must not exist yet.",
)
@click.option("--replace", is_flag=True, help="Replace the page if it exists.")
def report(results: Sequence[Path], output: Path, replace: bool) -> None:
    """Write one HTML page from RESULTS: results.sqlite files, or folders that certify left.

    Several campaigns are shown side by side, what differs first; a single one as certify shows it. Exit code 0: the
    page is written, whatever it says; 2: wrong usage or bad input.
    """
    target = _target(output, replace=replace)
    paths = [path / RESULTS if path.is_dir() else path for path in results]
    for i, path in enumerate(paths):
        if path.resolve() in [earlier.resolve() for earlier in paths[:i]]:
            raise click.UsageError(f"{path}: given twice")
    with ExitStack() as stack:
        comparison = Comparison.of([stack.enter_context(Store(path)) for path in paths])
    single = len(comparison.summaries) == 1
    text = report_html(comparison.summaries[0]) if single else comparison_html(comparison)
    _write(target, text, shown=output, replace=replace)
    outcomes = [str(summary.conformance) for summary in comparison.summaries]
    print_table(("campaign", "outcome"), zip(comparison.labels, outcomes, strict=True))
    click.echo(f"Report: {click.format_filename(output)}")


def _target(output: Path, *, replace: bool) -> Path:
    """Where the page goes.

    Raises:
        OutputError: something is there that is not to be replaced. Only a page is, and only if asked for: a path
            mistyped must not cost anyone their files.
    """
    try:
        target = output.resolve()
        if not target.exists():
            return target
        if not replace:
            raise OutputError(f"{output}: exists; name another file, or replace it (--replace)")
        with target.open("rb") as file:
            is_page = file.read(len(_DOCTYPE)).lower() == _DOCTYPE
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        raise OutputError(f"{output}: cannot be read: {error}") from error
    if not is_page:
        raise OutputError(f"{output}: is no HTML page; it is not replaced")
    return target


def _write(target: Path, text: str, *, shown: Path, replace: bool) -> None:
    """Write the page whole or not at all: into a hidden sibling, which is then given its name."""
    partial = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(text, encoding="utf-8")
            _target(shown, replace=replace)  # something may have come there in the meantime
            partial.replace(target)
        finally:
            with suppress(FileNotFoundError):
                partial.unlink()
    except OSError as error:
        raise OutputError(f"{shown}: cannot be written: {error.strerror or error}") from error
