"""RANDOM_GENERATOR: Philox 4x32-10 (Salmon and others, Parallel random numbers: as easy as 1, 2, 3, 2011)."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import Array, Arrays, Compute
from dml_conformance.backends.reference.parts import Cuts, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.operators.random_generator import COUNTER
from dml_conformance.spec.structures import RandomGenerator

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85  # what the words of the key grow by from round to round
WORD = 2**32
GROUPS = 2**18  # of four elements, that are made together
FIRST = "first"  # of a part of the output: the number of its first element, beside the inputs


def random_generator(desc: RandomGenerator, arrays: Arrays) -> dict[str, Any]:
    """output[4 * n + k] = philox(counter + n, key)[k]; counter + ceil(outputs / 4), key"""
    words = [int(word) for word in arrays["input_state_tensor"].reshape(-1)]
    counter = sum(word * WORD**n for n, word in enumerate(words[:COUNTER]))
    key, sizes = words[COUNTER:], desc.output_tensor.sizes
    first = int(arrays[FIRST]) if FIRST in arrays else 0
    end = first + prod(sizes)
    groups = range(first // COUNTER, -(-end // COUNTER), GROUPS)

    def output(_: Tolerance) -> Expectation:
        made = [philox(counter + n, min(GROUPS, -(-end // COUNTER) - n), key) for n in groups]
        return Expectation(np.concatenate(made).reshape(-1)[first % COUNTER :][: prod(sizes)].reshape(sizes))

    found: dict[str, Any] = {"output_tensor": output}
    if desc.output_state_tensor is not None:
        state = [*_words(counter - (-end // COUNTER)), *key]
        found["output_state_tensor"] = np.array(state, np.uint32).reshape(desc.output_state_tensor.sizes)
    return found


def cut_output(desc: RandomGenerator, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The numbers from the box's first element on."""
    first = np.ravel_multi_index([span.start for span in spans], desc.output_tensor.sizes)
    return desc, {**arrays, FIRST: np.array(first, np.uint64)}


def philox(counter: int, count: int, key: list[int]) -> Array:
    """The four words of each of `count` counters in a row."""
    steps = np.arange(count, dtype=np.uint64)
    words, carry = [], steps
    for word in _words(counter):
        total = carry + np.uint64(word)
        words.append(total % WORD)
        carry = total // WORD
    for step in range(ROUNDS):
        keys = [np.uint64((word + step * grown) % WORD) for word, grown in zip(key, WEYL, strict=True)]
        first, second = (np.uint64(by) * words[place] for by, place in zip(MULTIPLIERS, (0, 2), strict=True))
        words = [
            second // WORD ^ words[1] ^ keys[0],
            second % WORD,
            first // WORD ^ words[3] ^ keys[1],
            first % WORD,
        ]
    return np.stack(words, axis=-1).astype("<u4")


def _words(counter: int) -> list[int]:
    """The words of a counter modulo 2^128, the lowest first."""
    return [counter // WORD**n % WORD for n in range(COUNTER)]


OPERATORS: dict[str, Compute] = {"RANDOM_GENERATOR": random_generator}
CUTS: dict[str, Cuts] = {"RANDOM_GENERATOR": {"output_tensor": cut_output}}
