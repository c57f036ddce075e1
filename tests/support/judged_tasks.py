"""Records of tasks and of whole campaigns, for tests that look at them one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.workers.executor import Executor
from dml_conformance.conformance.workers.tasks import CaseMaking, Task, TaskJudge
from dml_conformance.reports.model.records import Record


def judge_tasks(executor: Executor, tasks: Iterable[Task]) -> Iterator[list[list[Record]]]:
    """For each task, in order, the records of each backend."""
    for _, outcome in executor.outcomes(tasks):
        yield [[record.whole() for record in judged.decoded()] for judged in outcome.backends]


def tasks_left(engine: Engine) -> Iterator[Task]:
    """Every task that a campaign has left, in order; the records of one are to be settled before the next is asked
    for."""
    for stage in engine.stages():
        for work in filter(engine.wants, stage):
            tasks = work.blocks() if isinstance(work, CaseMaking) else (work,)
            yield from filter(engine.wants, tasks)


def records_of(engine: Engine, task: Task) -> Iterator[Record]:
    """The records of a campaign's task, judged in this process and settled as they are asked for."""
    return map(engine.settled, TaskJudge(engine.judge).records(task))


def records_left(engine: Engine) -> Iterator[Record]:
    """Every record that a campaign has left, likewise."""
    for task in tasks_left(engine):
        yield from records_of(engine, task)
