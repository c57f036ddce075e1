"""The memory that a backend gets: every tensor in a resource of its own, between guard bytes, outputs poisoned.

A tensor is bound at an offset inside its resource, as the API does, so a backend that writes outside the bound range
hits the guards, on a device too, as long as it copies whole resources back. In a batch the resources of all cases are
stretches of one, each laid out as it would be alone.

Guards, padding and poison are secret random bytes, others in each execution. Poison is never right: of an exact element
it has no byte, it lies in no interval, and it is none of several values that are right, as far as there are others. So
all that the memory of an output tells before it is written is a value that is not expected there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Binding, Bindings, Bytes
from dml_conformance.backends.poison import secret_bytes
from dml_conformance.backends.reference import Expectation, LargeExpectation
from dml_conformance.conformance.judge.compare import right
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits
from dml_conformance.spec.operator import OperatorDesc, tensor_at
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.values import UNSIGNED_OF_SIZE, buffer_size

GUARD_BYTES = 64
STRETCH_ALIGNMENT = 256  # bytes; so that a device's views of any element type start where the stretch does
OFFSET_ALIGNMENT = 16  # bytes; all that is promised of a bound offset: DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT
LARGE_BYTES = 2**26  # of a case's tensors; of larger ones no second copy of the memory is kept
# Draws of an element that may come out right. What is right then nearly always is taken from the ends of its type.
DRAWS = 64

# What may stand where one of several values is right, if anything.
Allowed = Callable[[Expectation], Bits | None]


class InputMemory(NamedTuple):
    """An input's resource and what tells whether it is still what it was."""

    binding: Binding
    before: bytes

    @property
    def is_unchanged(self) -> bool:
        return _content(self.binding.buffer) == self.before


def _content(memory: Bytes) -> bytes:
    """The bytes, or a digest of them where they are many."""
    return memory.tobytes() if memory.size <= LARGE_BYTES else hashlib.sha256(memory.data).digest()


class OutputMemory(NamedTuple):
    """An output's resource. Everything outside the tensor's TotalTensorSizeInBytes must stay as it is.

    Attributes:
        binding: where the tensor lies.
        tensor: the tensor.
        outside: what lay before the tensor and behind it.
        poison: what its elements were; None where they are too many to be kept, or an input's.
    """

    binding: Binding
    tensor: TensorDesc
    outside: tuple[Bytes, Bytes]
    poison: Bits | None

    @classmethod
    def before_execution(cls, binding: Binding, tensor: TensorDesc, poison: Bits | None) -> OutputMemory:
        """The memory as it is now."""
        before, behind = _around(binding, tensor)
        return cls(binding, tensor, (before.copy(), behind.copy()), poison)

    @property
    def elements(self) -> Bits:
        """The output's elements as unsigned integers of their width, in the output's sizes, through its strides."""
        return elements_at(self.binding.buffer, self.binding.offset, self.tensor)

    def changed_outside(self) -> list[int]:
        """Offsets, relative to the tensor's start, of bytes outside its total size that have changed."""
        around, starts = _around(self.binding, self.tensor), (-self.binding.offset, self._end - self.binding.offset)
        changed: list[int] = []
        for start, now, before in zip(starts, around, self.outside, strict=True):
            if now.tobytes() != before.tobytes():
                changed.extend(start + int(place) for place in np.flatnonzero(now != before))
        return changed[:16]

    @property
    def _end(self) -> int:
        return self.binding.offset + self.tensor.total_tensor_size_in_bytes


def _around(binding: Binding, tensor: TensorDesc) -> tuple[Bytes, Bytes]:
    """The parts of a resource before a tensor and behind it."""
    return binding.buffer[: binding.offset], binding.buffer[binding.offset + tensor.total_tensor_size_in_bytes :]


def elements_at(memory: Bytes, offset: int, tensor: TensorDesc) -> Bits:
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

    def look(self, key: str, memory: OutputMemory, expected: Expectation | LargeExpectation) -> None:
        """Take in the output in a slot after an execution, and what was expected there."""
        if not isinstance(expected, Expectation) or expected.open is None or memory.poison is None:
            return
        untouched = expected.open & (memory.elements == memory.poison)
        if expected.free is not None:
            untouched &= ~expected.free
        self._left[key] = untouched & self._left.get(key, untouched)

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
    binding = stretch.binding(np.empty(stretch.end, np.uint8))
    end = stretch.offset + stretch.size
    for guard in (slice(stretch.offset), slice(end, None)):
        binding.buffer[guard] = secret_bytes(binding.buffer[guard].size)
    binding.view[...] = content
    return InputMemory(binding, _content(binding.buffer))


def bind_overlapping(tensors: Mapping[str, TensorDesc], contents: Mapping[str, Bytes]) -> dict[str, InputMemory]:
    """One resource for several inputs, all of them at the same offset in it.

    Args:
        tensors: the inputs, by slot.
        contents: of each; a shorter one is what a longer one begins with.
    """
    strictest = max(tensors.values(), key=lambda tensor: tensor.guaranteed_base_offset_alignment)
    offset, sizes = Stretch.of(strictest).offset, {key: buffer_size(tensor) for key, tensor in tensors.items()}
    memory = secret_bytes(offset + max(sizes.values()) + GUARD_BYTES)
    bindings = {key: Binding(memory, offset, size) for key, size in sizes.items()}
    for key, binding in bindings.items():
        binding.view[...] = contents[key]
    return {key: InputMemory(binding, _content(memory)) for key, binding in bindings.items()}


def bind_output(
    tensor: TensorDesc,
    expected: Expectation | LargeExpectation,
    last: OutputMemory | None = None,
    allowed: Allowed = lambda _: None,
) -> OutputMemory:
    """A resource for an output.

    Args:
        tensor: the output.
        expected: what its elements are to become; none is that already.
        last: its memory in the execution before; no byte is what it was then, where that is known.
        allowed: see `allowed_elements`.
    """
    stretch = Stretch.of(tensor)
    binding = stretch.binding(secret_bytes(stretch.end))
    if last is not None:
        for around, before in zip(_around(binding, tensor), last.outside, strict=True):
            around[...] = secret_bytes(around.size, before)
    elements = elements_at(binding.buffer, binding.offset, tensor)
    for box, part in expected.parts():
        drawn_before = None if last is None or last.poison is None else last.poison[box]
        poison = _secret(part.values, drawn_before)
        make_wrong(poison, part, tensor.data_type, allowed(part), drawn_before)
        elements[box] = poison
    kept = elements.copy() if isinstance(expected, Expectation) else None
    return OutputMemory.before_execution(binding, tensor, kept)


def make_wrong(
    poison: Bits, expected: Expectation, data_type: DataType, allowed: Bits | None, last: Bits | None
) -> None:
    """Draw the elements of poison anew that are right by chance. Of those for which anything is right nothing is told.

    Args:
        poison: secret elements, none with a byte of its own in `expected.values`; is changed.
        expected: what is right of them.
        data_type: theirs.
        allowed: see `allowed_elements`.
        last: what they were in the execution before; None where that is not known.
    """
    if expected.open is None:
        return
    drawn = expected.open if expected.free is None else expected.open & ~expected.free
    if expected.one_of is not None and _has_every_value(allowed):
        drawn = drawn & ~expected.one_of
    if not drawn.any():
        return
    places = np.nonzero(drawn & right(poison, expected, data_type, allowed))
    for _ in range(DRAWS):
        if not places[0].size:
            return
        poison[places] = _secret(expected.values[places], None if last is None else last[places])
        is_right = right(poison[places], expected.cut(places), data_type, allowed)
        places = tuple(along[is_right] for along in places)
    for end in _ends(data_type):
        ends = np.full(places[0].shape, end, poison.dtype)
        is_right = right(ends, expected.cut(places), data_type, allowed)
        poison[tuple(along[~is_right] for along in places)] = end
        places = tuple(along[is_right] for along in places)


def _has_every_value(allowed: Bits | None) -> bool:
    """Whether no element can be told from those that are right: all that there are of one or two bytes."""
    if allowed is None or allowed.itemsize > 2 or allowed.size < (every := 256**allowed.itemsize):
        return False
    return bool(np.bincount(allowed, minlength=every).all())


def _ends(data_type: DataType) -> tuple[int, ...]:
    """Bits of the least and the greatest number of a type, and of a NaN: an interval that has them all has all."""
    top = 2 ** (data_type.bits - 1)
    if data_type.is_float:
        infinity = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}[data_type.bits]
        return infinity | top, infinity, top - 1
    return (top, top - 1) if data_type.is_signed_integer else (0, 2 * top - 1)


def _secret(values: Bits, last: Bits | None) -> Bits:
    """Secret elements without a byte that `values` or `last` has there."""
    avoided = map(_bytes_of, [values] if last is None else [values, last])
    return secret_bytes(values.nbytes, *avoided).view(values.dtype).reshape(values.shape)


def _bytes_of(elements: Bits) -> Bytes:
    return np.ascontiguousarray(elements).reshape(-1).view(np.uint8)


def allowed_elements(expected: Expectation, desc: OperatorDesc, inputs: Bindings) -> Bits | None:
    """What may stand where one of several values is right; None where that is nowhere."""
    if expected.one_of is None:
        return None
    tensor = tensor_at(desc, expected.memory)
    assert tensor is not None
    return memory_elements(tensor, inputs[expected.memory])


def memory_elements(tensor: TensorDesc, binding: Binding) -> Bits:
    """Every whole element that a tensor's memory holds, padding included: what a clamped read may return."""
    size = tensor.data_type.size
    count = tensor.total_tensor_size_in_bytes // size
    return np.frombuffer(binding.view, UNSIGNED_OF_SIZE[size], count)
