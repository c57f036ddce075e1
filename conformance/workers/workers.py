"""Several processes that judge, each of which may be lost at any moment.

What a lost process was at is judged again. Where something else on the machine may have ended it, such as the system
out of memory, that is all there is to it; otherwise it is judged in quarantine, to find the case that is to blame.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.processes.losses import Loss, LossCause
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.judge.losses import records_with_losses
from dml_conformance.conformance.workers.executor import RemoteExecutor
from dml_conformance.conformance.workers.messages import (
    Assignment,
    Begin,
    Reply,
    Suspicion,
    TaskOutcome,
    WorkerClaims,
    WorkerFault,
    packed,
)
from dml_conformance.conformance.workers.process import WorkerLost, WorkerProcess
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import Task
from dml_conformance.reports.encoded import EncodedRecord, decode_records

TASKS_AHEAD = 3  # for each process, so that none waits for the one that reads and writes
SENT_AHEAD = 2  # tasks that a process has, the one that it is at included
MOST_STARTS = 3  # of a process, in a row
AGAIN_AS_BEFORE = 2  # times that a block whose process was ended from outside is judged as if it had not been
MOST_LOST = 10  # processes over one task
LONGEST_WAIT = 0.5  # seconds before an interrupt is seen, where a wait cannot be interrupted


@dataclass(order=True)
class PendingTask:
    """A task that is to be judged.

    Attributes:
        number: of all tasks, in order.
        task: itself.
        outcome: what came of it, when it has.
        quarantined: backends, by number, on which each case is judged alone.
        suspicions: against them.
        lost: processes lost over it.
        losses: these, each with the backend, by number, that it was in; None where it is not known.
    """

    number: int
    task: Task = field(compare=False)
    outcome: TaskOutcome | Exception | None = field(compare=False, default=None)
    quarantined: set[int] = field(compare=False, default_factory=set)
    suspicions: list[Suspicion] = field(compare=False, default_factory=list)
    lost: int = field(compare=False, default=0)
    losses: list[tuple[int | None, Loss]] = field(compare=False, default_factory=list)

    @property
    def assignment(self) -> Assignment:
        return Assignment(packed(self.task), tuple(sorted(self.quarantined)), tuple(self.suspicions))

    def with_losses(self, outcome: TaskOutcome) -> TaskOutcome:
        """The outcome, with the processes that were lost over it on record."""
        if not self.losses:
            return outcome
        records = [
            records_with_losses(content, [loss for of, loss in self.losses if of in (None, number)])
            for number, content in enumerate(outcome.records)
        ]
        return msgspec.structs.replace(outcome, records=tuple(records))

    def note(self, lost: WorkerLost, backends: int) -> None:
        """The process that was at it is gone, and had the backends in it.

        Args:
            lost: how.
            backends: how many there are.
        """
        backend = 0 if backends == 1 else lost.activity.backend
        self.losses.append((backend, lost.loss))
        if lost.from_outside and self.lost <= AGAIN_AS_BEFORE:
            return
        self.quarantined |= set(range(backends)) if backend is None else {backend}
        if not lost.from_outside and lost.cause is not LossCause.MEMORY_LIMIT:
            self.suspicions.append(Suspicion(backend, str(lost), lost.timed_out))


class Workers(RemoteExecutor[PendingTask]):
    """Processes of this machine that judge; each has backends of its own, and is replaced when it is lost.

    They start at once, and load the backends meanwhile.

    Args:
        setup: what they need.
        count: how many.
    """

    def __init__(self, setup: JudgeSetup, count: int) -> None:
        super().__init__(setup)
        self._count = count
        self._numbers = itertools.count()
        self._changed = threading.Condition()  # guards all that follows
        self._is_closing = False
        self._waiting: list[PendingTask] = []
        self._claims: dict[int, tuple[Capabilities, ...]] = {}
        self._error: Exception | None = None
        self._loose: list[tuple[int | None, Loss]] = []  # lost over no task; the next one that is done tells of them
        # The cores are shared out among several processes already.
        environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")} if count > 1 else {}
        self._seats = [_Seat(self, setup.at(place), place, environment) for place in range(count)]
        for seat in self._seats:
            seat.start()

    @property
    def pids(self) -> list[int]:
        """The processes at this moment."""
        with self._changed:
            return [seat.process.pid for seat in self._seats if seat.process is not None]

    def capabilities(self) -> list[Capabilities]:
        """What each backend claims; waits until it is loaded. Where there are several devices, all are named.

        Raises:
            BackendError: a backend cannot be had.
            WorkerError: no process could be started.
        """
        places = min(len(self.setup.places) or 1, len(self._seats))
        with self._changed:
            while not all(place in self._claims for place in range(places)):
                self._raise_error()
                self._changed.wait(LONGEST_WAIT)
            claims = [self._claims[place] for place in range(places)]
        return [
            _together(name, own) if self.setup.places else own[0]
            for name, own in zip(self.setup.backends, zip(*claims, strict=True), strict=True)
        ]

    def judge(self, task: Task, *, quarantine: bool = False) -> TaskOutcome:
        """Judge one task; several threads may ask at the same time. Errors as for `encoded`.

        Args:
            task: the task.
            quarantine: judge each case alone from the start, on backends in processes of their own.
        """
        pending = self._submit(task, quarantine=quarantine)
        try:
            return self._waited_for(pending)
        finally:
            self._let_go([pending])

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        with self._changed:
            self._is_closing = True
            for seat in self._seats:
                if seat.is_busy and seat.process is not None:
                    seat.process.kill()
            self._changed.notify_all()
        for seat in self._seats:
            seat.join()

    def _most_under_way(self) -> int:
        return TASKS_AHEAD * self._count

    def _submit(self, task: Task, *, quarantine: bool = False) -> PendingTask:
        pending = PendingTask(next(self._numbers), task)
        if quarantine:
            pending.quarantined.update(range(len(self.setup.backends)))
        with self._changed:
            heapq.heappush(self._waiting, pending)
            self._changed.notify_all()
        return pending

    def _outcome(self, task: Task, pending: PendingTask) -> tuple[TaskOutcome, list[list[EncodedRecord]]]:
        outcome = self._waited_for(pending)
        return outcome, [decode_records(records) for records in outcome.records]

    def _waited_for(self, pending: PendingTask) -> TaskOutcome:
        with self._changed:
            while pending.outcome is None:
                self._raise_error()
                self._changed.wait(LONGEST_WAIT)
        if isinstance(pending.outcome, Exception):
            raise pending.outcome
        return pending.outcome

    def _let_go(self, pending: Sequence[PendingTask]) -> None:
        unwanted = {each.number for each in pending}
        with self._changed:
            self._waiting = [each for each in self._waiting if each.number not in unwanted]
            heapq.heapify(self._waiting)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    # What the seats' threads call.

    def take(self, seat: _Seat) -> bool:
        """Give a seat what it is to do, and wait until there is something. Returns whether it is to go on."""
        held = seat.held
        with self._changed:
            seat.is_busy = False
            while not self._is_closing:
                if self._waiting and (not held or self._is_worth_sending(held)):
                    held.append(heapq.heappop(self._waiting))
                elif held:
                    seat.is_busy = True
                    return True
                else:
                    self._changed.wait()
            return False

    def _is_worth_sending(self, held: Sequence[PendingTask]) -> bool:
        """Whether a seat that has something to do should have the next task at hand too."""
        free = sum(not seat.held for seat in self._seats)
        # What may take long has nothing waiting behind it.
        is_slow = self.setup.isolated or any(task.quarantined for task in (*held, self._waiting[0]))
        return len(held) < SENT_AHEAD and len(self._waiting) > free and not is_slow

    def begin(self, seat: _Seat, process: WorkerProcess) -> bool:
        """A seat has another process. Returns whether it is to go on."""
        with self._changed:
            seat.process = process
            seat.is_busy = True
            return not self._is_closing

    def done(self, seat: _Seat, outcome: TaskOutcome | Exception) -> None:
        """A seat is done with the first task that it has."""
        with self._changed:
            task = seat.held.popleft()
            task.losses += self._loose
            self._loose.clear()
            task.outcome = outcome if isinstance(outcome, Exception) else task.with_losses(outcome)
            self._changed.notify_all()

    def loaded(self, place: int, claims: tuple[Capabilities, ...]) -> None:
        """The backends of a place are there."""
        with self._changed:
            self._claims[place] = claims
            self._changed.notify_all()

    def failed(self, error: Exception) -> None:
        """A seat cannot go on, and so the whole."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def lost(self, seat: _Seat, lost: WorkerLost) -> None:
        """The process of a seat is gone: what it was at will be judged again, by whatever process comes first."""
        with self._changed:
            seat.process = None
            if self._is_closing:
                return
            self.losses[lost.how] += 1
            if not seat.held and not self.setup.isolated:
                self._loose.append((None, lost.loss))
            if seat.held:
                task = seat.held[0]
                task.lost += 1
                if not self.setup.isolated:  # otherwise no backend was in it, and nothing of one is lost
                    task.note(lost, len(self.setup.backends))
                if task.lost >= MOST_LOST:
                    more = ", and --resume goes on with it" if self.setup.isolated else ""
                    task.outcome = WorkerError(
                        f"{task.lost} worker processes were lost over {task.task}, the last one {lost}; the run is "
                        f"incomplete{more}"
                    )
                    seat.held.popleft()
            for task in seat.held:
                heapq.heappush(self._waiting, task)
            seat.held.clear()
            self._changed.notify_all()


class _Seat(threading.Thread):
    """Has a process, and another one when that is lost; everything that is said to a process is said by this thread.

    Attributes:
        process: the one that it has at the moment.
        held: what that was sent and has not answered yet.
        is_busy: whether it waits for the process.
    """

    def __init__(self, workers: Workers, setup: JudgeSetup, place: int, environment: dict[str, str]) -> None:
        super().__init__(name=f"worker {place + 1}", daemon=True)
        self.process: WorkerProcess | None = None
        self.held: deque[PendingTask] = deque()
        self.is_busy = True
        self._workers, self._setup, self._place, self._environment = workers, setup, place, environment
        self._sent = 0  # of what is held

    def run(self) -> None:
        try:
            self._load()
            while self._workers.take(self):
                try:
                    self._work()
                except WorkerLost as lost:
                    self._workers.lost(self, lost)
        except OSError as error:
            self._workers.failed(WorkerError(f"no worker process can be started: {error}"))
        except Exception as error:
            self._workers.failed(error)
        finally:
            if self.process is not None:
                self.process.close()

    def _start(self, *, loads: bool) -> WorkerProcess | None:
        """Another process; None where it is not needed any more."""
        process = WorkerProcess(self._setup.limits, self._environment)
        if not self._workers.begin(self, process):
            return None
        process.send(Begin(self._setup, loads))
        return process

    def _load(self) -> None:
        """Start the first process, which loads the backends.

        Raises:
            BackendError: they cannot be had.
            WorkerError: it was lost from outside, and so were those after it.
        """
        for _ in range(MOST_STARTS):
            process = self._start(loads=True)
            if process is None:
                return
            try:
                reply = process.receive()
            except WorkerLost as lost:
                self._workers.lost(self, lost)
                if not lost.from_outside:
                    name = self._setup.loaded_names[lost.activity.backend or 0]
                    raise BackendError(f"backend {name!r} cannot be made: its process {lost}") from None
                last = lost
                continue
            if isinstance(reply, WorkerClaims):
                self._workers.loaded(self._place, reply.capabilities)
                return
            raise error_of(reply)
        raise WorkerError(f"{MOST_STARTS} worker processes were lost while they started, the last one {last}")

    def _work(self) -> None:
        """Have the process do what there is, until the first of it is done.

        Raises:
            WorkerLost: it did not.
        """
        if self.process is None:
            self._sent = 0
        process = self.process or self._start(loads=False)
        if process is None:
            return
        process.holds_backends = not self._setup.isolated and len(self.held[0].quarantined) < len(self._setup.backends)
        for task in islice(self.held, self._sent, None):
            process.send(task.assignment)
        self._sent = len(self.held)
        reply = process.receive()
        self._sent -= 1
        self._workers.done(self, reply if isinstance(reply, TaskOutcome) else error_of(reply))


def error_of(reply: Reply) -> Exception:
    """What to raise over an answer that was not hoped for."""
    if not isinstance(reply, WorkerFault):
        return WorkerError(f"a worker process answered out of turn, with {type(reply).__name__}")
    for kind in (BackendError, CorpusError):
        if reply.kind == kind.__name__:
            return kind(reply.text)
    return WorkerError(f"a worker process failed: {reply.kind}: {reply.text}; --in-process shows where")


def _together(name: str, claims: Sequence[Capabilities]) -> Capabilities:
    """What a backend claims on several devices, under the name that it was asked for by.

    Levels, operators and categories are those of all of them: what one device does not do is found when it is asked.
    """
    devices = Counter(each.device for each in claims)
    told = ", ".join(f"{count} x {device}" if count > 1 else device for device, count in devices.items())
    return msgspec.structs.replace(claims[0], name=name, device=told)
