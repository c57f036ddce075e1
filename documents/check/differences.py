"""What pages on one operator do not say alike, whatever languages they are in.

A page is a flat list of facts that can be compared with another page's: what it says in intervals, types, levels,
tables, examples and code; what it says in sentences is none. All is read from the English original where the page
carries one: where the translation alone is at fault, the page does not say something else.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from dml_conformance.documents.check.identifiers import compact
from dml_conformance.documents.check.subject import PageSubject
from dml_conformance.documents.read.model import FieldSection, LevelTable, Page, PageExample, PrintedInterval, Value
from dml_conformance.documents.read.words import levels_in
from dml_conformance.reports.model.grouping import grouped
from dml_conformance.spec.examples import flattened

_EXCLUSIVE_END = re.compile(r"(.*\D)[-−]1")
_BETWEEN = ", "
_NOT_THERE = "not there"  # what a page says of a fact that it lacks


class Version(msgspec.Struct, frozen=True):
    """What some pages say.

    Attributes:
        value: as it stands on the first of them; `not there` where they lack it.
        paths: the pages.
    """

    value: str
    paths: tuple[str, ...]


class PageDifference(msgspec.Struct, frozen=True):
    """A fact on which the pages of an operator differ.

    Attributes:
        operator: its name.
        subject: what about: `table/4_1/InputTensor/data-types`.
        versions: what the pages say, the version of most pages first.
    """

    operator: str
    subject: str
    versions: tuple[Version, ...]


def differences(pages: Sequence[Page]) -> Iterator[PageDifference]:
    """What pages do not say alike, operator by operator in the order in which they first come."""
    for operator, its_pages in grouped(pages, attrgetter("operator")).items():
        facts = [facts_of(page) for page in its_pages] if len(its_pages) > 1 else []
        for subject, groups in _differing(facts):
            groups.sort(key=len, reverse=True)
            firsts = [facts[group[0]].get(subject) for group in groups]
            shown = [_NOT_THERE if first is None else first.shown for first in firsts]
            paths = [tuple(its_pages[n].path for n in group) for group in groups]
            yield PageDifference(operator, subject, tuple(map(Version, shown, paths)))


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


def _facts(page: Page) -> Iterator[Fact]:
    subject = PageSubject.of(page)
    if page.declarations:
        yield Fact("syntax", "", "a syntax block")
        yield Fact("syntax/structure", page.structure or "", page.structure or "")
        yield _order("syntax/order", [declaration.name for declaration in page.declarations])
    for declaration in page.declarations:
        yield Fact(f"syntax/{declaration.name}", "", declaration.name)
        yield Fact(f"syntax/{declaration.name}/type", compact(declaration.type), declaration.type)
    for member in page.members:
        yield from _member_facts(member)
    if subject.introduced_in is not None:
        yield Fact("introduced-in", subject.introduced_in[0], subject.introduced_in[0])
    for table in subject.tables:
        yield from _table_facts(table)
    for example in page.examples:
        yield from _example_facts(example)
    for block in page.code_blocks:
        # What the syntax block and the examples hold are facts of their own; white space and comments are print.
        if block.role not in ("syntax", "example"):
            yield Fact(f"code/{block.section}", compact(re.sub(r"//[^\n]*", "", block.text)), block.text)


def _order(subject: str, names: Sequence[str]) -> Fact:
    return Fact(subject, _BETWEEN.join(names), _BETWEEN.join(names))


def _member_facts(member: FieldSection) -> Iterator[Fact]:
    subject, shown = f"member/{member.name.english}", member.type
    yield Fact(subject, "", member.name.english)
    if shown is not None:
        yield Fact(f"{subject}/type", compact(shown), shown)
    for interval in member.ranges:
        yield Fact(f"{subject}/range", _range_value(interval), interval.text)
    named = _BETWEEN.join(sorted({label for quoted in member.text for label in levels_in(quoted.english)}))
    if named:
        yield Fact(f"{subject}/levels", named, named)


def _range_value(interval: PrintedInterval) -> str:
    """The integers that it holds in one spelling: `[0, N-1]` as `[0, N)`."""
    low, high, closed = compact(interval.low), compact(interval.high), interval.high_closed
    below = _EXCLUSIVE_END.fullmatch(high) if closed else None
    if below:
        high, closed = below[1], False
    return f"{'(['[interval.low_closed]}{low},{high}{')]'[closed]}"


def _table_facts(table: LevelTable) -> Iterator[Fact]:
    subject = f"table/{table.label}"
    yield Fact(subject, "", table.label)
    yield _order(f"{subject}/row-order", [row.tensor for row in table.rows])
    of_rows = _numbered(Fact(f"{subject}/{row.tensor}", "", row.tensor) for row in table.rows)
    for of_row, row in zip(of_rows, table.rows, strict=True):
        yield of_row
        counts, types = (None if said is None else sorted(said) for said in (row.dimension_counts, row.data_types))
        for column, value in (("kind", row.kind), ("dimension_counts", counts), ("data_types", types)):
            if value is not None:
                yield Fact(f"{of_row.subject}/{column.replace('_', '-')}", str(value), table.cell(row, column).english)


def _example_facts(example: PageExample) -> Iterator[Fact]:
    subject = f"example/{example.number}"
    yield Fact(subject, "", example.title.text if example.title else subject)
    for name, value in example.attributes.items():
        yield _value_fact(f"{subject}/{name}", value)
    labels = (tensor.label.text for tensor in example.tensors)
    of_tensors = _numbered(Fact(f"{subject}/{label}", "", label) for label in labels)
    for of_tensor, tensor in zip(of_tensors, example.tensors, strict=True):
        yield of_tensor
        yield from (_value_fact(f"{of_tensor.subject}/{name}", value) for name, value in tensor.printed.items())


def _value_fact(subject: str, value: Value) -> Fact:
    # Scraped text loses commas and rows: how the elements are nested is a matter of print, which they are is not.
    elements = ",".join(map(str, flattened(value.text if value.value is None else value.value)))
    return Fact(subject, elements, value.text)


def _differing(pages: Sequence[Mapping[str, Fact]]) -> Iterator[tuple[str, list[list[int]]]]:
    """Each subject on which pages differ, with the numbers of the pages that say the same together.

    In the order of the pages. Those that lack the subject are the last group; one that lacks what it stands under, such
    as the table of a cell, is in none: that is one difference, whatever would stand under it.
    """
    for subject in dict.fromkeys(subject for facts in pages for subject in facts):
        parts = subject.split("/")
        above = ["/".join(parts[:end]) for end in range(1, len(parts))]
        stated_above = [parent for parent in above if any(parent in facts for facts in pages)]
        said: defaultdict[str, list[int]] = defaultdict(list)
        lacking = []
        for n, facts in enumerate(pages):
            if subject in facts:
                said[facts[subject].value].append(n)
            elif all(parent in facts for parent in stated_above):
                lacking.append(n)
        groups = [*said.values(), *([lacking] if lacking else [])]
        # That a name is missing is another difference than the order of those that are there.
        is_of_others = subject.endswith("order") and len({frozenset(value.split(_BETWEEN)) for value in said}) > 1
        if len(groups) > 1 and not is_of_others:
            yield subject, groups
