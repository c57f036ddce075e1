"""What the process that records and the one that asks it say to each other.

As for decisions (`backends.directml.protocol`), but that a request is a `Request` as JSON after its length, as
`structs.HEADER` has it, and the text of a reply is an `Answer` as JSON.
"""

from __future__ import annotations

import msgspec

from dml_conformance.backends.directml.recording.calls import Recording


class Tensor(msgspec.Struct, frozen=True):
    """A tensor of an operator: what it is called, TotalTensorSizeInBytes, and whether the operator owns it."""

    name: str
    size: int
    is_owned: bool


class Operator(msgspec.Struct, frozen=True):
    """An operator to be recorded.

    Attributes:
        name: such as GATHER.
        block: of a `structs.Packer` for the receiver's memory.
        inputs: its tensors in the order of its struct, None for one left out.
        outputs: likewise.
    """

    name: str
    block: bytes
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor | None, ...]


class Request(msgspec.Struct, frozen=True):
    """Operators to be recorded, one after the other, on one device of DirectML that has seen none before.

    Attributes:
        operators: in this order.
        offset: where in its buffer each tensor starts, in bytes.
    """

    operators: tuple[Operator, ...]
    offset: int = 0


class Recorded(msgspec.Struct, frozen=True, tag=True):
    """What became of a request."""

    recordings: tuple[Recording, ...]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The library would not take an operator.

    Attributes:
        index: which one.
        problem: what it answered to which call.
    """

    index: int
    problem: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """There is no recording, because something was called that the recording device lacks, or not released."""

    problem: str


Answer = Recorded | Refused | Failed
