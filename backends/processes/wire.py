"""What the harness and a backend's process say to each other, over two pipes; as `framing` has it, in MessagePack."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.spec.field_kinds import OPERATOR, OPERATORS
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import operators

LONGEST_ANSWER = 2**26
LONGEST_TEXT = 10_000  # of what a backend has to say


class EncodedDesc(msgspec.Struct, frozen=True, array_like=True):
    """A descriptor.

    Attributes:
        operator: its name; "" for one that is pickled, as it cannot be sent otherwise.
        content: its fields; empty for the descriptor of the message before.
    """

    operator: str
    content: bytes


SAME = EncodedDesc("", b"")


# A binding, whose resource lies in the shared memory: the slot's key; where the resource starts there, and its
# length; offset and size of the binding in it; whether it may be written to. A plain tuple, as there are many.
Bound = tuple[str, int, int, int, int, bool]


class Job(msgspec.Struct, frozen=True, array_like=True):
    """The arguments of one `execute`."""

    desc: EncodedDesc
    level: int
    inputs: tuple[Bound, ...]
    outputs: tuple[Bound, ...]


# A job as the harness sends it: the same on the way, without making a struct of it.
JobFields = tuple[EncodedDesc, int, list[Bound], list[Bound]]


class Question(msgspec.Struct, frozen=True, array_like=True):
    """The arguments of one `validate`."""

    desc: EncodedDesc
    level: int


VALIDATE, EXECUTE, TIME = "validate", "execute", "time"


class Validate(msgspec.Struct, frozen=True, array_like=True, tag=VALIDATE):
    """Decide on descriptors, in order. For each there is a `DecisionReply`, sent as soon as it is made, so that it is
    known which one cost the process. Every other request has one answer, an `ExecutionReply`."""

    questions: tuple[Question, ...]


class Execute(msgspec.Struct, frozen=True, array_like=True, tag=EXECUTE):
    """Execute cases.

    Attributes:
        memory: bytes that the shared memory has now.
        jobs: the cases.
        validate: whether to decide on them first, as that was done in another process.
        batch: whether they are a batch, and not one case alone.
    """

    memory: int
    jobs: tuple[Job, ...]
    validate: bool
    batch: bool


class Time(msgspec.Struct, frozen=True, array_like=True, tag=TIME):
    """Time one case or, where there is none, copies of so many bytes."""

    memory: int
    jobs: tuple[Job, ...]
    size: int
    repeats: int
    cold: bool


Request = Validate | Execute | Time


class BackendInfo(msgspec.Struct, frozen=True, tag=True):
    """The first message of a process: the backend is there.

    Attributes:
        capabilities: what it claims.
        takes_batches: whether it executes batches.
    """

    capabilities: Capabilities
    takes_batches: bool


class LoadError(msgspec.Struct, frozen=True, tag=True):
    """The first message of a process: the backend cannot be had."""

    reason: str


Greeting = BackendInfo | LoadError


class WireAnswer(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """`validate` returned an Answer."""

    accepted: bool
    reason: str


class NoAnswer(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """`validate` returned something else, of which this is the `repr`."""

    value: str


class Completion(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """It was executed.

    Attributes:
        seconds: of each run, where it was timed.
    """

    seconds: tuple[float, ...] = ()


class BackendException(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The backend raised an exception.

    Attributes:
        kind: `Unsupported`, `MemoryError`, or `Exception` for every other.
        name: of its class.
        text: what it says.
        place: where it was raised, as `place_of` tells it.
    """

    kind: str
    name: str
    text: str
    place: str


DecisionReply = WireAnswer | NoAnswer | BackendException
ExecutionReply = Completion | BackendException


encode = msgspec.msgpack.Encoder().encode
decode_request: Callable[[bytes], Request] = msgspec.msgpack.Decoder(Request).decode
decode_decision: Callable[[bytes], DecisionReply] = msgspec.msgpack.Decoder(DecisionReply).decode
decode_execution: Callable[[bytes], ExecutionReply] = msgspec.msgpack.Decoder(ExecutionReply).decode
decode_greeting: Callable[[bytes], Greeting] = msgspec.msgpack.Decoder(Greeting).decode


def describe(desc: OperatorDesc) -> EncodedDesc:
    """A descriptor as it is sent."""
    codec = _codec(type(desc))
    if codec is not None:
        try:
            content = encode(desc)
            codec(content)
        except (msgspec.MsgspecError, OverflowError, TypeError):
            pass  # a field holds what its type does not say, as it may where that is tested
        else:
            return EncodedDesc(desc.operator, content)
    return EncodedDesc("", pickle.dumps(desc))


def descriptor(encoded: EncodedDesc) -> OperatorDesc:
    """The descriptor that was sent."""
    if not encoded.operator:
        desc: OperatorDesc = pickle.loads(encoded.content)  # noqa: S301 - the harness sent it
        return desc
    codec = _codec(operators()[encoded.operator].desc)
    assert codec is not None
    return codec(encoded.content)


@cache
def _codec(desc_type: type[OperatorDesc]) -> Callable[[bytes], OperatorDesc] | None:
    """What makes a descriptor of its fields, any of which may be null; None for a type that is not
    registered, and for one with operators inside, of which only pickle knows their types."""
    known = operators().get(desc_type.operator)
    if known is None or known.desc is not desc_type:
        return None
    if any(field.kind in (OPERATOR, OPERATORS) for field in known.fields):
        return None
    hints: dict[str, Any] = get_type_hints(desc_type)
    fields = [(name, hints[name] | None) for name in desc_type.__struct_fields__]
    decoder = msgspec.msgpack.Decoder(msgspec.defstruct(desc_type.__name__, fields, gc=False))
    astuple = msgspec.structs.astuple
    return lambda content: desc_type(*astuple(decoder.decode(content)))
