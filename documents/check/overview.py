"""Many pages together: those on one operator side by side, and only what differs between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from dml_conformance.documents.check.facts import differing, facts_of
from dml_conformance.documents.check.model import PageFinding, Severity
from dml_conformance.documents.check.subject import PageSubject
from dml_conformance.documents.read.model import Form, Page

_NOT_THERE = "not there"  # what a page says of a fact that it lacks


class PageRow(msgspec.Struct, frozen=True):
    """One page.

    Attributes:
        path: of the file.
        language, edition: None where the page does not tell.
        form: what kind of file it is.
        has_original: whether it carries its English original.
        levels: those of its tables, in the page's order.
        introduced_in: label; None where it names none.
        examples: how many it has.
        errors, warnings, notes: how many findings it has.
        digest: SHA-256 of the file.
    """

    path: str
    language: str | None
    edition: str | None
    form: Form
    has_original: bool
    levels: tuple[str, ...]
    introduced_in: str | None
    examples: int
    errors: int
    warnings: int
    notes: int
    digest: str


class Version(msgspec.Struct, frozen=True):
    """What some pages say.

    Attributes:
        value: as it stands on the first of them; `not there` where they lack it.
        paths: the pages.
    """

    value: str
    paths: tuple[str, ...]


class Split(msgspec.Struct, frozen=True):
    """A fact on which the pages of an operator differ.

    Attributes:
        subject: what about: `table/4_1/InputTensor/data-types`.
        versions: what the pages say, the version of most pages first.
        alone: the page that differs from all others where these agree and are two or more; None otherwise.
    """

    subject: str
    versions: tuple[Version, ...]
    alone: str | None


class OperatorOverview(msgspec.Struct, frozen=True):
    """The pages on one operator, and where they differ.

    Attributes:
        operator: its name.
        pages: in the order in which they were given.
        differences: none where there is one page.
    """

    operator: str
    pages: tuple[PageRow, ...]
    differences: tuple[Split, ...]


class Overview(msgspec.Struct, frozen=True):
    """All pages by operator.

    Attributes:
        operators: in the order in which they first come.
    """

    operators: tuple[OperatorOverview, ...]


def overview(pages: Sequence[Page], findings: Sequence[Sequence[PageFinding]]) -> Overview:
    """Lay pages side by side.

    Args:
        findings: of each page, in the order of the pages.
    """
    by_operator: defaultdict[str, list[tuple[Page, Sequence[PageFinding]]]] = defaultdict(list)
    for page, of_page in zip(pages, findings, strict=True):
        by_operator[page.operator].append((page, of_page))
    return Overview(
        tuple(
            OperatorOverview(
                operator,
                tuple(_row(page, of_page) for page, of_page in its_pages),
                tuple(_splits([page for page, _ in its_pages])),
            )
            for operator, its_pages in by_operator.items()
        )
    )


def _row(page: Page, findings: Sequence[PageFinding]) -> PageRow:
    counts = {severity: sum(finding.severity is severity for finding in findings) for severity in Severity}
    return PageRow(
        path=page.path,
        language=page.language,
        edition=page.edition,
        form=page.form,
        has_original=page.has_original,
        levels=tuple(
            dict.fromkeys(str(table.level) for table in PageSubject.of(page).tables if table.level is not None)
        ),
        introduced_in=page.introduced_in,
        examples=len(page.examples),
        errors=counts[Severity.ERROR],
        warnings=counts[Severity.WARNING],
        notes=counts[Severity.NOTE],
        digest=page.digest,
    )


def _splits(pages: Sequence[Page]) -> Iterator[Split]:
    facts = [facts_of(page) for page in pages]
    for subject, groups in differing(facts):
        groups.sort(key=len, reverse=True)
        versions = tuple(
            Version(facts[group[0]][subject].shown if subject in facts[group[0]] else _NOT_THERE, paths)
            for group in groups
            for paths in [tuple(pages[index].path for index in group)]
        )
        is_alone = len(groups) == 2 and len(groups[0]) > len(groups[1]) == 1
        yield Split(subject, versions, pages[groups[1][0]].path if is_alone else None)
