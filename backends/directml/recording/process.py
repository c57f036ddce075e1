"""Recording, as seen from the process that asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import msgspec

from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.errors import LibraryCrash
from dml_conformance.backends.directml.library import Library, cache_folder
from dml_conformance.backends.directml.process import Worker, module_code
from dml_conformance.backends.directml.profiles import FULL, Profile
from dml_conformance.backends.directml.protocol import Hello
from dml_conformance.backends.directml.recording.calls import Recording
from dml_conformance.backends.directml.recording.protocol import (
    Answer,
    Failed,
    Operator,
    Recorded,
    Refused,
    Request,
    Tensor,
)
from dml_conformance.backends.directml.structs import HEADER, Packer, tensor_members
from dml_conformance.spec.datatypes import TensorFlag
from dml_conformance.spec.operator import OperatorDesc


class OperatorRefused(ValueError):
    """The library does not take an operator; the message says which call failed, and how.

    Attributes:
        index: which of the operators that were to be recorded.
    """

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(problem)
        self.index = index


class RecordingError(RuntimeError):
    """The library did what the recording device does not provide for; the message names interface and slot."""


class Recorder:
    """Records what DirectML calls to run operators. The library runs in a process of its own.

    Args:
        library: the library.
        profile: what the device claims to be.

    Raises:
        DirectmlError: see `stubs.build` and `Worker`.
    """

    def __init__(self, library: Library, profile: Profile = FULL) -> None:
        folder = stubs.build(cache_folder())
        arguments = (str(library.path), str(folder), profile.name)
        self._worker = Worker(module_code("dml_conformance.backends.directml.recording.worker", *arguments))
        self._packer = Packer(self._worker.hello.address)

    @property
    def hello(self) -> Hello:
        """What the worker said of itself."""
        return self._worker.hello

    def record(self, descs: Sequence[OperatorDesc], offset: int = 0) -> tuple[Recording, ...]:
        """Have operators created, compiled, initialized and dispatched, one after the other, on a device of their own.

        Args:
            descs: in this order. Those after the first may find pipelines that an earlier one has made.
            offset: where in its buffer each tensor starts, in bytes.

        Raises:
            Unsupported: the API's structs cannot hold a descriptor.
            OperatorRefused: the library rejects one.
            RecordingError: the library calls something that is not provided for.
            LibraryCrash: the library took its process down; the next call has another.
            DirectmlError: the worker is gone; this object is of no use any more.
        """
        operators = tuple(self._operator(desc) for desc in descs)
        request = msgspec.json.encode(Request(operators, offset))
        try:
            reply = self._worker.ask(HEADER.pack(len(request)) + request)
        except LibraryCrash as crash:
            names = ", ".join(operator.name for operator in operators)
            raise LibraryCrash(f"the DirectML library {crash}; it was to record {names}") from None
        answer: Answer = msgspec.json.decode(reply.unexpected, type=Answer)
        match answer:
            case Recorded(recordings):
                return recordings
            case Refused(index, problem):
                raise OperatorRefused(index, problem)
            case Failed(problem):
                raise RecordingError(problem)

    def close(self) -> None:
        """End the process."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _operator(self, desc: OperatorDesc) -> Operator:
        inputs, outputs = tensor_members(type(desc))
        return Operator(
            desc.operator,
            bytes(self._packer.pack(desc)),
            tuple(_tensor(desc, attribute) for attribute in inputs),
            tuple(_tensor(desc, attribute) for attribute in outputs),
        )


def _tensor(desc: OperatorDesc, attribute: str) -> Tensor | None:
    tensor = getattr(desc, attribute)
    if tensor is None:
        return None
    is_owned = bool(tensor.flags & TensorFlag.OWNED_BY_DML)
    return Tensor(header_name(attribute), tensor.total_tensor_size_in_bytes, is_owned)


def header_name(attribute: str) -> str:
    """DirectML's name of a member: `InputTensor` for `input_tensor`."""
    return "".join(word.capitalize() for word in attribute.split("_"))
