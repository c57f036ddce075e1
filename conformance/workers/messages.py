"""What the process that reads and writes says to one that judges, and what that answers; as `framing` has it."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.foreign_text import encodable
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import JudgedTask, Task


class Begin(msgspec.Struct, frozen=True, tag=True):
    """Load backends, and say what they claim; what follows is judged on them."""

    setup: JudgeSetup


class FindDevices(msgspec.Struct, frozen=True, tag=True):
    """Say what devices each of these backends can be had on."""

    backends: tuple[str, ...]


class Assignment(msgspec.Struct, frozen=True, tag=True):
    """Judge a task, which is as `packed` makes it."""

    task: bytes


Request = Begin | FindDevices | Assignment


class WorkerClaims(msgspec.Struct, frozen=True, tag=True):
    """The backends are there, and this is what they claim."""

    capabilities: tuple[Capabilities, ...]


class Devices(msgspec.Struct, frozen=True, tag=True):
    """The devices of each backend, as its class takes them."""

    names: tuple[tuple[str, ...], ...]


class TaskOutcome(msgspec.Struct, frozen=True, tag=True):
    """A task was judged, on each backend."""

    backends: tuple[JudgedTask, ...]


class WorkerFault(msgspec.Struct, frozen=True, tag=True):
    """An exception.

    Attributes:
        kind: the name of its class.
        text: what it says.
    """

    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> WorkerFault:
        return cls(type(error).__name__, encodable(" ".join(str(error).split())))


Reply = WorkerClaims | Devices | TaskOutcome | WorkerFault

encode = msgspec.msgpack.Encoder().encode
decode_request: Callable[[bytes], Request] = msgspec.msgpack.Decoder(Request).decode
decode_reply: Callable[[bytes], Reply] = msgspec.msgpack.Decoder(Reply).decode


def packed(task: Task) -> bytes:
    """A task as it is sent. A descriptor may hold what its type does not say, as that is tested, so it is pickled."""
    return pickle.dumps(task)


def unpacked(content: bytes) -> Task:
    """What `packed` made; of the harness's own alone."""
    task: Task = pickle.loads(content)  # noqa: S301 - the harness sent it
    return task
