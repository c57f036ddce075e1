"""What is done with an operator at each level of a campaign.

Between two of its epochs nothing changes for an operator. So of the levels asked for that share an epoch one stands for
all: there every case is decided. What is computed does not change with an epoch, but what may be asked for: so every
case is executed at the newest level alone, and at the other epochs the first of each kind, and a sample. At the levels
between, decisions are a sample, too. Samples are others at each level and with each seed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import groupby

import msgspec

from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules, execution_rules

# Of the cases at a level between epochs one in so many is decided; of the decided ones at any but the newest level one
# in so many is executed. As many seeds as both together have every case executed at every level.
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
        complete: where every case is decided: the newest claimed level of each epoch, and of the time before the first.
        sampled: the others that were asked for.
        newest: the one where every case is executed, and those of scale are: the newest of the claimed that have the
            operator, or of all.
        every_level: whether no level stands for others.
    """

    operator: str
    complete: tuple[Level, ...]
    sampled: tuple[Level, ...]
    newest: Level
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
        spec, known = operator_named(operator), frozenset(claimed)
        groups = (
            [[level] for level in levels] if every_level else [list(of) for _, of in groupby(levels, spec.epoch_of)]
        )
        complete = tuple(max(known.intersection(group) or group) for group in groups)
        newest = max([level for level in levels if level in known and level >= spec.introduced_in] or levels)
        sampled = tuple(level for level in levels if level not in complete)
        return cls(operator, complete, sampled, newest, every_level)

    @property
    def levels(self) -> list[Level]:
        """All that were asked for."""
        return sorted((*self.complete, *self.sampled))

    @property
    def executed(self) -> tuple[Level, ...]:
        """The levels where every case is decided, of those that have the operator."""
        return tuple(level for level in self.complete if level >= operator_named(self.operator).introduced_in)

    def share(self, level: Level) -> int:
        """The part of a sweep that a level has; 0 where no case can be about it."""
        # Rules of execution are known at once; which others can be broken is found by trying.
        if not (execution_rules(self.operator, level) or applicable_rules(self.operator, level)):
            return 0
        if level not in self.complete:
            return Share.BETWEEN
        return Share.NEWEST if self.every_level or level is self.newest else Share.EPOCH

    def searches(self) -> Iterator[tuple[Level, str]]:
        """Where each rule is searched for: at the newest complete level that has it, or else at the newest one."""
        newest: dict[str, Level] = {}
        for level in (*self.sampled, *self.complete):
            newest.update(dict.fromkeys(applicable_rules(self.operator, level), level))
        for level in self.levels:
            for rule in applicable_rules(self.operator, level):
                if self.every_level or newest[rule] is level:
                    yield level, rule

    def boundaries(self, level: Level, seed: int) -> Iterator[Case]:
        """The boundary cases of a level, or a sample: those of the level that stands for it, which are made once."""
        epoch_of = operator_named(self.operator).epoch_of
        same = [each for each in self.complete if epoch_of(each) == epoch_of(level)]
        standing = level if level in same else same[0]
        for case in self.sample(_boundary_cases(self.operator, standing), level, seed):
            yield case if level is standing else moved(case, level)

    def sample(self, cases: Iterable[Case], level: Level, seed: int) -> Iterator[Case]:
        """What of a level's cases is left: all of them where they are executed.

        Elsewhere these are the first of each rule, data type and dimension count, and others that take turns from level
        to level and seed to seed. Without its data a case is decided, and nothing more; that a descriptor is once.
        """
        if self.every_level or level is self.newest:
            yield from cases
            return
        is_epoch = level in self.complete
        turn, decided_of = zlib.crc32(f"{self.operator}/{level}".encode()) + seed, 1 if is_epoch else DECIDED_OF
        seen: set[object] = set()
        for n, case in enumerate(cases, turn):
            traits = _traits(case)
            is_new = not traits <= seen
            is_executed = n % (decided_of * EXECUTED_OF) == 0 or (is_epoch and is_new)
            if is_executed or (case.desc not in seen and (n % decided_of == 0 or is_new)):
                seen |= {case.desc, *traits}
                yield case if is_executed or case.data is None else decision_alone(case)


@lru_cache(maxsize=1)
def _boundary_cases(operator: str, level: Level) -> tuple[Case, ...]:
    """Those of the level that stands for those before it, which follow each other."""
    return tuple(boundary_cases(operator, level))


def planned(
    operators: Iterable[str], levels: Sequence[Level], claimed: Iterable[Level], *, every_level: bool = False
) -> list[OperatorPlan]:
    """The plans of a campaign's operators, in order; see `OperatorPlan.of`."""
    known = frozenset(claimed)
    return [OperatorPlan.of(operator, levels, known, every_level=every_level) for operator in operators]


def newest_claimed(levels: Sequence[Level], claimed: Iterable[Level]) -> Level:
    """The newest of some levels that a backend claims, or of all if it claims none of them."""
    known = frozenset(claimed)
    return max([level for level in levels if level in known] or levels)


def executed_levels(plans: Iterable[OperatorPlan]) -> dict[str, tuple[str, ...]]:
    """By operator the levels where every case is decided, as a campaign has them on record."""
    return {plan.operator: tuple(level.label for level in plan.executed) for plan in plans}


def moved(case: Case, level: Level) -> Case:
    """A case at another level. An activation that came with a level between is refused below it, which is decided."""
    origin = case.origin.replace(f"/{case.level}/", f"/{level}/", 1)
    decision = decide(case.desc, level)
    again = msgspec.structs.replace(case, level=level, outcome=decision.outcome, broken=decision.rules, origin=origin)
    if again.outcome is case.outcome:
        return again
    return msgspec.structs.replace(again, data=None, rule=next(iter(again.broken), ACCEPTANCE), placement=None)


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
