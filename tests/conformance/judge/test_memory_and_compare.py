"""The memory that a backend gets, and how what it leaves there is compared."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from five_operators import GatherDesc, TileDesc
from msgspec.structs import replace

from dml_conformance.backends.poison import secret_bytes
from dml_conformance.conformance.judge import memory as memory_module
from dml_conformance.conformance.judge.compare import (
    EQUAL,
    NAN,
    OPEN,
    RECORDED,
    SMALL_OUTPUT,
    compare,
    right,
    shown,
)
from dml_conformance.conformance.judge.memory import (
    GUARD_BYTES,
    MOST_GUARDED,
    PAGE,
    STEP,
    CaseMemory,
    InputMemory,
    Layout,
    OutputMemory,
    UnwrittenElements,
    make_wrong,
    memory_elements,
)
from dml_conformance.conformance.judge.output_digest import output_digest
from dml_conformance.spec.case import Order, Placement
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Within
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.boundaries import PLACEMENTS
from dml_conformance.strategies.values import NUMPY_TYPE, UNSIGNED_OF_SIZE

MOVED = [data_type for data_type in DataType if data_type.bits >= 8]


ODD = Placement((80,))
FOUR = TensorDesc.of(DataType.FLOAT32, (4,))


def test_secret_bytes_begin_again_after_a_prime_number_of_them() -> None:
    """So that no address that is cut to fewer bits leads to the same byte of another turn."""
    period = memory_module.SECRET_PERIOD
    assert all(period % factor for factor in range(2, math.isqrt(period) + 1))


def tile(*tensors: TensorDesc) -> TileDesc:
    """A descriptor with these tensors, whatever it says of them: an input, and an output that may be the same."""
    return TileDesc(tensors[0], tensors[-1], (1,))


def bind_input(tensor: TensorDesc, content: Any, placement: Placement = ODD) -> InputMemory:
    return CaseMemory(tile(tensor), placement).put_inputs({"input_tensor": content})["input_tensor"]


def bind_output(tensor: TensorDesc, placement: Placement = ODD) -> OutputMemory:
    expected = Expectation(np.zeros(tensor.sizes, UNSIGNED_OF_SIZE[tensor.data_type.size]))
    return poisoned(CaseMemory(tile(tensor), placement), tensor, expected)


def poisoned(
    memory: CaseMemory, tensor: TensorDesc, expected: Expectation, last: OutputMemory | None = None
) -> OutputMemory:
    return memory.poison(outputs(tile(tensor))[0], expected, last)


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alignment", [0, 1, 16, 64, 256, 65536])
@pytest.mark.parametrize("placement", [ODD, Placement((16,)), *PLACEMENTS])
@pytest.mark.parametrize("surplus", [0, 1, 4, 60])
def test_a_binding_keeps_its_promises(alignment: int, placement: Placement, surplus: int) -> None:
    """Aligned to 16 bytes and as guaranteed, a multiple of 4 long and long enough, no two tensors in one place."""
    tensor = TensorDesc.of(DataType.UINT8, (5,), alignment=alignment)
    tensor = replace(tensor, total_tensor_size_in_bytes=tensor.total_tensor_size_in_bytes + surplus)
    other = TensorDesc.of(DataType.UINT64, (3,), alignment=alignment and max(alignment, 8))
    memory = CaseMemory(GatherDesc(tensor, other, tensor, 0, 1), placement)
    ranges = []
    for key, each in (("input_tensor", tensor), ("indices_tensor", other), ("output_tensor", tensor)):
        binding = memory.bindings[key]
        assert binding.offset % max(alignment, 16) == 0
        assert binding.size % 4 == 0
        assert binding.size >= each.total_tensor_size_in_bytes + placement.surplus > binding.size - 4
        assert binding.buffer.size >= binding.offset + binding.size + GUARD_BYTES
        assert binding.buffer.ctypes.data % PAGE == 0, "resources begin where pages do"
        assert binding.view.size == binding.size
        ranges.append((binding.view.ctypes.data, binding.size))
    assert all(end[0] >= start[0] + start[1] + GUARD_BYTES for start, end in pairwise(sorted(ranges)))
    assert len({id(binding.buffer) for binding in memory.bindings.values()}) == (1 if placement.heap else 3)


@pytest.mark.parametrize(("alignment", "offset"), [(0, 80), (16, 80), (32, 96), (64, 192), (256, 256), (2**18, 2**18)])
def test_an_odd_multiple_is_aligned_to_no_more_than_is_promised(alignment: int, offset: int) -> None:
    assert bind_output(TensorDesc.of(DataType.UINT8, (4,), alignment=alignment)).binding.offset == offset


def test_each_tensor_has_its_offset_and_its_place() -> None:
    one = TensorDesc.of(DataType.UINT8, (4,))
    desc = GatherDesc(one, one, one, 0, 1)
    source, indices, output = "input_tensor", "indices_tensor", "output_tensor"
    memory = CaseMemory(desc, Placement((0, 2**16 + 16, 256), Order.OUTPUTS_BETWEEN))
    assert [memory.bindings[key].offset for key in (source, indices, output)] == [0, 2**16 + 16, 256]
    orders = {
        Order.DECLARED: [source, indices, output],
        Order.REVERSED: [output, indices, source],
        Order.OUTPUTS_FIRST: [output, source, indices],
        Order.OUTPUTS_BETWEEN: [source, output, indices],
    }
    for heap in (False, True):
        for order, keys in orders.items():
            bindings = CaseMemory(desc, Placement((80,), order, heap)).bindings
            assert sorted(bindings, key=lambda key: bindings[key].view.ctypes.data) == keys
            first, *others = (bindings[key].offset for key in keys)
            assert first == 80
            assert all(offset % STEP == 80 for offset in others)


def test_tensors_of_one_place_begin_together() -> None:
    """Each with the size that it needs; what lies around the longer one is guarded."""
    short, long = TensorDesc.of(DataType.UINT8, (4,)), TensorDesc.of(DataType.UINT8, (40,), alignment=64)
    memory = CaseMemory(GatherDesc(short, long, short, 0, 1), Placement((80,)), ("input_tensor", "indices_tensor"))
    ones = np.ones(40, np.uint8)
    read = memory.put_inputs({"input_tensor": ones[:4], "indices_tensor": ones})
    assert [read[key].binding[1:] for key in ("input_tensor", "indices_tensor")] == [(192, 4), (192, 40)]
    assert read["input_tensor"].binding.buffer is read["indices_tensor"].binding.buffer
    assert read["indices_tensor"].binding.view.tolist() == [1] * 40
    assert all(each.is_unchanged for each in read.values())
    read["input_tensor"].binding.buffer[191] ^= 1
    assert not any(each.is_unchanged for each in read.values())


def test_a_drawn_placement_is_the_same_everywhere_and_every_one_is_drawn() -> None:
    digests = [hashlib.sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(4000)]
    drawn = [Placement.drawn(digest) for digest in digests]
    assert drawn == [Placement.drawn(digest) for digest in digests]
    assert {placement.offsets[0] for placement in drawn} >= {0, 16, 80, 256, 4096, 2**16 + 16}
    assert {placement.order for placement in drawn} == set(Order)
    assert {len(placement.offsets) for placement in drawn} == {1, 3}
    for part in ("heap", "surplus"):
        share = sum(bool(getattr(placement, part)) for placement in drawn) / len(drawn)
        assert 0.2 < share < 0.3


def test_an_input_holds_its_content_between_guards_and_a_changed_byte_shows() -> None:
    """Padding counts as elements too: what is read for an index out of range may be any of it."""
    tensor = replace(TensorDesc.of(DataType.UINT16, (2,), (2,)), total_tensor_size_in_bytes=9)
    memory = bind_input(tensor, np.arange(12, dtype=np.uint8))
    assert memory.binding.view.tolist() == [*range(12)]
    assert memory_elements(tensor, memory.binding).tolist() == [0x0100, 0x0302, 0x0504, 0x0706]
    assert len(set(memory.binding.buffer[: memory.binding.offset])) > 8, "guards are random"
    for position in (0, GUARD_BYTES - 1, 79, 80, 91, 92, -1):
        memory.binding.buffer[position] ^= 0x80
        assert not memory.is_unchanged
        memory.binding.buffer[position] ^= 0x80
        assert memory.is_unchanged


def test_in_one_resource_each_looks_after_its_own_part() -> None:
    """Every byte but those of the tensors is somebody's, and what is written to an output is no change of an input."""
    one = TensorDesc.of(DataType.UINT8, (4,))
    memory = CaseMemory(tile(one), Placement((0,), Order.REVERSED, heap=True))
    read = memory.put_inputs({"input_tensor": np.arange(1, 5, dtype=np.uint8)})["input_tensor"]
    written = poisoned(memory, one, Expectation(np.zeros(4, np.uint8)))
    buffer, output = written.binding.buffer, written.binding.offset
    assert buffer is read.binding.buffer
    buffer[output : output + 4] = 0
    assert read.is_unchanged
    assert written.changed_outside() == []
    for position in {*range(buffer.size)} - {*range(output, output + 4)}:
        buffer[position] ^= 1
        assert (not read.is_unchanged) is not bool(written.changed_outside()), position
        buffer[position] ^= 1


PADDED = replace(TensorDesc.of(DataType.UINT8, (2,), (3,)), total_tensor_size_in_bytes=9)
FAR = TensorDesc.of(DataType.UINT8, (4,), alignment=2**18)


@pytest.mark.parametrize(
    ("tensor", "surplus", "size", "outside"),
    [
        (PADDED, 0, 12, (-80, -1, 9, 11, 12, 12 + GUARD_BYTES - 1)),
        (TensorDesc.of(DataType.UINT8, (4,)), 64, 68, (-80, -1, 4, 67, 68)),
        (FAR, 0, 4, (-MOST_GUARDED, 4)),
    ],
    ids=["padding", "more than is needed", "behind a far offset"],
)
def test_an_output_s_padding_may_be_written_and_nothing_else(
    tensor: TensorDesc, surplus: int, size: int, outside: Sequence[int]
) -> None:
    """Within TotalTensorSizeInBytes everything is the backend's; what lies beyond shows, whatever becomes of it."""
    memory = bind_output(tensor, Placement((80,), surplus=surplus))
    buffer, offset = memory.binding.buffer, memory.binding.offset
    assert memory.binding.size == size
    buffer[offset : offset + tensor.total_tensor_size_in_bytes] = 0
    assert memory.changed_outside() == []
    for position, change in itertools.product(outside, (1, 0x80, 0xFF)):
        buffer[offset + position] ^= change
        assert memory.changed_outside() == [position]
        buffer[offset + position] ^= change
    assert not buffer[: max(offset - MOST_GUARDED, 0)].any(), "zeros, and nothing that this process left there"
    buffer[:] ^= 1
    start = max(-offset, -MOST_GUARDED)
    assert memory.changed_outside() == list(range(start, start + 16)), "no more than a person reads"


@pytest.mark.parametrize("alignment", [0, 16, 256, 1024])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_in_a_batch_cases_lie_one_behind_the_other(alignment: int, placement: Placement) -> None:
    """Each tensor aligned as guaranteed, in the order of its placement, wherever the case before it ends."""
    tensor = TensorDesc.of(DataType.UINT8, (5,), alignment=alignment)
    for after in (0, 8, STEP, 1504):
        layout = Layout.of(tile(tensor), placement, after=after)
        end = after
        for stretch in layout.stretches.values():
            assert stretch.begin == end
            assert stretch.start % max(16, alignment) == 0
            assert stretch.start - end < 3 * max(STEP, alignment)
            assert stretch.end >= stretch.start + stretch.size + GUARD_BYTES
            end = stretch.end
        assert layout.end == end
        first = next(iter(layout.stretches))
        assert (first == "output_tensor") is (placement.order is Order.REVERSED)
        memory = np.zeros(end, np.uint8)
        assert all(binding.buffer is memory for binding in layout.bindings(memory).values())


@pytest.mark.parametrize("strides", [None, (1, 2), (10, 3)])
@pytest.mark.parametrize("data_type", MOVED)
def test_no_byte_of_poison_is_expected_and_none_is_there_twice(
    data_type: DataType, strides: tuple[int, ...] | None
) -> None:
    tensor = TensorDesc.of(data_type, (2, 3), strides)
    expected = np.arange(6).reshape(2, 3).astype(UNSIGNED_OF_SIZE[data_type.size])
    block = CaseMemory(tile(tensor), ODD)
    memory = poisoned(block, tensor, Expectation(expected))
    for _ in range(200):  # a byte is the same by chance once in 256
        before = memory.elements.copy()
        last, memory = memory, poisoned(block, tensor, Expectation(expected), memory)
        for other in (expected, before):
            assert (memory.elements.copy().view(np.uint8) != other.copy().view(np.uint8)).all()
        assert all((now != then).all() for now, then in zip(memory.outside, last.outside, strict=True))
        assert (memory.elements == memory.poison).all()
        assert memory.changed_outside() == []


def test_secret_bytes_are_all_bytes_but_those_to_avoid() -> None:
    """None more often than others, so that nothing can be told of what is avoided but that it is not there."""
    avoided = np.arange(2**18, dtype=np.uint32).astype(np.uint8)
    for others in ((), (avoided,), (avoided, avoided + np.uint8(1))):
        found = secret_bytes(avoided.size, *others)
        steps = np.bincount(found - avoided, minlength=256)[len(others) :]
        assert steps.size == 256 - len(others)
        assert all((found != other).all() for other in others)
        assert steps.min() > 0.8 * steps.mean()
        assert steps.max() < 1.2 * steps.mean()
    assert secret_bytes(0).size == 0
    assert secret_bytes(64).tobytes() != secret_bytes(64).tobytes()


def test_elements_are_read_where_strides_say() -> None:
    memory = bind_output(TensorDesc.of(DataType.UINT16, (2, 2), (1, 3)))
    memory.binding.view[:10] = np.arange(10, 60, 10, dtype="<u2").view(np.uint8)
    assert memory.elements.tolist() == [[10, 40], [20, 50]]


# --- comparison -------------------------------------------------------------------------------------------------------


def elements(*values: float, data_type: DataType = DataType.FLOAT32) -> Any:
    return np.array(values, NUMPY_TYPE[data_type]).view(UNSIGNED_OF_SIZE[data_type.size])


def test_numbers_are_equal_by_their_bits() -> None:
    """NaNs too, which are not equal as numbers; zeros are, and have a sign."""
    nan = elements(math.nan, -0.0)
    assert compare(nan, Expectation(nan.copy()), DataType.FLOAT32) == EQUAL
    found = compare(elements(0.0, 1.0), Expectation(elements(-0.0, 1.0)), DataType.FLOAT32)
    (difference,) = found.shown
    assert (found.wrong, difference.coordinates) == (1, (0,))
    assert (difference.expected, difference.expected_bits) == ("-0.0", "0x80000000")
    assert (difference.actual, difference.actual_bits) == ("0.0", "0x00000000")


def test_coordinates_are_logical_and_in_order() -> None:
    expected = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    actual = expected.copy()
    actual[1, 0, 3] = actual[0, 2, 1] = 99
    found = compare(actual, Expectation(expected), DataType.UINT8)
    assert found.wrong == 2
    assert [difference.coordinates for difference in found.shown] == [(0, 2, 1), (1, 0, 3)]
    assert all(type(coordinate) is int for difference in found.shown for coordinate in difference.coordinates)


@pytest.mark.parametrize(
    ("count", "recorded"), [(RECORDED + 1, RECORDED + 1), (SMALL_OUTPUT, SMALL_OUTPUT), (SMALL_OUTPUT + 1, RECORDED)]
)
def test_all_differences_are_counted_and_of_a_large_output_the_first_are_recorded(count: int, recorded: int) -> None:
    expected = np.zeros(count, np.uint8)
    found = compare(expected + 1, Expectation(expected), DataType.UINT8)
    assert found.wrong == count
    assert [difference.coordinates for difference in found.shown] == [(n,) for n in range(recorded)]


QUIET, OTHER_NAN = 0x7FC00000, 0x7FC00001


@pytest.mark.parametrize(
    ("actual", "allowed", "wrong"),
    [
        ((1, 7, 8), (7, 8), []),
        ((1, 2, 8), (7, 8), [1]),
        ((7, 7, 9), (7, 8), [0, 2]),
        ((1, OTHER_NAN, OTHER_NAN), (OTHER_NAN,), []),
        ((1, QUIET, OTHER_NAN), (OTHER_NAN,), [1]),
    ],
)
def test_an_open_element_may_be_whatever_is_allowed(
    actual: Sequence[int], allowed: Sequence[int], wrong: list[int]
) -> None:
    """Each on its own, and by its bits; it does not excuse its neighbours."""
    held, wanted, may_be = (np.array(each, np.uint32) for each in (actual, (1, 2, 3), allowed))
    expected = Expectation(wanted, np.array([False, True, True]), "input_tensor")
    shown = compare(held, expected, DataType.UINT32, may_be).shown
    assert [difference.coordinates for difference in shown] == [(place,) for place in wrong]
    assert [difference.expected for difference in shown] == [OPEN if place else "1" for place in wrong]
    assert all(bool(difference.expected_bits) is (difference.coordinates == (0,)) for difference in shown)


@pytest.mark.parametrize("data_type", [DataType.UINT8, DataType.FLOAT16])
def test_poison_is_wrong_wherever_anything_is(data_type: DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every value of a type is right the elements are searched for none that is wrong."""
    every = np.arange(256**data_type.size, dtype=UNSIGNED_OF_SIZE[data_type.size])
    expected = Expectation(np.zeros(64, every.dtype), np.arange(64) % 2 == 0, "input_tensor")
    searched = Mock(wraps=right)
    monkeypatch.setattr(memory_module, "right", searched)
    found, half = np.resize(every, 64), every[: every.size // 2]
    make_wrong(found, expected, data_type, half, None)
    assert any(call.args[0].size for call in searched.mock_calls)
    assert not right(found, expected, data_type, half)[::2].any()
    searched.reset_mock()
    make_wrong(found, expected, data_type, every, None)
    assert not any(call.args[0].size for call in searched.mock_calls)


@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.FLOAT16, DataType.FLOAT32])
def test_poison_is_not_drawn_anew_where_an_interval_holds_everything(
    data_type: DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of floats without NaN there is something wrong, which is found."""
    drawn = Mock(wraps=memory_module.secret_bytes)
    monkeypatch.setattr(memory_module, "secret_bytes", drawn)
    bits = UNSIGNED_OF_SIZE[data_type.size]
    low, high = (np.full(4, end, bits) for end in memory_module._ends(data_type)[:2])
    poison = np.zeros(4, bits)
    make_wrong(poison, Expectation(poison.copy(), within=Within(low, high, np.ones(4, bool))), data_type, None, None)
    assert not drawn.called
    if data_type.is_float:
        without = Expectation(poison.copy(), within=Within(low, high))
        make_wrong(poison, without, data_type, None, None)
        assert not right(poison, without, data_type, None).any()


@pytest.mark.parametrize(
    ("data_type", "bits", "value", "as_bits"),
    [
        (DataType.FLOAT32, 0x7FC00001, "nan", "0x7fc00001"),
        (DataType.FLOAT32, 0x80000000, "-0.0", "0x80000000"),
        (DataType.FLOAT32, 1, "1.401298464324817e-45", "0x00000001"),
        (DataType.FLOAT16, 0xFC00, "-inf", "0xfc00"),
        (DataType.FLOAT64, 0x3FF0000000000000, "1.0", "0x3ff0000000000000"),
        (DataType.INT8, 0xFF, "-1", "0xff"),
        (DataType.UINT8, 0xFF, "255", "0xff"),
        (DataType.INT16, 0x8000, "-32768", "0x8000"),
        (DataType.INT64, 2**64 - 1, "-1", "0xffffffffffffffff"),
        (DataType.UINT64, 2**64 - 1, "18446744073709551615", "0xffffffffffffffff"),
    ],
)
def test_an_element_is_shown_as_value_and_as_bits(data_type: DataType, bits: int, value: str, as_bits: str) -> None:
    elements = np.array([bits], UNSIGNED_OF_SIZE[data_type.size])
    assert shown(elements, data_type) == [(value, as_bits)]


def interval(
    low: float, high: float, data_type: DataType = DataType.FLOAT32, count: int = 1, **more: Any
) -> Expectation:
    low_bits, high_bits = elements(*[low] * count, data_type=data_type), elements(*[high] * count, data_type=data_type)
    return Expectation(low_bits, within=Within(low_bits, high_bits, **more))


@pytest.mark.parametrize(
    ("value", "count"), [(0.5, 0), (0.75, 0), (1.0, 0), (0.49, 1), (1.01, 1), (-0.75, 1), (math.inf, 1), (math.nan, 1)]
)
def test_a_value_in_its_interval_is_right(value: float, count: int) -> None:
    found = compare(elements(value), interval(0.5, 1), DataType.FLOAT32)
    assert found.wrong == count
    assert all(difference.expected == "from 0.5 to 1.0" and not difference.expected_bits for difference in found.shown)


def test_one_right_value_is_told_as_that() -> None:
    (difference,) = compare(elements(-0.5), interval(0.5, 0.5), DataType.FLOAT32).shown
    assert (difference.expected, difference.expected_bits) == ("0.5", "")


def test_a_nan_is_allowed_or_demanded_apart() -> None:
    nan, number, anywhere = elements(math.nan), elements(0.75), np.array([True])
    for high in (1, 0):
        for each in (nan, nan ^ np.uint32(0x80000001)):
            assert compare(each, interval(0.5, high, nan=anywhere), DataType.FLOAT32) == EQUAL
    assert compare(number, interval(0.5, 1, nan=anywhere), DataType.FLOAT32) == EQUAL
    (difference,) = compare(number, interval(0.5, 0, nan=anywhere), DataType.FLOAT32).shown
    assert difference.expected == NAN


def test_the_parts_of_an_expectation_are_apart() -> None:
    """Exact, one of several, free and within: each element by its own part alone."""
    values, is_nth = elements(1, 2, 3, 4), np.eye(4, dtype=bool)
    within = Within(values, elements(1, 2, 3, 5), None, is_nth[3])
    expected = Expectation(values, is_nth[1], "input_tensor", is_nth[2], within)
    assert compare(elements(1, 7, 9, 4.5), expected, DataType.FLOAT32, elements(7)) == EQUAL
    found = compare(elements(7, 8, 9, 7), expected, DataType.FLOAT32, elements(7))
    assert [(d.coordinates, d.expected) for d in found.shown] == [
        ((0,), "1.0"),
        ((1,), OPEN),
        ((3,), "from 4.0 to 5.0"),
    ]
    assert compare(elements(7), expected.at((1,)), DataType.FLOAT32, elements(7)) == EQUAL


@pytest.mark.parametrize("data_type", MOVED)
def test_no_poison_lies_in_an_interval(data_type: DataType) -> None:
    """One that holds half of all values, and one that holds all, NaN too, but the greatest."""
    number = NUMPY_TYPE[data_type].type
    limits = np.finfo(number) if data_type.is_float else np.iinfo(number)
    low, high = (-math.inf, limits.max) if data_type.is_float else (limits.min, limits.max - 1)
    tensor, anywhere = TensorDesc.of(data_type, (64,)), np.full(64, True)
    for end in (number(1), high):
        expected, memory = interval(low, end, data_type, 64, nan=anywhere), None
        for _ in range(20):
            memory = poisoned(CaseMemory(tile(tensor), ODD), tensor, expected, memory)
            assert compare(memory.elements, expected, data_type).wrong == 64


def test_poison_is_none_of_the_values_that_are_right_if_there_are_others() -> None:
    tensor = TensorDesc.of(DataType.UINT8, (256,))
    expected = Expectation(np.zeros(256, np.uint8), np.ones(256, np.bool_), "input_tensor")

    def drawn(*right: int) -> Any:
        values = np.array(right, np.uint8)
        memory = CaseMemory(tile(tensor), ODD)
        return memory.poison(outputs(tile(tensor))[0], expected, None, lambda _: values).elements.copy()

    assert drawn(*range(200)).min() >= 200
    everything = (drawn(*range(256)) for _ in range(2))
    assert np.not_equal(*everything).sum() > 200, "or what is computed were taken for what was there before"


def test_an_element_is_unwritten_if_it_was_left_every_time() -> None:
    """Whatever is written counts, values above the poison and below it."""
    unwritten, wanted = UnwrittenElements(), np.array([10, 20, 30, 40], np.uint32)
    for written, count in (((0, 1), 2), ((1, 2), 1), ((), 1), ((3,), 0)):
        memory = poisoned(CaseMemory(tile(FOUR), ODD), FOUR, Expectation(wanted))
        for n in written:
            memory.elements[n] ^= np.uint32(1 + 0xFFFF * (n % 2))
        unwritten.look("output_tensor", memory, Expectation(wanted, np.ones(4, np.bool_), "input_tensor"))
        assert unwritten.count == count


def test_an_output_s_digest_is_over_little_endian_elements_with_zero_where_it_is_open() -> None:
    """The first 128 bits of SHA-256, as 32 hexadecimal digits; tensors one after the other."""
    first = np.array([[0x1122, 0x3344]], np.uint16)
    second = np.array([5, 6, 7], np.uint32)
    is_open = np.array([False, True, False])
    written = bytes.fromhex("2211 4433 05000000 00000000 07000000")
    digest = output_digest([(first, None), (second, is_open)])
    assert digest == hashlib.sha256(written).hexdigest()[:32]
    assert len(digest) * 4 == 128
    assert digest == output_digest([(first.astype(">u2"), None), (second.astype(">u4"), is_open)])
    assert output_digest([]) == hashlib.sha256().hexdigest()[:32]
