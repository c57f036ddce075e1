"""ELEMENT_WISE_QUANTIZE_LINEAR, ELEMENT_WISE_DEQUANTIZE_LINEAR and ELEMENT_WISE_QUANTIZED_LINEAR_ADD."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, with_values
from msgspec.structs import replace
from onnx_node import computed

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.element_wise_quantize import ADD, DEQUANTIZE, QUANTIZE
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


Quantized = tuple[Any, float, int | None]  # integers, their scale and zero point


def sum_of(a: Quantized, b: Quantized, scale: float, zero_point: int | None, kind: Any) -> Run:
    single = (1,) * a[0].ndim
    arrays = {"a_tensor": a[0], "b_tensor": b[0]}
    for name, of, (factor, zero) in (
        ("a", a[0].dtype, a[1:]),
        ("b", b[0].dtype, b[1:]),
        ("output", kind, (scale, zero_point)),
    ):
        arrays[f"{name}_scale_tensor"] = np.full(single, factor, np.float32)
        if zero is not None:
            arrays[f"{name}_zero_point_tensor"] = np.full(single, zero, of)
    tensors = {key: TensorDesc.of(DataType[array.dtype.name.upper()], array.shape) for key, array in arrays.items()}
    given = {field.attribute: tensors.get(field.attribute) for field in operators()[ADD].fields}
    given["output_tensor"] = TensorDesc.of(DataType[np.dtype(kind).name.upper()], a[0].shape)
    run = with_values(operators()[ADD].desc(**given), HIGHEST, **arrays)
    assert_conforms(TorchBackend("cpu"), run)
    return run


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_sums_by_powers_of_two_are_exact(kind: Any) -> None:
    info = np.iinfo(kind)
    a, b = (np.resize(np.arange(info.min, info.max + 1).astype(kind)[::step], (4, 150)) for step in (1, 3))
    run = sum_of((a, 0.5, 3), (b, 2.0, None), 4.0, 5, kind)
    exact = [
        min(max(round(((int(x) - 3) * Fraction(1, 2) + int(y) * 2) / 4) + 5, info.min), info.max)
        for x, y in zip(a.flat, b.flat, strict=True)
    ]
    assert run.expected["output_tensor"].within is None
    assert run.expected["output_tensor"].values.view(kind).ravel().tolist() == exact


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_sums_are_those_of_onnxruntime(kind: Any) -> None:
    """Which has both operands and the sum of one type, and scales that are not negative."""
    random = np.random.default_rng(3)
    info = np.iinfo(kind)
    for a_scale, b_scale, scale in ((0.25, 0.5, 1.0), (0.1, 0.03, 0.17), (0.7, 1.3, 2.1)):
        a, b = (random.integers(info.min, info.max, (7, 33), kind, endpoint=True) for _ in range(2))
        zeros = [kind(n) for n in (3, 100, 60)]
        given = {"a": a, "sa": np.float32(a_scale), "za": zeros[0], "b": b, "sb": np.float32(b_scale), "zb": zeros[1]}
        given |= {"s": np.float32(scale), "z": zeros[2]}
        (found,) = computed("QLinearAdd", given, outputs=(kind,), domain="com.microsoft")
        run = sum_of((a, a_scale, 3), (b, b_scale, 100), scale, 60, kind)
        right = np.array(holds(run, found))
        # It divides each scale by that of the sum first, by which sums that are nearly halfway may go the other way.
        assert right.all() if scale == 1.0 else right.mean() > 0.99
        assert not np.array(holds(run, found ^ kind(4))).any()


def test_sums_that_are_no_number_are_open() -> None:
    a = np.array([[1, 0, 5]], np.uint8)
    run = sum_of((a, math.inf, None), (a, -math.inf, None), 1.0, None, np.uint8)
    assert holds(run, np.array([[7, 8, 9]], np.uint8)) == [[True] * 3]
    run = sum_of((a, 1.0, None), (a, 1.0, None), 0.0, None, np.uint8)
    assert holds(run, np.array([[7, 8, 9]], np.uint8)) == [[True] * 3]
    run = sum_of((a, math.inf, None), (a, 1.0, 9), 1.0, None, np.uint8)
    assert holds(run, np.array([[255, 3, 255]], np.uint8)) == [[True] * 3]
    assert holds(run, np.array([[254, 3, 0]], np.uint8)) == [[False, True, False]]


def test_what_is_added_has_one_scale() -> None:
    every = {key: TensorDesc.of(DataType.UINT8, (2, 3)) for key in ("a_tensor", "b_tensor", "output_tensor")}
    one = {f"{of}_scale_tensor": TensorDesc.of(DataType.FLOAT32, (1, 1)) for of in ("a", "b", "output")}
    zeros = {f"{of}_zero_point_tensor": TensorDesc.of(DataType.UINT8, (1, 1)) for of in ("a", "b", "output")}
    desc = operators()[ADD].desc(**every, **one, **zeros)
    assert decide(desc, HIGHEST).rules == ()
    for key in (*one, *zeros, "b_tensor", "output_tensor"):
        for sizes in ((2, 3), (1, 3)) if key in {**one, **zeros} else ((3, 2), (1, 3)):
            wrong = replace(desc, **{key: TensorDesc.of(getattr(desc, key).data_type, sizes)})
            assert decide(wrong, HIGHEST).rules, (key, sizes)
            assert not TorchBackend("cpu").validate(wrong, HIGHEST).accepted
