"""What mutants of judging, comparing and guarding showed that no other test held: see docs/mutation.md."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from dml_conformance.backends.base import Answer, Binding
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.backends.reference import ReferenceBackend, Result
from dml_conformance.conformance.judge import judge as judge_module
from dml_conformance.conformance.judge.compare import EQUAL, RECORDED, compare
from dml_conformance.conformance.judge.judge import Judge, Pending, exception_text, verdict_on
from dml_conformance.conformance.judge.memory import Unwritten, bind_output
from dml_conformance.conformance.judge.output_digest import output_digest
from dml_conformance.reports.records import Phase, Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.gather import GatherDesc
from dml_conformance.spec.operators.tile import TileDesc
from dml_conformance.spec.tensor import TensorDesc

LEVEL = Level.L3_1
PAIR = TensorDesc.of(DataType.FLOAT32, (2,))
FOUR = TensorDesc.of(DataType.FLOAT32, (4,))
INDICES = TensorDesc.of(DataType.INT32, (2,))
TILE = Case.of(TileDesc(PAIR, FOUR, (2,)), LEVEL, {"input_tensor": Recipe("ramp", 1)}, rule="TILE.values")
OPEN_INDEX = Case.of(
    GatherDesc(FOUR, INDICES, PAIR, 0, 1),
    LEVEL,
    {"input_tensor": Recipe("ramp", 10), "indices_tensor": Recipe("explicit", values=(1, 9))},
    rule="GATHER.out-of-range-indices",
)
BOTH_OPEN = msgspec.structs.replace(
    OPEN_INDEX,
    data={"input_tensor": Recipe("ramp", 10), "indices_tensor": Recipe("explicit", values=(7, 9))},
)


class Doing(ReferenceBackend):
    """The reference, except for what it does."""

    def __init__(self, execute: Callable[..., None] | None = None, validate: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.own_execute, self.own_validate = execute, validate
        self.executions = 0

    def validate(self, desc: Any, level: Level) -> Answer:
        if self.own_validate is not None:
            self.own_validate()
        return super().validate(desc, level)

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
        self.executions += 1
        super().execute(desc, level, inputs, outputs)
        if self.own_execute is not None:
            self.own_execute(outputs)


def losing(*, timed_out: bool) -> Callable[..., None]:
    def lose(*_: Any) -> None:
        raise ProcessLost("gone with signal 11", LossCause.TIME_LIMIT if timed_out else LossCause.SIGNAL)

    return lose


# Digests


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


def test_outputs_are_digested_when_asked_for() -> None:
    """A pass and each kind of failure alike, since what came back is what a package is verified against."""
    judge = Judge(ReferenceBackend(), "mine", digests_outputs=True)
    assert Judge(ReferenceBackend(), "mine").record(TILE, Phase.SWEEP).output == ""
    passed = judge.record(TILE, Phase.SWEEP).output
    assert len(passed) == 32

    def flip(outputs: dict[str, Binding]) -> None:
        outputs["output_tensor"].view[0] ^= 1

    def overrun(outputs: dict[str, Binding]) -> None:
        binding = outputs["output_tensor"]
        binding.buffer[binding.offset - 1] ^= 1

    wrong = Judge(Doing(flip), "mine", digests_outputs=True).record(TILE, Phase.SWEEP)
    outside = Judge(Doing(overrun), "mine", digests_outputs=True).record(TILE, Phase.SWEEP)
    assert (wrong.verdict, outside.verdict) == (Verdict.FAIL, Verdict.FAIL)
    assert len(wrong.output) == 32
    assert wrong.output != passed
    assert outside.output == passed


def test_the_output_is_digested_where_an_input_was_written_to() -> None:
    class Careless(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            super().execute(desc, level, inputs, outputs)
            inputs["input_tensor"].view[0] ^= 1

    record = Judge(Careless(), "mine", digests_outputs=True).record(TILE, Phase.SWEEP)
    assert record.rule == "EXECUTION.inputs-unchanged"
    assert record.output == Judge(ReferenceBackend(), "mine", digests_outputs=True).record(TILE, Phase.SWEEP).output


# A process that is gone


@pytest.mark.parametrize(("timed_out", "verdict"), [(True, Verdict.TIMEOUT), (False, Verdict.CRASH)])
def test_a_lost_process_is_a_crash_or_a_timeout_whatever_it_was_doing(timed_out: bool, verdict: Verdict) -> None:
    lose = losing(timed_out=timed_out)
    with pytest.raises(ProcessLost) as lost:
        lose()
    assert verdict_on(lost.value, "validate")[0] is verdict
    for backend in (Doing(validate=lose), Doing(execute=lose)):
        record = Judge(backend, "mine").record(TILE, Phase.SWEEP)
        assert record.verdict is verdict
        assert record.reason.startswith("gone with signal 11")
        assert record.rule == "TILE.values"


# Executions


def test_a_case_is_executed_twice_unless_something_else_is_asked_for() -> None:
    backend = Doing()
    assert Judge(backend, "mine").record(TILE, Phase.SWEEP).verdict is Verdict.PASS
    assert backend.executions == 2
    assert Judge(Doing(), "mine").repeat == 2


@pytest.mark.parametrize("repeat", [1, 2, 3, 4])
def test_what_was_never_written_shows_in_two_executions_and_in_more(repeat: int) -> None:
    """An element whose value is open may hold what it is allowed to, but not what it held before, each time."""

    class Lazy(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            binding = outputs["output_tensor"]
            before = bytes(binding.view)
            super().execute(desc, level, inputs, outputs)
            binding.view[4:] = np.frombuffer(before[4:], np.uint8)

    def anything(actual: Any, expected: Any, *_: Any) -> Any:
        return EQUAL  # so that what is left unwritten is all that can be wrong

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge_module, "compare", anything)
        record = Judge(Lazy(), "mine", repeat=repeat).record(OPEN_INDEX, Phase.SWEEP)
    assert record.verdict is (Verdict.PASS if repeat == 1 else Verdict.FAIL)
    assert ("1 elements of the output were not written" in record.reason) is (repeat > 1)


WANTED = np.array([10, 20, 30, 40], np.uint32)


def _look(unwritten: Unwritten, written: tuple[int, ...]) -> None:
    """Take in an output of four elements, all of them open, of which some were written."""
    wanted = WANTED
    memory = bind_output(FOUR, Result(wanted, None))
    for i in written:
        memory.elements[i] ^= np.uint32(1 + 0xFFFF * (i % 2))
    unwritten.look("output_tensor", memory, Result(wanted, np.ones(4, np.bool_)))


def test_an_element_is_unwritten_if_it_was_left_every_time() -> None:
    """Whatever is written counts, values above the poison and below it."""
    unwritten = Unwritten()
    _look(unwritten, (0, 1))
    assert unwritten.count == 2
    _look(unwritten, (1, 2))
    assert unwritten.count == 1
    _look(unwritten, ())
    assert unwritten.count == 1
    _look(unwritten, (3,))
    assert unwritten.count == 0


@pytest.mark.parametrize("change", [1, 0x80, 0xFF])
@pytest.mark.parametrize("from_end", [-1, -64])
def test_a_guard_byte_that_changes_shows_whatever_it_becomes(change: int, from_end: int) -> None:
    """Behind the tensor as before it, be it larger than the guard or smaller."""
    memory = bind_output(FOUR, Result(WANTED, None))
    buffer, offset = memory.binding.buffer, memory.binding.offset
    buffer[from_end] ^= change
    assert memory.changed_outside() == [len(buffer) + from_end - offset]
    buffer[from_end] ^= change
    buffer[0] ^= change
    assert memory.changed_outside() == [-offset]


# Comparing


def test_several_open_elements_are_told_apart() -> None:
    """Each on its own has to be one that is allowed."""
    actual, expected = np.array([1, 2, 3, 9], np.uint32), np.array([1, 0, 0, 0], np.uint32)
    is_open = np.array([False, True, True, True])
    found = compare(actual, expected, DataType.UINT32, is_open, np.array([2, 3], np.uint32))
    assert found.wrong == 1
    assert compare(actual, expected, DataType.UINT32, is_open, np.array([2, 3, 9], np.uint32)).wrong == 0


def test_every_difference_of_a_small_output_is_recorded() -> None:
    """Also of one that is smaller than small, and has more than is recorded of a large one."""
    count = RECORDED + 1
    found = compare(np.zeros(count, np.uint8), np.ones(count, np.uint8), DataType.UINT8)
    assert found.wrong == len(found.shown) == count


# What a record says


def test_of_several_broken_rules_the_first_is_blamed_unless_the_case_names_one() -> None:
    broken = msgspec.structs.replace(FOUR, flags=6, guaranteed_base_offset_alignment=24)
    for named, blamed in (
        ("", "TENSOR.flags"),
        ("TILE.values", "TENSOR.flags"),
        ("TENSOR.alignment-power-of-two", "TENSOR.alignment-power-of-two"),
    ):
        case = Case.of(TileDesc(PAIR, broken, (2,)), LEVEL, rule=named)
        assert Judge(ReferenceBackend(), "mine").record(case, Phase.SWEEP).rule == blamed


def test_who_asks_for_one_execution_gets_one() -> None:
    """However many cases there were before."""
    backend = Doing()
    judge = Judge(backend, "mine", repeat=1)
    for _ in range(3 * judge_module.ONCE_MORE):
        judge.record(TILE, Phase.SWEEP)
    assert backend.executions == 3 * judge_module.ONCE_MORE


def test_the_time_of_a_decision_is_that_spent_in_the_backend() -> None:
    """In seconds, for a valid and for an invalid descriptor; none where the backend was not asked."""
    judge = Judge(ReferenceBackend(), "mine")
    broken = Case.of(TileDesc(PAIR, msgspec.structs.replace(FOUR, flags=1), (2,)), LEVEL)
    for case in (TILE, broken, msgspec.structs.replace(TILE, data={})):
        record = judge.record(case, Phase.SWEEP)
        assert record.verdict is Verdict.PASS
        assert 0 < record.seconds < 60
    gone = Judge(Doing(validate=losing(timed_out=False)), "mine").record(TILE, Phase.SWEEP)
    assert gone.seconds == 0


@pytest.mark.parametrize(
    ("sizes", "strides", "layout"),
    [
        ((2, 3), None, "packed"),
        ((2, 3), (4, 1), "padded"),
        ((2, 3), (1, 2), "permuted"),
        ((2, 3), (0, 1), "broadcast"),
        ((2, 3), (3, 2), "interleaved"),
        ((2, 3), (1, 1), "overlapping"),
    ],
)
def test_a_record_has_the_least_ordinary_layout(sizes: Any, strides: Any, layout: str) -> None:
    desc = TileDesc(TensorDesc.of(DataType.FLOAT32, sizes, strides), TensorDesc.of(DataType.FLOAT32, sizes), (1, 1))
    case = Case.of(desc, LEVEL, {"input_tensor": Recipe("ramp", 1)})
    assert Judge(ReferenceBackend(), "mine").record(case, Phase.SWEEP).layout == layout


def test_memory_needed_counts_what_alignment_may_cost() -> None:
    """Bytes bound for each tensor, and its GuaranteedBaseOffsetAlignment."""
    aligned = msgspec.structs.replace(FOUR, guaranteed_base_offset_alignment=4096)
    pending = Judge(ReferenceBackend(), "mine").decide(
        Case.of(TileDesc(PAIR, aligned, (2,)), LEVEL, {"input_tensor": Recipe("ramp", 1)})
    )
    assert isinstance(pending, Pending)
    assert pending.needed == 8 + 16 + 4096


def test_an_exception_is_told_whole_up_to_500_characters() -> None:
    whole, cut = ValueError("x" * (500 - len("ValueError: "))), ValueError("x" * (501 - len("ValueError: ")))
    assert exception_text(whole) == f"ValueError: {whole}"
    assert len(exception_text(cut)) == 500
    assert exception_text(cut).endswith("x...")
