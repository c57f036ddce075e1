"""One small source of decisions, with two drivers.

Every builder is written once against `Chooser`. Hypothesis drives it where a failure should be found and shrunk;
a seed drives it in sweeps, many times as fast. Both shrink and start towards the first option and the lowest number,
so builders list the simplest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Impossible(Exception):
    """What was asked for does not exist at this level: a rule that no descriptor can break there, for example."""


class Chooser(Protocol):
    """Where a builder's decisions come from. A decision is one of at most 2^32."""

    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""

    def several(self, low: int, high: int, count: int) -> list[int]:
        """So many numbers from `low` to `high`: the same as asking `integer` for each, but faster."""

    def code(self, count: int) -> int:
        """A number below `count` that stands for several decisions at once; 0 is the simplest, the rest in no order."""

    def choice(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""

    def variant(self, options: Sequence[T]) -> T:
        """The same, of the ways in which a rule can be broken: `every_variant` walks through all of them.

        Raises:
            Impossible: there is none.
        """

    def section(self) -> None:
        """What follows is about something else: it stays as it is where there are fewer decisions before it.

        This is what lets a dimension go while a failure shrinks, and the layouts of the tensors remain.
        """


class SeededChooser:
    """Decisions from a seed: the same on every machine and with every version of Python.

    How, for who wants to make the same cases elsewhere. The seed, as text in UTF-8, is hashed with BLAKE2b to 32 bytes;
    read as one little-endian number they are the *pool*. A decision between n possibilities is the pool modulo n, and
    the pool is divided by n. When it has fallen below 2^64, the 32 bytes are hashed in the same way for a new pool.
    Since n is at most 2^32, no possibility is likelier than another by more than 2^-32 of its probability.

    A case takes 100 to 200 bits, so mostly one hash and a division a decision: a tenth of what it takes to set up a
    generator such as `random.Random`, which each case would need for itself to be made without those before it.
    """

    __slots__ = ("_block", "_pool")

    def __init__(self, seed: int | str) -> None:
        self._block = blake2b(str(seed).encode(), digest_size=32).digest()
        self._pool = int.from_bytes(self._block, "little")

    def _refill(self) -> None:
        self._block = blake2b(self._block, digest_size=32).digest()
        self._pool = int.from_bytes(self._block, "little")

    def integer(self, low: int, high: int) -> int:
        self._pool, chosen = divmod(self._pool, high - low + 1)
        if self._pool < _LEAST_POOL:
            self._refill()
        return low + chosen

    def several(self, low: int, high: int, count: int) -> list[int]:
        pool, possibilities, chosen = self._pool, high - low + 1, []
        for _ in range(count):
            pool, number = divmod(pool, possibilities)
            chosen.append(low + number)
            if pool < _LEAST_POOL:
                self._refill()
                pool = self._pool
        self._pool = pool
        return chosen

    def code(self, count: int) -> int:
        self._pool, chosen = divmod(self._pool, count)
        if self._pool < _LEAST_POOL:
            self._refill()
        return chosen

    def choice(self, options: Sequence[T]) -> T:
        self._pool, chosen = divmod(self._pool, len(options))
        if self._pool < _LEAST_POOL:
            self._refill()
        return options[chosen]

    def variant(self, options: Sequence[T]) -> T:
        if not options:
            raise Impossible
        return self.choice(options)

    def section(self) -> None:
        """Nothing: a seed is not shrunk."""


_LEAST_POOL = 2**64


class SimplestChooser:
    """Of all options the simplest."""

    def integer(self, low: int, high: int) -> int:
        return low

    def several(self, low: int, high: int, count: int) -> list[int]:
        return [low] * count

    def code(self, count: int) -> int:
        return 0

    def choice(self, options: Sequence[T]) -> T:
        return options[0]

    def variant(self, options: Sequence[T]) -> T:
        if not options:
            raise Impossible
        return options[0]

    def section(self) -> None:
        """Nothing: there are no decisions before it."""


class _WalkingChooser(SeededChooser):
    """Decisions from a seed, except variants: the first ones follow a path, the rest take their first option."""

    def __init__(self, seed: int | str, path: Sequence[int]) -> None:
        super().__init__(seed)
        self._path = path
        self.taken: list[tuple[int, int]] = []  # of each variant asked for, which was taken and how many there were

    def variant(self, options: Sequence[T]) -> T:
        if not options:
            raise Impossible
        n = len(self.taken)
        taken = self._path[n] if n < len(self._path) else 0
        self.taken.append((taken, len(options)))
        return options[taken]


def every_variant(seed: int | str, make: Callable[[Chooser], T]) -> Iterator[T]:
    """What `make` makes with each combination of variants, once each; everything else comes from the seed.

    A combination that it finds `Impossible` is left out.
    """
    path: list[int] | None = []
    while path is not None:
        chooser = _WalkingChooser(seed, path)
        with suppress(Impossible):
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
    """Decisions out of a few blocks of bytes that Hypothesis draws; a block of zeros takes all that is simplest.

    A draw costs Hypothesis as much as a dozen decisions cost here, however little it gives. So one draw is a block of
    bytes, and a decision takes the next of them, modulo the number of possibilities; a code takes as many as it needs,
    the highest first. A new section starts a new block. Hypothesis shrinks a block byte by byte, towards zero. Only a
    number out of more than 256 is drawn alone, since bytes of it would shrink to low ones and not to the lowest.

    What is drawn depends on nothing but Hypothesis. It likes to try constants out of code that happens to be loaded, so
    blocks are longer than those that it takes, and numbers are drawn where no code has any.
    """

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw
        self._block = b""
        self._taken = 0

    def integer(self, low: int, high: int) -> int:
        possibilities = high - low + 1
        if possibilities > 256:
            number: int = self._draw(_integers(low + _FAR, high + _FAR))
            return number - _FAR
        return low + self.code(possibilities)

    def several(self, low: int, high: int, count: int) -> list[int]:
        return [self.integer(low, high) for _ in range(count)]

    def code(self, count: int) -> int:
        width = (count - 1).bit_length() + 7 >> 3 or 1  # a byte also where there is no choice: more may follow it
        if self._taken + width > len(self._block):
            self._block, self._taken = self._draw(_BLOCK), 0
        start = self._taken
        self._taken += width
        return int.from_bytes(self._block[start : self._taken], "big") % count

    def choice(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def variant(self, options: Sequence[T]) -> T:
        if not options:
            raise Impossible
        return self.choice(options)

    def section(self) -> None:
        self._taken = len(self._block)


_FAR = 2**96
_BLOCK = st.binary(min_size=64, max_size=64)  # most sections take less than 20


@lru_cache(maxsize=4096)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    """Made once for each range: making a strategy costs more than drawing from it."""
    return st.integers(low, high)
