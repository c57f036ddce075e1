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
from spec.tensor import TensorDesc
from strategies.values import UNSIGNED_OF_SIZE, buffer_size

GUARD_BYTES = 64
STRETCH_ALIGNMENT = 256  # bytes; so that a device's views of any element type start where the stretch does
_GUARD = 0xC7
_POISON = 0x5A


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

    @property
    def elements(self) -> npt.NDArray[np.unsignedinteger]:
        """The output's elements as unsigned integers of their width, in the output's sizes, through its strides."""
        size = self.tensor.data_type.size
        sizes, given = self.tensor.sizes, self.tensor.strides
        strides = None if given is None else tuple(stride * size for stride in given)
        return np.ndarray(sizes, UNSIGNED_OF_SIZE[size], self.binding.buffer, self.binding.offset, strides)

    def poison(self, expected: npt.NDArray[np.unsignedinteger]) -> None:
        """Write the complement of what is expected into every element, so that one left unwritten is always wrong."""
        np.invert(expected, out=self.elements)

    def changed_outside(self) -> list[int]:
        """Offsets, relative to the tensor's start, of bytes outside its total size that no longer hold the guard."""
        offset, buffer = self.binding.offset, self.binding.buffer
        end = offset + self.tensor.total_tensor_size_in_bytes
        if buffer[:offset].tobytes() == _HEAD[:offset] and buffer[end:].tobytes() == _HEAD[: len(buffer) - end]:
            return []
        outside = np.flatnonzero(buffer != _GUARD)
        outside = outside[(outside < offset) | (outside >= end)]
        return [int(position) - offset for position in outside[:16]]


_HEAD = bytes([_GUARD]) * (1 << 17)


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


def guarded(size: int) -> Bytes:
    """A resource of guard bytes."""
    buffer = np.empty(size, np.uint8)
    buffer.fill(_GUARD)
    return buffer


def _resource(tensor: TensorDesc) -> tuple[Bytes, int, int]:
    stretch = Stretch.of(tensor)
    return guarded(stretch.end), stretch.offset, stretch.size


def bind_input(tensor: TensorDesc, content: Bytes) -> InputMemory:
    """A resource holding `content`, with guard bytes around it."""
    buffer, offset, size = _resource(tensor)
    buffer[offset : offset + size] = content
    return InputMemory(Binding(buffer, offset, size), buffer.tobytes())


def bind_output(tensor: TensorDesc) -> OutputMemory:
    """A resource for an output: guard bytes around it, poison inside."""
    buffer, offset, size = _resource(tensor)
    return poisoned(Binding(buffer, offset, size), tensor)


def poisoned(binding: Binding, tensor: TensorDesc) -> OutputMemory:
    """An output's memory, with poison in all of its TotalTensorSizeInBytes."""
    binding.buffer[binding.offset : binding.offset + tensor.total_tensor_size_in_bytes] = _POISON
    return OutputMemory(binding, tensor)


def memory_elements(tensor: TensorDesc, binding: Binding) -> npt.NDArray[np.unsignedinteger]:
    """Every whole element that a tensor's memory holds, padding included: what a clamped read may return."""
    size = tensor.data_type.size
    count = tensor.total_tensor_size_in_bytes // size
    return np.frombuffer(binding.view, UNSIGNED_OF_SIZE[size], count)
