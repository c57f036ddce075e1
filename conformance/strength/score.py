"""What came out of running the wrong backends: the score, as it is shown, and as it is kept beside the code.

A score holds for the sources that it was measured on. Their digest is in it, so one that is out of date is seen.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from dml_conformance.conformance.strength.measure import EVERY_FAMILY, Outcome, Plan, Witness
from dml_conformance.reports.records import Phase
from dml_conformance.reports.release import suite_version

# What a budget promises: the share of the wrong backends that it kills.
PROMISED = {"quick": 0.9, "standard": 1.0}
RECORDED = Path(__file__).with_name("score.json")
_ROOT = Path(__file__).parents[2]
# What a score depends on, below the folder of the packages.
_SOURCES = (
    "spec/*.py",
    "spec/operators/*.py",
    "strategies/**/*.py",
    "backends/base.py",
    "backends/reference/*.py",
    "conformance/judge/batch.py",
    "conformance/campaign/budget.py",
    "conformance/judge/compare.py",
    "conformance/judge/judge.py",
    "conformance/judge/memory.py",
    "conformance/campaign/search.py",
    "conformance/judge/simplify.py",
    "conformance/strength/rule_mutants.py",
    "conformance/strength/measure.py",
    "conformance/strength/steps.py",
    "conformance/strength/streams.py",
    "conformance/strength/mutants/*.py",
)


class Row(msgspec.Struct, frozen=True):
    """One wrong backend, or a family of them.

    Attributes:
        name: of the backend or family.
        family: what the fault is about.
        about: the fault in words.
        mutants: how many backends; 1, but for a family.
        plantings: how many combinations of backend, operator and level.
        killed: by budget, how many of the plantings a campaign kills, whatever the seed.
        phases: the same by phase, of the largest budget.
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


class Survivor(msgspec.Struct, frozen=True):
    """A planting that a budget does not kill under every seed."""

    budget: str
    mutant: str
    operator: str
    level: str


class Score(msgspec.Struct, frozen=True):
    """The mutation score of the suite.

    Attributes:
        suite_version: of the package.
        sources: SHA-256 over the sources that it depends on.
        operators, levels, budgets, seeds: what was run.
        total: all plantings in one row.
        families: a row each.
        mutants: a row each.
        survivors: what a budget misses.
        left_out: by reason, how many plantings were not run, because they are right or the same as another.
    """

    suite_version: str
    sources: str
    operators: tuple[str, ...]
    levels: tuple[str, ...]
    budgets: tuple[str, ...]
    seeds: tuple[int, ...]
    total: Row
    families: tuple[Row, ...]
    mutants: tuple[Row, ...]
    survivors: tuple[Survivor, ...]
    left_out: dict[str, int]

    @classmethod
    def of(cls, plan: Plan, outcomes: Iterable[Outcome]) -> Score:
        """The score of a plan whose outcomes are these."""
        every = list(outcomes)
        run = [outcome for outcome in every if not outcome.left_out]
        budgets = tuple(plan.budgets)
        by_mutant = _grouped(run, lambda outcome: outcome.mutant)
        by_family = _grouped(run, lambda outcome: outcome.family)
        order = {family: n for n, family in enumerate(EVERY_FAMILY)}
        mutants = [_row(name, group, budgets) for name, group in by_mutant.items()]
        families = [_row(name, group, budgets, one=False) for name, group in by_family.items()]
        return cls(
            suite_version(),
            sources_digest(),
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

    @property
    def is_current(self) -> bool:
        """Whether it was measured on the sources that are here."""
        return self.sources == sources_digest()

    def share(self, budget: str) -> float:
        """How much of what was planted a budget kills; 1 where nothing was."""
        return self.total.killed[budget] / self.total.plantings if self.total.plantings else 1.0

    @property
    def keeps_promises(self) -> bool:
        """Whether every budget kills as much as it has to."""
        return all(self.share(budget) >= PROMISED[budget] for budget in self.budgets)

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def _grouped(outcomes: Iterable[Outcome], key: Any) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    return groups


def _row(name: str, outcomes: list[Outcome], budgets: tuple[str, ...], *, one: bool = True) -> Row:
    cases = {}
    for budget in budgets:
        numbers = [number for outcome in outcomes for number in outcome.cases_to_kill(budget) if number]
        cases[budget] = float(median(numbers)) if numbers else 0.0
    witnesses = [outcome.witness for outcome in outcomes if outcome.witness is not None]
    last = outcomes[-1] if outcomes else None
    return Row(
        name,
        last.family if last and one else "",
        last.about if last and one else "",
        len({outcome.mutant for outcome in outcomes}),
        len(outcomes),
        {budget: sum(outcome.is_killed(budget) for outcome in outcomes) for budget in budgets},
        {str(phase): sum(outcome.is_killed_in(budgets[-1], phase) for outcome in outcomes) for phase in Phase},
        cases,
        min(witnesses, key=lambda w: (w.dimensions, w.elements, w.size), default=None) if one else None,
    )


@cache
def sources_digest() -> str:
    """SHA-256 over what a score depends on: names and contents, line ends made alike."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _SOURCES for path in _ROOT.glob(pattern)}):
        digest.update(path.relative_to(_ROOT).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


@cache
def recorded() -> Score | None:
    """The score that this release comes with; None where the file is missing."""
    if not RECORDED.is_file():
        return None
    return msgspec.json.decode(RECORDED.read_bytes(), type=Score)


def of_campaign(budget: str) -> dict[str, Any]:
    """What a campaign says of the strength of its suite; empty where there is no score.

    The full budget has not been measured: it does more than the standard one, whose score stands for it.
    """
    score = recorded()
    if score is None:
        return {}
    measured = budget if budget in score.budgets else score.budgets[-1]
    return {
        "suite_version": score.suite_version,
        "is_current": score.is_current,
        "budget": measured,
        "mutants": score.total.mutants,
        "plantings": score.total.plantings,
        "killed": score.total.killed[measured],
    }
