"""One small source of decisions, with two drivers.

Every builder is written once against `Chooser`. Hypothesis drives it where a failure should be found and shrunk;
a seeded `random.Random` drives it in sweeps, two orders of magnitude faster. Both shrink and start towards the
first option and the lowest number, so builders list the simplest first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Chooser(Protocol):
    """Where a builder's decisions come from."""

    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""

    def choice(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""

    def variant(self, options: Sequence[T]) -> T:
        """The same, of the ways in which a rule can be broken: `every_variant` walks through all of them."""


class SeededChooser:
    """Decisions from `random.Random`: the same on every machine for the same seed.

    `random.Random.random` is the one generator call that Python promises to keep reproducible across versions, so
    everything is made from it.
    """

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed).random  # noqa: S311

    def integer(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def choice(self, options: Sequence[T]) -> T:
        return options[int(self._random() * len(options))]

    def variant(self, options: Sequence[T]) -> T:
        return self.choice(options)


class _WalkingChooser(SeededChooser):
    """Decisions from a seed, except variants: the first ones follow a path, the rest take their first option."""

    def __init__(self, seed: int | str, path: Sequence[int]) -> None:
        super().__init__(seed)
        self._path = path
        self.taken: list[tuple[int, int]] = []  # of each variant asked for, which was taken and how many there were

    def variant(self, options: Sequence[T]) -> T:
        n = len(self.taken)
        taken = self._path[n] if n < len(self._path) else 0
        self.taken.append((taken, len(options)))
        return options[taken]


def every_variant(seed: int | str, make: Callable[[Chooser], T]) -> Iterator[T]:
    """What `make` makes with each combination of variants, once each; everything else comes from the seed."""
    path: list[int] | None = []
    while path is not None:
        chooser = _WalkingChooser(seed, path)
        yield make(chooser)
        path = _next_path(chooser.taken)


def _next_path(taken: list[tuple[int, int]]) -> list[int] | None:
    """Count up by one, the last variant first; None after the last combination."""
    for n in range(len(taken) - 1, -1, -1):
        index, count = taken[n]
        if index + 1 < count:
            return [*(earlier for earlier, _ in taken[:n]), index + 1]
    return None


class HypothesisChooser:
    """Decisions drawn by Hypothesis; strategies are made once for each range, since making them costs most."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return low if low == high else self._draw(_integers(low, high))

    def choice(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def variant(self, options: Sequence[T]) -> T:
        return self.choice(options)


@lru_cache(maxsize=4096)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)
