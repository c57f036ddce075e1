"""How strong the suite was measured to be: totals that `python tests/strength --record` writes beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from dml_conformance.reports.model.release import suite_version

FILE = Path(__file__).with_suffix(".json")


class Totals(msgspec.Struct, frozen=True):
    """What campaigns with each budget find of backends that are wrong on purpose.

    Attributes:
        suite_version: that was measured.
        operators: that it was measured on, at the newest level, and a digest of each one's rules, wrong backends and
            cases.
        mutants: wrong backends.
        plantings: combinations of wrong backend, operator and level.
        killed: by budget, in ascending order, how many of the plantings a campaign finds, whatever the seed.
    """

    suite_version: str
    operators: dict[str, str]
    mutants: int
    plantings: int
    killed: dict[str, int]

    def save(self) -> None:
        FILE.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")


@cache
def recorded_totals() -> Totals:
    """The totals that this release comes with."""
    return msgspec.json.decode(FILE.read_bytes(), type=Totals)


def strength_of(budget: str) -> dict[str, Any]:
    """What a campaign says of the strength of its suite.

    The full budget has not been measured: it does more than the standard one, whose totals stand for it.
    """
    totals = recorded_totals()
    measured = budget if budget in totals.killed else list(totals.killed)[-1]
    return {
        "suite_version": totals.suite_version,
        "is_current": totals.suite_version == suite_version(),
        "budget": measured,
        "operators": len(totals.operators),
        "mutants": totals.mutants,
        "plantings": totals.plantings,
        "killed": totals.killed[measured],
    }
