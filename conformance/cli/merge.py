"""`dml-conformance merge`: make the results of a corpus's shards those of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import click

from dml_conformance.conformance.campaign.merge import merge as merge_shards
from dml_conformance.conformance.campaign.merge import read_shards
from dml_conformance.conformance.cli.campaigns import tell_certificate
from dml_conformance.conformance.cli.cases import authenticate, opened_results
from dml_conformance.conformance.cli.options import out_option, replace_option, results_argument
from dml_conformance.reports.model.records import Phase
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.output.folder import OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.views.console import Progress, print_summary


@click.command()
@results_argument
@out_option("Folder for the reports, as run leaves them; it must not hold anything yet.")
@replace_option("earlier reports that are there")
def merge(results: Sequence[Path], folder: Path, replace: bool) -> None:
    """Merge RESULTS of all shards of a corpus into those of an undivided run.

    RESULTS are results.sqlite files, or folders that run left, of shards that 'generate --shard' made or 'run --shard'
    picked, all on the same backend. Verdicts, their order and the certificate's digests.results are those of one run of
    the whole corpus. Exit code 0: conformant; 1: not conformant; 2: wrong usage, or RESULTS that are not the shards of
    one corpus; 3: they cannot be written.
    """
    with ExitStack() as stack:
        stores = [stack.enter_context(opened_results(path)) for path in results]
        for store in stores:
            authenticate(store)
        shards = read_shards(stores)
        output = stack.enter_context(OutputFolder(folder, replace=replace))
        reports = stack.enter_context(closing(ReportFolder(output)))
        planned = {Phase.SWEEP: sum(len(each.store) for each in shards)}
        progress = stack.enter_context(closing(Progress(planned=planned)))
        merge_shards(shards, FanOut(reports, progress))
    print_summary(reports.summary, output=str(folder))
    tell_certificate(reports.summary, folder)
    raise SystemExit(reports.summary.conformance.exit_code)
