"""NONZERO_COORDINATES."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import numbers, small_runs, with_values

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

NAME = "NONZERO_COORDINATES"
LEAST_NORMAL = {DataType.FLOAT16: 2.0**-14, DataType.FLOAT32: 2.0**-126}


def test_agrees_with_the_slow_reference() -> None:
    found_rows = 0
    for run in small_runs(NAME):
        source, columns = run.memory("input_tensor"), run.desc.output_coordinates_tensor.sizes[-1]
        least = LEAST_NORMAL.get(source.tensor.data_type, 0)
        rows: list[slow.Coordinates] = []
        known = None
        for c in slow.walk(source.tensor.sizes):
            number = numbers(np.frombuffer(source.element(c), np.uint8), source.tensor.data_type)[0]
            if number != number or 0 < abs(float(number)) < least:
                known = len(rows) if known is None else known
            if number != 0:
                rows.append(c[len(c) - columns :])
        count, coordinates = run.expected["output_count_tensor"], run.expected["output_coordinates_tensor"]
        judged = len(rows) if known is None else known
        assert (count.free is None) == (known is None)
        assert known is not None or count.values.item() == len(rows)
        values, free = (array.reshape(-1, columns) for array in (coordinates.values, coordinates.free))  # type: ignore[union-attr]
        assert [tuple(row) for row in values[:judged].tolist()] == rows[:judged]
        assert not free[:judged].any()
        assert free[judged:].all()
        found_rows += judged
    assert found_rows > 500


def described(sizes: tuple[int, ...], rows: tuple[int, ...], counts: tuple[int, ...] = (1,)) -> Any:
    index = DataType.UINT32
    tensors = TensorDesc.of(DataType.FLOAT32, sizes), TensorDesc.of(index, counts), TensorDesc.of(index, rows)
    return operators()[NAME].desc(*tensors)


def test_coordinates_lead_back_to_all_that_is_not_zero() -> None:
    values = np.random.default_rng(1).integers(-1, 2, (3, 4, 5)).astype(np.float32)
    values[values == 0] = -0.0
    run = with_values(described((3, 4, 5), (60, 3)), HIGHEST, input_tensor=values)
    count = run.expected["output_count_tensor"].values.item()
    rows = run.expected["output_coordinates_tensor"].values[:count]
    assert count == np.count_nonzero(values)
    values[tuple(rows.T)] = 0
    assert not values.any()
    assert (np.diff(np.ravel_multi_index(tuple(rows.T), (3, 4, 5))) > 0).all()


@pytest.mark.parametrize(
    ("sizes", "rows", "outcome"),
    [
        ((1, 2, 4), (8, 2), Outcome.ACCEPT),
        ((1, 2, 4), (1, 8, 3), Outcome.ACCEPT),
        ((1, 2, 4), (8, 1), Outcome.REJECT),
        ((1, 2, 4), (8, 4), Outcome.REJECT),
        ((1, 2, 4), (9, 2), Outcome.REJECT),
        ((1, 2, 4), (2, 4, 2), Outcome.REJECT),
        ((1, 1), (1, 1), Outcome.ACCEPT),
        ((7,), (7, 1), Outcome.ACCEPT),
        ((7,), (7,), Outcome.REJECT),
    ],
)
def test_rows_have_as_many_coordinates_as_are_needed(
    sizes: tuple[int, ...], rows: tuple[int, ...], outcome: Outcome
) -> None:
    assert decide(described(sizes, rows), HIGHEST).outcome is outcome


def test_dimension_counts_may_differ_from_4_0_on() -> None:
    desc = described((1, 1, 2, 2), (1, 1, 1, 4, 2), (1, 1, 1, 1))
    assert decide(desc, Level.L3_1).outcome is Outcome.UNSPECIFIED
    assert decide(desc, Level.L4_0).outcome is Outcome.ACCEPT
