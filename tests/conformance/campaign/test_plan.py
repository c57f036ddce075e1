"""Where an operator is executed in a campaign, and what is left of its cases elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from judged_tasks import records_left
from scripted_backend import ScriptedBackend

from dml_conformance.backends.base import Answer
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import MIB, Budget
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.campaign.plan import DECIDED_OF, EXECUTED_OF, OperatorPlan
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules

LEVELS = tuple(Level)
BETWEEN, EPOCH = Level.L5_1, Level.L2_1  # of TILE


@cache
def boundaries(operator: str, level: Level = BETWEEN) -> tuple[Case, ...]:
    return tuple(boundary_cases(operator, level))


# --- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", operators())
def test_one_level_of_each_epoch_is_executed_and_each_rule_searched_for_once(operator: str) -> None:
    spec, plan = operators()[operator], OperatorPlan.of(operator, LEVELS, LEVELS)
    for level, epoch, following in zip(plan.executed, spec.epochs, (*spec.epochs[1:], None), strict=True):
        assert level == max(each for each in Level if epoch <= each and (following is None or each < following))
    assert sorted((*plan.complete, *plan.sampled)) == list(LEVELS)
    wanted = {rule for level in LEVELS for rule in applicable_rules(operator, level)}
    assert Counter(rule for _, rule in plan.searches()) == dict.fromkeys(wanted, 1)
    assert {level for level, _ in plan.searches()} <= set(plan.complete)


@pytest.mark.parametrize(
    ("asked", "claimed", "complete", "executed"),
    [
        (("2_1", "3_0", "5_0", "6_2"), LEVELS, ("2_1", "3_0", "6_2"), ("2_1", "3_0", "6_2")),
        (("5_0", "6_4"), (Level.L5_0,), ("5_0",), ("5_0",)),
        (("5_0", "6_4"), (Level.L1_0,), ("6_4",), ("6_4",)),
        (("2_1",), LEVELS, ("2_1",), ("2_1",)),
        (("1_0", "2_0", "6_4"), LEVELS, ("2_0", "6_4"), ("6_4",)),
    ],
    ids=["asked for", "claimed", "not claimed", "alone", "before the first"],
)
def test_the_newest_claimed_level_stands_for_its_epoch(
    asked: tuple[str, ...], claimed: tuple[Level, ...], complete: tuple[str, ...], executed: tuple[str, ...]
) -> None:
    plan = OperatorPlan.of("GATHER_ND", [Level.parse(label) for label in asked], claimed)
    assert tuple(level.label for level in plan.complete) == complete
    assert tuple(level.label for level in plan.executed) == executed


def test_every_level_can_be_asked_for() -> None:
    plan = OperatorPlan.of("TILE", LEVELS, LEVELS, every_level=True)
    assert plan.complete == plan.executed == LEVELS
    assert set(plan.searches()) == {(level, rule) for level in LEVELS for rule in applicable_rules("TILE", level)}
    assert len({plan.share(level) for level in LEVELS}) == 1


# --- samples ----------------------------------------------------------------------------------------------------------


def sampled(operator: str, seed: int, level: Level = BETWEEN) -> list[Case]:
    plan = OperatorPlan.of(operator, LEVELS, LEVELS)
    assert level is not plan.newest
    return list(plan.sample(boundaries(operator, level), level, seed))


def traits(cases: Iterable[Case]) -> set[object]:
    """Rules that are broken; data types and dimension counts that are valid."""
    valid = [slot for case in cases if case.outcome is Outcome.ACCEPT for slot in slots(case.desc)]
    return (
        {(case.rule, case.outcome) for case in cases if case.outcome is not Outcome.ACCEPT}
        | {(slot.key, slot.tensor.data_type) for slot in valid}
        | {(slot.key, len(slot.tensor.sizes)) for slot in valid}
    )


def executed(cases: Iterable[Case]) -> list[Case]:
    return [case for case in cases if case.data is not None]


@pytest.mark.parametrize("operator", ["TILE", "GATHER_ND"])
def test_a_sample_has_every_rule_type_and_dimension_count(operator: str) -> None:
    sample = sampled(operator, 0)
    assert traits(sample) == traits(boundaries(operator))
    assert len(sample) < len(boundaries(operator)) / 4
    decided = [case.desc for case in sample if case.data is None]
    assert len(set(decided)) == len(decided)
    assert 0 < len(executed(sample)) < len(sample) / 4


@pytest.mark.parametrize("operator", ["TILE", "GEMM"])
def test_an_epoch_before_the_newest_is_decided_and_a_sample_executed(operator: str) -> None:
    level = OperatorPlan.of(operator, LEVELS, LEVELS).executed[-2]
    every, sample = boundaries(operator, level), sampled(operator, 0, level)
    assert {case.desc for case in sample} == {case.desc for case in every}
    assert traits(executed(sample)) == traits(executed(every))
    assert len(executed(sample)) < len(executed(every)) / 3


@pytest.mark.parametrize(("level", "seeds"), [(BETWEEN, DECIDED_OF * EXECUTED_OF), (EPOCH, EXECUTED_OF)])
def test_over_the_seeds_every_case_is_executed(level: Level, seeds: int) -> None:
    found = {(case.desc, str(case.data)) for seed in range(seeds) for case in executed(sampled("TILE", seed, level))}
    assert found == {(case.desc, str(case.data)) for case in executed(boundaries("TILE", level))}


def test_what_an_activation_between_changes_is_decided_there() -> None:
    """GEMM fuses SOFTMAX from 6_1 on, at which no epoch of it begins."""
    plan = OperatorPlan.of("GEMM", LEVELS, LEVELS)
    found = [case for level in plan.sampled for seed in range(DECIDED_OF) for case in plan.boundaries(level, seed)]
    assert {(case.level, case.outcome, case.broken) for case in found} == {
        (case.level, decision.outcome, decision.rules) for case in found for decision in [decide(case.desc, case.level)]
    }
    refused = [case for case in found if case.rule == "GEMM.fused-activation" and case.level < Level.L6_1]
    assert any(case.desc.fused_activation.operator == "ACTIVATION_SOFTMAX" for case in refused)
    assert all(case.data is None for case in refused)


def test_samples_take_turns_from_level_to_level() -> None:
    def numbers(level: Level) -> set[int]:
        chosen = {case.desc for case in sampled("TILE", 0, level) if case.data is not None}
        return {n for n, case in enumerate(boundaries("TILE", level)) if case.desc in chosen}

    assert not numbers(Level.L5_0) & numbers(Level.L5_1)


# --- a backend that errs between two epochs ---------------------------------------------------------------------------

BUDGET = Budget("", search=1, sweep=0, large_bytes=MIB, large_device_bytes=MIB, repeats=1)


def failed(backend: ReferenceBackend, seed: int = 0) -> set[tuple[str, str]]:
    """Phase and level of what failed."""
    engine = Engine(Judge(backend, "mine"), ("TILE",), (EPOCH, Level.L5_0, BETWEEN, Level.L6_4), BUDGET, seed)
    return {(r.phase, r.level) for r in records_left(engine) if r.verdict in NOT_CONFORMANT}


def test_a_wrong_decision_at_one_level_is_found_there() -> None:
    def refusing(desc: Any, level: Level) -> Answer:
        is_wrong = level is BETWEEN and desc.input_tensor is not None and len(desc.input_tensor.sizes) == 7
        return Answer(False, "no") if is_wrong else ReferenceBackend().validate(desc, level)

    # And what is known to be broken is searched for where it broke.
    found = failed(ScriptedBackend(validate=refusing))
    assert found == {(Phase.BOUNDARIES, BETWEEN.label), (Phase.SEARCH, BETWEEN.label)}


@pytest.mark.parametrize(("wrong", "data_type"), [(BETWEEN, None), (EPOCH, DataType.FLOAT16)])
def test_a_wrong_value_at_one_level_is_found_there(wrong: Level, data_type: DataType | None) -> None:
    class WrongThere(ReferenceBackend):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            super().execute(desc, level, inputs, outputs)
            if level is wrong and data_type in (None, desc.input_tensor.data_type):
                outputs["output_tensor"].view[:1] ^= 1

    assert (Phase.BOUNDARIES, wrong.label) in failed(WrongThere())
