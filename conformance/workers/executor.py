"""The one way to have tasks judged: a task is submitted, and its outcome comes; where the process that was at it is
lost, it is submitted again. Who judges is an implementation: this process, or others of this machine.

Outcomes come in any order and are told in that of the tasks. So what comes out does not depend on how many processes
there are, nor on how many of them were lost; and no task holds up the others, however long it takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.heap import keep_freed_memory
from dml_conformance.backends.processes.backend import why_given_up
from dml_conformance.backends.processes.errors import GivenUp, ProcessLost
from dml_conformance.backends.processes.losses import LossTally
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers.setup import WorkerError
from dml_conformance.conformance.workers.tasks import (
    CaseBlock,
    CaseMaking,
    JudgedTask,
    MadeCases,
    Task,
    TaskJudge,
    TaskOutcome,
    Work,
    WorkOutcome,
)
from dml_conformance.reports.model.costs import Costs, Part, Stopwatch
from dml_conformance.reports.model.stream import Consumer

TASKS_AHEAD = 4  # for each that judges, so that none waits
MOST_LOST = 3  # processes over one task
MOST_HELD = 2**28  # bytes of records that wait for those of a task before them
MOST_PLAIN = 2**26  # of these that are not compressed
LONGEST_WAIT = 0.5  # seconds before an interrupt is seen, where a wait cannot be interrupted


class Executor(ABC):
    """Judges tasks on one or several backends.

    Args:
        backends: names, as on the command line.

    Attributes:
        losses: how many processes that judge were lost, by how they ended.
        costs: of the tasks that were told.
    """

    def __init__(self, backends: Sequence[str]) -> None:
        self.backends = backends
        self.losses: Counter[str] = Counter()
        self.costs = Costs()

    @abstractmethod
    def capabilities(self) -> list[Capabilities]:
        """What each backend claims; waits until it is loaded.

        Raises:
            BackendError: a backend cannot be had.
            WorkerError: no process could be started.
        """

    @property
    @abstractmethod
    def most_open(self) -> int:
        """How many tasks to have submitted that are not judged yet, so that nobody who judges waits for the next."""

    @property
    def most_ahead(self) -> int:
        """Bytes of the tensors of the cases that are begun ahead of others at a time; 0 where none is."""
        return 0

    @abstractmethod
    def submit(self, task: Work) -> Future[WorkOutcome]:
        """Have cases made, or a task judged.

        Returns:
            What comes of it, MadeCases or a TaskOutcome. It raises ProcessLost where the process that was at it is
            gone, and CorpusError, BackendError, WorkerError or what else ends the run. One that waits can be cancelled.
        """

    def prepared(self, tasks: Iterable[Work]) -> Iterable[Work]:
        """What to submit of these: themselves, or blocks in the place of cases to be made."""
        return tasks

    @abstractmethod
    def close(self) -> None:
        """End whatever was started."""

    def feed(
        self,
        tasks: Iterable[Work],
        streams: Sequence[Consumer],
        wants: Callable[[Work], bool] = lambda _: True,
        ahead: Iterable[CaseMaking] = (),
    ) -> None:
        """Judge tasks, and tell the stream of each backend: records in order, and a mark after each task.

        Args:
            tasks: in order; some may be taken ahead of those whose records are still to come.
            streams: of the backends.
            wants: whether a task is wanted, asked before it is submitted, and again when all records before it have
                been told.
            ahead: those of the tasks that are begun first, the largest of their cases before the others, as no other
                has to wait for one that takes long then; so many at a time as `most_ahead` says.

        Raises:
            GivenUp: not all were judged, as a backend took down too many processes of its own.
            BackendError: a backend cannot be had.
            CorpusError: a line is not as it was written.
            WorkerError: processes were lost over the same task again and again, or one had a fault of its own.
        """
        losses = [LossTally()] * len(streams)
        for task, outcome in self.outcomes(tasks, wants, ahead):
            given_up = self._first_reason(judged.given_up for judged in outcome.backends)
            for stream, judged in zip(streams, outcome.backends, strict=True):
                self._tell(stream, judged)
                if not given_up:
                    stream.mark(task.name)
            losses = [before.plus(judged.losses) for before, judged in zip(losses, outcome.backends, strict=True)]
            if reason := given_up or self._first_reason(map(why_given_up, losses)):
                raise GivenUp(reason, tuple(loss for judged in outcome.backends for loss in judged.unrecorded))

    def _tell(self, stream: Consumer, judged: JudgedTask) -> None:
        watch, last = Stopwatch(), None
        with watch(Part.REPORT):
            for last in judged.decoded():
                stream.record(last)
        if last is not None:
            self.costs.add(last.traits.phase, last.traits.operator, judged.spent | watch.seconds)

    def outcomes(
        self,
        tasks: Iterable[Work],
        wants: Callable[[Work], bool] = lambda _: True,
        ahead: Iterable[CaseMaking] = (),
    ) -> Iterator[tuple[Task, TaskOutcome]]:
        """The tasks in order, each with what came of it; arguments and errors as of `feed`."""
        window = _Window(self, tasks, wants, ahead)
        try:
            while (task := window.first()) is not None:
                if wants(task):
                    yield window.outcome()
                else:
                    window.drop()
        finally:
            window.close()

    def _first_reason(self, reasons: Iterable[str]) -> str:
        """The first of the backends' reasons to give up, with its name where there are several; "" if there is none."""
        named = ((name, reason) for name, reason in zip(self.backends, reasons, strict=True) if reason)
        return next((f"{name}: {reason}" if len(self.backends) > 1 else reason for name, reason in named), "")


@dataclass(eq=False)
class _OpenTask:
    """A task of the window.

    Attributes:
        task: itself.
        outcome: what comes of it in the end; cancelled where nobody wants to know.
        submitted: what comes of it this time; None before it is submitted.
        lost: processes lost over it.
        size: bytes of its records.
        is_ahead: whether it is begun ahead of others.
    """

    task: Work
    outcome: Future[WorkOutcome] = field(default_factory=Future)
    submitted: Future[WorkOutcome] | None = None
    lost: int = 0
    size: int = 0
    is_ahead: bool = False

    @property
    def weight(self) -> int:
        """Of how many tasks it has the place, as it may become many blocks; ahead of the others it takes none."""
        if self.is_ahead:
            return 0
        return TASKS_AHEAD if isinstance(self.task, CaseMaking) else 1

    @property
    def needed(self) -> int:
        """Bytes of the tensors of its cases, where it is begun ahead."""
        return self.task.needed if self.is_ahead and isinstance(self.task, CaseBlock) else 0


class _Window:
    """The tasks whose records are still to be told, in order.

    In the place of cases that are being made come their blocks when they are there.

    Args:
        executor: judges them.
        tasks: are taken as they are needed.
        wants, ahead: see `Executor.feed`.
    """

    def __init__(
        self,
        executor: Executor,
        tasks: Iterable[Work],
        wants: Callable[[Work], bool],
        ahead: Iterable[CaseMaking] = (),
    ) -> None:
        self._executor, self._wants = executor, wants
        self._tasks = filter(wants, executor.prepared(filter(wants, tasks)))
        self._window: deque[_OpenTask] = deque()
        self._waiting: deque[_OpenTask] = deque()  # blocks that are made and not submitted, some told before that
        self._finished: SimpleQueue[_OpenTask] = SimpleQueue()
        self._open = self._untold = self._held = 0
        self._most_ahead = executor.most_ahead
        # What is begun ahead, by the name of the task whose place in the window it will have; of it, what is not
        # submitted, the largest first; and the bytes of what is, and is not through.
        begun_first = filter(wants, ahead if self._most_ahead else ())
        self._ahead = {task.name: deque([_OpenTask(task, is_ahead=True)]) for task in begun_first}
        self._not_begun = [opened for begun in self._ahead.values() for opened in begun]
        self._needed = 0

    def first(self) -> Task | None:
        """The first task whose records are to be told; None where there is no more."""
        while not self._finished.empty():
            self._take()
        self._fill(lambda: self._untold)
        while self._window:
            first = self._window[0]
            if not isinstance(first.task, CaseMaking):
                return first.task
            if first.outcome.done():
                first.outcome.result()  # raises what went wrong
            self._wait()
        return None

    def outcome(self) -> tuple[Task, TaskOutcome]:
        """The first task and its outcome, which is waited for; it is told then."""
        first = self._window[0]
        if first.submitted is None:
            self._submit(first)
        while not first.outcome.done():  # meanwhile the others go on
            self._wait()
        self._window.popleft()
        self._untold -= first.weight
        self._held -= first.size
        task, outcome = first.task, first.outcome.result()
        assert not isinstance(task, CaseMaking)
        assert isinstance(outcome, TaskOutcome)
        return task, outcome

    def drop(self) -> None:
        """Have done with the first task, whatever comes of it."""
        first = self._window.popleft()
        self._held -= first.size
        first.outcome.cancel()
        if first.submitted is not None:
            self._untold -= first.weight
            first.submitted.cancel()

    def close(self) -> None:
        """Nobody waits for any of them any more."""
        for begun in self._ahead.values():
            self._window += begun
        while self._window:
            self.drop()

    def _wait(self) -> None:
        self._fill(lambda: self._open)
        self._take()

    def _fill(self, count: Callable[[], int]) -> None:
        """Submit tasks, until there are as many as may be open.

        Args:
            count: of those that are there. While the first is waited for that is all open ones; otherwise those count
                too that are through, as whoever tells of them is slower than those who judge.
        """
        while (opened := self._next_ahead()) is not None:
            self._submit(opened)
        while count() < self._executor.most_open and self._held < MOST_HELD:
            opened = self._next()
            if opened is None:
                return
            self._submit(opened)

    def _next(self) -> _OpenTask | None:
        while self._waiting:
            opened = self._waiting.popleft()
            if opened.submitted is None and not opened.outcome.cancelled():
                return opened
        for task in self._tasks:
            begun = self._ahead.pop(task.name, None)
            if begun is None:
                self._window.append(opened := _OpenTask(task))
                return opened
            self._window += begun
        return None

    def _next_ahead(self) -> _OpenTask | None:
        """The largest to be begun ahead, as soon as there is room for it; whatever its size, where no other is begun.

        None that is smaller takes its room: it would be the last to begin, and the others would wait for it in the end.
        What needs no room comes first.
        """
        room = self._most_ahead - self._needed if self._needed else inf
        while self._not_begun:
            place = 0 if self._not_begun[-1].needed else -1
            if self._not_begun[place].needed > room:
                break
            opened = self._not_begun.pop(place)
            if opened.submitted is None and not opened.outcome.cancelled():
                return opened
        return None

    def _submit(self, opened: _OpenTask) -> None:
        if opened.submitted is None:
            self._untold += opened.weight
        self._open += opened.weight
        self._needed += opened.needed
        opened.submitted = self._executor.submit(opened.task)
        opened.submitted.add_done_callback(lambda _: self._finished.put(opened))

    def _take(self) -> None:
        """Take in a task that is judged, or whose process was lost; waits for one, but not for long."""
        try:
            opened = self._finished.get(timeout=LONGEST_WAIT)
        except Empty:
            return
        self._open -= opened.weight
        self._needed -= opened.needed
        if opened.outcome.cancelled() or opened.submitted is None:
            return
        error = opened.submitted.exception()
        if isinstance(error, ProcessLost):
            self._executor.losses[error.how] += 1
            opened.lost += 1
            if opened.lost < MOST_LOST:
                self._submit(opened)
                return
            error = WorkerError(
                f"{opened.lost} worker processes were lost over {opened.task}, the last one {error}; the run is "
                "incomplete, and --resume goes on with it"
            )
        if error is not None:
            opened.outcome.set_exception(error)
            return
        outcome = opened.submitted.result()
        if isinstance(outcome, TaskOutcome) and self._held > MOST_PLAIN:
            outcome = outcome.compressed()
        opened.outcome.set_result(outcome)
        opened.submitted = opened.outcome  # and nothing holds what it was before it was compressed
        if isinstance(opened.task, CaseMaking):
            assert isinstance(outcome, MadeCases)
            self._executor.costs.add(opened.task.phase, opened.task.operator, outcome.spent)
            self._replace(opened, opened.task.blocks(outcome))
        else:
            assert isinstance(outcome, TaskOutcome)
            opened.size = outcome.size
            opened.task = opened.task.emptied()
            self._held += opened.size

    def _replace(self, making: _OpenTask, blocks: Iterable[CaseBlock]) -> None:
        """Have the wanted blocks in the place of the task that made them."""
        window = self._ahead.get(making.task.name, self._window)
        place = window.index(making)
        del window[place]
        self._untold -= making.weight
        for n, block in enumerate(filter(self._wants, blocks)):
            window.insert(place + n, opened := _OpenTask(block, is_ahead=making.is_ahead))
            (self._not_begun if making.is_ahead else self._waiting).append(opened)
        if making.is_ahead:
            self._not_begun.sort(key=lambda opened: opened.needed, reverse=True)


class InProcess(Executor):
    """Judges tasks in this process, each as it is submitted.

    Args:
        judges: of the backends.
        one_by_one: execute every case alone, also on a backend that takes batches.
    """

    def __init__(self, judges: Sequence[Judge], *, one_by_one: bool = False) -> None:
        super().__init__([judge.backend_name for judge in judges])
        keep_freed_memory()
        self._judges = [TaskJudge(judge, one_by_one=one_by_one) for judge in judges]

    def capabilities(self) -> list[Capabilities]:
        return [each.judge.capabilities for each in self._judges]

    @property
    def most_open(self) -> int:
        return 1

    def prepared(self, tasks: Iterable[Work]) -> Iterator[Work]:
        """Cases are made when the first of them is wanted; there is no other process to pack them for."""
        watch = Stopwatch()
        for task in tasks:
            if not isinstance(task, CaseMaking):
                yield task
                continue
            with watch(Part.MAKE):
                blocks = list(task.blocks())
            self.costs.add(task.phase, task.operator, watch.taken())
            yield from blocks

    def submit(self, task: Work) -> Future[WorkOutcome]:
        future: Future[WorkOutcome] = Future()
        try:
            future.set_result(self.judge(task))
        except Exception as error:
            future.set_exception(error)
        return future

    def judge(self, task: Work) -> WorkOutcome:
        """What comes of a task.

        Raises:
            CorpusError: a line is not as it was written.
        """
        if isinstance(task, CaseMaking):
            return task.made()
        if len(self._judges) > 1:
            task = task.read()  # once for all
        return TaskOutcome(tuple(judge.judged(task) for judge in self._judges))

    def close(self) -> None:
        """Nothing: there is nothing to end."""
