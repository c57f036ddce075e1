"""One process that judges, as seen from the process that gives it work and watches it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import IO

from dml_conformance.backends.processes.arena import Arena
from dml_conformance.backends.processes.child_process import StartedProcess, import_path, main_of
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.framing import send
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.process import START_SECONDS, SupervisedProcess
from dml_conformance.backends.processes.zygote import MARKED
from dml_conformance.conformance.workers.heartbeat import Activity, Heartbeat
from dml_conformance.conformance.workers.messages import Reply, Request, decode_reply, encode


class WorkerLost(ProcessLost):
    """Raised where a worker process is gone; another one has to take its place. The message, which follows `the
    process`, has its last words too.

    Attributes:
        activity: what it was doing.
    """

    def __init__(self, lost: ProcessLost, activity: Activity) -> None:
        super().__init__(str(lost), lost.cause)
        self.how = lost.how
        self.activity = activity


class WorkerProcess(SupervisedProcess):
    """A process that answers requests in order, of which several can be under way, and that is held to limits.

    Args:
        limits: of the time in each call of a backend, and of memory.
        environment: variables, in addition to this process's.

    Attributes:
        holds_backends: whether the memory limit is its business; it is not while a backend has a process of its own.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, limits: Limits, environment: dict[str, str]) -> None:
        self.holds_backends = True
        self._last, self._spent = Activity(0, 0), 0.0
        super().__init__(partial(_started, environment), limits, in_turn=False)
        self._heartbeat = Heartbeat(self.arena.memory)
        self._await()

    def send(self, request: Request) -> None:
        """Give it something to do. Where it is gone, that shows when the answer is waited for."""
        with suppress(BrokenPipeError):
            send(self._process.requests, encode(request))

    def receive(self) -> Reply:
        """Wait for the next answer.

        Raises:
            WorkerLost: there is none, and the process is no more.
        """
        return self._received(decode_reply)

    def _lost(self, why: str = "") -> WorkerLost:
        return WorkerLost(super()._lost(why), self._heartbeat.activity)

    def _broken_limit(self, elapsed: float) -> ProcessLost | None:
        activity = self._heartbeat.activity
        if activity != self._last:
            self._last, self._spent = activity, 0.0
        elif activity.backend is not None:
            self._spent += elapsed
        allowed = START_SECONDS if activity.is_loading else self._limits.seconds
        if activity.backend is not None and self._spent > allowed:
            return self._too_long(allowed)
        most = self._limits.bytes
        if most is not None and self.holds_backends and self._descendants.memory() > most:
            return self._too_much(most)
        return None


def _started(environment: dict[str, str], arena: Arena, remarks: IO[bytes], mark: str) -> StartedProcess:
    return StartedProcess(
        import_path(),
        main_of("dml_conformance.conformance.workers.worker", arena.place),
        remarks,
        inherited=arena.inherited,
        environment={MARKED: mark, **environment},
    )
