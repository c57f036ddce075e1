"""`dml-conformance run`: judge the cases of corpora on one or several backends."""

from __future__ import annotations

import dataclasses
import gc
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath

import click
import msgspec

from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.campaign.sweep import InProcess, Setup, blocks_of, describe_sweep, planned_cases
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import (
    DEVICES,
    RESOURCE,
    SHARD,
    isolation_options,
    repeat_option,
    spec_option,
)
from dml_conformance.conformance.cli.resuming import (
    conditions,
    finished_summary,
    resume_option,
    tell_begun,
    tell_begun_anew,
)
from dml_conformance.conformance.exchange.corpus import WHOLE, CorpusError, Shard, check_corpus
from dml_conformance.conformance.exchange.corpus_files import STANDARD_STREAM, open_corpus
from dml_conformance.conformance.judge.blame import Blame, Blaming
from dml_conformance.conformance.packages.waivers import Waivers, Waiving, read_waivers
from dml_conformance.conformance.workers import Workers, devices_of, places_on
from dml_conformance.conformance.workers.cluster.client import Cluster
from dml_conformance.reports.console import Progress, Steps, print_summary
from dml_conformance.reports.records import Campaign, Ending, Phase, Throughput
from dml_conformance.reports.stream import ALL, Consumer, FanOut, Stream
from dml_conformance.reports.summary import Conformance, Summary
from dml_conformance.reports.writing import OutputFolder, ReportFolder
from dml_conformance.spec.validator import Reading


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
    "-n",
    "--workers",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Processes that judge, each with a backend of its own; one, or one for each of --devices, if not given.",
)
@click.option(
    "--devices",
    type=DEVICES,
    metavar="all|0,1,...",
    help="Devices of the backend, among which the processes are spread; such as all with torch:cuda.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Judge on the workers of this Dask scheduler, such as tcp://host:8786, instead of on this machine.",
)
@click.option(
    "--resource",
    "resources",
    multiple=True,
    type=RESOURCE,
    metavar="NAME[=AMOUNT]",
    help="Of the scheduler's workers only those that were started with this, such as cuda or cuda=2. Repeatable.",
)
@click.option("--shard", metavar="I/N", type=SHARD, help="Only part I of N of the cases, such as 3/16.")
@spec_option()
@repeat_option()
@isolation_options
@click.option("--one-by-one", is_flag=True, help="Execute every case alone, also on a backend that takes batches.")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder for the reports, as certify leaves them; of several backends each gets a folder in it.",
)
@click.option("--replace", is_flag=True, help="Replace earlier reports that are there.")
@resume_option()
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
    workers: int | None,
    devices: tuple[int, ...] | None,
    scheduler: str | None,
    resources: tuple[tuple[str, float], ...],
    shard: Shard | None,
    spec: str,
    repeat: int,
    limits: Limits | None,
    one_by_one: bool,
    folder: Path | None,
    replace: bool,
    resume: bool,
    waivers_file: Path | None,
) -> None:
    """Judge every case of CORPUS..., files that generate made, or - for standard input.

    A file is read through and held against its digest before the first case is judged. A backend that crashes or hangs
    ends its process, not the run: the case has that verdict. Exit code 0: conformant, on every backend; 1: not
    conformant; 2: wrong usage, or a corpus that is damaged, edited or of another release; 3: the run is incomplete or
    broken.
    """
    for names, what in ((backend_names, "--backend"), ([str(path) for path in corpora], "CORPUS")):
        repeated = [name for n, name in enumerate(names) if name in names[:n]]
        if repeated:
            raise click.UsageError(f"{what} {repeated[0]} is given twice.")
    for option, value in (("--workers", workers), ("--devices", devices)):
        if limits is None and value is not None:
            raise click.UsageError(f"{option} and --in-process exclude each other; give one of them.")
    if scheduler is not None and (limits is None or workers is not None or devices is not None):
        raise click.UsageError("--scheduler excludes --workers, --devices and --in-process.")
    if resources and scheduler is None:
        raise click.UsageError("--resource is of the workers of a --scheduler; give both.")
    if resume and folder is None:
        raise click.UsageError("--resume is about a run with --out; give that too.")
    part = shard or WHOLE
    waivers = Waivers() if waivers_file is None else read_waivers(waivers_file, datetime.now(UTC).date())
    setup = Setup(backend_names, Reading(spec), one_by_one, repeat, limits or Limits())
    digests = [_checked(path) for path in corpora if str(path) != STANDARD_STREAM]
    with ExitStack() as stack:
        judging: InProcess | Workers | Cluster
        if scheduler is not None:
            judging = Cluster(setup, scheduler, dict(resources), tell=partial(echo, err=True))
        elif limits is None:
            judging = InProcess(setup.judges(), one_by_one=one_by_one)
        else:
            if devices is not None:
                setup = dataclasses.replace(setup, places=tuple(places_on(backend_names, devices_of(setup), devices)))
            judging = Workers(setup, workers or len(setup.places) or 1)
        stack.callback(judging.close)
        backends = judging.capabilities()
        readers = [stack.enter_context(open_corpus(path)) for path in corpora]
        headers = [reader.header for reader in readers]
        campaigns = [describe_sweep(capabilities, setup, headers, digests, part) for capabilities in backends]
        places: list[Path | str] = [""] * len(backends)
        reports: list[ReportFolder | _Counting] = [_Counting() for _ in backends]
        outputs: list[OutputFolder] = []
        if folder is not None:
            places = [folder] if len(backends) == 1 else [folder / name for name in _folder_names(backend_names)]
            same = conditions(backend_names, _NOT_OF_THE_RUN) | {"CORPUS": msgspec.to_builtins(headers)}
            for n, place in enumerate(places):
                output = stack.enter_context(OutputFolder(Path(place), replace=replace, resume=resume))
                outputs.append(output)
                if output.is_finished:
                    reports[n] = _Counting(finished_summary(output, campaigns[n]))
                else:
                    tell_begun_anew(output)
                    reports[n] = ReportFolder(output, conditions=same)
        planned = planned_cases(headers, part)
        begun = _begun(reports, planned)
        progress = Progress(planned={Phase.SWEEP: planned * len(backends)})
        for opened in (*reports, progress):
            stack.callback(opened.close)
        streams: list[Stream] = [
            _Nothing()
            if isinstance(report, _Counting) and report.is_finished
            else _judged_stream(setup, n, waivers, FanOut(report, progress if n == 0 else _Records(progress)))
            for n, report in enumerate(reports)
        ]
        for stream, campaign in zip(streams, campaigns, strict=True):
            stream.start(campaign)
        endings = [_given_again(report, stream) for report, stream in zip(reports, streams, strict=True)]
        gc.freeze()  # what is loaded stays, so no collection has to look at it
        left = [_Nothing() if ending else stream for ending, stream in zip(endings, streams, strict=True)]
        try:
            given_up = judging.feed(blocks_of(readers, part, begun), left)
        except CorpusError:
            for output in outputs:  # what was judged of a corpus that is damaged is worth nothing
                output.keeps = False
            raise
        # Before the first of them is finished, so that none has to be judged again then.
        for stream in left:
            stream.mark(ALL)
        for stream, ending in zip(reversed(streams), reversed(endings), strict=True):  # the first one ends the progress
            stream.finish(ending or Ending.now(given_up))
    for how, count in judging.losses.items():
        echo(f"{count} worker process{'es' * (count > 1)} {how}; what was lost was judged again.", err=True)
    if not given_up:
        waivers.check_used()
    for name, report, place in zip(backend_names, reports, places, strict=True):
        if len(reports) > 1:
            echo()
            echo(name)
        print_summary(report.summary, output=str(place))
    raise SystemExit(_exit_code([report.summary.conformance for report in reports]))


# Parameters that the results do not depend on, or that are part of the campaign.
_NOT_OF_THE_RUN = ("corpora", "folder", "replace", "workers", "devices", "scheduler", "resources", "in_process")


def _judged_stream(setup: Setup, number: int, waivers: Waivers, consumer: Consumer) -> Stream:
    """What takes the records of the backend of this number: blames for processes that were lost, and waives."""
    return Blaming(Blame(setup.backends[number], setup.reading), Waiving(waivers, consumer))


class _Counting(FanOut):
    """What there is to tell where no report is asked for, or where all of them are there.

    Args:
        finished: the summary of a run that needs no more than to be told of.
    """

    def __init__(self, finished: Summary | None = None) -> None:
        self.is_finished = finished is not None
        self.summary = finished or Summary()
        super().__init__(self.summary)

    def close(self) -> None:
        """Nothing is open."""


class _Nothing(FanOut):
    """A stream that nobody listens to: that of a backend that is through where others are not."""


def _begun(reports: Sequence[ReportFolder | _Counting], planned: int) -> int:
    """How many cases every backend was judged on before the run was interrupted; all of them go on from there."""
    unended = [each for each in reports if isinstance(each, ReportFolder) and each.begun.ending is None]
    if not unended:
        return planned if any(isinstance(each, ReportFolder) or each.is_finished for each in reports) else 0
    common = min(report.begun.count for report in unended)
    for report in unended:
        report.begun = report.begun.up_to(common)
    tell_begun(unended[0].begun)
    return common


def _given_again(report: ReportFolder | _Counting, stream: Stream) -> Ending | None:
    """Give a stream what is begun; returns its ending, if that is there already."""
    if isinstance(report, _Counting):
        return Ending.now() if report.is_finished else None
    for record in report.begun.records():
        stream.record(record)
    return report.begun.ending


class _Records:
    """A consumer that passes records on, and nothing else: of several streams that share a progress, all but one."""

    def __init__(self, progress: Progress) -> None:
        self.record = progress.record
        self.encoded_record = progress.encoded_record

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
