"""`dml-conformance run`: judge the cases of corpora on one or several backends."""

from __future__ import annotations

import gc
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path, PurePath

import click

from conformance.cli.options import SHARD, spec_option
from conformance.corpus import WHOLE, Shard, check_corpus
from conformance.corpus_files import STANDARD_STREAM, open_corpus
from conformance.sweep import InProcess, Setup, Workers, blocks_of, describe_sweep, planned_cases
from conformance.waivers import Waivers, Waiving, read_waivers
from reports.console import Progress, Steps, print_summary
from reports.records import Campaign, Ending, Phase, Throughput
from reports.stream import FanOut
from reports.summary import Conformance, Summary
from reports.writing import OutputFolder, ReportFolder
from spec.validator import Reading


@click.command()
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--backend",
    "backend_names",
    required=True,
    multiple=True,
    metavar="NAME",
    help="As for certify; may be repeated, each backend is judged on every case.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Processes that judge; with more than one, none of them is this one.",
)
@click.option("--shard", metavar="I/N", type=SHARD, help="Only part I of N of the cases, such as 3/16.")
@spec_option()
@click.option("--one-by-one", is_flag=True, help="Execute every case alone, also on a backend that takes batches.")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder for the reports, as certify leaves them; of several backends each gets a folder in it.",
)
@click.option("--replace", is_flag=True, help="Replace earlier reports that are there.")
@click.option(
    "--waivers",
    "waivers_file",
    type=click.Path(path_type=Path),
    metavar="WAIVERS.toml",
    help="Known failures that are set aside; each must occur on one of the backends.",
)
def run(
    corpora: tuple[Path, ...],
    backend_names: tuple[str, ...],
    workers: int,
    shard: Shard | None,
    spec: str,
    one_by_one: bool,
    folder: Path | None,
    replace: bool,
    waivers_file: Path | None,
) -> None:
    """Judge every case of CORPUS..., files that generate made, or - for standard input.

    A file is read through and held against its digest before the first case is judged. Exit code 0: conformant, on
    every backend; 1: not conformant; 2: wrong usage, or a corpus that is damaged, edited or of another release; 3: the
    run is incomplete or broken.
    """
    for names, what in ((backend_names, "--backend"), ([str(path) for path in corpora], "CORPUS")):
        repeated = [name for n, name in enumerate(names) if name in names[:n]]
        if repeated:
            raise click.UsageError(f"{what} {repeated[0]} is given twice.")
    part = shard or WHOLE
    waivers = Waivers() if waivers_file is None else read_waivers(waivers_file, datetime.now(UTC).date())
    digests = [_checked(path) for path in corpora if str(path) != STANDARD_STREAM]
    setup = Setup(backend_names, Reading(spec), one_by_one)
    judges = setup.judges()
    with ExitStack() as stack:
        readers = [stack.enter_context(open_corpus(path)) for path in corpora]
        headers = [reader.header for reader in readers]
        reports: list[ReportFolder | _Counting] = [_Counting() for _ in judges]
        places: list[Path | str] = [""] * len(judges)
        if folder is not None:
            places = [folder] if len(judges) == 1 else [folder / name for name in _folder_names(backend_names)]
            reports = [
                ReportFolder(stack.enter_context(OutputFolder(Path(place), replace=replace))) for place in places
            ]
        progress = Progress(planned={Phase.SWEEP: planned_cases(headers, part) * len(judges)})
        for opened in (*reports, progress):
            stack.callback(opened.close)
        streams = [
            Waiving(waivers, FanOut(report, progress if n == 0 else _Records(progress)))
            for n, report in enumerate(reports)
        ]
        for stream, judge in zip(streams, judges, strict=True):
            stream.start(describe_sweep(judge, headers, digests, part))
        gc.freeze()  # what is loaded stays, so no collection has to look at it
        judging = Workers(setup, workers) if workers > 1 else InProcess(judges, one_by_one=one_by_one)
        stack.callback(judging.close)
        judging.feed(blocks_of(readers, part), streams)
        for stream in reversed(streams):  # the first one ends the progress
            stream.finish(Ending.now())
    waivers.check_used()
    for name, report, place in zip(backend_names, reports, places, strict=True):
        if len(reports) > 1:
            click.echo(f"\n{name}")
        print_summary(report.summary, output=str(place))
    raise SystemExit(_exit_code([report.summary.conformance for report in reports]))


class _Counting(FanOut):
    """What there is to tell where no report is asked for."""

    def __init__(self) -> None:
        self.summary = Summary()
        super().__init__(self.summary)

    def close(self) -> None:
        """Nothing is open."""


class _Records:
    """A consumer that passes records on, and nothing else: of several streams that share a progress, all but one."""

    def __init__(self, progress: Progress) -> None:
        self.record = progress.record
        self.written = progress.written

    def start(self, campaign: Campaign) -> None:
        """Nothing: it was started already."""

    def throughput(self, row: Throughput) -> None:
        """Nothing: there is none in a sweep."""

    def finish(self, ending: Ending) -> None:
        """Nothing: it is finished by another."""


def _checked(path: Path) -> str:
    """The digest of a corpus that is whole."""
    with open_corpus(path) as reader, Steps(f"Checking {path}", reader.header.in_shard) as steps:
        check_corpus(reader, steps.advance)
        return reader.sha256


def _folder_names(backend_names: Sequence[str]) -> list[str]:
    """A folder for each backend, named like it."""
    names = [re.sub(r"[^\w.-]+", "-", PurePath(name).name).strip("-.") or "backend" for name in backend_names]
    return [name if name not in names[:n] else f"{name}-{n + 1}" for n, name in enumerate(names)]


def _exit_code(outcomes: Sequence[Conformance]) -> int:
    """Of several backends the first of: one is not conformant, one is incomplete, all are conformant."""
    for outcome in (Conformance.NOT_CONFORMANT, Conformance.INCOMPLETE):
        if outcome in outcomes:
            return outcome.exit_code
    return Conformance.CONFORMANT.exit_code
