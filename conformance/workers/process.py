"""One process that judges, as seen from the process that gives it work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.process import Origin, ServerProcess
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.workers.messages import (
    Assignment,
    Begin,
    Devices,
    FindDevices,
    Reply,
    Request,
    TaskOutcome,
    WorkerClaims,
    WorkerFault,
    decode_reply,
    encode,
    packed,
)
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import Task

# Those of a backend are held to by whoever judges on it; that takes the time that all its calls take together.
_NO_LIMITS = Limits(math.inf)
_Reply = TypeVar("_Reply", bound=Reply)


class JudgeProcess(ServerProcess):
    """A process that judges tasks on backends of its own. Whatever a backend does there costs the backend's process;
    this one is lost where something else ends it. Of each request the errors are ProcessLost, WorkerError and those
    named there.

    Args:
        environment: variables, in addition to this process's.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(
            "dml_conformance.conformance.workers.worker",
            limits=_NO_LIMITS,
            origin=Origin.here(),
            environment=environment or {},
        )

    def begin(self, setup: JudgeSetup) -> list[Capabilities]:
        """Have it load backends; returns what they claim.

        Raises:
            BackendError: a backend cannot be had.
        """
        return list(self._reply(Begin(setup), WorkerClaims).capabilities)

    def judge(self, task: Task) -> TaskOutcome:
        """Have a task judged.

        Raises:
            CorpusError: a line is not as it was written.
        """
        return self._reply(Assignment(packed(task)), TaskOutcome)

    def devices(self, backends: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The devices of each backend, as its class takes them.

        Raises:
            BackendError: a backend cannot be had.
        """
        return list(self._reply(FindDevices(backends), Devices).names)

    def _reply(self, request: Request, kind: type[_Reply]) -> _Reply:
        reply = self.ask(encode(request), "", decode_reply)
        if not isinstance(reply, kind):
            raise error_of(reply)
        return reply


def error_of(reply: Reply) -> Exception:
    """What to raise over an answer that was not hoped for."""
    if not isinstance(reply, WorkerFault):
        return WorkerError(f"a worker process answered out of turn, with {type(reply).__name__}")
    for kind in (BackendError, CorpusError):
        if reply.kind == kind.__name__:
            return kind(reply.text)
    return WorkerError(f"a worker process failed: {reply.kind}: {reply.text}; --in-process shows where")
