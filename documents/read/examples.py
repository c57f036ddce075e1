"""Worked examples: a block of code with the tensors, sizes, types, attributes and values of one call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from dml_conformance.documents.read.model import ExampleTensor, Place, Quoted, Value
from dml_conformance.documents.read.pieces import Fault, PlacedText
from dml_conformance.documents.read.source import PageText
from dml_conformance.documents.read.values import Token, read_value, tokens_of


class Figure(NamedTuple):
    """What a block of code says of one call."""

    attributes: dict[str, Value]
    tensors: tuple[ExampleTensor, ...]
    faults: tuple[Fault, ...]

    @property
    def has_sizes(self) -> bool:
        return any(tensor.sizes is not None and isinstance(tensor.sizes.value, list) for tensor in self.tensors)


def read_figure(content: PlacedText, document: PageText, tensors: frozenset[str]) -> Figure:
    """Read `Name: value`, `Name = value`, `Name.Sizes = {…}` and `Name: (Sizes:{…}, DataType:…) […]`, in any order.

    Args:
        tensors: the fields that are tensors, so that a list under such a name is its values.
    """
    return _FigureReader(content, document, tensors).read()


@dataclass
class _Tensor:
    label: Quoted
    sizes: Value | None = None
    data_type: Value | None = None
    values: Value | None = None
    properties: dict[str, Value] = field(default_factory=dict)

    def set(self, name: str, value: Value) -> None:
        match name.casefold():
            case "sizes":
                self.sizes = value
            case "datatype":
                self.data_type = value
            case _:
                self.properties[name] = value

    def built(self) -> ExampleTensor:
        return ExampleTensor(self.label, self.sizes, self.data_type, self.values, self.properties)


class _FigureReader:
    def __init__(self, content: PlacedText, document: PageText, tensors: frozenset[str]) -> None:
        self.content, self.document, self.names = content, document, tensors
        self.tokens = tokens_of(content.text)
        self.at = 0
        self.attributes: dict[str, Value] = {}
        self.tensors: list[_Tensor] = []
        self.last_named: dict[str, _Tensor] = {}
        self.faults: list[Fault] = []

    def read(self) -> Figure:
        while self.at < len(self.tokens):
            if self._is_entry():
                self._entry()
            elif self.tokens[self.at].text in ("[", "{") and self.tensors and self.tensors[-1].values is None:
                self.tensors[-1].values = self._value("unreadable-values")
            else:
                self._skip_line()
        return Figure(self.attributes, tuple(tensor.built() for tensor in self.tensors), tuple(self.faults))

    def _is_entry(self) -> bool:
        return (
            self.tokens[self.at].kind == "name"
            and self.at + 2 < len(self.tokens)
            and self.tokens[self.at + 1].text in (":", "=")
        )

    def _entry(self) -> None:
        name = self.tokens[self.at]
        self.at += 2
        first = self.tokens[self.at]
        if first.kind == "name" and self._starts_line(self.at):
            self._fault("unreadable-value", "no value follows on this line", name)
            return
        owner, dot, member = name.text.partition(".")
        if first.text == "(":
            self._properties(self._new_tensor(name, name.text))
        elif dot:
            self._tensor_named(owner, name).set(member, self._value("unreadable-value"))
        elif first.text in ("[", "{") and name.text in self.names:
            self._tensor_named(owner, name).values = self._value("unreadable-values")
        else:
            self.attributes[name.text] = self._value("unreadable-value")

    def _properties(self, tensor: _Tensor) -> None:
        """`(Sizes:{2,3}, DataType:FLOAT32)`, from its bracket on."""
        opening = self.tokens[self.at]
        self.at += 1
        what = "the description of a tensor is not closed, or holds something that is no `name: value`"
        while self.at < len(self.tokens) and self.tokens[self.at].text != ")":
            is_next = self._starts_line(self.at) and self.tokens[self.at - 1].text not in (",", "(")
            if is_next or not self._is_entry():
                self._fault("unreadable-tensor", what, opening)
                if not self._is_entry():
                    self._to_line_end()
                return
            name = self.tokens[self.at]
            self.at += 2
            tensor.set(name.text, self._value("unreadable-value"))
            if self.at < len(self.tokens) and self.tokens[self.at].text == ",":
                self.at += 1
        if self.at == len(self.tokens):
            self._fault("unreadable-tensor", what, opening)
        self.at += 1

    def _value(self, fault: str) -> Value:
        start = self.tokens[self.at]
        value, self.at = read_value(self.tokens, self.at)
        end = self.tokens[self.at - 1].end
        if value is None:
            what = "this value cannot be read: brackets that do not match, or neither number nor name"
            self._fault(fault, what, start)
        return Value(value, self.content.text[start.start : end], self._place(start))

    def _tensor_named(self, label: str, token: Token) -> _Tensor:
        """The tensor printed last under this label, a new one where none was."""
        return self.last_named.get(label) or self._new_tensor(token, label)

    def _new_tensor(self, token: Token, label: str) -> _Tensor:
        tensor = _Tensor(self._label(token, label))
        self.tensors.append(tensor)
        self.last_named[label] = tensor
        return tensor

    def _label(self, token: Token, text: str) -> Quoted:
        return Quoted(self.content.text[token.start : token.start + len(text)], self._place(token))

    def _skip_line(self) -> None:
        what = "this part of the example is neither an attribute, a tensor nor its values"
        self._fault("unreadable-example-line", what, self.tokens[self.at])
        self._to_line_end()

    def _to_line_end(self) -> None:
        self.at += 1
        while self.at < len(self.tokens) and not self._starts_line(self.at):
            self.at += 1

    def _starts_line(self, at: int) -> bool:
        return "\n" in self.content.text[self.tokens[at - 1].end : self.tokens[at].start]

    def _fault(self, id: str, what: str, token: Token) -> None:
        line = self.content.text[token.start : token.start + 80].split("\n")[0]
        self.faults.append(Fault(id, what, line, self.content.offset(token.start)))

    def _place(self, token: Token) -> Place:
        return self.document.place(self.content.offset(token.start))
