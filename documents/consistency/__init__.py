"""The specification held against itself: tables, rules, formulas, ranges, examples and history must agree.

Each `Contradiction` found has a stable id. One that an erratum explains is known; one that none does is
new, and means that the pages were read wrongly or that they have a fault nobody wrote down. An erratum whose expected
finding no longer appears is stale.
"""

from __future__ import annotations

from dml_conformance.documents.consistency.checks import CHECKS
from dml_conformance.documents.consistency.model import ConsistencyCheck, Contradiction, Report, Standard

__all__ = ["CHECKS", "ConsistencyCheck", "Contradiction", "Report", "Standard", "check_specification"]


def check_specification(standard: Standard | None = None) -> Report:
    """Run every check.

    Args:
        standard: what to hold against each other; None = what this package states.
    """
    standard = Standard.own() if standard is None else standard
    return Report(tuple(check.outcome(standard) for check in CHECKS), standard.errata)
