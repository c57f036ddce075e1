"""The specification held against itself: tables, rules, formulas, ranges, examples and history must agree.

Each contradiction found is a `Finding` with a stable id. One that an erratum explains is known; one that none does is
new, and means that the pages were read wrongly or that they have a fault nobody wrote down. An erratum whose expected
finding no longer appears is stale.
"""

from __future__ import annotations

from dml_conformance.documents.consistency import examples, figures, levels
from dml_conformance.documents.consistency.model import Check, Checked, Finding, Report, Standard

__all__ = ["CHECKS", "Check", "Checked", "Finding", "Report", "Standard", "check_specification"]

CHECKS: tuple[Check, ...] = (*levels.CHECKS, *examples.CHECKS, *figures.CHECKS)


def check_specification(standard: Standard | None = None) -> Report:
    """Run every check.

    Args:
        standard: what to hold against each other; None = what this package states.
    """
    standard = Standard.own() if standard is None else standard
    return Report(
        tuple(
            Checked(check.name, check.statement, check.subjects(standard), tuple(check.find(standard)))
            for check in CHECKS
        ),
        standard.errata,
    )
