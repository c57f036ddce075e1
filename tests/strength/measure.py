"""Running wrong backends on the case streams of a campaign: which phase kills which, and after how many cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import msgspec

from dml_conformance.backends.base import Backend, takes_batches
from dml_conformance.conformance.campaign.budget import BUDGETS, Budget
from dml_conformance.conformance.judge.batch import MOST_CASES, BatchJudge
from dml_conformance.conformance.judge.judge import Judge, Judgement
from dml_conformance.conformance.judge.simplify import simplest
from dml_conformance.reports.model.records import JUDGED_PHASES, NOT_CONFORMANT, Phase, Verdict
from dml_conformance.spec.case import Case
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, slots
from dml_conformance.spec.registry import operators as all_operators
from dml_conformance.strategies.builders import is_sibling
from strength.mutants import FAMILIES, MUTANTS
from strength.mutants.base import SharedReference
from strength.rule_mutants import derived
from strength.streams import Prepared, SharingJudge, Streams

BY_RULE = "rules"
CRASHES = "crashes"  # the family whose faults are exceptions
EVERY_FAMILY = (*FAMILIES, BY_RULE)
SHRINK_TRIES = 300


class Witness(msgspec.Struct, frozen=True):
    """A small case that gives a backend away.

    Attributes:
        operator: `GATHER`.
        level: `6_4`.
        rule: id of the rule that is found broken.
        dimensions: of all its tensors together.
        elements: of all its tensors together.
        size: bytes of the descriptor as JSON.
    """

    operator: str
    level: str
    rule: str
    dimensions: int
    elements: int
    size: int


class Kill(msgspec.Struct, frozen=True):
    """Where a campaign first fails a backend: the phase, and the number of the case in the campaign, from 1 on."""

    phase: Phase
    number: int


class Outcome(msgspec.Struct, frozen=True):
    """One wrong backend at one operator and level.

    Attributes:
        mutant: its name: a class, or what is done to which rule.
        family: what its fault is about.
        about: the fault in words.
        operator: `GATHER`.
        level: `6_4`.
        left_out: why it was not run, because it is no other than a right one or another; "" where it was.
        kills: by budget, and for each seed, what kills it; None where a whole campaign does not.
        witness: None where it was not asked for, or nothing fails.
    """

    mutant: str
    family: str
    about: str
    operator: str
    level: str
    left_out: str = ""
    kills: dict[str, tuple[Kill | None, ...]] = {}
    witness: Witness | None = None

    def is_killed(self, budget: str) -> bool:
        """Whether a campaign kills it, whatever the seed."""
        return None not in self.kills[budget]

    def is_killed_in(self, budget: str, phase: Phase) -> bool:
        """Whether it is killed, and with some seed not before this phase."""
        found = [kill for kill in self.kills[budget] if kill is not None]
        return self.is_killed(budget) and max((kill.phase for kill in found), key=JUDGED_PHASES.index) is phase


class Planted(msgspec.Struct, frozen=True):
    """One wrong backend to be run at one operator and level; the fields are those of `Outcome`."""

    mutant: str
    family: str
    about: str
    make: Callable[[], Backend] | None
    decides_only: bool
    left_out: str = ""


def planted(operator: str, level: Level, families: Iterable[str] = EVERY_FAMILY) -> Iterator[Planted]:
    """The backends of these families whose faults show in an operator at a level.

    Where another operator stands for it in what their family shares, those by rule are of rules that name it.
    """
    wanted, is_alone = set(families), not is_sibling(operator)
    for mutant in MUTANTS:
        if mutant.family() in wanted and operator in mutant.operators() and mutant.shows_at(operator, level):
            about = " ".join((mutant.__doc__ or "").split()) if mutant.__doc__ != mutant.__base__.__doc__ else ""
            yield Planted(mutant.__name__, mutant.family(), about, mutant, mutant.decides_only())
    if BY_RULE in wanted:
        for one in derived(operator, level):
            if not is_alone and not one.rule.startswith(f"{operator}."):
                continue
            yield Planted(one.name, BY_RULE, one.about, one.make, one.decides_only, one.left_out)


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes:
        operators: names.
        levels: ascending.
        families: of backends.
        budgets: names.
        seeds: of search and sweep, one campaign each.
        with_witnesses: whether what kills a backend is made small, at the highest level that it is killed at.
    """

    operators: Sequence[str]
    levels: Sequence[Level]
    families: Sequence[str] = EVERY_FAMILY
    budgets: Sequence[str] = ("quick", "standard")
    seeds: Sequence[int] = (0,)
    with_witnesses: bool = True

    def cells(self) -> list[tuple[str, Level]]:
        """Every operator at every level, its own first level and those below it included."""
        assert set(self.operators) <= set(all_operators())
        return [(operator, level) for operator in self.operators for level in self.levels]


def measure(plan: Plan, workers: int = 1) -> Iterator[list[Outcome]]:
    """The outcomes of each operator at each level, in the plan's order from one worker, else as they come."""
    run = partial(measure_at, plan)
    if workers == 1:
        yield from map(run, plan.cells())
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn"))
    try:
        yield from (found.result() for found in as_completed([pool.submit(run, cell) for cell in plan.cells()]))
    finally:
        pool.shutdown(cancel_futures=True)


def measure_at(plan: Plan, cell: tuple[str, Level]) -> list[Outcome]:
    """The outcomes at one operator and level."""
    operator, level = cell
    SharedReference.known.clear()
    is_last = level == max(plan.levels)
    streams = Streams(operator, level, is_newest=is_last)
    every = [_FirstKills(one) for one in planted(operator, level, plan.families)]
    examples = streams.examples()
    left = [first for first in every if first.one.make is not None and not first.kill(examples, in_batches=False)]
    find_together(left, streams.boundaries(max(BUDGETS[name].reach for name in plan.budgets)))
    return [_outcome(plan, streams, first, with_witness=plan.with_witnesses and is_last) for first in every]


def find_together(every: Iterable[_FirstKills], stream: Sequence[Prepared]) -> None:
    """Find what kills backends first in a stream, all of them case by case: what a large case needs is made once."""
    judges = {first: first.judge() for first in every}
    for number, prepared in enumerate(stream, 1):
        for first, judge in list(judges.items()):
            if (found := judge.fails(prepared)) is not None:
                first.keep(stream, Failure(number, prepared, found))
                del judges[first]
        prepared.release()
    for first in judges:
        first.keep(stream, None)


def _outcome(plan: Plan, streams: Streams, first: _FirstKills, *, with_witness: bool) -> Outcome:
    one = first.one
    outcome = Outcome(one.mutant, one.family, one.about, streams.operator, streams.level.label, one.left_out)
    if one.make is None:
        return outcome
    kills = {
        budget: tuple(_kill(first, streams, BUDGETS[budget], seed) for seed in plan.seeds) for budget in plan.budgets
    }
    witness = None
    if with_witness and (found := first.failures()):
        smallest = min(found, key=lambda failure: len(msgspec.json.encode(desc_to_json(failure.prepared.case.desc))))
        witness = _witness(one, smallest.prepared, smallest.judged)
    return msgspec.structs.replace(outcome, kills=kills, witness=witness)


def _kill(first: _FirstKills, streams: Streams, budget: Budget, seed: int) -> Kill | None:
    """What kills a backend in one campaign; the phases after it are not run, nor are their cases made."""
    before = 0
    for phase in JUDGED_PHASES:
        stream = streams.phase(phase, budget, seed)
        if number := first.kill(stream, in_batches=phase is Phase.SWEEP):
            return Kill(phase, before + number)
        before += len(stream)
    return None


class Failure(NamedTuple):
    """A case of a stream that a backend fails.

    Attributes:
        number: in the stream, from 1 on.
        prepared: the case.
        judged: the verdict.
    """

    number: int
    prepared: Prepared
    judged: Judgement


def failures(one: Planted, stream: Sequence[Prepared], *, in_batches: bool = False) -> Iterator[Failure]:
    """What a fresh backend fails of a stream; in batches if it takes them, as in a sweep."""
    assert one.make is not None
    backend = one.make()
    if in_batches and takes_batches(backend):
        batches = BatchJudge(Judge(backend, "mutant"))
        for start in range(0, len(stream), MOST_CASES):
            judgements = batches.judgements([prepared.case for prepared in stream[start : start + MOST_CASES]])
            for number, judged in enumerate(judgements, start + 1):
                if judged.verdict in NOT_CONFORMANT:
                    yield Failure(number, stream[number - 1], judged)
        return
    judge = SharingJudge(backend, decides_only=one.decides_only)
    for number, prepared in enumerate(stream, 1):
        found = judge.fails(prepared)
        prepared.release()
        if found is not None:
            yield Failure(number, prepared, found)


def _check_own_fault(one: Planted, failure: Failure | None) -> None:
    """Raise AssertionError where a backend that is wrong in another way fails because it raises.

    A slip in its own code would be found as surely as the fault that it is made for, and prove nothing.
    """
    if failure is not None and failure.judged.verdict is Verdict.CRASH and one.family != CRASHES:
        raise AssertionError(f"{one.mutant} does not show its fault: {failure.judged.reason}")


class _FirstKills:
    """What kills one backend first in each stream, found once.

    Args:
        one: the backend.
    """

    def __init__(self, one: Planted) -> None:
        self.one = one
        self._found: dict[int, tuple[Sequence[Prepared], Failure | None]] = {}  # by stream, which budgets may share

    def judge(self) -> SharingJudge:
        """A judge of a fresh backend."""
        assert self.one.make is not None
        return SharingJudge(self.one.make(), decides_only=self.one.decides_only)

    def keep(self, stream: Sequence[Prepared], found: Failure | None) -> None:
        """Remember what kills first in a stream."""
        _check_own_fault(self.one, found)
        self._found[id(stream)] = stream, found

    def kill(self, stream: Sequence[Prepared], *, in_batches: bool) -> int:
        """The number of the first case that fails; 0 for none."""
        if id(stream) not in self._found and not self._follows_from_another(stream):
            self.keep(stream, next(failures(self.one, stream, in_batches=in_batches), None))
        known = self._found[id(stream)][1]
        return 0 if known is None else known.number

    def failures(self) -> list[Failure]:
        """What was found, in all streams."""
        return [found for _, found in self._found.values() if found is not None]

    def _follows_from_another(self, stream: Sequence[Prepared]) -> bool:
        """Whether another stream begins as this one does, up to what kills or to the end of this one."""
        for other, found in self._found.values():
            if found is not None and found.number <= len(stream):
                same = stream[: found.number] == other[: found.number]
            else:
                found, same = None, stream == other[: len(stream)]
            if same:
                self._found[id(stream)] = stream, found
                return True
        return False


def _witness(one: Planted, prepared: Prepared, judged: Judgement) -> Witness:
    """The same failure on the simplest descriptor that steps lead to, each try on a fresh backend.

    What fails only after other cases, in a backend that keeps something between calls, stays as it is. So does a large
    one, each try of which takes long.
    """
    case = prepared.case

    def still_fails(desc: OperatorDesc) -> bool:
        assert one.make is not None
        simpler = Case.of(desc, case.level, case.data, rule=case.rule, origin=case.origin)
        if simpler.broken != case.broken:
            return False
        again = SharingJudge(one.make()).fails(Prepared(simpler))
        return again is not None and (again.verdict, again.rule) == (judged.verdict, judged.rule)

    desc = case.desc if prepared.is_large else simplest(case.desc, still_fails, SHRINK_TRIES)
    tensors = [slot.tensor for slot in slots(desc)]
    return Witness(
        case.operator,
        case.level.label,
        judged.rule,
        sum(len(tensor.sizes) for tensor in tensors),
        sum(tensor.element_count for tensor in tensors),
        len(msgspec.json.encode(desc_to_json(desc))),
    )
