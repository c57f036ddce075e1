"""One page against itself and against the registry.

To add a check, write a function that yields a `Remark` for each fault, and put it on the `CHECKS` of the module that it
belongs to; its docstring begins with what should hold. Everything is read from the English original where a page
carries one; see `subject`.
"""

from __future__ import annotations

from dml_conformance.documents.check import (
    computed_checks,
    example_checks,
    field_checks,
    registry_checks,
    table_checks,
)
from dml_conformance.documents.check.checks import PageCheck
from dml_conformance.documents.check.model import CheckStatement, PageFinding
from dml_conformance.documents.check.subject import PageSubject
from dml_conformance.documents.read.model import Page

__all__ = ["CHECKS", "STATEMENTS", "check_page"]

CHECKS: tuple[PageCheck, ...] = (
    *field_checks.CHECKS,
    *table_checks.CHECKS,
    *example_checks.CHECKS,
    *computed_checks.CHECKS,
    *registry_checks.CHECKS,
)
STATEMENTS: tuple[CheckStatement, ...] = tuple(check.described for check in CHECKS)


def check_page(page: Page) -> list[PageFinding]:
    """Every check of one page on its own, by place.

    An operator that the registry does not know is held against its own page, and a note says so.
    """
    subject = PageSubject.corrected(page)
    found = [finding for check in CHECKS for finding in check.findings(subject)]
    return sorted(found, key=lambda finding: (finding.place, finding.id))
