"""`dml-conformance report`: the page of one stored campaign, or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from dml_conformance.conformance.cli.cases import replay_shown
from dml_conformance.conformance.cli.files import HTML, OutputFile, output_options
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import file_option, results_argument
from dml_conformance.conformance.cli.output import print_table
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.results import Store


@click.command()
@results_argument
@file_option(
    "--baseline", "baseline", "OLD", "Results of an earlier run; what became of its cases comes first on the page."
)
@output_options("REPORT.html", what="page", required=True)
def report(results: Sequence[Path], baseline: Path | None, output: Path, replace: bool) -> None:
    """Write one HTML page from RESULTS: results.sqlite files, or folders that certify left.

    One campaign is shown as certify shows it, several side by side on the same page. Exit code 0: the
    page is written, whatever it says; 2: wrong usage or bad input.
    """
    page = OutputFile(output, replace=replace, signature=HTML)
    given = [*results, *([baseline] if baseline is not None else [])]
    paths = [path / RESULTS if path.is_dir() else path for path in given]
    for i, path in enumerate(paths):
        if path.resolve() in [earlier.resolve() for earlier in paths[:i]]:
            raise click.UsageError(f"{path}: given twice")
    with ExitStack() as stack:
        stores = [stack.enter_context(Store(path)) for path in paths]
        earlier = stores.pop() if baseline is not None else None
        shown = CampaignReport.of(stores, earlier, replay_shown)
    page.write(report_html(shown))
    print_table(("campaign", "outcome"), [(label, str(summary.conformance)) for label, summary in shown.campaigns])
    echo(f"Report: {output}")
