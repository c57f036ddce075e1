"""Random numbers of wrong counters, keys and rounds."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from strength.mutants.base import Arrays, WrongValues, fault, plants

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
        found = {"output_tensor": np.resize(self.made(words, groups, sizes).T, sizes)}
        if desc.output_state_tensor is not None:
            found["output_state_tensor"] = np.array([word % WORD for word in self.state(words, groups, sizes)], "u4")
        return found

    def made(self, words: list[int], groups: int, sizes: Any) -> Any:
        """A column for each counter."""
        return rounds(words, groups)

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


def _in_64_bits(words: list[int], groups: int) -> list[int]:
    low = (words[0] + words[1] * WORD + groups) % WORD**2
    return [low % WORD, low // WORD, *words[2:]]


plants("state", OtherGenerator).each(
    CounterStays=fault(lambda words: words, "Gives the state out as it came in."),
    CountsElements=fault(lambda words, sizes: advanced(words, prod(sizes)), "Counts every element."),
    CountsFullGroups=fault(
        lambda words, sizes: advanced(words, prod(sizes) // 4), "Counts whole fours of elements alone."
    ),
    CountsOneTooFew=fault(
        lambda words, groups: advanced(words, groups - 1), "Gives out the last counter that it used."
    ),
    CarryLost=fault(lambda words, groups: [words[0] + groups, *words[1:]], "Counts in the lowest word alone."),
    CarryLostAfter64Bits=fault(_in_64_bits, "Counts in the two lowest words."),
    CarryLostAfter96Bits=fault(
        lambda words, groups: [*advanced(words, groups)[:3], *words[3:]], "Counts in all words but the highest."
    ),
    CountsInTheLastWord=fault(
        lambda words, groups: [*reversed(advanced([*reversed(words[:4]), *words[4:]], groups)[:4]), *words[4:]],
        "Takes the last word for the lowest.",
    ),
    KeyGrows=fault(
        lambda words, groups: [
            *advanced(words, groups)[:4],
            *(key + 9 * grown for key, grown in zip(words[4:], WEYL, strict=True)),
        ],
        "Gives out the key of the last round.",
    ),
    StateCapped=fault(
        lambda words, groups: [*words_of(min(counter(words) + groups, LAST - 1)), *words[4:]],
        "Stays at the last counter where the counter would begin anew.",
    ),
)

plants("made", OtherGenerator).each(
    NineRounds=fault(lambda words, groups: rounds(words, groups, 9), "Leaves out a round."),
    SevenRounds=fault(lambda words, groups: rounds(words, groups, 7), "Is Philox 4x32-7, which the paper has too."),
    SameKeyInAllRounds=lambda words, groups: rounds(words, groups, weyl=(0, 0)),
    KeyWordsSwapped=lambda words, groups: rounds([*words[:4], words[5], words[4]], groups),
    MultipliersSwapped=lambda words, groups: rounds(words, groups, multipliers=MULTIPLIERS[::-1]),
    CounterWordsReversed=fault(
        lambda words, groups: rounds([*reversed(words[:4]), *words[4:]], groups), "Takes the last word for the lowest."
    ),
    OutputWordsReversed=lambda words, groups: rounds(words, groups)[::-1],
    WordByWord=fault(
        lambda words, groups: rounds(words, groups).reshape(-1),
        "Has the first words of all counters, then the second ones.",
    ),
    CarryLostWithinOutput=fault(
        lambda words, groups: rounds(words, groups, step=lambda words, n: [(words[0] + n) % WORD, *words[1:]]),
        "Counts in the lowest word alone.",
    ),
    FirstWordOfEach=fault(
        lambda words, sizes: rounds(words, prod(sizes))[0],
        "Takes one word of each counter, and uses up as many counters as there are elements.",
    ),
    CounterAfterwards=fault(
        lambda words, groups: rounds(advanced(words, 1), groups), "Counts on before it makes the first numbers."
    ),
    FirstDimensionFastest=fault(
        lambda words, groups, sizes: rounds(words, groups).T.reshape(-1)[: prod(sizes)].reshape(sizes[::-1]),
        "Fills the output column by column.",
    ),
)
