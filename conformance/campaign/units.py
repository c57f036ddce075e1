"""Units of work: the parts that a campaign is cut into. Each is judged by itself, in this process or in another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dml_conformance.conformance.campaign.search import search
from dml_conformance.conformance.judge.batch import MOST_CASES, BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import with_losses
from dml_conformance.conformance.judge.prefetch import decide_ahead
from dml_conformance.reports.records import Phase, Record
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level

# Cases of a unit that are judged one by one; a slow backend has lost no more of them when a run is interrupted.
UNIT_CASES = 32


class Listed(NamedTuple):
    """Cases that are known beforehand.

    Attributes:
        name: the same in every run of the campaign.
        phase: that they belong to.
        cases: in order.
    """

    name: str
    phase: Phase
    cases: tuple[Case, ...]


class Sought(NamedTuple):
    """Cases that the search comes upon.

    Attributes:
        name: the same in every run of the campaign.
        operator: that they are about.
        level: that they are for.
        rule: id of the rule that they break, or are about.
        examples: how many are tried.
        seed: of the search.
    """

    name: str
    operator: str
    level: Level
    rule: str
    examples: int
    seed: int


Unit = Listed | Sought


class UnitJudge:
    """Judges units on one backend.

    Args:
        judge: holds the backend.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self._batches = BatchJudge(judge)

    def size(self, phase: Phase) -> int:
        """How many cases a unit of a phase should have."""
        return MOST_CASES if phase is Phase.SWEEP and self._batches.in_batches else UNIT_CASES

    def records(self, unit: Unit) -> Iterator[Record]:
        """The records of a unit, judged as they are asked for, each with the processes that were lost over it.

        Raises:
            GivenUp: the backend is not asked any more.
        """
        return with_losses(self._records(unit), self.judge.backend, in_the_end=isinstance(unit, Sought))

    def _records(self, unit: Unit) -> Iterator[Record]:
        if isinstance(unit, Sought):
            return search(self.judge, unit.operator, unit.level, unit.rule, unit.examples, unit.seed)
        if unit.phase is Phase.SWEEP:
            return self._batches.records(unit.cases, unit.phase)
        return self._one_by_one(unit)

    def _one_by_one(self, unit: Listed) -> Iterator[Record]:
        decide_ahead(self.judge, unit.cases)
        for case in unit.cases:
            yield self.judge.record(case, unit.phase)
