"""What `spec check-page` tells programs."""

from __future__ import annotations

import msgspec

from dml_conformance.documents.check import PageFindings, PageReport, statements
from dml_conformance.documents.check.model import CheckStatement, Severity
from dml_conformance.documents.check.overview import Overview
from dml_conformance.documents.report.collect import Failure, Skipped


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
    skipped: tuple[Skipped, ...]
    failures: tuple[Failure, ...]

    @classmethod
    def of(
        cls, report: PageReport, skipped: tuple[Skipped, ...], failures: tuple[Failure, ...], *, ignore_known: bool
    ) -> CheckedPages:
        known = {
            str(severity): sum(bool(f.erratum) and f.severity is severity for f in report.findings)
            for severity in Severity
        }
        errors = report.counts[Severity.ERROR] - (known[Severity.ERROR] if ignore_known else 0)
        return cls(
            report.format,
            not errors and not failures,
            report.counts,
            known,
            ignore_known,
            report.registry,
            report.against,
            report.pages,
            report.overview,
            statements(),
            skipped,
            failures,
        )
