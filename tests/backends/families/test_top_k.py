"""TOP_K and TOP_K1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, numbers, small_runs, with_values

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

NAMES = ("TOP_K", "TOP_K1")
INCREASING, DECREASING = enumeration("DML_AXIS_DIRECTION")
LEAST_NORMAL = {DataType.FLOAT16: 2.0**-14, DataType.FLOAT32: 2.0**-126}


def sequences(run: Run) -> dict[slow.Coordinates, list[tuple[Any, int]]]:
    """Of each sequence along Axis, by the coordinates of its first element, numbers and bits of its elements."""
    source, axis = run.memory("input_tensor"), run.desc.axis
    data_type, found = source.tensor.data_type, {}
    for c in slow.walk((*source.tensor.sizes[:axis], 1, *source.tensor.sizes[axis + 1 :])):
        bits = [source.element((*c[:axis], i, *c[axis + 1 :])) for i in range(source.tensor.sizes[axis])]
        found[c] = [(numbers(np.frombuffer(e, np.uint8), data_type)[0], int.from_bytes(e, "little")) for e in bits]
    return found


def has_order(elements: list[tuple[Any, int]], data_type: DataType) -> bool:
    """No NaN, and at most one kind of zero and subnormals."""
    if any(number != number for number, _ in elements):
        return False
    tiny = {bits for number, bits in elements if abs(float(number)) < LEAST_NORMAL.get(data_type, 0)}
    return len(tiny) < 2 and all(number == 0 for number, bits in elements if bits in tiny)


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_slow_reference(name: str) -> None:
    ordered = tied = 0
    for run in small_runs(name, 200):
        desc = run.desc
        values, index = (run.expected[f"output_{which}_tensor"] for which in ("value", "index"))
        is_increasing = getattr(desc, "axis_direction", DECREASING) == INCREASING
        for c, elements in sequences(run).items():
            line = (*c[: desc.axis], slice(None), *c[desc.axis + 1 :])
            if not has_order(elements, desc.input_tensor.data_type):
                assert values.free is not None
                continue
            # Selection by hand: the best of those left, the first of equal ones.
            left = list(range(len(elements)))
            for k in range(desc.k):
                best = left[0]
                for i in left[1:]:
                    a, b = elements[i][0], elements[best][0]
                    best = i if (a < b if is_increasing else a > b) else best
                left.remove(best)
                tied += any(elements[i][0] == elements[best][0] for i in left)
                assert int(index.values[line][k]) == best
                assert int(values.values[line][k]) == elements[best][1]
            ordered += 1
            for found in (values, index):
                assert found.free is None or not found.free[line].any()
    assert ordered > 200
    assert tied > 50


def top_k(values: np.ndarray, k: int, direction: int) -> tuple[Any, Any]:
    source = TensorDesc.of(DataType[values.dtype.name.upper()], values.shape)
    selected = TensorDesc.of(source.data_type, (*values.shape[:-1], k))
    index = TensorDesc.of(DataType.UINT32, selected.sizes)
    desc = operators()["TOP_K1"].desc(source, selected, index, values.ndim - 1, k, direction)
    found = with_values(desc, HIGHEST, input_tensor=values).expected
    return found["output_value_tensor"], found["output_index_tensor"]


def test_the_largest_are_the_smallest_of_the_negated() -> None:
    values = np.random.default_rng(5).integers(-9, 9, (20, 30), np.int32)
    largest, smallest = top_k(values, 12, DECREASING), top_k(-values, 12, INCREASING)
    assert (largest[1].values == smallest[1].values).all()
    assert (largest[0].values.view(np.int32) == -smallest[0].values.view(np.int32)).all()


def test_fewer_are_the_first_of_more_and_one_is_the_extreme() -> None:
    values = np.random.default_rng(6).integers(0, 40, (8, 60), np.uint64)
    for direction, extreme in ((INCREASING, np.argmin), (DECREASING, np.argmax)):
        more, fewer = top_k(values, 25, direction), top_k(values, 7, direction)
        for a, b in zip(more, fewer, strict=True):
            assert (a.values[:, :7] == b.values).all()
        assert (fewer[1].values[:, 0] == extreme(values, -1)).all()


@pytest.mark.parametrize(
    ("elements", "is_open"),
    [
        ([1.0, np.nan, 2.0], True),
        ([0.0, -0.0, -1.0], True),
        ([1e-40, -1.0, -2.0], True),
        ([0.0, 0.0, -1.0], False),
        ([-0.0, -0.0, -1.0], False),
        ([np.inf, -np.inf, 0.0], False),
        ([0.0, -0.0, 1.0, 2.0], False),
    ],
)
def test_what_has_no_order_is_open_where_it_is_selected(elements: list[float], is_open: bool) -> None:
    for found in top_k(np.array([elements], np.float32), 2, DECREASING):
        assert (found.free is not None and bool(found.free.any())) == is_open
