"""JOIN and SPLIT: element by element in plain Python, and that one undoes the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, small_runs, with_values

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

CLASSES: Any = descriptor_classes()
KIND = DataType.UINT16


def moved(c: tuple[int, ...], axis: int, by: int) -> tuple[int, ...]:
    return (*c[:axis], c[axis] + by, *c[axis + 1 :])


def slowly(run: Run) -> dict[str, list[int]]:
    """The elements of each output in order."""
    desc, found = run.desc, {}
    if desc.operator == "SPLIT":
        source, first = run.memory("input_tensor"), 0
        for n, part in enumerate(desc.output_tensors):
            elements = [source.element(moved(c, desc.axis, first)) for c in slow.walk(part.sizes)]
            found[f"output_tensors[{n}]"] = elements
            first += part.sizes[desc.axis]
    else:
        sources = [run.memory(f"input_tensors[{n}]") for n in range(len(desc.input_tensors))]
        whole = []
        for c in slow.walk(desc.output_tensor.sizes):
            n, first = 0, 0
            while c[desc.axis] - first >= desc.input_tensors[n].sizes[desc.axis]:
                first += desc.input_tensors[n].sizes[desc.axis]
                n += 1
            whole.append(sources[n].element(moved(c, desc.axis, -first)))
        found["output_tensor"] = whole
    return {key: [int.from_bytes(one, "little") for one in elements] for key, elements in found.items()}


@pytest.mark.parametrize("name", ["JOIN", "SPLIT"])
def test_the_reference_agrees_with_the_pages_formula(name: str) -> None:
    for run in small_runs(name):
        found = {key: expected.values.reshape(-1).tolist() for key, expected in run.expected.items()}
        assert found == slowly(run), run.desc
        for key, expected in run.expected.items():
            if expected.values.size <= 24:
                assert np.array_equal(run.parts(key).values, expected.values), run.desc


def join(parts: list[Any], axis: int) -> Any:
    whole = list(parts[0].shape)
    whole[axis] = sum(part.shape[axis] for part in parts)
    desc = CLASSES["JOIN"](tuple(TensorDesc.of(KIND, part.shape) for part in parts), TensorDesc.of(KIND, whole), axis)
    assert not decide(desc, HIGHEST).violations
    run = with_values(desc, HIGHEST, **{f"input_tensors[{n}]": part for n, part in enumerate(parts)})
    return run.expected["output_tensor"].values


def split(whole: Any, lengths: list[int], axis: int) -> list[Any]:
    sizes = [(*whole.shape[:axis], length, *whole.shape[axis + 1 :]) for length in lengths]
    desc = CLASSES["SPLIT"](TensorDesc.of(KIND, whole.shape), tuple(TensorDesc.of(KIND, s) for s in sizes), axis)
    assert not decide(desc, HIGHEST).violations
    expected = with_values(desc, HIGHEST, input_tensor=whole).expected.values()
    return [np.ascontiguousarray(part.values) for part in expected]


VALUES = np.arange(4 * 5 * 6, dtype=np.uint16).reshape(4, 5, 6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_join_undoes_split(axis: int) -> None:
    for lengths in ([VALUES.shape[axis]], [1, VALUES.shape[axis] - 1], [2, 1, VALUES.shape[axis] - 3]):
        assert np.array_equal(join(split(VALUES, lengths, axis), axis), VALUES)


def test_joins_of_joins_are_joins() -> None:
    parts = split(VALUES, [1, 2, 1, 2], 2)
    assert np.array_equal(join([join(parts[:2], 2), join(parts[2:], 2)], 2), join(parts, 2))


def test_axes_are_independent() -> None:
    """Joined along one axis and then another, blocks are where they are the other way round."""
    rows = [split(row, [2, 4], 2) for row in split(VALUES, [3, 1], 0)]
    by_rows = join([join(row, 2) for row in rows], 0)
    by_columns = join([join([row[n] for row in rows], 0) for n in range(2)], 2)
    assert np.array_equal(by_rows, VALUES)
    assert np.array_equal(by_columns, VALUES)


@pytest.mark.parametrize(
    ("sizes", "axis", "whole", "rule"),
    [
        ([(2, 3), (2, 4)], 1, (2, 7), None),
        ([(2, 3), (2, 4)], 0, (4, 3), "input-sizes"),
        ([(2, 3), (2, 4)], 2, (2, 7), "axis-range"),
        ([(2, 3), (2, 4)], 1, (2, 8), "output-sizes"),
        ([(2, 3), (2, 4)], 1, (1, 7), "output-sizes"),
        ([(1, 2**31), (1, 2**31)], 1, (1, 1), "output-sizes"),
    ],
)
def test_sizes_that_join(sizes: list[tuple[int, ...]], axis: int, whole: tuple[int, ...], rule: str | None) -> None:
    parts = tuple(TensorDesc.of(KIND, part) for part in sizes)
    desc = CLASSES["JOIN"](parts, TensorDesc.of(KIND, whole), axis)
    assert decide(desc, HIGHEST).rules == (() if rule is None else (f"JOIN.{rule}",))
    rule = "output-sizes" if rule == "input-sizes" else rule
    desc = CLASSES["SPLIT"](TensorDesc.of(KIND, whole), parts, axis)
    assert decide(desc, HIGHEST).rules == (() if rule is None else (f"SPLIT.{rule}",))


def test_an_array_without_tensors_is_refused() -> None:
    one = TensorDesc.of(KIND, (1,))
    assert decide(CLASSES["JOIN"]((), one, 0), HIGHEST).rules == ("JOIN.required-tensors",)
    assert decide(CLASSES["SPLIT"](one, (), 0), HIGHEST).rules == ("SPLIT.required-tensors",)
