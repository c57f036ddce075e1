"""Title, syntax block, member sections and the levels named in text, against each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import islice, takewhile
from pathlib import PurePath

from dml_conformance.documents.check.checks import CheckList, Fragment, Remark, listed, misplaced, repeated
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.subject import (
    Mention,
    PageSubject,
    Spot,
    heading_of,
    level_of,
    levels_of,
    same_type,
    sentences,
    type_of,
)
from dml_conformance.documents.read.model import Place, Quoted
from dml_conformance.documents.read.words import levels_in
from dml_conformance.spec.field_kinds import enumerations
from dml_conformance.spec.forms import TENSOR_FIELDS
from dml_conformance.spec.levels import HIGHEST, LOWEST, Level
from dml_conformance.spec.registry import operators

_STRUCTURE = re.compile(r"DML_([A-Z0-9_]+)_OPERATOR_DESC")
_VERSION_BEHIND = re.compile(r"DML_([A-Z0-9_]+)_OPERATOR([0-9])_DESC")
_TENSOR_NAME = re.compile(r"[A-Z][A-Za-z0-9]*Tensor")
_CAMEL_CASE = re.compile(r"(?<![A-Za-z0-9_])[A-Z][a-z]+(?:[A-Z][a-z]+)+(?![A-Za-z0-9_])", re.ASCII)
_OTHER_OPERATOR = re.compile(r"DML_(?:OPERATOR_([A-Z0-9_]+)|([A-Z0-9_]+)_OPERATOR_DESC)")
_OPERATION = r" (?:of|from) an? (?:[\w-]+ ){1,3}operat(?:ion|or)\b"  # behind a name: it is that operation's
_PLACEHOLDER = re.compile(r"\b(?:TBD|TBA|TODO)\b")
_ENUMERATOR = re.compile(r"DML_(?!FEATURE_LEVEL|\w+_DESC\b)[A-Z0-9_]+")
_QUALIFIED = re.compile(r"([A-Za-z]+)\.([A-Z][a-z]+)(?![A-Za-z0-9_])", re.ASCII)
# How alike a word and a name must be for the name to be meant, 1 being the same; behind a field's dot stands a name.
_ALIKE, _ALIKE_BEHIND_A_DOT = 0.9, 0.8
_LONGEST_AND = 6  # characters of the longest "and" of a language, with its spaces
_MOST_WORDS, _MOST_NAMES, _LONGEST_NAME = 2_000, 500, 60

CHECKS = CheckList()


@CHECKS.add("unreadable", Severity.WARNING, "the form of the page")
def _unreadable(subject: PageSubject) -> Iterator[Remark]:
    """Everything on the page can be read.

    Cells of tables and values of examples have checks of their own; a figure within the text of a field may hold words.
    """
    figures = [range(e.example.place.line, e.example.last_line + 1) for e in subject.examples if e.is_figure]
    elsewhere = {cell.place for table in subject.page.tables for row in table.rows for cell in row.cells}
    elsewhere |= {value.place for example in subject.examples for _, value in example.values if value.value is None}
    for problem in subject.page.problems:
        is_of_figure = problem.id == "unreadable-example-line" and any(problem.place.line in lines for lines in figures)
        if problem.place not in elsewhere and not is_of_figure:
            yield Remark(problem.id, Spot(problem.place, problem.fragment), problem.what, "text that can be read")


@CHECKS.add("text-unwritten", Severity.WARNING, "the form of a page")
def _unwritten(subject: PageSubject) -> Iterator[Remark]:
    """No text is still to be written.

    Cells of tables have checks of their own.
    """
    for passage in subject.page.passages:
        left = _PLACEHOLDER.search(passage.quoted.english)
        if left is not None and passage.role != "cell":
            yield Remark(passage.section, passage.quoted, left[0], "a text")


@CHECKS.add("structure-name", Severity.ERROR, "the page is on that structure")
def _names(subject: PageSubject) -> Iterator[Remark]:
    """File name, title, front matter and syntax block name one structure."""
    page = subject.page
    expected = f"DML_{page.operator}_OPERATOR_DESC"
    syntax = next((block.place for block in page.code_blocks if block.role == "syntax"), subject.top.place)
    named = {
        "file": Spot(Place(1, 1), PurePath(page.path).name),
        "title": Spot(subject.top.place, "" if page.title is None else page.title.english),
        "syntax": Spot(syntax, page.structure or ""),
        **{f"front-matter/{key}": Spot(Place(1, 1), page.front_matter.get(key, "")) for key in ("UID", "title")},
    }
    for where, spot in named.items():
        other = _STRUCTURE.search(spot.text.upper())
        if other is not None and other[0] != expected:
            yield Remark(where, spot, other[0], expected)


@CHECKS.add("structure-misspelt", Severity.WARNING, "the structures in DirectML.h")
def _misspelt_structures(subject: PageSubject) -> Iterator[Remark]:
    """The version of an operator's structure stands before the word operator."""
    for passage in subject.page.passages:
        named = () if passage.section == "front" else _VERSION_BEHIND.finditer(passage.quoted.english)
        for match in named:
            yield Remark(match[0], passage.quoted, match[0], f"DML_{match[1]}{match[2]}_OPERATOR_DESC")


@CHECKS.add("syntax-missing", Severity.ERROR, "the form of a page on an operator")
def _no_syntax(subject: PageSubject) -> Iterator[Remark]:
    """The page declares the structure."""
    if not subject.page.declarations and not subject.is_source:
        expected = "a syntax block with the fields, their types and their order"
        yield Remark("syntax", subject.top, "no declaration of the structure that could be read", expected)


@CHECKS.add("field-misspelt", Severity.ERROR, "the fields of the structure")
def _misspelt_fields(subject: PageSubject) -> Iterator[Remark]:
    """No field is misspelt in the syntax block, above its section or in a table.

    Everything else is read as if its name were right, so that this is the only finding.
    """
    for found in subject.misspelt:
        yield Remark(f"{found.part}/{found.meant}", Spot(found.place, found.name), found.name, found.meant)


@CHECKS.add("field-twice", Severity.ERROR)
def _described_twice(subject: PageSubject) -> Iterator[Remark]:
    """No field is declared or described twice."""
    for declaration in repeated(subject.page.declarations, lambda declaration: declaration.name):
        yield Remark(declaration.name, declaration, "declared again", "one declaration", "the lines above it")
    for member in repeated(subject.page.members, lambda member: member.name.english):
        subject_of_member = f"members/{member.name.english}"
        yield Remark(subject_of_member, heading_of(member), "described again", "one section a field", "the sections")


@CHECKS.add("field-undescribed", Severity.ERROR, "the syntax block declares it")
def _undescribed(subject: PageSubject) -> Iterator[Remark]:
    """Every field of the syntax block has a section."""
    described = {member.name.english for member in subject.page.members}
    for declaration in subject.page.declarations:
        name = declaration.name
        if name not in described:
            yield Remark(name, declaration, "no section describes the field", f"a section {name}")


@CHECKS.add("field-undeclared", Severity.ERROR, "the syntax block")
def _undeclared(subject: PageSubject) -> Iterator[Remark]:
    """Every section is on a field of the syntax block."""
    declared = [declaration.name for declaration in subject.page.declarations]
    for member in subject.page.members if declared else ():
        if member.name.english not in declared:
            found = "a section on a field that the structure does not have"
            yield Remark(member.name.english, heading_of(member), found, f"one of {listed(declared)}")


@CHECKS.add("field-order", Severity.WARNING, "the order of the syntax block")
def _order(subject: PageSubject) -> Iterator[Remark]:
    """The sections stand in the order of the syntax block."""
    declared = dict.fromkeys(declaration.name for declaration in subject.page.declarations)
    sections = {member.name.english: heading_of(member) for member in reversed(subject.page.members)}
    expected = [name for name in declared if name in sections]
    for name, due in misplaced(expected, lambda name: sections[name].place):
        yield Remark(name, sections[name], f"the section {name} stands where {due} is due", listed(expected))


@CHECKS.add("field-type", Severity.ERROR, "the syntax block")
def _types(subject: PageSubject) -> Iterator[Remark]:
    """The sections name the types of the syntax block."""
    declared = {declaration.name: declaration.type for declaration in subject.page.declarations}
    for member in subject.page.members:
        name, line = member.name.english, member.type_line
        if name not in declared:
            continue
        if line is None:
            yield Remark(name, heading_of(member), "no type line", f"a line with {declared[name]}")
            continue
        found = type_of(member)
        if found is None or not same_type(found, declared[name]):
            yield Remark(name, line, found or "no type", declared[name])


@CHECKS.add("level-unknown", Severity.ERROR, "DML_FEATURE_LEVEL in DirectML.h")
def _no_such_level(subject: PageSubject) -> Iterator[Remark]:
    """Every feature level named exists."""
    for passage in subject.page.passages:
        for label in dict.fromkeys(levels_in(passage.quoted.english)):
            if level_of(label) is None:
                yield Remark(label, passage.quoted, f"DML_FEATURE_LEVEL_{label}", f"a level from {LOWEST} to {HIGHEST}")


@CHECKS.add("introduction-missing", Severity.WARNING, "the form of a page")
def _no_introduction(subject: PageSubject) -> Iterator[Remark]:
    """The page names the level that introduced the operator."""
    if subject.introduced_in is None:
        at = subject.page.availability[0] if subject.page.availability else subject.top
        yield Remark("level", at, "no level is named", "the level that introduced the operator")


@CHECKS.add("introduction-table", Severity.ERROR, "an operator has a table from its first level on")
def _introduction_and_tables(subject: PageSubject) -> Iterator[Remark]:
    """The lowest table is that of the level that introduced the operator."""
    if subject.introduced_in is None or not subject.table_at:
        return
    label, quoted = subject.introduced_in
    lowest = next(iter(subject.table_at))
    if level_of(label) not in (None, lowest):
        yield Remark("level", quoted, f"introduced in {label}", f"{lowest}, the level of the lowest table")


def _levels_in_sections(subject: PageSubject) -> Iterator[tuple[str, Quoted, Level, Level]]:
    """(field, sentence, level named there, level that introduced the operator)."""
    introduced = None if subject.introduced_in is None else level_of(subject.introduced_in[0])
    if introduced is None:
        return
    for member in subject.page.members:
        for level, quoted in dict.fromkeys(levels_of(member)):
            yield member.name.english, quoted, level, introduced


@CHECKS.add("text-level-below", Severity.ERROR, "the level named under availability")
def _level_below(subject: PageSubject) -> Iterator[Remark]:
    """No section names a level below the operator's first.

    A value of an enumeration may be older than the operator.
    """
    for field, quoted, level, introduced in _levels_in_sections(subject):
        if level < introduced and _ENUMERATOR.search(quoted.english) is None:
            found = f"{level}, where there was no such operator"
            yield Remark(f"{field}/{level}", quoted, found, f"a level above {introduced}")


@CHECKS.add("text-level-idle", Severity.NOTE, "the level named under availability")
def _idle_level(subject: PageSubject) -> Iterator[Remark]:
    """No section starts something at the operator's first level."""
    for field, quoted, level, introduced in _levels_in_sections(subject):
        if level == introduced:
            found = f"starting with {level}, where the operator itself starts"
            yield Remark(f"{field}/{level}", quoted, found, f"a level above {introduced}, or none")


@CHECKS.add("name-unknown", Severity.WARNING, "the fields of the structure")
def _unknown_names(subject: PageSubject) -> Iterator[Remark]:
    """Every tensor and property named in the text exists.

    Looked at is what is set as a name: of a tensor, and of a property behind its dot. It may be another operator's
    where the text names that one, and a field that only a section has is a finding of `field-undeclared`.
    """
    described = {member.name.english for member in subject.page.members}
    for quoted in _prose(subject):
        for name in quoted.marked if quoted.original is None else quoted.original_marked:
            field, _, prop = name.partition(".")
            if _TENSOR_NAME.fullmatch(field) is None:
                continue
            if field not in subject.tensors:
                if field in described or _is_of_other(field, quoted.english, subject):
                    continue
                expected = f"one of {listed(subject.tensors)}"
            elif prop.isidentifier() and prop not in TENSOR_FIELDS:  # else it is a formula
                expected = f"{field} with one of {listed(TENSOR_FIELDS)}"
            else:
                continue
            yield Remark(name, quoted, name, expected)


def _is_of_other(tensor: str, text: str, subject: PageSubject) -> bool:
    """Whether a text that names a tensor names another operator with it, as those on gradients do the forward one."""
    if get_close_matches(tensor, subject.tensors, 1, _ALIKE):
        return False  # misspelt rather
    named = {match[1] or match[2] for match in _OTHER_OPERATOR.finditer(text)}
    return bool(named - {subject.page.operator}) or re.search(re.escape(tensor) + _OPERATION, text) is not None


@CHECKS.add("name-misspelt", Severity.WARNING, "the fields of the structure")
def _misspelt_names(subject: PageSubject) -> Iterator[Remark]:
    """No name in the text is almost one that exists.

    Only words of several capitalised parts, or behind a field's dot, are looked at, since others are words of the
    language too, and in formulas; tensors that are set as names are those of `name-unknown`. Names may stand without
    anything between them, as in text that has lost its markup. `WindowSize` is one of the `WindowSizes`.
    """
    known = [*subject.field_names, *TENSOR_FIELDS]
    longest_first = sorted((*known, "Tensor"), key=len, reverse=True)
    names = re.compile(rf"(?:(?>{'|'.join(map(re.escape, longest_first))}))+s?")
    entries = {name.removesuffix("s") for name, field in subject.fields.items() if field.is_array}
    meant: dict[str, str] = {}  # by word; "" where it is a name, or like none
    for quoted in _prose(subject):
        text = quoted.english
        words = {name: (name, known, _ALIKE) for name in _CAMEL_CASE.findall(text)}
        for field, prop in _QUALIFIED.findall(text):
            if field in subject.fields:
                words[f"{field}.{prop}"] = (prop, list(TENSOR_FIELDS), _ALIKE_BEHIND_A_DOT)
        for word, (name, candidates, alike) in words.items():
            if word not in meant and len(meant) < _MOST_WORDS and len(name) <= _LONGEST_NAME:
                is_right = names.fullmatch(name) or (candidates is known and name in entries)
                close = [] if is_right else get_close_matches(name, candidates, 1, alike)
                meant[word] = close[0] if close else ""
            is_marked = word in (*quoted.marked, *quoted.original_marked)
            if meant.get(word) and not (is_marked and _TENSOR_NAME.fullmatch(word.partition(".")[0])):
                yield Remark(word, quoted, word, meant[word])
    formulas = [block for block in subject.page.code_blocks if block.role in ("formula", "pseudocode")]
    in_code = {word: block for block in reversed(formulas) for word in _CAMEL_CASE.findall(block.text)}
    for word, block in islice(in_code.items(), _MOST_NAMES):
        close = [] if word in known or word in entries else get_close_matches(word, subject.field_names, 1, _ALIKE)
        if close:
            yield Remark(word, block, word, close[0])


@CHECKS.add("enumerator-unknown", Severity.WARNING, "the enumerations in DirectML.h")
def _unknown_enumerators(subject: PageSubject) -> Iterator[Remark]:
    """Every enumerator and enumeration named exists.

    A name that is like none may be of something else in the header, unless it begins as an enumerator does.
    """
    texts: list[tuple[Fragment, str]] = [(block, block.text) for block in subject.page.code_blocks]
    texts += ((passage.quoted, passage.quoted.english) for passage in subject.page.passages)
    meant: dict[str, str] = {}
    for at, text in texts:
        for name in dict.fromkeys(_ENUMERATOR.findall(text)):
            if name not in meant and len(meant) < _MOST_NAMES:
                meant[name] = _enumerator_meant(name)
            if meant.get(name):
                yield Remark(name, at, name, meant[name])


@cache
def _known_names() -> tuple[str, ...]:
    """The names in the header that begin with DML_, as far as operators and their fields have them."""
    values = (f"{name}_{value}" for name, kind in enumerations().items() for value in kind.enum.__members__)
    return (*enumerations(), *values, *(f"DML_OPERATOR_{name}" for name in operators()))


@lru_cache(maxsize=4 * _MOST_NAMES)
def _enumerator_meant(name: str) -> str:
    """What should stand there; "" where the name is right, or may be."""
    if name in _known_names() or len(name) > _LONGEST_NAME:
        return ""
    if close := get_close_matches(name, _known_names(), 1, _ALIKE):
        return close[0]
    of = next((known for known in enumerations() if name.startswith(f"{known}_")), None)
    return "" if of is None else f"one of {listed(f'{of}_{value}' for value in enumerations()[of].enum.__members__)}"


def _prose(subject: PageSubject) -> Iterator[Quoted]:
    """The sentences, headings and items of the page; tables have checks of their own."""
    if subject.tensors:
        for passage in subject.page.passages:
            if not passage.section.startswith(("support", "front")):
                yield passage.quoted


@CHECKS.add("property-mismatch", Severity.WARNING, "only the same property of two tensors can agree")
def _unlike_properties(subject: PageSubject) -> Iterator[Remark]:
    """Tensors are held to agree in the same property.

    Looked at are properties named side by side right before another tensor's: `DimensionCount and DataType must match
    InputTensor.DimensionCount`. Words between them are not read, so no more than one short one may stand there.
    """
    for member in subject.page.members:
        for quoted, sentence in ((text, part) for text in member.text for part in sentences(text.english)):
            own: list[Mention] = []
            mentioned = list(subject.mentions(sentence))
            for n, mention in enumerate(mentioned):
                if mention.field and mention.property:
                    others = list(takewhile(lambda other: other.field and other.property, mentioned[n:]))
                    unmatched = [prop for prop in own if prop.property not in {other.property for other in others}]
                    if len(own) > 1 and 0 < len(unmatched) < len(own):
                        prop = unmatched[0].property
                        yield Remark(
                            f"{member.name.english}/{prop}",
                            Spot(quoted.place, sentence if quoted.original is None else quoted.text),
                            f"{prop} is held against {mention.field}.{mention.property}",
                            f"{prop} against {mention.field}.{prop}",
                        )
                if mention.field or (own and not _side_by_side(sentence[own[-1].end : mention.start])):
                    own = []
                if not mention.field:
                    own.append(mention)


def _side_by_side(between: str) -> bool:
    """Whether the text between two names is no more than `and`, a comma or nothing."""
    return len(between) <= _LONGEST_AND and not any(character.isdigit() for character in between)
