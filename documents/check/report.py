"""All checks on many pages, and what they found together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import msgspec

from dml_conformance.documents.check import alone, between, translation
from dml_conformance.documents.check.checks import REGISTRY
from dml_conformance.documents.check.model import CheckStatement, PageFinding, Severity
from dml_conformance.documents.check.overview import Overview, overview
from dml_conformance.documents.read.collect import OtherFile, UnreadableFile
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


class CheckedPages(msgspec.Struct, frozen=True):
    """What came of a run over pages.

    Attributes:
        format: 1; raised when something in it changes meaning.
        ok: whether every file could be read and no finding counts as an error.
        counts: how many findings of each severity, by its name.
        known: how many of these are known errata.
        ignore_known: whether errors that are known errata do not count.
        registry: whether the pages were held against the registry.
        against: path of the page that all others were held against; null where there was none.
        pages: what was found, page by page.
        overview: the pages by operator, and where those on one operator differ.
        checks: all that can find something, whether it did or not.
        skipped: files in folders that are no pages on operators.
        failures: files that cannot be read as pages.
    """

    format: int
    ok: bool
    counts: dict[str, int]
    known: dict[str, int]
    ignore_known: bool
    registry: bool
    against: str | None
    pages: tuple[PageFindings, ...]
    overview: Overview
    checks: tuple[CheckStatement, ...]
    skipped: tuple[OtherFile, ...]
    failures: tuple[UnreadableFile, ...]

    @classmethod
    def of(
        cls,
        pages: Sequence[Page],
        found: Sequence[Sequence[PageFinding]],
        *,
        registry: bool = True,
        against: str | None = None,
        ignore_known: bool = False,
        skipped: tuple[OtherFile, ...] = (),
        failures: tuple[UnreadableFile, ...] = (),
    ) -> CheckedPages:
        """What was found on pages, counted; `found` has the findings of each page."""
        every = list(chain.from_iterable(found))
        counts = Counter(str(finding.severity) for finding in every)
        known = Counter(str(finding.severity) for finding in every if finding.erratum)
        errors = counts[Severity.ERROR] - (known[Severity.ERROR] if ignore_known else 0)
        return cls(
            format=FORMAT,
            ok=not errors and not failures,
            counts={str(severity): counts[severity] for severity in Severity},
            known={str(severity): known[severity] for severity in Severity},
            ignore_known=ignore_known,
            registry=registry,
            against=against,
            pages=tuple(
                PageFindings(page.path, page.operator, tuple(its)) for page, its in zip(pages, found, strict=True)
            ),
            overview=overview(pages, found),
            checks=statements(),
            skipped=skipped,
            failures=failures,
        )

    @property
    def findings(self) -> tuple[PageFinding, ...]:
        """The findings of all pages."""
        return tuple(finding for page in self.pages for finding in page.findings)


def check_pages(
    pages: Sequence[Page],
    against: Page | None = None,
    registry: bool = True,
    *,
    ignore_known: bool = False,
    skipped: tuple[OtherFile, ...] = (),
    failures: tuple[UnreadableFile, ...] = (),
) -> CheckedPages:
    """Hold every page against itself, its English original, and what else is asked for; then the pages side by side.

    Args:
        pages: on any operators.
        against: another page that every page is held against.
        registry: whether to hold the pages against the registry too.
        ignore_known: whether errors that are known errata do not count.
        skipped: files that were found beside the pages.
        failures: files that could not be read; with any, the outcome is not `ok`.

    Raises:
        DifferentOperators: a page is on another operator than `against`; nothing is checked then.
    """
    for page in pages:
        if against is not None and page.operator != against.operator:
            raise between.DifferentOperators(page, against)
    return CheckedPages.of(
        pages,
        [_check(page, against, registry) for page in pages],
        registry=registry,
        against=None if against is None else against.path,
        ignore_known=ignore_known,
        skipped=skipped,
        failures=failures,
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
