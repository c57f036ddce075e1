"""Random numbers of wrong counters, keys and rounds."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from strength.mutants.base import Arrays, WrongValues, plants

FAMILY = ("random_generator",)
MULTIPLIERS, WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
WORD, LAST = 2**32, 2**128


class OtherGenerator(WrongValues, abstract=True):
    """Makes numbers, and counts on, in another way."""

    families = FAMILY

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        words = [int(word) for word in arrays["input_state_tensor"].reshape(-1)]
        sizes = desc.output_tensor.sizes
        groups = -(-prod(sizes) // 4)
        made = self.made(words, groups, sizes)
        found = {"output_tensor": np.resize(np.asarray(made, np.uint64), sizes).astype(np.uint32)}
        if desc.output_state_tensor is not None:
            state = np.array([word % WORD for word in self.state(words, groups, sizes)], np.uint64)
            found["output_state_tensor"] = state.astype(np.uint32).reshape(desc.output_state_tensor.sizes)
        return found

    def made(self, words: list[int], groups: int, sizes: Any) -> Any:
        return rounds(words, groups).T.reshape(-1)[: prod(sizes)]

    def state(self, words: list[int], groups: int, sizes: Any) -> list[int]:
        return advanced(words, groups)


def counter(words: list[int]) -> int:
    return sum(word * WORD**n for n, word in enumerate(words[:4]))


def words_of(number: int) -> list[int]:
    return [number // WORD**n % WORD for n in range(4)]


def advanced(words: list[int], by: int) -> list[int]:
    return [*words_of(counter(words) + by), *words[4:]]


def rounds(
    words: list[int],
    groups: int,
    count: int = 10,
    weyl: Any = WEYL,
    multipliers: Any = MULTIPLIERS,
    step: Any = advanced,
) -> Any:
    """Four rows of words, a column for each counter."""
    counters = np.array([step(words, n)[:4] for n in range(min(groups, 40))], np.uint64).T
    if groups > 40:  # what is wrong shows in the first ones
        first = np.array(words_of(counter(words)), np.uint64)
        low = (first[0] + np.arange(groups, dtype=np.uint64)) % WORD
        rest = np.stack([low, *(np.full(groups, word) for word in first[1:])])
        rest[:, :40] = counters
        counters = rest
    keys = [np.uint64(key) for key in words[4:6]]
    for _ in range(count):
        p, q = (np.uint64(by) * counters[place] for by, place in zip(multipliers, (0, 2), strict=True))
        counters = np.stack([q // WORD ^ counters[1] ^ keys[0], q % WORD, p // WORD ^ counters[3] ^ keys[1], p % WORD])
        keys = [np.uint64((int(key) + grown) % WORD) for key, grown in zip(keys, weyl, strict=True)]
    return counters


@plants("state", OtherGenerator)
def CounterStays(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Gives the state out as it came in."""
    return words


@plants("state", OtherGenerator)
def CountsElements(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Counts every element."""
    return advanced(words, prod(sizes))


@plants("state", OtherGenerator)
def CountsFullGroups(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Counts whole fours of elements alone."""
    return advanced(words, prod(sizes) // 4)


@plants("state", OtherGenerator)
def CountsOneTooFew(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Gives out the last counter that it used."""
    return advanced(words, groups - 1)


@plants("state", OtherGenerator)
def CarryLost(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Counts in the lowest word alone."""
    return [words[0] + groups, *words[1:]]


@plants("state", OtherGenerator)
def CarryLostAfter64Bits(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Counts in the two lowest words."""
    low = (words[0] + words[1] * WORD + groups) % WORD**2
    return [low % WORD, low // WORD, *words[2:]]


@plants("state", OtherGenerator)
def CarryLostAfter96Bits(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Counts in all words but the highest."""
    return [*advanced(words, groups)[:3], *words[3:]]


@plants("state", OtherGenerator)
def CountsInTheLastWord(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Takes the last word for the lowest."""
    return [*reversed(advanced([*reversed(words[:4]), *words[4:]], groups)[:4]), *words[4:]]


@plants("state", OtherGenerator)
def KeyGrows(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Gives out the key of the last round."""
    return [*advanced(words, groups)[:4], *(key + 9 * grown for key, grown in zip(words[4:], WEYL, strict=True))]


@plants("state", OtherGenerator)
def StateCapped(words: list[int], groups: int, sizes: Any) -> list[int]:
    """Stays at the last counter where the counter would begin anew."""
    return [*words_of(min(counter(words) + groups, LAST - 1)), *words[4:]]


@plants("made", OtherGenerator)
def NineRounds(words: list[int], groups: int, sizes: Any) -> Any:
    """Leaves out a round."""
    return rounds(words, groups, 9).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def SevenRounds(words: list[int], groups: int, sizes: Any) -> Any:
    """Is Philox 4x32-7, which the paper has too."""
    return rounds(words, groups, 7).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def SameKeyInAllRounds(words: list[int], groups: int, sizes: Any) -> Any:
    return rounds(words, groups, weyl=(0, 0)).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def KeyWordsSwapped(words: list[int], groups: int, sizes: Any) -> Any:
    return rounds([*words[:4], words[5], words[4]], groups).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def MultipliersSwapped(words: list[int], groups: int, sizes: Any) -> Any:
    return rounds(words, groups, multipliers=MULTIPLIERS[::-1]).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def CounterWordsReversed(words: list[int], groups: int, sizes: Any) -> Any:
    """Takes the last word for the lowest."""
    return rounds([*reversed(words[:4]), *words[4:]], groups).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def OutputWordsReversed(words: list[int], groups: int, sizes: Any) -> Any:
    return rounds(words, groups)[::-1].T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def WordByWord(words: list[int], groups: int, sizes: Any) -> Any:
    """Has the first words of all counters, then the second ones."""
    return rounds(words, groups).reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def CarryLostWithinOutput(words: list[int], groups: int, sizes: Any) -> Any:
    """Counts in the lowest word alone."""
    return rounds(words, groups, step=lambda words, n: [(words[0] + n) % WORD, *words[1:]]).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def FirstWordOfEach(words: list[int], groups: int, sizes: Any) -> Any:
    """Takes one word of each counter, and uses up as many counters as there are elements."""
    return rounds(words, prod(sizes))[0]


@plants("made", OtherGenerator)
def CounterAfterwards(words: list[int], groups: int, sizes: Any) -> Any:
    """Counts on before it makes the first numbers."""
    return rounds(advanced(words, 1), groups).T.reshape(-1)[: prod(sizes)]


@plants("made", OtherGenerator)
def FirstDimensionFastest(words: list[int], groups: int, sizes: Any) -> Any:
    """Fills the output column by column."""
    made = rounds(words, groups).T.reshape(-1)[: prod(sizes)]
    return made.reshape(tuple(reversed(sizes))).transpose().reshape(-1)
