"""`dml-conformance run`: judge the cases of corpora on one or several backends."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import click
import msgspec

from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.campaign.driver import (
    SweepTarget,
    blocks_of,
    describe_sweep,
    first_case,
    planned_cases,
    sweep,
)
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import (
    DEVICES,
    RESOURCE,
    SHARD,
    accuracy_option,
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
from dml_conformance.conformance.packages.waivers import WaiverFilter, Waivers, read_waivers
from dml_conformance.conformance.workers import Workers, devices_of, places_on
from dml_conformance.conformance.workers.cluster.client import Cluster
from dml_conformance.conformance.workers.executor import BlockExecutor, InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.console import Progress, Steps, print_summary
from dml_conformance.reports.encoded import EncodedRecord
from dml_conformance.reports.records import Campaign, Phase, Record
from dml_conformance.reports.stream import Consumer, FanOut, StreamError
from dml_conformance.reports.summary import Conformance
from dml_conformance.reports.writing import OutputFolder, ReportFolder
from dml_conformance.spec.accuracy import PROFILES
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
@spec_option
@accuracy_option
@repeat_option
@isolation_options
@click.option("--one-by-one", is_flag=True, help="Execute every case alone, also on a backend that takes batches.")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder for the reports, as certify leaves them; of several backends each gets a folder in it.",
)
@click.option("--replace", is_flag=True, help="Replace earlier reports that are there.")
@resume_option
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
    accuracy: str,
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
    setup = JudgeSetup(backend_names, Reading(spec), one_by_one, repeat, limits or Limits(), profile=PROFILES[accuracy])
    digests = [_checked(path) for path in corpora if str(path) != STANDARD_STREAM]
    if devices is not None:
        setup = dataclasses.replace(setup, places=tuple(places_on(backend_names, devices_of(setup), devices)))
    with ExitStack() as stack:
        executor: BlockExecutor
        if scheduler is not None:
            executor = Cluster(setup, scheduler, dict(resources), tell=partial(echo, err=True))
        elif limits is None:
            executor = InProcess(setup.judges(), one_by_one=one_by_one)
        else:
            executor = Workers(setup, workers or len(setup.places) or 1)
        stack.callback(executor.close)
        backends = executor.capabilities()
        readers = [stack.enter_context(open_corpus(path)) for path in corpora]
        headers = [reader.header for reader in readers]
        campaigns = [describe_sweep(capabilities, setup, headers, digests, part) for capabilities in backends]
        outputs: list[OutputFolder] = []
        if folder is None:
            targets = [SweepTarget(campaign) for campaign in campaigns]
        else:
            places = [folder] if len(backends) == 1 else [folder / name for name in _folder_names(backend_names)]
            outputs = [stack.enter_context(OutputFolder(each, replace=replace, resume=resume)) for each in places]
            same = conditions(backend_names, _NOT_OF_THE_RUN) | {"CORPUS": msgspec.to_builtins(headers)}
            targets = [_target(*each, same) for each in zip(campaigns, outputs, strict=True)]
        planned = planned_cases(headers, part)
        start = first_case(targets, planned)
        reports = [target.report for target in targets if target.report is not None]
        for begun in [report.begun for report in reports if report.begun.ending is None][:1]:
            tell_begun(begun)
        progress = Progress(planned={Phase.SWEEP: planned * len(backends)})
        for report in reports:
            stack.callback(report.close)
        stack.callback(progress.close)
        consumers = [
            WaiverFilter(waivers, FanOut(target.consumer, progress if n == 0 else _Records(progress)))
            for n, target in enumerate(targets)
        ]
        try:
            given_up = sweep(executor, setup, targets, consumers, blocks_of(readers, part, start))
        except (CorpusError, StreamError) as error:
            for output in outputs:  # what was judged of a corpus that is damaged is worth nothing
                output.keeps = False
            if isinstance(error, CorpusError):
                raise
            raise CorpusError(f"{', '.join(reader.file for reader in readers)}: {error}; line 1 names others") from None
    for how, count in executor.losses.items():
        echo(f"{count} worker process{'es' * (count > 1)} {how}; what was lost was judged again.", err=True)
    if not given_up:
        waivers.check_used()
    for n, (name, target) in enumerate(zip(backend_names, targets, strict=True)):
        if len(targets) > 1:
            echo()
            echo(name)
        print_summary(target.summary, output=str(outputs[n].path) if outputs else "")
    raise SystemExit(_exit_code([target.summary.conformance for target in targets]))


def _target(campaign: Campaign, output: OutputFolder, same: dict[str, Any]) -> SweepTarget:
    """Where the records of a backend go; errors as of `finished_summary` and `ReportFolder`."""
    if output.is_finished:
        return SweepTarget(campaign, summary=finished_summary(output, campaign), is_finished=True)
    tell_begun_anew(output)
    return SweepTarget(campaign, ReportFolder(output, conditions=same))


# Parameters that the results do not depend on, or that are part of the campaign.
_NOT_OF_THE_RUN = ("corpora", "folder", "replace", "workers", "devices", "scheduler", "resources", "in_process")


class _Records(Consumer):
    """A consumer that passes records on, and nothing else: of several streams that share a progress, all but one."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def record(self, record: Record | EncodedRecord) -> None:
        self._progress.record(record)


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
