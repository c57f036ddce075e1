"""A campaign: examples, boundaries, search, sweep on one backend, as one stream of records."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, starmap

from dml_conformance.conformance.campaign.budget import Budget
from dml_conformance.conformance.campaign.plan import planned
from dml_conformance.conformance.judge.blame import Blame, Repetition
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers.tasks import (
    HEAVY_BYTES,
    CaseBlock,
    SearchTask,
    Task,
    TaskJudge,
    executed_bytes,
)
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record
from dml_conformance.spec.case import Case
from dml_conformance.spec.examples import examples
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import rules
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.scale import scale_cases

# Examples spent on making the smallest case of a rule that the boundaries already broke.
SHRINK_EXAMPLES = 300


def example_cases(operator: str, level: Level) -> dict[str, Case]:
    """The pages' worked examples of an operator that a level allows, corrected where an erratum says so, by id."""
    return {
        name: example.case(level)
        for name, example in examples().items()
        if example.operator == operator and example.level is not None and level >= example.level
    }


@dataclass
class Engine:
    """Runs the phases of one campaign, or what an interrupted run has left of them.

    Attributes:
        judge: holds the backend.
        operators: names, in the order they are run.
        levels: ascending.
        budget: how much is done for each operator.
        seed: of search and sweep; examples and boundaries are the same in every campaign at the newest level, and
            elsewhere the seed says which of them are decided and executed.
        saved: cases that failed before, judged before everything else, in the phase of the examples; those of other
            operators and levels are left out.
        every_level: whether everything is executed at every level.
        broken: the rules that failed before the search, and the level at which each did first.
    """

    judge: Judge
    operators: Sequence[str]
    levels: Sequence[Level]
    budget: Budget
    seed: int
    saved: Sequence[Case] = ()
    every_level: bool = False
    broken: dict[tuple[str, str], Level] = field(default_factory=dict)
    _shrunk: set[tuple[str, str]] = field(default_factory=set)
    _judged: Counter[Phase] = field(default_factory=Counter)
    _finished: Collection[str] = ()

    def __post_init__(self) -> None:
        self._task_judge = TaskJudge(self.judge)
        self._blame = Blame(self.judge.backend_name, self.judge.reading, self.judge.profile)
        self._repetition = Repetition(self.judge)
        claimed = self.judge.capabilities.levels
        self.plans = planned(self.operators, self.levels, claimed, every_level=self.every_level)

    def stages(self) -> Iterator[Iterator[Task]]:
        """Every task that may be left, in order. Those of a stage may be judged at the same time, before it is known of
        each whether it is wanted; which rules are known to be broken depends on the records of the stage before."""
        yield chain(self._blocks(Phase.EXAMPLES), self._blocks(Phase.BOUNDARIES))
        yield chain(self._known(), self._unknown(), self._blocks(Phase.SWEEP))

    def wants(self, task: Task) -> bool:
        """Whether a task belongs to what is left; asked when the records of all before it have been settled."""
        if isinstance(task, CaseBlock):
            return True
        return task.name not in self._finished and (task.operator, task.rule) not in self._shrunk

    def settled(self, record: Record) -> Record:
        """A record as it goes on record, and noted."""
        record = self._blame.settled(self._repetition.repeated(record))
        self.note(record)
        return record

    def note(self, record: Record) -> None:
        """Remember what is known to be broken when the search begins, and what the search has found then."""
        if not _failed(record) or not (about := rule_to_search(record)):
            return
        if record.phase is Phase.SEARCH:
            self._shrunk.add((record.operator, about))
        elif record.phase not in (Phase.SWEEP, Phase.THROUGHPUT):
            self.broken.setdefault((record.operator, about), Level.parse(record.level))

    def resume(self, records: Iterable[Record], units: Collection[str]) -> Iterator[Record]:
        """Go on where an interrupted run of this campaign was.

        Args:
            records: of the tasks that it finished, in order, waived or not.
            units: their names.

        Returns:
            These records, each of which is to be settled before the next is asked for; all of them, before `stages` is.
        """
        self._finished = units
        for record in records:
            self._judged[record.phase] += 1
            yield record

    def cases(self, phase: Phase, start: int = 0) -> Iterator[Case]:
        """The cases of a phase, in order, from one on: those that depend on nothing but the campaign.

        Raises:
            KeyError: the search, whose cases depend on the backend's answers.
        """
        if phase is Phase.SWEEP:
            return self._sweep(start)
        cases = {Phase.EXAMPLES: chain(self.saved_here(), self._examples()), Phase.BOUNDARIES: self._boundaries()}
        return islice(cases[phase], start, None)

    def searches(self) -> Iterator[SearchTask]:
        """Every search of the campaign, in order; those that its records leave wanted."""
        return filter(self.wants, chain(self._known(), self._unknown()))

    def saved_here(self) -> list[Case]:
        """The saved cases that the campaign is about."""
        return [case for case in self.saved if case.operator in self.operators and case.level in self.levels]

    def search_seed(self, operator: str, level: Level, rule: str) -> int:
        """The seed of the search for one rule."""
        return zlib.crc32(f"{self.seed}/{operator}/{level}/{rule}".encode())

    def planned(self) -> dict[Phase, int]:
        """How many cases the phases will have whose number is known beforehand."""
        return {Phase.SWEEP: sum(share for _, _, share in self._sweep_shares())}

    def _sweep_shares(self) -> list[tuple[str, Level, int]]:
        """How many cases of the sweep each operator has at each level."""
        cells = [(plan.operator, level, plan.share(level)) for plan in self.plans for level in plan.levels]
        shares = self.budget.sweep_shares([weight for _, _, weight in cells])
        return [(operator, level, share) for (operator, level, _), share in zip(cells, shares, strict=True)]

    def _blocks(self, phase: Phase) -> Iterator[CaseBlock]:
        """The blocks of a phase whose cases are known beforehand; there are as many records as cases were judged."""
        size, count = self._task_judge.block_size(phase), self._judged[phase]
        cases = self.cases(phase, count)
        while part := tuple(_next_block(cases, size - count % size)):
            count += len(part)
            yield CaseBlock(f"{phase} up to {count}", phase, part)

    def _examples(self) -> Iterator[Case]:
        for plan in self.plans:
            for level in plan.levels:
                yield from plan.sample(example_cases(plan.operator, level).values(), level, self.seed)

    def _boundaries(self) -> Iterator[Case]:
        for plan in self.plans:
            for level in plan.levels:
                yield from plan.boundaries(level, self.seed)
                if level is plan.newest:
                    yield from scale_cases(plan.operator, level, self.budget.reach_on(self.judge.capabilities))

    def _known(self) -> Iterator[SearchTask]:
        """The search for the smallest case of every rule that is known to be broken."""
        for (operator, rule), level in self.broken.items():
            yield self._search("known", operator, level, rule, SHRINK_EXAMPLES)

    def _unknown(self) -> Iterator[SearchTask]:
        """The search for rules that are broken, which no level before was found to break."""
        for plan in self.plans:
            for level, rule in plan.searches():
                yield self._search("unknown", plan.operator, level, rule, self.budget.search)

    def _search(self, what: str, operator: str, level: Level, rule: str, examples: int) -> SearchTask:
        name = f"{Phase.SEARCH}, {what}: {operator} at {level}, {rule}"
        return SearchTask(name, operator, level, rule, examples, self.search_seed(operator, level, rule))

    def _sweep(self, start: int) -> Iterator[Case]:
        """The sweep's cases from one on, of which those before are not made."""
        numbered = (
            (self.seed, operator, level, n) for operator, level, share in self._sweep_shares() for n in range(share)
        )
        return starmap(numbered_case, islice(numbered, start, None))


def _next_block(cases: Iterator[Case], most: int) -> Iterator[Case]:
    """The next of these cases, `most` of them, or fewer where these are large."""
    weight = 0
    for case in islice(cases, most):
        yield case
        weight += executed_bytes(case)
        if weight >= HEAVY_BYTES:
            return


def _failed(record: Record) -> bool:
    """Whether the backend failed, be it set aside or not."""
    return record.judged in NOT_CONFORMANT


def rule_to_search(record: Record) -> str:
    """The rule among whose cases a smaller one than that of a failure is looked for: the one that the case is about.

    That need not be the one that the verdict is about. But a valid case may be about a rule that descriptors break,
    whose other cases are all invalid.
    """
    about = str(record.case_json.get("rule", ""))
    was_refused = record.rule == ACCEPTANCE and record.phase is not Phase.SEARCH
    return ACCEPTANCE if was_refused and (about not in rules() or rules()[about].kind == "descriptor") else about
