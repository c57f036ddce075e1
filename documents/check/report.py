"""All checks on many pages, and what they found together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dml_conformance.documents.check import alone, between, translation
from dml_conformance.documents.check.checks import REGISTRY
from dml_conformance.documents.check.model import CheckStatement, PageFinding, Severity
from dml_conformance.documents.check.overview import Overview, overview
from dml_conformance.documents.read.model import Page

FORMAT = 1


class PageFindings(msgspec.Struct, frozen=True):
    """What was found on one page.

    Attributes:
        path: of the file.
        operator: that the page is about.
        findings: in the order of the page.
    """

    path: str
    operator: str
    findings: tuple[PageFinding, ...]


class PageReport(msgspec.Struct, frozen=True):
    """What was found on all pages.

    Attributes:
        format: 1; raised when something in it changes meaning.
        against: path of the page that all others were held against; None where there was none.
        registry: whether the pages were held against the registry.
        counts: how many findings of each severity, by its name.
        ok: whether no finding is an error; what a command that checks pages ends with code 0 for.
    """

    format: int
    ok: bool
    counts: dict[str, int]
    registry: bool
    against: str | None
    pages: tuple[PageFindings, ...]
    overview: Overview

    @property
    def findings(self) -> tuple[PageFinding, ...]:
        """The findings of all pages."""
        return tuple(finding for page in self.pages for finding in page.findings)


def check_pages(pages: Sequence[Page], against: Page | None = None, registry: bool = True) -> PageReport:
    """Hold every page against itself, its English original, and what else is asked for; then the pages side by side.

    Args:
        pages: on any operators.
        against: another page that every page is held against.
        registry: whether to hold the pages against the registry too.

    Raises:
        DifferentOperators: a page is on another operator than `against`; nothing is checked then.
    """
    if against is not None:
        for page in pages:
            between.require_same_operator(page, against)
    found = [_check(page, against, registry) for page in pages]
    every = [finding for of_page in found for finding in of_page]
    counts = {str(severity): sum(finding.severity is severity for finding in every) for severity in Severity}
    return PageReport(
        format=FORMAT,
        ok=counts[Severity.ERROR] == 0,
        counts=counts,
        registry=registry,
        against=None if against is None else against.path,
        pages=tuple(
            PageFindings(page.path, page.operator, tuple(of_page)) for page, of_page in zip(pages, found, strict=True)
        ),
        overview=overview(pages, found),
    )


def _check(page: Page, against: Page | None, registry: bool) -> list[PageFinding]:
    found = [finding for finding in alone.check_page(page) if registry or finding.against != REGISTRY]
    found += translation.check_translation(page)
    if against is not None:
        found += between.check_between(page, against)
    return sorted(found, key=lambda finding: (finding.place, finding.id))


def statements() -> tuple[CheckStatement, ...]:
    """Every check by name and what should hold."""
    return (*alone.STATEMENTS, *translation.STATEMENTS, *between.STATEMENTS)
