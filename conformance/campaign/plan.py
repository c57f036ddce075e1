"""What is done with an operator at each level of a campaign.

Between two of its epochs nothing changes for an operator. So of the levels asked for that share an epoch one stands for
all: there every case is executed. At the others the backend is asked for decisions, and executes a few: a sample that
is another one at each level and with each seed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

import msgspec

from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.cases import applicable_rules

# Of the cases at a level between epochs one in so many is decided, and one in so many of these is executed, besides the
# first of each kind. As many seeds as both together have every case executed at every level.
DECIDED_OF, EXECUTED_OF = 8, 4


class Share(IntEnum):
    """How much of the sweep a level has, beside the others of its operator."""

    NEWEST = 40
    EPOCH = 10
    BETWEEN = 1


@dataclass(frozen=True)
class OperatorPlan:
    """The levels of one operator, each list ascending.

    Attributes:
        operator: its name.
        complete: where nothing is left out: the newest claimed level of each epoch, and of the time before the first.
        sampled: the others that were asked for.
        every_level: whether no level stands for others.
    """

    operator: str
    complete: tuple[Level, ...]
    sampled: tuple[Level, ...]
    every_level: bool = False

    @classmethod
    def of(
        cls, operator: str, levels: Sequence[Level], claimed: Iterable[Level], *, every_level: bool = False
    ) -> OperatorPlan:
        """The plan of an operator.

        Args:
            operator: its name.
            levels: asked for, ascending.
            claimed: by the backend; where it claims none of those that share an epoch, the newest of them stands.
            every_level: see `OperatorPlan`.
        """
        epoch_of, known = operator_named(operator).epoch_of, frozenset(claimed)
        groups = [[level] for level in levels] if every_level else [list(of) for _, of in groupby(levels, epoch_of)]
        complete = tuple(max(known.intersection(group) or group) for group in groups)
        return cls(operator, complete, tuple(level for level in levels if level not in complete), every_level)

    @property
    def levels(self) -> list[Level]:
        """All that were asked for."""
        return sorted((*self.complete, *self.sampled))

    @property
    def executed(self) -> tuple[Level, ...]:
        """The levels where every case is executed."""
        return tuple(level for level in self.complete if level >= operator_named(self.operator).introduced_in)

    def share(self, level: Level) -> int:
        """The part of a sweep that a level has; 0 where no case can be about it."""
        if not applicable_rules(self.operator, level):
            return 0
        if level not in self.complete:
            return Share.BETWEEN
        return Share.NEWEST if self.every_level or level is self.complete[-1] else Share.EPOCH

    def searches(self) -> Iterator[tuple[Level, str]]:
        """Where each rule is searched for: at the newest complete level that has it, or else at the newest one."""
        newest: dict[str, Level] = {}
        for level in (*self.sampled, *self.complete):
            newest.update(dict.fromkeys(applicable_rules(self.operator, level), level))
        for level in self.levels:
            for rule in applicable_rules(self.operator, level):
                if self.every_level or newest[rule] is level:
                    yield level, rule

    def sample(self, cases: Iterable[Case], level: Level, seed: int) -> Iterator[Case]:
        """What of a level's cases is left where it is sampled; all of them where it is complete.

        These are the first of each rule, data type and dimension count, and others that take turns from level to level
        and seed to seed. Without its data a case is decided, and nothing more; that a descriptor is once.
        """
        if level in self.complete:
            yield from cases
            return
        turn = zlib.crc32(f"{self.operator}/{level}".encode()) + seed
        seen: set[object] = set()
        for n, case in enumerate(cases, turn):
            traits = _traits(case)
            is_decided, is_executed = n % DECIDED_OF == 0, n % (DECIDED_OF * EXECUTED_OF) == 0
            if is_executed or (case.desc not in seen and (is_decided or traits - seen)):
                seen |= {case.desc, *traits}
                yield case if is_executed or case.data is None else decision_alone(case)


def planned(
    operators: Iterable[str], levels: Sequence[Level], claimed: Iterable[Level], *, every_level: bool = False
) -> list[OperatorPlan]:
    """The plans of a campaign's operators, in order; see `OperatorPlan.of`."""
    known = frozenset(claimed)
    return [OperatorPlan.of(operator, levels, known, every_level=every_level) for operator in operators]


def executed_levels(plans: Iterable[OperatorPlan]) -> dict[str, tuple[str, ...]]:
    """By operator the levels where every case is executed, as a campaign has them on record."""
    return {plan.operator: tuple(level.label for level in plan.executed) for plan in plans}


def decision_alone(case: Case) -> Case:
    """A valid case of which nothing is executed: it is about acceptance."""
    rule = ACCEPTANCE if case.outcome is Outcome.ACCEPT else case.rule
    return msgspec.structs.replace(case, data=None, rule=rule, placement=None)


def _traits(case: Case) -> set[object]:
    """What a decision may rest on besides sizes: the rule that is broken, or types and dimension counts."""
    if case.outcome is not Outcome.ACCEPT:
        return {(case.rule, case.outcome)}
    tensors = [(slot.key, slot.tensor) for slot in slots(case.desc)]
    return {trait for key, tensor in tensors for trait in ((key, tensor.data_type), (key, len(tensor.sizes)))}
