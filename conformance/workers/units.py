"""Processes that judge the units of a campaign, several at a time; each has the backend in one more process.

The judge's processes run nothing of the backend's, so one that is lost was ended from outside; what it was at is judged
again by another.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.processes.backend import IsolatedBackend, give_up_after
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.losses import Loss
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.campaign.sweep import WorkerError
from dml_conformance.conformance.campaign.units import Unit, UnitJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers.messages import Losses
from dml_conformance.reports.encoded import EncodedRecord, decode_records, encode_records
from dml_conformance.spec.validator import Reading

UNITS_AHEAD = 4  # for each process: what it will do next is there before it is done
MOST_LOST = 20  # processes over the same unit; something ends them as fast as they start
OURS = ("spec", "strategies", "backends", "reports", "conformance")


@dataclass(frozen=True)
class JudgeSetup:
    """What a process needs to judge as `Judge` does.

    Attributes:
        backend: its name, as on the command line.
        limits: that each process of the backend is held to.
        claims: what the backend is held to.
        reading, digests_outputs, repeat: as of a judge.
    """

    backend: str
    limits: Limits
    claims: Capabilities
    reading: Reading
    digests_outputs: bool
    repeat: int

    @classmethod
    def of(cls, judge: Judge, limits: Limits) -> JudgeSetup:
        """What is needed to judge as another one does."""
        return cls(judge.backend_name, limits, judge.capabilities, judge.reading, judge.digests_outputs, judge.repeat)

    def judge(self) -> Judge:
        """Such a judge, on a new backend.

        Raises:
            BackendError: the backend cannot be had.
        """
        return Judge(
            IsolatedBackend(self.backend, self.limits),
            self.backend,
            self.reading,
            claims=self.claims,
            digests_outputs=self.digests_outputs,
            repeat=self.repeat,
        )


class _Outcome(NamedTuple):
    """What came of a unit.

    Attributes:
        records: MessagePack of a list of `EncodedRecord`.
        losses: of the backend's process meanwhile.
        given_up: why the rest was not judged; "" if all was.
        lost: processes, of those, that no record tells of.
    """

    records: bytes
    losses: Losses
    given_up: str
    lost: tuple[Loss, ...]


class _UnderWay(NamedTuple):
    """A unit that some process judges, or will."""

    unit: Unit
    outcome: Future[_Outcome]


class UnitWorkers:
    """Processes that judge the units of one campaign. They start when there is something to do.

    Args:
        setup: what they need.
        count: how many.

    Attributes:
        losses: how many of them were lost.
    """

    def __init__(self, setup: JudgeSetup, count: int) -> None:
        self.losses = 0
        self._setup = setup
        self._count = count
        self._crew = _Crew(setup, count)

    def judged(self, engine: Engine) -> Iterator[tuple[Unit, Iterator[EncodedRecord]]]:
        """The units of a campaign in order, each with its records, which are settled as they are asked for.

        Raises:
            BackendError: the backend cannot be had.
            GivenUp: the backend is not asked any more; raised by the records, too.
            WorkerError: processes were lost over the same unit again and again.
        """
        losses = Losses()
        for stage in engine.stages():
            for unit, outcome in self._outcomes(engine, stage):
                yield unit, _noted(engine, outcome)
                losses = losses.plus(outcome.losses)
                give_up_after(losses.lost, losses.timed_out)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._crew.close()

    def _outcomes(self, engine: Engine, stage: Iterable[Unit]) -> Iterator[tuple[Unit, _Outcome]]:
        """What came of those units of a stage that are wanted, in order."""
        units = filter(engine.wants, stage)
        under_way: deque[_UnderWay] = deque()
        while True:
            while len(under_way) < UNITS_AHEAD * self._count and (unit := next(units, None)) is not None:
                under_way.append(_UnderWay(unit, self._crew.submit(unit)))
            if not under_way:
                return
            if not engine.wants(under_way[0].unit):  # any more
                under_way.popleft().outcome.cancel()
                continue
            outcome = self._outcome(under_way)
            yield under_way.popleft().unit, outcome

    def _outcome(self, under_way: deque[_UnderWay]) -> _Outcome:
        """What came of the first unit under way, once more with other processes if these are lost."""
        for _ in range(MOST_LOST):
            try:
                return under_way[0].outcome.result()
            except (BrokenProcessPool, CancelledError):
                self.losses += 1
                self._crew.close()
                self._crew = _Crew(self._setup, self._count)
                for place, (unit, outcome) in enumerate(under_way):
                    if _is_lost(outcome):
                        under_way[place] = _UnderWay(unit, self._crew.submit(unit))
        raise WorkerError(
            f"{MOST_LOST} processes that judge were ended from outside over {under_way[0].unit.name!r}, such as by a "
            "system that ran out of memory; the run is incomplete, and --resume goes on with it"
        )


def _is_lost(outcome: Future[_Outcome]) -> bool:
    return not outcome.done() or outcome.cancelled() or isinstance(outcome.exception(), BrokenProcessPool)


def _noted(engine: Engine, outcome: _Outcome) -> Iterator[EncodedRecord]:
    for written in decode_records(outcome.records):
        yield engine.settled_written(written)
    if outcome.given_up:
        reason = GivenUp(outcome.given_up)
        reason.lost = outcome.lost
        raise reason


class _Crew:
    """Processes of which all are lost as soon as one is: what waits for one of them learns of it at once."""

    def __init__(self, setup: JudgeSetup, count: int) -> None:
        context = get_context("spawn")
        # The processes end when the other end of this is closed: by this one, or because it has gone.
        lifeline, self._end = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(
            count, context, initializer=_begin, initargs=(setup, lifeline, count > 1, _modules())
        )

    def submit(self, unit: Unit) -> Future[_Outcome]:
        """Have a unit judged; where the processes are lost, or cannot be started, the outcome says so."""
        try:
            return self._executor.submit(_judged, unit)
        except (BrokenProcessPool, OSError) as error:  # an OSError where a process was lost at this very moment, too
            lost: Future[_Outcome] = Future()
            lost.set_exception(BrokenProcessPool(str(error)))
            return lost

    def close(self) -> None:
        self._end.close()
        self._executor.shutdown(cancel_futures=True)


def _modules() -> list[str]:
    """Of ours, those that are loaded here.

    In a checkout, Hypothesis tries constants that it finds in the modules that are loaded; so that a search comes upon
    the same cases in every process, they are loaded in each.
    """
    return [name for name in list(sys.modules) if name.partition(".")[0] in OURS]


# What a process of a crew has; nothing in the others.
_setup: JudgeSetup
_units: UnitJudge | None = None


def _begin(setup: JudgeSetup, lifeline: Connection, shares_cores: bool, modules: Iterable[str]) -> None:
    """Make this process one of a crew."""
    global _setup
    _setup = setup
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, it goes to all; the one that collects ends the others
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    if shares_cores:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in modules:
        import_module(name)


def _end_with(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv()
    os._exit(1)


def _judged(unit: Unit) -> _Outcome:
    """Judge a unit in this process."""
    global _units
    if _units is None:
        _units = UnitJudge(_setup.judge())
    backend = _units.judge.backend
    assert isinstance(backend, IsolatedBackend)
    before = Losses(backend.losses, backend.timeouts)
    records = []
    given_up, lost = "", tuple[Loss, ...]()
    try:
        for record in _units.records(unit):
            records.append(record)
    except GivenUp as reason:
        given_up, lost = str(reason), reason.lost
    losses = Losses(backend.losses - before.lost, backend.timeouts - before.timed_out)
    return _Outcome(encode_records(records), losses, given_up, lost)
