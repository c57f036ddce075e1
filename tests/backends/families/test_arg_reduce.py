"""ARGMIN and ARGMAX."""

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

NAMES = ("ARGMIN", "ARGMAX")
INCREASING, DECREASING = enumeration("DML_AXIS_DIRECTION")
LEAST_NORMAL = {DataType.FLOAT16: 2.0**-14, DataType.FLOAT32: 2.0**-126}


def reduced(run: Run, c: slow.Coordinates) -> list[Any]:
    """The elements that an output element is about, in row-major order."""
    source, axes = run.memory("input_tensor"), run.desc.axes
    inner = slow.walk(tuple(size if d in axes else 1 for d, size in enumerate(source.tensor.sizes)))
    bits = [source.element(tuple(a + b for a, b in zip(c, at, strict=True))) for at in inner]
    return [numbers(np.frombuffer(element, np.uint8), source.tensor.data_type)[0] for element in bits]


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_slow_reference(name: str) -> None:
    checked = tied = 0
    for run in small_runs(name):
        expected, least = run.expected["output_tensor"], LEAST_NORMAL.get(run.desc.input_tensor.data_type, 0)
        for c in slow.walk(run.desc.output_tensor.sizes):
            elements = reduced(run, c)
            extreme = (min if name == "ARGMIN" else max)(elements)
            is_open = any(e != e for e in elements) or abs(float(extreme)) < least
            if is_open and len(elements) > 1:
                continue
            places = [i for i, element in enumerate(elements) if element == extreme] or [0]
            assert expected.values[c] == places[0 if run.desc.axis_direction == INCREASING else -1]
            assert expected.free is None or not expected.free[c]
            checked, tied = checked + 1, tied + (len(places) > 1)
    assert checked > 500
    assert tied > 50


def arg(name: str, values: np.ndarray, axes: tuple[int, ...], direction: int = INCREASING) -> Any:
    source = TensorDesc.of(DataType[values.dtype.name.upper()], values.shape)
    sizes = tuple(1 if d in axes else size for d, size in enumerate(values.shape))
    desc = operators()[name].desc(source, TensorDesc.of(DataType.INT64, sizes), axes, direction)
    return with_values(desc, HIGHEST, input_tensor=values).expected["output_tensor"]


def test_the_least_is_the_largest_of_the_negated() -> None:
    values = np.random.default_rng(5).integers(-3, 4, (4, 5, 6), np.int16)
    for axes in ((0,), (1, 2), (0, 1, 2), ()):
        for direction in (INCREASING, DECREASING):
            a, b = arg("ARGMIN", values, axes, direction), arg("ARGMAX", -values, axes, direction)
            assert (a.values == b.values).all()
            assert a.free is None


def test_the_last_is_the_first_from_behind() -> None:
    values = np.random.default_rng(6).integers(0, 3, (7, 11), np.uint8)
    last, first = arg("ARGMAX", values, (1,), DECREASING), arg("ARGMAX", values[:, ::-1].copy(), (1,), INCREASING)
    assert (last.values == 10 - first.values).all()
    assert (last.values != arg("ARGMAX", values, (1,)).values).any()


@pytest.mark.parametrize(
    ("axes", "is_open"), [((0, 1), False), ((1, 0), True), ((0, 0), True), ((2, 0), False), ((2, 2), False)]
)
def test_an_order_of_axes_that_matters_is_open(axes: tuple[int, ...], is_open: bool) -> None:
    free = arg("ARGMAX", np.arange(6, dtype=np.int32).reshape(2, 3, 1), axes).free
    assert (free is not None and bool(free.all())) == is_open


@pytest.mark.parametrize(
    ("elements", "is_open"),
    [
        ([1.0, np.nan], True),
        ([np.nan], False),
        ([0.0, -0.0], True),
        ([-1.0, 0.0, 0.0], False),
        ([0.0, -0.0, 1.0], False),
    ],
)
def test_what_has_no_order_is_open_where_it_is_the_extreme(elements: list[float], is_open: bool) -> None:
    free = arg("ARGMAX", np.array(elements, np.float32), (0,)).free
    assert (free is not None and bool(free.all())) == is_open
