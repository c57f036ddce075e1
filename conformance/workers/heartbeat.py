"""A few bytes that a worker and the process that watches it share: what the worker is doing, and that it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dml_conformance.backends.base import Answer, Backend, Binding, Bytes, Capabilities, Execution, takes_batches
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc

SIZE = 16
HARNESS = 0  # what it is doing where it is in no backend; others are numbers of backends, from 1 on
LOADING = 1 << 32  # is added while the backend is made


class Activity(NamedTuple):
    """What a worker is doing.

    Attributes:
        step: rises with each call of a backend.
        doing: `HARNESS`, or the number of the backend that it is in, from 1 on, and `LOADING` while that is made.
    """

    step: int
    doing: int

    @property
    def backend(self) -> int | None:
        """Number of the backend that it is in, from 0 on."""
        return None if self.doing == HARNESS else (self.doing & (LOADING - 1)) - 1

    @property
    def is_loading(self) -> bool:
        return self.doing >= LOADING


class Heartbeat:
    """The shared bytes.

    Args:
        memory: the first `SIZE` bytes are used.
    """

    def __init__(self, memory: Bytes) -> None:
        self._view = memory.data[:SIZE].cast("Q")

    @property
    def activity(self) -> Activity:
        return Activity(self._view[0], self._view[1])

    def enter(self, doing: int) -> None:
        """Say that a backend is called."""
        self._view[0] += 1
        self._view[1] = doing

    def leave(self) -> None:
        """Say that it has returned."""
        self._view[1] = HARNESS


def with_heartbeat(backend: Backend, heartbeat: Heartbeat, number: int) -> Backend:
    """A backend whose calls can be seen from outside.

    Args:
        backend: the backend.
        heartbeat: where they are seen.
        number: of the backend, from 0 on.
    """
    return (_BatchesWithHeartbeat if takes_batches(backend) else _BackendWithHeartbeat)(backend, heartbeat, number + 1)


class _BackendWithHeartbeat:
    """What a backend raises to end its process is left to do so, and the worker is then seen to have been in it."""

    def __init__(self, backend: Any, heartbeat: Heartbeat, doing: int) -> None:
        self._backend, self._doing = backend, doing
        self._validate, self._execute = backend.validate, backend.execute
        self._enter, self._leave = heartbeat.enter, heartbeat.leave

    def capabilities(self) -> Capabilities:
        claims: Capabilities = self._backend.capabilities()
        return claims

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        answer: Answer = self._call(self._validate, desc, level)
        return answer

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        self._call(self._execute, desc, level, inputs, outputs)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._enter(self._doing)
        try:
            result = function(*arguments)
        except Exception:
            self._leave()
            raise
        self._leave()
        return result


class _BatchesWithHeartbeat(_BackendWithHeartbeat):
    def execute_batch(self, executions: Sequence[Execution]) -> None:
        self._call(self._backend.execute_batch, executions)
