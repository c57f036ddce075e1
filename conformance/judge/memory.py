"""The memory that a backend gets: every tensor between guard bytes, outputs poisoned.

All tensors of a case lie in one block of memory, as its placement says: each in a resource of its own, or all in one. A
tensor is bound at an offset inside its resource, as the API does, so a backend that writes outside the bound range
hits the guards, on a device too, as long as it copies whole resources back. In a batch the tensors of all cases lie in
one resource.

Guards, padding and poison are secret random bytes, others in each execution. Poison is never right: of an exact element
it has no byte, it lies in no interval, and it is none of several values that are right, as far as there are others. So
all that the memory of an output tells before it is written is a value that is not expected there.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import cycle
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Binding, Bindings, BoundTensor, Bytes, looked_at
from dml_conformance.backends.poison import authentication_tag, secret_bytes
from dml_conformance.backends.processes.backend import LentMemory
from dml_conformance.backends.reference import Expectation, LargeExpectation
from dml_conformance.backends.reference.layout import bits, put
from dml_conformance.conformance.judge.compare import right
from dml_conformance.spec import nibbles
from dml_conformance.spec.case import OFFSET_ALIGNMENT, Order, Placement
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Box, Mask, box_of
from dml_conformance.spec.operator import OperatorDesc, Slot, inputs, outputs, tensor_at
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.values import UNSIGNED_OF_SIZE, buffer_size

GUARD_BYTES = 64  # behind a tensor
MOST_GUARDED = 4096  # bytes in front of a tensor; where it lies further inside its resource, zeros stand before that
STEP = 256  # bytes; in a shared resource a tensor's offset is counted from a multiple of this
PAGE = 4096  # bytes; resources begin at a multiple of this, as allocators give them
LARGE_BYTES = 2**26  # of a case's tensors; of larger ones no second copy of the memory is kept
BLOCK_BYTES = 2**16  # that are compared at once
SECRET_PERIOD = 2**22 + 15  # bytes after which the secret ones of a stretch begin again; prime
# Draws of an element that may come out right. What is right then nearly always is taken from the ends of its type.
DRAWS = 64
BOX = 1024  # elements of a large output that are looked at in one place
_RANDOM = secrets.SystemRandom()


def laid_out(content: Bytes, tensor: TensorDesc, other: TensorDesc) -> Bytes:
    """What a tensor's bytes hold, as the bytes of another tensor of the same sizes and type."""
    made = np.zeros(buffer_size(other), np.uint8)
    put(Binding(made, 0, made.size), other, bits(Binding(content, 0, content.size), tensor))
    return made


class Sample(NamedTuple):
    """What is right of some boxes of an output."""

    boxes: tuple[tuple[Box, Expectation], ...]

    @classmethod
    def drawn(
        cls, whole: Expectation | LargeExpectation, sizes: Sequence[int], count: int, places: Sequence[int] = ()
    ) -> Sample:
        """The first box, the last, and some that nobody can foretell.

        Args:
            whole: what is right of the output.
            sizes: of the output.
            count: of boxes, where there are as many.
            places: of elements, in row-major order, whose boxes are looked at besides.
        """
        total, most = prod(sizes), whole.sampled_elements(BOX) if isinstance(whole, LargeExpectation) else BOX
        drawn = (_RANDOM.randrange(total) for _ in range(count - 2))
        chosen = (box_of(sizes, most, place) for place in (0, total - 1, *places, *drawn) if 0 <= place < total)
        found = {tuple((span.start, span.stop) for span in box): box for box in chosen}
        return cls(tuple((box, whole.cut(box)) for _, box in sorted(found.items())))

    def parts(self) -> Iterator[tuple[Box, Expectation]]:
        """The boxes, and what is right of each."""
        return iter(self.boxes)


# What is right of an output: all of it, part by part, or a sample.
Expected = Expectation | LargeExpectation | Sample
# What may stand where one of several values is right, if anything.
Allowed = Callable[[Expectation], Bits | None]
# Gives memory of so many bytes that a backend's process shares, where there is any.
Lend = Callable[[int], LentMemory | None]


class Stretch(NamedTuple):
    """A tensor's part of a block of memory: guard bytes, the tensor, guard bytes.

    Attributes:
        begin: of the first guard.
        start: of the tensor.
        size: bytes bound.
        end: of the last guard.
    """

    begin: int
    start: int
    size: int
    end: int

    def binding(self, resource: Bytes, at: int = 0) -> Binding:
        """The tensor's binding in a resource that begins at this place of the block."""
        return Binding(resource, self.start - at, self.size)

    def around(self, memory: Bytes, tensor: TensorDesc) -> tuple[Bytes, Bytes]:
        """The parts of the stretch before the tensor and behind it, in a block of memory."""
        return memory[self.begin : self.start], memory[self.start + tensor.total_tensor_size_in_bytes : self.end]

    def looked_at(self, tensor: TensorDesc) -> list[slice]:
        """The parts of a block of memory that are filled, and held to what they were; all where it is not large."""
        parts = looked_at(self.end - self.begin, [BoundTensor(self.start - self.begin, self.size, tensor)])
        return [slice(self.begin + part.start, self.begin + part.stop) for part in parts]


class Layout(NamedTuple):
    """Where the tensors of a case lie in a block of memory.

    Attributes:
        stretches: of each tensor, by slot, in the order of memory. Of tensors that overlap they differ in size alone.
        resources: of each tensor the part of the block that is its resource.
        end: of the last stretch.
    """

    stretches: dict[str, Stretch]
    resources: dict[str, slice]
    end: int

    @classmethod
    def of(
        cls, desc: OperatorDesc, placement: Placement, together: Collection[str] = (), after: int | None = None
    ) -> Layout:
        """Lay the tensors of a descriptor out.

        Args:
            desc: the descriptor.
            placement: how they are bound.
            together: keys of those that begin at one place, where a case has such.
            after: where the next tensor may begin in a resource that others lie in too; None = in resources of the
                case's own.
        """
        layout, end = cls({}, {}, 0), after or 0
        is_shared = placement.heap or after is not None
        for tensors, offset in _in_order(desc, placement, together):
            alignment = max(OFFSET_ALIGNMENT, *(each.guaranteed_base_offset_alignment for each in tensors.values()))
            # An odd multiple of what is promised stays one: it is aligned to nothing more.
            offset = (-(-offset // alignment) | (offset // OFFSET_ALIGNMENT & 1)) * alignment
            size = max(map(buffer_size, tensors.values())) + placement.surplus
            if is_shared and (end or after is not None):
                step = max(STEP, 2 * alignment)
                begin, start = end, _up(end, step) + offset % step
            else:
                first = _up(end, PAGE)
                start = first + offset
                begin = max(first, start - MOST_GUARDED)
            resource_start = 0 if is_shared else first
            end = _up(start + size + GUARD_BYTES, 8)
            for key, tensor in tensors.items():
                layout.stretches[key] = Stretch(begin, start, buffer_size(tensor) + placement.surplus, end)
                layout.resources[key] = slice(resource_start, None if is_shared else end)
        return layout._replace(end=end)

    def bindings(self, memory: Bytes) -> dict[str, Binding]:
        """The binding of each tensor in a block of memory; those in one resource have the same buffer."""
        resources: dict[int, Bytes] = {}
        bound = {}
        for key, stretch in self.stretches.items():
            part = self.resources[key]
            resource = resources.setdefault(part.start, memory if part == slice(0, None) else memory[part])
            bound[key] = stretch.binding(resource, part.start)
        return bound


def _up(place: int, step: int) -> int:
    return -(-place // step) * step


def _in_order(
    desc: OperatorDesc, placement: Placement, together: Collection[str]
) -> list[tuple[dict[str, TensorDesc], int]]:
    """The tensors in the order of memory, those together that overlap, and the offset of each."""
    read, written = inputs(desc), outputs(desc)
    offsets = cycle(placement.offsets)
    groups: dict[str, tuple[dict[str, TensorDesc], int]] = {}
    of_slot: dict[str, str] = {}
    for slot, offset in zip((*read, *written), offsets, strict=False):
        name = min(together) if slot.key in together else slot.key
        groups.setdefault(name, ({}, offset))[0][slot.key] = slot.tensor
        of_slot[slot.key] = name
    ordered: Sequence[Slot] = (*read, *written)
    if placement.order is Order.REVERSED:
        ordered = ordered[::-1]
    elif placement.order is not Order.DECLARED:
        half = 0 if placement.order is Order.OUTPUTS_FIRST else -(-len(read) // 2)
        ordered = (*read[:half], *written, *read[half:])
    return [groups[name] for name in dict.fromkeys(of_slot[slot.key] for slot in ordered)]


class InputMemory(NamedTuple):
    """An input's binding, the parts of its stretch of memory that are looked at, and what tells whether they are still
    what they were."""

    binding: Binding
    parts: Sequence[Bytes]
    before: Sequence[bytes]

    @property
    def is_unchanged(self) -> bool:
        return all(map(_is_still, self.parts, self.before))


def _content(part: Bytes) -> bytes:
    """The bytes, or what tells whether they are the same where they are many: `authentication_tag`."""
    return part.tobytes() if part.size <= LARGE_BYTES else authentication_tag(part)


def _is_still(part: Bytes, before: bytes) -> bool:
    """Whether the content is what it was."""
    if part.size > LARGE_BYTES:
        return authentication_tag(part) == before
    # By blocks, as one copy of many bytes takes its pages from the system each time.
    starts = range(0, part.size, BLOCK_BYTES)
    return all(part[start : start + BLOCK_BYTES].tobytes() == before[start : start + BLOCK_BYTES] for start in starts)


class OutputMemory(NamedTuple):
    """An output's memory. Everything outside the tensor's TotalTensorSizeInBytes must stay as it is.

    Attributes:
        binding: where the tensor lies.
        tensor: the tensor.
        around: the bytes of its stretch before the tensor and behind it.
        outside: what they were.
        poison: what its elements were; None where they are too many to be kept, or an input's.
    """

    binding: Binding
    tensor: TensorDesc
    around: tuple[Bytes, Bytes]
    outside: tuple[Bytes, Bytes]
    poison: Bits | None

    @classmethod
    def before_execution(
        cls, binding: Binding, tensor: TensorDesc, around: tuple[Bytes, Bytes], poison: Bits | None
    ) -> OutputMemory:
        """The memory as it is now."""
        return cls(binding, tensor, around, (around[0].copy(), around[1].copy()), poison)

    @property
    def elements(self) -> Bits:
        """The output's elements as unsigned integers of their width, in the output's sizes, through its strides."""
        return elements_at(self.binding.buffer, self.binding.offset, self.tensor)

    def changed_outside(self) -> list[int]:
        """Offsets, relative to the tensor's start, of bytes outside its total size that have changed."""
        starts = -self.around[0].size, self.tensor.total_tensor_size_in_bytes
        changed: list[int] = []
        for start, now, before in zip(starts, self.around, self.outside, strict=True):
            if now.tobytes() != before.tobytes():
                changed.extend(start + int(place) for place in np.flatnonzero(now != before))
        return changed[:16]


def elements_at(memory: Bytes, offset: int, tensor: TensorDesc) -> Bits:
    """The elements of a tensor that starts at an offset in memory; a copy where two share a byte."""
    if tensor.data_type.shares_bytes:
        return nibbles.elements(memory[offset:], tensor)
    size = tensor.data_type.size
    strides = None if tensor.strides is None else tuple(stride * size for stride in tensor.strides)
    return np.ndarray(tensor.sizes, UNSIGNED_OF_SIZE[size], memory, offset, strides)


def is_in_turns(expected: Expected) -> bool:
    """Whether the same is expected again and again, as inputs repeat."""
    return isinstance(expected, LargeExpectation) and expected.repeats


def unlike_parts(output: OutputMemory, expected: Expected) -> Iterator[tuple[Bits, Expectation, int]]:
    """The elements of an output part by part, what is right of them, and how many parts are like that.

    Where the same is expected in turns, a part that holds what it held in the first turn is not given again.
    """
    elements = output.elements
    if not is_in_turns(expected):
        yield from ((elements[box], part, 1) for box, part in expected.parts())
        return
    first: dict[int, tuple[Box, Expectation, int]] = {}  # the same object is expected in each turn
    for box, part in expected.parts():
        known, _, count = first.get(id(part), (box, part, 0))
        if count and not np.array_equal(elements[known], elements[box]):
            yield elements[box], part, 1
        else:
            first[id(part)] = known, part, count + 1
    yield from ((elements[box], part, count) for box, part, count in first.values())


class UnwrittenElements:
    """The elements that a backend may leave with more than one value, and left as they were.

    Such an element may by chance hold what it is allowed to hold. Where it has its poison after every execution, and
    that was another one each time, it was not written.
    """

    def __init__(self) -> None:
        self._left: dict[str, npt.NDArray[np.bool_]] = {}

    def look(self, key: str, memory: OutputMemory, expected: Expected) -> None:
        """Take in the output in a slot after an execution, and what was expected there."""
        if memory.poison is None or isinstance(expected, Sample):
            return
        elements = memory.elements
        untouched = np.zeros(elements.shape, np.bool_)
        for box, part in expected.parts():
            if (is_open := part.open) is not None:
                untouched[box] = is_open & (elements[box] == memory.poison[box])
            if part.free is not None:
                untouched[box] &= ~part.free
        self._left[key] = untouched & self._left.get(key, untouched)

    @property
    def count(self) -> int:
        """How many elements; it says nothing after one execution."""
        return sum(int(np.count_nonzero(left)) for left in self._left.values())


def page_aligned(size: int) -> Bytes:
    """Memory of so many bytes that begins where a page does: zeros, and nothing that this process left there."""
    memory = np.zeros(size + PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    return memory[start : start + size]


class CaseMemory:
    """The memory of one case, for all of its executions.

    Args:
        desc: its descriptor.
        placement: how its tensors are bound.
        together: keys of those that begin at one place, where the case has such.
        lend: gives the memory; where it gives none, that is this process's own.

    Attributes:
        bindings: of every tensor, by slot.
    """

    def __init__(
        self, desc: OperatorDesc, placement: Placement, together: Collection[str] = (), lend: Lend = lambda _: None
    ) -> None:
        self._desc = desc
        self._layout, self._surplus = Layout.of(desc, placement, together), placement.surplus
        self._lent = lend(self._layout.end)
        self._block = page_aligned(self._layout.end) if self._lent is None else self._lent.memory
        self.bindings = self._layout.bindings(self._block)

    def put_inputs(self, contents: Mapping[str, Bytes]) -> dict[str, InputMemory]:
        """Fill the inputs' memory, by slot, with guard bytes around them.

        Args:
            contents: of each. Of those that begin at one place, a shorter one is what a longer one begins with.
        """
        stretches = {key: self._layout.stretches[key] for key in contents}
        given = [slot for slot in inputs(self._desc) if slot.key in contents]
        parts = {slot.key: stretches[slot.key].looked_at(slot.tensor) for slot in given}
        for begin, start, size, end in stretches.values():
            for guard in (slice(begin, start), slice(start + size - self._surplus, end)):
                self._block[guard] = secret_bytes(guard.stop - guard.start)
        for key, content in contents.items():
            start = stretches[key].start
            for part in parts[key]:
                first, last = max(part.start - start, 0), min(part.stop - start, content.size)
                if first < last:
                    self._put(start + first, content[first:last])
        found = {}
        for key, of_input in parts.items():
            own = [self._block[part] for part in of_input]
            found[key] = InputMemory(self.bindings[key], own, [_content(part) for part in own])
        return found

    def _put(self, start: int, content: Bytes) -> None:
        if self._lent is not None:
            self._lent.put(start, content)
        else:
            self._block[start : start + content.size] = content

    def now(self, slot: Slot, poison: Bits | None = None) -> OutputMemory:
        """An output's memory as it is now, be it an input's too; `poison` is what its elements are, if it is known."""
        around = self._layout.stretches[slot.key].around(self._block, slot.tensor)
        return OutputMemory.before_execution(self.bindings[slot.key], slot.tensor, around, poison)

    def poison(
        self,
        slot: Slot,
        expected: Expected,
        last: OutputMemory | None = None,
        allowed: Allowed = lambda _: None,
    ) -> OutputMemory:
        """Fill an output's memory with what is wrong there.

        Args:
            slot: the output's.
            expected: what its elements are to become; none is that already.
            last: its memory in the execution before; no byte is what it was then, where that is known.
            allowed: see `allowed_elements`.
        """
        binding, tensor, stretch = self.bindings[slot.key], slot.tensor, self._layout.stretches[slot.key]
        for filled in stretch.looked_at(tensor):
            secret = secret_bytes(min(filled.stop - filled.start, SECRET_PERIOD))
            for begin in range(filled.start, filled.stop, secret.size):
                self._put(begin, secret[: filled.stop - begin])
        if last is not None:
            for around, before in zip(last.around, last.outside, strict=True):
                around[...] = secret_bytes(around.size, before)
        elements = elements_at(binding.buffer, binding.offset, tensor)
        in_turn: dict[int, Bits] = {}  # the same object is expected in each turn
        for box, part in expected.parts():
            poison = in_turn.get(id(part))
            if poison is None:
                drawn_before = None if last is None or last.poison is None else last.poison[box]
                poison = wrong_elements(part, tensor.data_type, allowed(part), drawn_before)
                if is_in_turns(expected):
                    in_turn[id(part)] = poison
            elements[box] = poison
        if tensor.data_type.shares_bytes:
            nibbles.put(binding.view, tensor, elements)
        is_kept = not expected.boxes if isinstance(expected, Sample) else isinstance(expected, Expectation)
        is_kept |= is_in_turns(expected)
        return self.now(slot, elements.copy() if is_kept else None)


def wrong_elements(
    expected: Expectation, data_type: DataType, allowed: Bits | None = None, last: Bits | None = None
) -> Bits:
    """Secret elements none of which is right, as far as others are; arguments as of `make_wrong`."""
    elements = _secret(expected.values, last, data_type)
    make_wrong(elements, expected, data_type, allowed, last)
    return elements


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
    drawn = expected.open
    if drawn is None:
        return
    if expected.free is not None:
        drawn = drawn & ~expected.free
    if expected.one_of is not None and _has_every_value(allowed):
        drawn = drawn & ~expected.one_of
    if not drawn.any():
        return
    drawn = drawn & right(poison, expected, data_type, allowed)
    if not drawn.any():
        return
    places = np.nonzero(drawn & ~_holds_every_value(expected, data_type))
    for _ in range(DRAWS):
        if not places[0].size:
            return
        poison[places] = _secret(expected.values[places], None if last is None else last[places], data_type)
        is_right = right(poison[places], expected.cut(places), data_type, allowed)
        places = tuple(along[is_right] for along in places)
    for end in _ends(data_type):
        ends = np.full(places[0].shape, end, poison.dtype)
        is_right = right(ends, expected.cut(places), data_type, allowed)
        poison[tuple(along[~is_right] for along in places)] = end
        places = tuple(along[is_right] for along in places)


def _holds_every_value(expected: Expectation, data_type: DataType) -> Mask:
    """Which elements have an interval in which both ends of their type are, and NaN: nothing is wrong there."""
    found = np.zeros(expected.values.shape, np.bool_)
    if expected.within is not None and (where := expected.intervals) is not None:
        found |= where
        for end in _ends(data_type):
            found &= expected.within.holds(np.full_like(expected.values, end), data_type)
    return found


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
    return (-top % 2 ** (8 * data_type.size), top - 1) if data_type.is_signed_integer else (0, 2 * top - 1)


def _secret(values: Bits, last: Bits | None, data_type: DataType) -> Bits:
    """Secret elements without a byte that `values` or `last` has there; of those that share bytes without a half."""
    if data_type.shares_bytes:
        drawn = secret_bytes(values.size).reshape(values.shape)
        taken = np.zeros_like(values) if last is None else (values ^ last) & 15
        step = 1 + drawn % 14
        return nibbles.extended(values ^ (step + (step >= taken) * (taken > 0)), data_type)
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
