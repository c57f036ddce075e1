"""The structure in a syntax block: its name and declarations, and types in one spelling."""

from __future__ import annotations

import re

from dml_conformance.documents.read import words
from dml_conformance.documents.read.blocks import PlacedText
from dml_conformance.documents.read.model import Declaration
from dml_conformance.documents.read.source import PageText

STRUCTURE = re.compile(r"(?<![A-Za-z0-9_])DML_([A-Z][A-Z0-9_]*?)_OPERATOR_DESC(?![A-Za-z0-9_])")

_COMMENT = re.compile(r"//.*|/\*.*?\*/")
_HEAD = re.compile(r"^[^\S\n]*(?:typedef[^\S\n]+)?struct[^\S\n]+(\w+)(?:[^{\n]*\{|.*)", re.MULTILINE)
_TYPEDEF_NAME = re.compile(r"\}[^;{}\n]*")
_STATEMENT = re.compile(r"[^\s;{}](?:[^;{}\n]*[^\s;{}])?")
_ANNOTATION = re.compile(r"(?<![A-Za-z0-9_])_[A-Z]\w*_(?:\([^()]{0,200}\))?(?![A-Za-z0-9])\s*")
_OPTIONAL = re.compile(r"(?<![A-Za-z0-9_])_(?:Maybenull|\w+_opt)_(?![A-Za-z0-9])")
_SIZE = re.compile(r"(?<![A-Za-z0-9_])_Field_size_(?:opt_)?\s*\(\s*([^\W\d]\w*)\s*\)")
_DECLARATION = re.compile(
    r"\s*((?:const\s+)?[A-Za-z_]\w*(?:\s+const)?\s*\**)\s*(?<![A-Za-z0-9_])([^\W\d]\w*)\s*(\[\w*\])?\s*"
)

_TYPE_LINE = re.compile(r"([^:]{1,30}):\s*(\S.*)")
_C_TYPE = re.compile(r"(?:const\s+)?[A-Z][A-Z0-9_]*\s*\*{0,2}")

_LONGEST_DECLARATION = 400


def annotations_in(declaration: str) -> tuple[bool, str]:
    """What `_Maybenull_` and `_Field_size_(Count)` in a declaration or type line say, as in `Declaration`.

    Source: Microsoft's source-code annotation language, as DirectML.h uses it.
    """
    size = _SIZE.search(declaration)
    return _OPTIONAL.search(declaration) is not None, "" if size is None else size[1]


def one_spelling(type_text: str) -> str:
    """A C type with single spaces and its asterisks apart: `const DML_TENSOR_DESC *`."""
    text = _ANNOTATION.sub("", type_text)
    stars = text.count("*")
    return " ".join([*text.replace("*", " ").split(), *(["*" * stars] if stars else [])])


def type_named(line: str) -> str | None:
    """The type that a line such as `Type: const UINT *` names; None for another line."""
    match = _TYPE_LINE.fullmatch(words.half_width(line))
    if match is None:
        return None
    is_type = match[1].strip().casefold() in words.TYPE_WORDS or _C_TYPE.fullmatch(match[2].strip())
    return one_spelling(match[2]) if is_type else None


def is_structure(code: str) -> bool:
    """Whether a block of code, or a line, declares a structure of an operator."""
    return any(STRUCTURE.search(head[0]) for head in _HEAD.finditer(code))


def read_structure(content: PlacedText, document: PageText) -> tuple[str | None, tuple[Declaration, ...]]:
    """The name of the structure in a block of code, and its declarations."""
    text = _COMMENT.sub(_blank, content.text)
    name = _HEAD.search(text)
    declarations: list[Declaration] = []
    for statement in _STATEMENT.finditer(_TYPEDEF_NAME.sub(_blank, _HEAD.sub(_blank, text))):
        is_short = len(statement[0]) <= _LONGEST_DECLARATION
        match = _DECLARATION.fullmatch(_ANNOTATION.sub(_blank, statement[0])) if is_short else None
        if match is None:
            what = "this line of the structure does not read as one declaration: type, then name"
            document.problem("unreadable-declaration", what, statement[0], content.offset(statement.start()))
            continue
        kind, field, length = match.groups(default="")
        place = document.place(content.offset(statement.start() + match.start(2)))
        annotations = annotations_in(statement[0])
        declarations.append(Declaration(field, one_spelling(kind) + length, place, *annotations))
    return None if name is None else name[1], tuple(declarations)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
