"""LOCAL_RESPONSE_NORMALIZATION and its gradient, held against sums over coordinates and against differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.local_response import FORWARD, GRADIENT
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc

Image = dict[slow.Coordinates, float]


def of(values: Any, name: str = FORWARD, gradient: Any = None, **members: Any) -> Run:
    """A case of the recommended parameters but for those given."""
    values = np.asarray(values, np.float32)
    tensor = TensorDesc.of(DataType.FLOAT32, values.shape)
    given = {"cross_channel": True, "local_size": 3, "alpha": 1.0, "beta": 0.75, "bias": 1.0, **members}
    arrays = {"input_tensor": values}
    if name == GRADIENT:
        arrays["input_gradient_tensor"] = np.asarray(gradient, np.float32)
    output = "output_gradient_tensor" if name == GRADIENT else "output_tensor"
    return with_values(operator(name).desc(**dict.fromkeys((*arrays, output), tensor), **given), HIGHEST, **arrays)


def output(run: Run) -> tuple[Any, Any, Any]:
    """The least, the exact and the greatest."""
    (expected,) = run.expected.values()
    within = expected.within
    assert within is not None
    kind = run.desc.input_tensor.data_type
    return numbers(within.low, kind).astype(float), within.exact, numbers(within.high, kind).astype(float)


def base(desc: Any, image: Image, c: slow.Coordinates) -> float:
    """By the formula, region by region; without CrossChannel the reading of Alpha / LocalSize, and more behind."""
    total = 0.0
    for r, x in image.items():
        offsets = [there - here for there, here in zip(r, c, strict=True)]
        along = (1,) if desc.cross_channel else (2, 3)
        if any(offsets[d] for d in range(4) if d not in along):
            continue
        if all(-((desc.local_size - 1) // 2) <= offsets[d] <= math.ceil((desc.local_size - 1) / 2) for d in along):
            total += x * x
    return float(desc.bias + desc.alpha / desc.local_size * total)


def weighted(desc: Any, image: Image, weights: Image) -> float:
    """The sum of all results, each times its weight."""
    return math.fsum(w * image[c] / base(desc, image, c) ** desc.beta for c, w in weights.items() if w)


def as_image(array: Any) -> Image:
    return {c: float(array[c]) for c in slow.walk(array.shape)}


def test_what_is_expected_lies_around_the_slow_reference() -> None:
    seen = 0
    for run in small_runs(FORWARD, 90):
        image, (low, _, high) = as_image(elements(run)["input_tensor"]), output(run)
        if not all(abs(x) < 1e4 for x in image.values()):
            continue
        for c in list(image)[:12]:
            y = weighted(run.desc, image, {c: 1.0})
            unit = (2.0**-10 if run.desc.input_tensor.data_type is DataType.FLOAT16 else 2.0**-23) * abs(y) + 6e-8
            assert low[c] - unit <= y <= high[c] + unit
            if run.desc.cross_channel and abs(y) < 6e4:
                assert high[c] - low[c] <= 4 * unit + 2e-5 * abs(y)
            seen += 1
    assert seen > 200


@pytest.mark.parametrize("is_cross", [True, False])
@pytest.mark.parametrize("local_size", [1, 2, 3, 4])
def test_the_gradient_is_what_differences_of_the_results_come_to(local_size: int, is_cross: bool) -> None:
    drawn = np.random.default_rng(local_size)
    x, g = drawn.uniform(-2, 2, (2, 2, 5, 2, 3)).astype(np.float32)
    run = of(x, GRADIENT, g, local_size=local_size, cross_channel=is_cross, bias=0.5)
    low, exact, high = output(run)
    image, weights = as_image(x), as_image(g)
    for c in image:
        step = 2.0**-16
        ends = [weighted(run.desc, {**image, c: image[c] + way}, weights) for way in (step, -step)]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert low[c] - 1e-6 <= slope <= high[c] + 1e-6
        if is_cross:
            assert exact[c] == pytest.approx(slope, abs=1e-6)
            assert high[c] - low[c] < 1e-4
    assert_conforms(TorchBackend("cpu"), run)


def test_an_even_region_has_one_channel_more_behind() -> None:
    """Of channels 1, 2, 3 with LocalSize 2: 1 + (1 + 4) / 2, 1 + (4 + 9) / 2, 1 + 9 / 2."""
    low, exact, high = output(of([[[[1]], [[2]], [[3]]]], local_size=2, beta=1.0))
    assert exact.reshape(-1).tolist() == pytest.approx([1 / 3.5, 2 / 7.5, 3 / 5.5])
    assert (high - low < 1e-5).all()


def test_within_a_channel_there_are_two_divisors_and_two_sides() -> None:
    """Of a row 1, 2 with LocalSize 2: 5 or 1 beside the 1, divided by 2 or by 4."""
    low, _, high = output(of([[[[1, 2]]]], local_size=2, beta=1.0, cross_channel=False))
    assert low.reshape(-1) == pytest.approx([1 / 3.5, 2 / 3.5], rel=1e-5)
    assert high.reshape(-1) == pytest.approx([1 / 1.25, 2 / 2.0], rel=1e-5)


def test_beside_a_base_that_is_not_above_0_all_is_open() -> None:
    """The power of the middle channel's base is one of 0; its derivative is needed for the other channels' alone."""
    x = [[[[1]], [[0]], [[0]], [[0]]]]
    low, _, high = output(of(x, bias=0.0))
    assert np.isinf(low).reshape(-1).tolist() == np.isinf(high).reshape(-1).tolist() == [False, False, True, True]
    low, _, _ = output(of(x, GRADIENT, [[[[1]], [[1]], [[1]], [[1]]]], bias=0.0))
    assert np.isinf(low).reshape(-1).tolist() == [False, True, True, True]


@pytest.mark.parametrize("local_size", [1, 3, 5])
def test_onnx_normalizes_alike(local_size: int) -> None:
    """Across channels, with odd sizes, which is all that its kernels have; there is no gradient."""
    x = np.random.default_rng(7).normal(0, 2, (2, 7, 3, 2)).astype(np.float32)
    run = of(x, local_size=local_size, alpha=0.5, bias=2.0)
    (found,) = computed("LRN", elements(run), size=local_size, alpha=0.5, beta=0.75, bias=2.0)
    low, _, high = output(run)
    assert (low <= found).all()
    assert (found <= high).all()
