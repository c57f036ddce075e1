"""CONVOLUTION_INTEGER and QUANTIZED_LINEAR_CONVOLUTION, one product after the other."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import slow_reference as slow
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.convolution import INTEGER, LINEAR
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc

ARRAYS = {"strides": (2, 1), "dilations": (1, 1), "start_padding": (1, 0), "end_padding": (1, 1)}


def one(array: Any, channel: int) -> Any:
    """A scale or zero point of a channel; 0 where there is none."""
    return 0 if array is None else array.reshape(-1)[channel if array.size > 1 else 0].item()


def terms(desc: Any, found: dict[str, Any], c: slow.Coordinates) -> list[int]:
    """The products that an output element is the sum of."""
    n, o, *b = c
    source, filters = found["input_tensor"], found["filter_tensor"]
    first = o // (len(filters) // desc.group_count) * filters.shape[1]
    points = one(found.get("input_zero_point_tensor"), 0), one(found.get("filter_zero_point_tensor"), o)
    products = []
    for channel, *w in product(*map(range, filters.shape[1:])):
        place = [b[d] * desc.strides[d] + w[d] * desc.dilations[d] - desc.start_padding[d] for d in range(len(w))]
        if all(0 <= at < size for at, size in zip(place, source.shape[2:], strict=True)):
            x, weight = int(source[(n, first + channel, *place)]), int(filters[(o, channel, *w)])
            products.append((x - points[0]) * (weight - points[1]))
    return products


def test_sums_of_integers_are_exact() -> None:
    seen = 0
    for run in small_runs(INTEGER, 60):
        found, expected = elements(run), run.expected["output_tensor"]
        assert expected.free is None
        for c in slow.walk(run.desc.output_tensor.sizes):
            assert expected.values.view(np.int32)[c] == sum(terms(run.desc, found, c))
            seen += 1
    assert seen > 300


def test_integers_lie_around_the_slow_quotients() -> None:
    seen = exact = 0
    for run in small_runs(LINEAR, 60):
        found, expected, output = elements(run), run.expected["output_tensor"], run.desc.output_tensor
        low = high = numbers(expected.values, output.data_type)
        if expected.within is not None:
            low, high = (numbers(end, output.data_type) for end in (expected.within.low, expected.within.high))
        for c in slow.walk(output.sizes):
            scales = [one(found[f"{name}_scale_tensor"], c[1]) for name in ("input", "filter", "output")]
            if not all(math.isfinite(scale) and 2.0**-12 < abs(scale) < 2.0**12 for scale in scales):
                continue
            of_input, of_filter, by = map(Fraction, scales)
            products = [*terms(run.desc, found, c), one(found.get("bias_tensor"), c[1])]
            if abs(sum(products)) >= 2**31 or max(map(abs, products)) >= 2**31:
                continue
            real, most = (of * of_input * of_filter / by for of in (sum(products), sum(map(abs, products))))
            least, largest = output.data_type.limits or (0, 0)
            point = one(found.get("output_zero_point_tensor"), 0)
            near = [round(real + way * abs(most) * Fraction(2) ** -19) + point for way in (-1, 0, 1)]
            ends = [min(max(whole, least), largest) for whole in near]
            assert ends[0] <= low[c] <= ends[1] <= high[c] <= ends[2]
            exact += low[c] == high[c] != least
            seen += 1
    assert seen > 150
    assert exact > 30


def of(name: str, sizes: tuple[int, ...], kind: Any, groups: int = 1, **arrays: Any) -> Run:
    """A case of these inputs, and an output of these sizes."""
    spec, given = operator(name), {f"{key}_tensor": array for key, array in arrays.items()}
    tensors: dict[str, Any] = dict.fromkeys((field.attribute for field in spec.tensor_fields), None)
    tensors |= {key: TensorDesc.of(DataType[array.dtype.name.upper()], array.shape) for key, array in given.items()}
    tensors["output_tensor"] = TensorDesc.of(DataType[np.dtype(kind).name.upper()], sizes)
    run = with_values(spec.desc(**tensors, **ARRAYS, group_count=groups), HIGHEST, **given)
    assert_conforms(TorchBackend("cpu"), run)
    return run


def test_onnxruntime_convolves_integers_alike() -> None:
    """Its kernel has one zero point for all channels of the filter; it pads with that of the input, which is 0."""
    random = np.random.default_rng(4)
    source = random.integers(0, 255, (1, 4, 5, 6)).astype(np.uint8)
    filters = random.integers(0, 255, (6, 2, 3, 2)).astype(np.uint8)
    points = np.full((1, 1, 1, 1), 130, np.uint8), np.full((1, 1, 1, 1), 99, np.uint8)
    attributes = {"strides": [2, 1], "pads": [1, 0, 1, 1], "group": 2}
    arrays = {"x": source, "w": filters, "x_zero_point": points[0].reshape(()), "w_zero_point": points[1].reshape(())}
    (found,) = computed("ConvInteger", arrays, outputs=(np.int32,), **attributes)
    given = {"input": source, "input_zero_point": points[0], "filter": filters, "filter_zero_point": points[1]}
    run = of(INTEGER, found.shape, np.int32, 2, **given)
    assert np.array_equal(run.expected["output_tensor"].values.view(np.int32), found)


def test_onnxruntime_convolves_what_integers_stand_for_alike() -> None:
    """With scales and zero points of channels, and a bias in units of the product of the scales."""
    random = np.random.default_rng(8)
    source = random.integers(0, 255, (1, 4, 5, 6)).astype(np.uint8)
    filters, bias = random.integers(-99, 99, (6, 2, 3, 2)).astype(np.int8), random.integers(-9999, 9999, 6)
    scales = random.uniform(0.001, 0.02, 6).astype(np.float32)
    points = np.zeros(6, np.int8)
    single = {"input_scale": np.float32(0.03), "input_zero_point": np.uint8(120)}
    last = {"output_scale": np.float32(0.07), "output_zero_point": np.uint8(30)}
    linear = {"input": source, **single, "filter": filters, "filter_scale": scales, "filter_zero_point": points, **last}
    attributes = {"strides": [2, 1], "pads": [1, 0, 1, 1], "group": 2}
    arrays = {**linear, "bias": bias.astype(np.int32)}
    (found,) = computed("QLinearConv", arrays, outputs=(np.uint8,), **attributes)
    shaped = {
        key: np.asarray(array) if np.ndim(array) == 4 else np.reshape(array, (1, -1, 1, 1))
        for key, array in arrays.items()
    }
    run = of(LINEAR, found.shape, np.uint8, 2, **shaped)
    assert is_right(run.expected["output_tensor"], found, DataType.UINT8).all()
    assert len(set(found.reshape(-1).tolist())) > 20
