"""What is said of a failure that needs tensors to be bound in some way, be it an output to an input's memory."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from five_operators import TileDesc
from msgspec import convert, json
from msgspec.structs import replace
from strength.mutants import MUTANTS
from strength.mutants.bindings import WAYS

from dml_conformance.backends.base import Binding, Bindings
from dml_conformance.backends.processes.backend import opened
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.reference.layout import bits
from dml_conformance.conformance.campaign.plan import OperatorPlan
from dml_conformance.conformance.exchange.dxdispatch.exporting import NotExpressible, export
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.explain import explain
from dml_conformance.conformance.judge.judge import Judge, reproduce_line
from dml_conformance.conformance.judge.placement import PLAIN, UNALIGNED, needed_placement
from dml_conformance.conformance.judge.search import search
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.case import Case, Order, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import BINDING
from dml_conformance.strategies.boundaries import PLACEMENTS, boundary_cases
from dml_conformance.strategies.cases import execution_rules, numbered_case
from dml_conformance.strategies.values import in_place_input

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


def test_what_is_drawn_from_a_digest_stays_the_same() -> None:
    """Results files have what was drawn, and are read as if it were drawn anew. SHA-256 over some hundreds."""
    drawn = [Placement.drawn(sha256(bytes([number])).hexdigest()) for number in range(256)]
    found = sha256(json.encode(drawn)).hexdigest()
    assert found == "11fe45dd85bb4a830299508f32ba605d73d07102b3014073c70dc96abb180512"


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
    """And leaves out of it what it does not need; of two that are needed both are told."""
    placement, words = WORDS[way]
    record = record_of(mutant(way), placement)
    assert (record.verdict, record.rule) == (Verdict.FAIL, BINDING)
    assert record.reason == f"OutputTensor: 8 of 8 elements differ, only {words}"
    assert f"  bound: {placement.words}\n" in explain(record)
    assert Case.from_json(record.case_json).placement == placement
    if way == "InOneResource":
        record = record_of(mutant("InOneResource", "BoundWithMore"), EVERYTHING)
        assert record.reason.endswith("only where tensors share a resource and where more is bound than is needed")


def wrong_where(is_wrong: Callable[[Binding], bool]) -> ReferenceBackend:
    class Wrong(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            super().execute(desc, level, inputs, outputs)
            if is_wrong(outputs["output_tensor"]):
                outputs["output_tensor"].view[0] ^= 1

    return Wrong()


def test_what_fails_anywhere_or_now_and_then_is_no_fault_of_binding() -> None:
    """If it fails once, it passes bound otherwise, and so it does as it was."""
    left = [True]
    for is_wrong in (lambda output: True, lambda output: bool(left) and left.pop()):
        record = record_of(wrong_where(is_wrong), EVERYTHING)
        assert (record.rule, record.reason) == ("TILE.values", "OutputTensor: 1 of 8 elements differ")
    record = record_of(wrong_where(lambda output: output.view.ctypes.data % 64 != 0), UNALIGNED)
    assert record.reason.endswith("only where tensors are aligned to 16 bytes and no more")


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


@pytest.mark.parametrize("placement", [None, PLAIN, *PLACEMENTS])
@pytest.mark.parametrize("timed", [False, True])
def test_a_record_s_case_is_the_case(placement: Placement | None, timed: bool) -> None:
    """Whatever it says of its placement, a record has the digest and the line of the case that it was made of."""
    case = replace(tile(placement), timed=timed)
    record = Judge(wrong_where(lambda output: True), "mine").record(case, Phase.SWEEP)
    again = Case.from_json(record.case_json)
    assert record.case == case.digest == again.digest
    assert record.reproduce == reproduce_line(again, "mine")
    assert convert(record.case_json["placement"], Placement) == placement or Placement.drawn(case.digest)
    assert (again == case) or placement is not None, "what is drawn goes unsaid"
    assert len({case.digest, replace(case, placement=EVERYTHING).digest, replace(case, timed=not timed).digest}) == 3


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


# --- outputs that are bound to an input's memory ----------------------------------------------------------------------


RULE = "EXECUTION.in-place"


def cases(operator: str) -> list[Case]:
    return [case for case in boundary_cases(operator, LEVEL) if case.rule == RULE]


class Clearing(ReferenceBackend):
    """Clears the output before it reads the input."""

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        bits(outputs["output_tensor"], desc.output_tensor)[...] = 0
        super().execute(desc, level, inputs, outputs)


@pytest.mark.parametrize("operator", ["ELEMENT_WISE_NEGATE", "ELEMENT_WISE_BIT_XOR", "ELEMENT_WISE_BIT_COUNT"])
def test_what_shows_in_place_alone_is_found(operator: str) -> None:
    found = {case.rule: Judge(Clearing(), "clearing").record(case, Phase.BOUNDARIES) for case in cases(operator)}
    assert found[RULE].verdict is Verdict.FAIL
    assert found[RULE].rule == RULE
    others = [case for case in boundary_cases(operator, LEVEL) if case.data and not in_place_input(case)]
    judged = list(BatchJudge(Judge(Clearing(), "clearing")).records(others, Phase.BOUNDARIES))
    assert {record.verdict for record in judged} == {Verdict.PASS, Verdict.FAIL}
    assert {record.rule for record in judged if record.verdict is Verdict.FAIL} == {RULE}
    failed = next(record for record in judged if record.verdict is Verdict.FAIL)
    assert "OutputTensor is bound to the memory of" in failed.reason
    again = Case.from_json(failed.case_json)
    assert Judge(Clearing(), "clearing").record(again, Phase.BOUNDARIES).reason == failed.reason


@pytest.mark.parametrize("operator", ["ELEMENT_WISE_CLIP", "ELEMENT_WISE_ATANH"])
def test_an_input_that_is_lost_shows_where_cases_in_place_hide_it(operator: str) -> None:
    """What is computed of the few that are about it decides nothing: all is clipped, or not a number."""
    plan = OperatorPlan.of(operator, list(Level), list(Level))
    executed = (case for case in plan.boundaries(Level.L3_1, 0) if case.data is not None)
    assert any(Judge(Clearing(), "clearing").record(case, Phase.BOUNDARIES).rule == RULE for case in executed)


def test_every_operator_whose_page_allows_it_has_cases() -> None:
    allowed = {name for name, spec in operators().items() if spec.facts.in_place}
    assert {name for name in operators() if RULE in execution_rules(name, LEVEL)} == allowed
    assert all(in_place_input(case) for name in sorted(allowed)[::7] for case in cases(name))


@pytest.mark.parametrize("isolated", [False, True])
def test_a_right_backend_passes_each_time(isolated: bool) -> None:
    """Also those that a sweep has."""
    swept = [numbered_case(0, "ELEMENT_WISE_BIT_OR", LEVEL, number) for number in range(400)]
    found = [case for case in swept if case.rule == RULE]
    assert len(found) > 10
    with opened("reference", Limits() if isolated else None) as backend:
        judge = Judge(backend, "reference", repeat=3)
        for case in (*found, *cases("ELEMENT_WISE_NEGATE"), *cases("ELEMENT_WISE_EXP")):
            assert judge.record(case, Phase.BOUNDARIES).verdict is Verdict.PASS


def test_what_cannot_be_in_place_is_no_such_case() -> None:
    """Tensors that lie otherwise, and an operator that does not work so. The form of others has no place for any."""
    case = next(case for case in cases("ELEMENT_WISE_NEGATE") if max(case.desc.input_tensor.sizes) > 1)
    content: Any = case.to_json()
    assert content["data"]["InputTensor"]["in_place"] is True
    content["desc"]["InputTensor"]["Strides"] = [0] * len(case.desc.input_tensor.sizes)
    other = next(case for case in boundary_cases("ELEMENT_WISE_IS_NAN", LEVEL) if case.data)
    placed = Case.of(other.desc, LEVEL, {"input_tensor": Recipe("ramp", in_place=True)}, rule=other.rule)
    for wrong, told in ((Case.from_json(content), "in_place"), (placed, "does not work in place")):
        record = Judge(ReferenceBackend(), "reference").record(wrong, Phase.SEARCH)
        assert record.verdict is Verdict.ERROR
        assert told in record.reason
    with pytest.raises(NotExpressible, match="input's memory"):
        export(case)
