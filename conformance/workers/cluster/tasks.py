"""What Dask's workers run. Nothing here needs Dask.

Cases are not judged in Dask's own process: a backend that crashes would take it down, and everything that it had been
given with it. Each task has a process of `conformance.workers`, which is watched and replaced; it is kept for the next
block of the same run.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.cluster.identity import (
    Order,
    WorkerIdentity,
    decode_order,
    encode,
    first_difference,
)
from dml_conformance.conformance.workers.cluster.scheduler import ClusterError
from dml_conformance.conformance.workers.messages import Reply, WorkerClaims, unpacked
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.worker import fault
from dml_conformance.reports.release import suite_version

IDLE_SECONDS = 600.0  # after which a run that has not said goodbye is taken to be gone


def introduce() -> bytes:
    """This worker's `WorkerIdentity`."""
    return encode(WorkerIdentity.own())


async def claims(order: bytes, dask_worker: Any) -> bytes:
    """What the backends of an `Order` claim: `WorkerClaims`, or `WorkerFault`.

    Args:
        order: without claims.
        dask_worker: the worker that runs this; Dask itself fills it in.
    """
    # Loading takes long, and the loop that this runs in is what the scheduler hears from.
    work = asyncio.get_running_loop().run_in_executor(dask_worker.executors["default"], _claims, decode_order(order))
    return encode(await work)


def judge(order: bytes, task: bytes, *, quarantine: bool) -> bytes:
    """Judge a task as ordered: `TaskOutcome`, or `WorkerFault`.

    Args:
        order: an `Order` with the claims that are expected.
        task: a packed `Task`.
        quarantine: execute each case alone, in a process of the backend's own.
    """
    try:
        run = _runs.get(decode_order(order))
        with run.lent() as workers:
            return encode(workers.judge(unpacked(task), quarantine=quarantine))
    except Exception as error:
        return encode(fault(error))


async def leave(run: str) -> bytes:
    """Let go of all that was loaded for a run; blocks of it that are still being judged are judged to their end.

    Returns:
        How many processes were lost here, by how they ended.
    """
    return encode(await asyncio.to_thread(_runs.end, run))


def _claims(order: Order) -> Reply:
    try:
        return WorkerClaims(_runs.get(order).claims)
    except Exception as error:
        return fault(error)


class _LoadedRun:
    """What is loaded for a run: as many processes as blocks of it were judged at once.

    Args:
        setup: of the run.

    Attributes:
        claims: of the backends here.
        used: when something was last asked for.

    Raises:
        BackendError: a backend cannot be had.
        WorkerError: no process could be started.
    """

    def __init__(self, setup: JudgeSetup) -> None:
        self._setup = setup
        self._lock = threading.Lock()
        self._is_over = False
        first = Workers(setup, 1)
        try:
            self.claims = tuple(first.capabilities())
        except BaseException:
            first.close()
            raise
        self._idle, self._all = [first], [first]
        self._lent = 0
        self.used = time.monotonic()

    @contextmanager
    def lent(self) -> Iterator[Workers]:
        """A process, for one block."""
        with self._lock:
            workers = self._idle.pop() if self._idle else None
            self._lent += 1
        try:
            if workers is None:
                workers = Workers(self._setup, 1)
                self._all.append(workers)
            yield workers
        finally:
            with self._lock:
                self._lent -= 1
                self.used = time.monotonic()
                if workers is not None and not self._is_over:
                    self._idle.append(workers)
                    workers = None
            if workers is not None:
                workers.close()

    @property
    def losses(self) -> Counter[str]:
        """Of processes, by how they ended."""
        return sum((workers.losses for workers in self._all), Counter())

    def is_unused(self, seconds: float) -> bool:
        """Whether nothing has been asked for that long."""
        with self._lock:
            return not self._lent and time.monotonic() - self.used > seconds

    def close(self) -> None:
        """End the processes; those that are lent, when they come back."""
        with self._lock:
            self._is_over = True
            idle, self._idle = self._idle, []
        for workers in idle:
            workers.close()


class _LoadedRuns:
    """What is loaded in this process, by run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, _LoadedRun] = {}
        self._ended: set[str] = set()
        self._is_watched = False

    def get(self, order: Order) -> _LoadedRun:
        """That of a run, which is loaded if it is not.

        Raises:
            BackendError: a backend cannot be had.
            ClusterError: this worker is not like those that the run has begun with, or the run has ended.
            WorkerError: no process could be started.
        """
        with self._lock:
            run = self._runs.get(order.run)
            if run is None:
                if order.run in self._ended:
                    raise ClusterError("the run has ended")
                if order.suite_version != suite_version():
                    raise ClusterError(f"expected dml-conformance {order.suite_version}, found {suite_version()}")
                run = _LoadedRun(order.setup)
                if order.claims and (difference := first_difference(order.claims, run.claims)):
                    run.close()
                    raise ClusterError(difference)
                self._runs[order.run] = run
                if not self._is_watched:
                    threading.Thread(target=self._end_unused, daemon=True).start()
                    self._is_watched = True
            return run

    def end(self, name: str) -> Counter[str]:
        """Let go of a run for good; returns the losses that it had."""
        with self._lock:
            self._ended.add(name)
            run = self._runs.pop(name, None)
        if run is None:
            return Counter()
        run.close()
        return run.losses

    def _end_unused(self) -> None:
        """Let go of runs whose other side seems to be gone without a word."""
        while True:
            time.sleep(IDLE_SECONDS / 10)
            with self._lock:
                unused = [name for name, run in self._runs.items() if run.is_unused(IDLE_SECONDS)]
                runs = [self._runs.pop(name) for name in unused]
            for run in runs:
                run.close()


_runs = _LoadedRuns()
