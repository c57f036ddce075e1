"""The structure in a syntax block: its name and declarations, and types in one spelling."""

from __future__ import annotations

import re
from typing import NamedTuple

from dml_conformance.documents.read.model import Declaration
from dml_conformance.documents.read.pieces import PlacedText
from dml_conformance.documents.read.source import PageText

STRUCTURE = re.compile(r"(?<![A-Za-z0-9_])DML_([A-Z][A-Z0-9_]*?)_OPERATOR_DESC(?![A-Za-z0-9_])")
STRUCT_START = re.compile(r"\s*(?:typedef\s+)?struct\s+(\w+)")

_COMMENT = re.compile(r"//.*|/\*.*?\*/")
_ANNOTATION = re.compile(r"(?<![A-Za-z0-9_])_[A-Z]\w*_(?:\([^()]{0,200}\))?(?![A-Za-z0-9])\s*")
_OPTIONAL = re.compile(r"(?<![A-Za-z0-9_])_(?:Maybenull|\w+_opt)_(?![A-Za-z0-9])")
_SIZE = re.compile(r"(?<![A-Za-z0-9_])_Field_size_(?:opt_)?\s*\(\s*([^\W\d]\w*)\s*\)")
_DECLARATION = re.compile(
    r"((?:const\s+)?[A-Za-z_]\w*(?:\s+const)?\s*\**)\s*(?<![A-Za-z0-9_])([^\W\d]\w*)\s*(\[\w*\])?"
)

_LONGEST_DECLARATION = 400


class Structure(NamedTuple):
    """A structure as its block has it."""

    name: str | None
    declarations: tuple[Declaration, ...]


class Annotations(NamedTuple):
    """What the annotations of a declaration say, as in `Declaration`."""

    optional: bool
    count_field: str


def annotations_in(declaration: str) -> Annotations:
    """What `_Maybenull_` and `_Field_size_(Count)` in a declaration or type line say.

    Source: Microsoft's source-code annotation language, as DirectML.h uses it.
    """
    size = _SIZE.search(declaration)
    return Annotations(_OPTIONAL.search(declaration) is not None, "" if size is None else size[1])


def one_spelling(type_text: str) -> str:
    """A C type with single spaces and its asterisks apart: `const DML_TENSOR_DESC *`."""
    text = _ANNOTATION.sub("", type_text)
    stars = text.count("*")
    words = text.replace("*", " ").split()
    return " ".join([*words, *(["*" * stars] if stars else [])])


def is_structure(code: str) -> bool:
    """Whether a block of code declares a structure of an operator."""
    return any(STRUCT_START.match(line) and STRUCTURE.search(line) for line in code.split("\n"))


def read_structure(content: PlacedText, document: PageText) -> Structure:
    """The declarations in a block of code."""
    name: str | None = None
    declarations: list[Declaration] = []
    at = 0
    for line in content.text.split("\n"):
        start, at = at, at + len(line) + 1
        text = _COMMENT.sub(lambda match: " " * len(match.group()), line)
        struct = STRUCT_START.match(text)
        if struct is not None:
            name = name or struct.group(1)
            brace = text.find("{")
            text = " " * (brace + 1) + text[brace + 1 :] if brace >= 0 else ""
        for statement in re.finditer(r"[^;{}]+", text):
            if not statement.group().strip():
                continue
            if text[: statement.start()].rstrip().endswith("}"):
                continue  # the name of a typedef
            read = _declaration(statement.group())
            if read is None:
                what = "this line of the structure does not read as one declaration: type, then name"
                lead = len(statement.group()) - len(statement.group().lstrip())
                offset = content.offset(start + statement.start() + lead)
                document.problem("unreadable-declaration", what, statement.group().strip(), offset)
                continue
            kind, field, column = read
            place = document.place(content.offset(start + statement.start() + column))
            declarations.append(Declaration(field, kind, place, *annotations_in(statement.group())))
    return Structure(name, tuple(declarations))


def _declaration(statement: str) -> tuple[str, str, int] | None:
    """The type, the name and the name's column in the statement."""
    if len(statement) > _LONGEST_DECLARATION:
        return None
    text = _ANNOTATION.sub(lambda match: " " * len(match.group()), statement)
    match = _DECLARATION.fullmatch(text.strip())
    if match is None:
        return None
    lead = len(text) - len(text.lstrip())
    return one_spelling(match.group(1)) + (match.group(3) or ""), match.group(2), lead + match.start(2)
