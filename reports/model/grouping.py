"""Items put together by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from dml_conformance.spec.registry import families

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


def grouped(items: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    """The items by what `key` gives for them; groups and items in the order in which they come."""
    found: dict[_K, list[_T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def distinct(sequences: Iterable[Iterable[_K]]) -> list[_K]:
    """What is in any of the sequences, once, in the order of its first appearance."""
    return list(dict.fromkeys(item for sequence in sequences for item in sequence))


def family_name(operator: str) -> str:
    """The family of an operator in words, `element wise unary`; of one that this suite does not know, its own name."""
    known = families()
    return known[operator].replace("_", " ") if operator in known else operator
