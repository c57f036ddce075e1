"""Several processes of this machine that judge, each of which may be lost at any moment."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

import msgspec
import psutil

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.conformance.workers.executor import TASKS_AHEAD, Executor
from dml_conformance.conformance.workers.process import JudgeProcess
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import Work, WorkOutcome

MOST_STARTS = 3  # of a process, in a row
# Bytes for each of a large case's tensors: data are made, and laid out; what executes needs more than that beside them,
# on a device that has less memory than the host, where what finds no room waits.
MEMORY_OF_A_CASE = 2


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
        self._lock = threading.Lock()  # guards the three that follow
        self._is_closing = False
        self._processes: dict[int, JudgeProcess] = {}  # by place
        self._bound: list[Capabilities] = []  # what the backends claimed first, to which they are held
        self._idle: SimpleQueue[int] = SimpleQueue()  # places whose process has nothing to do
        self._pool = ThreadPoolExecutor(count, "worker")  # of which each thread waits for one process
        self._claims = [self._pool.submit(self._begun, place) for place in range(count)]

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

    @property
    def most_ahead(self) -> int:
        """A part of the memory that is free."""
        return psutil.virtual_memory().available // MEMORY_OF_A_CASE

    def submit(self, task: Work) -> Future[WorkOutcome]:
        return self._pool.submit(self._judged, task)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        with self._lock:
            self._is_closing = True
            for process in self._processes.values():
                process.kill()
        self._pool.shutdown(cancel_futures=True)
        with ThreadPoolExecutor(self._count) as pool:  # as what each has left takes a while to be gone
            list(pool.map(self._let_go, range(self._count)))

    def _begun(self, place: int) -> list[Capabilities]:
        try:
            return self._started(place)
        finally:  # what was wrong is told again of each task
            self._idle.put(place)

    def _judged(self, task: Work) -> WorkOutcome:
        place = self._idle.get()
        try:
            if place not in self._processes:
                self._started(place)
            return self._processes[place].judge(task)
        except ProcessLost:
            self._let_go(place)
            raise
        finally:
            self._idle.put(place)

    def _started(self, place: int) -> list[Capabilities]:
        """Start the process of a place, which loads the backends; returns what they claim.

        Raises:
            BackendError: they cannot be had.
            WorkerError: none starts, or each is lost while it does.
        """
        for _ in range(MOST_STARTS):
            process = JudgeProcess(self._environment)
            with self._lock:
                self._processes[place] = process
                if self._is_closing:
                    process.kill()
            try:
                return self._claimed_alike(process.load(self._setup.at(place)))
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

    def _claimed_alike(self, claims: list[Capabilities]) -> list[Capabilities]:
        """The claims of one process, which have to be those of the first: they are made before any case, and bind.

        Raises:
            WorkerError: they are others.
        """
        bound = [msgspec.structs.replace(own, name="", device="", versions={}, paths={}) for own in claims]
        with self._lock:
            self._bound = self._bound or bound
            pairs = list(zip(self._setup.backends, bound, self._bound, strict=True))
        for name, own, first in pairs:
            if own != first:
                raise WorkerError(f"{name}: claims something else in one process than in another; make both the same")
        return claims

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
