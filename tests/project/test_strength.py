"""Measuring the suite: the streams are those of a campaign, what is derived is wrong, and what is left out is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from judged_tasks import records_left
from places import ROOT
from strength import __main__ as command
from strength import measure as measure_module
from strength import score as score_module
from strength.__main__ import strength
from strength.coverage import Coverage, gaps
from strength.measure import BY_RULE, EVERY_FAMILY, Kill, Outcome, Plan, Planted, measure, measure_at, planted
from strength.mutants import MUTANTS
from strength.mutants.memory import LastElementUnwritten
from strength.mutants.shapes import RepeatsElements
from strength.rule_mutants import (
    NO_STEP,
    NOT_ALONE,
    OPEN,
    OVER_APPLIES,
    OVERLOOKS,
    Forgets,
    Loosens,
    OverApplies,
    derived,
    overdone,
    witnesses,
)
from strength.score import PROMISED, Record, Score, behaviour_digest
from strength.steps import steps, tensor_at_fault
from strength.streams import Streams

from dml_conformance.backends.base import Backend
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance import strength as totals_module
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.strength import Totals, recorded_totals, strength_of
from dml_conformance.reports.model.records import JUDGED_PHASES, NOT_CONFORMANT, Phase, Strength
from dml_conformance.reports.model.release import suite_version
from dml_conformance.spec.levels import HIGHEST, LOWEST, Level
from dml_conformance.spec.registry import operators, rules, rules_of
from dml_conformance.spec.validator import Outcome as Decided
from dml_conformance.spec.validator import decide
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.violations import breakable_rules, violate

# Operators by what tells their descriptors apart: indices, batches, attributes of an array, arrays of tensors, two
# outputs, no inputs, an optional input.
REPRESENTATIVES = ("GATHER", "GATHER_ND1", "TILE", "SPLIT", "TOP_K", "FILL_VALUE_CONSTANT", "DIAGONAL_MATRIX1")
# Those whose outputs may have every type, dimension count and layout with any other.
COVERED = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1", "TILE", "CAST", "SLICE1", "PADDING")
QUICK = BUDGETS["quick"]
SMALL = Plan(("TILE",), (HIGHEST,), ("axes", "memory", "state"), ("quick",), (0, 1))


@pytest.fixture(scope="module")
def small() -> Score:
    return Score.of(SMALL, measure_at(SMALL, ("TILE", HIGHEST)))


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 3])
def test_the_streams_are_the_cases_of_a_campaign(seed: int) -> None:
    """Of an honest backend, case by case and in the same order, search included."""
    level = Level.parse("3_0")
    engine = Engine(Judge(ReferenceBackend(), "reference"), ["TILE"], [level], QUICK, seed)
    streams = Streams("TILE", level)
    found = [(phase, p.case.digest) for phase in JUDGED_PHASES for p in streams.phase(phase, QUICK, seed)]
    assert found == [(record.phase, record.case) for record in records_left(engine)]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "family", "make"),
    [
        ("LastElementUnwritten", "memory", LastElementUnwritten),
        ("forgets TILE.repeats", BY_RULE, lambda: Forgets("TILE.repeats")),
    ],
)
def test_a_campaign_needs_as_many_cases(name: str, family: str, make: Callable[[], Backend]) -> None:
    """The number that is measured is that of the first failing record of a campaign."""
    engine = Engine(Judge(make(), "mutant"), ["TILE"], [HIGHEST], QUICK, 0)
    failing = next(n for n, record in enumerate(records_left(engine), 1) if record.verdict in NOT_CONFORMANT)
    plan = Plan(("TILE",), (HIGHEST,), (family,), ("quick",), with_witnesses=False)
    (outcome,) = (o for o in measure_at(plan, ("TILE", HIGHEST)) if o.mutant == name)
    assert [kill and kill.number for kill in outcome.kills["quick"]] == [failing]


def test_what_is_planted_follows_from_the_fields_and_levels() -> None:
    names = {one.mutant for one in planted("TILE", HIGHEST)}
    assert "RepeatsReversed" in names
    assert "AxisOffByOne" not in names
    assert "AcceptsLaterOperators" not in names
    assert "AcceptsLaterOperators" in {one.mutant for one in planted("GATHER_ND1", LOWEST)}
    assert {one.family for one in planted("TILE", HIGHEST, ["bits"])} == {"bits"}


def test_workers_give_the_same() -> None:
    """In the order in which they come to their ends."""
    plan = Plan(("TILE",), (LOWEST, HIGHEST), ("axes", "crashes"), ("quick",), (0,))
    one, two = ({rows[0].level: rows for rows in measure(plan, workers=count)} for count in (1, 2))
    assert len(one) == 2
    assert one == two


def test_a_slip_in_a_wrong_backend_is_no_fault_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slips(ReferenceBackend):
        def execute(self, *_: object) -> None:
            raise NameError("name 'layuot' is not defined")

    slips = Planted("Slips", "memory", "", Slips, decides_only=False)
    monkeypatch.setattr(measure_module, "planted", lambda *_: [slips])
    with pytest.raises(AssertionError, match=r"Slips does not show its fault: execute raised NameError: name 'layuot'"):
        measure_at(SMALL, ("TILE", HIGHEST))


# --- what is derived --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", REPRESENTATIVES)
def test_a_forgotten_rule_is_forgotten_and_no_other(operator: str) -> None:
    for rule in breakable_rules(operator, HIGHEST):
        if rules()[rule].erratum is not None:
            continue
        forgets, loosens = Forgets(rule), Loosens(rule)
        for other in breakable_rules(operator, HIGHEST):
            desc = violate(SeededChooser(other), operator, HIGHEST, other)
            if rules()[other].erratum is None:
                assert forgets.validate(desc, HIGHEST).accepted is (other == rule)
                assert not loosens.validate(desc, HIGHEST).accepted or other == rule


def test_a_tensor_is_overlooked_in_a_rule_and_no_other() -> None:
    """Of a rule of each tensor, and of one that compares them; to overlook the only tensor is to forget the rule."""
    found = {one.name: one for one in derived("GEMM", HIGHEST) if one.kind == OVERLOOKS}
    for name in ("TENSOR.flags in CTensor", "GEMM.data-types in CTensor", "GEMM.same-data-type in CTensor"):
        one = found[f"{OVERLOOKS} {name}"]
        assert one.make is not None
        backend = one.make()
        accepted = Counter(
            tensor_at_fault(case.desc, decide(case.desc, HIGHEST))
            for case in boundary_cases("GEMM", HIGHEST)
            if case.broken == (one.rule,) and backend.validate(case.desc, HIGHEST).accepted
        )
        assert accepted.keys() == {"CTensor"}, name
        others = [case for case in boundary_cases("GEMM", HIGHEST) if case.broken and case.broken != (one.rule,)]
        assert not any(
            backend.validate(case.desc, HIGHEST).accepted for case in others if case.outcome is Decided.REJECT
        )
    assert not [one for one in derived("FILL_VALUE_CONSTANT", HIGHEST) if one.kind == OVERLOOKS]


@pytest.mark.few(1)
@pytest.mark.parametrize("operator", REPRESENTATIVES)
def test_what_is_over_applied_refuses_some_valid_descriptors_and_not_all(operator: str) -> None:
    made = 0
    for one in derived(operator, HIGHEST):
        if one.kind != OVER_APPLIES or one.make is None or not rules()[one.rule].is_descriptor_rule:
            continue
        backend = one.make()
        assert isinstance(backend, OverApplies)
        answers = {backend.validate(desc, HIGHEST).accepted for desc in witnesses(operator, HIGHEST)}
        assert answers == {True, False}, one.name
        made += 1
    assert made > 10


@pytest.mark.parametrize("operator", REPRESENTATIVES)
def test_witnesses_are_valid(operator: str) -> None:
    for level in (operators()[operator].introduced_in, HIGHEST):
        assert len(witnesses(operator, level)) > 100
        assert all(decide(desc, level).outcome is Decided.ACCEPT for desc in witnesses(operator, level))


@pytest.mark.few(1)
@pytest.mark.parametrize("operator", REPRESENTATIVES)
def test_what_is_left_out_is_left_out_for_the_reason_given(operator: str) -> None:
    """The reasons are held against every neighbour of the boundary cases, which the derivation does not look at."""
    for level in (operators()[operator].introduced_in, HIGHEST):
        out = [one for one in derived(operator, level) if one.left_out]
        assert {one.rule for one in out if one.left_out == OPEN} <= {r for r, rule in rules().items() if rule.erratum}
        alone = {one.rule for one in out if one.left_out == NOT_ALONE}
        no_step = {one.rule for one in out if one.left_out == NO_STEP and one.kind == OVER_APPLIES}
        valid = [c.desc for c in boundary_cases(operator, level) if c.outcome is Decided.ACCEPT]
        for desc in islice(valid, 0, None, 5):
            for step in steps(desc, level):
                decision = decide(step.desc, step.level)
                if decision.outcome is Decided.REJECT and len(decision.rules) == 1:
                    assert decision.rules[0] not in no_step, step
                    assert step.level != level or decision.rules[0] not in alone, step


# --- score ------------------------------------------------------------------------------------------------------------


def test_the_step_of_an_over_application_is_the_one_that_refuses_least() -> None:
    step, trait = overdone("TILE", HIGHEST, "TILE.repeats") or ("", "")
    assert step == "Repeats element - 1"
    assert trait == ""


def test_a_score_counts_what_was_planted(small: Score) -> None:
    assert small.total.plantings == sum(row.plantings for row in small.mutants)
    assert small.total.plantings == sum(row.plantings for row in small.families)
    assert small.total.killed["quick"] + len(small.survivors) == small.total.plantings
    assert {row.name for row in small.families} == {"memory", "state"}  # TILE has no axis
    assert all(
        row.witness is not None and row.witness.operator == "TILE" for row in small.mutants if row.killed["quick"]
    )


def test_a_survivor_breaks_the_promise(small: Score) -> None:
    found = Outcome("Undetected", "memory", "", "TILE", "6_4", "", {"quick": (None,)})
    weak = Score.of(SMALL, [found])
    assert [survivor.mutant for survivor in weak.survivors] == ["Undetected"]
    assert weak.share("quick") == 0
    assert not weak.keeps_promises
    assert small.keeps_promises


def test_a_planting_counts_for_the_last_phase_that_a_seed_needs() -> None:
    kills = {"quick": (Kill(Phase.SEARCH, 103), Kill(Phase.BOUNDARIES, 9)), "standard": (Kill(Phase.SWEEP, 1), None)}
    found = Outcome("Some", "memory", "", "TILE", "6_4", "", kills)
    assert found.is_killed("quick")
    assert [phase for phase in Phase if found.is_killed_in("quick", phase)] == [Phase.SEARCH]
    assert not found.is_killed("standard")
    assert not any(found.is_killed_in("standard", phase) for phase in Phase)


@pytest.mark.few(3)
@pytest.mark.parametrize("operator", recorded_totals().operators)
def test_the_recorded_score_is_current(operator: str) -> None:
    """It fails when rules, wrong backends or cases have changed: measure anew, as docs/strength.md says."""
    is_current = recorded_totals().operators[operator] == behaviour_digest(operator)
    assert is_current, "out of date; docs/strength.md has the command that measures it anew"


def test_the_recorded_score_keeps_what_is_promised() -> None:
    totals = recorded_totals()
    assert totals.suite_version == suite_version()
    assert list(totals.killed) == list(PROMISED)
    assert all(killed >= PROMISED[budget] * totals.plantings for budget, killed in totals.killed.items())


def test_the_page_shows_the_recorded_score() -> None:
    totals = recorded_totals()
    page = (ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    about = (
        f"Suite version {totals.suite_version}, {totals.mutants} wrong backends, {len(totals.operators)} operators, "
    )
    assert about + f"feature level {HIGHEST}" in page
    for budget, killed in totals.killed.items():
        assert f"| {budget} | {killed:,} | {totals.plantings:,} |" in page
    of_these = {mutant.family() for mutant in MUTANTS if set(mutant.operators()) & set(totals.operators)}
    shown = [family for family in EVERY_FAMILY if page.count(f"\n| {family} | ") == 1]
    assert shown == [family for family in EVERY_FAMILY if family in of_these or family == BY_RULE]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found, every = len(totals.operators), len(operators())
    where = f"all {every}" if found == every else f"{found} of the {every}"
    told = f"what it finds of {totals.mutants} backends that are wrong on purpose, at {where} operators"
    assert told in " ".join(readme.split())


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("module", "name", "changed"),
    [
        ("strength.score", "rules_of", lambda name: rules_of(name)[1:]),
        ("strength.measure", "MUTANTS", [mutant for mutant in MUTANTS if mutant is not RepeatsElements]),
        ("strength.score", "KINDS", ("forgets", "over-applies")),
        ("strength.score", "numbered_case", lambda seed, *where: numbered_case(seed + 1, *where)),
    ],
    ids=["a rule", "a wrong backend", "a kind of wrong backends by rule", "the cases"],
)
def test_changed_behaviour_makes_a_score_stale(
    module: str, name: str, changed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = behaviour_digest("TILE")
    monkeypatch.setattr(import_module(module), name, changed)
    assert behaviour_digest.__wrapped__("TILE") != before


@pytest.mark.parametrize(("budget", "measured"), [("quick", "quick"), ("standard", "standard"), ("full", "standard")])
def test_a_certificate_says_how_strong_the_suite_is(budget: str, measured: str) -> None:
    found = msgspec.convert(strength_of(budget), Strength)
    assert found.budget == measured
    assert found.is_current
    assert 0 < found.killed <= found.plantings


# --- coverage ---------------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("operator", COVERED)
def test_the_cases_reach_what_the_specification_tells_apart(operator: str) -> None:
    found = Coverage()
    for level in operators()[operator].epochs:
        found.count(operator, level)
    assert gaps(found) == []


def test_a_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strength.coverage.boundary_cases", lambda operator, level: iter(()))
    monkeypatch.setattr("strength.coverage.scale_cases", lambda operator, level, reach: iter(()))
    found = Coverage()
    found.count("GATHER", HIGHEST)
    told = gaps(found)
    assert "GATHER 6_4: no interleaved output" in told
    assert "GATHER 6_4: no INT64 indices along an axis beyond 24 bits" in told
    assert "GATHER 6_4: no IndicesTensor beyond 16 bits" in told
    assert len(told) < 300


# --- the command ------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(strength, arguments)
    return result.exit_code, result.output


def test_the_command_measures() -> None:
    only = ("--operator", "TILE", "--level", "6_4", "--family", "memory", "--budget", "quick")
    code, text = run(*only, "--details", "-")
    assert code == 0
    assert "quick: 9 of 9 plantings killed (100.0%, promised 90%)" in text
    row = next(line for line in text.splitlines() if line.startswith("| memory | `LastElementUnwritten` | "))
    assert row.endswith(" | TILE 6_4 `TILE.values`: 4 dimensions, 12 elements, 229 bytes |")


def test_what_is_recorded_is_of_all_budgets_and_faults() -> None:
    code, text = run("--record", "--family", "memory")
    assert code == 2
    assert "leave out what selects" in text


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which operators the command measures: of two that there are, and of two families of backends."""
    found: list[str] = []

    def measure_some(plan: Plan, _: int) -> Iterator[list[Outcome]]:
        for outcomes in measure(replace(plan, families=("memory", "movement"))):
            yield outcomes
            found.append(outcomes[0].operator)

    monkeypatch.setattr(command, "measure", measure_some)
    monkeypatch.setattr(command, "PAGE", tmp_path / "strength.md")
    monkeypatch.setattr(command, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(totals_module, "FILE", tmp_path / "strength.json")
    monkeypatch.setattr(score_module, "operators", lambda: {name: operators()[name] for name in ("TILE", "JOIN")})
    (tmp_path / "strength.md").write_text("<!-- figures -->\n\n\n<!-- end -->\n", encoding="utf-8")
    return found


def test_what_is_recorded_is_what_the_certificate_reads(tmp_path: Path, measured: list[str]) -> None:
    code, _ = run("--record")
    kept = msgspec.json.decode((tmp_path / "strength.json").read_bytes(), type=Totals)
    assert code == 0
    assert measured == ["TILE", "JOIN"]
    assert kept.operators == {name: behaviour_digest(name) for name in ("TILE", "JOIN")}
    assert (kept.suite_version, kept.mutants, kept.plantings) == (suite_version(), 11, 20)
    assert kept.killed == {"quick": 20, "standard": 20}
    assert "## Survivors\n\nNone." in (tmp_path / "strength.md").read_text(encoding="utf-8")


def test_an_operator_that_has_changed_is_measured_alone(tmp_path: Path, measured: list[str]) -> None:
    file = tmp_path / "record.json"
    run("--record")
    whole = file.read_bytes()
    for changed, again in (
        (whole, []),
        (whole.replace(behaviour_digest("TILE").encode(), b"0123456789abcdef"), ["TILE"]),
        (whole.replace(b'"JOIN"', b'"GLUE"'), ["JOIN"]),
    ):
        file.write_bytes(changed)
        measured.clear()
        assert run("--record")[0] == 0
        assert measured == again
        assert file.read_bytes() == whole
    run("--record", "--operator", "JOIN")
    assert measured == ["JOIN", "JOIN"]


def test_an_interrupted_measurement_goes_on(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def planted_until_join(operator: str, *rest: Any) -> Iterator[Planted]:
        if operator == "JOIN":
            raise KeyboardInterrupt
        return planted(operator, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(measure_module, "planted", planted_until_join)
        assert run("--record")[0] == 1
    assert measured == ["TILE"]
    assert not (tmp_path / "strength.json").exists()
    assert run("--record")[0] == 0
    assert measured == ["TILE", "JOIN"]


def test_a_record_counts_as_a_score_does() -> None:
    """Backends that operators share count once; what a budget misses is told where it is missed."""
    plan = Plan(("TILE", "JOIN"), (HIGHEST,), ("memory", "movement", "scale", BY_RULE), with_witnesses=False)
    record, outcomes = Record([], {}), list(measure(plan))
    for found in outcomes:
        record.keep(found)
    score, totals = Score.of(plan, chain.from_iterable(outcomes)), record.totals()
    assert totals.mutants == score.total.mutants > len(record.shared) > 10
    assert (totals.plantings, totals.killed) == (score.total.plantings, score.total.killed)
    assert record.left_out() == score.left_out
    assert {name: (*row,) for name, row in record.families().items()} == {
        row.name: (row.mutants, row.plantings, row.killed) for row in score.families
    }
    missed = [(one.budget, one.mutant, name) for one, names in record.survivors().items() for name in names]
    assert sorted(missed) == sorted((one.budget, one.mutant, one.operator) for one in score.survivors)
    assert missed


def test_the_command_counts_coverage() -> None:
    code, text = run("--coverage", "--operator", "TILE", "--level", "2_1")
    assert code == 0
    assert "0 gaps in" in text
