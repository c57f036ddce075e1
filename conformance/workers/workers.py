"""Several processes of this machine that judge, each of which may be lost at any moment."""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import PriorityQueue

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.conformance.workers.executor import Executor
from dml_conformance.conformance.workers.messages import TaskOutcome
from dml_conformance.conformance.workers.process import JudgeProcess
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import HEAVY_BYTES, Task

TASKS_AHEAD = 4  # for each process, so that none waits, and heavy ones are begun before others that come earlier
MOST_STARTS = 3  # of a process, in a row


@dataclass(order=True)
class _Job:
    """A task that is to be judged.

    Attributes:
        rank: in order, heavy ones before a few others.
        task: itself; None ends the thread that takes it.
        future: what comes of it.
    """

    rank: tuple[float, int]
    task: Task | None = field(compare=False)
    future: Future[TaskOutcome] = field(compare=False, default_factory=Future)


class Workers(Executor):
    """Processes of this machine that judge; each has backends of its own, and is replaced when it is lost.

    They start at once, and load the backends meanwhile.

    Args:
        setup: what they need.
        count: how many.
    """

    def __init__(self, setup: JudgeSetup, count: int) -> None:
        super().__init__(setup.backends)
        self._setup, self._count = setup, count
        # The cores are shared out among several processes already.
        self._environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")} if count > 1 else {}
        self._numbers = itertools.count()
        self._jobs: PriorityQueue[_Job] = PriorityQueue()
        self._claims: list[Future[list[Capabilities]]] = [Future() for _ in range(count)]
        self._lock = threading.Lock()  # guards the three that follow
        self._is_closing = False
        self._busy = set(range(count))  # places that start or judge
        self._processes: dict[int, JudgeProcess] = {}  # by place
        self._threads = [
            threading.Thread(target=self._serve, args=(place,), name=f"worker {place + 1}", daemon=True)
            for place in range(count)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """The processes at this moment."""
        with self._lock:
            return [process.pid for process in self._processes.values()]

    def capabilities(self) -> list[Capabilities]:
        """As `Executor` has it; where there are several devices, all are named."""
        places = min(len(self._setup.places) or 1, self._count)
        claims = [future.result() for future in self._claims[:places]]
        return [
            _together(name, own) if self._setup.places else own[0]
            for name, own in zip(self._setup.backends, zip(*claims, strict=True), strict=True)
        ]

    @property
    def most_open(self) -> int:
        return TASKS_AHEAD * self._count

    def submit(self, task: Task) -> Future[TaskOutcome]:
        number = next(self._numbers)
        overtaken = self.most_open if task.weight >= HEAVY_BYTES else 0
        job = _Job((number - overtaken, number), task)
        self._jobs.put(job)
        return job.future

    def close(self) -> None:
        """End the processes, whatever they are doing; those with nothing to do end by themselves."""
        with self._lock:
            self._is_closing = True
            processes = [process for place, process in self._processes.items() if place in self._busy]
        for place in range(self._count):
            self._jobs.put(_Job((-float("inf"), place), None))
        for process in processes:
            process.kill()
        for thread in self._threads:
            thread.join()

    # What the threads do, each of which has the processes of one place, one after the other.

    def _serve(self, place: int) -> None:
        try:
            self._claims[place].set_result(self._started(place))
        except Exception as error:  # told again of each task
            self._claims[place].set_exception(error)
        self._rests(place)
        while (task := (job := self._jobs.get()).task) is not None:
            if not self._begins(place, job):
                continue
            try:
                if place not in self._processes:
                    self._started(place)
                outcome = self._processes[place].judge(task)
            except Exception as error:
                if isinstance(error, ProcessLost):
                    self._let_go(place)
                job.future.set_exception(error)
            else:
                job.future.set_result(outcome)
            self._rests(place)
        self._let_go(place)

    def _begins(self, place: int, job: _Job) -> bool:
        """Whether a task is still to be judged; its place has something to do then."""
        with self._lock:
            if self._is_closing or not job.future.set_running_or_notify_cancel():
                return False
            self._busy.add(place)
        return True

    def _rests(self, place: int) -> None:
        with self._lock:
            self._busy.discard(place)

    def _started(self, place: int) -> list[Capabilities]:
        """Start the process of a place, which loads the backends; returns what they claim.

        Raises:
            BackendError: they cannot be had.
            WorkerError: none starts, or each is lost while it does.
        """
        for _ in range(MOST_STARTS):
            try:
                process = JudgeProcess(self._environment)
            except OSError as error:
                raise WorkerError(f"no worker process can be started: {error}") from error
            with self._lock:
                self._processes[place] = process
                if self._is_closing:
                    process.kill()
            try:
                return process.begin(self._setup.at(place))
            except ProcessLost as lost:
                self._let_go(place)
                if self._is_closing:
                    raise
                self.losses[lost.how] += 1
                last = lost
            except Exception:
                self._let_go(place)
                raise
        raise WorkerError(f"{MOST_STARTS} worker processes were lost while they started, the last one {last}")

    def _let_go(self, place: int) -> None:
        with self._lock:
            process = self._processes.pop(place, None)
        if process is not None:
            process.close()


def _together(name: str, claims: Sequence[Capabilities]) -> Capabilities:
    """What a backend claims on several devices, under the name that it was asked for by.

    Levels, operators and categories are those of all of them: what one device does not do is found when it is asked.
    """
    devices = Counter(each.device for each in claims)
    told = ", ".join(f"{count} x {device}" if count > 1 else device for device, count in devices.items())
    return msgspec.structs.replace(claims[0], name=name, device=told)
