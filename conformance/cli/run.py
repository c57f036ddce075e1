"""`dml-conformance run`: judge the cases of corpora on one or several backends."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Any

import click
import msgspec

from dml_conformance.backends.processes.backend import kept_running
from dml_conformance.conformance.campaign.driver import (
    SweepTarget,
    blocks_of,
    describe_sweep,
    first_case,
    planned_cases,
    sweep,
)
from dml_conformance.conformance.cli.campaigns import (
    RunOptions,
    conditions,
    end,
    finished_summary,
    opened_progress,
    run_options,
    tell_losses,
)
from dml_conformance.conformance.cli.options import DEVICES, PATH, SHARD
from dml_conformance.conformance.exchange.corpus import WHOLE, CorpusError, CorpusReader, Shard, check_corpus
from dml_conformance.conformance.exchange.corpus_files import STANDARD_STREAM, open_corpus
from dml_conformance.conformance.judge.blame import SettledStream
from dml_conformance.conformance.workers import Workers, devices_of, places_on
from dml_conformance.conformance.workers.executor import Executor, InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import Campaign, Phase, Record
from dml_conformance.reports.model.stream import Consumer, StreamError
from dml_conformance.reports.output.folder import OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.views.console import Progress, Steps

# Parameters that the results do not depend on, or that are part of the campaign.
_NOT_OF_THE_RUN = ("corpora", "devices")


@click.command()
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=PATH)
@click.option(
    "--backend",
    "backend_names",
    required=True,
    multiple=True,
    metavar="NAME",
    help="As for certify; may be repeated, each backend is judged on every case.",
)
@click.option(
    "--devices",
    type=DEVICES,
    metavar="all|0,1,...",
    help="Devices of the backend, among which the processes are spread; such as all with torch:cuda.",
)
@click.option("--shard", metavar="I/N", type=SHARD, help="Only part I of N of the cases, such as 3/16.")
@click.option("--one-by-one", is_flag=True, help="Execute every case alone, also on a backend that takes batches.")
@run_options(
    "Processes that judge, each with a backend of its own; one, or one for each of --devices, if not given.",
    "Folder for the reports, as certify leaves them; of several backends each gets a folder in it.",
    requires_out=False,
)
def run(
    corpora: tuple[Path, ...],
    backend_names: tuple[str, ...],
    devices: tuple[int, ...] | None,
    shard: Shard | None,
    one_by_one: bool,
    given: RunOptions,
    folder: Path | None,
) -> None:
    """Judge every case of CORPUS..., files that generate made, or - for standard input.

    A file is read through and held against its digest before the first case is judged. A backend that crashes or hangs
    ends its process, not the run: the case has that verdict. Exit code 0: conformant, on every backend; 1: not
    conformant; 2: wrong usage, or a corpus that is damaged, edited or of another release; 3: the run is incomplete or
    broken.
    """
    _check_usage(corpora, backend_names, devices, given, folder)
    part = shard or WHOLE
    waivers = given.waivers
    setup = JudgeSetup(backend_names, given.reading, one_by_one, given.repeat, given.limits, tolerance=given.tolerance)
    digests = [_checked(path) for path in corpora if str(path) != STANDARD_STREAM]
    with kept_running(given.limits), ExitStack() as stack:
        outputs: list[OutputFolder] = []
        if folder is not None:  # before backends are loaded, which are kept from it
            places = [folder] if len(backend_names) == 1 else [folder / name for name in _folder_names(backend_names)]
            outputs = [stack.enter_context(given.output(each)) for each in places]
        if devices is not None and given.limits is not None:
            there = devices_of(backend_names, given.limits.files)
            setup = dataclasses.replace(setup, places=places_on(backend_names, there, devices))
        executor = _executor(setup, given)
        stack.callback(executor.close)
        backends = executor.capabilities()
        readers = [stack.enter_context(open_corpus(path)) for path in corpora]
        headers = [reader.header for reader in readers]
        campaigns = [describe_sweep(capabilities, setup, headers, digests, part) for capabilities in backends]
        if folder is None:
            targets = [SweepTarget(campaign) for campaign in campaigns]
        else:
            same = conditions(backend_names, _NOT_OF_THE_RUN) | {"CORPUS": msgspec.to_builtins(headers)}
            targets = [_target(*each, same) for each in zip(campaigns, outputs, strict=True)]
        planned = planned_cases(headers, part)
        start = first_case(targets, planned)
        reports = [target.report for target in targets if target.report is not None]
        progress = opened_progress(stack, reports, {Phase.SWEEP: planned * len(backends)})
        consumers = [
            SettledStream(waivers.apply, target.consumer, progress if n == 0 else _Records(progress))
            for n, target in enumerate(targets)
        ]
        with _nothing_kept_of_a_damaged_corpus(outputs, readers):
            given_up = sweep(executor, setup, targets, consumers, blocks_of(readers, part, start))
    tell_losses(executor)
    if not given_up:
        waivers.check_used()
    folders = [str(output.path) for output in outputs] or [""] * len(targets)
    summaries = [target.summary for target in targets]
    end(dict(zip(backend_names, zip(summaries, folders, strict=True), strict=True)))


@contextmanager
def _nothing_kept_of_a_damaged_corpus(outputs: list[OutputFolder], readers: list[CorpusReader]) -> Iterator[None]:
    try:
        yield
    except (CorpusError, StreamError) as error:
        for output in outputs:
            output.keeps = False
        if isinstance(error, CorpusError):
            raise
        raise CorpusError(f"{', '.join(reader.file for reader in readers)}: {error}; line 1 names others") from None


def _check_usage(
    corpora: tuple[Path, ...],
    backend_names: tuple[str, ...],
    devices: tuple[int, ...] | None,
    given: RunOptions,
    folder: Path | None,
) -> None:
    """Raise a UsageError where options do not go together."""
    for names, what in ((backend_names, "--backend"), ([str(path) for path in corpora], "CORPUS")):
        repeated = [name for n, name in enumerate(names) if name in names[:n]]
        if repeated:
            raise click.UsageError(f"{what} {repeated[0]} is given twice.")
    if given.limits is None and devices is not None:
        raise click.UsageError("--devices and --in-process exclude each other; give one of them.")
    if given.resume and folder is None:
        raise click.UsageError("--resume is about a run with --out; give that too.")


def _executor(setup: JudgeSetup, given: RunOptions) -> Executor:
    """What has the cases judged: this process, or others of this machine."""
    if given.limits is None:
        return InProcess(setup.judges(), one_by_one=setup.one_by_one)
    return Workers(setup, given.workers or len(setup.places) or 1)


def _target(campaign: Campaign, output: OutputFolder, same: dict[str, Any]) -> SweepTarget:
    """Where the records of a backend go; errors as of `finished_summary` and `ReportFolder`."""
    summary = finished_summary(output, campaign)
    if summary is not None:
        return SweepTarget(campaign, summary=summary, is_finished=True)
    return SweepTarget(campaign, ReportFolder(output, conditions=same))


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
