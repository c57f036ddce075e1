"""ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.element_wise_quantize import DEQUANTIZE, QUANTIZE
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide


def run_of(name: str, x: Any, scale: Any, zero_point: Any, kind: Any) -> Run:
    given = [
        None if array is None else TensorDesc.of(DataType[array.dtype.name.upper()], array.shape)
        for array in (x, scale, zero_point)
    ]
    desc = operators()[name].desc(*given, TensorDesc.of(DataType[np.dtype(kind).name.upper()], x.shape))
    arrays = {"input_tensor": x, "scale_tensor": scale}
    run = with_values(desc, HIGHEST, **arrays, **({} if zero_point is None else {"zero_point_tensor": zero_point}))
    assert_conforms(TorchBackend("cpu"), run)
    return run


def holds(run: Run, results: Any) -> list[bool]:
    """Which results are right."""
    found: list[bool] = is_right(
        run.expected["output_tensor"], results.view(f"u{results.itemsize}"), run.desc.output_tensor.data_type
    ).tolist()
    return found


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("of", [np.float32, np.float16, np.int32])
def test_quantizing_by_powers_of_two_is_exact(kind: Any, of: Any) -> None:
    x = np.arange(-300, 300).astype(of)
    zero_point = (np.arange(600) % 7).astype(kind)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    for scale in (0.5, 2.0, 4.0):
        scales = np.full(600, scale, np.float32 if of is np.int32 else of)
        run = run_of(QUANTIZE, x, scales, zero_point, kind)
        exact = [
            min(max(round(Fraction(float(n)) / Fraction(scale)) + int(z), least), most)
            for n, z in zip(x, zero_point, strict=True)
        ]
        assert run.expected["output_tensor"].within is None
        assert run.expected["output_tensor"].values.view(kind).tolist() == exact


def test_either_neighbour_is_right_where_the_quotient_is_nearly_halfway() -> None:
    x, scale = np.array([4.5, 4.6, 45.0], np.float32), np.array([3.0, 3.0, 3.0], np.float32)
    run = run_of(QUANTIZE, x, scale, np.zeros(3, np.uint8), np.uint8)
    assert holds(run, np.array([2, 2, 15], np.uint8)) == [True, True, True]
    assert holds(run, np.array([1, 1, 14], np.uint8)) == [True, False, False]
    assert holds(run, np.array([3, 3, 16], np.uint8)) == [False, False, False]


def test_what_has_no_quotient_is_open() -> None:
    x = np.array([math.nan, 1, 1, 1, 1, math.inf, -math.inf], np.float32)
    scale = np.array([1, 0, math.inf, math.nan, 1e-40, 1, 1], np.float32)
    expected = run_of(QUANTIZE, x, scale, np.zeros(7, np.int8), np.int8).expected["output_tensor"]
    assert expected.free is not None
    assert expected.free.tolist() == [True] * 5 + [False] * 2
    assert expected.values.view(np.int8)[5:].tolist() == [127, -128]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
@pytest.mark.parametrize("to", [np.float32, np.float16])
def test_dequantizing(kind: Any, to: Any) -> None:
    x, zero_point = np.array([5, 10, 100, 0], kind), np.array([10, 5, 0, 0], kind)
    run = run_of(DEQUANTIZE, x, np.array([0.5, -0.25, 3.0, 7.0], to), zero_point, to)
    is_open = kind is np.uint32  # which has no -5
    assert holds(run, np.array([-2.5, -1.25, 300.0, 0.0], to)) == [True] * 4
    assert holds(run, np.array([2.5, 1.25, 301.0, 1.0], to)) == [is_open, False, False, False]


def test_integers_of_32_bits_may_be_rounded_first() -> None:
    x, zero_point = np.array([2**24 + 1, 2**31 - 1, 9], np.int32), np.array([2**24, -1, 1], np.int32)
    run = run_of(DEQUANTIZE, x, np.ones(3, np.float32), zero_point, np.float32)
    assert holds(run, np.array([1, 2**31, 8], np.float32)) == [True] * 3
    assert holds(run, np.array([0, math.nan, 8], np.float32)) == [True] * 3
    assert holds(run, np.array([9, 0, 9], np.float32)) == [False, True, False]


def test_a_number_beyond_float16_may_be_cut_to_its_largest() -> None:
    x, scales = np.array([60000, -60000, 60000], np.int32), np.array([4.0, 4.0, math.inf], np.float16)
    run = run_of(DEQUANTIZE, x, scales, None, np.float16)
    assert holds(run, np.array([65504, -65504, math.inf], np.float16)) == [True] * 3
    assert holds(run, np.array([math.inf, -math.inf, 65504], np.float16)) == [True, True, False]
    assert holds(run, np.array([65408, 65504, math.nan], np.float16)) == [False] * 3
    largest = float(np.finfo(np.float32).max)
    run = run_of(DEQUANTIZE, x[:1], np.array([1e38], np.float32), None, np.float32)
    assert [holds(run, np.array([n], np.float32)) for n in (math.inf, largest)] == [[True], [False]]


def test_a_scale_of_0_leaves_the_result_open() -> None:
    run = run_of(DEQUANTIZE, np.array([5, 5], np.uint8), np.array([0, 1], np.float32), None, np.float32)
    for anything in (0.0, 7.0, math.inf, math.nan):
        assert holds(run, np.array([anything, 5.0], np.float32)) == [True, True]


def test_a_difference_that_the_type_does_not_have_leaves_any_scale_open() -> None:
    x, zero_point = np.array([5, 10], np.uint32), np.array([10, 5], np.uint32)
    run = run_of(DEQUANTIZE, x, np.array([math.inf, math.inf], np.float32), zero_point, np.float32)
    for anything in (-math.inf, math.inf, 7.0, math.nan):  # infinity where the difference wraps around
        assert holds(run, np.array([anything, math.inf], np.float32)) == [True, True]
    assert not holds(run, np.array([0.0, -math.inf], np.float32))[1]


@pytest.mark.parametrize("name", [QUANTIZE, DEQUANTIZE])
def test_zero_points_may_be_missing_from_6_2_on(name: str) -> None:
    numbers, quantized = (TensorDesc.of(kind, (1, 1, 1, 2)) for kind in (DataType.FLOAT32, DataType.UINT8))
    tensors = (numbers, numbers, None, quantized) if name == QUANTIZE else (quantized, numbers, None, numbers)
    desc = operators()[name].desc(*tensors)
    for level in (Level.L1_0, Level.L6_1, Level.L6_2):
        rules = (f"{name}.zero-point",) if level < Level.L6_2 else ()
        assert decide(desc, level).rules == rules
        assert TorchBackend("cpu").validate(desc, level).accepted is (not rules)


def test_scales_have_the_type_of_what_is_scaled() -> None:
    every = DataType.FLOAT32, DataType.FLOAT16, DataType.INT32
    quantized = TensorDesc.of(DataType.INT8, (2,))
    for of in every:
        for scale in every[:2]:
            desc = operators()[QUANTIZE].desc(TensorDesc.of(of, (2,)), TensorDesc.of(scale, (2,)), quantized, quantized)
            is_right_type = scale is (DataType.FLOAT32 if of is DataType.INT32 else of)
            rules = () if is_right_type else (f"{QUANTIZE}.scale-data-type",)
            assert decide(desc, HIGHEST).rules == rules
            assert TorchBackend("cpu").validate(desc, HIGHEST).accepted is is_right_type
