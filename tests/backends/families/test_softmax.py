"""ACTIVATION_SOFTMAX, LOG_SOFTMAX and HARDMAX, and those with Axes."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

SOFT = ("SOFTMAX", "LOG_SOFTMAX")
TYPES = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}


def slow_soft(name: str, x: float, row: list[float]) -> float:
    """Of finite numbers."""
    largest = max(row)
    total = math.fsum(math.exp(y - largest) for y in row)
    return math.exp(x - largest) / total if name.startswith("SOFTMAX") else x - largest - math.log(total)


def row_of(run: Run, c: slow.Coordinates) -> list[tuple[slow.Coordinates, float]]:
    """The elements that are taken together with one, in row-major order, by their coordinates."""
    sizes = run.desc.input_tensor.sizes
    axes = getattr(run.desc, "axes", (len(sizes) - 1,))
    memory, kind = run.memory("input_tensor"), TYPES[run.desc.input_tensor.data_type]
    every = product(*(range(size) if d in axes else (c[d],) for d, size in enumerate(sizes)))
    return [(place, float(np.frombuffer(memory.element(place), kind)[0])) for place in every]


def ends(run: Run) -> tuple[Any, Any, Any]:
    expected, data_type = run.expected["output_tensor"], run.desc.output_tensor.data_type
    assert expected.within is not None
    low, high = (numbers(part, data_type).astype(np.float64) for part in (expected.within.low, expected.within.high))
    nan = np.zeros(low.shape, bool) if expected.within.nan is None else expected.within.nan
    return low.reshape(-1), high.reshape(-1), nan.reshape(-1)


@pytest.mark.parametrize("name", [*SOFT, "SOFTMAX1", "LOG_SOFTMAX1"])
def test_what_is_expected_lies_around_the_slow_reference(name: str) -> None:
    seen = 0
    for run in small_runs(f"ACTIVATION_{name}", 24):
        if run.expected["output_tensor"].free is not None:
            continue
        low, high, nan = ends(run)
        info = np.finfo(TYPES[run.desc.output_tensor.data_type])
        for n, c in list(enumerate(slow.walk(run.desc.output_tensor.sizes)))[:40]:
            row = row_of(run, c)
            if not any(math.isfinite(y) for _, y in row) or any(math.isnan(y) or y == math.inf for _, y in row):
                assert nan[n]
                continue
            y = slow_soft(name, dict(row)[c], [x for _, x in row])
            unit = float(info.eps) * abs(y) + float(info.tiny)
            if abs(y) < 6e4:
                assert low[n] - unit <= y <= high[n] + unit
                is_cut = name.startswith("LOG") and run.desc.output_tensor.data_type is DataType.FLOAT16
                assert high[n] - low[n] <= 5e-3 * abs(y) + (4e-3 if is_cut else 1e-5)
                assert not nan[n]
                seen += 1
    assert seen > 100


@pytest.mark.parametrize("name", ["HARDMAX", "HARDMAX1"])
def test_the_first_maximum_is_1(name: str) -> None:
    seen = {0.0: 0, 1.0: 0}
    for run in small_runs(f"ACTIVATION_{name}", 60):
        expected = run.expected["output_tensor"]
        found = numbers(expected.values, run.desc.output_tensor.data_type).reshape(-1)
        free = np.zeros(found.shape, bool) if expected.free is None else expected.free.reshape(-1)
        for n, c in list(enumerate(slow.walk(run.desc.output_tensor.sizes)))[:40]:
            row = row_of(run, c)
            if free[n]:
                assert any(math.isnan(x) or abs(x) < 1e-4 for _, x in row)
                continue
            largest = max(x for _, x in row)
            assert found[n] == float(c == next(place for place, x in row if x == largest))
            seen[float(found[n])] += 1
    assert min(seen.values()) > 50


def of_row(name: str, row: Any, kind: Any = np.float32, **more: Any) -> Run:
    values = np.array(row, kind)
    tensor = TensorDesc.of(DataType[values.dtype.name.upper()], (1, 1, 1, values.size))
    return with_values(operators()[f"ACTIVATION_{name}"].desc(tensor, tensor, **more), HIGHEST, input_tensor=values)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("name", SOFT)
def test_infinities_and_nan(name: str, kind: Any) -> None:
    least = 0.0 if name == "SOFTMAX" else -math.inf
    for row, nan, of_zero in (
        ([0, math.nan, 1], [True] * 3, [False] * 3),
        ([-math.inf, -math.inf], [True] * 2, [False] * 2),
        ([0, math.inf, -math.inf], [True] * 3, [True, False, True]),
        ([math.inf, math.inf], [True] * 2, [False] * 2),
        ([-math.inf, 0], [False] * 2, [True, False]),
    ):
        run = of_row(name, row, kind)
        low, high, may_be_nan = ends(run)
        assert may_be_nan.tolist() == nan
        for n, is_least in enumerate(of_zero):
            assert is_least == (low[n] <= least <= high[n])
        assert_conforms(TorchBackend("cpu"), run)


@pytest.mark.parametrize("name", SOFT)
def test_nothing_overflows(name: str) -> None:
    low, high, nan = ends(of_row(name, [1000.0, 1000.0, -1000.0, -3e38]))
    right = [0.5, 0.5, 0.0, 0.0] if name == "SOFTMAX" else [-math.log(2), -math.log(2), -2000 - math.log(2), -3e38]
    assert not nan.any()
    assert (low <= np.array(right) * (1 + np.sign(right) * 1e-6)).all()
    assert (high >= np.array(right) * (1 - np.sign(right) * 1e-6)).all()
    assert (high - low <= 1e-5 * np.maximum(np.abs(right), 1)).all()


def test_a_sum_may_be_cut_to_float16() -> None:
    run = of_row("LOG_SOFTMAX", (-4.0, 0.0), np.float16)
    with_cut_sum = -math.log(1043 / 1024)  # of 1.0183, to the nearest
    for profile, right in ((DIRECTML, True), (PRECISE, False)):
        within = expected_output(run.desc, run.bindings, profile)["output_tensor"].within
        assert within is not None
        low, high = (numbers(part, DataType.FLOAT16).reshape(-1) for part in (within.low, within.high))
        assert (low[1] <= np.float16(with_cut_sum) <= high[1]) == right
    low, high, _ = ends(run)
    assert (high - low <= [0.016, 0.004]).all()


def test_a_sum_of_results_is_1() -> None:
    random = np.random.default_rng(3)
    for kind in (np.float32, np.float16):
        low, high, _ = ends(of_row("SOFTMAX", random.normal(size=500), kind))
        assert low.sum() < 1 < high.sum()
        assert high.sum() - low.sum() < (1e-5 if kind is np.float32 else 1e-2)


def test_axes_may_be_none_but_not_beyond_the_last() -> None:
    run = of_row("SOFTMAX1", [3.0, -7.0], axes=())
    low, high, _ = ends(run)
    assert (low <= 1).all()
    assert (high >= 1).all()
    assert_conforms(TorchBackend("cpu"), run)
    tensor = TensorDesc.of(DataType.FLOAT32, (2, 3))
    for name in ("SOFTMAX1", "LOG_SOFTMAX1", "HARDMAX1"):
        spec = operators()[f"ACTIVATION_{name}"]
        outcomes = [decide(spec.desc(tensor, tensor, axes=(axis,)), HIGHEST).outcome for axis in (1, 2, 2**32 - 1)]
        assert outcomes == [Outcome.ACCEPT, Outcome.REJECT, Outcome.REJECT]


def test_the_effective_rank_is_2_at_most() -> None:
    for name in (*SOFT, "HARDMAX"):
        spec = operators()[f"ACTIVATION_{name}"]
        for sizes, outcome in (((1, 1, 2, 3), Outcome.ACCEPT), ((2, 1, 3), Outcome.REJECT), ((3,), Outcome.ACCEPT)):
            tensor = TensorDesc.of(DataType.FLOAT32, sizes)
            assert decide(spec.desc(tensor, tensor), HIGHEST).outcome is outcome
            assert TorchBackend("cpu").validate(spec.desc(tensor, tensor), HIGHEST).accepted is (
                outcome is Outcome.ACCEPT
            )
