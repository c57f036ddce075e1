"""What the process that reads and writes says to a worker, and what the worker answers; as `framing` has it."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.processes.losses import Loss, LossTally
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import Task


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The first message to a worker.

    Attributes:
        setup: what it judges by.
        loads: whether it makes its backends at once, and says what they claim; otherwise it makes them when needed.
    """

    setup: JudgeSetup
    loads: bool


class FindDevices(msgspec.Struct, frozen=True, tag=True):
    """Say what devices each of these backends can be had on."""

    backends: tuple[str, ...]


class Suspicion(msgspec.Struct, frozen=True):
    """A worker was lost while it was in a backend.

    Attributes:
        backend: which of the setup's; None where it is not known.
        how: it ended, to follow `the process`.
        timed_out: whether it was ended because it took too long.
    """

    backend: int | None
    how: str
    timed_out: bool


class Assignment(msgspec.Struct, frozen=True, tag=True):
    """Judge a task.

    Attributes:
        task: as `packed` makes it.
        quarantined: of these backends, by number, each case is executed alone and in a process of the backend's own.
        suspicions: why.
    """

    task: bytes
    quarantined: tuple[int, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()


Request = Begin | FindDevices | Assignment


class WorkerClaims(msgspec.Struct, frozen=True, tag=True):
    """The backends are there, and this is what they claim."""

    capabilities: tuple[Capabilities, ...]


class Devices(msgspec.Struct, frozen=True, tag=True):
    """The devices of each backend, as its class takes them."""

    names: tuple[tuple[str, ...], ...]


class TaskOutcome(msgspec.Struct, frozen=True, tag=True):
    """A task was judged.

    Attributes:
        records: of each backend, as `encode_records` makes them.
        losses: of each backend.
        given_up: why the rest of the task was not judged on some backend; "" where it was.
        unrecorded: processes that were lost and that no record tells of, as the backend was given up over them.
    """

    records: tuple[bytes, ...]
    losses: tuple[LossTally, ...]
    given_up: str = ""
    unrecorded: tuple[Loss, ...] = ()


class WorkerFault(msgspec.Struct, frozen=True, tag=True):
    """An exception.

    Attributes:
        kind: `CorpusError`, `BackendError`, or the name of another class.
        text: what it says.
    """

    kind: str
    text: str


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
