"""Outputs that are bound to an input's memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from dml_conformance.backends.base import Bindings
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.reference.layout import bits
from dml_conformance.conformance.exchange.dxdispatch.exporting import NotExpressible, export
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Phase, Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import execution_rules, numbered_case
from dml_conformance.strategies.values import in_place_input

RULE = "EXECUTION.in-place"
LEVEL = Level.L6_4


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
    judged = BatchJudge(Judge(Clearing(), "clearing")).records(islice(others, 30), Phase.BOUNDARIES)
    assert {record.verdict for record in judged} == {Verdict.PASS}


@pytest.mark.parametrize("isolated", [False, True])
def test_a_right_backend_passes_each_time(isolated: bool) -> None:
    backend = IsolatedBackend("reference", Limits()) if isolated else ReferenceBackend()
    judge = Judge(backend, "reference", repeat=3)
    for case in (case for name in ("ELEMENT_WISE_NEGATE", "ELEMENT_WISE_EXP") for case in cases(name)):
        assert judge.record(case, Phase.BOUNDARIES).verdict is Verdict.PASS
    if isinstance(backend, IsolatedBackend):
        backend.close()


def test_every_operator_whose_page_allows_it_has_cases() -> None:
    allowed = {name for name, spec in operators().items() if spec.facts.in_place}
    assert {name for name in operators() if RULE in execution_rules(name, LEVEL)} == allowed
    assert all(in_place_input(case) for name in sorted(allowed)[::7] for case in cases(name))


def test_a_sweep_has_some_and_keeps_them_alike() -> None:
    swept = [numbered_case(0, "ELEMENT_WISE_BIT_OR", LEVEL, number) for number in range(400)]
    found = [case for case in swept if case.rule == RULE]
    assert len(found) > 10
    judge = Judge(ReferenceBackend(), "reference")
    assert {judge.record(case, Phase.SWEEP).verdict for case in found} == {Verdict.PASS}


def change(case: Case, edit: Callable[[dict[str, object]], object]) -> Case:
    content = case.to_json()
    edit(content["desc"])
    return Case.from_json(content)


def test_tensors_that_lie_otherwise_are_no_case() -> None:
    case = next(case for case in cases("ELEMENT_WISE_NEGATE") if max(case.desc.input_tensor.sizes) > 1)
    rank = len(case.desc.input_tensor.sizes)

    def other(desc: dict[str, object]) -> None:
        desc["InputTensor"] = {**desc["InputTensor"], "Strides": [0] * rank}  # type: ignore[dict-item]

    record = Judge(ReferenceBackend(), "reference").record(change(case, other), Phase.SEARCH)
    assert record.verdict is Verdict.ERROR
    assert "in_place" in record.reason


def test_an_operator_that_does_not_work_in_place_has_no_such_case() -> None:
    case = next(case for case in boundary_cases("ELEMENT_WISE_IS_NAN", LEVEL) if case.data)
    placed = Case.of(case.desc, LEVEL, {"input_tensor": Recipe("ramp", in_place=True)}, rule=case.rule)
    record = Judge(ReferenceBackend(), "reference").record(placed, Phase.SEARCH)
    assert record.verdict is Verdict.ERROR
    assert "does not work in place" in record.reason


def test_the_form_of_others_has_no_place_for_it() -> None:
    with pytest.raises(NotExpressible, match="input's memory"):
        export(cases("ELEMENT_WISE_NEGATE")[0])


def test_json_keeps_it() -> None:
    case = cases("ELEMENT_WISE_NEGATE")[0]
    assert Case.from_json(case.to_json()).data == case.data
    assert case.to_json()["data"]["InputTensor"]["in_place"] is True
