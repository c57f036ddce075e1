"""A campaign: examples, boundaries, search, sweep on one backend, as one stream of records."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conformance.batch import BatchJudge
from conformance.budget import Budget
from conformance.judge import Judge
from conformance.search import search
from reports.records import NOT_CONFORMANT, Phase, Record
from spec.case import Case
from spec.examples import examples
from spec.levels import Level
from strategies.boundaries import boundary_cases
from strategies.cases import applicable_rules, numbered_case

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
    """Runs the phases of one campaign.

    Attributes:
        judge: holds the backend.
        operators: names, in the order they are run.
        levels: ascending.
        budget: how much is done for each operator at each level.
        seed: of search and sweep; examples and boundaries are the same in every campaign.
        saved: cases that failed before, judged before everything else, in the phase of the examples; those of other
            operators and levels are left out.
    """

    judge: Judge
    operators: Sequence[str]
    levels: Sequence[Level]
    budget: Budget
    seed: int
    saved: Sequence[Case] = ()
    _broken: dict[tuple[str, str], Level] = field(default_factory=dict)
    _shrunk: set[tuple[str, str]] = field(default_factory=set)

    def records(self) -> Iterator[Record]:
        """Every record, phase by phase."""
        for phase, cases in (
            (Phase.EXAMPLES, self.saved_here()),
            (Phase.EXAMPLES, self._examples()),
            (Phase.BOUNDARIES, self._boundaries()),
        ):
            for case in cases:
                yield self._note(case, self.judge.record(case, phase))
        yield from self._search()
        # After it no rule is searched for any more, so what breaks here need not be noted.
        yield from BatchJudge(self.judge).records(self._sweep(), Phase.SWEEP)

    def cases(self, phase: Phase) -> Iterator[Case]:
        """The cases of a phase, in order: those that depend on nothing but the campaign.

        Raises:
            KeyError: the search, whose cases depend on the backend's answers.
        """
        phases = {Phase.EXAMPLES: self._examples, Phase.BOUNDARIES: self._boundaries, Phase.SWEEP: self._sweep}
        return phases[phase]()

    def saved_here(self) -> list[Case]:
        """The saved cases that the campaign is about."""
        return [case for case in self.saved if case.operator in self.operators and case.level in self.levels]

    def search_seed(self, operator: str, level: Level, rule: str) -> int:
        """The seed of the search for one rule."""
        return zlib.crc32(f"{self.seed}/{operator}/{level}/{rule}".encode())

    def planned(self) -> dict[Phase, int]:
        """How many cases the phases will have whose number is known beforehand."""
        return {Phase.SWEEP: sum(self.budget.sweep_shares(len(self._cells())))}

    def _cells(self) -> list[tuple[str, Level]]:
        """The operators and levels that a case can be about."""
        return [
            (operator, level)
            for operator in self.operators
            for level in self.levels
            if applicable_rules(operator, level)
        ]

    def _note(self, case: Case, record: Record) -> Record:
        if record.verdict in NOT_CONFORMANT and case.rule:
            self._broken.setdefault((case.operator, case.rule), case.level)
        return record

    def _examples(self) -> Iterator[Case]:
        for operator in self.operators:
            for level in self.levels:
                yield from example_cases(operator, level).values()

    def _boundaries(self) -> Iterator[Case]:
        for operator in self.operators:
            for level in self.levels:
                yield from boundary_cases(operator, level)

    def _search(self) -> Iterator[Record]:
        """First the smallest case of every rule that is known to be broken, then the unknown."""
        for (operator, rule), level in self._broken.items():
            yield from self._search_rule(operator, level, rule, SHRINK_EXAMPLES)
        for operator, level in self._cells():
            for rule in applicable_rules(operator, level):
                if (operator, rule) not in self._shrunk:
                    yield from self._search_rule(operator, level, rule, self.budget.search)

    def _search_rule(self, operator: str, level: Level, rule: str, examples: int) -> Iterator[Record]:
        seed = self.search_seed(operator, level, rule)
        for record in search(self.judge, operator, level, rule, examples, seed):
            if record.verdict in NOT_CONFORMANT:
                self._shrunk.add((operator, rule))
            yield record

    def _sweep(self) -> Iterator[Case]:
        cells = self._cells()
        for (operator, level), share in zip(cells, self.budget.sweep_shares(len(cells)), strict=True):
            for n in range(share):
                yield numbered_case(self.seed, operator, level, n)
