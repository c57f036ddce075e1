"""Title, syntax block, member sections and the levels named in text, against each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice, takewhile
from pathlib import PurePath

from dml_conformance.documents.check.identifiers import name_meant
from dml_conformance.documents.check.model import Fragment, Remarks, listed, misplaced, remark, repeated
from dml_conformance.documents.check.subject import (
    Mention,
    PageSubject,
    Spot,
    heading_of,
    level_of,
    levels_of,
    same_type,
    sentences,
)
from dml_conformance.documents.read.model import Place, Quoted
from dml_conformance.documents.read.words import levels_in
from dml_conformance.spec.field_kinds import enumerations
from dml_conformance.spec.forms import TENSOR_FIELDS
from dml_conformance.spec.levels import HIGHEST, LOWEST
from dml_conformance.spec.registry import operators

_STRUCTURE = re.compile(r"DML_([A-Z0-9_]+)_OPERATOR_DESC")
_VERSION_BEHIND = re.compile(r"DML_([A-Z0-9_]+)_OPERATOR([0-9])_DESC")
_TENSOR_NAME = re.compile(r"[A-Z][A-Za-z0-9]*Tensor")
_CAMEL_CASE = re.compile(r"(?<![A-Za-z0-9_])[A-Z][a-z]+(?:[A-Z][a-z]+)+(?![A-Za-z0-9_])", re.ASCII)
_OTHER_OPERATOR = re.compile(r"DML_(?:OPERATOR_([A-Z0-9_]+)|([A-Z0-9_]+)_OPERATOR_DESC)")
_OPERATION = r" (?:of|from) an? (?:[\w-]+ ){1,3}operat(?:ion|or)\b"  # behind a name: it is that operation's
_FORWARD = re.compile(r"\bforward (?:pass|operator|operation)\b")
_PARTS_OF_NAME = re.compile(r"(?:[A-Z][a-z0-9]*){2,}")
_PLACEHOLDER = re.compile(r"\b(?:TBD|TBA|TODO)\b")
_ENUMERATOR = re.compile(r"DML_(?!FEATURE_LEVEL|\w+_DESC\b)[A-Z0-9_]+")
_QUALIFIED = re.compile(r"([A-Za-z]+)\.([A-Z][a-z]+)(?![A-Za-z0-9_])", re.ASCII)
# How alike a word and a name must be for the name to be meant, 1 being the same; behind a field's dot stands a name.
_ALIKE, _ALIKE_BEHIND_A_DOT = 0.9, 0.8
_LONGEST_AND = 6  # characters of the longest "and" of a language, with its spaces
_MOST_WORDS, _MOST_NAMES = 2_000, 500


def field_remarks(subject: PageSubject) -> Remarks:
    """What the parts of a page but its tables and examples contradict."""
    yield from _unreadable(subject)
    yield from _structure(subject)
    yield from _fields(subject)
    yield from _sections(subject)
    yield from _levels(subject)
    yield from _unknown_names(subject)
    yield from _misspelt_names(subject)
    yield from _forward_passes(subject)
    yield from _unknown_enumerators(subject)
    yield from _unlike_properties(subject)


def _unreadable(subject: PageSubject) -> Remarks:
    """What cannot be read, or is still to be written.

    Cells of tables and values of examples have checks of their own; a figure within the text of a field may hold words.
    """
    figures = [range(e.example.place.line, e.example.last_line + 1) for e in subject.examples if e.is_figure]
    elsewhere = {cell.place for table in subject.page.tables for row in table.rows for cell in row.cells}
    elsewhere |= {value.place for example in subject.examples for _, value in example.values if value.value is None}
    for problem in subject.page.problems:
        is_of_figure = problem.id == "unreadable-example-line" and any(problem.place.line in lines for lines in figures)
        if problem.place not in elsewhere and not is_of_figure:
            spot = Spot(problem.place, problem.fragment)
            yield remark("unreadable", problem.id, spot, problem=problem.what)
    for passage in subject.page.passages:
        left = _PLACEHOLDER.search(passage.quoted.english)
        if left is not None and passage.role != "cell":
            yield remark("text-unwritten", passage.section, passage.quoted, found=left[0])


def _structure(subject: PageSubject) -> Remarks:
    """The name of the structure, wherever it stands."""
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
            yield remark("structure-name", where, spot, found=other[0], expected=expected)
    for passage in page.passages:
        for match in () if passage.section == "front" else _VERSION_BEHIND.finditer(passage.quoted.english):
            right = f"DML_{match[1]}{match[2]}_OPERATOR_DESC"
            yield remark("structure-misspelt", match[0], passage.quoted, found=match[0], expected=right)


def _fields(subject: PageSubject) -> Remarks:
    """The syntax block.

    A field that is misspelt is read everywhere else as if its name were right, so that this is the only finding.
    """
    page = subject.page
    described = {member.name.english for member in page.members}
    if not page.declarations and not subject.is_source:
        yield remark("syntax-missing", "syntax", subject.top)
    yield from subject.misspelt
    for again in repeated(page.declarations, lambda declaration: declaration.name):
        yield remark("field-twice", again.name, again, what="declared", one="declaration", above="lines above it")
    for declaration in page.declarations:
        if declaration.name not in described:
            yield remark("field-undescribed", declaration.name, declaration, name=declaration.name)


def _sections(subject: PageSubject) -> Remarks:
    """The sections on fields against the syntax block."""
    page = subject.page
    declared = {declaration.name: declaration.type for declaration in page.declarations}
    for again in repeated(page.members, lambda member: member.name.english):
        about, at = f"members/{again.name.english}", heading_of(again)
        yield remark("field-twice", about, at, what="described", one="section a field", above="sections")
    for member in page.members if declared else ():
        name, line, found = member.name.english, member.type_line, member.type
        if name not in declared:
            yield remark("field-undeclared", name, heading_of(member), fields=listed(declared))
        elif line is None:
            expected = f"a line with {declared[name]}"
            yield remark("field-type", name, heading_of(member), found="no type line", expected=expected)
        elif found is None or not same_type(found, declared[name]):
            yield remark("field-type", name, line, found=found or "no type", expected=declared[name])
    headings = {member.name.english: heading_of(member) for member in reversed(page.members)}
    yield from misplaced("field-order", declared, headings)


def _levels(subject: PageSubject) -> Remarks:
    """The levels that the text names."""
    for passage in subject.page.passages:
        for label in dict.fromkeys(levels_in(passage.quoted.english)):
            if level_of(label) is None:
                yield remark("level-unknown", label, passage.quoted, label=label, lowest=LOWEST, highest=HIGHEST)
    if subject.introduced_in is None:
        at = subject.page.availability[0] if subject.page.availability else subject.top
        yield remark("introduction-missing", "level", at)
        return
    label, quoted = subject.introduced_in
    introduced, lowest = level_of(label), next(iter(subject.table_at), None)
    if introduced is None:
        return
    if lowest is not None and introduced != lowest:
        yield remark("introduction-table", "level", quoted, label=label, lowest=lowest)
    for member in subject.page.members:
        for level, text in dict.fromkeys(levels_of(member)):
            about = f"{member.name.english}/{level}"
            # A value of an enumeration may be older than the operator.
            if level < introduced and _ENUMERATOR.search(text.english) is None:
                yield remark("text-level-below", about, text, level=level, introduced=introduced)
            elif level == introduced:
                yield remark("text-level-idle", about, text, level=level)


def _unknown_names(subject: PageSubject) -> Remarks:
    """Tensors and properties named in the text that do not exist.

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
            yield remark("name-unknown", name, quoted, found=name, expected=expected)


def _is_of_other(tensor: str, text: str, subject: PageSubject) -> bool:
    """Whether a text that names a tensor names another operator with it, as those on gradients do the forward one."""
    if name_meant(tensor, subject.tensors, _ALIKE):
        return False  # misspelt rather
    named = {match[1] or match[2] for match in _OTHER_OPERATOR.finditer(text)}
    return bool(named - {subject.page.operator}) or re.search(re.escape(tensor) + _OPERATION, text) is not None


def _misspelt_names(subject: PageSubject) -> Remarks:
    """Names in the text that are almost one that exists.

    Only words of several capitalised parts, or behind a field's dot, are looked at, since others are words of the
    language too, and in formulas; tensors that are set as names are those of `name-unknown`. Names may stand without
    anything between them, as in text that has lost its markup. `WindowSize` is one of the `WindowSizes`. What is set as
    a name and is the end of one field's, as `ScaleY` of `SpatialScaleY`, is that field.
    """
    properties = tuple(TENSOR_FIELDS)
    known = (*subject.field_names, *properties)
    longest_first = sorted((*known, "Tensor"), key=len, reverse=True)
    names = re.compile(rf"(?:(?>{'|'.join(map(re.escape, longest_first))}))+s?")
    entries = {name.removesuffix("s") for name, field in subject.fields.items() if field.is_array}
    meant: dict[str, str] = {}  # by word; "" where it is a name, or like none
    for quoted in _prose(subject):
        text = quoted.english
        words = {name: (name, known, _ALIKE) for name in _CAMEL_CASE.findall(text)}
        for name in quoted.marked if quoted.original is None else quoted.original_marked:
            whole = [field for field in subject.field_names if field.endswith(name) and field != name]
            if _PARTS_OF_NAME.fullmatch(name) and len(whole) == 1 and name not in known:
                meant[name], words[name] = whole[0], (name, known, _ALIKE)
        for field, prop in _QUALIFIED.findall(text):
            if field in subject.fields:
                words[f"{field}.{prop}"] = (prop, properties, _ALIKE_BEHIND_A_DOT)
        for word, (name, candidates, alike) in words.items():
            if word not in meant and len(meant) < _MOST_WORDS:
                is_right = names.fullmatch(name) or (candidates is known and name in entries)
                meant[word] = "" if is_right else name_meant(name, candidates, alike)
            is_marked = word in (*quoted.marked, *quoted.original_marked)
            if meant.get(word) and not (is_marked and _TENSOR_NAME.fullmatch(word.partition(".")[0])):
                yield remark("name-misspelt", word, quoted, found=word, expected=meant[word])
    formulas = [block for block in subject.page.code_blocks if block.role in ("formula", "pseudocode")]
    in_code = {word: block for block in reversed(formulas) for word in _CAMEL_CASE.findall(block.text)}
    for word, block in islice(in_code.items(), _MOST_NAMES):
        right = "" if word in (*known, *entries) else name_meant(word, subject.field_names, _ALIKE)
        if right:
            yield remark("name-misspelt", word, block, found=word, expected=right)


def _forward_passes(subject: PageSubject) -> Remarks:
    """Sentences on the forward pass of another operator in a section on an operator that computes no gradients."""
    if any("Gradient" in name for name in subject.fields):
        return
    for member in subject.page.members:
        for quoted in member.text:
            named = _OTHER_OPERATOR.search(quoted.english) if _FORWARD.search(quoted.english) else None
            if named is not None:
                told = {"other": named[0], "operator": subject.page.operator}
                yield remark("text-other-operator", member.name.english, quoted, **told)


def _unknown_enumerators(subject: PageSubject) -> Remarks:
    """Enumerators and enumerations that do not exist.

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
                yield remark("enumerator-unknown", name, at, found=name, expected=meant[name])


@cache
def _known_names() -> tuple[str, ...]:
    """The names in the header that begin with DML_, as far as operators and their fields have them."""
    values = (f"{name}_{value}" for name, kind in enumerations().items() for value in kind.enum.__members__)
    return (*enumerations(), *values, *(f"DML_OPERATOR_{name}" for name in operators()))


def _enumerator_meant(name: str) -> str:
    """What should stand there; "" where the name is right, or may be."""
    of = next((known for known in enumerations() if name.startswith(f"{known}_")), None)
    if of is None or name in _known_names():
        return name_meant(name, _known_names(), _ALIKE)
    one_of = f"one of {listed(f'{of}_{value}' for value in enumerations()[of].enum.__members__)}"
    return name_meant(name, _known_names(), _ALIKE) or one_of


def _prose(subject: PageSubject) -> Iterator[Quoted]:
    """The sentences, headings and items of the page; tables have checks of their own."""
    if subject.tensors:
        for passage in subject.page.passages:
            if not passage.section.startswith(("support", "front")):
                yield passage.quoted


def _unlike_properties(subject: PageSubject) -> Remarks:
    """Tensors that are held to agree in unlike properties.

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
                        about = f"{member.name.english}/{unmatched[0].property}"
                        at = Spot(quoted.place, sentence if quoted.original is None else quoted.text)
                        yield remark("property-mismatch", about, at, own=unmatched[0].property, other=mention)
                if mention.field or (own and not _side_by_side(sentence[own[-1].end : mention.start])):
                    own = []
                if not mention.field:
                    own.append(mention)


def _side_by_side(between: str) -> bool:
    """Whether the text between two names is no more than `and`, a comma or nothing."""
    return len(between) <= _LONGEST_AND and not any(character.isdigit() for character in between)
