"""The formulas and bounds that a page prints, read from its text and evaluated on an example.

    tupleSize = IndicesTensor.Sizes[IndicesTensor.DimensionCount - 1]
    OutputTensor.Sizes = {
        1...,
        IndicesTensor.Sizes[0 .. (IndicesTensor.DimensionCount - 1)],
        InputTensor.Sizes[tupleSize .. InputTensor.DimensionCount]
    }

and `OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]`, which holds for every `i`. The grammar has whole
numbers, names, `.Sizes`, `.DimensionCount`, indexing, slices and `+ - * / %`. A slice `a .. b` ends before `b`. `1...`
stands for as many leading ones as the tensor needs. Python's parser reads them, after `..` is put as its colon and
braces as its brackets; what it reads is never run as Python, and no other node than these is accepted.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from dml_conformance.documents.read.model import Interval
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.operator import slots
from dml_conformance.spec.tensor import braces

Sizes = tuple[int, ...]
# What an example gives a formula, by name: attributes, the entries of arrays, and the sizes of tensors.
Given = Mapping[str, int | Sizes]

_TOKEN = re.compile(r"//[^\n]*|\s+|(\.\.\.|…|\.\.|[A-Za-z_]\w*|\d+|[{}\[\](),.;=+\-*/%])", re.ASCII)
_TARGET = re.compile(r"([A-Za-z_]\w*)\s*\.\s*Sizes\s*(?:\[\s*[A-Za-z_]\w*\s*\]\s*)?=(?!=)", re.ASCII)
# What a name, a tensor's sizes or each of them is set to; between tokens there is one space.
_STATEMENT = re.compile(r"([A-Za-z_]\w*)( \. Sizes)?(?: \[ ([A-Za-z_]\w*) \])? = ")
_PYTHON = {"..": ":", "{": "[", "}": "]"}
_LEADING_ONES = "None"
_GOES_ON, _CLOSING = frozenset("+-*/%(["), frozenset(")]}")
_ENDS_OPERAND = re.compile(r"\w+|[)\]}]", re.ASCII)
_PROPERTIES = frozenset(("Sizes", "DimensionCount"))
_LARGEST = 2**64  # far above any size, and below numbers that take long to compute with
_MOST_TOKENS = 200  # far above any formula; bounds the depth of nesting, too
_MOST_DIGITS = 20


class FormulaError(ValueError):
    """A text that is no formula of this grammar; the message says what could not be read."""


class NoValue(ValueError):
    """A formula that has no value on an example: an index outside a tensor, a name that the example does not have."""


def given_by(desc: OperatorDesc) -> dict[str, int | Sizes]:
    """What a descriptor gives a formula: its numbers and arrays by their fields, its sizes by their slots."""
    values = {field: getattr(desc, field.attribute) for field in desc.fields}
    arrays = {field: value for field, value in values.items() if field.count_field and value is not None}
    given = {field.name: value for field, value in values.items() if isinstance(value, int)}
    given |= {field.name: value for field, value in arrays.items() if not field.is_tensor}
    given |= {field.count_field: len(value) for field, value in arrays.items()}
    return given | {slot.name: slot.tensor.sizes for slot in slots(desc)}


Number = Callable[[Given], int]


@dataclass(frozen=True)
class Formula:
    """The sizes of one tensor as a page prints them.

    Attributes:
        target: the tensor.
        names: every name that it is computed from.
        text: as printed.
        lets: names that it defines first, and what they are.
        parts: what is joined; for a formula of each dimension, its one number.
        index: the variable of a formula of each dimension; "" for one that joins parts.
    """

    target: str
    names: frozenset[str]
    text: str
    lets: tuple[tuple[str, ast.expr], ...] = field(repr=False)
    parts: tuple[ast.expr, ...] = field(repr=False)
    index: str

    def sizes(self, given: Given, count: int) -> Sizes:
        """The sizes that it gives, from what an example gives and the dimensions of the tensor.

        Joined parts are right-aligned to these: leading ones are added, or left out where there are too many; nothing
        else is.

        Raises:
            NoValue: the formula has none there.
        """
        for name, number in self.lets:
            given = {**given, name: _number(number, given)}
        if not self.index:
            return right_aligned(sum((_sizes(part, given) for part in self.parts), ()), count)
        counts = {name: len(_elements(name, given)) for name in _indexed_by(self.index, self.parts[0])}
        if len(set(counts.values())) > 1:
            raise NoValue(", ".join(f"{name} has {n} entries" for name, n in sorted(counts.items())))
        dimensions = next(iter(counts.values()), count)
        return tuple(_number(self.parts[0], {**given, self.index: i}) for i in range(dimensions))

    def outcome(self, given: Given, count: int) -> tuple[Sizes | None, str]:
        """The sizes on an example, and what to call them: `{2,3}`, or why there are none."""
        try:
            sizes = self.sizes(given, count)
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
    formula = _formula(_tokens(text), text)
    return formula if formula.names else None


def formula_in_prose(text: str) -> Formula | None:
    """The first formula within a sentence; it ends where the sentence goes on. None where there is none."""
    for target in _TARGET.finditer(text):
        tokens = _tokens(text, target.start(), until_unknown=True)
        for end in range(len(tokens), tokens.index("="), -1):
            try:
                formula = _formula(tokens[:end], _spaced(tokens[:end])) if _may_end(tokens, end) else None
            except FormulaError:
                continue
            if formula is not None and formula.names - {formula.target}:
                return formula
            if formula is not None:
                break
    return None


def _may_end(tokens: list[str], end: int) -> bool:
    """Whether a formula may end here: behind an operand, and not in front of an operator, a bracket or a property.

    But for a bracket that cannot be of it, as after `Repeats[i] (for every i)`.
    """
    last, following, then = (*tokens[end - 1 : end + 2], "", "")[:3]
    is_aside = following == "(" and (last in _CLOSING or last in _PROPERTIES or last.isdigit())
    goes_on = (following in _GOES_ON and not is_aside) or (following == "." and then in _PROPERTIES)
    return _ENDS_OPERAND.fullmatch(last) is not None and not goes_on


@cache
def number_of(text: str) -> tuple[Number, frozenset[str]]:
    """A bound such as `InputTensor.DimensionCount - 1`: how to compute it, and the names in it.

    Raises:
        FormulaError: it is none.
    """
    node = _parsed(" ".join(_tokens(text)))
    return partial(_number, node), _names_in(node)


def contains(interval: Interval, value: int, given: Given) -> bool | None:
    """Whether an interval has a value on an example; None where its bounds have no value there."""
    try:
        low, high = (number_of(bound)[0](given) for bound in (interval.low, interval.high))
    except (FormulaError, NoValue):
        return None
    return value in range(low + (not interval.low_closed), high + interval.high_closed)


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
        elif match[1] and (len(tokens) == _MOST_TOKENS or (match[1].isdigit() and len(match[1]) > _MOST_DIGITS)):
            problem = "it is too long for a formula"
        else:
            tokens += filter(None, match.groups())
            start = match.end()
    if problem and not until_unknown:
        raise FormulaError(problem)
    return tokens


def _formula(tokens: list[str], text: str) -> Formula:
    """Definitions of names, then the sizes of a tensor; `text` is what was printed."""
    code = " ".join(tokens)
    statements = list(_STATEMENT.finditer(code))
    of_tensors = [match for match in statements if match[2]]
    if not statements or statements[0].start() or of_tensors != statements[-1:]:
        raise FormulaError("it is no list of names and then the sizes of one tensor")
    ends = [*(match.start() for match in statements[1:]), len(code)]
    *bodies, last = (_parsed(code[match.end() : end].strip(" ,;")) for match, end in zip(statements, ends, strict=True))
    lets = tuple((match[1], body) for match, body in zip(statements, bodies, strict=False))
    target, index = statements[-1][1], statements[-1][3] or ""
    parts = last.elts if isinstance(last, ast.List) and not index else [last]
    names = [*(_names_in(body) for body in bodies), *(_names_in(part, is_part=not index) for part in parts)]
    own = frozenset[str]().union(*names) - {name for name, _ in lets} - {index}
    return Formula(target, own, text, lets, tuple(parts), index)


def _parsed(code: str) -> ast.expr:
    """What Python reads, where it reads anything.

    Raises:
        FormulaError: it reads nothing.
    """
    tokens = re.sub(r"\b1 (?:\.\.\.|…)", _LEADING_ONES, code).split()
    try:
        return ast.parse(" ".join(_PYTHON.get(token, token) for token in tokens), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise FormulaError("it is in another grammar, or breaks off") from None


def _names_in(node: ast.expr, *, is_part: bool = False) -> frozenset[str]:
    """The names in a number, or in a part of joined sizes, which may be several numbers.

    Raises:
        FormulaError: it is neither.
    """
    match node:
        case ast.Constant(value=constant) if type(constant) is int or (constant is None and is_part):
            return frozenset()
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return _names_in(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _CALCULATIONS:
            return _names_in(left) | _names_in(right)
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name), attr="DimensionCount"):
            return frozenset({name})
        case ast.Attribute(value=ast.Name(id=name), attr="Sizes"):
            if not is_part:
                raise FormulaError(f"{name}.Sizes are several numbers")
            return frozenset({name})
        case ast.Subscript(value=ast.Name() | ast.Attribute(value=ast.Name(), attr="Sizes") as elements, slice=place):
            places: tuple[ast.expr, ...] = (place,)
            if is_part and isinstance(place, ast.Slice) and place.lower is not None and place.upper is not None:
                places = (place.lower, place.upper)
            return frozenset({_owner(elements)}).union(*map(_names_in, places))
    raise FormulaError("it has something else than numbers, fields, sizes, slices and + - * / %")


def _owner(node: ast.expr) -> str:
    """The tensor whose sizes are meant, or the array."""
    name = node.value if isinstance(node, ast.Attribute) else node
    assert isinstance(name, ast.Name)
    return name.id


def _indexed_by(index: str, number: ast.expr) -> set[str]:
    """The tensors and arrays in whose brackets an index stands."""
    subscripts = (node for node in ast.walk(number) if isinstance(node, ast.Subscript))
    return {_owner(node.value) for node in subscripts if isinstance(node.slice, ast.Name) and node.slice.id == index}


def _elements(name: str, given: Given) -> Sizes:
    """Sizes of a tensor, or the entries of an array."""
    elements = given.get(name)
    if not isinstance(elements, tuple):
        raise NoValue(f"{name} has no value")
    return elements


def _number(node: ast.expr, given: Given) -> int:
    return _sizes(node, given)[0]


def _sizes(node: ast.expr, given: Given) -> Sizes:
    """What a part of joined sizes comes to: leading ones, a slice, all of a tensor's sizes, or one number."""
    match node:
        case ast.Constant(value=constant):
            return (constant,) if isinstance(constant, int) else ()  # right-aligning adds leading ones
        case ast.Name(id=name):
            value = given.get(name)
            if not isinstance(value, int):
                raise NoValue(f"{name} has no value")
            return (value,)
        case ast.Attribute(attr=attribute):
            elements = _elements(_owner(node), given)
            return elements if attribute == "Sizes" else (len(elements),)
        case ast.UnaryOp(op=sign, operand=operand):
            return (-_number(operand, given) if isinstance(sign, ast.USub) else _number(operand, given),)
        case ast.BinOp(left=left, op=sign, right=right):
            result = _CALCULATIONS[type(sign)](_number(left, given), _number(right, given))
            if abs(result) >= _LARGEST:
                raise NoValue("it comes to more than 64 bits")
            return (result,)
        case ast.Subscript(value=value, slice=ast.Slice(lower=ast.expr() as low, upper=ast.expr() as high)):
            elements, first, end = _elements(_owner(value), given), _number(low, given), _number(high, given)
            if not 0 <= first <= end <= len(elements):
                raise NoValue(f"{_owner(value)} has no entries {first} .. {end}, it has {len(elements)}")
            return elements[first:end]
        case ast.Subscript(value=value, slice=place):
            elements, index = _elements(_owner(value), given), _number(place, given)
            if not 0 <= index < len(elements):
                raise NoValue(f"{_owner(value)} has no entry {index}, it has {len(elements)}")
            return (elements[index],)
    raise AssertionError("no node that the grammar has")


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


_CALCULATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _quotient,
    ast.Mod: _rest,
}
