"""Several processes that judge blocks, each of which may be lost at any moment.

What a lost process was at is judged again. Where something else on the machine may have ended it, such as the system
out of memory, that is all there is to it; otherwise it is judged carefully, to find the case that is to blame. Either
way every block is judged and passed on in order, so that what comes out does not depend on how many processes there
are, nor on how many of them were lost.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.processes.losses import Loss, LossCause
from dml_conformance.conformance.campaign.sweep import Block, Setup, WorkerError
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.judge.losses import records_with_losses
from dml_conformance.conformance.workers.block_executor import Elsewhere
from dml_conformance.conformance.workers.messages import Begin, Failed, Judged, Loaded, Losses, Reply, Suspicion, Work
from dml_conformance.conformance.workers.process import Lost, WorkerProcess
from dml_conformance.reports.encoded import EncodedRecord, decode_records

BLOCKS_AHEAD = 3  # for each process, so that none waits for the one that reads and writes
SENT_AHEAD = 2  # blocks that a process has, the one that it is at included
MOST_STARTS = 3  # of a process, in a row
AGAIN_AS_BEFORE = 2  # times that a block whose process was ended from outside is judged as if it had not been
MOST_LOST = 10  # processes over one block
LONGEST_WAIT = 0.5  # seconds before an interrupt is seen, where a wait cannot be interrupted


@dataclass(order=True)
class _Task:
    """A block that is to be judged.

    Attributes:
        number: of all tasks, in order.
        block: the cases.
        outcomes: where the outcome goes, by number.
        carefully: backends, by number, on which each case is judged alone.
        suspicions: against them.
        lost: processes lost over it.
        losses: these, each with the backend, by number, that it was in; None where it is not known.
    """

    number: int
    block: Block = field(compare=False)
    outcomes: dict[int, Judged | Exception] = field(compare=False)
    carefully: set[int] = field(compare=False, default_factory=set)
    suspicions: list[Suspicion] = field(compare=False, default_factory=list)
    lost: int = field(compare=False, default=0)
    losses: list[tuple[int | None, Loss]] = field(compare=False, default_factory=list)

    @property
    def work(self) -> Work:
        return Work(self.number, self.block, tuple(sorted(self.carefully)), tuple(self.suspicions))

    def told(self, judged: Judged) -> Judged:
        """The outcome, with the processes that were lost over it on record."""
        if not self.losses:
            return judged
        records = [
            records_with_losses(content, [loss for of, loss in self.losses if of in (None, number)])
            for number, content in enumerate(judged.records)
        ]
        return msgspec.structs.replace(judged, records=tuple(records))

    def note(self, lost: Lost, backends: int) -> None:
        """The process that was at it is gone.

        Args:
            lost: how.
            backends: how many there are.
        """
        self.lost += 1
        self.losses.append((0 if backends == 1 else lost.state.backend, lost.loss))
        if lost.ending.from_outside and self.lost <= AGAIN_AS_BEFORE:
            return
        backend = 0 if backends == 1 else lost.state.backend
        self.carefully |= set(range(backends)) if backend is None else {backend}
        if not lost.ending.from_outside and lost.ending.cause is not LossCause.MEMORY_LIMIT:
            self.suspicions.append(Suspicion(backend, str(lost), lost.ending.timed_out))


class Workers(Elsewhere):
    """Processes that judge blocks as `InProcess` does; each has backends of its own, and is replaced when it is lost.

    They start at once, and load the backends meanwhile.

    Args:
        setup: what they need.
        count: how many.

    Attributes:
        losses: how many processes were lost, by how they ended.
        given_up: why the last blocks were not all judged; "" if they were.
    """

    def __init__(self, setup: Setup, count: int) -> None:
        super().__init__(setup)
        self.losses: Counter[str] = Counter()
        self._most_under_way = BLOCKS_AHEAD * count
        self._numbers = itertools.count()
        self._changed = threading.Condition()  # guards all that follows
        self._is_closing = False
        self._waiting: list[_Task] = []
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
        places = min(len(self._setup.places) or 1, len(self._seats))
        with self._changed:
            while not all(place in self._claims for place in range(places)):
                self._raise_error()
                self._changed.wait(LONGEST_WAIT)
            claims = [self._claims[place] for place in range(places)]
        return [
            _together(name, own) if self._setup.places else own[0]
            for name, own in zip(self._setup.backends, zip(*claims, strict=True), strict=True)
        ]

    def written(self, blocks: Iterable[Block]) -> Iterator[list[list[EncodedRecord]]]:
        """For each backend the records of each block, in order; a few blocks are taken ahead for each process.

        It ends early, and `given_up` says why, where a backend took down too many processes of its own.

        Raises:
            BackendError: a backend cannot be had.
            CorpusError: a line is not as it was written.
            WorkerError: processes were lost over the same block again and again, or one had a fault of its own.
        """
        self.given_up = ""
        losses = [Losses()] * len(self._setup.backends)
        under_way: deque[int] = deque()
        outcomes: dict[int, Judged | Exception] = {}
        blocks = iter(blocks)
        try:
            while True:
                while len(under_way) <= self._most_under_way and (block := next(blocks, None)) is not None:
                    under_way.append(self._submit(block, outcomes))
                if not under_way:
                    return
                judged = self._outcome(under_way.popleft(), outcomes)
                yield [decode_records(records) for records in judged.records]
                if self._gives_up(losses, judged):
                    return
        finally:
            self._forget(outcomes)

    def judge(self, block: Block, *, carefully: bool = False) -> Judged:
        """Judge one block; several threads may ask at the same time. Errors as for `written`.

        Args:
            block: the cases.
            carefully: judge each alone from the start, on backends in processes of their own.
        """
        outcomes: dict[int, Judged | Exception] = {}
        try:
            return self._outcome(self._submit(block, outcomes, carefully=carefully), outcomes)
        finally:
            self._forget(outcomes)

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

    def _submit(self, block: Block, outcomes: dict[int, Judged | Exception], *, carefully: bool = False) -> int:
        task = _Task(next(self._numbers), block, outcomes)
        if carefully:
            task.carefully.update(range(len(self._setup.backends)))
        with self._changed:
            heapq.heappush(self._waiting, task)
            self._changed.notify_all()
        return task.number

    def _outcome(self, number: int, outcomes: dict[int, Judged | Exception]) -> Judged:
        with self._changed:
            while number not in outcomes:
                self._raise_error()
                self._changed.wait(LONGEST_WAIT)
        outcome = outcomes.pop(number)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _forget(self, outcomes: dict[int, Judged | Exception]) -> None:
        """Nobody waits for these any more."""
        with self._changed:
            self._waiting = [task for task in self._waiting if task.outcomes is not outcomes]
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

    def _is_worth_sending(self, held: Sequence[_Task]) -> bool:
        """Whether a seat that has something to do should have the next task at hand too."""
        free = sum(not seat.held for seat in self._seats)
        careful = any(task.carefully for task in (*held, self._waiting[0]))  # may take long: nothing waits behind it
        return len(held) < SENT_AHEAD and len(self._waiting) > free and not careful

    def begin(self, seat: _Seat, process: WorkerProcess) -> bool:
        """A seat has another process. Returns whether it is to go on."""
        with self._changed:
            seat.process = process
            seat.is_busy = True
            return not self._is_closing

    def done(self, seat: _Seat, outcome: Judged | Exception) -> None:
        """A seat is done with the first task that it has."""
        with self._changed:
            task = seat.held.popleft()
            task.losses += self._loose
            self._loose.clear()
            task.outcomes[task.number] = outcome if isinstance(outcome, Exception) else task.told(outcome)
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

    def lost(self, seat: _Seat, lost: Lost) -> None:
        """The process of a seat is gone: what it was at will be judged again, by whatever process comes first."""
        with self._changed:
            seat.process = None
            if self._is_closing:
                return
            self.losses[lost.ending.how] += 1
            if not seat.held:
                self._loose.append((None, lost.loss))
            if seat.held:
                task = seat.held[0]
                task.note(lost, len(self._setup.backends))
                if task.lost >= MOST_LOST:
                    task.outcomes[task.number] = WorkerError(
                        f"{task.lost} worker processes were lost over the same {len(task.block.numbers)} cases, "
                        f"the last one {lost}; the run is incomplete"
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

    def __init__(self, workers: Workers, setup: Setup, place: int, environment: dict[str, str]) -> None:
        super().__init__(name=f"worker {place + 1}", daemon=True)
        self.process: WorkerProcess | None = None
        self.held: deque[_Task] = deque()
        self.is_busy = True
        self._workers, self._setup, self._place, self._environment = workers, setup, place, environment
        self._sent = 0  # of what is held

    def run(self) -> None:
        try:
            self._load()
            while self._workers.take(self):
                try:
                    self._work()
                except Lost as lost:
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
            except Lost as lost:
                self._workers.lost(self, lost)
                if not lost.ending.from_outside:
                    name = self._setup.loaded_names[lost.state.backend or 0]
                    raise BackendError(f"backend {name!r} cannot be made: its process {lost}") from None
                last = lost
                continue
            if isinstance(reply, Loaded):
                self._workers.loaded(self._place, reply.capabilities)
                return
            raise error_of(reply)
        raise WorkerError(f"{MOST_STARTS} worker processes were lost while they started, the last one {last}")

    def _work(self) -> None:
        """Have the process do what there is, until the first of it is done.

        Raises:
            Lost: it did not.
        """
        if self.process is None:
            self._sent = 0
        process = self.process or self._start(loads=False)
        if process is None:
            return
        process.holds_backends = len(self.held[0].carefully) < len(self._setup.backends)
        for task in islice(self.held, self._sent, None):
            process.send(task.work)
        self._sent = len(self.held)
        reply = process.receive()
        self._sent -= 1
        self._workers.done(self, reply if isinstance(reply, Judged) else error_of(reply))


def error_of(reply: Reply) -> Exception:
    """What to raise over an answer that was not hoped for."""
    if not isinstance(reply, Failed):
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
