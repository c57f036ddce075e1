"""The one way to have tasks judged, in this process, in others of this machine or on those of a cluster.

Whichever it is, the records of each task come in order, so that what comes out does not depend on how many processes
there are, nor on how many of them were lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.processes.backend import why_given_up
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import Loss, LossTally
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers.messages import TaskOutcome
from dml_conformance.conformance.workers.quarantine import too_many
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import Task, TaskJudge
from dml_conformance.reports.encoded import EncodedRecord
from dml_conformance.reports.stream import Consumer

_P = TypeVar("_P")


def _always(_: Task) -> bool:
    return True


class BlockExecutor(ABC):
    """Judges tasks on one or several backends.

    Attributes:
        given_up: why the last tasks were not all judged; "" if they were.
        unrecorded: processes that were lost over that, and that no record tells of.
        losses: how many processes that judge were lost, by how they ended.
    """

    def __init__(self) -> None:
        self.given_up = ""
        self.unrecorded: tuple[Loss, ...] = ()
        self.losses: Counter[str] = Counter()

    @abstractmethod
    def capabilities(self) -> list[Capabilities]:
        """What each backend claims; waits until it is loaded.

        Raises:
            BackendError: a backend cannot be had.
        """

    @abstractmethod
    def feed(self, tasks: Iterable[Task], streams: Sequence[Consumer], wants: Callable[[Task], bool] = _always) -> str:
        """Judge tasks, and tell the stream of each backend: records in order, and a mark after each task.

        Args:
            tasks: in order; some may be taken ahead of those whose records are still to come.
            streams: of the backends.
            wants: whether a task that was taken ahead is wanted, asked when all records before it have been told.

        Returns:
            Why not all were judged; "" if they were.
        """

    @abstractmethod
    def close(self) -> None:
        """End whatever was started."""


class InProcess(BlockExecutor):
    """Judges tasks in this process.

    Args:
        judges: of the backends.
        one_by_one: execute every case alone, also on a backend that takes batches.
    """

    def __init__(self, judges: Sequence[Judge], *, one_by_one: bool = False) -> None:
        super().__init__()
        self._judges = [TaskJudge(judge, one_by_one=one_by_one) for judge in judges]

    def capabilities(self) -> list[Capabilities]:
        return [each.judge.capabilities for each in self._judges]

    def feed(self, tasks: Iterable[Task], streams: Sequence[Consumer], wants: Callable[[Task], bool] = _always) -> str:
        """As `BlockExecutor` has it, record by record; tasks are taken as they are needed.

        Raises:
            CorpusError: a line is not as it was written.
        """
        self.given_up, self.unrecorded = "", ()
        for task in filter(wants, tasks):
            read = task.read()
            for judge, stream in zip(self._judges, streams, strict=True):
                try:
                    for record in judge.records(read):
                        stream.record(record)
                except GivenUp as reason:
                    self.given_up, self.unrecorded = str(reason), reason.lost
                    return self.given_up
            for stream in streams:
                stream.mark(task.name)
        return ""

    def close(self) -> None:
        """Nothing: there is nothing to end."""


class RemoteExecutor(BlockExecutor, Generic[_P]):
    """Judges tasks in other processes, of which any may be lost; records come back encoded.

    Args:
        setup: what they need.
    """

    def __init__(self, setup: JudgeSetup) -> None:
        super().__init__()
        self.setup = setup

    def encoded(
        self, tasks: Iterable[Task], wants: Callable[[Task], bool] = _always
    ) -> Iterator[tuple[Task, list[list[EncodedRecord]]]]:
        """The tasks in order, each with the records of each backend; some tasks are taken ahead.

        It ends early, and `given_up` says why, where a backend took down too many processes of its own.

        Raises:
            BackendError: a backend cannot be had.
            CorpusError: a line is not as it was written.
            WorkerError: processes were lost over the same task again and again, or one had a fault of its own.
        """
        self.given_up, self.unrecorded = "", ()
        losses = [LossTally()] * len(self.setup.backends)
        tasks = iter(tasks)
        under_way: deque[tuple[Task, _P]] = deque()
        try:
            while True:
                while len(under_way) <= self._most_under_way() and (task := next(tasks, None)) is not None:
                    under_way.append((task, self._submit(task)))
                if not under_way:
                    return
                task, pending = under_way.popleft()
                if not wants(task):  # any more
                    self._let_go([pending])
                    continue
                outcome, records = self._outcome(task, pending)
                self.given_up, self.unrecorded = outcome.given_up, outcome.unrecorded
                yield task, records
                losses = [before.plus(more) for before, more in zip(losses, outcome.losses, strict=True)]
                self.given_up = self.given_up or next(
                    filter(None, map(self._too_many, self.setup.backends, losses)), ""
                )
                if self.given_up:
                    return
        finally:
            self._let_go([pending for _, pending in under_way])

    def feed(self, tasks: Iterable[Task], streams: Sequence[Consumer], wants: Callable[[Task], bool] = _always) -> str:
        """As `BlockExecutor` has it; errors as for `encoded`."""
        for task, by_backend in self.encoded(tasks, wants):
            for stream, records in zip(streams, by_backend, strict=True):
                for record in records:
                    stream.record(record)
                if not self.given_up:
                    stream.mark(task.name)
        return self.given_up

    @abstractmethod
    def _most_under_way(self) -> int:
        """How many tasks to have taken ahead."""

    @abstractmethod
    def _submit(self, task: Task) -> _P:
        """Have a task judged."""

    @abstractmethod
    def _outcome(self, task: Task, pending: _P) -> tuple[TaskOutcome, list[list[EncodedRecord]]]:
        """What came of a task that was submitted, when it has, and its records; errors as of `encoded`."""

    @abstractmethod
    def _let_go(self, pending: Sequence[_P]) -> None:
        """Nobody waits for these any more."""

    def _too_many(self, backend: str, count: LossTally) -> str:
        return why_given_up(count) if self.setup.isolated else too_many(backend, count)
