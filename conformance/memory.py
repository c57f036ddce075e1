"""The memory that a backend gets: every tensor in a resource of its own, between guard bytes, outputs poisoned.

A tensor is bound at an offset inside its resource, as the API does, so a backend that writes outside the bound range
hits the guards, on a device too, as long as it copies whole resources back. In a batch the resources of all cases are
stretches of one, each laid out as it would be alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backends.base import Binding, Bytes
from backends.reference import Result
from spec.tensor import TensorDesc
from strategies.values import UNSIGNED_OF_SIZE, buffer_size

GUARD_BYTES = 64
STRETCH_ALIGNMENT = 256  # bytes; so that a device's views of any element type start where the stretch does
_PADDING = 0x5A


class Poison(NamedTuple):
    """What memory holds before an execution.

    Attributes:
        guard: the byte around a tensor.
        element: what each byte of an output's elements differs by, as exclusive or, from what it is to become; not 0,
            so that an element left unwritten is always wrong.
    """

    guard: int
    element: int


# Of the first execution of a case, the second and so on. No two that follow each other have a byte in common, so that
# nothing that happens to write what was there before goes unseen twice.
POISONS = (Poison(0xC7, 0xFF), Poison(0x38, 0x55), Poison(0x92, 0xAA), Poison(0x6D, 0x33))


def poison_of(execution: int) -> Poison:
    """What memory holds before an execution of a case, counted from 0."""
    return POISONS[execution % len(POISONS)]


class InputMemory(NamedTuple):
    """An input's resource and what it must still hold afterwards."""

    binding: Binding
    before: bytes

    @property
    def is_unchanged(self) -> bool:
        return self.binding.buffer.tobytes() == self.before


class OutputMemory(NamedTuple):
    """An output's resource. Everything outside the tensor's TotalTensorSizeInBytes must stay as it is."""

    binding: Binding
    tensor: TensorDesc
    before: Poison = POISONS[0]

    @property
    def elements(self) -> npt.NDArray[np.unsignedinteger]:
        """The output's elements as unsigned integers of their width, in the output's sizes, through its strides."""
        size = self.tensor.data_type.size
        sizes, given = self.tensor.sizes, self.tensor.strides
        strides = None if given is None else tuple(stride * size for stride in given)
        return np.ndarray(sizes, UNSIGNED_OF_SIZE[size], self.binding.buffer, self.binding.offset, strides)

    def poison(self, expected: npt.NDArray[np.unsignedinteger]) -> None:
        """Write something else than what is expected into every element."""
        np.bitwise_xor(expected, self._mask(expected), out=self.elements)

    def untouched(self, expected: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.bool_]:
        """The elements that hold their poison, given what was expected when it was written."""
        untouched: npt.NDArray[np.bool_] = self.elements == expected ^ self._mask(expected)
        return untouched

    def _mask(self, expected: npt.NDArray[np.unsignedinteger]) -> np.unsignedinteger:
        return expected.dtype.type(int.from_bytes(bytes([self.before.element]) * expected.dtype.itemsize))

    def changed_outside(self) -> list[int]:
        """Offsets, relative to the tensor's start, of bytes outside its total size that no longer hold the guard."""
        offset, buffer, guard = self.binding.offset, self.binding.buffer, self.before.guard
        end = offset + self.tensor.total_tensor_size_in_bytes
        intact = _INTACT[guard]
        if buffer[:offset].tobytes() == intact[:offset] and buffer[end:].tobytes() == intact[: len(buffer) - end]:
            return []
        outside = np.flatnonzero(buffer != guard)
        outside = outside[(outside < offset) | (outside >= end)]
        return [int(position) - offset for position in outside[:16]]


_INTACT = {poison.guard: bytes([poison.guard]) * (1 << 17) for poison in POISONS}


class Unwritten:
    """The elements that a backend may leave with more than one value, and left as they were.

    Such an element may by chance hold what it is allowed to hold. Where it has its poison after every execution, and
    that was another one each time, it was not written.
    """

    def __init__(self) -> None:
        self._left: dict[str, npt.NDArray[np.bool_]] = {}

    def look(self, attribute: str, memory: OutputMemory, expected: Result) -> None:
        """Take in an output after an execution, and what was expected there."""
        if expected.open is not None:
            untouched = expected.open & memory.untouched(expected.values)
            self._left[attribute] = untouched & self._left.get(attribute, untouched)

    @property
    def count(self) -> int:
        """How many elements; it says nothing after one execution."""
        return sum(int(np.count_nonzero(left)) for left in self._left.values())


class Stretch(NamedTuple):
    """Where the resource of one tensor lies in a longer one: guard bytes, the tensor, guard bytes.

    Attributes:
        start: of the first guard.
        offset: of the tensor, from there.
        size: bytes bound.
    """

    start: int
    offset: int
    size: int

    @classmethod
    def of(cls, tensor: TensorDesc, after: int = 0) -> Stretch:
        """The first one from `after` on at which the tensor is aligned as guaranteed."""
        alignment = tensor.guaranteed_base_offset_alignment
        step = max(STRETCH_ALIGNMENT, alignment)
        return cls(-(-after // step) * step, max(GUARD_BYTES, alignment), buffer_size(tensor))

    @property
    def end(self) -> int:
        return self.start + self.offset + self.size + GUARD_BYTES

    def binding(self, memory: Bytes) -> Binding:
        """The tensor's binding where `memory` is the resource."""
        return Binding(memory, self.start + self.offset, self.size)

    def binding_alone(self, memory: Bytes, end: int) -> Binding:
        """The tensor's binding where the resource is this stretch of `memory`, up to `end`."""
        return Binding(memory[self.start : end], self.offset, self.size)


def guarded(size: int, before: Poison = POISONS[0]) -> Bytes:
    """A resource of guard bytes."""
    buffer = np.empty(size, np.uint8)
    buffer.fill(before.guard)
    return buffer


def _resource(tensor: TensorDesc, before: Poison = POISONS[0]) -> Binding:
    stretch = Stretch.of(tensor)
    return Binding(guarded(stretch.end, before), stretch.offset, stretch.size)


def bind_input(tensor: TensorDesc, content: Bytes) -> InputMemory:
    """A resource holding `content`, with guard bytes around it."""
    binding = _resource(tensor)
    binding.view[...] = content
    return InputMemory(binding, binding.buffer.tobytes())


def bind_output(tensor: TensorDesc, before: Poison = POISONS[0]) -> OutputMemory:
    """A resource for an output: guard bytes around it, padding inside."""
    return padded(_resource(tensor, before), tensor, before)


def padded(binding: Binding, tensor: TensorDesc, before: Poison = POISONS[0]) -> OutputMemory:
    """An output's memory, with the same byte in all of its TotalTensorSizeInBytes."""
    binding.buffer[binding.offset : binding.offset + tensor.total_tensor_size_in_bytes] = _PADDING
    return OutputMemory(binding, tensor, before)


def memory_elements(tensor: TensorDesc, binding: Binding) -> npt.NDArray[np.unsignedinteger]:
    """Every whole element that a tensor's memory holds, padding included: what a clamped read may return."""
    size = tensor.data_type.size
    count = tensor.total_tensor_size_in_bytes // size
    return np.frombuffer(binding.view, UNSIGNED_OF_SIZE[size], count)
