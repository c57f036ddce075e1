"""The suite is tested as it tests others: every planted bug is found by the standard budget, and nothing else is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from mutants import MUTANTS, Mutant, RejectsValid, WrongDecision

from backends.base import Answer
from backends.reference import ReferenceBackend
from conformance import engine as engine_module
from conformance.budget import BUDGETS
from conformance.engine import Engine
from conformance.judge import Judge
from reports.records import NOT_CONFORMANT, Phase, Record, Verdict
from spec.case import Case
from spec.levels import Level
from spec.registry import operators, rules
from strategies.boundaries import boundary_cases
from strategies.violations import breakable_rules

LEVELS = ("2_1", "3_0", "4_1", "6_4")
SEED = 0

PLANTED = [
    pytest.param(mutant, operator, Level.parse(level), id=f"{mutant.__name__}-{operator}-{level}")
    for mutant in MUTANTS
    for operator in mutant.operators
    for level in mutant.levels
    if Level.parse(level) >= operators()[operator].introduced_in or "introduced-in" in mutant.rules
]


@cache
def _made_once(operator: str, level: Level) -> tuple[Case, ...]:
    return tuple(boundary_cases(operator, level))


@pytest.fixture(autouse=True)
def boundaries_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The boundary cases are the same in every campaign; making them is half of its time."""
    monkeypatch.setattr(engine_module, "boundary_cases", _made_once)


def campaign(mutant: type[ReferenceBackend], operator: str, level: Level) -> Iterator[Record]:
    return Engine(Judge(mutant(), mutant.__name__), [operator], [level], BUDGETS["standard"], SEED).records()


def boundaries(mutant: type[ReferenceBackend], operator: str, level: Level) -> list[Record]:
    judge = Judge(mutant(), mutant.__name__)
    return [judge.record(case, Phase.BOUNDARIES) for case in _made_once(operator, level)]


def broken_rules(records: list[Record]) -> set[str]:
    return {record.rule for record in records if record.verdict in NOT_CONFORMANT}


@pytest.mark.parametrize(("mutant", "operator", "level"), PLANTED)
def test_a_planted_bug_is_found(mutant: type[Mutant], operator: str, level: Level) -> None:
    """At a rule that names it, by each operator and each level alone; the campaign is stopped there."""
    expected = mutant.caught_at(operator)
    elsewhere: Counter[str] = Counter()
    for record in campaign(mutant, operator, level):
        if record.verdict in NOT_CONFORMANT:
            if record.rule in expected:
                return
            elsewhere[record.rule] += 1
    pytest.fail(f"not found at {', '.join(sorted(expected))}; failures elsewhere: {dict(elsewhere)}")


def test_there_are_enough_bugs() -> None:
    """Every execution rule has a bug of its own, and every bug a rule."""
    assert len(MUTANTS) >= 80
    assert len({mutant.__name__ for mutant in MUTANTS}) == len(MUTANTS)
    assert all(mutant.caught_at(operator) for mutant in MUTANTS for operator in mutant.operators)
    caught = {rule for mutant in MUTANTS for operator in mutant.operators for rule in mutant.caught_at(operator)}
    assert {rule.id for rule in rules().values() if not rule.is_descriptor_rule} <= caught


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operator", operators())
def test_an_honest_backend_has_no_failure(operator: str, level: str) -> None:
    verdicts = Counter(record.verdict for record in campaign(ReferenceBackend, operator, Level.parse(level)))
    assert set(verdicts) <= {Verdict.PASS, Verdict.OBSERVED}
    assert verdicts[Verdict.PASS] > 10 * verdicts[Verdict.OBSERVED]


# --- the right rule is blamed -----------------------------------------------------------------------------------------

OVER_ACCEPTING = [
    mutant
    for mutant in MUTANTS
    if issubclass(mutant, WrongDecision)
    and not issubclass(mutant, RejectsValid)
    and not mutant.__name__.startswith(("Validate", "AcceptsEverything"))
]


@pytest.mark.parametrize("mutant", OVER_ACCEPTING)
def test_a_wrong_acceptance_is_blamed_on_its_rule_alone(mutant: type[Mutant]) -> None:
    level = Level.parse(mutant.levels[-1])
    for operator in mutant.operators:
        assert broken_rules(boundaries(mutant, operator, level)) <= mutant.broken(operator)


def _decides(accepted: bool) -> type[ReferenceBackend]:
    class Decided(ReferenceBackend):
        def validate(self, desc: object, level: Level) -> Answer:
            return Answer(accepted)

    return Decided


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operator", operators())
def test_who_accepts_everything_breaks_every_rule(operator: str, level: str) -> None:
    """Every descriptor rule that can be broken has a boundary case that is about it."""
    at = Level.parse(level)
    settled = {rule for rule in breakable_rules(operator, at) if rules()[rule].erratum is None}
    assert broken_rules(boundaries(_decides(True), operator, at)) == settled


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operator", operators())
def test_who_rejects_everything_fails_every_valid_case_and_no_other(operator: str, level: str) -> None:
    for record in boundaries(_decides(False), operator, Level.parse(level)):
        expected = {"ACCEPT": Verdict.FAIL, "REJECT": Verdict.PASS, "UNSPECIFIED": Verdict.OBSERVED}
        assert record.verdict is expected[record.expected]
