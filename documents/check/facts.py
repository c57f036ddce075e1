"""A page as a flat list of facts that can be compared with another page's, whatever languages they are in.

Everything is read from the English original where the page carries one, as `subject` has it: where the translation
alone is at fault, the page does not say something else. What a page says in sentences is no fact; what it says in
intervals, types, levels, tables, examples and code is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from dml_conformance.documents.check.identifiers import compact
from dml_conformance.documents.check.subject import PageSubject, Table, type_of
from dml_conformance.documents.read.model import (
    CodeBlock,
    FieldSection,
    Page,
    PageExample,
    PrintedInterval,
    Value,
)
from dml_conformance.documents.read.words import levels_in
from dml_conformance.spec.examples import flattened

NOT_THERE = "not there"  # what a page says of a fact that it lacks
_BETWEEN = ", "
_EXCLUSIVE_END = re.compile(r"(.*\D)[-−]1")


class Topic(StrEnum):
    """What a fact is about."""

    SYNTAX = "syntax"
    STRUCTURE = "structure"
    FIELD = "field"
    FIELD_ORDER = "field-order"
    FIELD_TYPE = "field-type"
    MEMBER = "member"
    MEMBER_TYPE = "member-type"
    RANGE = "range"
    MEMBER_LEVEL = "member-level"
    INTRODUCED_IN = "introduced-in"
    TABLE = "table"
    TENSOR = "tensor"
    ROW_ORDER = "row-order"
    KIND = "kind"
    DIMENSION_COUNTS = "dimension-counts"
    DATA_TYPES = "data-types"
    EXAMPLE = "example"
    EXAMPLE_VALUE = "example-value"
    CODE = "code"


class Fact(msgspec.Struct, frozen=True):
    """One thing that a page says.

    Attributes:
        subject: what about, as a path: `table/4_1/InputTensor/data-types`. A fact stands under another where its
            subject begins with that one's.
        value: in a form that is the same on every page that says the same.
        shown: the value as a reader would write it.
    """

    topic: Topic
    subject: str
    value: str
    shown: str


def facts_of(page: Page) -> dict[str, Fact]:
    """The facts of a page by subject, in the page's order; what stands there twice has `#2` at its end."""
    counted: Counter[str] = Counter()
    facts: dict[str, Fact] = {}
    for fact in _facts(page):
        counted[fact.subject] += 1
        if counted[fact.subject] > 1:
            fact = msgspec.structs.replace(fact, subject=f"{fact.subject}#{counted[fact.subject]}")
        facts[fact.subject] = fact
    return facts


def _facts(page: Page) -> Iterator[Fact]:
    subject = PageSubject.of(page)
    yield from _syntax_facts(page)
    for member in page.members:
        yield from _member_facts(member, subject)
    if subject.introduced_in is not None:
        label, _ = subject.introduced_in
        yield Fact(Topic.INTRODUCED_IN, "introduced-in", label, label)
    for table in subject.tables:
        yield from _table_facts(table)
    for example in page.examples:
        yield from _example_facts(example)
    yield from _code_facts(page.code_blocks)


def _syntax_facts(page: Page) -> Iterator[Fact]:
    if not page.declarations:
        return
    structure, order = page.structure or "", _BETWEEN.join(declaration.name for declaration in page.declarations)
    yield Fact(Topic.SYNTAX, "syntax", "", "a syntax block")
    yield Fact(Topic.STRUCTURE, "syntax/structure", structure, structure)
    yield Fact(Topic.FIELD_ORDER, "syntax/order", order, order)
    for declaration in page.declarations:
        yield Fact(Topic.FIELD, f"syntax/{declaration.name}", "", declaration.name)
        yield Fact(Topic.FIELD_TYPE, f"syntax/{declaration.name}/type", compact(declaration.type), declaration.type)


def _member_facts(member: FieldSection, page: PageSubject) -> Iterator[Fact]:
    subject, shown = f"member/{member.name.english}", type_of(member)
    yield Fact(Topic.MEMBER, subject, "", member.name.english)
    if shown is not None:
        yield Fact(Topic.MEMBER_TYPE, f"{subject}/type", compact(shown), shown)
    for interval in page.ranges(member):
        yield Fact(Topic.RANGE, f"{subject}/range", range_value(interval), interval.text)
    named = {label for quoted in member.text for label in levels_in(quoted.english)}
    if named:
        levels = _BETWEEN.join(sorted(named))
        yield Fact(Topic.MEMBER_LEVEL, f"{subject}/levels", levels, levels)


def range_value(interval: PrintedInterval) -> str:
    """The integers that it holds in one spelling: `[0, N-1]` as `[0, N)`."""
    low, high, closed = compact(interval.low), compact(interval.high), interval.high_closed
    below = _EXCLUSIVE_END.fullmatch(high) if closed else None
    if below:
        high, closed = below[1], False
    return f"{'(['[interval.low_closed]}{low},{high}{')]'[closed]}"


def _table_facts(table: Table) -> Iterator[Fact]:
    subject = f"table/{table.label}"
    yield Fact(Topic.TABLE, subject, "", table.label)
    counted: Counter[str] = Counter()
    for row in table.every_row:
        counted[row.tensor] += 1
        of_row = f"{subject}/{row.tensor}" + (f"#{counted[row.tensor]}" if counted[row.tensor] > 1 else "")
        yield Fact(Topic.TENSOR, of_row, "", row.tensor)
        counts = None if row.dimension_counts is None else _BETWEEN.join(map(str, sorted(row.dimension_counts)))
        types = None if row.data_types is None else _BETWEEN.join(sorted(row.data_types))
        for topic, column, value in (
            (Topic.KIND, "kind", row.kind),
            (Topic.DIMENSION_COUNTS, "dimension_counts", counts),
            (Topic.DATA_TYPES, "data_types", types),
        ):
            if value is not None:
                yield Fact(topic, f"{of_row}/{topic}", value, row.quoted(column).english)
    if counted:
        names = _BETWEEN.join(row.tensor for row in table.every_row)
        yield Fact(Topic.ROW_ORDER, f"{subject}/row-order", names, names)


def _example_facts(example: PageExample) -> Iterator[Fact]:
    subject = f"example/{example.number}"
    yield Fact(Topic.EXAMPLE, subject, "", example.title.text if example.title else subject)
    for name, value in example.attributes.items():
        yield _value_fact(f"{subject}/{name}", value)
    counted: Counter[str] = Counter()
    for tensor in example.tensors:
        label = tensor.label.text
        counted[label] += 1
        of_tensor = f"{subject}/{label}" + (f"#{counted[label]}" if counted[label] > 1 else "")
        yield Fact(Topic.EXAMPLE_VALUE, of_tensor, "", label)
        yield from (_value_fact(f"{of_tensor}/{name}", value) for name, value in tensor.printed.items())


def _value_fact(subject: str, value: Value) -> Fact:
    # Scraped text loses commas and rows: how the elements are nested is a matter of print, which they are is not.
    elements = ",".join(map(str, flattened(value.text if value.value is None else value.value)))
    return Fact(Topic.EXAMPLE_VALUE, subject, elements, value.text)


def _code_facts(blocks: tuple[CodeBlock, ...]) -> Iterator[Fact]:
    """Pseudocode and formulas; white space and comments are a matter of print.

    What the syntax block and the examples hold are facts of their own.
    """
    for block in blocks:
        if block.role not in ("syntax", "example"):
            code = compact(re.sub(r"//[^\n]*", "", block.text))
            yield Fact(Topic.CODE, f"code/{block.section}", code, block.text)


def differing(pages: Sequence[Mapping[str, Fact]]) -> Iterator[tuple[str, list[list[int]]]]:
    """Each subject on which pages differ, with the numbers of the pages that say the same together.

    In the order of the pages. Those that lack the subject are the last group; one that lacks what it stands under, such
    as the table of a cell, is in none: that is one difference, whatever would stand under it.
    """
    for subject in dict.fromkeys(subject for facts in pages for subject in facts):
        above = [parent for parent in parents(subject) if any(parent in facts for facts in pages)]
        concerned = [n for n, facts in enumerate(pages) if all(parent in facts for parent in above)]
        stated = [n for n in concerned if subject in pages[n]]
        lacking = [n for n in concerned if subject not in pages[n]]
        said: defaultdict[str, list[int]] = defaultdict(list)
        for n, version in zip(stated, versions([pages[n][subject] for n in stated]), strict=True):
            said[version].append(n)
        groups = [*said.values(), *([lacking] if lacking else [])]
        if len(groups) > 1:
            yield subject, groups


def versions(facts: Sequence[Fact]) -> list[str]:
    """What each of several pages says about one subject, the same text where they say the same.

    Of an order only what stands on all of them counts: that a field is missing is another fact.
    """
    if not facts or facts[0].topic not in (Topic.FIELD_ORDER, Topic.ROW_ORDER):
        return [fact.value for fact in facts]
    orders = [fact.value.split(_BETWEEN) for fact in facts]
    shared = set.intersection(*map(set, orders))
    return [_BETWEEN.join(dict.fromkeys(name for name in order if name in shared)) for order in orders]


def parents(subject: str) -> list[str]:
    """What a subject stands under, the nearest first: of `table/4_1/InputTensor/kind` `table/4_1/InputTensor`, ..."""
    parts = subject.split("/")
    return ["/".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
