"""RANDOM_GENERATOR, against the published answers of Random123 and a generator in plain integers.

Neither ONNX nor NumPy has Philox 4x32-10: NumPy's is of words of 64 bits.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, small_runs, with_values
from slow_reference import walk

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.random_generator import RANDOM_GENERATOR
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

# Counter, key and answer of philox4x32 with 10 rounds, from the file kat_vectors of Random123.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def run_of(state: list[int], *sizes: int) -> Run:
    of = TensorDesc.of(DataType.UINT32, (1, 1, 1, 6))
    desc = RANDOM_GENERATOR.desc(of, TensorDesc.of(DataType.UINT32, sizes), of, 0)
    run = with_values(desc, HIGHEST, input_state_tensor=np.array(state, np.uint32))
    assert_conforms(TorchBackend("cpu"), run)
    return run


def outputs(run: Run) -> tuple[list[int], list[int]]:
    made, after = (run.expected[key].values.reshape(-1).tolist() for key in ("output_tensor", "output_state_tensor"))
    return made, after


def slow_philox(counter: int, key: list[int]) -> list[int]:
    """The four words of a counter, one round after the other as the paper draws them."""
    right0, left0, right1, left1 = (counter >> 32 * n & 0xFFFFFFFF for n in range(4))
    k0, k1 = key
    for _ in range(10):
        p, q = 0xD2511F53 * right0, 0xCD9E8D57 * right1
        right0, left0, right1, left1 = (q >> 32) ^ left0 ^ k0, q & 0xFFFFFFFF, (p >> 32) ^ left1 ^ k1, p & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [right0, left0, right1, left1]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_published_answers(counter: str, key: str, answer: str) -> None:
    made, after = outputs(run_of([*words(counter), *words(key)], 1, 1, 1, 4))
    assert made == words(answer)
    assert after[4:] == words(key)
    assert slow_philox(sum(word << 32 * n for n, word in enumerate(words(counter))), words(key)) == words(answer)


def test_elements_are_the_words_of_one_counter_after_the_other() -> None:
    carried = 0
    for run in small_runs("RANDOM_GENERATOR", 90):
        state = [
            int.from_bytes(run.memory("input_state_tensor").element(at), "little")
            for at in walk(run.desc.input_state_tensor.sizes)
        ]
        counter = sum(word << 32 * n for n, word in enumerate(state[:4]))
        count = prod(run.desc.output_tensor.sizes)
        groups = (count + 3) // 4
        made = [word for n in range(groups) for word in slow_philox((counter + n) % 2**128, state[4:])]
        assert run.expected["output_tensor"].values.reshape(-1).tolist() == made[:count]
        if run.desc.output_state_tensor is not None:
            after = (counter + groups) % 2**128
            wanted = [*(after >> 32 * n & 0xFFFFFFFF for n in range(4)), *state[4:]]
            assert run.expected["output_state_tensor"].values.reshape(-1).tolist() == wanted
            carried += after >> 32 != counter >> 32
    assert carried > 10


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 1_050_001])
def test_what_follows_goes_on_where_it_ended(count: int) -> None:
    state = [0xFFFFFFFE, 0xFFFFFFFF, 5, 6, 7, 8]
    first, after = outputs(run_of(state, 1, 1, 1, count))
    both, end = outputs(run_of(state, 1, 1, 1, (count + 3) // 4 * 4 + 4))
    second, after = outputs(run_of(after, 1, 1, 1, 4))
    assert first == both[:count]
    assert second == both[-4:]
    assert after == end


def test_the_counter_of_the_pages_example() -> None:
    """What is printed as the counter afterwards is the one before, and the other way round."""
    outputs_made = prod((3, 3, 20, 7219))
    assert -(-outputs_made // 4) == 324_855
    before, after = words("746f776e 6d536561 6f46726f 48656c6c"), words("74746c65 6d536561 6f46726f 48656c6c")
    assert outputs(run_of([*before, 1, 2], 3, 3, 20, 7219))[1] == [*after, 1, 2]


@pytest.mark.parametrize("sizes", [(1, 1, 6, 1), (6, 1, 1, 1), (1, 1, 1, 5), (1, 1, 1, 7), (1, 1, 2, 3), (1, 1, 2, 6)])
def test_the_state_has_its_words_along_the_last_dimension(sizes: Any) -> None:
    state, made = (TensorDesc.of(DataType.UINT32, of) for of in (sizes, (1, 1, 1, 4)))
    desc = RANDOM_GENERATOR.desc(state, made, None, 0)
    assert decide(desc, HIGHEST).rules
    assert not TorchBackend("cpu").validate(desc, HIGHEST).accepted
