"""What came out of running the wrong backends: the score, and the digest of the behaviour that it was measured on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.strength import Totals
from dml_conformance.reports.model.records import JUDGED_PHASES
from dml_conformance.reports.model.release import suite_version
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators, rules, rules_of
from dml_conformance.spec.rules import CLAIMS
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.scale import scale_cases
from strength.measure import BY_RULE, EVERY_FAMILY, FAMILIES, Outcome, Plan, Witness, planted
from strength.mutants import MUTANTS
from strength.mutants.base import Mutant
from strength.rule_mutants import KINDS

# What a budget promises: the share of the wrong backends that it kills.
PROMISED = {"quick": 0.9, "standard": 1.0}
SWEPT = 20  # cases of each sweep that the digest of behaviour looks at


@dataclass(frozen=True)
class ScoreRow:
    """One wrong backend, or a family of them.

    Attributes:
        name: of the backend or family.
        family: what the fault is about.
        about: the fault in words.
        mutants: how many backends; 1, but for a family.
        plantings: how many combinations of backend, operator and level.
        killed: by budget, how many of the plantings a campaign kills, whatever the seed.
        phases: the same by the phase that kills first, of the largest budget.
        cases: by budget, the median number of cases up to the kill, over plantings and seeds; 0 where there is none.
        witness: the smallest one found; None where it was not asked for.
    """

    name: str
    family: str
    about: str
    mutants: int
    plantings: int
    killed: dict[str, int]
    phases: dict[str, int]
    cases: dict[str, float]
    witness: Witness | None = None


@dataclass(frozen=True)
class Survivor:
    """A planting that a budget does not kill under every seed."""

    budget: str
    mutant: str
    operator: str
    level: str


@dataclass(frozen=True)
class Score:
    """The mutation score of the suite.

    Attributes:
        suite_version: of the package.
        operators, levels, budgets, seeds: what was run.
        total: all plantings in one row.
        families: a row each.
        mutants: a row each.
        survivors: what a budget misses.
        left_out: by reason, how many plantings were not run, because they are right or the same as another.
    """

    suite_version: str
    operators: tuple[str, ...]
    levels: tuple[str, ...]
    budgets: tuple[str, ...]
    seeds: tuple[int, ...]
    total: ScoreRow
    families: tuple[ScoreRow, ...]
    mutants: tuple[ScoreRow, ...]
    survivors: tuple[Survivor, ...]
    left_out: dict[str, int]

    @classmethod
    def of(cls, plan: Plan, outcomes: Iterable[Outcome]) -> Score:
        """The score of a plan whose outcomes are these."""
        place = {cell: n for n, cell in enumerate(plan.cells())}
        every = sorted(outcomes, key=lambda outcome: place[outcome.operator, Level.parse(outcome.level)])
        run = [outcome for outcome in every if not outcome.left_out]
        budgets = tuple(plan.budgets)
        by_mutant = _grouped(run, lambda outcome: outcome.mutant)
        by_family = _grouped(run, lambda outcome: outcome.family)
        order = {family: n for n, family in enumerate(EVERY_FAMILY)}
        mutants = [_row(name, group, budgets) for name, group in by_mutant.items()]
        families = [_row(name, group, budgets, one=False) for name, group in by_family.items()]
        return cls(
            suite_version(),
            tuple(plan.operators),
            tuple(level.label for level in plan.levels),
            budgets,
            tuple(plan.seeds),
            _row("all", run, budgets, one=False),
            tuple(sorted(families, key=lambda row: order[row.name])),
            tuple(sorted(mutants, key=lambda row: order[row.family])),
            tuple(
                Survivor(budget, outcome.mutant, outcome.operator, outcome.level)
                for budget in budgets
                for outcome in run
                if not outcome.is_killed(budget)
            ),
            dict(Counter(outcome.left_out for outcome in every if outcome.left_out)),
        )

    def share(self, budget: str) -> float:
        """How much of what was planted a budget kills; 1 where nothing was."""
        return self.total.killed[budget] / self.total.plantings if self.total.plantings else 1.0

    @property
    def keeps_promises(self) -> bool:
        """Whether every budget kills as much as it has to."""
        return all(self.share(budget) >= PROMISED[budget] for budget in self.budgets)


class FamilyTotals(NamedTuple):
    """How many backends are about one thing, where they are planted, and how many plantings each budget kills."""

    mutants: int
    plantings: int
    killed: dict[str, int]


class SurvivorRecord(msgspec.Struct, frozen=True):
    """A backend that a budget does not kill at an operator: its fault, and what that is about."""

    budget: str
    mutant: str
    family: str
    about: str


class OperatorRecord(msgspec.Struct, frozen=True):
    """What was measured of one operator at the newest level.

    Attributes:
        behaviour: digest of what the score depends on (`behaviour_digest`).
        own: how many backends are made of rules that are the operator's own.
        families: plantings by what the faults are about.
        survivors: what a budget does not kill.
        left_out: by reason, how many plantings were not run, because they are right or the same as another.
    """

    behaviour: str
    own: int
    families: dict[str, int]
    survivors: tuple[SurvivorRecord, ...]
    left_out: dict[str, int]


class Record(msgspec.Struct):
    """What is on record of measurements at the newest level.

    Attributes:
        shared: the backends of rules that operators share.
        operators: what was measured of each one.
    """

    shared: list[str]
    operators: dict[str, OperatorRecord]

    @classmethod
    def load(cls, file: Path) -> Record:
        """Read what is on record, without operators that are no more; nothing where there is no file."""
        if not file.exists():
            return cls([], {})
        found = msgspec.json.decode(file.read_bytes(), type=cls)
        return cls(found.shared, {name: found.operators[name] for name in operators() if name in found.operators})

    def save(self, file: Path) -> None:
        """Write it, each operator on a line; what was there stays until all of it is written."""
        lines = (f"  {json.dumps(name)}: {msgspec.json.encode(one).decode()}" for name, one in self.operators.items())
        shared, every = json.dumps(self.shared), ",\n".join(lines)
        new = file.with_suffix(".new")
        new.write_text(f'{{\n "shared": {shared},\n "operators": {{\n{every}\n }}\n}}\n', encoding="utf-8")
        new.replace(file)

    def out_of_date(self) -> list[str]:
        """The operators that are not on record, or whose rules, wrong backends or cases were others."""
        known = self.operators
        return [name for name in operators() if name not in known or known[name].behaviour != behaviour_digest(name)]

    def keep(self, outcomes: Sequence[Outcome]) -> None:
        """Put what was measured of an operator in the place of what was on record of it."""
        name = outcomes[0].operator
        run = [outcome for outcome in outcomes if not outcome.left_out]
        of_rules = {outcome.mutant for outcome in run if outcome.family == BY_RULE}
        own = {mutant for mutant in of_rules if mutant.split()[1].startswith(f"{name}.")}
        self.shared = sorted({mutant for mutant in self.shared if mutant.split()[1] in rules()} | of_rules - own)
        self.operators[name] = OperatorRecord(
            behaviour_digest(name),
            len(own),
            dict(Counter(outcome.family for outcome in run)),
            tuple(
                SurvivorRecord(budget, outcome.mutant, outcome.family, outcome.about)
                for outcome in run
                for budget in outcome.kills
                if not outcome.is_killed(budget)
            ),
            dict(Counter(outcome.left_out for outcome in outcomes if outcome.left_out)),
        )
        self.operators = {name: self.operators[name] for name in operators() if name in self.operators}

    def survivors(self) -> dict[SurvivorRecord, list[str]]:
        """What a budget does not kill, in the budgets' order, and at which operators."""
        found: dict[SurvivorRecord, list[str]] = {}
        for budget in PROMISED:
            for name, one in self.operators.items():
                for survivor in one.survivors:
                    if survivor.budget == budget:
                        found.setdefault(survivor, []).append(name)
        return found

    def families(self) -> dict[str, FamilyTotals]:
        """The totals of each family that is planted."""
        plantings: Counter[str] = Counter()
        for one in self.operators.values():
            plantings.update(one.families)
        missed: dict[str, Counter[str]] = {budget: Counter() for budget in PROMISED}
        for survivor, names in self.survivors().items():
            missed[survivor.budget][survivor.family] += len(names)
        mutants = Counter(mutant.family() for mutant in MUTANTS if self._has(mutant))
        mutants[BY_RULE] = len(self.shared) + sum(one.own for one in self.operators.values())
        return {
            name: FamilyTotals(
                mutants[name], plantings[name], {budget: plantings[name] - missed[budget][name] for budget in PROMISED}
            )
            for name in EVERY_FAMILY
            if plantings[name]
        }

    def _has(self, mutant: type[Mutant]) -> bool:
        return any(name in self.operators and mutant.shows_at(name, HIGHEST) for name in mutant.operators())

    def left_out(self) -> dict[str, int]:
        """By reason, how many plantings were not run."""
        every: Counter[str] = Counter()
        for one in self.operators.values():
            every.update(one.left_out)
        return dict(every)

    def totals(self) -> Totals:
        """What the product is shipped with."""
        families = self.families().values()
        return Totals(
            suite_version(),
            {name: one.behaviour for name, one in self.operators.items()},
            sum(family.mutants for family in families),
            sum(family.plantings for family in families),
            {budget: sum(family.killed[budget] for family in families) for budget in PROMISED},
        )


def _grouped(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    return groups


def _row(name: str, outcomes: list[Outcome], budgets: tuple[str, ...], *, one: bool = True) -> ScoreRow:
    cases = {}
    for budget in budgets:
        numbers = [kill.number for outcome in outcomes for kill in outcome.kills[budget] if kill is not None]
        cases[budget] = float(median(numbers)) if numbers else 0.0
    witnesses = [outcome.witness for outcome in outcomes if outcome.witness is not None]
    last = outcomes[-1] if outcomes else None
    return ScoreRow(
        name,
        last.family if last and one else "",
        last.about if last and one else "",
        len({outcome.mutant for outcome in outcomes}),
        len(outcomes),
        {budget: sum(outcome.is_killed(budget) for outcome in outcomes) for budget in budgets},
        {str(phase): sum(outcome.is_killed_in(budgets[-1], phase) for outcome in outcomes) for phase in JUDGED_PHASES},
        cases,
        min(witnesses, key=lambda w: (w.dimensions, w.elements, w.size), default=None) if one else None,
    )


@cache
def behaviour_digest(operator: str) -> str:
    """64 bits of a SHA-256 over what the score of an operator depends on, as far as it is quickly told.

    That is its rules, wrong backends and cases: those of the quick budget, but for search, and for all but the first of
    the sweep. No text of a file is in it, so a comment or a moved line changes nothing. All are those of the highest
    level; at the levels below they follow from the same rules. Of wrong backends by rule it has the kinds, as each one
    follows from rules and cases.
    """
    digest = hashlib.sha256(suite_version().encode())
    ids = sorted(rule.id for rule in rules_of(operator) if rule.id != CLAIMS)  # which no case is about
    backends = (f"{operator} {one.family} {one.mutant}" for one in planted(operator, HIGHEST, FAMILIES))
    cases = chain(
        example_cases(operator, HIGHEST).values(),
        boundary_cases(operator, HIGHEST),
        scale_cases(operator, HIGHEST, BUDGETS["quick"].reach),
        (numbered_case(0, operator, HIGHEST, number) for number in range(SWEPT)),
    )
    for part in chain(ids, KINDS, backends, (case.digest for case in cases)):
        digest.update(part.encode() + b"\n")
    return digest.hexdigest()[:16]
