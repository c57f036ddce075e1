"""REVERSE_SUBSEQUENCES."""

from __future__ import annotations

import numpy as np
import slow_reference as slow
from family_cases import Run, small_runs, with_values

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

NAME = "REVERSE_SUBSEQUENCES"


def slow_elements(run: Run) -> list[int]:
    axis, sizes = run.desc.axis, run.desc.output_tensor.sizes
    source, lengths = run.memory("input_tensor"), run.memory("sequence_lengths_tensor")
    found = []
    for c in slow.walk(sizes):
        length = min(lengths.number((*c[:axis], 0, *c[axis + 1 :])), sizes[axis])
        place = length - 1 - c[axis] if c[axis] < length else c[axis]
        found.append(int.from_bytes(source.element((*c[:axis], place, *c[axis + 1 :])), "little"))
    return found


def test_agrees_with_the_slow_reference() -> None:
    clamped = 0
    for run in small_runs(NAME):
        expected = run.expected["output_tensor"]
        assert expected.open is None
        assert slow_elements(run) == expected.values.reshape(-1).tolist()
        lengths, size = run.memory("sequence_lengths_tensor"), run.desc.input_tensor.sizes[run.desc.axis]
        clamped += any(lengths.number(c) > size for c in slow.walk(lengths.tensor.sizes))
    assert clamped


def reversed_once(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    data = TensorDesc.of(DataType.UINT32, values.shape)
    desc = operators()[NAME].desc(data, TensorDesc.of(DataType.UINT64, lengths.shape), data, 1)
    run = with_values(desc, HIGHEST, input_tensor=values, sequence_lengths_tensor=lengths)
    return np.asarray(run.expected["output_tensor"].values)


def test_twice_is_never_and_the_whole_is_a_flip() -> None:
    random = np.random.default_rng(3)
    values = random.integers(0, 2**32, (6, 9, 2), np.uint32)
    lengths = random.integers(0, 12, (6, 1, 2), np.uint64)
    assert (reversed_once(reversed_once(values, lengths), lengths) == values).all()
    for whole in (9, 10, 2**32, 2**64 - 1):
        assert (reversed_once(values, np.full((6, 1, 2), whole, np.uint64)) == values[:, ::-1]).all()
    for nothing in (0, 1):
        assert (reversed_once(values, np.full((6, 1, 2), nothing, np.uint64)) == values).all()
