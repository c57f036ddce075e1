"""A campaign: its phases in their order, how much each does, and what becomes of a failure."""

from __future__ import annotations

import csv
import dataclasses
import io
import time
from collections import Counter
from collections.abc import Callable
from itertools import chain, groupby, repeat
from typing import Any, ClassVar

import msgspec
import pytest
from judged_tasks import records_left, records_of, tasks_left
from scripted_backend import ScriptedBackend
from strength import mutants

from dml_conformance.backends.base import Answer, Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import BUDGETS, MIB, Budget
from dml_conformance.conformance.campaign.driver import certify
from dml_conformance.conformance.campaign.engine import Engine, example_cases
from dml_conformance.conformance.campaign.plan import OperatorPlan, Share
from dml_conformance.conformance.judge import search as search_module
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import search
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.tasks import BLOCK_CASES
from dml_conformance.reports.model.costs import Costs, Part
from dml_conformance.reports.model.records import JUDGED_PHASES, NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.reports.model.stream import Consumer
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import families
from dml_conformance.strategies.boundaries import PLACEMENTS, boundary_cases
from dml_conformance.strategies.cases import applicable_rules
from dml_conformance.strategies.scale import Reach, scale_cases

SMALL = Budget("small", search=5, sweep=25, large_bytes=MIB, large_device_bytes=MIB, repeats=1)
OPERATORS = ("GATHER_ND1", "TILE")
LEVELS = (Level.L2_1, Level.L3_1)
LEVELS_OF_TILE = (Level.L1_0, Level.L2_1)


def campaign(backend: ReferenceBackend, budget: Budget = SMALL, *, seed: int = 0, **cells: Any) -> list[Record]:
    names, levels = cells.get("operators", OPERATORS), cells.get("levels", LEVELS)
    return list(records_left(Engine(Judge(backend, "mine"), names, levels, budget, seed)))


def failures(records: list[Record]) -> list[Record]:
    return [record for record in records if record.verdict in NOT_CONFORMANT]


@pytest.fixture(scope="module")
def honest() -> list[Record]:
    return campaign(ReferenceBackend())


# --- phases and counts ------------------------------------------------------------------------------------------------


def test_phases_come_in_order_and_within_each_operators_and_levels(honest: list[Record]) -> None:
    found = [(phase, list(records)) for phase, records in groupby(honest, lambda record: record.phase)]
    assert [phase for phase, _ in found] == list(JUDGED_PHASES)
    for phase, records in found:
        cells = [cell for cell, _ in groupby((record.operator, record.level) for record in records)]
        assert cells == [
            (operator, level.label)
            for operator in OPERATORS
            for level in LEVELS
            if phase is not Phase.EXAMPLES or example_cases(operator, level)
        ]


def test_every_phase_does_its_share(honest: list[Record]) -> None:
    counts = Counter((record.phase, record.operator, record.level) for record in honest)
    for operator in OPERATORS:
        for level in LEVELS:
            cell = (operator, level.label)
            is_newest = level is LEVELS[-1]
            plan = OperatorPlan.of(operator, LEVELS, LEVELS)
            examples = plan.sample(example_cases(operator, level).values(), level, 0)
            scale = scale_cases(operator, level, SMALL.reach) if is_newest else ()
            assert counts[Phase.EXAMPLES, *cell] == sum(1 for _ in examples)
            assert counts[Phase.BOUNDARIES, *cell] == sum(1 for _ in chain(plan.boundaries(level, 0), scale))
            assert is_newest <= (counts[Phase.EXAMPLES, *cell] == len(example_cases(operator, level)))
            assert counts[Phase.SWEEP, *cell] == (SMALL.sweep if is_newest else 7)
    planned = Engine(Judge(ReferenceBackend(), ""), OPERATORS, LEVELS, SMALL, 0).planned()
    assert planned == {Phase.SWEEP: sum(record.phase is Phase.SWEEP for record in honest)}
    rules = [
        (operator, level, rule)
        for operator in OPERATORS
        for level in LEVELS
        for rule in applicable_rules(operator, level)
    ]
    searched = Counter((r.operator, r.rule, r.level) for r in honest if r.phase is Phase.SEARCH)
    newest = {(operator, rule): level.label for operator, level, rule in rules}
    assert {(operator, rule): level for operator, rule, level in searched} == newest
    assert len(searched) == len(newest)
    # Hypothesis stops early where there are fewer cases than that.
    assert max(searched.values()) == SMALL.search
    assert {record.verdict for record in honest} == {Verdict.PASS, Verdict.OBSERVED}
    assert {(r.operator, r.level, r.rule) for r in honest} == {(name, level.label, rule) for name, level, rule in rules}


def test_cases_beyond_32_bits_begin_first_and_come_last() -> None:
    """Of an accelerator, which has memory for them; each once."""

    class Accelerated(ReferenceBackend):
        def capabilities(self) -> Capabilities:
            return msgspec.structs.replace(super().capabilities(), accelerated=True)

    class Fed(InProcess):
        ahead: ClassVar[list[list[str]]] = []

        def feed(self, tasks: Any, streams: Any, wants: Any = None, ahead: Any = ()) -> None:
            self.ahead.append([making.name for making in ahead])

    budget = dataclasses.replace(SMALL, reach=Reach.BITS_24, timed_types=0, timed_types_of_siblings=0)
    engine = Engine(Judge(Accelerated(), "mine"), OPERATORS, LEVELS, budget, 0)
    certify(engine, Consumer(), executor=Fed([engine.judge]))
    names = [f"boundaries beyond 32 bits: {operator} at 3_1" for operator in OPERATORS]
    assert Fed.ahead == [names, []]
    first, _ = engine.stages()
    assert [task.name for task in first if task.phase is Phase.BOUNDARIES][-2:] == names
    vast = [case for name in OPERATORS for case in scale_cases(name, Level.L3_1, Reach.BITS_32, Reach.BITS_24)]
    found = list(engine.cases(Phase.BOUNDARIES))
    assert found[-len(vast) :] == vast
    of_scale = [case for name in OPERATORS for case in scale_cases(name, Level.L3_1, Reach.BITS_32)]
    assert Counter(case.digest for case in found if "/scale/" in case.origin) == Counter(
        case.digest for case in of_scale
    )
    assert len(list(Engine(Judge(ReferenceBackend(), ""), OPERATORS, LEVELS, budget, 0).vast_makings())) == 0


def test_a_campaign_tells_where_its_time_went() -> None:
    """Of every phase and operator, and no more than there was."""

    class Told(Consumer):
        content = b""

        def costs(self, costs: Costs) -> None:
            self.content = costs.as_csv()

    told, begin, used = Told(), time.perf_counter(), time.process_time()
    certify(Engine(Judge(ReferenceBackend(), "mine"), OPERATORS, LEVELS, SMALL, 0), told)
    taken = time.perf_counter() - begin
    rows = list(csv.DictReader(io.StringIO(told.content.decode())))
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds, reverse=True)
    assert min(seconds) >= 0
    of_phases = {phase: {row["part"] for row in rows if row["phase"] == phase} for phase in (*Phase, "")}
    assert of_phases["boundaries"] == {*Part} - {Part.START, Part.MEASURE}
    assert (of_phases["throughput"], of_phases[""]) == ({"measure"}, {"start"})
    assert all(of_phases[phase] for phase in (*JUDGED_PHASES, Phase.THROUGHPUT))
    assert {row["operator"] for row in rows} == {*OPERATORS, ""}
    assert all(row["family"] == families().get(row["operator"], "") for row in rows)
    spent = sum(seconds) - next(float(row["seconds"]) for row in rows if row["part"] == "start")
    assert 0.5 * (time.process_time() - used) < spent < taken


def test_a_block_of_the_sweep_is_of_the_operator_that_its_costs_are_charged_to() -> None:
    budget = dataclasses.replace(SMALL, sweep=20)  # of no operator as many as a block has
    engine = Engine(Judge(ReferenceBackend(), ""), OPERATORS, LEVELS, budget, 0)
    blocks = [task for task in next(engine.stages()) if task.phase is Phase.SWEEP]
    assert [{case.operator for case in block.make()} for block in blocks] == [{block.operator} for block in blocks]
    assert sum(block.size for block in blocks) == engine.planned()[Phase.SWEEP]


def test_the_same_seed_gives_the_same_campaign() -> None:
    def told(seed: int) -> list[tuple[str, str]]:
        records = campaign(ReferenceBackend(), seed=seed, operators=("TILE",), levels=(HIGHEST,))
        return [(record.phase, record.case) for record in records]

    one, other = told(1), told(2)
    assert told(1) == one
    fixed = (Phase.EXAMPLES, Phase.BOUNDARIES)
    assert [case for case in one if case[0] in fixed] == [case for case in other if case[0] in fixed]
    for phase in (Phase.SEARCH, Phase.SWEEP):
        assert {case for case in one if case[0] == phase} != {case for case in other if case[0] == phase}


@pytest.mark.parametrize(("total", "shares"), [(10, [2, 3, 5, 0]), (3, [0, 1, 2, 0]), (0, [0, 0, 0, 0])])
def test_a_sweep_of_a_given_size_is_spread_by_weight(total: int, shares: list[int]) -> None:
    budget = Budget("", 1, 600, MIB, MIB, 1, sweep_total=total)
    assert budget.sweep_shares([1, 1, 2, 0]) == shares
    assert BUDGETS["standard"].sweep_shares([*Share, 0]) == [600, 150, 15, 0]
    swept = [
        record
        for record in records_left(Engine(Judge(ReferenceBackend(), ""), ["TILE"], [Level.L1_0, HIGHEST], budget, 0))
        if record.phase is Phase.SWEEP
    ]
    assert len(swept) == total


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_failing_rule_is_shrunk_once() -> None:
    """The boundaries show it many times; the search gives its smallest case once, and does not look for it again."""
    records = failures(campaign(mutants.decisions.AcceptsUnknownFlags()))
    assert {record.rule for record in records} == {"TENSOR.flags"}
    assert sum((record.phase, record.operator) == (Phase.BOUNDARIES, "TILE") for record in records) > 10
    searched = [record for record in records if record.phase is Phase.SEARCH]
    # One of each operator, at the lowest level that failed.
    assert [(record.operator, record.level) for record in searched] == [("GATHER_ND1", "3_1"), ("TILE", "2_1")]
    for record in searched:
        case = Case.from_json(record.case_json)
        assert sum(tensor.flags for _, tensor in mutants.tensors(case.desc)) == 2
        assert {tensor.element_count for _, tensor in mutants.tensors(case.desc)} == {1}


def test_a_refusal_of_what_is_valid_is_found_and_shrunk() -> None:
    """By the cases that are executed, and by those about acceptance; under the one rule that was broken."""
    records = failures(campaign(mutants.decisions.RejectsOwnedByDmlInput(), operators=("TILE",)))
    assert {record.rule for record in records} == {"DESCRIPTOR.acceptance"}
    (smallest,) = [
        record
        for record in records
        if record.phase is Phase.SEARCH and record.case_json["rule"] == "DESCRIPTOR.acceptance"
    ]
    desc = Case.from_json(smallest.case_json).desc
    # At the first level that it was found at, whose tensors have 4 dimensions at least.
    assert (smallest.level, [tensor.sizes for _, tensor in mutants.tensors(desc)]) == ("2_1", [(1,) * 4] * 2)
    assert desc.input_tensor.flags == 1  # type: ignore[attr-defined]


def test_a_smaller_refusal_is_looked_for_among_valid_cases() -> None:
    """The largest tensors are valid cases about a rule that descriptors break: its other cases are all rejected."""

    def small(desc: Any, level: Level) -> Answer:
        is_large = desc.output_tensor is not None and desc.output_tensor.element_count > 3
        answer = REFERENCE.validate(desc, level)
        return Answer(False, "too large") if answer.accepted and is_large else answer

    large = next(case for case in boundary_cases("TILE", Level.L4_1) if "/huge/" in case.origin)
    judge = Judge(ScriptedBackend(validate=small), "mine")
    engine = Engine(judge, ("TILE",), (Level.L4_1,), BUDGETS["quick"], 0)
    record = judge.record(large, Phase.BOUNDARIES)
    assert (record.verdict, record.rule) == (Verdict.FAIL, "DESCRIPTOR.acceptance")
    assert record.case_json["rule"] == "TENSOR.element-count"
    engine.note(record)
    unit = next(engine.searches())
    assert (unit.operator, unit.rule) == ("TILE", "DESCRIPTOR.acceptance")
    *_, found = records_of(engine, unit)
    assert Case.from_json(found.case_json).desc.output_tensor.element_count == 4  # type: ignore[attr-defined]


def test_one_bug_does_not_hide_the_next() -> None:
    class TwoBugs(mutants.decisions.AcceptsUnknownFlags, abstract=True):
        def validate(self, desc: Any, level: Level) -> Answer:
            answer = super().validate(desc, level)
            return Answer(True) if 0 in getattr(desc, "repeats", ()) else answer

    records = campaign(TwoBugs(), operators=("TILE",), levels=(HIGHEST,))
    found = [record.rule for record in failures(records) if record.phase is Phase.SEARCH]
    assert sorted(found) == ["TENSOR.flags", "TILE.repeats"]
    assert {record.rule for record in records} == set(applicable_rules("TILE", HIGHEST))


def test_a_search_without_failures_gives_what_it_tried() -> None:
    records = list(search(Judge(ReferenceBackend(), ""), "TILE", HIGHEST, "TILE.values", 40, 0))
    assert len(records) == 40
    assert {(record.verdict, record.rule, record.phase) for record in records} == {
        (Verdict.PASS, "TILE.values", Phase.SEARCH)
    }
    with pytest.raises(ValueError, match=r"no case of TILE is about GATHER\.values at level 6_4"):
        list(search(Judge(ReferenceBackend(), ""), "TILE", HIGHEST, "GATHER.values", 40, 0))


def test_shrinking_does_not_slip_from_one_failure_to_another() -> None:
    """A crash on two elements and more, a wrong value on one: what is found first stays what it is."""

    class CrashesOrErrs(mutants.memory.LastElementUnwritten, abstract=True):
        def computed(self, desc: Any, inputs: Any) -> Any:
            if desc.output_tensor.element_count > 1:
                raise RuntimeError("too large")
            return super().computed(desc, inputs)

    for seed in range(4):
        (record,) = failures(list(search(Judge(CrashesOrErrs(), ""), "TILE", HIGHEST, "TILE.values", 100, seed)))
        count = Case.from_json(record.case_json).desc.output_tensor.element_count  # type: ignore[attr-defined]
        assert (record.verdict, count) in {(Verdict.CRASH, 2), (Verdict.FAIL, 1)}


def test_a_failure_that_does_not_come_again_cannot_shrink_and_is_told_all_the_same() -> None:
    records = campaign(mutants.state.WrongNowAndThen(), BUDGETS["quick"], operators=("TILE",), levels=(HIGHEST,))
    assert failures(records)
    assert {record.phase for record in records} == set(JUDGED_PHASES)
    answers = chain([True] * 19, [False], repeat(True))
    once = ScriptedBackend(validate=lambda *what: REFERENCE.validate(*what) if next(answers) else Answer(False, "once"))
    (record,) = failures(list(search(Judge(once, ""), "TILE", HIGHEST, "TILE.values", 100, 0)))
    assert record.reason == "rejected a valid descriptor: once"


def test_no_failure_is_shrunk_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that comes and goes Hypothesis tried 12,750 cases, as something smaller failed now and then."""
    judge = Judge(mutants.shapes.RepeatsReversed(), "")

    def judged_in(tries: int) -> int:
        judged: list[Record] = []
        monkeypatch.setattr(search_module, "SHRINK_TRIES", tries)
        monkeypatch.setattr(judge, "record", lambda *what: judged.append(Judge.record(judge, *what)) or judged[-1])
        *before, record = search(judge, "TILE", HIGHEST, "TILE.values", 100, 0)
        assert failures([*before, record]) == [record]
        assert record in judged
        return len(judged) - len(before)

    most = 1 + len(PLACEMENTS) + 1  # the first failure, and how it is bound
    assert judged_in(20) <= most + 20 + 1 < judged_in(2000)


# --- resumed campaigns ------------------------------------------------------------------------------------------------


REFERENCE = ReferenceBackend()


def lax(desc: Any, level: Level) -> Answer:
    """Takes a few descriptors that it should not: enough for the search to find, and to make smaller, something."""
    answer, output = REFERENCE.validate(desc, level), desc.output_tensor
    is_taken = output is not None and (output.guaranteed_base_offset_alignment == 3 or output.flags == 1)
    return Answer(True) if is_taken else answer


Units = list[tuple[str, list[Record]]]


def units(engine: Engine) -> Units:
    """The tasks that are left, and their records without times."""
    return [
        (unit.name, [msgspec.structs.replace(record, seconds=0.0) for record in records_of(engine, unit)])
        for unit in tasks_left(engine)
    ]


@pytest.fixture(scope="module")
def broken_engine() -> Callable[[], Engine]:
    budget = dataclasses.replace(BUDGETS["quick"], sweep=2 * BLOCK_CASES + 5)
    return lambda: Engine(Judge(ScriptedBackend(validate=lax), "mine"), ("TILE",), LEVELS_OF_TILE, budget, 0)


@pytest.fixture(scope="module")
def whole(broken_engine: Callable[[], Engine]) -> Units:
    return units(broken_engine())


def resumed(engine: Engine, done: Units) -> Engine:
    """An engine that goes on behind these."""
    records = [record for _, unit in done for record in unit]
    given = engine.resume(records, {name for name, _ in done})
    assert [engine.settled(record) for record in given] == records
    return engine


def test_units_are_of_one_phase_and_no_two_have_a_name(whole: Units) -> None:
    assert len({name for name, _ in whole}) == len(whole)
    assert all(len({record.phase for record in unit}) <= 1 for _, unit in whole)
    assert {"search, known", "search, unknown"} <= {name.partition(":")[0] for name, _ in whole}


@pytest.mark.few(1)
@pytest.mark.parametrize("waived", [False, True])
def test_after_any_unit_a_campaign_goes_on_as_if_it_had_not_been_interrupted(
    broken_engine: Callable[[], Engine], whole: Units, waived: bool
) -> None:
    def set_aside(record: Record) -> Record:
        is_failure = waived and record.verdict in NOT_CONFORMANT
        new = {"verdict": Verdict.WAIVED, "waived": str(record.verdict)} if is_failure else {}
        return msgspec.structs.replace(record, **new)

    search = [n for n, (name, _) in enumerate(whole) if name.startswith("search")]
    # All around the phases' ends, where what is known of failures matters, and some more.
    stops = {0, 1, *search[:6], *search[6::9], search[-1] + 1, len(whole) - 1, len(whole)}
    for stop in sorted(stops):
        done = [(name, list(map(set_aside, unit))) for name, unit in whole[:stop]]
        assert units(resumed(broken_engine(), done)) == whole[stop:], stop


def test_what_the_sweep_breaks_is_searched_for_when_a_campaign_is_resumed(
    broken_engine: Callable[[], Engine], whole: Units
) -> None:
    sweep = max(n for n, (_, unit) in enumerate(whole) if unit and unit[-1].phase is Phase.SWEEP)
    name, unit = whole[sweep]
    broken = {**unit[-1].case_json, "rule": "TENSOR.flags"}
    wrong = msgspec.structs.replace(unit[-1], verdict=Verdict.FAIL, case_json=broken)
    engine = resumed(broken_engine(), [*whole[:sweep], (name, [*unit[:-1], wrong])])
    known = {task.name for task in tasks_left(engine) if task.name.startswith("search, known")}
    assert known - {name for name, _ in whole} == {f"search, known: {wrong.operator} at {wrong.level}, TENSOR.flags"}
