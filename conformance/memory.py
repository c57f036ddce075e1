"""The memory that a backend gets: every tensor in a resource of its own, between guard bytes, outputs poisoned.

A tensor is bound at an offset inside its resource, as the API does, so a backend that writes outside the bound range
hits the guards, on a device too, as long as it copies whole resources back. In a batch the resources of all cases are
stretches of one, each laid out as it would be alone.

Guards, padding and poison are secret random bytes, others in each execution. All that the memory of an output tells
before it is written is, of each byte, one value out of 256 that is not expected there.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from backends.base import Binding, Bytes
from backends.reference import Result
from spec.tensor import TensorDesc
from strategies.values import UNSIGNED_OF_SIZE, buffer_size

Elements = npt.NDArray[np.unsignedinteger]

GUARD_BYTES = 64
STRETCH_ALIGNMENT = 256  # bytes; so that a device's views of any element type start where the stretch does
OFFSET_ALIGNMENT = 16  # bytes; all that is promised of a bound offset: DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT
_BLOCK = 16  # bytes that the cipher makes at a time

# A key stream is random to whoever has not the key. It costs a tenth of what the system's random bytes cost.
_STREAM = Cipher(algorithms.AES(secrets.token_bytes(32)), modes.CTR(bytes(_BLOCK))).encryptor()


def secret_bytes(count: int, *avoided: Bytes) -> Bytes:
    """Bytes that no other process can foretell.

    Args:
        count: how many.
        avoided: arrays of that many; no byte is the one at its place there, and any other is as likely.
    """
    memory = np.empty(count + _BLOCK - 1, np.uint8)
    found = memory[:count]
    _STREAM.update_into(found.data, memory.data)  # on top of whatever lay there
    if avoided:
        same = found == avoided[0]
        for other in avoided[1:]:
            same |= found == other
        (places,) = same.nonzero()
        if places.size:
            found[places] = secret_bytes(places.size, *(other[places] for other in avoided))
    return found


class InputMemory(NamedTuple):
    """An input's resource and what it must still hold afterwards."""

    binding: Binding
    before: bytes

    @property
    def is_unchanged(self) -> bool:
        return self.binding.buffer.tobytes() == self.before


class OutputMemory(NamedTuple):
    """An output's resource. Everything outside the tensor's TotalTensorSizeInBytes must stay as it is.

    Attributes:
        binding: where the tensor lies.
        tensor: the tensor.
        before: what the resource held before the execution.
    """

    binding: Binding
    tensor: TensorDesc
    before: Bytes

    @property
    def elements(self) -> Elements:
        """The output's elements as unsigned integers of their width, in the output's sizes, through its strides."""
        return elements_at(self.binding.buffer, self.binding.offset, self.tensor)

    @property
    def poison(self) -> Elements:
        """What they were before the execution."""
        return elements_at(self.before, self.binding.offset, self.tensor)

    def changed_outside(self) -> list[int]:
        """Offsets, relative to the tensor's start, of bytes outside its total size that have changed."""
        offset, buffer, before = self.binding.offset, self.binding.buffer, self.before
        end = offset + self.tensor.total_tensor_size_in_bytes
        if all(buffer[part].tobytes() == before[part].tobytes() for part in (slice(offset), slice(end, None))):
            return []
        outside = np.flatnonzero(buffer != before)
        outside = outside[(outside < offset) | (outside >= end)]
        return [int(position) - offset for position in outside[:16]]


def elements_at(memory: Bytes, offset: int, tensor: TensorDesc) -> Elements:
    """The elements of a tensor that starts at an offset in memory."""
    size = tensor.data_type.size
    strides = None if tensor.strides is None else tuple(stride * size for stride in tensor.strides)
    return np.ndarray(tensor.sizes, UNSIGNED_OF_SIZE[size], memory, offset, strides)


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
            untouched = expected.open & (memory.elements == memory.poison)
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
        """The first one from `after` on at which the tensor is aligned as guaranteed, and to nothing more."""
        alignment = max(OFFSET_ALIGNMENT, tensor.guaranteed_base_offset_alignment)
        step = max(STRETCH_ALIGNMENT, 2 * alignment)
        odd = -(-GUARD_BYTES // alignment) | 1  # an odd multiple is one of no larger power of two
        return cls(-(-after // step) * step, odd * alignment, buffer_size(tensor))

    @property
    def end(self) -> int:
        return self.start + self.offset + self.size + GUARD_BYTES

    def binding(self, memory: Bytes) -> Binding:
        """The tensor's binding where `memory` is the resource."""
        return Binding(memory, self.start + self.offset, self.size)

    def binding_alone(self, memory: Bytes, end: int) -> Binding:
        """The tensor's binding where the resource is this stretch of `memory`, up to `end`."""
        return Binding(memory[self.start : end], self.offset, self.size)


def bind_input(tensor: TensorDesc, content: Bytes) -> InputMemory:
    """A resource holding `content`, with guard bytes around it."""
    stretch = Stretch.of(tensor)
    binding = stretch.binding(secret_bytes(stretch.end))
    binding.view[...] = content
    return InputMemory(binding, binding.buffer.tobytes())


def bind_output(tensor: TensorDesc, expected: Elements, last: OutputMemory | None = None) -> OutputMemory:
    """A resource for an output.

    Args:
        tensor: the output.
        expected: what its elements are to become; none is that already.
        last: its memory in the execution before; no byte is what it was then.
    """
    stretch = Stretch.of(tensor)
    memory = secret_bytes(stretch.end, *([] if last is None else [last.before]))
    avoided = [expected] if last is None else [expected, last.poison]
    poison = secret_bytes(expected.nbytes, *map(_bytes_of, avoided))
    binding = stretch.binding(memory)
    elements_at(memory, binding.offset, tensor)[...] = poison.view(expected.dtype).reshape(tensor.sizes)
    return OutputMemory(binding, tensor, memory.copy())


def _bytes_of(elements: Elements) -> Bytes:
    return np.ascontiguousarray(elements).reshape(-1).view(np.uint8)


def memory_elements(tensor: TensorDesc, binding: Binding) -> npt.NDArray[np.unsignedinteger]:
    """Every whole element that a tensor's memory holds, padding included: what a clamped read may return."""
    size = tensor.data_type.size
    count = tensor.total_tensor_size_in_bytes // size
    return np.frombuffer(binding.view, UNSIGNED_OF_SIZE[size], count)
