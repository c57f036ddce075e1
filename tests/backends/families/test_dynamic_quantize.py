"""DYNAMIC_QUANTIZE_LINEAR."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, with_values
from onnx_node import computed

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.dynamic_quantize import DYNAMIC_QUANTIZE_LINEAR
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

KEYS = ("output_tensor", "output_scale_tensor", "output_zero_point_tensor")


def run_of(x: Any, kind: Any) -> Run:
    of, to = (DataType[np.dtype(each).name.upper()] for each in (x.dtype, kind))
    one = (1,) * x.ndim
    tensors = [(of, x.shape), (to, x.shape), (DataType.FLOAT32, one), (to, one)]
    run = with_values(
        DYNAMIC_QUANTIZE_LINEAR.desc(*(TensorDesc.of(*each) for each in tensors)), HIGHEST, input_tensor=x
    )
    assert_conforms(TorchBackend("cpu"), run)
    return run


def holds(run: Run, *results: Any) -> list[bool]:
    """Of each output whether all of it is right."""
    found = []
    for key, result in zip(KEYS, results, strict=True):
        tensor = getattr(run.desc, key)
        bits = np.asarray(result).reshape(tensor.sizes).view(f"u{np.asarray(result).itemsize}")
        found.append(bool(is_right(run.expected[key], bits, tensor.data_type).all()))
    return found


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("of", [np.float16, np.float32])
def test_the_formula_in_fractions(kind: Any, of: Any) -> None:
    random = np.random.default_rng(5)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    for size in (0.01, 1.0, 30.0):
        x = (random.standard_normal((3, 40)) * size).astype(of)
        exact = [Fraction(float(n)) for n in x.flat]
        scale = (max(exact) - min(exact)) / 255
        zero = least - min(exact) / scale
        for whole in (math.floor(zero), math.ceil(zero)):
            results = np.array([min(max(round(n / scale) + whole, least), most) for n in exact])
            answer = results.astype(kind), np.float32(scale), kind(whole)
            run = run_of(x, kind)
            assert holds(run, *answer) == [True] * 3
            wrong = np.where(results > 0, results - 3, results + 3).astype(kind)
            assert holds(run, wrong, np.float32(float(scale) * (1 + 2.0**-20)), kind(whole - 3)) == [False] * 3


def test_as_onnxruntime_computes_it() -> None:
    """Which has FLOAT32 and UINT8 alone, and 0 in the range."""
    random = np.random.default_rng(6)
    for shift in (0.0, 0.5, 3.0, -3.0):
        x = (random.standard_normal((5, 60)) + shift).astype(np.float32)
        y, scale, zero = computed("DynamicQuantizeLinear", {"x": x}, outputs=(np.uint8, np.float32, np.uint8))
        assert holds(run_of(x, np.uint8), y, scale, zero) == [True] * 3


def test_0_counts_as_an_element_or_does_not() -> None:
    x = np.array([10.0, 20.0, 15.0], np.float32)
    run = run_of(x, np.uint8)
    assert holds(run, np.array([128, 255, 191], np.uint8), np.float32(20 / 255), np.uint8(0)) == [True] * 3
    assert holds(run, np.array([255, 255, 255], np.uint8), np.float32(10 / 255), np.uint8(0)) == [True] * 3
    assert holds(run, np.array([0, 255, 128], np.uint8), np.float32(30 / 255), np.uint8(1)) == [False] * 3


@pytest.mark.parametrize("x", [[0.0, -0.0], [3.0, 3.0], [1.0, math.inf], [1.0, math.nan], [1e-44, -1e-44]])
def test_what_has_no_range_is_open(x: list[float]) -> None:
    run = run_of(np.array(x, np.float32), np.int8)
    assert holds(run, np.array([7, 9], np.int8), np.float32(math.nan), np.int8(3)) == [True] * 3


def test_scale_and_zero_point_are_single() -> None:
    for scale, zero in (((1, 2), (1, 1)), ((1, 1), (2, 3)), ((2, 3), (2, 3))):
        kinds = DataType.FLOAT32, DataType.INT8, DataType.FLOAT32, DataType.INT8
        tensors = (TensorDesc.of(kind, sizes) for kind, sizes in zip(kinds, ((2, 3), (2, 3), scale, zero), strict=True))
        desc = DYNAMIC_QUANTIZE_LINEAR.desc(*tensors)
        assert decide(desc, HIGHEST).rules == ("DYNAMIC_QUANTIZE_LINEAR.output-sizes",)
        assert not TorchBackend("cpu").validate(desc, HIGHEST).accepted
