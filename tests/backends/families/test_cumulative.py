"""CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT, held against exact fractions and ONNX's CumSum."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from operator import add, mul
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.cumulative import DIRECTION, is_exclusive
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc

OPERATIONS = {"CUMULATIVE_SUMMATION": (add, 0), "CUMULATIVE_PRODUCT": (mul, 1)}


def slow_scan(run: Run, c: slow.Coordinates) -> Fraction | int | None:
    """The exact sum or product; None beside what is not finite."""
    desc, memory, (operation, empty) = run.desc, run.memory("input_tensor"), OPERATIONS[run.desc.operator]
    kind, axis = np.dtype(desc.input_tensor.data_type.name.lower()), desc.axis
    order = list(range(desc.input_tensor.sizes[axis]))
    if desc.axis_direction == DIRECTION.DECREASING:
        order.reverse()
    taken = order[: order.index(c[axis]) + (not is_exclusive(desc))]
    row = [np.frombuffer(memory.element((*c[:axis], at, *c[axis + 1 :])), kind)[0].item() for at in taken]
    if not all(map(math.isfinite, row)):
        return None
    exact = list(accumulate(map(Fraction, row), operation, initial=Fraction(empty)))[-1]
    if kind.kind == "f":
        return exact
    bits = int(exact) % 2 ** (8 * kind.itemsize)
    return bits - 2 ** (8 * kind.itemsize) if kind.kind == "i" and bits >> (8 * kind.itemsize - 1) else bits


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_expected_lies_around_exact_sums_and_products(name: str) -> None:
    seen = {"f": 0, "iu": 0}
    for run in small_runs(name, 90):
        data_type, expected = run.desc.output_tensor.data_type, run.expected["output_tensor"]
        values = numbers(expected.values, data_type).reshape(-1)
        for n, c in list(enumerate(slow.walk(run.desc.output_tensor.sizes)))[:20]:
            y = slow_scan(run, c)
            if not data_type.is_float:
                assert values[n] == y
                seen["iu"] += 1
            elif y is not None and (y == 0 or 1e-30 < abs(y) < 6e4):
                assert expected.within is not None
                low, high = (
                    float(numbers(part, data_type).reshape(-1)[n])
                    for part in (expected.within.low, expected.within.high)
                )
                unit = float(np.spacing(values.dtype.type(abs(float(y)))))
                assert low - unit <= y <= high + unit
                seen["f"] += 1
    assert min(seen.values()) > 80


def of(name: str, row: Any, kind: Any = np.float32, direction: str = "INCREASING", is_exclusive: bool = False) -> Run:
    values = np.array(row, kind)
    tensor = TensorDesc.of(DataType[values.dtype.name.upper()], (1, 1, 1, values.size))
    desc = operator(name).desc(tensor, tensor, 3, DIRECTION[direction], is_exclusive)
    return with_values(desc, HIGHEST, input_tensor=values)


def ends(run: Run) -> tuple[Any, Any, Any]:
    """The least and the greatest of each element, and where a NaN is right."""
    within = run.expected["output_tensor"].within
    assert within is not None
    low, high = (numbers(part, run.desc.output_tensor.data_type).astype(float).ravel() for part in within[:2])
    return low, high, np.zeros(low.shape, bool) if within.nan is None else within.nan.ravel()


def test_whole_numbers_and_powers_of_two_are_exact_in_any_order() -> None:
    for kind in (np.float32, np.float16):
        low, high, _ = ends(of("CUMULATIVE_SUMMATION", [3, -5, 2, 7], kind))
        assert low.tolist() == high.tolist() == [3, -2, 0, 7]
        low, high, _ = ends(of("CUMULATIVE_PRODUCT", [3, -0.5, 2, 7], kind, "DECREASING"))
        assert low.tolist() == high.tolist() == [-21, -7, 14, 7]


def test_a_product_that_overflows_on_the_way_may_be_infinite_or_not() -> None:
    low, high, nan = ends(of("CUMULATIVE_PRODUCT", [1e30, 1e30, 1e-30, 0.0, 2.0]))
    assert (low[1], high[1]) == (math.inf, math.inf)
    assert low[2] == pytest.approx(1e30)
    assert high[2] == math.inf
    assert low[3:].tolist() == high[3:].tolist() == [0, 0]
    assert nan.tolist() == [False, False, False, True, True]


def test_a_product_that_underflows_on_the_way_keeps_its_sign() -> None:
    low, high, nan = ends(of("CUMULATIVE_PRODUCT", [-1e-30, 1e-30, 1e30, 3.0]))
    assert (low[1], high[1]) == (pytest.approx(0, abs=1e-37), 0)
    assert low[2] < -1e-30
    assert high[2] == 0  # anything from 0 to what is lost of 1e-60, times 1e30
    assert not nan.any()


def test_infinity_and_nan_are_what_they_are_from_their_place_on() -> None:
    low, high, nan = ends(of("CUMULATIVE_SUMMATION", [1.0, math.inf, 1.0, -math.inf, 1.0]))
    assert low[:3].tolist() == high[:3].tolist() == [1, math.inf, math.inf]
    assert np.isnan(low[3:]).all() or nan[3:].all()
    for row in ([1.0, math.nan, 0.0], [2.0, math.inf, 0.0, 1.0], [0.0, 3e38, 3e38, -3e38], [1e-45, 1e38, 1e38]):
        for name in OPERATIONS:
            for direction in DIRECTION:
                assert_conforms(TorchBackend("cpu"), of(name, row, np.float32, direction.name, True))


def test_long_rows_are_narrow_enough_to_tell_types_apart() -> None:
    """Terms kept in FLOAT16 are out; FLOAT32 one after another is in."""
    row = np.random.default_rng(5).uniform(0.5, 2.0, 4000).astype(np.float32)
    for name, (operation, _) in OPERATIONS.items():
        near_1 = row if operation is add else (1 + (row - 1) / 512).astype(np.float32)
        run = of(name, near_1)
        expected = run.expected["output_tensor"]
        for kind, is_inside in ((np.float32, True), (np.float16, False)):
            scan = (np.cumsum if operation is add else np.cumprod)(near_1.astype(kind), dtype=kind).astype(np.float32)
            right = is_right(expected, scan.view(np.uint32).reshape(expected.values.shape), DataType.FLOAT32)
            assert right.all() == is_inside, (name, kind)


def test_as_onnx_computes_it() -> None:
    """CumSum of FLOAT32 and signed integers; it has neither FLOAT16 nor unsigned integers, and CumProd is newer."""
    seen = 0
    for run in small_runs("CUMULATIVE_SUMMATION", 60):
        desc, (x,) = run.desc, elements(run).values()
        if x.dtype not in (np.float32, np.int32, np.int64):
            continue
        arrays = {"x": x, "axis": np.array(desc.axis, np.int32)}
        is_reversed = int(desc.axis_direction == DIRECTION.DECREASING)
        (found,) = computed(
            "CumSum", arrays, outputs=(x.dtype,), exclusive=int(is_exclusive(desc)), reverse=is_reversed
        )
        bits = found.view(f"u{found.itemsize}")
        assert is_right(run.expected["output_tensor"], bits, desc.output_tensor.data_type).all(), desc
        seen += 1
    assert seen > 20
