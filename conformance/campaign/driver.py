"""Campaigns from start to end, told to whoever listens: certifying one backend, or judging corpora on several."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from dml_conformance.backends.base import Backend, Capabilities
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import Loss
from dml_conformance.backends.processes.process import end_orphans
from dml_conformance.backends.processes.walls import adopts_orphans
from dml_conformance.conformance.campaign.chains import execute_chains
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.campaign.plan import executed_levels
from dml_conformance.conformance.campaign.recheck import PassedSample
from dml_conformance.conformance.campaign.seeds import Seed
from dml_conformance.conformance.campaign.throughput import measure
from dml_conformance.conformance.exchange.corpus import WHOLE, CorpusReader, Header, Shard, in_blocks
from dml_conformance.conformance.exchange.failures import digest_of
from dml_conformance.conformance.exchange.networks.stored import distinct_cases
from dml_conformance.conformance.judge.blame import Blame, SettledStream
from dml_conformance.conformance.judge.losses import take_losses
from dml_conformance.conformance.strength import strength_of
from dml_conformance.conformance.workers.environment import environment
from dml_conformance.conformance.workers.executor import Executor, InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import CaseBlock
from dml_conformance.reports.model.costs import Part, Stopwatch
from dml_conformance.reports.model.records import (
    LEFT_OUT,
    Campaign,
    ChainedNetwork,
    Ending,
    Phase,
    Record,
    describe_rules,
    utc_now,
)
from dml_conformance.reports.model.release import changed_file, suite_files, suite_version
from dml_conformance.reports.model.stream import ALL, Consumer, FanOut
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.store.resuming import PartialRun
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators

THROUGHPUT = "throughput"  # the task that is all measurements together, with the chains of networks before
BLOCK_LINES = 1024
CORPUS_BUDGET = "corpus"  # what a campaign of corpora has in place of a budget
MODELS = "models"  # in the environment of a campaign, those whose layers the cases are


def certify(
    engine: Engine, consumer: Consumer, begun: PartialRun | None = None, executor: Executor | None = None
) -> None:
    """Run a whole campaign and feed its stream to `consumer`: the campaign, each record, each row, the end.

    Args:
        engine: says what is judged.
        consumer: hears of each finished task, too, if it takes marks.
        begun: what of this campaign was finished before it was interrupted; the stream begins with that.
        executor: judges all cases, and is closed before anything is measured; None = this process does.

    Raises:
        ResumeError: what is begun is damaged, or of another campaign, which the consumer finds out at its start.
    """
    passed = PassedSample()
    stream = SettledStream(engine.settled, consumer, passed)
    stream.start(describe_campaign(engine))
    again = engine.resume(begun.records(), begun.units) if begun is not None else None
    ending = _give_again(stream, begun, again)
    backend = engine.judge.backend
    executor = executor or InProcess([engine.judge])
    costs = executor.costs
    costs.add(None, "", {Part.START.value: time.process_time()})
    if ending is not None:
        _end_backends(executor, backend)
        stream.costs(costs)
        stream.finish(ending)
        return
    given_up, lost, chains = "", tuple[Loss, ...](), list[ChainedNetwork]()
    is_measured = begun is not None and THROUGHPUT in begun.units
    try:
        for stage, ahead in zip(engine.stages(), (engine.vast_makings(), ()), strict=True):
            executor.feed(stage, [stream], engine.wants, ahead)
        executor.close()
        watch = Stopwatch()
        for end in watch.each(Part.EXECUTE, execute_chains(engine.judge, engine.network_names, engine.newest)):
            costs.add(Phase.CHAINS, "", watch.taken())
            if isinstance(end, ChainedNetwork):
                chains.append(end)
            elif not is_measured:  # or it is on record
                stream.record(end)
        if not is_measured:
            watch = Stopwatch()
            right = [name for name in engine.operators if name not in engine.wrong]
            layers = [case for case in distinct_cases(engine.networks) if case.digest not in engine.wrong_layers]
            for found in watch.each(Part.MEASURE, measure(engine.judge, right, engine.levels, engine.budget, layers)):
                costs.add(Phase.THROUGHPUT, found.operator, watch.taken())
                if isinstance(found, Record):
                    stream.record(found)
                else:
                    stream.throughput(found)
        lost = take_losses(backend)
        if not (is_measured or lost):  # or, resumed just now, the run would not know of them
            stream.mark(THROUGHPUT)
    except GivenUp as reason:
        given_up = str(reason)
        lost = (*reason.lost, *take_losses(backend))
    _end_backends(executor, backend)
    stream.costs(costs)
    stream.finish(Ending.now(given_up or _why_untrusted() or passed.why_untrusted(), lost, chains))


def _end_backends(executor: Executor, *backends: Backend) -> None:
    """End the backends' processes and all that they have left: what is written from now on is not for them.

    Raises:
        OrphanError: something of them cannot be ended.
    """
    executor.close()
    for backend in backends:
        if isinstance(backend, IsolatedBackend):
            backend.close()
    if adopts_orphans():
        end_orphans()


def _why_untrusted() -> str:
    """Why what was judged is no evidence, though all was; "" where nothing speaks against it."""
    name = changed_file(suite_files())
    return f"{name}, a file of the suite itself, was changed while it ran: install the suite again" if name else ""


@dataclass
class SweepTarget:
    """What takes the records of one of the backends that corpora are judged on.

    Attributes:
        campaign: what it is about.
        report: where its reports go; None where none is asked for, or where they are there already.
        summary: of its records.
        is_finished: whether the reports are there already.
    """

    campaign: Campaign
    report: ReportFolder | None = None
    summary: Summary = field(default_factory=Summary)
    is_finished: bool = False

    def __post_init__(self) -> None:
        if self.report is not None:
            self.summary = self.report.summary

    @property
    def consumer(self) -> Consumer:
        """What its stream is told to."""
        return self.report or self.summary


def first_case(targets: Sequence[SweepTarget], planned: int) -> int:
    """How many cases every backend was judged on before the run was interrupted; all of them go on from there.

    Args:
        targets: what each has begun is cut to what all have in common.
        planned: how many cases there are.
    """
    begun = [target.report for target in targets if target.report is not None and target.report.begun.ending is None]
    if not begun:
        return planned if any(target.report is not None or target.is_finished for target in targets) else 0
    common = min(report.begun.count for report in begun)
    for report in begun:
        report.begun = report.begun.up_to(common)
    return common


def sweep(
    executor: Executor,
    setup: JudgeSetup,
    targets: Sequence[SweepTarget],
    consumers: Sequence[Consumer],
    blocks: Iterable[CaseBlock],
) -> str:
    """Judge corpora on several backends, and feed the stream of each: its campaign, each record, the end.

    Args:
        executor: judges.
        setup: what it judges by.
        targets: of the backends.
        consumers: of the streams.
        blocks: the cases that no backend was judged on before.

    Returns:
        Why not all were judged; "" if they were.

    Raises:
        CorpusError: a line is not as it was written.
        ResumeError: as for `certify`.
    """
    samples = [PassedSample() for _ in targets]
    streams = [
        FanOut()
        if target.is_finished
        else SettledStream(
            Blame(name, setup.reading, setup.tolerance).settled, consumer, *([sample] if target.report else [])
        )
        for name, target, consumer, sample in zip(setup.backends, targets, consumers, samples, strict=True)
    ]
    for stream, target in zip(streams, targets, strict=True):
        stream.start(target.campaign)
    endings = [
        Ending.now() if target.is_finished else _give_again(stream, target.report.begun if target.report else None)
        for stream, target in zip(streams, targets, strict=True)
    ]
    gc.freeze()  # what is loaded stays, so no collection has to look at it
    left = [FanOut() if ending else stream for stream, ending in zip(streams, endings, strict=True)]
    given_up, lost = "", tuple[Loss, ...]()
    try:
        executor.feed(blocks, left)
    except GivenUp as reason:
        given_up = str(reason)
        lost = reason.lost if len(streams) == 1 else ()  # of several it is not known whose they are
    _end_backends(executor)
    given_up = given_up or _why_untrusted() or next(filter(None, (sample.why_untrusted() for sample in samples)), "")
    # Before the first of them is finished, so that none has to be judged again then.
    for stream in left:
        stream.mark(ALL)
    for stream, ending in zip(reversed(streams), reversed(endings), strict=True):  # the first one ends the progress
        stream.finish(ending or Ending.now(given_up, lost))
    return given_up


def _give_again(stream: FanOut, begun: PartialRun | None, records: Iterable[Record] | None = None) -> Ending | None:
    """Give a stream what is begun, with other `records` if there are any; returns the ending, if that is there."""
    if begun is None:
        return None
    for record in begun.records() if records is None else records:
        stream.record(record)
    for row in begun.throughputs():
        stream.throughput(row)
    return begun.ending


def blocks_of(readers: Iterable[CorpusReader], shard: Shard, start: int = 0) -> Iterator[CaseBlock]:
    """The cases of corpora, or of a part of them, in blocks; without the first ones, if `start` says how many.

    Raises:
        CorpusError: a corpus is not as it was written.
    """
    for reader in readers:
        lines = reader.lines(shard)
        start -= sum(1 for _ in islice(lines, start))  # these are read and digested all the same
        for block in in_blocks(lines, BLOCK_LINES):
            yield CaseBlock.of_lines(reader.file, block)


def planned_cases(headers: Iterable[Header], shard: Shard) -> int:
    """How many cases a part of some corpora has."""
    return sum(
        header.in_shard if shard == WHOLE else sum(number in shard for number in header.numbers()) for header in headers
    )


def describe_campaign(engine: Engine) -> Campaign:
    """What certifying a backend is about, before its first record."""
    saved, backend = engine.saved_here(), engine.judge.backend
    beside = {"saved failures": f"{len(saved)}, SHA-256 {digest_of(saved)}"} if saved else {}
    beside |= {LEFT_OUT: f"{engine.unclaimed}, which are not claimed"} if engine.unclaimed else {}
    beside |= Seed(engine.seed, engine.seed_nonce).environment
    return _described(
        engine.judge.capabilities,
        operators=tuple(engine.operators),
        levels=tuple(level.label for level in engine.levels),
        budget=engine.budget.name,
        seed=engine.seed,
        spec=engine.judge.reading,
        accuracy=engine.judge.tolerance.name,
        environment=environment(backend.limits if isinstance(backend, IsolatedBackend) else None) | beside,
        strength=strength_of(engine.budget.name),
        repeat=engine.judge.repeat,
        executed=executed_levels(engine.plans),
        every_level=engine.every_level,
        networks=tuple(each.network for each in engine.networks),
    )


def describe_sweep(
    capabilities: Capabilities,
    setup: JudgeSetup,
    headers: Sequence[Header],
    digests: Sequence[str],
    shard: Shard,
) -> Campaign:
    """What judging corpora on a backend is about, before its first record.

    Args:
        capabilities: of the backend.
        setup: what it is judged by.
        headers: of the corpora; at least one.
        digests: of their lines, as far as they are known.
        shard: which part of them is run.
    """
    if shard == WHOLE and len({header.shard for header in headers}) == 1:
        shard = Shard(*headers[0].shard)  # that they were made as
    names, labels = {name for h in headers for name in h.operators}, {label for h in headers for label in h.levels}
    models = [header.model for header in headers if header.model]
    of_models = {MODELS: ", ".join(models)} if models else {}
    return _described(
        capabilities,
        operators=tuple(name for name in operators() if name in names),
        levels=tuple(level.label for level in Level if level.label in labels),
        budget=CORPUS_BUDGET,
        seed=headers[0].seed,
        spec=setup.reading,
        accuracy=setup.tolerance.name,
        environment=environment(setup.limits)
        | {"corpus": ", ".join(digests) or "standard input", "shard": str(shard)}
        | of_models,
        repeat=setup.repeat,
    )


def _described(capabilities: Capabilities, *, operators: tuple[str, ...], **more: Any) -> Campaign:
    return Campaign(
        backend=capabilities.as_json(),
        suite_version=suite_version(),
        operators=operators,
        started=utc_now(),
        rules=describe_rules(operators),
        **more,
    )
