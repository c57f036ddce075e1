"""One case, one backend, one verdict: every situation that the judge knows, and what it says about it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from five_operators import GatherDesc, TileDesc
from scripted_backend import ScriptedBackend, accepting, flip_a_bit, raising, rejecting

from dml_conformance.backends import poison as poison_module
from dml_conformance.backends.base import NEAR, Answer, Binding
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.backends.reference import ReferenceBackend, expected_output
from dml_conformance.conformance.judge import judge as judge_module
from dml_conformance.conformance.judge import memory as memory_module
from dml_conformance.conformance.judge.explain import explain
from dml_conformance.conformance.judge.judge import (
    Judge,
    Pending,
    case_memory,
    exception_text,
    reproduce_line,
    verdict_on,
)
from dml_conformance.conformance.judge.memory import GUARD_BYTES
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.case import Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.divergences import divergences
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import observations
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.registry import rules
from dml_conformance.spec.rules import ACCEPTANCE, CLAIMS, DESCRIPTOR_CATEGORIES, Category
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, Reading, decide
from dml_conformance.strategies.cases import make_case
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.values import materialize

LEVEL = Level.L3_1
PAIR = TensorDesc.of(DataType.FLOAT32, (2,))
FOUR = TensorDesc.of(DataType.FLOAT32, (4,))
INDICES = TensorDesc.of(DataType.INT32, (2,))
TWICE = TileDesc(PAIR, FOUR, (2,))
GATHER = GatherDesc(FOUR, INDICES, PAIR, 0, 1)
RAMP = {"input_tensor": Recipe("ramp")}


def tile(desc: TileDesc = TWICE, *, rule: str = "TILE.values", level: Level = LEVEL, data: bool = True) -> Case:
    return Case.of(desc, level, {"input_tensor": Recipe("explicit", values=(1.5, -0.0))} if data else None, rule=rule)


def gather(*indices: int, rule: str = "GATHER.values") -> Case:
    recipes = {"input_tensor": Recipe("ramp", 10), "indices_tensor": Recipe("explicit", values=indices)}
    return Case.of(GATHER, LEVEL, recipes, rule=rule)


def invalid(**changes: Any) -> Case:
    """A TILE that breaks TENSOR.owned-by-dml, or whatever the changes of its output break."""
    output = msgspec.structs.replace(FOUR, **(changes or {"flags": 1}))
    return tile(msgspec.structs.replace(TWICE, output_tensor=output), rule="TENSOR.owned-by-dml", data=False)


def verdict(backend: ReferenceBackend, case: Case, repeat: int = 1) -> Record:
    return Judge(backend, "mine", repeat=repeat).record(case, Phase.SWEEP)


# --- several executions -----------------------------------------------------------------------------------------------


def test_a_case_is_executed_with_other_poison_each_time() -> None:
    found: list[bytes] = []

    class Watching(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            found.append(outputs["output_tensor"].buffer.tobytes())
            super().execute(desc, level, inputs, outputs)

    apart = msgspec.structs.replace(tile(), placement=Placement((80,)))
    assert verdict(Watching(), apart, repeat=4).verdict is Verdict.PASS
    assert len(found) == 4
    for before, after in pairwise(found):
        assert all(a != b for a, b in zip(before, after, strict=True))


def only_in(number: int, do: Callable[..., None]) -> ScriptedBackend:
    """Does something in the execution of that number."""
    backend = ScriptedBackend(after=lambda *bound: backend.asked.count("execute") == number and do(*bound))
    return backend


@pytest.mark.parametrize("number", [2, 3])
def test_what_goes_wrong_in_a_later_execution_counts(number: int) -> None:
    backend = only_in(number, flip_a_bit)
    record = verdict(backend, tile(), repeat=3)
    assert (record.verdict, record.rule, record.difference_count) == (Verdict.FAIL, "TILE.values", 1)
    words = f", in execution {number} on the same inputs; it passed before"
    assert record.reason == f"OutputTensor: 1 of 4 elements differ{words}"
    assert backend.asked.count("execute") > number, "it is not bound otherwise before it fails"
    record = verdict(only_in(number, raising(RuntimeError("twice"))), tile(), repeat=3)
    assert record.verdict is Verdict.CRASH
    assert record.reason.startswith("execute raised RuntimeError: twice, at ")
    assert record.reason.endswith(words)


@pytest.mark.parametrize("repeat", [1, 2, 4])
def test_an_open_element_may_differ_from_time_to_time_but_not_be_left_unwritten(repeat: int) -> None:
    """An input with every value of a byte: whatever is left in the output is one of its elements."""
    everything = TensorDesc.of(DataType.UINT8, (256,))
    desc = GatherDesc(everything, INDICES, TensorDesc.of(DataType.UINT8, (2,)), 0, 1)
    recipes = {"input_tensor": Recipe("ramp", 0), "indices_tensor": Recipe("explicit", values=(3, 1000))}
    case = Case.of(desc, LEVEL, recipes, rule="GATHER.out-of-range-indices")

    def leave(desc: Any, inputs: Any, outputs: Any) -> None:
        """Write what is known, and not the second element."""
        outputs["output_tensor"].view[0] = 3

    def change(desc: Any, inputs: Any, outputs: Any) -> None:
        outputs["output_tensor"].view[1] = 5 + len(changing.asked)

    changing = ScriptedBackend(after=change)
    assert verdict(changing, case, repeat).verdict is Verdict.PASS
    record = verdict(ScriptedBackend(execute=leave), case, repeat)
    if repeat == 1:
        assert record.verdict is Verdict.PASS
        return
    assert (record.verdict, record.rule) == (Verdict.FAIL, "GATHER.out-of-range-indices")
    assert record.reason == "1 elements of the output were not written: they hold what they held before, each time"


# --- what passes ------------------------------------------------------------------------------------------------------


def test_a_valid_case_is_asked_for_executed_and_passes_and_others_are_never_executed() -> None:
    backend = ScriptedBackend()
    record = verdict(backend, tile())
    assert (record.verdict, record.rule, record.answered, record.reason) == (Verdict.PASS, "TILE.values", "accept", "")
    assert backend.asked == ["validate", "execute"]
    assert record.reproduce == ""
    record = verdict(backend, invalid())
    assert (record.verdict, record.expected, record.answered) == (Verdict.PASS, "REJECT", "reject")
    assert verdict(backend, tile(data=False)).verdict is Verdict.PASS
    assert backend.asked[2:] == ["validate", "validate"]


def test_a_record_describes_its_case() -> None:
    apart = msgspec.structs.replace(GATHER, output_tensor=TensorDesc.of(DataType.FLOAT32, (2,), (2,)))
    record = verdict(ReferenceBackend(), msgspec.structs.replace(gather(3, -1), desc=apart))
    assert (record.operator, record.level, record.phase) == ("GATHER", "3_1", Phase.SWEEP)
    assert (record.data_type, record.index_type, record.rank) == ("FLOAT32", "INT32", 1)
    assert (record.layout, record.pattern) == ("padded", "explicit")
    assert record.case == Case.from_json(record.case_json).digest
    assert verdict(ReferenceBackend(), tile()).pattern == ""
    assert verdict(ReferenceBackend(), msgspec.structs.replace(tile(), data=RAMP)).pattern
    nothing = Case.of(msgspec.structs.replace(GATHER, output_tensor=None), LEVEL, rule="GATHER.required-tensors")
    record = verdict(ReferenceBackend(), nothing)
    assert (record.layout, record.data_type, record.rank, record.index_type) == ("", "", 0, "INT32")
    for strides, layout in {
        None: "packed",
        (4, 1): "padded",
        (1, 2): "permuted",
        (0, 1): "broadcast",
        (3, 2): "interleaved",
        (1, 1): "overlapping",
    }.items():
        source, target = (TensorDesc.of(DataType.FLOAT32, (2, 3), own) for own in (strides, None))
        case = Case.of(TileDesc(source, target, (1, 1)), LEVEL, RAMP)
        assert verdict(ReferenceBackend(), case).layout == layout, "the least ordinary one"


# --- decisions that fail ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["TILE.values", "EXECUTION.strides", "TENSOR.flags", "DESCRIPTOR.acceptance", ""])
@pytest.mark.parametrize("claims", [{}, {"executes": False}], ids=["executes", "decides"])
def test_a_refusal_of_what_is_valid_is_about_acceptance(rule: str, claims: dict[str, Any]) -> None:
    """Whatever the case is about: nothing was executed, and no rule of descriptors was broken."""
    record = verdict(ScriptedBackend(validate=rejecting, **claims), tile(rule=rule))
    assert (record.verdict, record.rule) == (Verdict.FAIL, "DESCRIPTOR.acceptance")
    assert record.reason == "rejected a valid descriptor: no reason"


def test_acceptance_is_claimed_with_any_decisions_and_not_without() -> None:
    for category in Category:
        record = verdict(ScriptedBackend(validate=rejecting, enforces=frozenset({category})), tile())
        assert (record.verdict, record.rule) == (Verdict.FAIL, CLAIMS if category is Category.EXECUTION else ACCEPTANCE)


def test_accepting_an_invalid_descriptor_fails_at_the_rule_that_is_broken() -> None:
    """Whatever the case says that it is about; of several the first, unless the case names one."""
    record = verdict(ScriptedBackend(validate=accepting), invalid())
    assert (record.verdict, record.rule) == (Verdict.FAIL, "TENSOR.owned-by-dml")
    assert record.reason == (
        "accepted, though found OutputTensor.Flags: OWNED_BY_DML on an output; "
        "the rule says: OWNED_BY_DML is for input tensors only"
    )
    case = tile(msgspec.structs.replace(TWICE, repeats=(0,)), rule="TENSOR.flags", data=False)
    assert verdict(ScriptedBackend(validate=accepting), case).rule == "TILE.repeats"
    twice_broken = invalid(flags=6, guaranteed_base_offset_alignment=24)
    for named in ("", "TILE.values", "TENSOR.alignment-power-of-two"):
        found = verdict(ReferenceBackend(), msgspec.structs.replace(twice_broken, rule=named)).rule
        assert found == (named if named in twice_broken.broken else "TENSOR.flags")


def overlapping(*, data: bool = False) -> Case:
    """An output whose elements share memory, which the pages leave open and the real library rejects."""
    output = TensorDesc.of(DataType.FLOAT32, (4,), (0,))
    desc = msgspec.structs.replace(TWICE, output_tensor=output)
    return tile(desc, rule="TENSOR.output-overlap", data=data)


def unequal_batches() -> Case:
    """A GATHER_ND1 that the pages leave open and the real library accepts."""
    desc = observations()["GATHER_ND1.batch-sizes"].witnesses[0].desc
    data = {"input_tensor": Recipe("ramp"), "indices_tensor": Recipe("in-range")}
    return Case.of(desc, LEVEL, data, rule="GATHER_ND1.values")


@pytest.mark.parametrize("accepted", [True, False])
def test_what_the_pages_leave_open_is_observed(accepted: bool) -> None:
    case = overlapping()
    record = verdict(ScriptedBackend(validate=accepting if accepted else rejecting), case)
    assert (record.verdict, record.expected) == (Verdict.OBSERVED, "UNSPECIFIED")
    assert record.reason == ("accepted" if accepted else "rejected: no reason")


@pytest.mark.parametrize(
    ("validate", "reason"),
    [
        (raising(ValueError("x" * 1000)), "validate raised ValueError: " + "x" * 485 + "..."),
        (lambda *_: None, "validate returned None, not an Answer"),
        (lambda *_: True, "validate returned True, not an Answer"),
    ],
)
@pytest.mark.parametrize("case", [tile(), invalid()], ids=["valid", "invalid"])
def test_no_answer_is_a_crash(case: Case, validate: Callable[..., Any], reason: str) -> None:
    """Also where rejecting would have been right."""
    record = verdict(ScriptedBackend(validate=validate), case)
    assert (record.verdict, record.rule, record.reason.split(", at ")[0]) == (Verdict.CRASH, case.rule, reason)


# --- what is not claimed ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"operators": ("GATHER",)}, "operator TILE is not claimed"),
        ({"levels": (Level.L1_0, Level.L6_4)}, "level 3_1 is not claimed"),
    ],
)
def test_an_operator_or_level_that_is_not_claimed_is_not_asked_about(claims: dict[str, Any], reason: str) -> None:
    backend = ScriptedBackend(**claims)
    for case in (tile(), invalid()):
        record = verdict(backend, case)
        assert (record.verdict, record.reason, record.answered) == (Verdict.NOT_SUPPORTED, reason, "")
    assert backend.asked == []


OTHERS = frozenset(Category) - {Category.TENSOR_DESC}


LARGEST = TensorDesc.of(DataType.UINT8, (65537, 65535))
ABOUT_LARGEST = tile(TileDesc(LARGEST, LARGEST, (1, 1)), rule="TENSOR.element-count", data=False)
TWO_BROKEN = invalid(flags=1, sizes=(3,))
ABOUT_FLAGS = tile(rule="TENSOR.flags")
ONLY_SHAPES, NOTHING, ONLY_EXECUTION = map(frozenset, ({Category.SHAPE}, (), {Category.EXECUTION}))


@pytest.mark.parametrize(
    ("case", "answer", "claims", "expected"),
    [
        (invalid(), accepting, {"enforces": OTHERS}, "category tensor-desc is not claimed"),
        (invalid(), rejecting, {"enforces": OTHERS}, "category tensor-desc is not claimed"),
        (ABOUT_LARGEST, accepting, {"enforces": OTHERS}, "category tensor-desc is not claimed"),
        (ABOUT_LARGEST, accepting, {}, Verdict.PASS),
        (ABOUT_LARGEST, rejecting, {"enforces": OTHERS}, Verdict.FAIL),
        (TWO_BROKEN, accepting, {"enforces": ONLY_SHAPES}, Verdict.FAIL),
        (TWO_BROKEN, rejecting, {"enforces": ONLY_SHAPES}, Verdict.PASS),
        (ABOUT_FLAGS, accepting, {"executes": False}, Verdict.PASS),
        (ABOUT_FLAGS, accepting, {"executes": False, "enforces": OTHERS}, "category tensor-desc is not claimed"),
        (tile(), accepting, {"executes": False, "enforces": NOTHING}, "decisions are not claimed"),
        (tile(), accepting, {"executes": False, "enforces": ONLY_EXECUTION}, "decisions are not claimed"),
    ],
)
def test_what_is_not_claimed_is_neither_a_pass_nor_a_failure(
    case: Case, answer: Callable[..., Answer], claims: dict[str, Any], expected: Verdict | str
) -> None:
    """One claimed category among the broken is enough; to reject what is valid is wrong whatever is claimed. Who claims
    neither decisions nor execution passes nothing: accepting whatever comes is no achievement."""
    record = verdict(ScriptedBackend(validate=answer, **claims), case)
    assert expected == (record.reason if record.verdict is Verdict.NOT_SUPPORTED else record.verdict)


@pytest.mark.parametrize("claims", [{"executes": False}, {"enforces": DESCRIPTOR_CATEGORIES}])
def test_execution_that_is_not_claimed_is_not_tried(claims: dict[str, Any]) -> None:
    """The decision counts, and no rule of execution gets credit for it."""
    backend = ScriptedBackend(**claims)
    record = verdict(backend, gather(0, 1))
    assert (record.verdict, record.rule, record.reason) == (
        Verdict.PASS,
        "",
        "decided only; execution is not claimed",
    )
    assert (record.layout, record.pattern, record.index_type) == ("packed", "", "INT32")
    assert record.case == verdict(ReferenceBackend(), gather(0, 1)).case
    assert backend.asked == ["validate"]


def deciding_at(level: Level, **more: Any) -> ScriptedBackend:
    """A backend that decides by the rules of one level, as its validator at that level does."""

    def decided(desc: Any, _: Level) -> Answer:
        return Answer(decide(desc, level).outcome is not Outcome.REJECT)

    return ScriptedBackend(**{"validate": decided, "decides_at": level, **more})


WIDE = TensorDesc.of(DataType.INT64, (2,))  # a type that TILE got at 4_1
NEW_TYPE, NO_REPEATS = (tile(TileDesc(WIDE, WIDE, (n,)), rule="TILE.data-types", data=False) for n in (1, 0))


@pytest.mark.parametrize(
    ("case", "level", "claims", "expected"),
    [
        (NEW_TYPE, Level.L4_1, {"validate": accepting}, Verdict.NOT_SUPPORTED),
        (NEW_TYPE, Level.L4_1, {"validate": rejecting}, Verdict.NOT_SUPPORTED),
        (NEW_TYPE, Level.L3_1, {}, Verdict.PASS),
        (NEW_TYPE, None, {"validate": accepting}, Verdict.FAIL),
        # A rule that both levels have is judged, though the lower one has another that is broken too.
        (NO_REPEATS, Level.L4_1, {}, Verdict.PASS),
        (NO_REPEATS, Level.L4_1, {"validate": accepting}, Verdict.FAIL),
        (NO_REPEATS, Level.L4_1, {"enforces": frozenset(Category) - {Category.ATTRIBUTES}}, Verdict.NOT_SUPPORTED),
        # What a lower level accepts, the higher one does too: levels are supersets.
        (tile(), Level.L4_1, {"executes": False}, Verdict.PASS),
        (tile(), Level.L4_1, {"validate": rejecting, "executes": False}, Verdict.FAIL),
    ],
)
def test_a_rule_that_only_a_lower_level_has_is_not_claimed_by_who_decides_at_a_higher_one(
    case: Case, level: Level | None, claims: dict[str, Any], expected: Verdict
) -> None:
    backend = ScriptedBackend(**claims) if level is None else deciding_at(level, **claims)
    record = verdict(backend, case)
    assert record.verdict is expected
    if expected is Verdict.NOT_SUPPORTED:
        assert record.rule == "TILE.data-types"
        assert record.reason == "not claimed: level 4_1, by whose rules it decides, has no such rule"


# --- what was observed of the real library ----------------------------------------------------------------------------


def observed_verdict(backend: ReferenceBackend, case: Case) -> Record:
    return Judge(backend, "mine", Reading.OBSERVED).record(case, Phase.SWEEP)


def test_an_observation_makes_an_open_question_a_rule() -> None:
    record = observed_verdict(ScriptedBackend(validate=rejecting), overlapping(data=True))
    assert (record.verdict, record.rule, record.expected) == (Verdict.PASS, "TENSOR.output-overlap", "REJECT")
    record = observed_verdict(ScriptedBackend(validate=accepting), overlapping())
    assert (record.verdict, record.expected) == (Verdict.FAIL, "REJECT")
    assert record.case_json["expect"] == {"decision": "REJECT", "rules": ["TENSOR.output-overlap"]}
    assert shlex.split(record.reproduce)[2:4] == ["--spec", "observed"]
    # Nothing says what is computed of what is valid by observation; and it gives no rule of execution credit.
    backend = ScriptedBackend(validate=accepting)
    record = observed_verdict(backend, unequal_batches())
    assert (record.verdict, record.rule, record.expected) == (Verdict.PASS, "GATHER_ND1.batch-sizes", "ACCEPT")
    assert record.reason == "decided only; no page says what it computes"
    assert backend.asked == ["validate"]
    record = observed_verdict(ScriptedBackend(validate=rejecting), unequal_batches())
    assert (record.verdict, record.rule) == (Verdict.FAIL, "GATHER_ND1.batch-sizes")


def test_a_failure_that_the_real_library_shares_says_so() -> None:
    """It is a failure all the same."""
    aligned = TensorDesc.of(DataType.FLOAT32, (2,), alignment=8)
    case = tile(TileDesc(aligned, PAIR, (1,)))
    record = verdict(ScriptedBackend(validate=rejecting), case)
    assert record.verdict is Verdict.FAIL
    assert record.reason == "rejected a valid descriptor: no reason; DirectML itself does so: DIV-alignment-below-16"
    float64 = TensorDesc.of(DataType.FLOAT64, (2,))
    case = tile(TileDesc(float64, float64, (1,)), rule="TILE.data-types", data=False, level=Level.L5_0)
    assert verdict(ScriptedBackend(validate=accepting), case).reason.endswith(
        "; DirectML itself does so: DIV-tile-float64"
    )
    assert "DirectML" not in verdict(ScriptedBackend(validate=accepting), invalid()).reason
    # What a lower level alone forbids is no part of what a library overlooks that decides by a higher one.
    bytes_, indices = TensorDesc.of(DataType.INT8, (1, 1, 2, 1)), TensorDesc.of(DataType.UINT32, (1, 1, 1, 1))
    cropped = GatherDesc(bytes_, indices, TensorDesc.of(DataType.INT8, (1, 1, 1, 1)), 3, 4)
    case = Case.of(cropped, Level.L2_0)
    assert set(case.broken) == {"GATHER.data-types", "GATHER.output-rank"}
    record = verdict(deciding_at(Level.L5_0, validate=accepting), case)
    assert record.reason.endswith("; DirectML itself does so: DIV-gather-crops-any-size")
    desc = divergences()["DIV-gather-writes-before-its-sizes"].desc
    record = verdict(ScriptedBackend(validate=raising(OSError("gone"))), Case.of(desc, LEVEL))
    assert record.verdict is Verdict.CRASH
    assert re.search("gone, at .*; DirectML itself does so: DIV-gather-writes-before-its-sizes$", record.reason)


# --- execution --------------------------------------------------------------------------------------------------------


def test_what_is_not_written_is_wrong() -> None:
    """Whatever was expected: the output holds its complement beforehand."""
    idle = ScriptedBackend(execute=lambda *_: None)
    for case in (tile(), gather(0, 1), gather(-1, 3)):
        record = verdict(idle, case)
        assert record.verdict is Verdict.FAIL
        assert record.difference_count == record.case_json["desc"]["OutputTensor"]["Sizes"][0]
    # What is wrong with a valid case about a rule of descriptors, when it is executed, are the values.
    assert verdict(idle, tile(rule="TENSOR.flags")).rule == "TILE.values"
    assert verdict(idle, tile(rule="EXECUTION.strides")).rule == "TILE.values"


@pytest.mark.parametrize(
    ("position", "shown"),
    [(-1, "[-1]"), (-GUARD_BYTES, f"[-{GUARD_BYTES}]"), (16, "[16]"), (16 + GUARD_BYTES - 1, f"[{15 + GUARD_BYTES}]")],
)
def test_a_byte_written_outside_the_output(position: int, shown: str) -> None:
    """Before and behind it; told before anything else that is wrong."""

    def outside(desc: Any, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        output, source = outputs["output_tensor"], inputs["input_tensor"]
        output.buffer[output.offset + position] ^= 1
        source.buffer[0] ^= 1

    record = verdict(ScriptedBackend(execute=outside), tile())
    assert (record.verdict, record.rule) == (Verdict.FAIL, "EXECUTION.output-bounds")
    assert record.reason == f"OutputTensor: bytes changed outside the tensor, at {shown} from its start"


def test_a_byte_written_to_an_input() -> None:
    """Anywhere in its resource, also where the output is right."""
    for name, field in (("input_tensor", "InputTensor"), ("indices_tensor", "IndicesTensor")):
        for position in (0, GUARD_BYTES, GUARD_BYTES + 7, -1):

            def scribble(desc: Any, inputs: Any, outputs: Any, name: str = name, position: int = position) -> None:
                inputs[name].buffer[position] ^= 1

            record = verdict(ScriptedBackend(after=scribble), gather(0, 1))
            assert (record.verdict, record.rule) == (Verdict.FAIL, "EXECUTION.inputs-unchanged")
            assert record.reason == f"{field}: the input's memory was written to"


def test_an_index_out_of_range_may_give_any_element_of_the_input() -> None:
    """The input is 10, 11, 12, 13; index 4 does not exist, index 1 does."""
    case = gather(4, 1, rule="GATHER.out-of-range-indices")
    for value in (10, 11, 12, 13):
        assert verdict(giving(value, 11), case).verdict is Verdict.PASS
    record = verdict(giving(0, 11), case)
    assert (record.verdict, record.rule) == (Verdict.FAIL, "GATHER.out-of-range-indices")
    assert [difference.expected for difference in record.differences] == ["any element of the input"]
    assert verdict(giving(10, 12), case).differences[0].coordinates == (1,)


# --- what a person reads ----------------------------------------------------------------------------------------------


def test_the_line_that_reproduces_a_case() -> None:
    """Every verdict but a pass has one."""
    case = gather(-1, 3)
    words = shlex.split(reproduce_line(case, "path with space.py:It's"))
    assert words[:4] == ["dml-conformance", "replay", "--backend", "path with space.py:It's"]
    assert Case.from_json(json.loads(words[4])) == case
    assert len(words) == 5
    for how in ({"validate": rejecting}, {"levels": ()}, {"validate": raising(OSError())}):
        assert verdict(ScriptedBackend(**how), tile()).reproduce == reproduce_line(tile(), "mine")


def giving(*values: float) -> ScriptedBackend:
    def execute(desc: Any, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        outputs["output_tensor"].view[:8] = np.array(values, "<f4").view(np.uint8)

    return ScriptedBackend(execute=execute)


def test_an_explanation_has_all_that_is_needed() -> None:
    record = verdict(giving(10, 12), gather(-1, 1, rule="GATHER.negative-indices"))
    rule = rules()["GATHER.negative-indices"]
    assert explain(record).splitlines() == [
        "GATHER at level 3_1: fail, GATHER.negative-indices",
        f"  the rule: {rule.statement}",
        f"  its source: {rule.source.url} (IndicesTensor)",
        "  the specification: ACCEPT, the backend: accept",
        "  OutputTensor: 2 of 2 elements differ",
        "    at [0]: expected 13.0 (0x41500000), actual 10.0 (0x41200000)",
        "    at [1]: expected 11.0 (0x41300000), actual 12.0 (0x41400000)",
        "  descriptor:",
        "    DML_OPERATOR_GATHER",
        '      InputTensor: {"DataType":"FLOAT32","Sizes":[4],"TotalTensorSizeInBytes":16}',
        '      IndicesTensor: {"DataType":"INT32","Sizes":[2],"TotalTensorSizeInBytes":8}',
        '      OutputTensor: {"DataType":"FLOAT32","Sizes":[2],"TotalTensorSizeInBytes":8}',
        "      Axis: 0",
        "      IndexDimensions: 1",
        "  InputTensor = np.array([10.0, 11.0, 12.0, 13.0], np.float32)",
        "  IndicesTensor = np.array([-1, 1], np.int32)",
        '  data: {"InputTensor":{"pattern":"ramp","seed":10},"IndicesTensor":{"pattern":"explicit","values":[-1,1]}}',
        "  bound: at offset 0, 4 bytes more than needed",
        f"  reproduce: {record.reproduce}",
    ]
    wide = TensorDesc.of(DataType.UINT8, (3, 4))
    case = Case.of(TileDesc(wide, wide, (1, 1)), LEVEL, RAMP, rule="TILE.values")
    text = explain(verdict(ScriptedBackend(execute=lambda *_: None), case))
    assert "    at [1, 3]: expected 7 (0x07), actual " in text
    assert "\n    and 4 more\n" in text
    decided = explain(verdict(ScriptedBackend(validate=accepting), invalid()))
    assert not any(each in decided for each in (" at [", "  data: "))


@pytest.mark.parametrize(
    ("backend", "data", "rule"),
    [
        (ReferenceBackend(), True, "TILE.values"),
        (ScriptedBackend(validate=rejecting), True, "DESCRIPTOR.acceptance"),
        (ScriptedBackend(executes=False), True, ""),
        (ReferenceBackend(), False, ""),
    ],
)
def test_a_case_about_no_rule_in_particular(backend: ReferenceBackend, data: bool, rule: str) -> None:
    """A person's own descriptor, say: executed it is judged by the operator's values, decided by all rules alike.

    One that the pages reject or leave open is about what it breaks.
    """
    record = verdict(backend, tile(rule="", data=data))
    assert record.rule == rule
    assert explain(record).splitlines()[0].endswith(rule or "no rule in particular")
    assert ("the rule: " in explain(record)) == bool(rule)
    assert verdict(backend, msgspec.structs.replace(invalid(), rule="")).rule == "TENSOR.owned-by-dml"
    assert verdict(backend, msgspec.structs.replace(overlapping(), rule="")).rule == "TENSOR.output-overlap"


@pytest.mark.parametrize(
    ("name", "recipe", "reason"),
    [
        ("indices_tensor", None, "IndicesTensor: there is no recipe for its data"),
        ("input_tensor", Recipe("in-range"), "InputTensor: unknown pattern 'in-range'; known here: "),
        (
            "indices_tensor",
            Recipe("explicit", values=(1, 0.5)),
            "IndicesTensor: the explicit value 0.5 does not fit INT32",
        ),
        ("input_tensor", Recipe("ramp", -1), "InputTensor: expected a seed from 0 to 4294967295, found -1"),
    ],
)
def test_data_that_does_not_exist_is_no_fault_of_the_backend(name: str, recipe: Recipe | None, reason: str) -> None:
    backend = ScriptedBackend()
    data = {"input_tensor": Recipe("ramp"), "indices_tensor": Recipe("in-range"), name: recipe}
    given = {key: each for key, each in data.items() if each is not None}
    record = verdict(backend, Case.of(GATHER, LEVEL, given, rule="GATHER.values"))
    assert record.verdict is Verdict.ERROR
    assert record.reason.startswith(f"there is no such data: {reason}")
    assert backend.asked == ["validate"]


def test_a_rule_that_the_operator_does_not_have_is_refused() -> None:
    for rule in ("TILE.nothing", "GATHER.values", "x"):
        with pytest.raises(FormError, match=re.escape(f"case.rule: TILE has no rule {rule!r}")):
            Case.from_json({**tile().to_json(), "rule": rule})


@pytest.mark.parametrize("rule", ["EXECUTION.output-bounds", "EXECUTION.inputs-unchanged"])
def test_a_wrong_value_is_not_blamed_on_a_rule_about_memory(rule: str) -> None:
    case = make_case(SeededChooser(0), "TILE", Level.L6_4, rule)
    judged = Judge(ScriptedBackend(after=flip_a_bit), "wrong").judge(case)
    assert (judged.verdict, judged.rule) == (Verdict.FAIL, "TILE.values")


# --- what mutants showed that no other test held: see docs/mutation.md  -----------------------------------------------


def test_outputs_are_digested_when_asked_for() -> None:
    """A pass and each kind of failure alike, since what came back is what a package is verified against."""

    def overrun(desc: Any, inputs: Any, outputs: Any) -> None:
        binding = outputs["output_tensor"]
        binding.buffer[binding.offset - 1] ^= 1

    def write_to_input(desc: Any, inputs: Any, outputs: Any) -> None:
        inputs["input_tensor"].view[0] ^= 1

    assert Judge(ReferenceBackend(), "mine").record(tile(), Phase.SWEEP).output == ""
    passed, wrong, outside, careless = (
        Judge(ScriptedBackend(after=deed), "mine", digests_outputs=True).record(tile(), Phase.SWEEP)
        for deed in (None, flip_a_bit, overrun, write_to_input)
    )
    assert [each.verdict for each in (passed, wrong, outside, careless)] == [Verdict.PASS, *[Verdict.FAIL] * 3]
    assert len(passed.output) == len(wrong.output) == 32
    assert wrong.output != passed.output == outside.output == careless.output


@pytest.mark.parametrize(
    ("cause", "verdict"), [(LossCause.TIME_LIMIT, Verdict.TIMEOUT), (LossCause.SIGNAL, Verdict.CRASH)]
)
def test_a_lost_process_is_a_crash_or_a_timeout_whatever_it_was_doing(cause: LossCause, verdict: Verdict) -> None:
    lost = ProcessLost("gone with signal 11", cause)
    assert verdict_on(lost, "validate")[0] is verdict
    for backend in (ScriptedBackend(validate=raising(lost)), ScriptedBackend(after=raising(lost))):
        record = Judge(backend, "mine").record(tile(), Phase.SWEEP)
        assert record.verdict is verdict
        assert record.reason.startswith("gone with signal 11")
        assert record.rule == "TILE.values"


def test_a_case_is_executed_twice_and_one_in_seven_once_more_unless_something_else_is_asked_for() -> None:
    """So that whoever errs on every second call does not always err on a case that was right before."""
    for how, expected in (({}, [2, 2, 2, 2, 2, 2, 3] * 2), ({"repeat": 1}, [1] * 14)):
        backend, counts = ScriptedBackend(), []
        judge = Judge(backend, "mine", **how)
        for _ in range(14):
            backend.asked.clear()
            assert judge.judge(tile()).verdict is Verdict.PASS
            counts.append(backend.asked.count("execute"))
        assert counts == expected


def test_the_time_of_a_decision_is_that_spent_in_the_backend() -> None:
    """In seconds, to the microsecond, for a valid and for an invalid descriptor; none where it was not asked."""
    for case in (tile(), invalid(), tile(data=False)):
        record = verdict(ReferenceBackend(), case)
        assert record.verdict is Verdict.PASS
        assert 0 < record.seconds < 60
        assert record.seconds == round(record.seconds, 6)
    lost = raising(ProcessLost("gone", LossCause.SIGNAL))
    assert verdict(ScriptedBackend(validate=lost), tile()).seconds == 0


def test_an_exception_is_told_whole_up_to_500_characters() -> None:
    whole, cut = (exception_text(ValueError("x" * (count - len("ValueError: ")))) for count in (500, 501))
    assert (len(whole), whole[-1]) == (500, "x")
    assert (len(cut), cut[-4:]) == (500, "x...")


def test_a_case_that_is_too_large_is_the_harness_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is decided on, and no pass. What alignment may cost counts."""
    aligned = tile(msgspec.structs.replace(TWICE, output_tensor=TensorDesc.of(DataType.FLOAT32, (4,), alignment=4096)))
    for case, needed in ((tile(), 24), (aligned, 24 + 4096)):
        monkeypatch.setattr(judge_module, "MAX_BYTES", needed - 1)
        backend = ScriptedBackend()
        record = verdict(backend, case)
        assert (record.verdict, record.answered, backend.asked) == (Verdict.ERROR, "accept", ["validate"])
        assert record.reason == f"the tensors need {needed} bytes, the harness executes cases of up to {needed - 1}"
        monkeypatch.setattr(judge_module, "MAX_BYTES", needed)
        assert verdict(backend, case).verdict is Verdict.PASS


# --- very large cases -------------------------------------------------------------------------------------------------

ADDRESSED = 2**24  # elements, from which on an address of so many bits begins again


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> Case:
    """A case whose output ends a little behind that place, and of which a sample is looked at."""
    monkeypatch.setattr(judge_module, "SAMPLED", 2**20)
    source = TensorDesc.of(DataType.UINT8, (1, 4099))
    desc = TileDesc(source, TensorDesc.of(DataType.UINT8, (4099, 4099)), (4099, 1))
    return Case.of(desc, LEVEL, {"input_tensor": Recipe("random-bits", 7)}, rule="TILE.values")


def changing(change: Callable[[Any], None]) -> ScriptedBackend:
    return ScriptedBackend(after=lambda desc, inputs, outputs: change(outputs["output_tensor"].view))


def test_of_a_very_large_output_a_sample_is_looked_at(sampled: Case) -> None:
    record = verdict(ReferenceBackend(), sampled)
    assert (record.verdict, record.rule, record.output) == (Verdict.PASS, "TILE.values", "")


def unwritten(output: Any) -> None:
    output[:] = 255 - output  # as wrong as what it held


def beginning_again(output: Any) -> None:
    output[ADDRESSED:] = output[: len(output) - ADDRESSED]


def one_too_late(output: Any) -> None:
    output[ADDRESSED] ^= 1


def missing_end(output: Any) -> None:
    output[: 4099 * 4099][-1] ^= 1


@pytest.mark.parametrize("change", [unwritten, beginning_again, one_too_late, missing_end])
def test_a_sample_has_the_ends_and_where_addresses_end(change: Callable[[Any], None], sampled: Case) -> None:
    record = verdict(changing(change), sampled)
    assert (record.verdict, record.rule) == (Verdict.FAIL, "TILE.values")
    assert all(each.coordinates < (4099, 4099) for each in record.differences)


def test_a_sample_has_places_that_nobody_can_foretell(sampled: Case) -> None:
    def wrong_rows(output: Any) -> None:
        output[4_099_000:12_297_000] ^= 255

    found = [verdict(changing(wrong_rows), sampled) for _ in range(2)]
    assert [each.verdict for each in found] == [Verdict.FAIL] * 2
    assert found[0].differences != found[1].differences


FAR_ROW = 2**27  # elements from one row to the next


def apart(key: str) -> Case:
    """Two rows, which lie far from each other in the input or the output."""
    strides = (FAR_ROW, 1)
    source = TensorDesc.of(DataType.UINT8, (2, 3), strides if key == "input_tensor" else None)
    target = TensorDesc.of(DataType.UINT8, (2, 6), strides if key == "output_tensor" else None)
    return Case.of(
        TileDesc(source, target, (1, 2)), LEVEL, {"input_tensor": Recipe("random-bits", 7)}, rule="TILE.values"
    )


@pytest.mark.parametrize("key", ["input_tensor", "output_tensor"])
def test_of_elements_far_apart_the_gap_costs_nothing(key: str) -> None:
    pending = Judge(ReferenceBackend(), "mine").decide(apart(key))
    assert isinstance(pending, Pending)
    assert pending.needed < 32
    assert verdict(ReferenceBackend(), apart(key)).verdict is Verdict.PASS


def test_poison_is_near_elements_and_ends() -> None:
    case = apart("output_tensor")
    block = case_memory(case, Placement())
    read = {key: each.binding for key, each in block.put_inputs(materialize(case)).items()}
    resource, start, _ = block.poison(outputs(case.desc)[0], expected_output(case.desc, read)["output_tensor"]).binding
    assert not resource[start + NEAR + 6 : start + FAR_ROW - NEAR].any()
    assert all(resource[place : place + NEAR].any() for place in (start, start + FAR_ROW - NEAR, start + FAR_ROW))


@pytest.mark.parametrize("place", [0, 5, FAR_ROW, FAR_ROW + 5])
def test_what_is_not_written_behind_a_gap_is_found(place: int) -> None:
    def change(desc: Any, inputs: Any, outputs: Any) -> None:
        outputs["output_tensor"].view[place] ^= 1

    record = verdict(ScriptedBackend(after=change), apart("output_tensor"))
    assert (record.verdict, record.rule, record.difference_count) == (Verdict.FAIL, "TILE.values", 1)


@pytest.mark.parametrize("place", [0, 2, 3 + 100, FAR_ROW - 100, FAR_ROW, FAR_ROW + 2])
def test_an_input_that_is_written_to_beside_a_gap_is_told(place: int) -> None:
    def flip(desc: Any, inputs: Any, outputs: Any) -> None:
        inputs["input_tensor"].view[place] ^= 1

    record = verdict(ScriptedBackend(after=flip), apart("input_tensor"))
    assert (record.verdict, record.rule) == (Verdict.FAIL, "EXECUTION.inputs-unchanged")


def test_of_too_many_elements_a_sample_is_looked_at_where_they_share_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = Judge(ReferenceBackend(), "mine").decide(apart("output_tensor"))  # of 12 elements
    assert isinstance(pending, Pending)
    assert not pending.is_sampled
    monkeypatch.setattr(judge_module, "SAMPLED", 11)
    monkeypatch.setattr(judge_module, "LARGE_BYTES", 10)
    assert pending._replace(needed=11).is_sampled
    assert not pending._replace(needed=10).is_sampled


@pytest.mark.parametrize("size", ["LARGE_BYTES", "BLOCK_BYTES"])
def test_a_large_input_that_is_written_to_is_told(sampled: Case, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    """Of a very large one no copy is kept, and others are compared by blocks; memory beside it counts."""
    monkeypatch.setattr(memory_module, size, 2**10)
    monkeypatch.setattr(poison_module, "MOST_AT_ONCE", 2**10)

    def flip(desc: Any, inputs: Any, outputs: Any) -> None:
        inputs["input_tensor"].view[3000] ^= 1

    record = verdict(ScriptedBackend(after=flip), sampled)
    assert (record.verdict, record.rule) == (Verdict.FAIL, "EXECUTION.inputs-unchanged")
    assert verdict(ReferenceBackend(), sampled).verdict is Verdict.PASS
