"""QUANTIZED_LINEAR_AVERAGE_POOLING, in fractions: dequantized, averaged, quantized."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from onnx_node import computed
from window_cases import number, places

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.average_pooling import QUANTIZED
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc


def quantizer(run: Run, key: str, channel: int, otherwise: float) -> Any:
    """The scale or zero point of a channel."""
    tensor = getattr(run.desc, key)
    if tensor is None:
        return otherwise
    at = [0] * len(tensor.sizes)
    if tensor.element_count > 1:
        at[1] = channel
    return number(run, key, tuple(at))


def test_integers_lie_around_the_quotient() -> None:
    seen = 0
    for run in small_runs(QUANTIZED, 80):
        desc, data_type, expected = run.desc, run.desc.output_tensor.data_type, run.expected["output_tensor"]
        low, high = (numbers(part, data_type).astype(int) for part in (expected.within.low, expected.within.high))
        least, most = data_type.limits
        for c in slow.walk(desc.output_tensor.sizes):
            scale, by = (quantizer(run, f"{of}_scale_tensor", c[1], 1.0) for of in ("input", "output"))
            at = [place for place in places(desc, desc.input_tensor.sizes, c) if place is not None]
            count = math.prod(desc.window_size) if desc.include_padding else len(at)
            if not count or not all(2.0**-20 < abs(x) < 2.0**20 for x in (scale, by)):
                assert expected.free is not None
                continue
            zero = int(quantizer(run, "input_zero_point_tensor", c[1], 0))
            total = sum(number(run, "input_tensor", place) - zero for place in at)
            quotient = Fraction(total) * Fraction(scale) / count / Fraction(by)
            added = int(quantizer(run, "output_zero_point_tensor", c[1], 0))
            near = [math.ceil(quotient - Fraction(1, 2)), math.floor(quotient + Fraction(1, 2))]
            wanted = [min(max(one + added, least), most) for one in near]
            assert low[c] <= wanted[0] <= wanted[1] <= high[c], (desc, c)
            assert high[c] - low[c] <= 1, (desc, c)
            seen += 1
    assert seen > 200


def pooled(
    image: Any, zero_point: int | None, window: int, pads: tuple[int, int], *, is_counted: bool, **of: Any
) -> Any:
    """Of INT8 numbers along the last dimension; the scales are `scale` and `by`, else 1."""
    source = np.asarray(image, np.int8).reshape(1, 1, 1, -1)
    one = (1, 1, 1, 1)
    count = source.size + sum(pads) - window + 1
    tensors = [TensorDesc.of(DataType.INT8, source.shape), TensorDesc.of(DataType.FLOAT32, one)]
    zero = None if zero_point is None else TensorDesc.of(DataType.INT8, one)
    output = TensorDesc.of(DataType.INT8, (1, 1, 1, count))
    arrays = ((1, 1), (1, window), (0, pads[0]), (0, pads[1]), (1, 1))
    make: Any = operator(QUANTIZED).desc
    desc = make(*tensors, zero, tensors[1], None, output, *arrays, is_counted)
    given = {key: np.full(one, of.get(name, 1.0), np.float32)
             for key, name in (("input_scale_tensor", "scale"), ("output_scale_tensor", "by"))}  # fmt: skip
    if zero_point is not None:
        given["input_zero_point_tensor"] = np.full(one, zero_point, np.int8)
    run = with_values(desc, HIGHEST, input_tensor=source, **given)
    assert_conforms(TorchBackend("cpu"), run)
    return run.expected["output_tensor"]


def ends(expected: Any) -> list[tuple[int, int]]:
    low, high = (part.view(np.int8).reshape(-1).tolist() for part in (expected.within.low, expected.within.high))
    return list(zip(low, high, strict=True))


def test_the_padding_is_the_number_zero() -> None:
    """Of 16 and a zero point of 6, with one element of padding: (16 - 6) / 2, not (16 - 6) / 2 - 6 / 2."""
    assert ends(pooled([16], 6, 2, (1, 0), is_counted=True)) == [(5, 5)]
    assert ends(pooled([16], 6, 2, (1, 0), is_counted=False)) == [(10, 10)]
    assert pooled([16], 6, 1, (1, 0), is_counted=False).free.reshape(-1).tolist() == [True, False]
    assert ends(pooled([16], 6, 1, (1, 0), is_counted=True))[0] == (0, 0)


def test_either_neighbour_of_a_half_is_right() -> None:
    assert ends(pooled([1, 2, -2], None, 2, (0, 0), is_counted=False)) == [(1, 2), (0, 0)]
    assert ends(pooled([100, 100], None, 2, (0, 0), is_counted=False, scale=4.0)) == [(127, 127)]
    assert ends(pooled([10, 20], None, 2, (0, 0), is_counted=False, scale=0.1, by=0.3)) == [(5, 5)]


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan, 1e-40])
def test_scales_without_a_reciprocal_are_open(scale: float) -> None:
    assert pooled([1, 2], None, 2, (0, 0), is_counted=False, by=scale).free.all()


def test_onnxruntime_pools_the_same() -> None:
    """Its own operator, which has no dilations and no scales by channel, and whose padding is the zero point too."""
    random = np.random.default_rng(9)
    image = random.integers(0, 256, (1, 2, 6, 7)).astype(np.uint8)
    of = {"x": image, "x_scale": np.float32(0.05), "x_zero_point": np.uint8(120)}
    to = {"y_scale": np.float32(0.04), "y_zero_point": np.uint8(100)}
    (found,) = computed("QLinearAveragePool", of | to, outputs=(np.uint8,), domain="com.microsoft",
                        kernel_shape=(3, 2), strides=(2, 1), pads=(1, 0, 1, 1), count_include_pad=0)  # fmt: skip
    one = (1, 1, 1, 1)
    types = (DataType.UINT8, DataType.FLOAT32, DataType.UINT8, DataType.FLOAT32, DataType.UINT8, DataType.UINT8)
    shapes = (image.shape, one, one, one, one, found.shape)
    make: Any = operator(QUANTIZED).desc
    desc = make(*map(TensorDesc.of, types, shapes), (2, 1), (3, 2), (1, 0), (1, 1), (1, 1), False)
    keys = (
        "input_tensor",
        "input_scale_tensor",
        "input_zero_point_tensor",
        "output_scale_tensor",
        "output_zero_point_tensor",
    )
    given = {key: np.asarray(array).reshape(shape) for key, array, shape in
             zip(keys, (*of.values(), *to.values()), shapes[:-1], strict=True)}  # fmt: skip
    expected = with_values(desc, HIGHEST, **given).expected["output_tensor"]
    assert expected.within is not None
    assert expected.within.holds(found, DataType.UINT8).all()
