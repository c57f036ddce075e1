"""Many pages together: those on one operator side by side, and only what differs between them.

A page is a flat list of facts that can be compared with another page's, whatever languages they are in: what it says in
intervals, types, levels, tables, examples and code; what it says in sentences is none. All is read from the English
original where the page carries one: where the translation alone is at fault, the page does not say something else.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from dml_conformance.documents.check.identifiers import compact
from dml_conformance.documents.check.model import PageFinding, Severity
from dml_conformance.documents.check.subject import PageSubject, Table
from dml_conformance.documents.read.model import FieldSection, Form, Page, PageExample, PrintedInterval, Value
from dml_conformance.documents.read.words import levels_in
from dml_conformance.spec.examples import flattened

_BETWEEN = ", "
_ORDER = re.compile(r"/(?:row-)?order(?:#\d+)?$")
_EXCLUSIVE_END = re.compile(r"(.*\D)[-−]1")


class Fact(NamedTuple):
    """One thing that a page says.

    Attributes:
        subject: what about, as a path: `table/4_1/InputTensor/data-types`. A fact stands under another where its
            subject begins with that one's.
        value: in a form that is the same on every page that says the same.
        shown: the value as a reader would write it.
    """

    subject: str
    value: str
    shown: str


def facts_of(page: Page) -> dict[str, Fact]:
    """The facts of a page by subject, in the page's order; what stands there twice has `#2` at its end."""
    return {fact.subject: fact for fact in _numbered(_facts(page))}


def _numbered(facts: Iterator[Fact]) -> Iterator[Fact]:
    counted: Counter[str] = Counter()
    for fact in facts:
        counted[fact.subject] += 1
        count = counted[fact.subject]
        yield fact if count == 1 else fact._replace(subject=f"{fact.subject}#{count}")


def _as_shown(subject: str, text: str) -> Fact:
    return Fact(subject, text, text)


def _facts(page: Page) -> Iterator[Fact]:
    subject = PageSubject.of(page)
    if page.declarations:
        yield Fact("syntax", "", "a syntax block")
        yield _as_shown("syntax/structure", page.structure or "")
        yield _as_shown("syntax/order", _BETWEEN.join(declaration.name for declaration in page.declarations))
    for declaration in page.declarations:
        yield Fact(f"syntax/{declaration.name}", "", declaration.name)
        yield Fact(f"syntax/{declaration.name}/type", compact(declaration.type), declaration.type)
    for member in page.members:
        yield from _member_facts(member)
    if subject.introduced_in is not None:
        yield _as_shown("introduced-in", subject.introduced_in[0])
    for table in subject.tables:
        yield from _table_facts(table)
    for example in page.examples:
        yield from _example_facts(example)
    for block in page.code_blocks:
        # What the syntax block and the examples hold are facts of their own; white space and comments are print.
        if block.role not in ("syntax", "example"):
            yield Fact(f"code/{block.section}", compact(re.sub(r"//[^\n]*", "", block.text)), block.text)


def _member_facts(member: FieldSection) -> Iterator[Fact]:
    subject, shown = f"member/{member.name.english}", member.type
    yield Fact(subject, "", member.name.english)
    if shown is not None:
        yield Fact(f"{subject}/type", compact(shown), shown)
    for interval in member.ranges:
        yield Fact(f"{subject}/range", range_value(interval), interval.text)
    named = {label for quoted in member.text for label in levels_in(quoted.english)}
    if named:
        yield _as_shown(f"{subject}/levels", _BETWEEN.join(sorted(named)))


def range_value(interval: PrintedInterval) -> str:
    """The integers that it holds in one spelling: `[0, N-1]` as `[0, N)`."""
    low, high, closed = compact(interval.low), compact(interval.high), interval.high_closed
    below = _EXCLUSIVE_END.fullmatch(high) if closed else None
    if below:
        high, closed = below[1], False
    return f"{'(['[interval.low_closed]}{low},{high}{')]'[closed]}"


def _table_facts(table: Table) -> Iterator[Fact]:
    subject = f"table/{table.label}"
    yield Fact(subject, "", table.label)
    for of_row, row in zip(
        _numbered(Fact(f"{subject}/{r.tensor}", "", r.tensor) for r in table.every_row), table.every_row, strict=True
    ):
        yield of_row
        counts = None if row.dimension_counts is None else _BETWEEN.join(map(str, sorted(row.dimension_counts)))
        types = None if row.data_types is None else _BETWEEN.join(sorted(row.data_types))
        for column, value in (("kind", row.kind), ("dimension_counts", counts), ("data_types", types)):
            if value is not None:
                yield Fact(f"{of_row.subject}/{column.replace('_', '-')}", value, row.quoted(column).english)
    if table.every_row:
        yield _as_shown(f"{subject}/row-order", _BETWEEN.join(row.tensor for row in table.every_row))


def _example_facts(example: PageExample) -> Iterator[Fact]:
    subject = f"example/{example.number}"
    yield Fact(subject, "", example.title.text if example.title else subject)
    for name, value in example.attributes.items():
        yield _value_fact(f"{subject}/{name}", value)
    labels = (tensor.label.text for tensor in example.tensors)
    for of_tensor, tensor in zip(
        _numbered(Fact(f"{subject}/{label}", "", label) for label in labels), example.tensors, strict=True
    ):
        yield of_tensor
        yield from (_value_fact(f"{of_tensor.subject}/{name}", value) for name, value in tensor.printed.items())


def _value_fact(subject: str, value: Value) -> Fact:
    # Scraped text loses commas and rows: how the elements are nested is a matter of print, which they are is not.
    elements = ",".join(map(str, flattened(value.text if value.value is None else value.value)))
    return Fact(subject, elements, value.text)


def differing(pages: Sequence[Mapping[str, Fact]]) -> Iterator[tuple[str, list[list[int]]]]:
    """Each subject on which pages differ, with the numbers of the pages that say the same together.

    In the order of the pages. Those that lack the subject are the last group; one that lacks what it stands under, such
    as the table of a cell, is in none: that is one difference, whatever would stand under it.
    """
    for subject in dict.fromkeys(subject for facts in pages for subject in facts):
        parts = subject.split("/")
        above = ["/".join(parts[:end]) for end in range(1, len(parts))]
        stated_above = [parent for parent in above if any(parent in facts for facts in pages)]
        concerned = [n for n, facts in enumerate(pages) if all(parent in facts for parent in stated_above)]
        stated = [n for n in concerned if subject in pages[n]]
        lacking = [n for n in concerned if subject not in pages[n]]
        said: defaultdict[str, list[int]] = defaultdict(list)
        for n, value in zip(stated, _values(subject, [pages[n][subject].value for n in stated]), strict=True):
            said[value].append(n)
        groups = [*said.values(), *([lacking] if lacking else [])]
        if len(groups) > 1:
            yield subject, groups


def _values(subject: str, values: list[str]) -> list[str]:
    """What several pages say about one subject, the same text where they say the same.

    Of an order only what stands on all of them counts: that a field is missing is another fact.
    """
    if not values or not _ORDER.search(subject):
        return values
    orders = [value.split(_BETWEEN) for value in values]
    shared = set.intersection(*map(set, orders))
    return [_BETWEEN.join(dict.fromkeys(name for name in order if name in shared)) for order in orders]


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
