"""One process that judges, as seen from the process that gives it work, and what runs there.

Each of its backends has one more process, so that it outlives what they do. What it is asked comes from the harness and
is pickled, as a descriptor may hold what its type does not say where that is tested. What it answers is decoded with
all types checked: to name its devices a backend runs its code there.
"""

from __future__ import annotations

import gc
import math
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.foreign_text import encodable
from dml_conformance.backends.loading import BackendError, devices_of
from dml_conformance.backends.processes.framing import Receiver, send
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.process import Origin, ServerProcess
from dml_conformance.backends.processes.server import take_place
from dml_conformance.backends.processes.walls import FileWall, adopt_orphans, close_memory
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.judge.recomputed import recomputed_digest
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import CaseMaking, MadeCases, TaskOutcome, Work, WorkOutcome
from dml_conformance.reports.model.release import changed_file
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.validator import Reading

_T = TypeVar("_T")


class WorkerFault(msgspec.Struct, frozen=True):
    """An exception in place of an answer: the name of its class, and what it says."""

    kind: str
    text: str

    @property
    def error(self) -> Exception:
        """What to raise."""
        for kind in (BackendError, CorpusError, WorkerError):
            if self.kind == kind.__name__:
                return kind(self.text)
        return WorkerError(f"a worker process failed: {self.kind}: {self.text}; --in-process shows where")


class JudgeProcess(ServerProcess):
    """A process that judges tasks on backends of its own. Whatever a backend does there costs the backend's process;
    this one is lost where something else ends it. Of each request the errors are ProcessLost, WorkerError and those
    named there.

    Args:
        environment: variables, in addition to this process's.
        wall: is built around it; None = none is.

    Raises:
        WorkerError: no process can be started.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, wall: FileWall | None = None) -> None:
        # A backend's are held to by whoever judges on it; that takes the time that all its calls take together.
        limits = Limits(math.inf, files=wall)
        try:
            super().__init__(__name__, limits=limits, origin=Origin.here(), environment=environment or {})
        except OSError as error:
            raise WorkerError(f"no worker process can be started: {error}") from error

    def load(self, setup: JudgeSetup) -> list[Capabilities]:
        """Have it load backends; returns what they claim.

        Raises:
            BackendError: a backend cannot be had.
        """
        return self._answer_of(list[Capabilities], "load", setup)

    def judge(self, task: Work) -> WorkOutcome:
        """Have cases made, or a task judged.

        Raises:
            CorpusError: a line is not as it was written.
        """
        kind: type[WorkOutcome] = MadeCases if isinstance(task, CaseMaking) else TaskOutcome
        return self._answer_of(kind, "judge", task)

    def right_digests(self, cases: Sequence[dict[str, Any]], reading: Reading, tolerance: str) -> list[str]:
        """The digests of the outputs that small executed cases, as their records have them, are to have."""
        return self._answer_of(list[str], "right_digests", (cases, reading, tolerance))

    def devices(self, backends: Sequence[str]) -> list[tuple[str, ...]]:
        """The devices of each backend, as its class takes them.

        Raises:
            BackendError: a backend cannot be had.
        """
        return self._answer_of(list[tuple[str, ...]], "devices", backends)

    def _answer_of(self, kind: type[_T], method: str, argument: object) -> _T:
        def decode(content: bytes) -> _T | WorkerFault:
            return msgspec.msgpack.decode(content, type=kind | WorkerFault)

        (answer,) = self.ask(pickle.dumps((method, argument)), "", decode)
        if isinstance(answer, WorkerFault):
            raise answer.error
        return answer


class JudgeServer:
    """What answers there: a method for each that `JudgeProcess` has."""

    def __init__(self) -> None:
        self._executor = InProcess([])

    def load(self, setup: JudgeSetup) -> list[Capabilities]:
        if name := changed_file(setup.suite):
            raise WorkerError(f"{name}, a file of the suite itself, was changed since the run began")
        self._executor = InProcess(setup.judges(), one_by_one=setup.one_by_one)
        gc.freeze()  # what is loaded stays, so no collection has to look at it
        return self._executor.capabilities()

    def judge(self, task: Work) -> WorkOutcome:
        return self._executor.judge(task)

    def right_digests(self, asked: tuple[Sequence[dict[str, Any]], Reading, str]) -> list[str]:
        cases, reading, tolerance = asked
        return [recomputed_digest(case, reading, TOLERANCES[tolerance]) for case in cases]

    def devices(self, backends: Sequence[str]) -> list[tuple[str, ...]]:
        return [devices_of(name) for name in backends]


def main(_: str, harness: int) -> None:
    """Answer requests from standard input on standard output until there are no more.

    Args:
        _: place of memory that is shared with the process that asks; nothing is.
        harness: that process; 0 where something else sees to it that none outlives it.
    """
    requests, replies = take_place(harness)
    close_memory()
    adopt_orphans()
    receiver, server = Receiver(requests), JudgeServer()
    while (received := receiver.receive()) is not None:
        number, content = received
        reply: object
        try:
            method, argument = pickle.loads(content)  # noqa: S301 - the harness sent it
            reply = getattr(server, method)(argument)
        except Exception as error:
            reply = WorkerFault(type(error).__name__, encodable(" ".join(str(error).split())))
        send(replies, msgspec.msgpack.encode(reply), number)
