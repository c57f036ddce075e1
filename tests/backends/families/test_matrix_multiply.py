"""Products of matrices of integers, held against sums of fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.matrix_multiply import INTEGER, LINEAR, TO_FLOAT
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide


def beside(array: Any, place: int, axis: int) -> Any:
    """The element of a scale or zero point for a row or column; 0 where there is none."""
    if array is None:
        return 0
    flat = array.reshape(-1)
    assert flat.size in (1, array.shape[axis] if array.ndim >= -axis else 1)
    return flat[place if flat.size > 1 else 0].item()


def factors(found: dict[str, Any], c: slow.Coordinates) -> list[tuple[Any, Any]]:
    """The pairs of integers, less their zero points, that an output element is the sum of the products of."""
    *lead, m, n = c
    a, b = found["a_tensor"], found["b_tensor"]
    of_a, of_b = (beside(found.get(f"{x}_zero_point_tensor"), p, d) for x, p, d in (("a", m, -2), ("b", n, -1)))
    return [(int(a[(*lead, m, k)]) - of_a, int(b[(*lead, k, n)]) - of_b) for k in range(a.shape[-1])]


def test_sums_of_integers_are_exact() -> None:
    seen = 0
    for run in small_runs(INTEGER, 100):
        found, expected = elements(run), run.expected["output_tensor"]
        assert expected.free is None
        assert expected.within is None
        for c in slow.walk(run.desc.output_tensor.sizes):
            assert expected.values.view(np.int32)[c] == sum(x * y for x, y in factors(found, c))
            seen += 1
    assert seen > 500


@pytest.mark.parametrize("name", [LINEAR, TO_FLOAT])
def test_what_is_expected_lies_around_the_slow_reference(name: str) -> None:
    seen = exact = 0
    for run in small_runs(name, 100):
        found, expected, output = elements(run), run.expected["output_tensor"], run.desc.output_tensor
        low = high = numbers(expected.values, output.data_type)
        if expected.within is not None:
            low, high = (numbers(end, output.data_type) for end in (expected.within.low, expected.within.high))
        for c in slow.walk(output.sizes):
            scales = [beside(found.get(f"{x}_scale_tensor"), c[d], d) for x, d in (("a", -2), ("b", -1))]
            scales.append(beside(found.get("output_scale_tensor", np.ones(1)), c[-2], -2))
            if not all(map(math.isfinite, scales)) or not all(2.0**-12 < abs(scale) < 2.0**12 for scale in scales):
                continue
            of_a, of_b, by = map(Fraction, scales)
            pairs = factors(found, c)
            real = sum((Fraction(x) * y for x, y in pairs), Fraction()) * of_a * of_b / by
            most = sum((abs(Fraction(x) * y) for x, y in pairs), Fraction()) * abs(of_a * of_b / by)
            if name == LINEAR:
                least, largest = output.data_type.limits or (0, 0)
                zero_point = beside(found.get("output_zero_point_tensor"), c[-2], -2)
                near = [round(real + way * most * Fraction(2) ** -19) + zero_point for way in (-1, 0, 1)]
                ends = [min(max(whole, least), largest) for whole in near]
                assert ends[0] <= low[c] <= ends[1] <= high[c] <= ends[2]
                exact += low[c] == high[c] != least
            elif most < 2**15 and math.isfinite(bias := float(found.get("bias_tensor", np.zeros(output.sizes))[c])):
                real += Fraction(bias)
                epsilon = float(np.finfo(low.dtype).eps)
                slack = 2 * epsilon * (float(most) + abs(bias)) + 4 * float(np.finfo(low.dtype).tiny)
                if all(abs(x) < 2**20 > abs(y) for x, y in pairs) and max(abs(x * y) for x, y in pairs) < 2**20:
                    assert float(low[c]) - slack <= real <= float(high[c]) + slack
                    width = float(high[c]) - float(low[c])
                    assert width <= 4 * len(pairs) * slack or width == math.inf  # of integers of 32 bits
                    exact += low[c] == high[c]
            seen += 1
    assert seen > 300
    assert exact > 60


def made_of(name: str, **arrays: Any) -> Run:
    """A case of these inputs and, by `output`, an array of its sizes and type."""
    spec, output = operator(name), arrays.pop("output")
    given = {f"{key}_tensor": array for key, array in arrays.items()}
    tensors = {
        field.attribute: TensorDesc.of(DataType[array.dtype.name.upper()], array.shape)
        if (array := {**given, "output_tensor": output}.get(field.attribute)) is not None
        else None
        for field in spec.tensor_fields
    }
    run = with_values(spec.desc(**tensors), HIGHEST, **given)
    assert_conforms(TorchBackend("cpu"), run)
    return run


def test_onnxruntime_multiplies_integers_alike() -> None:
    """Its kernels have one zero point for A, and none of another type than the matrix."""
    random = np.random.default_rng(5)
    for kind in (np.int8, np.uint8):
        a, b = random.integers(0, 255, (4, 6)).astype(np.uint8), random.integers(-99, 99, (6, 3)).astype(kind)
        points = np.array([130], np.uint8), random.integers(0, 99, 3).astype(kind)
        run = made_of(
            INTEGER, a=a, a_zero_point=points[0], b=b, b_zero_point=points[1], output=np.zeros((4, 3), np.int32)
        )
        arrays = {"A": a, "B": b, "a_zero_point": points[0][0], "b_zero_point": points[1]}
        (found,) = computed("MatMulInteger", arrays, outputs=(np.int32,))
        assert run.expected["output_tensor"].values.view(np.int32).tolist() == found.tolist()


def test_onnxruntime_multiplies_what_integers_stand_for_alike() -> None:
    random = np.random.default_rng(6)
    a, b = (random.integers(0, 255, sizes).astype(np.uint8) for sizes in ((4, 6), (6, 3)))
    scale, point = (np.array([0.02], np.float32), np.array([125], np.uint8))
    linear = {"a": a, "a_scale": scale, "a_zero_point": point, "b": b, "b_scale": scale, "b_zero_point": point}
    output = {"output_scale": np.array([0.3], np.float32), "output_zero_point": np.array([7], np.uint8)}
    run = made_of(LINEAR, **linear, **output, output=np.zeros((4, 3), np.uint8))
    arrays = {key: array[0] if array.size == 1 else array for key, array in {**linear, **output}.items()}
    (found,) = computed("QLinearMatMul", arrays, outputs=(np.uint8,))
    assert is_right(run.expected["output_tensor"], found, DataType.UINT8).all()
    assert len(set(found.reshape(-1).tolist())) > 6
    bias = np.float32([1, 2, 3])
    run = made_of(TO_FLOAT, **linear, bias=np.tile(bias, (4, 1)), output=np.zeros((4, 3), np.float32))
    names = ("a", "b", "a_scale", "b_scale", "a_zero_point", "b_zero_point")
    (found,) = computed(
        "MatMulIntegerToFloat", {**{name: arrays[name] for name in names}, "bias": bias}, domain="com.microsoft"
    )
    assert is_right(run.expected["output_tensor"], found.view(np.uint32), DataType.FLOAT32).all()


def test_a_sum_beyond_int32_is_open() -> None:
    a, b = np.full((1, 33_100), 255, np.uint8), np.full((33_100, 2), 255, np.uint8)
    b[:, 1] = 1
    expected = made_of(INTEGER, a=a, b=b, output=np.zeros((1, 2), np.int32)).expected["output_tensor"]
    assert expected.free is not None
    assert expected.free.tolist() == [[True, False]]
    assert expected.values.view(np.int32)[0, 1] == 255 * 33_100


def linear_of(total: int, scale: float, zero_point: int | None = None, of: float = 1.0) -> Run:
    """The quotient of a whole number and 1, whose scales are `of` and 1 / `of`, by a scale."""
    point = {} if zero_point is None else {"output_zero_point": np.array([zero_point], np.int8)}
    a, b = np.array([[total]], np.int8), np.array([[1]], np.int8)
    scales = {"a_scale": np.float32([of]), "b_scale": np.float32([1 / of]), "output_scale": np.float32([scale])}
    return made_of(LINEAR, a=a, b=b, **scales, **point, output=np.zeros_like(a))


def test_halves_become_even_and_types_end() -> None:
    """Where scales are powers of two nothing is rounded before."""
    for (total, scale, point, wanted), of_a in product(
        ((5, 2.0, None, 2), (7, 2.0, 1, 5), (-5, 2.0, 0, -2), (100, 0.5, 3, 127)), (1.0, -0.25)
    ):
        expected = linear_of(total, scale, point, of_a).expected["output_tensor"]
        assert expected.within is None
        assert expected.values.view(np.int8).tolist() == [[wanted]]


def test_either_neighbour_of_a_half_is_right_where_the_quotient_is_rounded() -> None:
    expected = linear_of(15, 10.0).expected["output_tensor"]
    assert expected.within is not None
    assert (int(expected.within.low[0, 0]), int(expected.within.high[0, 0])) == (1, 2)


def test_a_scale_that_has_no_reciprocal_leaves_the_result_open() -> None:
    for scale in (0.0, math.inf, math.nan, 1e-40):
        expected = linear_of(5, scale).expected["output_tensor"]
        assert expected.free is not None
        assert expected.free.all()


def test_factors_may_be_rounded_to_float16_and_sums_are_not() -> None:
    scale = np.array([0.3], np.float16)
    a, b = np.full((1, 8), 77, np.uint8), np.full((8, 1), 1, np.uint8)
    given = {"a": a, "a_scale": scale, "b": b, "b_scale": np.ones(1, np.float16)}
    expected = made_of(TO_FLOAT, **given, output=np.zeros((1, 1), np.float16)).expected["output_tensor"]
    rounded = float(np.float16(77 * float(scale[0]))) * 8
    for value, is_expected in ((77 * 8 * float(scale[0]), True), (rounded, True), (rounded + 1, False)):
        bits = np.array([[value]], np.float16).view(np.uint16)
        assert is_right(expected, bits, DataType.FLOAT16).item() is is_expected
    a = np.ones((1, 2304), np.uint8)  # 2,048 where each sum is rounded
    given = {"a": a, "a_scale": np.ones(1, np.float16), "b": a.T.copy(), "b_scale": np.ones(1, np.float16)}
    expected = made_of(TO_FLOAT, **given, output=np.zeros((1, 1), np.float16)).expected["output_tensor"]
    assert not is_right(expected, np.array([[2048]], np.float16).view(np.uint16), DataType.FLOAT16).any()


def test_a_zero_point_for_all_beside_scales_for_each_is_open() -> None:
    desc = made_of(
        LINEAR,
        a=np.ones((2, 3), np.int8), a_scale=np.ones((2, 1), np.float32), a_zero_point=np.ones((2, 1), np.int8),
        b=np.ones((3, 2), np.int8), b_scale=np.ones((1, 2), np.float32), output_scale=np.ones((1, 1), np.float32),
        output=np.ones((2, 2), np.int8),
    ).desc  # fmt: skip
    assert decide(desc, HIGHEST).outcome is Outcome.ACCEPT
    for sizes, outcome in (((1, 1), Outcome.UNSPECIFIED), ((1, 2), Outcome.REJECT), ((3, 1), Outcome.REJECT)):
        given = {field.attribute: getattr(desc, field.attribute) for field in desc.fields}
        other = type(desc)(**{**given, "a_zero_point_tensor": TensorDesc.of(DataType.INT8, sizes)})
        assert decide(other, HIGHEST).outcome is outcome
