"""MAX_POOLING, LP_POOLING and MAX_POOLING_GRAD, one window after the other; beside them, what others make of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import assert_conforms, numbers, small_runs, with_values
from onnx_node import computed
from window_cases import described, number, places

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators._windows import Window

PLAIN = Window(1, 1, 1, 0, 0)
LEAST_NORMAL = {DataType.FLOAT32: 2.0**-126, DataType.FLOAT16: 2.0**-14}


def interval(expected: Any, data_type: DataType) -> tuple[Any, Any]:
    return tuple(numbers(part, data_type).astype(float) for part in (expected.within.low, expected.within.high))


@pytest.mark.parametrize("name", ["MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2"])
def test_the_greatest_and_its_place(name: str) -> None:
    seen = 0
    for run in small_runs(name, 60):
        desc, expected, data_type = run.desc, run.expected, run.desc.input_tensor.data_type
        sizes = desc.input_tensor.sizes
        for n, c in enumerate(slow.walk(desc.output_tensor.sizes)):
            at = [place for place in places(desc, sizes, c) if place is not None]
            elements = [number(run, "input_tensor", place) for place in at]
            if not elements or any(x != x for x in elements) or abs(max(elements)) < LEAST_NORMAL.get(data_type, 0):
                continue
            values = expected["output_tensor"]
            assert numbers(values.values, data_type)[c] == max(elements)
            if data_type.is_float:
                low, high = interval(values, data_type)
                assert low[c] == high[c] == max(elements)
            if "output_indices_tensor" in expected:
                flat = np.ravel_multi_index(at[elements.index(max(elements))], sizes)
                indices = expected["output_indices_tensor"]
                assert indices.free is None or not indices.free[c]
                assert indices.values.reshape(-1)[n] == flat
            seen += 1
    assert seen > 200


@pytest.mark.parametrize("name", ["LP_POOLING", "LP_POOLING1"])
def test_norms_lie_around_the_formula(name: str) -> None:
    seen = 0
    for run in small_runs(name, 60):
        desc, data_type = run.desc, run.desc.input_tensor.data_type
        low, high = interval(run.expected["output_tensor"], data_type)
        for c in slow.walk(desc.output_tensor.sizes):
            row = [number(run, "input_tensor", at) for at in places(desc, desc.input_tensor.sizes, c) if at is not None]
            if not all(x == 0 or 1e-2 < abs(x) < 1e3 for x in row):
                continue
            norm = math.fsum(abs(x) ** desc.p for x in row) ** (1 / desc.p)
            slack = norm * 2.0**-17 + 1.01 * float(np.spacing(np.array(norm, data_type.name.lower()))) + 1e-30
            assert low[c] <= norm + slack
            assert norm - slack <= high[c] <= norm + slack
            if desc.p % 2 == 0 or min(row, default=0) >= 0:
                assert norm - slack <= low[c], (desc, c)
                seen += 1
            else:
                total = math.fsum(x**desc.p for x in row)
                assert low[c] <= math.copysign(abs(total) ** (1 / desc.p), total) + slack
    assert seen > 150


def test_gradients_go_to_the_first_of_the_greatest() -> None:
    seen = 0
    for run in small_runs("MAX_POOLING_GRAD", 80):
        desc, data_type = run.desc, run.desc.input_tensor.data_type
        found: dict[slow.Coordinates, list[float]] = {c: [] for c in slow.walk(desc.input_tensor.sizes)}
        judged = dict.fromkeys(found, True)
        for c in slow.walk(desc.input_gradient_tensor.sizes):
            at = [place for place in places(desc, desc.input_tensor.sizes, c) if place is not None]
            elements = [number(run, "input_tensor", place) for place in at]
            if any(x != x for x in elements) or abs(max(elements, default=1)) < LEAST_NORMAL[data_type]:
                judged.update(dict.fromkeys(at, False))
            elif at:
                found[at[elements.index(max(elements))]].append(number(run, "input_gradient_tensor", c))
        low, high = interval(run.expected["output_gradient_tensor"], data_type)
        for c, terms in found.items():
            if not judged[c] or not all(x == 0 or 1e-3 < abs(x) < 1e3 for x in terms):
                continue
            exact, size = math.fsum(terms), sum(map(abs, terms))
            slack = size * 2.0**-20 + 1.01 * float(np.spacing(np.array(abs(exact), data_type.name.lower()))) * (
                size > 0
            )
            assert exact - slack <= low[c] <= high[c] <= exact + slack, (desc, c)
            seen += 1
    assert seen > 200


def pooled(name: str, values: Any, windows: tuple[Window, ...], *rest: Any, indices: bool = False, **more: Any) -> Any:
    """What is expected of FLOAT32 numbers, which the torch backend gives as well."""
    image = np.asarray(values, np.float32)
    desc = described(name, image.shape, windows, *rest, indices=indices)
    given = {key: np.asarray(array, np.float32) for key, array in more.items()}
    run = with_values(desc, HIGHEST, input_tensor=image, **given)
    assert_conforms(TorchBackend("cpu"), run)
    return run.expected


def test_the_forward_example_of_the_gradients_page() -> None:
    window = Window(2, 1, 1, 0, 0)
    found = pooled("MAX_POOLING2", [[[[1, 2, 3], [2, 4, 2], [5, 6, 7]]]], (window, window), indices=True)
    assert found["output_tensor"].values.view(np.float32).tolist() == [[[[4, 4], [6, 7]]]]
    assert found["output_indices_tensor"].values.tolist() == [[[[4, 4], [7, 8]]]]


def test_gradients_are_the_derivatives_of_the_greatest() -> None:
    """Of sum(weights * max_pooling(x)), by steps that change no order: exact in whole numbers."""
    random = np.random.default_rng(5)
    image, windows = random.permutation(30).reshape(1, 1, 5, 6) - 15.0, (Window(2, 1, 2, 1, 0), Window(3, 2, 1, 0, 1))
    windows_count = described("MAX_POOLING2", image.shape, windows).output_tensor.sizes
    weights = random.integers(-4, 5, windows_count).astype(float)

    def weighted(x: Any) -> float:
        found = pooled("MAX_POOLING2", x, windows)["output_tensor"].values.view(np.float32)
        return float((weights * found).sum())

    gradient = pooled("MAX_POOLING_GRAD", image, windows, input_gradient_tensor=weights)["output_gradient_tensor"]
    steps = np.eye(image.size).reshape(-1, *image.shape) / 4
    slopes = [(weighted(image + step) - weighted(image - step)) * 2 for step in steps]
    assert gradient.values.view(np.float32).reshape(-1).tolist() == slopes


def test_equal_zeros_and_nan_may_have_the_gradient_or_not() -> None:
    found = pooled("MAX_POOLING_GRAD", [[[[0.0, -0.0, -1, np.nan]]]], (PLAIN, Window(2, 2, 1, 0, 0)),
                   input_gradient_tensor=[[[[2, 3]]]])["output_gradient_tensor"]  # fmt: skip
    low, high = interval(found, DataType.FLOAT32)
    assert low.reshape(-1).tolist() == [0, 0, 0, 0]
    assert high.reshape(-1).tolist() == [2, 2, 3, 3]
    found = pooled("MAX_POOLING_GRAD", [[[[7, 7, -1, -1]]]], (PLAIN, Window(2, 2, 1, 0, 0)),
                   input_gradient_tensor=[[[[2, 3]]]])["output_gradient_tensor"]  # fmt: skip
    assert found.values.view(np.float32).reshape(-1).tolist() == [2, 0, 3, 0]


def test_what_is_open_of_the_greatest() -> None:
    """The padding alone, a NaN beside a number, a NaN alone, and the two zeros."""
    windows = (PLAIN, Window(2, 2, 1, 2, 0))
    expected = pooled("MAX_POOLING1", [[[[np.nan, -5, np.nan, np.nan, 0.0, -0.0]]]], windows, indices=True)
    found, indices = expected["output_tensor"], expected["output_indices_tensor"]
    low, high = interval(found, DataType.FLOAT32)
    assert low.reshape(-1).tolist() == [-np.inf, -5, -np.inf, 0]
    assert high.reshape(-1).tolist() == [np.inf, -5, np.inf, 0]
    assert found.within.nan.reshape(-1).tolist() == [True, True, True, False]
    assert indices.free.reshape(-1).all()


def test_odd_powers_of_negative_elements_have_two_readings() -> None:
    found = pooled("LP_POOLING", [[[[3, -5]]]], (PLAIN, Window(2, 1, 1, 0, 0)), 1)["output_tensor"]
    low, high = interval(found, DataType.FLOAT32)
    assert low == pytest.approx(-2, rel=1e-5)
    assert high == pytest.approx(8, rel=1e-5)
    assert found.within.nan.all()
    found = pooled("LP_POOLING", [[[[3, -4]]]], (PLAIN, Window(2, 1, 1, 0, 0)), 2)["output_tensor"]
    low, high = interval(found, DataType.FLOAT32)
    assert low == pytest.approx(5, rel=1e-5)
    assert high == pytest.approx(5, rel=1e-5)
    assert found.within.nan is None


RUNTIME_WINDOWS = ((Window(3, 2, 1, 1, 1), Window(2, 1, 2, 1, 0)), (Window(2, 1, 1, 0, 1), Window(3, 3, 1, 2, 0)))


def onnx_windows(windows: tuple[Window, ...]) -> dict[str, Any]:
    """A node's attributes; ONNX has no window that the padding is as wide as."""
    sizes, strides, dilations, before, behind, _ = zip(*windows, strict=True)
    return {"kernel_shape": sizes, "strides": strides, "dilations": dilations, "pads": (*before, *behind)}


@pytest.mark.parametrize("windows", RUNTIME_WINDOWS)
@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint8])
def test_onnxruntime_finds_the_same_in_the_same_places(windows: tuple[Window, ...], kind: Any) -> None:
    """Of NaN the runtime has an answer of its own, and of the other types that DirectML takes none."""
    random = np.random.default_rng(4)
    image = random.integers(0, 100, (2, 3, 7, 8)).astype(kind) - (0 if kind is np.uint8 else 50)
    image = image.astype(kind)
    data_type = DataType[np.dtype(kind).name.upper()]
    desc = described("MAX_POOLING2", image.shape, windows, data_type=data_type, indices=True)
    run = with_values(desc, HIGHEST, input_tensor=image)
    assert_conforms(TorchBackend("cpu"), run)
    values, indices = computed("MaxPool", {"x": image}, outputs=(kind, np.int64), **onnx_windows(windows))
    assert np.array_equal(numbers(run.expected["output_tensor"].values, data_type), values)
    unsure = run.expected["output_indices_tensor"].free
    known = np.ones(indices.shape, np.bool_) if unsure is None else ~unsure
    assert np.array_equal(run.expected["output_indices_tensor"].values[known], indices[known])
    assert known.mean() > 0.9


@pytest.mark.parametrize("windows", RUNTIME_WINDOWS)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_onnxruntime_has_norms_of_magnitudes(windows: tuple[Window, ...], p: int) -> None:
    image = np.random.default_rng(6).normal(size=(1, 2, 7, 8)).astype(np.float32)
    found = pooled("LP_POOLING1", image, windows, p)["output_tensor"]
    (norms,) = computed("LpPool", {"x": image}, p=p, **onnx_windows(windows))
    assert found.within.holds(norms.view(np.uint32), DataType.FLOAT32).all()
    assert np.allclose(found.values.view(np.float32), norms, rtol=1e-5)
