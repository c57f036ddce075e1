"""The formulas and bounds that a page prints, read from its text and evaluated on an example.

    tupleSize = IndicesTensor.Sizes[IndicesTensor.DimensionCount - 1]
    OutputTensor.Sizes = {
        1...,
        IndicesTensor.Sizes[0 .. (IndicesTensor.DimensionCount - 1)],
        InputTensor.Sizes[tupleSize .. InputTensor.DimensionCount]
    }

and `OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]`, which holds for every `i`. Nothing of Python is
evaluated: the grammar has whole numbers, names, `.Sizes`, `.DimensionCount`, indexing, slices and `+ - * / %`. A slice
`a .. b` ends before `b`. `1...` stands for as many leading ones as the tensor needs.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from dml_conformance.documents.read.model import Interval
from dml_conformance.spec.operator import slots
from dml_conformance.spec.tensor import braces

Sizes = tuple[int, ...]

_TOKEN = re.compile(r"//[^\n]*|\s+|(\.\.\.|…|\.\.|[A-Za-z_]\w*|\d+|[{}\[\](),.;=+\-*/%])", re.ASCII)
_TARGET = re.compile(r"([A-Za-z_]\w*)\s*\.\s*Sizes\s*(?:\[\s*[A-Za-z_]\w*\s*\]\s*)?=(?!=)", re.ASCII)
_MOST_TOKENS = 200  # far above any formula; bounds the depth of nesting, too
_MOST_DIGITS = 20


class FormulaError(ValueError):
    """A text that is no formula of this grammar; the message says what could not be read."""


class NoValue(ValueError):
    """A formula that has no value on an example: an index outside a tensor, a name that the example does not have."""


@dataclass(frozen=True)
class Environment:
    """What an example gives a formula.

    Attributes:
        numbers: attributes by name.
        lists: array attributes by name.
        sizes: sizes of the tensors by name.
    """

    numbers: Mapping[str, int]
    lists: Mapping[str, Sizes]
    sizes: Mapping[str, Sizes]

    @classmethod
    def of(cls, desc: Any) -> Environment:
        """The values of a descriptor under the names of its fields, sizes under those of its slots."""
        values = {field: getattr(desc, field.attribute) for field in desc.fields}
        arrays = {field: value for field, value in values.items() if field.count_field and value is not None}
        lists = {field.name: value for field, value in arrays.items() if not field.is_tensor}
        numbers = {field.name: value for field, value in values.items() if isinstance(value, int)}
        numbers |= {field.count_field: len(value) for field, value in arrays.items()}
        return cls(numbers, lists, {slot.name: slot.tensor.sizes for slot in slots(desc)})

    @property
    def names(self) -> frozenset[str]:
        """Everything that has a value."""
        return frozenset((*self.numbers, *self.lists, *self.sizes))

    def with_number(self, name: str, value: int) -> Environment:
        return Environment({**self.numbers, name: value}, self.lists, self.sizes)

    def number(self, name: str) -> int:
        if name not in self.numbers:
            raise NoValue(f"{name} has no value")
        return self.numbers[name]

    def elements(self, name: str) -> Sizes:
        """Sizes of a tensor, or the entries of an array."""
        found = self.sizes.get(name, self.lists.get(name))
        if found is None:
            raise NoValue(f"{name} has no value")
        return found


Number = Callable[[Environment], int]
_Segment = Callable[[Environment], Sizes]
_SizesOf = Callable[[Environment, int], Sizes]


@dataclass(frozen=True)
class Formula:
    """The sizes of one tensor as a page prints them.

    Attributes:
        target: the tensor.
        names: every name that it is computed from.
        index: the variable of a formula for each dimension; "" for one that joins segments.
        text: as printed.
        sizes: the sizes that it gives, from what an example gives and the dimensions of the tensor. Joined segments are
            right-aligned to these: leading ones are added, or left out where there are too many; nothing else is. It
            raises NoValue where the formula has none there.
    """

    target: str
    names: frozenset[str]
    index: str
    text: str
    sizes: _SizesOf = field(repr=False)

    def outcome(self, environment: Environment, count: int) -> tuple[Sizes | None, str]:
        """The sizes on an example, and what to call them: `{2,3}`, or why there are none."""
        try:
            sizes = self.sizes(environment, count)
        except NoValue as error:
            return None, f"no sizes: {error}"
        return sizes, braces(sizes)


def right_aligned(sizes: Sizes, count: int) -> Sizes:
    """Sizes with leading ones added up to a count of dimensions, or left out down to it."""
    while len(sizes) > count and sizes[0] == 1:
        sizes = sizes[1:]
    return (1,) * (count - len(sizes)) + sizes


def formula_in_code(text: str) -> Formula | None:
    """The formula of a block of code; None where none of its lines gives a tensor's sizes from something else.

    Raises:
        FormulaError: it gives sizes, but in another grammar.
    """
    if _TARGET.search(text) is None:
        return None
    formula = _FormulaReader(_tokens(text), text).block()
    return formula if formula.names else None


def formula_in_prose(text: str) -> Formula | None:
    """The first formula within a sentence; it ends where the sentence goes on. None where there is none."""
    for target in _TARGET.finditer(text):
        try:
            formula = _FormulaReader(_tokens(text, target.start(), until_unknown=True), "").sentence()
        except FormulaError:
            continue
        if formula.names - {formula.target}:
            return formula
    return None


def number_of(text: str) -> tuple[Number, frozenset[str]]:
    """A bound such as `InputTensor.DimensionCount - 1`: how to compute it, and the names in it.

    Raises:
        FormulaError: it is none.
    """
    reader = _FormulaReader(_tokens(text), text)
    number = reader.number()
    reader.end()
    return number, frozenset(reader.names)


@cache
def _bound(text: str) -> Number:
    return number_of(text)[0]


def allowed(interval: Interval, environment: Environment) -> range:
    """The whole numbers of an interval on an example.

    Raises:
        FormulaError: a bound is none that can be read.
        NoValue: a bound has no value there.
    """
    low, high = _bound(interval.low)(environment), _bound(interval.high)(environment)
    return range(low + (not interval.low_closed), high + interval.high_closed)


def contains(interval: Interval, value: int, environment: Environment) -> bool | None:
    """Whether an interval has a value on an example; None where its bounds have no value there."""
    try:
        return value in allowed(interval, environment)
    except (FormulaError, NoValue):
        return None


def _tokens(text: str, start: int = 0, *, until_unknown: bool = False) -> list[str]:
    """The tokens of a text from a place on: all of them, or those before what is none.

    Raises:
        FormulaError: there is something else in it, or too much.
    """
    tokens: list[str] = []
    problem = ""
    while start < len(text) and not problem:
        match = _TOKEN.match(text, start)
        if match is None:
            problem = f"{text[start]!r} is no part of a formula"
        elif match[1] and len(tokens) == _MOST_TOKENS:
            problem = "it is too long for a formula"
        else:
            tokens += filter(None, match.groups())
            start = match.end()
    if problem and not until_unknown:
        raise FormulaError(problem)
    return tokens


class _FormulaReader:
    """Reads tokens from left to right; every method takes what it reads off."""

    def __init__(self, tokens: list[str], text: str) -> None:
        self.tokens = tokens
        self.text = text
        self.at = 0
        self.names: set[str] = set()
        self.lets: list[tuple[str, Number]] = []
        self.indexed: set[str] = set()
        self.index = ""

    def block(self) -> Formula:
        """Definitions of names, then the sizes of a tensor."""
        while self._peek(1) == "=":
            name = self._name()
            self._take("=")
            self.lets.append((name, self.number()))
            self._skip_stops()
        formula = self._sizes_statement()
        self._skip_stops()
        self.end()
        return formula

    def sentence(self) -> Formula:
        """The sizes of a tensor; what follows is the rest of a sentence."""
        formula = self._sizes_statement()
        return replace(formula, text=_spaced(self.tokens[: self.at]))

    def number(self) -> Number:
        """A sum of products."""
        value = self._product()
        while self._peek() in ("+", "-"):
            value = _calculated(self._next(), value, self._product())
        return value

    def end(self) -> None:
        if self.at < len(self.tokens):
            raise FormulaError(f"{self.tokens[self.at]!r} was not expected there")

    def _sizes_statement(self) -> Formula:
        target = self._name()
        self._take(".", "Sizes")
        if self._accept("["):
            self.index = self._name()
            self._take("]", "=")
            sizes = _each_dimension(self.index, self.number(), self.indexed)
        else:
            self._take("=")
            sizes = _joined(self._segments() if self._accept("{") else [self._segment()])
        names = frozenset(self.names - {name for name, _ in self.lets} - {self.index})
        return Formula(target, names, self.index, self.text, _with_lets(self.lets, sizes))

    def _segments(self) -> list[_Segment]:
        segments = [self._segment()]
        while self._accept(",") and self._peek() != "}":
            segments.append(self._segment())
        self._take("}")
        return segments

    def _segment(self) -> _Segment:
        """One part of joined sizes: leading ones, a slice, all of a tensor's sizes, or a number."""
        if self._accept("1", "...") or self._accept("1", "…"):
            return lambda environment: ()  # right-aligning adds them
        start = self.at
        name = self._next()
        if _is_name(name):
            is_sizes = self._accept(".", "Sizes")
            if self._accept("["):
                low = self.number()
                if self._accept(".."):
                    high = self.number()
                    self._take("]")
                    self.names.add(name)
                    return _slice(name, low, high)
            elif is_sizes and self._peek() in (",", "}", ";", ""):
                self.names.add(name)
                return lambda environment: environment.elements(name)
        self.at = start
        number = self.number()
        return lambda environment: (number(environment),)

    def _product(self) -> Number:
        value = self._factor()
        while self._peek() in ("*", "/", "%"):
            value = _calculated(self._next(), value, self._factor())
        return value

    def _factor(self) -> Number:
        read = self._next()
        if read == "(":
            value = self.number()
            self._take(")")
            return value
        if read.isdigit():
            if len(read) > _MOST_DIGITS:
                raise FormulaError("a number is too long")
            constant = int(read)
            return lambda environment: constant
        if read == "+":
            return self._factor()
        if read == "-":
            operand = self._factor()
            return lambda environment: -operand(environment)
        if not _is_name(read):
            raise _unexpected("a number or a name", read)
        return self._value_of(read)

    def _value_of(self, name: str) -> Number:
        self.names.add(name)
        if self._accept(".", "DimensionCount"):
            return lambda environment: len(environment.elements(name))
        if self._accept(".", "Sizes") and self._peek() != "[":
            raise FormulaError(f"{name}.Sizes are several numbers")
        if self._accept("["):
            if self.index and self._peek() == self.index and self._peek(1) == "]":
                self.indexed.add(name)
            place = self.number()
            self._take("]")
            return _entry(name, place)
        return lambda environment: environment.number(name)

    def _skip_stops(self) -> None:
        while self._peek() in (",", ";"):
            self._next()

    def _peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self.at += 1
        return token

    def _accept(self, *expected: str) -> bool:
        """Take these tokens off if they come next."""
        comes = self.tokens[self.at : self.at + len(expected)] == [*expected]
        self.at += len(expected) * comes
        return comes

    def _take(self, *expected: str) -> None:
        for wanted in expected:
            token = self._next()
            if token != wanted:
                raise _unexpected(repr(wanted), token)

    def _name(self) -> str:
        token = self._next()
        if not _is_name(token):
            raise _unexpected("a name", token)
        return token


def _unexpected(expected: str, token: str) -> FormulaError:
    return FormulaError(f"expected {expected}, found {token!r}" if token else "it breaks off")


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] == "_"


def _spaced(tokens: list[str]) -> str:
    """Tokens as one line."""
    text = " ".join(tokens)
    return re.sub(r" ?([.\[\](){}]) ?", r"\1", text).replace(" ,", ",")


def _quotient(dividend: int, divisor: int) -> int:
    if _rest(dividend, divisor):
        raise NoValue(f"{dividend} / {divisor} is no whole number")
    return dividend // divisor


def _rest(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise NoValue("it divides by 0")
    return dividend % divisor


_CALCULATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": _rest,
}


def _calculated(sign: str, left: Number, right: Number) -> Number:
    calculate = _CALCULATIONS[sign]
    return lambda environment: calculate(left(environment), right(environment))


def _entry(name: str, place: Number) -> Number:
    def value(environment: Environment) -> int:
        elements, index = environment.elements(name), place(environment)
        if not 0 <= index < len(elements):
            raise NoValue(f"{name} has no entry {index}, it has {len(elements)}")
        return elements[index]

    return value


def _slice(name: str, low: Number, high: Number) -> _Segment:
    def value(environment: Environment) -> Sizes:
        elements, first, end = environment.elements(name), low(environment), high(environment)
        if not 0 <= first <= end <= len(elements):
            raise NoValue(f"{name} has no entries {first} .. {end}, it has {len(elements)}")
        return elements[first:end]

    return value


def _joined(segments: list[_Segment]) -> _SizesOf:
    return lambda environment, count: right_aligned(sum((segment(environment) for segment in segments), ()), count)


def _each_dimension(index: str, number: Number, indexed: set[str]) -> _SizesOf:
    """A number for each value of an index, which runs over the entries of what it stands in the brackets of."""

    def sizes(environment: Environment, count: int) -> Sizes:
        counts = {name: len(environment.elements(name)) for name in indexed}
        if len(set(counts.values())) > 1:
            raise NoValue(", ".join(f"{name} has {n} entries" for name, n in sorted(counts.items())))
        dimensions = next(iter(counts.values()), count)
        return tuple(number(environment.with_number(index, i)) for i in range(dimensions))

    return sizes


def _with_lets(lets: list[tuple[str, Number]], sizes: _SizesOf) -> _SizesOf:
    def value(environment: Environment, count: int) -> Sizes:
        for name, number in lets:
            environment = environment.with_number(name, number(environment))
        return sizes(environment, count)

    return value
