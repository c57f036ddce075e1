"""What Dask's workers run: they judge as a campaign in one process does, each backend in one more. Nothing here needs
Dask."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import msgspec

from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.conformance.workers.cluster.identity import Order, WorkerIdentity, decode_order, first_difference
from dml_conformance.conformance.workers.cluster.scheduler import ClusterError
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.messages import TaskOutcome, WorkerClaims, WorkerFault, encode, unpacked
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import Task
from dml_conformance.reports.model.release import suite_version

IDLE_SECONDS = 600.0  # after which a run that has not said goodbye is taken to be gone


async def introduce(order: bytes, dask_worker: Any) -> bytes:
    """This worker's `WorkerIdentity`.

    Args:
        order: an `Order` without claims.
        dask_worker: the worker that runs this; Dask itself fills it in.
    """
    # Loading takes long, and the loop that this runs in is what the scheduler hears from.
    work = asyncio.get_running_loop().run_in_executor(dask_worker.executors["default"], _claims, order)
    return encode(WorkerIdentity.own(await work))


def judge(order: bytes, task: bytes) -> bytes:
    """Judge a task as ordered: `TaskOutcome`, or `WorkerFault`.

    Args:
        order: an `Order` with the claims that are expected.
        task: a packed `Task`.
    """
    try:
        return encode(_runs.get(decode_order(order)).judge(unpacked(task)))
    except Exception as error:
        return encode(WorkerFault.of(error))


async def leave(run: str) -> None:
    """Let go of all that was loaded for a run, when the task that is being judged is through."""
    await asyncio.to_thread(_runs.end, run)


def _claims(order: bytes) -> WorkerClaims | WorkerFault:
    try:
        return WorkerClaims(tuple(_runs.get(decode_order(order)).claims))
    except msgspec.MsgspecError:  # of another release, which is told first
        return WorkerFault(ClusterError.__name__, "the order is none of this release")
    except Exception as error:
        return WorkerFault.of(error)


class _LoadedRun:
    """What is loaded for a run. It judges one task at a time, as Python does not use more than one core.

    Args:
        setup: of the run.

    Attributes:
        claims: of the backends here.

    Raises:
        BackendError: a backend cannot be had.
    """

    def __init__(self, setup: JudgeSetup) -> None:
        self._judges = setup.judges()
        self._executor = InProcess(self._judges, one_by_one=setup.one_by_one)
        self.claims = self._executor.capabilities()
        self._lock = threading.Lock()
        self._used = time.monotonic()

    def judge(self, task: Task) -> TaskOutcome:
        """What comes of a task; raises CorpusError."""
        with self._lock:
            try:
                return self._executor.judge(task)
            finally:
                self._used = time.monotonic()

    def is_unused(self, seconds: float) -> bool:
        """Whether nothing has been asked for that long."""
        return not self._lock.locked() and time.monotonic() - self._used > seconds

    def close(self) -> None:
        """End the backends' processes."""
        with self._lock:
            for each in self._judges:
                if isinstance(each.backend, IsolatedBackend):
                    each.backend.close()


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

    def end(self, name: str) -> None:
        """Let go of a run for good."""
        with self._lock:
            self._ended.add(name)
            run = self._runs.pop(name, None)
        if run is not None:
            run.close()

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
