"""The suite is tested as it tests others: planted bugs are found, at a rule that names them, and nothing else is.

What every wrong backend comes to at every operator and level is measured by `python tests/strength`; here each is
planted once, and at a few levels everywhere, or at all of them (`--exhaustive`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest
from strength.measure import Failure, Planted, failures, planted
from strength.mutants import FAMILIES, MUTANTS, Mutant
from strength.rule_mutants import FORGETS, OVER_APPLIES, derived
from strength.streams import Prepared, SharingJudge, Streams

from dml_conformance.backends.base import Answer, takes_batches
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.judge.judge import Judgement
from dml_conformance.reports.model.records import JUDGED_PHASES, NOT_CONFORMANT, Phase, Verdict
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators, rules
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.scale import scale_cases
from dml_conformance.strategies.violations import breakable_rules

LEVELS = ("2_1", "3_0", "4_1", "6_4")
# What a short campaign finds a longer one finds, too; the cases of that are made only where it is needed.
CAMPAIGNS = BUDGETS["quick"], BUDGETS["standard"]
CHEAPEST_FIRST = Phase.EXAMPLES, Phase.BOUNDARIES, Phase.SWEEP, Phase.SEARCH


def level_of(mutant: type[Mutant], operator: str) -> Level | None:
    """The highest level at which its fault shows."""
    return next((level for level in reversed(Level) if mutant.shows_at(operator, level)), None)


PLANTED = [
    pytest.param(mutant, operator, level, id=f"{mutant.__name__}-{operator}")
    for mutant in MUTANTS
    for operator in mutant.operators()
    if (level := level_of(mutant, operator)) is not None
    and any(rules()[rule].erratum is None for rule in mutant.caught_at(operator))
]


@cache
def streams(operator: str, level: Level, decides_only: bool = False) -> Streams:
    return Streams(operator, level, is_newest=level is HIGHEST, decides_only=decides_only)


@cache
def boundaries_of(operator: str, level: Level) -> tuple[Case, ...]:
    return tuple(boundary_cases(operator, level))


def decided(backend: type[ReferenceBackend], operator: str, level: Level) -> list[tuple[Case, Verdict, str]]:
    """What the boundary cases come to, and the rule, on a backend that executes as the reference does."""
    judge = SharingJudge(backend(), decides_only=True)
    judged = [(case, judge.judged(Prepared(case))) for case in boundaries_of(operator, level)]
    return [
        (case, *((one.verdict, one.rule) if isinstance(one, Judgement) else (Verdict.PASS, ""))) for case, one in judged
    ]


def broken_rules(backend: type[ReferenceBackend], operator: str, level: Level) -> set[str]:
    return {rule for _, verdict, rule in decided(backend, operator, level) if verdict in NOT_CONFORMANT}


def all_failures(one: Planted, operator: str, level: Level) -> Iterator[Failure]:
    """What fails of the cases of a standard campaign, some of them twice.

    First come those that a fault is about: batches, or the largest tensors, before which all others would be executed.
    """
    assert one.make is not None
    at, longest = streams(operator, level, one.decides_only), CAMPAIGNS[-1]
    if takes_batches(one.make()):
        yield from failures(one, at.phase(Phase.SWEEP, longest, 0), in_batches=True)
    elif one.family == "scale" and level is HIGHEST:
        largest_first = [*scale_cases(operator, level, longest.reach)][::-1]
        yield from failures(one, [Prepared(case) for case in largest_first])
    for budget, phase in product(CAMPAIGNS, CHEAPEST_FIRST):
        stream = at.phase(phase, budget, 0)
        yield from failures(one, stream, in_batches=phase is Phase.SWEEP)


@pytest.mark.few(8, 240)
@pytest.mark.parametrize(("mutant", "operator", "level"), PLANTED)
def test_a_planted_bug_is_found(mutant: type[Mutant], operator: str, level: Level) -> None:
    """At a rule that names it, by each operator alone; the campaign is stopped there."""
    expected = mutant.caught_at(operator)
    elsewhere: Counter[str] = Counter()
    (one,) = (one for one in planted(operator, level, [mutant.family()]) if one.mutant == mutant.__name__)
    for failure in all_failures(one, operator, level):
        if failure.judged.rule in expected:
            return
        elsewhere.update([failure.judged.rule])
    pytest.fail(f"not found at {', '.join(sorted(expected))}; failures elsewhere: {dict(elsewhere)}")


def test_there_are_enough_bugs() -> None:
    """Every family and execution rule has bugs of its own, and every bug an operator and a rule."""
    assert len(MUTANTS) >= 100
    assert len({mutant.__name__ for mutant in MUTANTS}) == len(MUTANTS)
    assert {mutant.family() for mutant in MUTANTS} == set(FAMILIES)
    assert {param.values[0] for param in PLANTED} == set(MUTANTS)
    caught = {rule for mutant in MUTANTS for operator in mutant.operators() for rule in mutant.caught_at(operator)}
    assert {rule.id for rule in rules().values() if not rule.is_descriptor_rule} <= caught


@pytest.mark.few(1, 60)
@pytest.mark.parametrize("operator", operators())
def test_an_honest_backend_has_no_failure(operator: str) -> None:
    """Only cases about a rule that is left open are not judged, and of one rule they are few."""
    for level in map(Level.parse, LEVELS):
        at, judge = streams(operator, level), SharingJudge(ReferenceBackend())
        judged = [
            (prepared.case.rule, judge.judged(prepared))
            for phase in JUDGED_PHASES
            for prepared in at.phase(phase, CAMPAIGNS[0], 0)
        ]
        verdicts = [(rule, found.verdict) for rule, found in judged if isinstance(found, Judgement)]
        assert len(verdicts) == len(judged)
        assert {verdict for _, verdict in verdicts} <= {Verdict.PASS, Verdict.OBSERVED}
        observed = Counter(rule for rule, verdict in verdicts if verdict is Verdict.OBSERVED)
        assert all(rules()[rule].erratum is not None for rule in observed)
        assert len(judged) - observed.total() > 10 * max(observed.values(), default=0)


def _decides(accepted: bool) -> type[ReferenceBackend]:
    class Decided(ReferenceBackend):
        def validate(self, desc: object, level: Level) -> Answer:
            return Answer(accepted)

    return Decided


@pytest.mark.few(4, 40)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operator", operators())
def test_who_accepts_everything_breaks_every_rule(operator: str, level: str) -> None:
    """Every descriptor rule that can be broken has a boundary case that is about it."""
    at = Level.parse(level)
    settled = {rule for rule in breakable_rules(operator, at) if rules()[rule].erratum is None}
    assert broken_rules(_decides(True), operator, at) == settled


@pytest.mark.few(4, 40)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operator", operators())
def test_who_rejects_everything_fails_every_valid_case_and_no_other(operator: str, level: str) -> None:
    for case, verdict, _ in decided(_decides(False), operator, Level.parse(level)):
        expected = {"ACCEPT": Verdict.FAIL, "REJECT": Verdict.PASS, "UNSPECIFIED": Verdict.OBSERVED}
        assert verdict is expected[case.outcome]


def kinds(operator: str, level: Level) -> Iterator[tuple[str, str]]:
    return ((one.kind, one.rule) for one in derived(operator, level))


@pytest.mark.few(1, 60)
@pytest.mark.parametrize("operator", operators())
def test_every_rule_is_forgotten_and_over_applied(operator: str) -> None:
    """Every rule that applies has both, made or left out for a reason; so a new operator has its own."""
    for level in (operators()[operator].introduced_in, HIGHEST):
        applying = {rule.id for rule in operators()[operator].rules if rule.applies_at(level)}
        found = set(kinds(operator, level))
        assert {(kind, rule) for kind in (FORGETS, OVER_APPLIES) for rule in applying} <= found
