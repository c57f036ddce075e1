"""Cases whose outputs are judged part by part: what is expected, what is found wrong, and what there is no room for."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from five_operators import GatherDesc, TileDesc
from numpy.lib.stride_tricks import as_strided
from scripted_backend import ScriptedBackend, raising
from strength.mutants import MUTANTS

from dml_conformance.backends import reference
from dml_conformance.backends.base import Binding, OutOfMemory
from dml_conformance.backends.reference import (
    LargeExpectation,
    ReferenceBackend,
    expected_in_turns,
    expected_output,
    expected_parts,
    parts,
)
from dml_conformance.backends.reference.layout import as_numbers
from dml_conformance.backends.reference.operators import cut_of, matrix_multiply, pooling, resample
from dml_conformance.backends.reference.parts import CutRows
from dml_conformance.conformance.judge import judge as judge_module
from dml_conformance.conformance.judge import memory as memory_module
from dml_conformance.conformance.judge.compare import RECORDED
from dml_conformance.conformance.judge.judge import REPEAT, Judge, Pending, case_memory
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.case import Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import inputs, outputs
from dml_conformance.spec.registry import operator, operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies import scale
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.scale import Reach, scale_cases
from dml_conformance.strategies.values import OVERLAPPING, materialize

LEVEL = Level.L6_4
CUT = [name for name in operators() if cut_of(name) is not None]
OF_PRODUCTS = {
    "CONVOLUTION",
    "GEMM",
    "ROI_ALIGN",
    "ROI_ALIGN1",
    "ROI_ALIGN_GRAD",
    "MULTIHEAD_ATTENTION",
    "MULTIHEAD_ATTENTION1",
}


PART_ELEMENTS = 5
MOST_PARTS = 240


def swept(name: str, count: int) -> Iterator[Case]:
    """Cases with memory, as many as have together no more than `MOST_PARTS` parts."""
    left = MOST_PARTS
    for n in range(count):
        case = numbered_case(9, name, LEVEL, n)
        if case.data is not None:
            needed = sum(-(-prod(slot.tensor.sizes) // PART_ELEMENTS) for slot in outputs(case.desc))
            if needed <= left:
                left -= needed
                yield case


def make_parts_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every case be a large one, with parts of up to five elements."""
    monkeypatch.setattr(judge_module, "LARGE_BYTES", 0)
    monkeypatch.setattr(memory_module, "LARGE_BYTES", 0)
    monkeypatch.setattr(parts, "PART_ELEMENTS", PART_ELEMENTS)


@pytest.fixture
def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    make_parts_small(monkeypatch)


@pytest.mark.parametrize("sizes", [(1,), (7,), (2, 3), (3, 1, 4), (2, 2, 2, 2), (1, 1, 9), (5, 6)])
@pytest.mark.parametrize("most", [1, 3, 4, 5, 100])
def test_boxes_are_consecutive_elements(sizes: tuple[int, ...], most: int) -> None:
    """Of at most so many elements, and together all of them in row-major order."""
    numbers = np.arange(prod(sizes)).reshape(sizes)
    found = [numbers[box] for box in parts.boxes(sizes, most)]
    assert max(part.size for part in found) <= most
    assert np.concatenate([part.ravel() for part in found]).tolist() == numbers.ravel().tolist()


def open_of(part: Expectation) -> Any:
    return np.zeros_like(part.values, bool) if part.open is None else part.open


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("name", CUT)
def test_parts_hold_what_the_whole_holds(name: str) -> None:
    for case in swept(name, 250):
        read = case_memory(case, Placement()).put_inputs(materialize(case))
        inputs = {attribute: memory.binding for attribute, memory in read.items()}
        whole = expected_output(case.desc, inputs)[(output := outputs(case.desc)[0]).key]
        large = expected_parts(case.desc, inputs)[output.key]
        if isinstance(large, Expectation):  # the first of several outputs is missing
            continue
        data_type = output.tensor.data_type
        for box, part in large.parts():
            same = whole.cut(box)
            is_open = open_of(part)
            assert is_open.tolist() == (is_open & False if same.open is None else same.open).tolist()
            assert part.values[~is_open].tolist() == same.values[~is_open].tolist(), case.origin
            if part.within is not None and same.within is not None:
                # A part of a product is as wide as in the whole or less: whether numbers are known exactly is asked of
                # all elements at once, and the answer of a part may be yes where that of the whole is no.
                for end, way in (("low", 1.0), ("high", -1.0)):
                    one, other = (way * as_numbers(getattr(of.within, end), data_type) for of in (part, same))
                    assert ((one == other) | (name in OF_PRODUCTS) & (one >= other)).all(), case.origin
        again = large.joined()
        for box, part in large.parts():
            for one, same in zip((part.values, open_of(part)), (again.values, open_of(again)), strict=True):
                assert np.array_equal(one, same[box])
        last = tuple(size - 1 for size in whole.values.shape)
        assert large.at(last).values == whole.at(last).values


@pytest.mark.parametrize("name", ["MAX_POOLING1", "MAX_POOLING2"])
def test_indices_of_windows_are_the_same_part_by_part(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in swept(name, 250):
        read = case_memory(case, Placement()).put_inputs(materialize(case))
        inputs = {attribute: memory.binding for attribute, memory in read.items()}
        monkeypatch.setattr(pooling, "CHOSEN_TOGETHER", 1_000_000)
        whole = expected_output(case.desc, inputs)
        monkeypatch.setattr(pooling, "CHOSEN_TOGETHER", 3)
        for key, part in expected_output(case.desc, inputs).items():
            is_open = open_of(part)
            assert is_open.tolist() == open_of(whole[key]).tolist()
            assert part.values[~is_open].tolist() == whole[key].values[~is_open].tolist(), case.origin


LENGTH = 2**21 + 67
MOST_BYTES = 56  # for each element of the largest tensor; 2^24 of 64 bytes each are 1 GiB
LARGE_ALONG = {
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY": f"axis/{LENGTH}/last",
    "MATRIX_MULTIPLY_INTEGER_TO_FLOAT": f"axis/{LENGTH}/last",
    "FOLD": f"axis/{LENGTH}/last",
    "RESAMPLE_GRAD": f"axis/{LENGTH}/last",
    "CUMULATIVE_SUMMATION": f"output/1x3x{LENGTH // 3}",
    "CUMULATIVE_PRODUCT": f"output/1x3x{LENGTH // 3}",
    "NONZERO_COORDINATES": f"output/1x3x{LENGTH // 3}",
    "ROI_POOLING": f"output/1x3x{LENGTH // 3}",
}


@pytest.mark.parametrize("name", LARGE_ALONG)
def test_what_is_expected_of_large_cases_takes_little_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the cases of scale are, an eighth as large; parts and blocks likewise."""
    monkeypatch.setattr(scale, "AXES", {**scale.AXES, Reach.BITS_24: (LENGTH,)})
    monkeypatch.setattr(scale, "OUTPUTS", {**scale.OUTPUTS, Reach.BITS_24: ((2, (1, 3, LENGTH // 3)),)})
    for module in (parts, matrix_multiply, resample):
        for of in {"PART_ELEMENTS", "MOST_AT_ONCE", "BLOCK_ELEMENTS"}.intersection(vars(module)):
            monkeypatch.setattr(module, of, getattr(module, of) // 8)
    case = next(case for case in scale_cases(name, LEVEL, Reach.BITS_24) if case.origin.endswith(LARGE_ALONG[name]))
    read = {key: Binding(content, 0, content.size) for key, content in materialize(case).items()}
    tracemalloc.start()
    try:
        list(map(list, (each.parts() for each in expected_in_turns(case.desc, read, DIRECTML, 0).values())))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < MOST_BYTES * LENGTH


def records(backend: Any, cases: Iterator[Case]) -> list[Record]:
    judge = Judge(backend, "mine", digests_outputs=True)
    return [judge.record(case, Phase.BOUNDARIES) for case in cases]


@pytest.mark.parametrize("name", CUT)
def test_a_right_backend_gets_the_same_records_part_by_part(
    name: str, monkeypatch: pytest.MonkeyPatch, is_exhaustive: bool
) -> None:
    def facts() -> list[tuple[Any, ...]]:
        return [
            (r.case, r.verdict, r.reason, r.output)
            for r in records(ReferenceBackend(), swept(name, 120 if is_exhaustive else 40))
        ]

    whole = facts()
    make_parts_small(monkeypatch)
    assert facts() == whole


WRONG = {"LastElementUnwritten", "WritesPastTheEnd", "WritesToAnInput", "WritesNothing", "IgnoresBindingOffset"}


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.__name__ in WRONG], ids=lambda mutant: mutant.__name__)
def test_a_wrong_backend_is_found_part_by_part(mutant: type[ReferenceBackend]) -> None:
    assert Verdict.FAIL in {record.verdict for record in records(mutant(), swept("TILE", 60))}


@pytest.mark.usefixtures("in_small_parts")
def test_what_differs_is_counted_over_all_parts_and_shown_where_it_is() -> None:
    def wrong(desc: Any, inputs: Any, outputs: Any) -> None:
        outputs["output_tensor"].view[4:] ^= 1

    wide = TensorDesc.of(DataType.UINT8, (10, 40))
    case = Case.of(
        TileDesc(TensorDesc.of(DataType.UINT8, (1, 40)), wide, (10, 1)), LEVEL, {"input_tensor": Recipe("ramp")}
    )
    (record,) = records(ScriptedBackend(after=wrong), iter([case]))
    assert record.difference_count == 396
    assert [difference.coordinates for difference in record.differences][:2] == [(0, 4), (0, 5)]
    assert record.differences[-1].coordinates == divmod(4 + RECORDED - 1, 40)


def large_tile(size: int) -> Case:
    one = TensorDesc.of(DataType.UINT8, (1,))
    return Case.of(
        TileDesc(one, TensorDesc.of(DataType.UINT8, (size,)), (size,)), LEVEL, {"input_tensor": Recipe("ramp")}
    )


def test_poison_of_large_outputs_is_not_kept() -> None:
    case = large_tile(1000)
    block = case_memory(case, Placement())
    bound = {key: memory.binding for key, memory in block.put_inputs(materialize(case)).items()}
    memory = block.poison(outputs(case.desc)[0], expected_parts(case.desc, bound)["output_tensor"])
    assert memory.poison is None
    assert not (memory.elements == 0).any()


def softmax_that_repeats(rows: int = 100, period: int = 7) -> Case:
    """Of rows of three, each of which begins one element after the one before."""
    read = TensorDesc.of(DataType.FLOAT32, (1, 1, rows, 3), (1, 1, 1, 1))
    desc = operator("ACTIVATION_SOFTMAX").desc(read, TensorDesc.of(DataType.FLOAT32, (1, 1, rows, 3)))
    return Case.of(desc, LEVEL, {"input_tensor": Recipe("moderate", period=period)})


def expected_with_period(case: Case, period: int) -> LargeExpectation:
    (found,) = parts_with_period(case, period)
    return found


def parts_with_period(case: Case, period: int) -> list[LargeExpectation]:
    read = case_memory(case, Placement()).put_inputs(materialize(case))
    found = expected_parts(case.desc, {key: each.binding for key, each in read.items()}, period=period)
    assert all(isinstance(each, LargeExpectation) for each in found.values())
    return [each for each in found.values() if isinstance(each, LargeExpectation)]


@pytest.mark.parametrize("elements", [5, 30, 50])
def test_what_is_right_of_inputs_that_repeat_is_computed_once(elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_ELEMENTS", elements)
    case, computed = softmax_that_repeats(), Counter[int]()
    large, anew = expected_with_period(case, 7), expected_with_period(case, 0)
    assert large.repeats
    assert not anew.repeats
    cut = large.cut
    monkeypatch.setattr(large, "cut", lambda box: computed.update([box[2].start]) or cut(box))
    values = np.concatenate([part.values.reshape(-1, 3) for _, part in anew.parts()])
    for _ in range(2):
        for box, part in large.parts():
            assert part.values.tolist() == values[box[2]].reshape(part.values.shape).tolist()
            assert part.within is not None
            assert part.within.low.tolist() == anew.cut(box).within.low.tolist()
        assert [box[2].start for box, _ in large.parts()] == sorted({box[2].start for box, _ in large.parts()})
        assert sum(box[2].stop - box[2].start for box, _ in large.parts()) == 100
    assert max(computed) < max(7, elements // 3)


@pytest.mark.parametrize(("room", "anew"), [(10, 0), (9, 1), (4, 2)])
def test_parts_without_intervals_are_kept_as_long_as_there_is_room(
    room: int, anew: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_ELEMENTS", 5)
    monkeypatch.setattr(parts, "MOST_KEPT_BYTES", room)
    case, computed = large_tile(10), Counter[str]()
    (large,) = parts_with_period(case, 0)
    cut = large.cut
    monkeypatch.setattr(large, "cut", lambda box: computed.update([str(box)]) or cut(box))
    whole = large.joined().values
    computed.clear()
    for _ in range(2):
        assert [part.values.tolist() for _, part in large.parts()] == [whole[:5].tolist(), whole[5:].tolist()]
    assert computed.total() == 2 + anew


def test_intervals_are_computed_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_ELEMENTS", 3)
    (large,) = parts_with_period(softmax_that_repeats(rows=2), 0)
    cut, computed = large.cut, Counter[str]()
    monkeypatch.setattr(large, "cut", lambda box: computed.update([str(box)]) or cut(box))
    for _ in range(2):
        list(large.parts())
    assert set(computed.values()) == {2}


@pytest.mark.usefixtures("in_small_parts")
def test_errors_are_counted_where_results_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that parts with intervals are computed twice: for the poison, and to compare."""
    cut, computed = LargeExpectation.cut, Counter[str]()
    monkeypatch.setattr(LargeExpectation, "cut", lambda self, box: computed.update([str(box)]) or cut(self, box))
    case = softmax_that_repeats(rows=2, period=0)
    record = Judge(ReferenceBackend(), "mine", repeat=1).record(case, Phase.BOUNDARIES)
    assert record.errors is not None
    assert sum(count for _, count in record.errors.bins) == prod(outputs(case.desc)[0].tensor.sizes)
    assert set(computed.values()) == {2}


def batch_gradients(rows: int) -> Case:
    """Of a thousand channels, whose rows overlap."""
    spec, wide, narrow = operator("BATCH_NORMALIZATION_GRAD"), (1, 1000, rows, 1), (1, 1000, 1, 1)
    every, each = (TensorDesc.of(DataType.FLOAT32, sizes, (1, 1, 1, 1)) for sizes in (wide, narrow))
    whole, single = (TensorDesc.of(DataType.FLOAT32, sizes) for sizes in (wide, narrow))
    desc = spec.desc(every, every, each, each, each, whole, single, single, 0.5)
    return Case.of(desc, LEVEL, {slot.key: Recipe("moderate", period=7) for slot in inputs(desc)})


@pytest.mark.parametrize(("elements", "channels"), [(50, 14), (100, 28)])
def test_an_axis_of_one_element_is_not_taken_together(
    elements: int, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics are of the batch, which is of one, and of rows of three: each channel can be computed by itself.

    A part has as many turns of 21 elements as it may, in outputs of one element for each channel too.
    """
    monkeypatch.setattr(parts, "PART_ELEMENTS", elements)
    case = batch_gradients(rows=3)
    for found in parts_with_period(case, 7):
        assert found.repeats
        assert max(box[1].stop - box[1].start for box, _ in found.parts()) == channels


def test_few_sums_are_looked_at_in_one_place_where_each_is_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rows of the first output each element needs all; what each sum needs is its own."""
    monkeypatch.setattr(parts, "MOST_READ", 640)
    of_rows, *of_sums = parts_with_period(batch_gradients(rows=64), 0)
    assert of_rows.sampled_elements(1000) == 1000
    for sums in of_sums:
        assert sums.sampled_elements(1000) == 10
        boxes = [box for box, _ in memory_module.Sample.drawn(sums, (1, 1000, 1, 1), 4).boxes]
        assert {box[1].stop - box[1].start for box in boxes} == {10}
        assert (boxes[0][1].start, boxes[-1][1].stop) == (0, 1000)


def test_what_an_element_needs_all_of_makes_no_box_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_READ", 10)
    table, indices = TensorDesc.of(DataType.UINT8, (1, 1, 20, 1)), TensorDesc.of(DataType.UINT32, (1, 1, 1, 100))
    desc = GatherDesc(table, indices, TensorDesc.of(DataType.UINT8, (1, 1, 100, 1)), 2, 4)
    case = Case.of(desc, LEVEL, {"input_tensor": Recipe("ramp"), "indices_tensor": Recipe("in-range")})
    (found,) = parts_with_period(case, 0)
    assert found.sampled_elements(10) == 10


def rows_around_their_mean(axes: tuple[int, ...]) -> Case:
    tensor = TensorDesc.of(DataType.FLOAT32, (1, 1, 3, 100))
    each = [TensorDesc.of(DataType.FLOAT32, tensor.sizes, (0, 0, 1, 0))] * 2
    desc = operator("MEAN_VARIANCE_NORMALIZATION1").desc(tensor, *each, tensor, axes, True, 0.5, None)
    return Case.of(desc, LEVEL, {slot.key: Recipe("moderate", period=7) for slot in inputs(desc)})


def test_rows_longer_than_a_part_are_cut_by_their_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean and variance are computed once of a row, and of the elements a turn of each row."""
    whole = parts_with_period(case := rows_around_their_mean((3,)), 0)[0].joined()
    cut = cut_of(case.operator)
    assert isinstance(cut, CutRows)
    assert cut.statistics is not None
    counted = Mock(wraps=cut.statistics.of_rows)
    cut = replace(cut, statistics=cut.statistics._replace(of_rows=counted))
    monkeypatch.setattr(reference, "cut_of", lambda _: cut)
    monkeypatch.setattr(parts, "PART_ELEMENTS", 30)
    large = expected_with_period(case, 7)
    assert large.repeats
    for _ in range(2):
        rows = [(box[2].start, box[3].stop - box[3].start) for box, _ in large.parts()]
        joined = large.joined()
        assert joined.values.tolist() == whole.values.tolist()
        assert joined.within is not None
        assert whole.within is not None
        assert joined.within.low.tolist() == whole.within.low.tolist()
        assert joined.within.high.tolist() == whole.within.high.tolist()
    assert {row for row, _ in rows} == {0, 1, 2}
    assert max(length for _, length in rows) <= 28
    assert counted.call_count == 3


def test_of_an_axis_that_is_named_twice_there_are_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_ELEMENTS", 30)
    found = parts_with_period(rows_around_their_mean((3, 3)), 7)[0].joined()
    assert found.free is not None
    assert found.free.all()


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_reference_computes_turns_unless_it_writes_to_what_it_reads(
    is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_ELEMENTS", 5)
    monkeypatch.setattr(reference, "MOST_KEPT", 300)
    case = softmax_that_repeats()
    content = materialize(case)["input_tensor"]
    memory = np.zeros(4096, np.uint8)
    memory[: content.size] = content
    output = Binding(memory, 0 if is_shared else 2048, 1200)
    read = {"input_tensor": Binding(memory, 0, content.size)}
    right = expected_output(case.desc, read)["output_tensor"].values.copy()
    whole = Mock(wraps=expected_output)
    monkeypatch.setattr(reference, "expected_output", whole)
    ReferenceBackend().execute(case.desc, LEVEL, read, {"output_tensor": output})
    assert output.view.view(np.uint32).tolist() == right.reshape(-1).tolist()
    assert whole.called is is_shared


@pytest.mark.parametrize("period", [6, 8, 100, 101])
def test_inputs_do_not_repeat_because_it_is_said(period: int) -> None:
    assert not expected_with_period(softmax_that_repeats(), period).repeats


@pytest.mark.parametrize("step", [1, 2, 3])
def test_one_other_element_is_no_repetition(step: int) -> None:
    """Rows overlap, or elements that do not count lie between theirs."""
    memory = np.arange(2 * 102 * step, dtype=np.uint32) % (102 * step)
    one, other = (as_strided(part, (100, 3), (4 * step, 4 * step)) for part in np.split(memory, 2))
    assert parts._are_equal(one, other)
    other[0, 0] = 7
    assert not parts._are_equal(one, other)
    other[0, 0] = one[0, 0]
    other[-1, -1] = 7
    assert not parts._are_equal(one, other)
    other[-1, -1] = one[-1, -1]
    memory[1] += 1
    assert parts._are_equal(one, other) is (step > 1)


@pytest.mark.parametrize("row", [0, 6, 7, 50, 99])
@pytest.mark.parametrize("elements", [30, 1000])
def test_one_wrong_row_among_those_that_repeat_is_found(
    elements: int, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a turn of several, or in the only one."""
    monkeypatch.setattr(parts, "PART_ELEMENTS", elements)

    def wrong(desc: Any, inputs: Any, outputs: Any) -> None:
        outputs["output_tensor"].view.view(np.float32)[3 * row + 1] *= 2

    (record,) = records(ScriptedBackend(after=wrong), iter([softmax_that_repeats()]))
    assert record.verdict is Verdict.FAIL
    assert [difference.coordinates for difference in record.differences] == [(0, 0, row, 1)]


def test_errors_of_rows_that_repeat_are_counted_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_ELEMENTS", 30)
    (in_turns,) = records(ReferenceBackend(), iter([softmax_that_repeats()]))
    monkeypatch.setattr(memory_module, "is_in_turns", lambda _: False)
    (one_by_one,) = records(ReferenceBackend(), iter([softmax_that_repeats()]))
    assert in_turns.errors is not None
    assert sum(count for _, count in in_turns.errors.bins) == 300
    assert in_turns.errors == one_by_one.errors


def test_what_is_not_written_among_rows_that_repeat_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it may lie where a right value does."""
    monkeypatch.setattr(parts, "PART_ELEMENTS", 30)
    case = softmax_that_repeats()
    block = case_memory(case, Placement())
    memory = block.poison(outputs(case.desc)[0], expected := expected_with_period(case, 7))
    assert expected.repeats
    assert memory.poison is not None
    memory.elements[...] = np.concatenate([part.values.reshape(1, 1, -1, 3) for _, part in expected.parts()], 2)
    memory.elements[0, 0, 61, 2] = memory.poison[0, 0, 61, 2]
    unwritten = memory_module.UnwrittenElements()
    unwritten.look("output_tensor", memory, expected)
    assert unwritten.count == 1


def test_what_a_machine_has_no_memory_for_is_decided_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module.psutil, "virtual_memory", lambda: SimpleNamespace(available=2**31, total=2**31))
    judge = Judge(ReferenceBackend(), "mine")
    judged = judge.judge(large_tile(2**30))
    assert judged.verdict is Verdict.NOT_SUPPORTED
    assert judged.reason.startswith("decided only: it takes some 3221225")
    assert isinstance(judge.decide(large_tile(2**28)), Pending)


@pytest.mark.parametrize("given_back", [True, False])
def test_memory_that_other_processes_have_is_waited_for(given_back: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    now, available = 0.0, [2**31, 2**31, 2**33 if given_back else 2**31]

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    def memory() -> SimpleNamespace:
        return SimpleNamespace(available=available.pop(0) if len(available) > 1 else available[0], total=2**33)

    # The judge's own: threads of tests before this one sleep, too.
    clock = SimpleNamespace(monotonic=lambda: now, perf_counter=lambda: now, sleep=sleep)
    monkeypatch.setattr(judge_module, "time", clock)
    monkeypatch.setattr(judge_module, "psutil", SimpleNamespace(virtual_memory=memory))
    decided = Judge(ReferenceBackend(), "mine").decide(large_tile(2**30))
    assert isinstance(decided, Pending) is given_back
    assert now == (2.0 if given_back else judge_module.MOST_WAITING)


@pytest.mark.parametrize(("lacking", "verdict"), [(0, Verdict.NOT_SUPPORTED), (2**30, Verdict.CRASH)])
def test_a_device_without_memory_for_a_large_case_is_not_at_fault(
    lacking: int, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_module, "LACKING_BYTES", lacking)
    small = ScriptedBackend(execute=raising(OutOfMemory("the device has 2 bytes")))
    judged = Judge(small, "mine").judge(large_tile(100))
    assert judged.verdict is verdict
    assert judged.reason.startswith("execute raised OutOfMemory: the device has 2 bytes, at ")


# --- inputs that overlap ----------------------------------------------------------------------------------------------


def overlapping(alignments: tuple[int, int] = (0, 0)) -> Case:
    source = TensorDesc.of(DataType.UINT8, (20,), alignment=alignments[0])
    indices = TensorDesc.of(DataType.UINT32, (4,), alignment=alignments[1])
    desc = GatherDesc(source, indices, TensorDesc.of(DataType.UINT8, (4,)), 0, 1)
    data = {"input_tensor": Recipe(OVERLAPPING, 3), "indices_tensor": Recipe("in-range", 1)}
    return Case.of(desc, LEVEL, data, rule="GATHER.values")


@pytest.mark.parametrize("alignments", [(0, 0), (64, 0), (0, 64), (32, 256)])
def test_overlapping_inputs_lie_in_one_resource(alignments: tuple[int, int]) -> None:
    case = overlapping(alignments)
    memory = case_memory(case, Placement((80,))).put_inputs(materialize(case))
    source, indices = memory["input_tensor"].binding, memory["indices_tensor"].binding
    assert source.buffer is indices.buffer
    assert source.offset == indices.offset
    assert source.offset % max(16, *alignments) == 0
    assert source.offset % (2 * max(16, *alignments)) != 0
    assert source.view[:16].tolist() == indices.view.tolist()
    assert source.view[16:].tolist() == materialize(case)["input_tensor"][16:].tolist()
    source.view[-1] ^= 1
    assert not any(each.is_unchanged for each in memory.values())


def test_a_backend_that_takes_a_resource_for_a_tensor_is_found() -> None:
    class OneTensorEach(ReferenceBackend):
        """Keeps what it knows of a resource by its address, and takes the first tensor's length for the other's."""

        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            lengths: dict[int, int] = {}
            for binding in reversed(inputs.values()):
                lengths.setdefault(binding.buffer.ctypes.data, binding.size)
            seen = {}
            for name, binding in inputs.items():
                copy = np.zeros_like(binding.buffer)
                end = binding.offset + lengths[binding.buffer.ctypes.data]
                copy[binding.offset : end] = binding.buffer[binding.offset : end]
                seen[name] = binding._replace(buffer=copy)
            super().execute(desc, level, seen, outputs)

    assert Judge(reference.ReferenceBackend(), "").judge(overlapping()).verdict is Verdict.PASS
    case = overlapping()
    assert max(materialize(case)["indices_tensor"].view(np.uint32)) >= 16
    assert Judge(OneTensorEach(), "").judge(case).verdict is Verdict.FAIL


@pytest.mark.parametrize(("repeat", "times"), [(1, 1), (REPEAT, 1), (REPEAT + 1, REPEAT + 1)])
def test_a_large_case_is_executed_once_unless_races_are_hunted(
    repeat: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_module, "MOST_REPEATED", 0)
    backend = ScriptedBackend()
    assert Judge(backend, "mine", repeat=repeat).judge(large_tile(100)).verdict is Verdict.PASS
    assert backend.asked.count("execute") == times


def test_a_period_that_an_axis_is_too_short_for_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_ELEMENTS", 12)
    read, scale, written = (
        TensorDesc.of(data_type, sizes)
        for data_type, sizes in ((DataType.INT8, (5, 6)), (DataType.FLOAT32, (5, 1)), (DataType.FLOAT32, (5, 6)))
    )
    desc = operator("DEQUANTIZE").desc(read, 1, (scale,), written)
    case = Case.of(desc, LEVEL, {slot.key: Recipe("random-bits", period=7) for slot in inputs(desc)})
    assert not expected_with_period(case, 7).repeats
