"""`dml-conformance export`: results in the forms that CI servers, spreadsheets and people at a job page read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import click

from dml_conformance.conformance.cli.cases import opened_results, replay_shown, shown_summary
from dml_conformance.conformance.cli.files import OutputFile, output_options
from dml_conformance.conformance.cli.options import results_argument
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.store.results import Store
from dml_conformance.reports.views.csv_rows import CsvWriter
from dml_conformance.reports.views.ctrf import ctrf_json
from dml_conformance.reports.views.junit import junit_xml
from dml_conformance.reports.views.markdown import markdown

# How each form begins, so that --replace replaces nothing else.
SIGNATURES = {"ctrf": b'{"reportFormat":"CTRF"', "markdown": b"# ", "csv": b"backend,device,", "junit": b"<?xml"}
ONE_CAMPAIGN = ("ctrf", "junit")  # forms with a place for one campaign


@click.command()
@results_argument
@click.option("--format", "form", type=click.Choice(list(SIGNATURES)), required=True, help="Form of the output.")
@output_options("FILE")
def export(results: Sequence[Path], form: str, output: Path, replace: bool) -> None:
    """Write stored RESULTS as CTRF, Markdown, CSV or JUnit.

    RESULTS are results.sqlite files, folders that certify or run left, or packages. Markdown has a part for each
    campaign, CSV the rows of all; CTRF and JUnit take one campaign. Exit code 0: it is written, whatever it says; 2:
    wrong usage or bad input.
    """
    if len(results) > 1 and form in ONE_CAMPAIGN:
        raise click.UsageError(f"--format {form} takes one campaign; call it for each of the {len(results)} RESULTS.")
    target = OutputFile(output, replace=replace, signature=SIGNATURES[form])
    with ExitStack() as stack:
        stores = [stack.enter_context(opened_results(path)) for path in results]
        if form == "csv":
            target.write_with(lambda stream: _write_rows(stores, stream))
        else:
            summaries = [shown_summary(store) for store in stores]
            target.write(_WRITERS[form](summaries))


def _write_rows(stores: Sequence[Store], stream: TextIO) -> None:
    for number, store in enumerate(stores):
        replay_shown(store, CsvWriter(stream, header=number == 0))


_WRITERS: dict[str, Callable[[Sequence[Summary]], str]] = {
    "ctrf": lambda summaries: ctrf_json(summaries[0]).decode(),
    "junit": lambda summaries: junit_xml(summaries[0]).decode(),
    "markdown": lambda summaries: "\n".join(markdown(summary) for summary in summaries),
}
