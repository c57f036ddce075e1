"""What the process that executes and the one that asks it say to each other, over two pipes.

Messages are those of `backends.processes.framing`, in MessagePack, and say what follows them: blocks of
`structs.Packer`, and resources as they lie in memory, which may be large. The worker starts with a `protocol.Hello`;
after that it answers each request with one reply.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec


class Buffer(msgspec.Struct, frozen=True, array_like=True):
    """A range of a resource that is bound: see `submission.Bound`.

    Attributes:
        resource: its number, in the order in which the bytes of resources follow.
        length: bytes of the resource.
        offset: of the range.
        size: of the range.
        is_owned: as there.
    """

    resource: int
    length: int
    offset: int
    size: int
    is_owned: bool = False


class Decide(msgspec.Struct, frozen=True, tag=True):
    """Create an operator. Its block follows, of `block` bytes; the reply is a `CreationResult`."""

    block: int


class RunOperator(msgspec.Struct, frozen=True, tag=True):
    """Run an operator. Its block follows, then its resources; the reply is a `RunTimes`, then the resources.

    Attributes:
        block: bytes of the block.
        inputs: in the order of the operator's struct; None for a tensor left out, of which nothing follows.
        outputs: likewise.
        repeats: how many runs to time; 0 to run it once, untimed.
    """

    block: int
    inputs: tuple[Buffer | None, ...]
    outputs: tuple[Buffer | None, ...]
    repeats: int = 0

    @property
    def lengths(self) -> list[int]:
        """Of the resources, each once, in their order."""
        buffers = (buffer for buffer in (*self.inputs, *self.outputs) if buffer is not None)
        return [length for _, length in sorted({(buffer.resource, buffer.length) for buffer in buffers})]


class Copy(msgspec.Struct, frozen=True, tag=True):
    """Time copies of `size` bytes on the device; the reply is a `RunTimes`."""

    size: int
    repeats: int


class CreationResult(msgspec.Struct, frozen=True, tag=True):
    """The HRESULT of CreateOperator."""

    code: int


class RunTimes(msgspec.Struct, frozen=True, tag=True):
    """Seconds of each timed run."""

    seconds: list[float] = []


class ProblemKind(StrEnum):
    """Why something was not done."""

    FAILED = "failed"
    NO_MEMORY = "no memory"
    DEVICE_REMOVED = "device removed"  # the worker ends after that


class ExecutionProblem(msgspec.Struct, frozen=True, tag=True):
    problem: ProblemKind
    message: str


Request = Decide | RunOperator | Copy
Reply = CreationResult | RunTimes | ExecutionProblem

encode = msgspec.msgpack.Encoder().encode
decode_request: Callable[[bytes], Request] = msgspec.msgpack.Decoder(Request).decode
decode_reply: Callable[[bytes], Reply] = msgspec.msgpack.Decoder(Reply).decode
