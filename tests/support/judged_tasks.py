"""Records of tasks and of whole campaigns, for tests that look at them one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.workers.executor import BlockExecutor, RemoteExecutor
from dml_conformance.conformance.workers.tasks import Task, TaskJudge
from dml_conformance.reports.records import Record
from dml_conformance.reports.stream import FanOut


class Collector(FanOut):
    """A stream that keeps its records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record] = []

    def record(self, record: Record) -> None:
        self.records.append(record)


def judge_tasks(executor: BlockExecutor, tasks: Iterable[Task]) -> Iterator[list[list[Record]]]:
    """For each task, in order, the records of each backend."""
    if isinstance(executor, RemoteExecutor):
        for _, by_backend in executor.encoded(tasks):
            yield [[record.whole() for record in records] for records in by_backend]
        return
    for task in tasks:
        streams = [Collector() for _ in executor.capabilities()]
        executor.feed([task], streams)
        yield [stream.records for stream in streams]


def tasks_left(engine: Engine) -> Iterator[Task]:
    """Every task that a campaign has left, in order; the records of one are to be settled before the next is asked
    for."""
    for stage in engine.stages():
        yield from filter(engine.wants, stage)


def records_of(engine: Engine, task: Task) -> Iterator[Record]:
    """The records of a campaign's task, judged in this process and settled as they are asked for."""
    return map(engine.settled, TaskJudge(engine.judge).records(task))


def records_left(engine: Engine) -> Iterator[Record]:
    """Every record that a campaign has left, likewise."""
    for task in tasks_left(engine):
        yield from records_of(engine, task)
