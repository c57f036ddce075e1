"""What is said of a failure that needs tensors to be bound in some way, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from five_operators import TileDesc
from msgspec import convert
from msgspec.structs import replace
from strength.mutants import MUTANTS
from strength.mutants.bindings import WAYS

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.judge.explain import explain
from dml_conformance.conformance.judge.judge import Judge, reproduce_line
from dml_conformance.conformance.judge.placement import PLAIN, UNALIGNED, needed_placement
from dml_conformance.conformance.judge.search import search
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.case import Case, Order, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import BINDING
from dml_conformance.strategies.boundaries import PLACEMENTS, boundary_cases

LEVEL = Level.L6_4
EVERYTHING = Placement((0, 2**16 + 16, 80), Order.REVERSED, heap=True, surplus=64)
WORDS = {
    "AlignedTo64Bytes": (Placement((256,), surplus=4), "where tensors are aligned to 256 bytes"),
    "AtOffset0": (Placement((0,), heap=True), "where tensors lie at offset 0"),
    "AtLargeOffsets": (Placement((2**16 + 16,), Order.REVERSED), "where tensors lie at offset 65552"),
    "InOneResource": (EVERYTHING, "where tensors share a resource"),
    "WithTheOutputFirst": (EVERYTHING, "where the output lies before the input"),
    "BoundWithMore": (EVERYTHING, "where more is bound than is needed"),
}


def test_what_fails_at_every_offset_but_none_is_said_to_need_one() -> None:
    """As a backend does that begins to read where the resource begins."""
    said = needed_placement(UNALIGNED, lambda placement: any(placement.offsets))
    assert said == "where tensors lie behind the start of their resource"


def tile(placement: Placement | None) -> Case:
    tensor = TensorDesc.of(DataType.UINT8, (8,))
    data = {"input_tensor": Recipe("random-bits", 3)}
    return Case.of(TileDesc(tensor, tensor, (1,)), LEVEL, data, rule="TILE.values", placement=placement)


def mutant(*ways: str) -> ReferenceBackend:
    return next(each for each in MUTANTS if getattr(each, "ways", ()) == ways)()


def record_of(backend: ReferenceBackend, placement: Placement | None) -> Record:
    return Judge(backend, "mine").record(tile(placement), Phase.SWEEP)


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_that_needs_a_placement_says_so(way: str) -> None:
    """And leaves out of it what it does not need."""
    placement, words = WORDS[way]
    record = record_of(mutant(way), placement)
    assert (record.verdict, record.rule) == (Verdict.FAIL, BINDING)
    assert record.reason == f"OutputTensor: 8 of 8 elements differ, only {words}"
    assert f"  bound: {placement.words}\n" in explain(record)
    assert Case.from_json(record.case_json).placement == placement


def test_two_that_are_needed_are_both_told() -> None:
    record = record_of(mutant("InOneResource", "BoundWithMore"), EVERYTHING)
    assert record.reason.endswith("only where tensors share a resource and where more is bound than is needed")


def wrong_where(is_wrong: Callable[[Binding], bool]) -> ReferenceBackend:
    class Wrong(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            super().execute(desc, level, inputs, outputs)
            if is_wrong(outputs["output_tensor"]):
                outputs["output_tensor"].view[0] ^= 1

    return Wrong()


def test_what_fails_anywhere_is_no_fault_of_binding() -> None:
    record = record_of(wrong_where(lambda output: True), EVERYTHING)
    assert (record.rule, record.reason) == ("TILE.values", "OutputTensor: 1 of 8 elements differ")


def test_what_is_aligned_to_no_more_than_16_bytes_is_told_so() -> None:
    record = record_of(wrong_where(lambda output: output.view.ctypes.data % 64 != 0), UNALIGNED)
    assert record.reason.endswith("only where tensors are aligned to 16 bytes and no more")


def test_what_fails_now_and_then_is_no_fault_of_binding() -> None:
    """It fails once: bound otherwise it passes, and so it does as it was."""
    left = [True]
    record = record_of(wrong_where(lambda output: bool(left) and left.pop()), EVERYTHING)
    assert (record.verdict, record.rule) == (Verdict.FAIL, "TILE.values")


def test_a_placement_is_looked_at_a_few_times() -> None:
    for failing in (PLAIN, UNALIGNED, *PLACEMENTS, EVERYTHING):
        asked: list[Placement] = []
        words = needed_placement(failing, lambda other: bool(asked.append(other)) or other == failing)  # noqa: B023
        assert words
        assert len(asked) <= 12


@pytest.mark.parametrize("way", ["InOneResource", "AtLargeOffsets"])
def test_the_search_ends_at_the_plainest_placement(way: str) -> None:
    """The smallest case names it, and fails again as it stands."""
    judge = Judge(mutant(way), "mine")
    *_, smallest = search(judge, "TILE", LEVEL, BINDING, 60, 0)
    assert smallest.rule == BINDING
    placement = Case.from_json(smallest.case_json).placement
    assert placement == next(each for each in PLACEMENTS if record_of(mutant(way), each).verdict is Verdict.FAIL)
    assert smallest.case_json["desc"]["InputTensor"]["Sizes"] == [1]
    assert judge.record(Case.from_json(smallest.case_json), Phase.SEARCH).verdict in NOT_CONFORMANT


def test_boundaries_bind_one_case_in_every_way() -> None:
    bound = [case for case in boundary_cases("GATHER", LEVEL) if "/binding/" in case.origin]
    assert tuple(case.placement or Placement.drawn(case.digest) for case in bound) == PLACEMENTS
    assert {case.rule for case in bound} == {BINDING}
    assert len({case.digest for case in bound}) == len(bound)


def test_the_digest_has_a_placement_that_is_not_drawn() -> None:
    drawn = tile(None)
    record = record_of(ReferenceBackend(), None)
    named = Case.from_json(record.case_json)
    assert convert(record.case_json["placement"], Placement) == Placement.drawn(drawn.digest)
    assert named == drawn, "what is drawn goes unsaid"
    assert named.digest == drawn.digest == record.case
    assert replace(drawn, placement=EVERYTHING).digest != drawn.digest
    assert replace(drawn, timed=True).digest != drawn.digest


@pytest.mark.parametrize("placement", [None, PLAIN, *PLACEMENTS])
@pytest.mark.parametrize("timed", [False, True])
def test_a_record_s_case_is_the_case(placement: Placement | None, timed: bool) -> None:
    """Whatever it says of its placement, a record has the digest and the line of the case that it was made of."""
    case = replace(tile(placement), timed=timed)
    record = Judge(wrong_where(lambda output: True), "mine").record(case, Phase.SWEEP)
    again = Case.from_json(record.case_json)
    assert record.case == case.digest == again.digest
    assert record.reproduce == reproduce_line(again, "mine")


@pytest.mark.parametrize(
    ("placement", "told"),
    [
        ({"offsets": [8]}, "multiples of 16"),
        ({"offsets": []}, "multiples of 16"),
        ({"surplus": 3}, "multiple of 4"),
        ({"order": "sideways"}, "Invalid enum value 'sideways'"),
        ({"heaps": True}, "heaps"),
    ],
)
def test_a_wrong_placement_is_told(placement: dict[str, Any], told: str) -> None:
    content = {**tile(None).to_json(), "placement": placement}
    with pytest.raises(ValueError, match=told):
        Case.from_json(content)
