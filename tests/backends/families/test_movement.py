"""Operators whose results are exact, by the pages' formulas in plain Python, one element after the other."""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import accumulate, product, repeat
from math import prod
from types import EllipsisType
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import LEAST_NORMAL, Run, assert_same, kind_of, numbers, small_runs

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operators.fold import windows

CONSTANT, EDGE, _, SYMMETRIC, WRAP = range(5)
INCREASING, DECREASING = enumeration("DML_AXIS_DIRECTION")
EITHER, POSITIVE, NEGATIVE = enumeration("DML_IS_INFINITY_MODE")
COLUMN_ROW_DEPTH = 1

# The bits of an element, None for one that is open, and ... for one that is not asked about.
Element = int | None | EllipsisType
Elements = dict[str, list[Element]]


def whole(element: bytes) -> int:
    return int.from_bytes(element, "little")


def moved(run: Run, source: Callable[[slow.Coordinates], bytes | None]) -> Elements:
    """The only output, whose elements come from these bytes; None for zeros."""
    (key,) = (field.attribute for field in run.desc.fields if field.is_output)
    places = slow.walk(getattr(run.desc, key).sizes)
    return {key: [whole(source(c) or b"") for c in places]}


def along(c: slow.Coordinates, axis: int, place: int) -> slow.Coordinates:
    return (*c[:axis], place, *c[axis + 1 :])


# --- copies -----------------------------------------------------------------------------------------------------------


def copy(run: Run) -> Elements:
    if getattr(run.desc, "scale_bias", None) is not None:
        return {}
    return moved(run, run.memory("input_tensor").element)


def choose(run: Run) -> Elements:
    condition, a, b = (run.memory(key) for key in ("condition_tensor", "a_tensor", "b_tensor"))
    return moved(run, lambda c: (a if condition.element(c) != b"\0" else b).element(c))


def sliced_place(desc: Any, c: slow.Coordinates) -> slow.Coordinates:
    """Where the larger tensor has the element that the smaller one has at some coordinates."""
    if desc.operator == "SLICE":
        return tuple(o + s * at for o, s, at in zip(desc.offsets, desc.strides, c, strict=True))
    found = []
    for d, at in enumerate(c):
        start = desc.input_window_offsets[d]
        if desc.input_window_strides[d] < 0:
            start += desc.input_window_sizes[d] - 1
        found.append(start + desc.input_window_strides[d] * at)
    return tuple(found)


def slice_(run: Run) -> Elements:
    desc = run.desc
    if desc.operator != "SLICE_GRAD":
        source = run.memory("input_tensor")
        return moved(run, lambda c: source.element(sliced_place(desc, c)))
    source = run.memory("input_gradient_tensor")
    copies = {sliced_place(desc, c): source.element(c) for c in slow.walk(source.tensor.sizes)}
    return moved(run, copies.get)


def folded(place: int, size: int, mode: int) -> int | None:
    """A coordinate brought into a dimension, one fold or turn at a time; None for the constant."""
    while not 0 <= place < size:
        if mode == CONSTANT:
            return None
        if mode == EDGE:
            place += 1 if place < 0 else -1
        elif mode == WRAP:
            place += size if place < 0 else -size
        else:  # folded over the edge: onto the element beside it, or onto the edge itself
            edge, beside = (0, -1) if place < 0 else (size - 1, 1)
            place = 2 * edge - place + (beside if mode == SYMMETRIC else 0)
    return place


def pad(run: Run) -> Elements:
    desc, source = run.desc, run.memory("input_tensor")
    found: list[Element] = []
    for c in slow.walk(desc.output_tensor.sizes):
        inner = [
            folded(place - start, size, desc.padding_mode)
            for place, start, size in zip(c, desc.start_padding, source.tensor.sizes, strict=True)
        ]
        known = tuple(place for place in inner if place is not None)
        found.append(whole(source.element(known)) if len(known) == len(inner) else ...)
    return {"output_tensor": found}


def split(run: Run) -> Elements:
    desc, source, first, found = run.desc, run.memory("input_tensor"), 0, {}
    for n, part in enumerate(desc.output_tensors):
        places = (along(c, desc.axis, c[desc.axis] + first) for c in slow.walk(part.sizes))
        found[f"output_tensors[{n}]"] = [whole(source.element(place)) for place in places]
        first += part.sizes[desc.axis]
    return found


def join(run: Run) -> Elements:
    axis, sizes = run.desc.axis, [tensor.sizes for tensor in run.desc.input_tensors]

    def source(c: slow.Coordinates) -> bytes:
        n, place = 0, c[axis]
        while place >= sizes[n][axis]:
            place -= sizes[n][axis]
            n += 1
        return run.memory(f"input_tensors[{n}]").element(along(c, axis, place))

    return moved(run, source)


def deep_place(wide: slow.Coordinates, channels: int, block: int, order: int) -> slow.Coordinates:
    """Where the tensor of many channels has what the other one has at some coordinates."""
    n, c, y, x = wide
    row, column = y % block, x % block
    if order == COLUMN_ROW_DEPTH:
        return n, (c * block + row) * block + column, y // block, x // block
    return n, (row * block + column) * channels + c, y // block, x // block


def depth_space(run: Run) -> Elements:
    desc, source = run.desc, run.memory("input_tensor")
    is_to_depth = desc.operator.startswith("SPACE")
    wide = (desc.input_tensor if is_to_depth else desc.output_tensor).sizes
    places = {c: deep_place(c, wide[1], desc.block_size, getattr(desc, "order", 0)) for c in slow.walk(wide)}
    if is_to_depth:
        places = {deep: c for c, deep in places.items()}
    return moved(run, lambda c: source.element(places[c]))


def unfold(run: Run) -> Elements:
    """Windows as columns, of zeros in the padding."""
    desc, source, counts = run.desc, run.memory("input_tensor"), windows(run.desc)
    assert isinstance(counts, tuple)
    inside, steps = list(slow.walk(desc.window_sizes)), list(slow.walk(counts))

    def element(c: slow.Coordinates) -> bytes | None:
        n, row, column = c
        w, b = inside[row % len(inside)], steps[column]
        place = [b[d] * desc.strides[d] + w[d] * desc.dilations[d] - desc.start_padding[d] for d in range(len(w))]
        if not all(0 <= at < size for at, size in zip(place, source.tensor.sizes[2:], strict=True)):
            return None
        return source.element((n, row // len(inside), *place))

    return moved(run, element)


def reverse(run: Run) -> Elements:
    axis, size = run.desc.axis, run.desc.output_tensor.sizes[run.desc.axis]
    source, lengths = run.memory("input_tensor"), run.memory("sequence_lengths_tensor")

    def element(c: slow.Coordinates) -> bytes:
        length = min(lengths.number(along(c, axis, 0)), size)
        return source.element(along(c, axis, length - 1 - c[axis]) if c[axis] < length else c)

    return moved(run, element)


# --- by indices -------------------------------------------------------------------------------------------------------


def one_hot(run: Run) -> Elements:
    """`on` where the index names the coordinate along Axis, else `off`; open where the index is below -size."""
    desc, indices, values = run.desc, run.memory("indices_tensor"), run.memory("values_tensor")
    first, second, *_ = slow.walk(desc.values_tensor.sizes)
    off, on = whole(values.element(first)), whole(values.element(second))
    size = desc.output_tensor.sizes[desc.axis]
    found: list[Element] = []
    for c in slow.walk(desc.output_tensor.sizes):
        index = indices.number(along(c, desc.axis, 0))
        found.append(None if index < -size else on if c[desc.axis] == slow.place_named_by(index, size) else off)
    return {"output_tensor": found}


def written(run: Run, writes: Iterable[tuple[Any, bytes]], others: Callable[[slow.Coordinates], bytes]) -> Elements:
    """What was written to each place, open where that happened more than once, and what the others have."""
    found = defaultdict(list)
    for place, element in writes:
        found[place].append(whole(element))
    elements: list[Element] = []
    for n, c in enumerate(slow.walk(run.desc.output_tensor.sizes)):
        several = found[c] or found[n]
        elements.append(None if len(several) > 1 else several[0] if several else whole(others(c)))
    return {"output_tensor": elements}


def scatter(run: Run) -> Elements:
    desc, index, updates = run.desc, run.memory("indices_tensor"), run.memory("updates_tensor")
    sizes, writes = desc.input_tensor.sizes, []
    for c in slow.walk(desc.updates_tensor.sizes):
        if desc.operator == "SCATTER":
            place: Any = along(c, desc.axis, slow.place_named_by(index.number(c), sizes[desc.axis]))  # type: ignore[arg-type]
        else:
            rank, walked = len(sizes), desc.indices_dimension_count - 1
            rest = desc.input_dimension_count - index.tensor.sizes[-1]
            of_tuple, first = c[rank - walked - rest : rank - rest], rank - desc.input_dimension_count
            named = [
                slow.place_named_by(index.number(slow.right_align((*of_tuple, t), rank)), sizes[first + t])
                for t in range(index.tensor.sizes[-1])
            ]
            place = (*(0,) * first, *named, *c[rank - rest :])
        writes.append((place, updates.element(c)))
    return written(run, writes, run.memory("input_tensor").element)


def unpool(run: Run) -> Elements:
    source, indices = run.memory("input_tensor"), run.memory("indices_tensor")
    writes = [(indices.number(c), source.element(c)) for c in slow.walk(source.tensor.sizes)]
    return written(run, writes, lambda c: b"\0")


# --- order ------------------------------------------------------------------------------------------------------------


def number_of(element: bytes, data_type: DataType) -> Any:
    return numbers(np.frombuffer(element, np.uint8), data_type)[0]


def top_k(run: Run) -> Elements:
    """Selection by hand: the best of those left, the first of equal ones. Of lines without an order nothing."""
    desc, source = run.desc, run.memory("input_tensor")
    data_type, axis = source.tensor.data_type, desc.axis
    is_increasing = getattr(desc, "axis_direction", DECREASING) == INCREASING
    found: dict[slow.Coordinates, list[Any]] = {}
    for c in slow.walk(along(source.tensor.sizes, axis, 1)):
        line = [source.element(along(c, axis, i)) for i in range(source.tensor.sizes[axis])]
        row = [number_of(element, data_type) for element in line]
        tiny = {line[i] for i, number in enumerate(row) if abs(float(number)) < LEAST_NORMAL.get(data_type, 0)}
        if any(x != x for x in row) or len(tiny) > 1 or any(number_of(each, data_type) != 0 for each in tiny):
            found[c] = [(..., ...)] * desc.k
            continue
        left = list(range(len(row)))
        found[c] = []
        for _ in range(desc.k):
            best = left[0]
            for i in left[1:]:
                best = i if (row[i] < row[best] if is_increasing else row[i] > row[best]) else best
            left.remove(best)
            found[c].append((whole(line[best]), best))
    places = list(slow.walk(desc.output_value_tensor.sizes))
    return {
        key: [found[along(c, axis, 0)][c[axis]][n] for c in places]
        for n, key in enumerate(("output_value_tensor", "output_index_tensor"))
    }


def arg_extreme(run: Run) -> Elements:
    source, axes = run.memory("input_tensor"), run.desc.axes
    least, found = LEAST_NORMAL.get(source.tensor.data_type, 0), []
    for c in slow.walk(run.desc.output_tensor.sizes):
        inner = slow.walk(tuple(size if d in axes else 1 for d, size in enumerate(source.tensor.sizes)))
        elements = [source.element(tuple(a + b for a, b in zip(c, at, strict=True))) for at in inner]
        row = [number_of(element, source.tensor.data_type) for element in elements]
        extreme = min(row) if run.desc.operator == "ARGMIN" else max(row)
        is_open = any(x != x for x in row) or abs(float(extreme)) < least
        places = [i for i, x in enumerate(row) if x == extreme] or [0]
        first_or_last = places[0 if run.desc.axis_direction == INCREASING else -1]
        found.append(... if is_open and len(row) > 1 else first_or_last)
    return {"output_tensor": found}


def nonzero(run: Run) -> Elements:
    """Rows of coordinates, and how many; open from the first number on that is a NaN or may be taken for 0."""
    source, sizes = run.memory("input_tensor"), run.desc.output_coordinates_tensor.sizes
    rows: list[slow.Coordinates] = []
    known = None
    for c in slow.walk(source.tensor.sizes):
        number = number_of(source.element(c), source.tensor.data_type)
        if number != number or 0 < abs(float(number)) < LEAST_NORMAL.get(source.tensor.data_type, 0):
            known = len(rows) if known is None else known
        if number != 0:
            rows.append(c[len(c) - sizes[-1] :])
    told: list[Element] = [at for row in rows[:known] for at in row]
    return {
        "output_count_tensor": [len(rows) if known is None else None],
        "output_coordinates_tensor": told + [None] * (prod(sizes) - len(told)),
    }


# --- bits and truth ---------------------------------------------------------------------------------------------------


def digits(element: bytes) -> list[bool]:
    """The bits of an element, the lowest first."""
    return [bool(byte >> bit & 1) for byte in element for bit in range(8)]


def bit_by_bit(run: Run) -> Elements:
    """An element is open where it is shifted by all its bits or more."""
    name = run.desc.operator.removeprefix("ELEMENT_WISE_BIT_")
    operands = [run.memory(field.attribute) for field in run.desc.fields if field.is_tensor and not field.is_output]
    found: list[Element] = []
    for c in slow.walk(run.desc.output_tensor.sizes):
        first, *others = (digits(memory.element(c)) for memory in operands)
        if name == "COUNT":
            found.append(sum(first))
            continue
        if name.startswith("SHIFT"):
            by = whole(operands[1].element(c)) * (1 if name == "SHIFT_LEFT" else -1)
            if abs(by) >= len(first):
                found.append(None)
                continue
            result = [0 <= place - by < len(first) and first[place - by] for place in range(len(first))]
        elif name == "NOT":
            result = [not bit for bit in first]
        else:
            most = {"AND": (2,), "OR": (1, 2), "XOR": (1,)}[name]
            result = [[a, b].count(True) in most for a, b in zip(first, others[0], strict=True)]
        found.append(sum(2**place for place, is_set in enumerate(result) if is_set))
    return {"output_tensor": found}


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQUALS": lambda a, b: a == b,
    "GREATER_THAN": lambda a, b: a > b,
    "LESS_THAN": lambda a, b: a < b,
    "GREATER_THAN_OR_EQUAL": lambda a, b: a >= b,
    "LESS_THAN_OR_EQUAL": lambda a, b: a <= b,
}


def value(element: bytes, data_type: DataType) -> int | float:
    """The number that an element is."""
    if data_type.is_float:
        number: float = struct.unpack({2: "<e", 4: "<f"}[len(element)], element)[0]
        return number
    return int.from_bytes(element, "little", signed=data_type.name.startswith("INT"))


def as_zero(number: int | float, data_type: DataType) -> int | float:
    """A FLOAT32 number as who flushes subnormals takes it."""
    is_subnormal = data_type is DataType.FLOAT32 and abs(number) < 2.0**-126
    return math.copysign(0.0, number) if is_subnormal else number


def truth(name: str, run: Run, operands: list[bytes], data_type: DataType) -> set[bool]:
    """What is right of an element: true, false, or both."""
    if name in ("NOT", "AND", "OR", "XOR"):
        true = sum(map(any, operands))
        return {true in {"NOT": (0,), "AND": (2,), "OR": (1, 2), "XOR": (1,)}[name]}
    first, *_ = numbers = [value(operand, data_type) for operand in operands]
    if name == "IS_NAN":
        return {first != first}
    if name == "IS_INFINITY":
        wanted = {EITHER: (math.inf, -math.inf), POSITIVE: (math.inf,), NEGATIVE: (-math.inf,)}
        return {first in wanted[run.desc.infinity_mode]}
    return {COMPARISONS[name](*numbers), COMPARISONS[name](*(as_zero(number, data_type) for number in numbers))}


def logic(run: Run) -> Elements:
    name = run.desc.operator.removeprefix("ELEMENT_WISE_").removeprefix("LOGICAL_")
    memories = [run.memory(field.attribute) for field in run.desc.fields if field.is_tensor and not field.is_output]
    found: list[Element] = []
    for c in slow.walk(run.desc.output_tensor.sizes):
        right = truth(name, run, [memory.element(c) for memory in memories], memories[0].tensor.data_type)
        found.append(None if len(right) > 1 else int(right.pop()))
    return {"output_tensor": found}


# --- constants --------------------------------------------------------------------------------------------------------


def bits_of(number: Any, data_type: DataType) -> int:
    return whole(np.array(number).astype(kind_of(data_type)).tobytes())


def fill_constant(run: Run) -> Elements:
    tensor = run.desc.output_tensor
    return {"output_tensor": [bits_of(run.desc.value, tensor.data_type)] * tensor.element_count}


def fill_sequence(run: Run) -> Elements:
    """Added up step by step, without a rounding; where that leaves the type, or may be rounded, nothing is asked."""
    data_type, count = run.desc.output_tensor.data_type, prod(run.desc.output_tensor.sizes)
    start, delta = Fraction(run.desc.value_start), Fraction(run.desc.value_delta)
    if data_type.limits is None:
        return {}
    least, most = data_type.limits
    found: list[Element] = []
    for number in accumulate(repeat(delta, count - 1), initial=start):
        wrapped = int(number) % 2**data_type.bits if least == 0 else int(number)
        found.append(bits_of(wrapped, data_type) if least <= wrapped <= most else None)
    return {"output_tensor": found}


def diagonal(run: Run) -> Elements:
    """Where Value stands, and else what the input has; of a value that its type does not have nothing is asked."""
    desc, data_type = run.desc, run.desc.output_tensor.data_type
    least, most = data_type.limits or (-math.inf, math.inf)
    with np.errstate(over="ignore"):
        is_whole = least <= desc.value <= most and (data_type.is_float or int(desc.value) == desc.value)
        is_own = is_whole and float(kind_of(data_type).type(desc.value)) == desc.value
        own: Element = bits_of(desc.value if data_type.is_float else int(desc.value), data_type) if is_own else ...
    found: list[Element] = []
    for *lead, y, x in slow.walk(desc.output_tensor.sizes):
        if desc.operator == "DIAGONAL_MATRIX":
            is_value = y + desc.offset == x
        else:
            begin, end = desc.diagonal_fill_begin, desc.diagonal_fill_end
            is_value = (end >= begin) ^ (x - y >= begin) ^ (x - y < end)
        has_input = getattr(desc, "input_tensor", None) is not None
        other = whole(run.memory("input_tensor").element((*lead, y, x))) if has_input else 0
        found.append(own if is_value else other)
    return {"output_tensor": found}


MOVED: dict[str, Callable[[Run], Elements]] = {
    **dict.fromkeys(("ELEMENT_WISE_IDENTITY", "ACTIVATION_IDENTITY"), copy),
    "ELEMENT_WISE_IF": choose,
    **dict.fromkeys(("SLICE", "SLICE1", "SLICE_GRAD"), slice_),
    **dict.fromkeys(("PADDING", "PADDING1"), pad),
    "SPLIT": split,
    "JOIN": join,
    **{f"{a}_TO_{b}{n}": depth_space for (a, b), n in product((("SPACE", "DEPTH"), ("DEPTH", "SPACE")), ("", "1"))},
    "UNFOLD": unfold,
    "REVERSE_SUBSEQUENCES": reverse,
    "ONE_HOT": one_hot,
    **dict.fromkeys(("SCATTER", "SCATTER_ND"), scatter),
    "MAX_UNPOOLING": unpool,
    **dict.fromkeys(("TOP_K", "TOP_K1"), top_k),
    **dict.fromkeys(("ARGMIN", "ARGMAX"), arg_extreme),
    "NONZERO_COORDINATES": nonzero,
    **{f"ELEMENT_WISE_BIT_{name}": bit_by_bit for name in ("AND", "OR", "XOR", "NOT", "COUNT")},
    **{f"ELEMENT_WISE_BIT_SHIFT_{way}": bit_by_bit for way in ("LEFT", "RIGHT")},
    **{f"ELEMENT_WISE_LOGICAL_{name}": logic for name in ("AND", "OR", "XOR", "NOT", *COMPARISONS)},
    **dict.fromkeys(("ELEMENT_WISE_IS_NAN", "ELEMENT_WISE_IS_INFINITY"), logic),
    "FILL_VALUE_CONSTANT": fill_constant,
    "FILL_VALUE_SEQUENCE": fill_sequence,
    **dict.fromkeys(("DIAGONAL_MATRIX", "DIAGONAL_MATRIX1"), diagonal),
}
# Of these some elements are open in the cases below.
OPEN = {
    *("ONE_HOT", "SCATTER", "SCATTER_ND", "MAX_UNPOOLING", "NONZERO_COORDINATES", "FILL_VALUE_SEQUENCE"),
    *("ELEMENT_WISE_BIT_SHIFT_LEFT", "ELEMENT_WISE_BIT_SHIFT_RIGHT"),
    *("ELEMENT_WISE_LOGICAL_GREATER_THAN", "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL"),
}


@pytest.mark.few(len(MOVED))
@pytest.mark.parametrize("name", MOVED)
def test_what_is_expected_is_the_slow_references(name: str) -> None:
    told = opened = 0
    for run in small_runs(name, 200):
        for key, elements in MOVED[name](run).items():
            assert_same(run, key, elements)
            told += sum(isinstance(element, int) for element in elements)
            opened += elements.count(None)
    assert told > 250
    assert opened > 0 or name not in OPEN
