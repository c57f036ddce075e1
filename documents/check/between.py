"""A page held against another on the same operator: a translation, its English page, or another edition.

Compared are the facts of `facts`: fields, types, intervals, levels, tables cell by cell, examples, code. Sentences are
compared only where both pages have them in English, and then a difference is worth a note: another edition.

An older edition is told from an error by its tables. A page that lacks nothing but the other's newest tables, and
agrees on the fields, the types, the introduction and every table that both have, is older: a note.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher

from dml_conformance.documents.check.checks import Fragment, Remark, findings
from dml_conformance.documents.check.facts import NOT_THERE, Fact, Topic, differing, facts_of, parents
from dml_conformance.documents.check.model import CheckStatement, PageFinding, Severity
from dml_conformance.documents.check.subject import Spot, level_of
from dml_conformance.documents.read.model import Page, Passage, Place, Quoted

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_STATED = {
    Topic.SYNTAX: ("both pages declare the structure", _W),
    Topic.STRUCTURE: ("the structure has the same name on both pages", _E),
    Topic.FIELD: ("the syntax block has the same fields on both pages", _E),
    Topic.FIELD_ORDER: ("the fields stand in the same order on both pages", _E),
    Topic.FIELD_TYPE: ("a field has the same type in the syntax block of both pages", _E),
    Topic.MEMBER: ("both pages describe the same fields", _E),
    Topic.MEMBER_TYPE: ("a field's section names the same type on both pages", _E),
    Topic.RANGE: ("a field has the same interval on both pages", _E),
    Topic.MEMBER_LEVEL: ("a field's section names the same feature levels on both pages", _E),
    Topic.INTRODUCED_IN: ("the operator is introduced in the same level on both pages", _E),
    Topic.TABLE: ("both pages have tables for the same levels", _E),
    Topic.TENSOR: ("a level's table has the same tensors on both pages", _E),
    Topic.ROW_ORDER: ("the tensors of a table stand in the same order on both pages", _N),
    Topic.KIND: ("a tensor is input or output on both pages", _E),
    Topic.DIMENSION_COUNTS: ("a tensor may have the same dimension counts on both pages", _E),
    Topic.DATA_TYPES: ("a tensor may have the same data types on both pages", _E),
    Topic.EXAMPLE: ("both pages have the same examples", _W),
    Topic.EXAMPLE_VALUE: ("an example has the same tensors, sizes, types, values and attributes on both pages", _E),
    Topic.CODE: ("a formula or pseudocode is the same on both pages", _E),
}
_EDITION, _TEXT, _LOST_CODE = "between-edition", "between-text", "between-lost-code"
STATEMENTS = (
    *(CheckStatement(f"between-{topic}", statement, severity) for topic, (statement, severity) in _STATED.items()),
    CheckStatement(_LOST_CODE, "a formula or pseudocode is set as code on both pages", _W),
    CheckStatement(_EDITION, "neither page lacks the newest tables of the other", _N),
    CheckStatement(_TEXT, "English sentences are the same on both pages", _N),
)
_BY_NAME = {statement.name: statement for statement in STATEMENTS}
# What an older edition must agree on for its missing tables to be no error.
_SETTLING = frozenset(Topic) - {Topic.SYNTAX, Topic.EXAMPLE, Topic.EXAMPLE_VALUE, Topic.CODE, Topic.ROW_ORDER}
_MOST_PAIRS = 1_000_000  # of sentences in a section of both pages; the time to align them grows with it


class DifferentOperators(ValueError):
    """Two pages that cannot be held against each other; the message says why and what to do."""

    def __init__(self, page: Page, other: Page) -> None:
        super().__init__(
            f"{page.path} is about {page.operator}, {other.path} about {other.operator}: only pages on the same "
            f"operator can be held against each other; name a page on {page.operator}, or the registry"
        )


def check_between(page: Page, other: Page) -> list[PageFinding]:
    """Where `page` says something else than `other`; in the order of `page`.

    Raises:
        DifferentOperators: the pages are about different operators.
    """
    if page.operator != other.operator:
        raise DifferentOperators(page, other)
    remarks = sorted([*_fact_remarks(page, other), *_text_remarks(page, other)], key=lambda pair: pair[1].at.place)
    return list(findings(page, ((_BY_NAME[check], remark) for check, remark in remarks), other.path))


def _fact_remarks(page: Page, other: Page) -> Iterator[tuple[str, Remark]]:
    mine, theirs = facts_of(page), facts_of(other)
    topics = {subject: (mine.get(subject) or theirs[subject]).topic for subject, _ in differing([mine, theirs])}
    tables = [subject for subject, topic in topics.items() if topic is Topic.TABLE]
    is_edition = _are_newest(tables, mine, theirs) and not _SETTLING & {*topics.values()} - {Topic.TABLE}
    first_alike = {fact.topic: fact for fact in reversed(mine.values())}
    for subject, topic in topics.items():
        first, second = mine.get(subject), theirs.get(subject)
        check = f"between-{topic}"
        why = f"{other.path} has it so"
        if second is not None:
            why = f"{other.path}, line {second.place.line}"
        if topic is Topic.TABLE and is_edition:
            check = _EDITION
            older = page if first is None else other
            why += f"; {older.path} is an older edition: all its tables are those of the other page"
        elif topic is Topic.CODE and (first is None or second is None):
            check = _LOST_CODE
        above = (mine[parent] for parent in parents(subject) if parent in mine)
        # The fact, what it should stand under, or its first like on the page that is checked.
        spot: Fragment = first or next(above, first_alike.get(topic, Spot(Place(1, 1), "")))
        yield check, Remark(subject, spot, _said(first), _said(second), why)


def _are_newest(tables: list[str], mine: dict[str, Fact], theirs: dict[str, Fact]) -> bool:
    """Whether all tables that only one page has are of that page, and newer than every table that both have."""
    sides = {subject in mine for subject in tables}
    both = (subject for subject, fact in mine.items() if fact.topic is Topic.TABLE and subject in theirs)
    lone, shared = ({level_of(subject.partition("/")[2]) for subject in subjects} for subjects in (tables, both))
    if len(sides) != 1 or not shared or None in lone | shared:
        return False
    return min(level for level in lone if level) > max(level for level in shared if level)


def _said(fact: Fact | None) -> str:
    return NOT_THERE if fact is None else fact.shown


def _text_remarks(page: Page, other: Page) -> Iterator[tuple[str, Remark]]:
    """English sentences that are not the same; nothing where one of the pages has none."""
    if not (_has_english(page) and _has_english(other)):
        return
    mine, theirs = _english(page), _english(other)
    for section in dict.fromkeys([*mine, *theirs]):
        here, there = mine[section], theirs[section]
        if len(here) * len(there) > _MOST_PAIRS:
            continue
        matcher = SequenceMatcher(None, [_words(q) for q in here], [_words(q) for q in there], autojunk=False)
        for number, (tag, start, end, other_start, other_end) in enumerate(matcher.get_opcodes()):
            if tag == "equal":
                continue
            found = " ".join(quoted.english for quoted in here[start:end]) or NOT_THERE
            expected = " ".join(quoted.english for quoted in there[other_start:other_end]) or NOT_THERE
            near = (here[start:end] or here[start - 1 : start] or here)[:1]
            place = near[0].place if near else Place(1, 1)
            why = f"{other.path} has another sentence"
            yield _TEXT, Remark(f"{section}/{number}", Spot(place, found), found, expected, why)


def _has_english(page: Page) -> bool:
    return page.has_original or (page.language or "").startswith("en")


def _english(page: Page) -> defaultdict[str, list[Quoted]]:
    """Sentences and list items by section; what is in tables and headings is compared as facts."""
    found: defaultdict[str, list[Quoted]] = defaultdict(list)
    for passage in page.passages:
        if passage.role in ("sentence", "item") and _is_english(passage, page):
            found[passage.section].append(passage.quoted)
    return found


def _is_english(passage: Passage, page: Page) -> bool:
    return passage.quoted.original is not None or not page.has_original


def _words(quoted: Quoted) -> str:
    return " ".join(quoted.english.split())
