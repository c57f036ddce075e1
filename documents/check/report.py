"""All checks on many pages, and what they found together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from dml_conformance.documents.check.computed_checks import computed_remarks
from dml_conformance.documents.check.differences import PageDifference, differences
from dml_conformance.documents.check.example_checks import example_remarks
from dml_conformance.documents.check.field_checks import field_remarks
from dml_conformance.documents.check.model import Check, PageFinding, Severity, checks, findings, remark
from dml_conformance.documents.check.registry_checks import registry_remarks
from dml_conformance.documents.check.subject import PageSubject, Spot, level_of
from dml_conformance.documents.check.table_checks import table_remarks
from dml_conformance.documents.check.translation import translation_remarks
from dml_conformance.documents.read.collect import OtherFile, UnreadableFile
from dml_conformance.documents.read.model import Form, Page, Place

FORMAT = 1
MOST_FINDINGS = 1_000  # of a page; the worst of 850 published pages has some 200
_ALONE = (field_remarks, table_remarks, example_remarks, computed_remarks, registry_remarks)


class PageFindings(msgspec.Struct, frozen=True):
    """What was found on one page, and what tells it from others on its operator.

    Attributes:
        path: of the file.
        operator: that the page is about.
        language, edition: None where the page does not tell.
        form: what kind of file it is.
        has_original: whether it carries its English original.
        levels: those of its tables, in the page's order.
        introduced_in: label; None where it names none.
        examples: how many it has.
        digest: SHA-256 of the file.
        findings: in the order of the page.
    """

    path: str
    operator: str
    language: str | None
    edition: str | None
    form: Form
    has_original: bool
    levels: tuple[str, ...]
    introduced_in: str | None
    examples: int
    digest: str
    findings: tuple[PageFinding, ...]

    @classmethod
    def of(cls, page: Page, findings: Iterable[PageFinding]) -> PageFindings:
        """What was found on a page."""
        known = (level_of(table.level) for table in PageSubject.of(page).tables)
        levels = dict.fromkeys(level.label for level in known if level is not None)
        own = {name: getattr(page, name) for name in cls.__struct_fields__ if name in page.__struct_fields__}
        shown = {**own, "levels": tuple(levels), "examples": len(page.examples), "findings": tuple(findings)}
        return cls(has_original=page.has_original, **shown)


class CheckedPages(msgspec.Struct, frozen=True):
    """What came of a run over pages.

    Attributes:
        format: 1; raised when something in it changes meaning.
        ok: whether every file could be read and no finding counts as an error.
        counts: how many findings of each severity, by its name; of those that are listed, see `more-findings`.
        known: how many of these are known errata.
        ignore_known: whether errors that are known errata do not count.
        pages: what was found, page by page.
        differences: what pages on one operator do not say alike.
        checks: all that can find something, whether it did or not.
        skipped: files in folders that are no pages on operators.
        failures: files that cannot be read as pages.
    """

    format: int
    ok: bool
    counts: dict[str, int]
    known: dict[str, int]
    ignore_known: bool
    pages: tuple[PageFindings, ...]
    differences: tuple[PageDifference, ...]
    checks: tuple[Check, ...]
    skipped: tuple[OtherFile, ...]
    failures: tuple[UnreadableFile, ...]

    @classmethod
    def of(
        cls,
        pages: tuple[PageFindings, ...],
        differences: tuple[PageDifference, ...] = (),
        *,
        ignore_known: bool = False,
        skipped: tuple[OtherFile, ...] = (),
        failures: tuple[UnreadableFile, ...] = (),
    ) -> CheckedPages:
        """What was found on pages, counted."""
        every = [finding for page in pages for finding in page.findings]
        counts = Counter(str(finding.severity) for finding in every)
        known = Counter(str(finding.severity) for finding in every if finding.erratum)
        errors = counts[Severity.ERROR] - (known[Severity.ERROR] if ignore_known else 0)
        return cls(
            format=FORMAT,
            ok=not errors and not failures,
            counts={str(severity): counts[severity] for severity in Severity},
            known={str(severity): known[severity] for severity in Severity},
            ignore_known=ignore_known,
            pages=pages,
            differences=differences,
            checks=tuple(checks().values()),
            skipped=skipped,
            failures=failures,
        )

    @property
    def findings(self) -> tuple[PageFinding, ...]:
        """The findings of all pages."""
        return tuple(finding for page in self.pages for finding in page.findings)


def check_pages(
    pages: Sequence[Page],
    *,
    ignore_known: bool = False,
    skipped: tuple[OtherFile, ...] = (),
    failures: tuple[UnreadableFile, ...] = (),
) -> CheckedPages:
    """Hold every page against itself, its English original and the registry; then the pages side by side.

    Args:
        pages: on any operators.
        ignore_known: whether errors that are known errata do not count.
        skipped: files that were found beside the pages.
        failures: files that could not be read; with any, the outcome is not `ok`.
    """
    found = tuple(PageFindings.of(page, _check(page)) for page in pages)
    return CheckedPages.of(
        found, tuple(differences(pages)), ignore_known=ignore_known, skipped=skipped, failures=failures
    )


def check_page(page: Page) -> list[PageFinding]:
    """One page against itself and against the registry, in the order of the page.

    Everything is read from the English original where the page carries one; see `subject`. An operator that the
    registry does not know is held against its own page, and a note says so.
    """
    subject = PageSubject.corrected(page)
    return _in_order(findings(page, chain.from_iterable(remarks(subject) for remarks in _ALONE)))


def _check(page: Page) -> list[PageFinding]:
    """One page against all that it can be held against; of very many findings the most serious ones."""
    found = [*check_page(page), *findings(page, translation_remarks(page))]
    if (left := len(found) - MOST_FINDINGS) > 0:
        most_serious = sorted(found, key=lambda finding: [*Severity].index(finding.severity))
        more = remark("more-findings", "findings", Spot(Place(1, 1), page.operator), left=left, most=MOST_FINDINGS)
        found = [*most_serious[:MOST_FINDINGS], *findings(page, [more])]
    return _in_order(found)


def _in_order(found: Iterable[PageFinding]) -> list[PageFinding]:
    return sorted(found, key=lambda finding: (finding.place, finding.id))
