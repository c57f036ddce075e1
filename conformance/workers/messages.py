"""What the process that reads and writes says to a worker, and what the worker answers.

Both ways a message is its length and MessagePack. A backend may have written over anything in its worker, so what comes
from there is decoded with all types checked.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.conformance.campaign.sweep import Block, Setup

LENGTH = struct.Struct("=Q")
LONGEST = 2**32  # bytes of a message; more is none
PIECE = 2**20


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The first message to a worker.

    Attributes:
        setup: what it judges by.
        loads: whether it makes its backends at once, and says what they claim; otherwise it makes them when needed.
    """

    setup: Setup
    loads: bool


class FindDevices(msgspec.Struct, frozen=True, tag=True):
    """Say what devices each backend can be had on."""


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


class Work(msgspec.Struct, frozen=True, tag=True):
    """Judge a block.

    Attributes:
        number: is repeated in the answer.
        block: the cases.
        carefully: of these backends, by number, each case is executed alone and in a process of the backend's own.
        suspicions: why.
    """

    number: int
    block: Block
    carefully: tuple[int, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()


Request = Begin | FindDevices | Work


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """The backends are there, and this is what they claim."""

    capabilities: tuple[Capabilities, ...]


class Devices(msgspec.Struct, frozen=True, tag=True):
    """The devices of each backend, as its class takes them."""

    names: tuple[tuple[str, ...], ...]


class Losses(NamedTuple):
    """How often a backend's own process was lost.

    Attributes:
        lost: in all.
        timed_out: of these, because it took too long.
    """

    lost: int = 0
    timed_out: int = 0

    def plus(self, other: Losses) -> Losses:
        return Losses(self.lost + other.lost, self.timed_out + other.timed_out)


class Judged(msgspec.Struct, frozen=True, tag=True):
    """A block was judged.

    Attributes:
        number: of the block.
        records: of each backend, MessagePack of a list of `EncodedRecord`.
        losses: of each backend.
        given_up: why the rest of the block was not judged on some backend; "" where it was.
    """

    number: int
    records: tuple[bytes, ...]
    losses: tuple[Losses, ...]
    given_up: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """An exception.

    Attributes:
        kind: `CorpusError`, `BackendError`, or the name of another class.
        text: what it says.
    """

    kind: str
    text: str


Reply = Loaded | Devices | Judged | Failed

_encode = msgspec.msgpack.Encoder().encode
decode_request: Callable[[bytes], Request] = msgspec.msgpack.Decoder(Request).decode
decode_reply: Callable[[bytes], Reply] = msgspec.msgpack.Decoder(Reply).decode


def send(file: int, message: Request | Reply) -> None:
    """Write a message to a pipe.

    Raises:
        OSError: nobody reads it any more.
    """
    content = _encode(message)
    rest = memoryview(LENGTH.pack(len(content)) + content)
    while rest:
        rest = rest[os.write(file, rest) :]


def receive(file: int) -> bytes | None:
    """Wait for a message in a pipe. Returns its content, None at the end of the stream.

    Raises:
        ValueError: what came is no message.
    """
    head = _read(file, LENGTH.size)
    if head is None:
        return None
    (length,) = LENGTH.unpack(head)
    if length > LONGEST:
        raise ValueError(f"a message of {length} bytes")
    return _read(file, length)


def _read(file: int, length: int) -> bytes | None:
    data = os.read(file, min(length, PIECE)) if length else b""
    if len(data) == length:
        return data
    parts, left = [data], length - len(data)
    while left and (data := os.read(file, min(left, PIECE))):
        parts.append(data)
        left -= len(data)
    return None if left else b"".join(parts)
