"""Mutation operators for code that declares, beside those of Cosmic Ray, which are for code that computes.

Most of `spec/` states: which rules exist, what they need, from which level on, which types a table lists. Cosmic Ray
swaps operators and numbers, so it would leave a table's entry or a rule's precondition alone. These take one away, or
put its neighbour in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import parso
from cosmic_ray.operators.operator import Example, Operator

from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category

Position = tuple[tuple[int, int], tuple[int, int]]

_NAME = re.compile(r"""["'][\w.-]+["']""")


def _position(node: Any) -> Position:
    return node.start_pos, node.end_pos


def _is_comma(node: Any) -> bool:
    return node.type == "operator" and node.value == ","


def _without(children: list[Any], at: int) -> list[Any]:
    """A list of nodes between commas without the node at an index, and without the comma that it leaves over."""
    comma = at + 1 if at + 1 < len(children) else at - 1
    return [child for i, child in enumerate(children) if i not in (at, comma)]


def _names_enumeration(name: Any, enumeration: str) -> bool:
    """Whether a name is the member in `Enumeration.MEMBER`."""
    if name.type != "name" or name.parent is None or name.parent.type != "trailer" or name.parent.children[0] != ".":
        return False
    before = name.parent.get_previous_sibling()
    return before is not None and before.type == "name" and before.value == enumeration


class _Declared(Operator):
    """An operator whose examples are an attribute."""

    shown: tuple[Example, ...] = ()

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return cls.shown


class _DropArgument(_Declared):
    """Takes away arguments of a call, or of the line that begins a class, one at a time."""

    def droppable(self, argument: Any, all_of_them: list[Any]) -> bool:
        raise NotImplementedError

    def _found(self, node: Any) -> list[int]:
        if node.type != "arglist":
            return []
        return [i for i, child in enumerate(node.children) if self.droppable(child, node.children)]

    def mutation_positions(self, node: Any) -> list[Position]:
        found = [node.children[i] for i in self._found(node)]
        if node.parent is not None and node.parent.type in ("trailer", "classdef") and self.droppable(node, [node]):
            found.append(node)
        return [_position(argument) for argument in found]

    def mutate(self, node: Any, index: int) -> Any:
        if node.type != "arglist":
            return None
        node.children = _without(node.children, self._found(node)[index])
        return node


class DropKeyword(_DropArgument):
    """`Rule(…, since=L, needs=N)` becomes `Rule(…, since=L)`: a precondition, bound or erratum goes unsaid."""

    def droppable(self, argument: Any, all_of_them: list[Any]) -> bool:
        return bool(argument.type == "argument" and argument.children[1] == "=")

    shown = (
        Example("f(a, b=1, c=2)", "f(a, c=2)"),
        Example("f(a, b=1, c=2)", "f(a, b=1)", occurrence=1),
        Example("f(b=1)", "f()"),
        Example("class A(B, frozen=True): pass", "class A(B): pass"),
    )


class DropName(_DropArgument):
    """`ids("GATHER", "axis-range", "output-rank")` becomes `ids("GATHER", "axis-range")`; the same for `*names`."""

    def droppable(self, argument: Any, all_of_them: list[Any]) -> bool:
        if argument.type == "argument":
            return bool(argument.children[0] == "*")
        strings = [child for child in all_of_them if child.type == "string"]
        return argument.type == "string" and all(_NAME.fullmatch(string.value) for string in strings)

    shown = (
        Example('ids("A", "b")', 'ids( "b")'),
        Example('ids("A", "b")', 'ids("A")', occurrence=1),
        Example('needs(*ALL, "c")', 'needs( "c")'),
    )


class DropElement(_Declared):
    """Takes away an element of a tuple, list, set or dictionary that is written out."""

    @staticmethod
    def _elements(node: Any) -> list[tuple[int, int]]:
        """First and last index of each element's nodes; several for an entry of a dictionary."""
        if node.type not in ("testlist_comp", "dictorsetmaker") or "comp_for" in node.children[-1].type:
            return []
        ends = [i for i, child in enumerate(node.children) if _is_comma(child)] + [len(node.children)]
        starts = [0, *(end + 1 for end in ends)]
        return [(start, end - 1) for start, end in zip(starts, ends, strict=False) if start < end]

    def mutation_positions(self, node: Any) -> list[Position]:
        return [(node.children[first].start_pos, node.children[last].end_pos) for first, last in self._elements(node)]

    def mutate(self, node: Any, index: int) -> Any:
        first, last = self._elements(node)[index]
        end = last + 2 if last + 1 < len(node.children) else last + 1
        rest = [*node.children[:first], *node.children[end:]]
        is_tuple = node.type == "testlist_comp" and node.parent.children[0] == "("
        if is_tuple and len(rest) == 1:  # or it would be the element in parentheses
            rest.append(parso.python.tree.Operator(",", rest[0].end_pos))
        node.children = rest
        return node

    shown = (
        Example("x = (a, b)", "x = ( b,)"),
        Example("x = (a, b)", "x = (a,)", occurrence=1),
        Example("x = [a, b, c]", "x = [a, c]", occurrence=1),
        Example("x = {a: 1, b: 2}", "x = { b: 2}"),
        Example("x = {a, b}", "x = {a,}", occurrence=1),
    )


class DropWord(_Declared):
    """`types("FLOAT32 FLOAT16")` becomes `types("FLOAT32")`: a table lacks a type."""

    @staticmethod
    def _words(node: Any) -> list[str]:
        if node.type != "string" or node.parent.type != "trailer":
            return []
        called = node.parent.get_previous_sibling()
        return node.value[1:-1].split() if called is not None and called.get_code().strip() == "types" else []

    def mutation_positions(self, node: Any) -> list[Position]:
        return [_position(node)] * len(self._words(node))

    def mutate(self, node: Any, index: int) -> Any:
        words = self._words(node)
        node.value = '"' + " ".join(words[:index] + words[index + 1 :]) + '"'
        return node

    shown = (Example('types("A B C")', 'types("A C")', occurrence=1),)


class _Neighbour(_Declared):
    """Puts the member before or after in the place of an enumeration's member."""

    enumeration: type[Enum]

    def _others(self, node: Any) -> list[str]:
        if not _names_enumeration(node, self.enumeration.__name__):
            return []
        members = list(self.enumeration.__members__)
        if node.value not in members:
            return []
        at = members.index(node.value)
        return members[max(at - 1, 0) : at] + members[at + 1 : at + 2]

    def mutation_positions(self, node: Any) -> list[Position]:
        return [_position(node)] * len(self._others(node))

    def mutate(self, node: Any, index: int) -> Any:
        node.value = self._others(node)[index]
        return node


class NextLevel(_Neighbour):
    """`Level.L3_0` becomes `Level.L2_1` or `Level.L3_1`."""

    enumeration = Level

    shown = (
        Example("x = Level.L3_0", "x = Level.L2_1"),
        Example("x = Level.L3_0", "x = Level.L3_1", occurrence=1),
        Example("x = Level.L1_0", "x = Level.L2_0"),
    )


class NextCategory(_Neighbour):
    """`Category.SHAPE` becomes `Category.ATTRIBUTES` or `Category.EXECUTION`."""

    enumeration = Category

    shown = (Example("x = Category.SHAPE", "x = Category.ATTRIBUTES"),)


class ReturnNone(_Declared):
    """A function returns None, which for a rule's check means that nothing is broken."""

    def mutation_positions(self, node: Any) -> list[Position]:
        returns = node.type == "return_stmt" and node.children[1].get_code().strip() != "None"
        return [_position(node.children[1])] if returns else []

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = parso.python.tree.Name("None", node.children[1].start_pos, prefix=" ")
        return node

    shown = (Example("def f(): return a + b", "def f(): return None"),)


class SwapMembership(_Declared):
    """`in` becomes `not in`, and the other way round."""

    @staticmethod
    def _found(node: Any) -> list[int]:
        if node.type != "comparison":
            return []
        said = [child.get_code().split() for child in node.children]
        return [i for i in range(1, len(said), 2) if said[i] in (["in"], ["not", "in"])]

    def mutation_positions(self, node: Any) -> list[Position]:
        return [_position(node.children[i]) for i in self._found(node)]

    def mutate(self, node: Any, index: int) -> Any:
        i = self._found(node)[index]
        was = node.children[i]
        becomes = "in" if was.type == "comp_op" else "not in"
        node.children[i] = parso.python.tree.Operator(becomes, was.start_pos, prefix=" ")
        return node

    shown = (Example("x = a in b", "x = a not in b"), Example("x = a not in b", "x = a in b"))


_OPERATORS: dict[str, type[Operator]] = {
    operator.__name__: operator
    for operator in (
        DropKeyword,
        DropName,
        DropElement,
        DropWord,
        NextLevel,
        NextCategory,
        ReturnNone,
        SwapMembership,
    )
}


class Provider:
    """The operators here, as Cosmic Ray asks for them."""

    def __iter__(self) -> Iterator[str]:
        return iter(_OPERATORS)

    def __getitem__(self, name: str) -> type[Operator]:
        return _OPERATORS[name]
