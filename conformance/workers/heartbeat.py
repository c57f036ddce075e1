"""A few bytes that a worker and the process that watches it share: what the worker is doing, and that it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

from dml_conformance.backends.base import Backend, Batched, Bytes, takes_batches

_P = ParamSpec("_P")
_R = TypeVar("_R")

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

    def around(self, function: Callable[_P, _R], doing: int) -> Callable[_P, _R]:
        """A function of a backend whose calls can be seen from outside.

        What it raises to end its process is left to do so, and the worker is then seen to have been in it.
        """

        def call(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
            self.enter(doing)
            try:
                result = function(*arguments, **keywords)
            except Exception:
                self.leave()
                raise
            self.leave()
            return result

        return call


class BackendWithHeartbeat:
    """A backend whose calls can be seen from outside. It has `execute_batch` if the backend takes batches.

    Args:
        backend: the backend.
        heartbeat: where they are seen.
        number: of the backend, from 0 on.
    """

    def __init__(self, backend: Backend, heartbeat: Heartbeat, number: int) -> None:
        self.capabilities = backend.capabilities
        self.validate = heartbeat.around(backend.validate, number + 1)
        self.execute = heartbeat.around(backend.execute, number + 1)
        if takes_batches(backend):
            assert isinstance(backend, Batched)
            self.execute_batch = heartbeat.around(backend.execute_batch, number + 1)
