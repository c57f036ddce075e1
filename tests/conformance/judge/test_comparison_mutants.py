"""What mutants of judging, comparing and guarding showed that no other test held: see docs/mutation.md."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np
import pytest
from scripted_backend import ScriptedBackend, flip_a_bit, raising

from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.backends.reference import ReferenceBackend, Result
from dml_conformance.conformance.judge import judge as judge_module
from dml_conformance.conformance.judge.compare import compare
from dml_conformance.conformance.judge.judge import Judge, Pending, exception_text, verdict_on
from dml_conformance.conformance.judge.memory import Unwritten, bind_output
from dml_conformance.conformance.judge.output_digest import output_digest
from dml_conformance.reports.records import Phase, Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.tile import TileDesc
from dml_conformance.spec.tensor import TensorDesc

LEVEL = Level.L3_1
PAIR = TensorDesc.of(DataType.FLOAT32, (2,))
FOUR = TensorDesc.of(DataType.FLOAT32, (4,))
TILE = Case.of(TileDesc(PAIR, FOUR, (2,)), LEVEL, {"input_tensor": Recipe("ramp", 1)}, rule="TILE.values")


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


def overrun(desc: Any, inputs: Any, outputs: Any) -> None:
    binding = outputs["output_tensor"]
    binding.buffer[binding.offset - 1] ^= 1


def write_to_input(desc: Any, inputs: Any, outputs: Any) -> None:
    inputs["input_tensor"].view[0] ^= 1


def test_outputs_are_digested_when_asked_for() -> None:
    """A pass and each kind of failure alike, since what came back is what a package is verified against."""
    assert Judge(ReferenceBackend(), "mine").record(TILE, Phase.SWEEP).output == ""
    passed, wrong, outside, careless = (
        Judge(ScriptedBackend(after=deed), "mine", digests_outputs=True).record(TILE, Phase.SWEEP)
        for deed in (None, flip_a_bit, overrun, write_to_input)
    )
    assert [each.verdict for each in (passed, wrong, outside, careless)] == [Verdict.PASS, *[Verdict.FAIL] * 3]
    assert len(passed.output) == len(wrong.output) == 32
    assert wrong.output != passed.output == outside.output == careless.output
    assert careless.rule == "EXECUTION.inputs-unchanged"


# A process that is gone


@pytest.mark.parametrize(
    ("cause", "verdict"), [(LossCause.TIME_LIMIT, Verdict.TIMEOUT), (LossCause.SIGNAL, Verdict.CRASH)]
)
def test_a_lost_process_is_a_crash_or_a_timeout_whatever_it_was_doing(cause: LossCause, verdict: Verdict) -> None:
    lost = ProcessLost("gone with signal 11", cause)
    assert verdict_on(lost) is verdict
    for backend in (ScriptedBackend(validate=raising(lost)), ScriptedBackend(after=raising(lost))):
        record = Judge(backend, "mine").record(TILE, Phase.SWEEP)
        assert record.verdict is verdict
        assert record.reason.startswith("gone with signal 11")
        assert record.rule == "TILE.values"


# Executions


def test_a_case_is_executed_twice_unless_something_else_is_asked_for() -> None:
    assert Judge(ReferenceBackend(), "mine").repeat == 2
    backend = ScriptedBackend()
    assert Judge(backend, "mine").record(TILE, Phase.SWEEP).verdict is Verdict.PASS
    assert backend.asked.count("execute") == 2
    once = ScriptedBackend()
    judge = Judge(once, "mine", repeat=1)
    for _ in range(3 * judge_module.ONCE_MORE):
        judge.record(TILE, Phase.SWEEP)
    assert once.asked.count("execute") == 3 * judge_module.ONCE_MORE


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


def test_the_time_of_a_decision_is_that_spent_in_the_backend() -> None:
    """In seconds, for a valid and for an invalid descriptor; none where the backend was not asked."""
    judge = Judge(ReferenceBackend(), "mine")
    broken = Case.of(TileDesc(PAIR, msgspec.structs.replace(FOUR, flags=1), (2,)), LEVEL)
    for case in (TILE, broken, msgspec.structs.replace(TILE, data={})):
        record = judge.record(case, Phase.SWEEP)
        assert record.verdict is Verdict.PASS
        assert 0 < record.seconds < 60
    lost = raising(ProcessLost("gone", LossCause.SIGNAL))
    gone = Judge(ScriptedBackend(validate=lost), "mine").record(TILE, Phase.SWEEP)
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
