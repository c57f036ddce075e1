"""AVERAGE_POOLING, AVERAGE_POOLING1 and their gradient, with the formula in fractions, one element after the other."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from onnx_node import computed
from window_cases import described, number, places

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators._windows import Window
from dml_conformance.spec.tensor import TensorDesc

POOLING: Any = descriptor_classes()["AVERAGE_POOLING1"]
TYPES = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}
LARGE = {DataType.FLOAT32: 1e38, DataType.FLOAT16: 6e4}


def window(run: Run, c: slow.Coordinates) -> list[float | None]:
    """What the window of an output element sees; None in the padding."""
    every = places(run.desc, run.desc.input_tensor.sizes, c)
    return [None if at is None else number(run, "input_tensor", at) for at in every]


@pytest.mark.parametrize("name", ["AVERAGE_POOLING", "AVERAGE_POOLING1"])
def test_means_lie_around_the_pages_formula(name: str) -> None:
    seen = 0
    for run in small_runs(name, 40):
        expected, data_type = run.expected["output_tensor"].within, run.desc.output_tensor.data_type
        assert expected is not None
        low, high = (numbers(part, data_type).astype(float) for part in (expected.low, expected.high))
        for c in slow.walk(run.desc.output_tensor.sizes):
            elements = [x or 0.0 for x in window(run, c) if x is not None or run.desc.include_padding]
            if not elements:
                assert expected.nan is not None
                assert expected.nan[c]
                assert low[c] == high[c] == 0.0
            elif all(abs(x) < LARGE[data_type] for x in elements):
                mean = sum(map(Fraction, elements)) / len(elements)
                size = sum(abs(Fraction(x)) for x in elements) / len(elements)
                ulp = np.spacing(np.array(float(mean)).astype(TYPES[data_type])).astype(float)
                # A quotient may be a product by a reciprocal: 1 unit of each, and the reciprocal's may weigh two.
                slack = float(size) * len(elements) * 2.0**-23 + 3 * abs(ulp)
                slack += 2.0**-124 * math.prod(run.desc.window_size)  # of subnormal numbers taken for zero
                if np.isfinite(slack) and size * len(elements) < 2**126:
                    assert float(mean) - slack <= low[c] <= high[c] <= float(mean) + slack, (run.desc, c)
                    assert low[c] - abs(ulp) <= float(mean) <= high[c] + abs(ulp), (run.desc, c)
                    seen += 1
    assert seen > 200


def pooled(values: Any, sizes: tuple[int, ...], *arrays: tuple[int, ...], is_counted: bool) -> Any:
    """The means; `arrays` are strides, window, paddings before and behind, dilations."""
    values = np.asarray(values, np.float32)
    tensors = (TensorDesc.of(DataType.FLOAT32, n) for n in (values.shape, sizes))
    run = with_values(POOLING(*tensors, *arrays, is_counted), HIGHEST, input_tensor=values)
    assert_conforms(TorchBackend("cpu"), run)
    return run.expected["output_tensor"]


@pytest.mark.parametrize(("is_counted", "first"), [(False, 3.0), (True, 1.5)])
def test_padding_counts_where_it_is_included(is_counted: bool, first: float) -> None:
    """Of [3, 5, 7, 9] by twos, one element of padding before them."""
    arrays = ((1, 2), (1, 2), (0, 1), (0, 0), (1, 1))
    found = pooled([[[[3, 5, 7, 9]]]], (1, 1, 1, 2), *arrays, is_counted=is_counted)
    assert found.values.view(np.float32).reshape(-1).tolist() == [first, 6.0]


def test_a_window_in_the_padding_has_no_average_or_0() -> None:
    found = pooled([[[[3]]]], (1, 1, 1, 2), (1, 1), (1, 1), (0, 1), (0, 0), (1, 1), is_counted=False)
    assert found.within.nan.reshape(-1).tolist() == [True, False]
    assert found.values.view(np.float32).reshape(-1).tolist() == [0.0, 3.0]
    found = pooled([[[[3]]]], (1, 1, 1, 2), (1, 1), (1, 1), (0, 1), (0, 0), (1, 1), is_counted=True)
    assert found.within.nan is None


def test_sums_are_not_taken_in_float16() -> None:
    """Of 65,504 and 65,504 the sum is beyond FLOAT16, and the mean is not."""
    values = np.full((1, 1, 1, 2), 65504, np.float16)
    tensors = (TensorDesc.of(DataType.FLOAT16, n) for n in (values.shape, (1, 1, 1, 1)))
    desc = POOLING(*tensors, (1, 1), (1, 2), (0, 0), (0, 0), (1, 1), False)
    found = with_values(desc, HIGHEST, input_tensor=values).expected["output_tensor"]
    assert found.values.view(np.float16).tolist() == [[[[65504.0]]]]
    assert np.isfinite(found.within.high.view(np.float16)).all()  # type: ignore[union-attr]


def test_gradients_lie_around_the_sums_of_their_parts() -> None:
    seen = 0
    for run in small_runs("AVERAGE_POOLING_GRAD", 60):
        desc = run.desc
        data_type, sizes = desc.output_gradient_tensor.data_type, desc.output_gradient_tensor.sizes
        found: dict[slow.Coordinates, list[float]] = {c: [] for c in slow.walk(sizes)}
        for c in slow.walk(desc.input_gradient_tensor.sizes):
            at = [place for place in places(desc, sizes, c) if place is not None]
            count = math.prod(desc.window_size) if desc.include_padding else len(at)
            for place in at:
                found[place].append(number(run, "input_gradient_tensor", c) / count)
        within = run.expected["output_gradient_tensor"].within
        low, high = (numbers(part, data_type).astype(float) for part in (within.low, within.high))
        for c, terms in found.items():
            if all(x == 0 or 1e-3 < abs(x) < 1e3 for x in terms):
                exact, size = math.fsum(terms), sum(map(abs, terms))
                slack = size * 2.0**-20 + 1.5 * float(np.spacing(np.array(abs(exact)).astype(TYPES[data_type])))
                assert exact - slack <= low[c] <= high[c] <= exact + slack, (desc, c)
                seen += 1
    assert seen > 200


@pytest.mark.parametrize("is_counted", [False, True])
def test_gradients_are_the_derivatives_of_means(is_counted: bool) -> None:
    """The means are linear: what weighted ones of a 1 among zeros come to is the slope there."""
    windows = (Window(3, 2, 1, 1, 1), Window(2, 1, 1, 3, 0))
    desc = described("AVERAGE_POOLING_GRAD", (1, 1, 5, 4), windows, is_counted)
    weights = np.random.default_rng(2).integers(-4, 5, desc.input_gradient_tensor.sizes).astype(np.float32)
    run = with_values(desc, HIGHEST, input_gradient_tensor=weights)
    assert_conforms(TorchBackend("cpu"), run)
    forward = described("AVERAGE_POOLING", (1, 1, 5, 4), windows, is_counted)
    slopes = []
    for unit in np.eye(20, dtype=np.float32).reshape(-1, 1, 1, 5, 4):
        means = with_values(forward, HIGHEST, input_tensor=unit).expected["output_tensor"].values.view(np.float32)
        slopes.append(float((weights * means).sum()))
    found = run.expected["output_gradient_tensor"].values.view(np.float32)
    assert np.allclose(found.reshape(-1), slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("is_counted", [False, True])
@pytest.mark.parametrize("windows", [(Window(3, 2, 1, 1, 1), Window(2, 1, 2, 1, 0)), (Window(2, 2, 1, 0, 0),) * 2])
def test_onnxruntime_has_the_same_means(windows: tuple[Window, ...], is_counted: bool) -> None:
    """ONNX has no windows in the padding alone, and the runtime no FLOAT16."""
    image = np.random.default_rng(8).integers(-99, 99, (2, 3, 7, 8)).astype(np.float32)
    run = with_values(described("AVERAGE_POOLING1", image.shape, windows, is_counted), HIGHEST, input_tensor=image)
    assert_conforms(TorchBackend("cpu"), run)
    sizes, strides, dilations, before, behind, _ = zip(*windows, strict=True)
    attributes = {"kernel_shape": sizes, "strides": strides, "dilations": dilations, "pads": (*before, *behind)}
    (means,) = computed("AveragePool", {"x": image}, count_include_pad=int(is_counted), **attributes)
    within = run.expected["output_tensor"].within
    assert within is not None
    assert within.holds(means.view(np.uint32), DataType.FLOAT32).all()
