"""Worked examples: a block of code with the tensors, sizes, types, attributes and values of one call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import msgspec

from dml_conformance.documents.read.blocks import PlacedText
from dml_conformance.documents.read.model import ExampleTensor, PageExample, Place, Quoted, ReadingProblem, Value
from dml_conformance.documents.read.source import PageText
from dml_conformance.documents.read.words import half_width, without_index

_MAX_DEPTH = 16
_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?))[fF]?(?![\w.])
  | (?P<name>[+-]?[^\W\d]\w*(?:\[\d+\](?=\s*[:=]|\.))?(?:\.[^\W\d]\w*)*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# Numbers that JSON has not, under the names that descriptors have for them.
_NOT_FINITE = {"inf": "Infinity", "infinity": "Infinity", "nan": "NaN"}
_TRUTHS = {"true": True, "false": False, "TRUE": True, "FALSE": False}  # the latter are windef.h's
_OPENING = {"[": "]", "{": "}", "(": ")"}


class Token(NamedTuple):
    kind: str  # "number", "name", "other"
    text: str
    start: int
    end: int


_Read = bool | int | float | str | list[object] | None


def tokens_of(code: str) -> list[Token]:
    """The tokens of a block of code, comments and white space left out."""
    return [
        Token(str(match.lastgroup), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(half_width(code))
        if match.lastgroup != "skip"
    ]


def read_value(tokens: list[Token], at: int) -> tuple[_Read, int]:
    """The value that starts at token `at`, None where it cannot be read, and the token after it.

    A list that is not closed ends where something starts that fits in none.
    """
    stack: list[tuple[list[object], str]] = []
    readable = True
    for place in range(at, len(tokens)):
        token = tokens[place]
        value: _Read = None
        if token.text in _OPENING:
            stack.append(([], _OPENING[token.text]))
            readable = readable and len(stack) <= _MAX_DEPTH
            continue
        if stack and token.text in "]})":
            value, closing = stack.pop()
            readable = readable and token.text == closing
        elif stack and token.kind == "name" and place + 1 < len(tokens) and tokens[place + 1].text in (":", "="):
            return None, place
        elif not stack or token.text != ",":
            value = _atom(token)
            readable = readable and value is not None
        if not stack:
            return value if readable else None, place + 1
        if readable and token.text != ",":
            stack[-1][0].append(value)
    return None, len(tokens)


def _atom(token: Token) -> bool | int | float | str | None:
    if token.kind == "name":
        word = token.text.lstrip("+-")
        number = _NOT_FINITE.get(word.casefold())
        if number is None:
            return _TRUTHS.get(word, word) if word == token.text else None
        return f"-{number}" if token.text[0] == "-" and number != "NaN" else number
    if token.kind != "number":
        return None
    text = token.text
    if "x" in text.casefold():
        return int(text, 16)
    text = text.rstrip("fF")
    if text.lstrip("+-").isdigit():
        return int(text) if len(text) <= 40 else None
    real = float(text)
    infinite = "Infinity" if real > 0 else "-Infinity"
    return real if isfinite(real) else infinite


# The name of a tensor in the comment behind its values.
_LABEL = re.compile(r"[ \t]*//[ \t]*([^\W\d]\w*Tensor)[ \t]*$", re.MULTILINE)


class Figure(NamedTuple):
    """What a block of code says of one call."""

    attributes: dict[str, Value]
    tensors: tuple[ExampleTensor, ...]
    problems: tuple[ReadingProblem, ...]

    @property
    def has_sizes(self) -> bool:
        return any(tensor.sizes is not None and isinstance(tensor.sizes.value, list) for tensor in self.tensors)


def read_figure(content: PlacedText, document: PageText, tensors: frozenset[str]) -> Figure:
    """Read `Name: value`, `Name = value`, `Name.Sizes = {…}` and `Name: (Sizes:{…}, DataType:…) […]`, in any order.

    A name may be that of an element of an array, `Names[0]`. Values may stand before their name: `[…] // NameTensor`.

    Args:
        tensors: the fields that are tensors, so that a list under such a name is its values.
    """
    return _FigureReader(content, document, tensors).read()


# What is printed of a tensor, by the attributes of `ExampleTensor`, or by the name of the property.
_Printed = dict[str, Value]
_SIZES, _DATA_TYPE, _VALUES = "sizes", "data_type", "values"


def _part(name: str) -> str:
    return {"sizes": _SIZES, "datatype": _DATA_TYPE}.get(name.casefold(), name)


def _tensor(label: Quoted, printed: _Printed) -> ExampleTensor:
    own = {part: printed[part] for part in (_SIZES, _DATA_TYPE, _VALUES) if part in printed}
    return ExampleTensor(label, **own, properties={name: value for name, value in printed.items() if name not in own})


class _FigureReader:
    def __init__(self, content: PlacedText, document: PageText, tensors: frozenset[str]) -> None:
        self.content, self.document, self.names = content, document, tensors
        self.tokens = tokens_of(content.text)
        self.at = 0
        self.attributes: dict[str, Value] = {}
        self.tensors: list[tuple[Quoted, _Printed]] = []
        self.last_named: dict[str, _Printed] = {}
        self.problems: list[ReadingProblem] = []

    def read(self) -> Figure:
        while self.at < len(self.tokens):
            if self._is_entry():
                self._entry()
            elif self.tokens[self.at].text in ("[", "{") and self.tensors and _VALUES not in self.tensors[-1][1]:
                self.tensors[-1][1][_VALUES] = self._value("unreadable-values")
            elif not self._labelled_values():
                what = "this part of the example is neither an attribute, a tensor nor its values"
                self._problem("unreadable-example-line", what, self.tokens[self.at])
                self._to_line_end()
        return Figure(self.attributes, tuple(_tensor(*tensor) for tensor in self.tensors), tuple(self.problems))

    def _is_entry(self) -> bool:
        """Whether the name of an entry starts here, and something is left for its value."""
        is_name = self.tokens[self.at].kind == "name" and self.at + 2 < len(self.tokens)
        return is_name and self.tokens[self.at + 1].text in (":", "=")

    def _name(self) -> Token:
        """The name of the entry that starts here; the reader goes on to its value."""
        self.at += 2
        return self.tokens[self.at - 2]

    def _entry(self) -> None:
        name = self._name()
        first = self.tokens[self.at]
        if first.kind == "name" and self._starts_line(self.at):
            self._problem("unreadable-value", "no value follows on this line", name)
            return
        owner, dot, member = name.text.partition(".")
        if first.text == "(":
            self._properties(self._new_tensor(name, name.text))
        elif dot:
            self._tensor_named(owner, name)[_part(member)] = self._value("unreadable-value")
        elif first.text in ("[", "{") and without_index(name.text) in self.names:
            self._tensor_named(owner, name)[_VALUES] = self._value("unreadable-values")
        elif not self._labelled_values():
            self.attributes[name.text] = self._value("unreadable-value")

    def _labelled_values(self) -> bool:
        """Whether values start here whose tensor is named in the comment behind them; they are read then."""
        if self.tokens[self.at].text not in ("[", "{"):
            return False
        start, (value, following) = self.tokens[self.at].start, read_value(self.tokens, self.at)
        end = self.tokens[following - 1].end
        label = _LABEL.match(self.content.text, end)
        if value is None or label is None:
            return False
        token = Token("name", label[1], *label.span(1))
        self._new_tensor(token, label[1])[_VALUES] = Value(
            value, self.content.text[start:end], self._place(self.tokens[self.at])
        )
        self.at = following
        return True

    def _properties(self, tensor: _Printed) -> None:
        """`(Sizes:{2,3}, DataType:FLOAT32)`, from its bracket on."""
        opening = self.tokens[self.at]
        self.at += 1
        what = "the description of a tensor is not closed, or holds something that is no `name: value`"
        while self.at < len(self.tokens) and self.tokens[self.at].text != ")":
            is_next = self._starts_line(self.at) and self.tokens[self.at - 1].text not in (",", "(")
            if is_next or not self._is_entry():
                self._problem("unreadable-tensor", what, opening)
                if not self._is_entry():
                    self._to_line_end()
                return
            name = self._name()
            tensor[_part(name.text)] = self._value("unreadable-value")
            if self.at < len(self.tokens) and self.tokens[self.at].text == ",":
                self.at += 1
        if self.at == len(self.tokens):
            self._problem("unreadable-tensor", what, opening)
        self.at += 1

    def _value(self, fault: str) -> Value:
        start = self.tokens[self.at]
        value, self.at = read_value(self.tokens, self.at)
        end = self.tokens[self.at - 1].end
        if value is None:
            what = "this value cannot be read: brackets that do not match, or neither number nor name"
            self._problem(fault, what, start)
        return Value(value, self.content.text[start.start : end], self._place(start))

    def _tensor_named(self, label: str, token: Token) -> _Printed:
        """The tensor printed last under this label, a new one where none was."""
        return self.last_named[label] if label in self.last_named else self._new_tensor(token, label)

    def _new_tensor(self, token: Token, label: str) -> _Printed:
        printed = self.last_named[label] = {}
        text = self.content.text[token.start : token.start + len(label)]
        self.tensors.append((Quoted(text, self._place(token)), printed))
        return printed

    def _to_line_end(self) -> None:
        self.at += 1
        while self.at < len(self.tokens) and not self._starts_line(self.at):
            self.at += 1

    def _starts_line(self, at: int) -> bool:
        return "\n" in self.content.text[self.tokens[at - 1].end : self.tokens[at].start]

    def _problem(self, id: str, what: str, token: Token) -> None:
        line = self.content.text[token.start : token.start + 80].split("\n")[0]
        self.problems.append(ReadingProblem(id, what, line, self._place(token)))

    def _place(self, token: Token) -> Place:
        return self.document.place(self.content.offset(token.start))


class Call(NamedTuple):
    """What a block says of a call, alone.

    Attributes:
        example: without its number.
        number: as its title gives it, 0 for a figure within the text of a field; None where it must be counted.
        section: which of the titles of examples it stands under, 0 above them all; None outside the examples.
    """

    example: PageExample
    number: int | None
    section: int | None


def whole_examples(calls: Sequence[Call]) -> Iterator[PageExample]:
    """The examples and figures, numbered, each with what blocks before it print for several.

    Among the examples, a block is none of its own where the next block prints other tensors and nothing that it does:
    what it prints belongs to all examples from there on, up to the next title or, above all titles, to the last.
    """
    shared: dict[str, Call] = {}
    above: Call | None = None  # the block whose title is that of the next one
    count = 0
    for call, following in zip(calls, (*calls[1:], None), strict=False):
        shared = {name: block for name, block in shared.items() if block.section in (0, call.section)}
        if following is not None and _completes(following, call):
            shared |= dict.fromkeys(_names(call.example), call)
            above = above or call
            continue
        count += call.number != 0
        example = call.example if call.section is None else _with_shared(call.example, shared)
        titled = above if above is not None and example.title is None else call
        number = count if titled.number is None else titled.number
        yield msgspec.structs.replace(example, number=number, title=titled.example.title)
        above = None


def _completes(call: Call, shared: Call) -> bool:
    """Whether a block is the rest of what the block before it shares."""
    if call.section is None or shared.section not in (0, call.section):
        return False
    both = bool(call.example.tensors and shared.example.tensors)
    return both and not _names(call.example).keys() & _names(shared.example).keys()


def _names(example: PageExample) -> dict[str, None]:
    """The fields that a block prints something of, in its order."""
    return dict.fromkeys((*example.attributes, *(tensor.field for tensor in example.tensors)))


def _with_shared(example: PageExample, shared: Mapping[str, Call]) -> PageExample:
    """An example with what blocks before it print and it does not."""
    own = _names(example)
    taken = {name: call.example for name, call in shared.items() if name not in own}
    attributes = {name: block.attributes[name] for name, block in taken.items() if name in block.attributes}
    tensors = [tensor for name, block in taken.items() for tensor in block.tensors if tensor.field == name]
    return msgspec.structs.replace(
        example, attributes={**attributes, **example.attributes}, tensors=(*tensors, *example.tensors)
    )
