"""What came out of running the wrong backends: the score, and the digest of the behaviour that it was measured on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import median

import msgspec

from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.strength import Totals
from dml_conformance.reports.model.records import JUDGED_PHASES
from dml_conformance.reports.model.release import suite_version
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import rules_of
from dml_conformance.spec.rules import CLAIMS
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.scale import scale_cases
from strength.measure import EVERY_FAMILY, FAMILIES, Outcome, Plan, Witness, measure, planted
from strength.mutants import MUTANTS

# What a budget promises: the share of the wrong backends that it kills.
PROMISED = {"quick": 0.9, "standard": 1.0}
NAMED = 4  # operators of a survivor
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


class FamilyRecord(msgspec.Struct, frozen=True):
    """How many backends are about one thing, where they were planted, and how many plantings each budget kills."""

    mutants: int
    plantings: int
    killed: dict[str, int]

    def __add__(self, other: FamilyRecord) -> FamilyRecord:
        killed = {budget: number + other.killed[budget] for budget, number in self.killed.items()}
        return FamilyRecord(self.mutants + other.mutants, self.plantings + other.plantings, killed)


class SurvivorRecord(msgspec.Struct, frozen=True):
    """A backend that a budget does not kill: its fault, at how many operators, and the first of these."""

    budget: str
    mutant: str
    about: str
    places: int
    named: tuple[str, ...]

    def __add__(self, other: SurvivorRecord) -> SurvivorRecord:
        named = (self.named + other.named)[:NAMED]
        return msgspec.structs.replace(self, places=self.places + other.places, named=named)


class Record(msgspec.Struct, frozen=True):
    """What is on record of measurements at the newest level, each of operators of its own.

    Attributes:
        suite_version: that was measured.
        operators: that it was measured on, and a digest of each one's rules, wrong backends and cases.
        families: by what the faults are about.
        survivors: what a budget does not kill.
        left_out: by reason, how many plantings were not run, because they are right or the same as another.
    """

    suite_version: str
    operators: dict[str, str]
    families: dict[str, FamilyRecord]
    survivors: tuple[SurvivorRecord, ...]
    left_out: dict[str, int]

    @classmethod
    def of(cls, score: Score, known: Collection[str] = ()) -> Record:
        """What goes on record; of the backends those that no operator already known has."""
        by_name = {row.name: row for row in score.mutants}
        new = Counter(row.family for row in score.mutants if _is_new(row.name, score.operators, known))
        places: dict[tuple[str, str], list[str]] = {}
        for survivor in score.survivors:
            places.setdefault((survivor.budget, survivor.mutant), []).append(survivor.operator)
        return cls(
            score.suite_version,
            {name: behaviour_digest(name) for name in score.operators},
            {row.name: FamilyRecord(new[row.name], row.plantings, row.killed) for row in score.families},
            tuple(
                SurvivorRecord(budget, mutant, by_name[mutant].about, len(found), tuple(found[:NAMED]))
                for (budget, mutant), found in places.items()
            ),
            score.left_out,
        )

    def __add__(self, other: Record) -> Record:
        """Both measurements, of different operators."""
        survivors = {(one.budget, one.mutant): one for one in self.survivors}
        for one in other.survivors:
            before = survivors.get((one.budget, one.mutant))
            survivors[one.budget, one.mutant] = before + one if before else one
        families = dict(self.families)
        for name, row in other.families.items():
            families[name] = families[name] + row if name in families else row
        return Record(
            self.suite_version,
            self.operators | other.operators,
            {name: families[name] for name in EVERY_FAMILY if name in families},
            tuple(survivors.values()),
            dict(Counter(self.left_out) + Counter(other.left_out)),
        )

    @property
    def total(self) -> FamilyRecord:
        """All families together."""
        first, *others = self.families.values()
        return sum(others, first)

    def totals(self) -> Totals:
        """What the product is shipped with."""
        return Totals(self.suite_version, self.operators, self.total.mutants, self.total.plantings, self.total.killed)


def _is_new(name: str, measured: Collection[str], known: Collection[str]) -> bool:
    """Whether a backend is planted in none of the operators that are known, and so not yet counted.

    One made of a rule is new where the rule is an operator's own: those of all operators come with any other.
    """
    if not known:
        return True
    made = next((mutant for mutant in MUTANTS if mutant.__name__ == name), None)
    return name.split()[1].partition(".")[0] in measured if made is None else set(made.operators()).isdisjoint(known)


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


class Measured(msgspec.Struct, frozen=True):
    """The outcomes of one operator at the newest level, and the digest of the behaviour that they were measured on."""

    operator: str
    behaviour: str
    outcomes: list[Outcome]


def go_on(plan: Plan, workers: int, file: Path) -> Iterator[list[Outcome]]:
    """The outcomes of a plan for the record: those that a file has of the same behaviour, and what is measured anew.

    What is measured is added to the file at once, a line for each operator; one that is cut off is measured again.
    """
    kept: dict[str, Measured] = {}
    if file.exists():
        for line in file.read_bytes().splitlines():
            with suppress(msgspec.DecodeError):
                found = msgspec.json.decode(line, type=Measured)
                kept[found.operator] = found
    known = [name for name in plan.operators if name in kept and kept[name].behaviour == behaviour_digest(name)]
    yield from (kept[name].outcomes for name in known)
    left = replace(plan, operators=[name for name in plan.operators if name not in known])
    with file.open("ab") as out:
        for outcomes in measure(left, workers):
            operator = outcomes[0].operator
            out.write(msgspec.json.encode(Measured(operator, behaviour_digest(operator), outcomes)) + b"\n")
            out.flush()
            yield outcomes


@cache
def behaviour_digest(operator: str) -> str:
    """64 bits of a SHA-256 over what the score of an operator depends on, as far as it is quickly told.

    That is its rules, wrong backends and cases: those of the quick budget, but for search, and for all but the first of
    the sweep. No text of a file is in it, so a comment or a moved line changes nothing. All are those of the highest
    level; at the levels below they follow from the same rules, and wrong backends by rule follow from rules and cases
    everywhere.
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
    for part in chain(ids, backends, (case.digest for case in cases)):
        digest.update(part.encode() + b"\n")
    return digest.hexdigest()[:16]
