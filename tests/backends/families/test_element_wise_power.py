"""ELEMENT_WISE_POW and ELEMENT_WISE_CONSTANT_POW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, with_values
from onnx_node import computed

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

NAN, INF = math.nan, math.inf


def pow_of(base: Any, exponent: Any) -> Run:
    tensors = [TensorDesc.of(DataType[array.dtype.name.upper()], array.shape) for array in (base, exponent, base)]
    desc = operators()["ELEMENT_WISE_POW"].desc(*tensors, None)
    return with_values(desc, HIGHEST, input_tensor=base, exponent_tensor=exponent)


def holds(run: Run, results: Any) -> list[bool]:
    """Which results are right."""
    found: list[bool] = is_right(
        run.expected["output_tensor"], results.view(f"u{results.itemsize}"), run.desc.input_tensor.data_type
    ).tolist()
    return found


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("base", "exponent", "right", "wrong"),
    [
        (2.0, 3.0, 8.0, 7.9),
        (-2.0, 3.0, -8.0, 8.0),
        (-2.0, 2.0, 4.0, -4.0),
        (-2.0, 0.5, NAN, 1.4142),
        (4.0, -0.5, 0.5, 2.0),
        (0.0, 0.0, 1.0, 0.0),
        (0.0, 0.0, NAN, INF),
        (INF, 0.0, NAN, INF),
        (1.0, NAN, 1.0, 0.0),
        (0.0, -1.0, INF, 0.0),
        (-0.0, -1.0, INF, NAN),
        (-INF, 0.5, NAN, -INF),
        (-INF, 3.0, -INF, INF),
        (NAN, 1.0, NAN, 1.0),
        (3.0, 1e4, INF, 1.0),
        (0.5, 1e4, 0.0, 1.0),
    ],
)
def test_special_powers(kind: Any, base: float, exponent: float, right: float, wrong: float) -> None:
    run = pow_of(np.array([base], kind), np.array([exponent], kind))
    assert holds(run, np.array([right], kind)) == [True]
    assert holds(run, np.array([wrong], kind)) == [False]
    assert_conforms(TorchBackend("cpu"), run)


def test_a_subnormal_exponent_may_count_as_0() -> None:
    base, exponent = np.array([-15.5, 0.0], np.float16), np.full(2, 1e-39, np.float32)
    for results in ([NAN, 0.0], [1.0, NAN], [1.0, 1.0]):
        assert all(holds(pow_of(base, exponent), np.array(results, np.float16)))
    assert not any(holds(pow_of(base, exponent), np.array([2.0, INF], np.float16)))


def test_a_base_of_an_integer_exponent_keeps_its_sign_however_much_the_bound_moves_it() -> None:
    base = -np.linspace(0.5, 2, 200).astype(np.float32)
    for exponent in (3.0, -5.0, 16.0, 101.0):
        run = pow_of(base, np.full(200, exponent, np.float32))
        exact = np.array([float(x) ** exponent for x in base], np.float32)
        assert all(holds(run, exact))
        assert not any(holds(run, -exact))
        assert not any(holds(run, exact * np.float32(1.001)))
        assert not any(holds(run, np.full(200, NAN, np.float32)))


def test_integers_are_exact() -> None:
    numbers = np.arange(-4, 5)
    base, exponent = (part.reshape(-1) for part in np.meshgrid(np.append(numbers, [127, -128, 11]), numbers))
    run = pow_of(base.astype(np.int8), exponent.astype(np.int8))
    expected = run.expected["output_tensor"]
    for n, (x, y) in enumerate(zip(base.tolist(), exponent.tolist(), strict=True)):
        whole = x**y if y >= 0 else x ** (y % 2) if x in (1, -1) else None
        is_open = whole is None or not -128 <= whole <= 127
        assert bool(expected.free is not None and expected.free[n]) is is_open, (x, y)
        assert is_open or expected.values.view(np.int8)[n] == whole, (x, y)
    assert_conforms(TorchBackend("cpu"), run)


@pytest.mark.parametrize(
    ("base", "exponent", "right", "wrong"),
    [
        (2, 5.0, (32, 31), (33, 30)),
        (3, 0.5, (1, 2), (0, 3)),
        (8, 1.0 / 3.0, (2, 1), (3,)),
        (-3, 3.0, (-27, -26), (27, -28)),
        (5, -1.0, (0,), (1,)),
        (7, 0.0, (1,), (2,)),
    ],
)
def test_integers_to_powers_of_floats_are_cut_or_rounded(base: int, exponent: float, right: Any, wrong: Any) -> None:
    run = pow_of(np.array([base], np.int32), np.array([exponent], np.float32))
    assert all(holds(run, np.array([number], np.int32)) == [True] for number in right)
    assert all(holds(run, np.array([number], np.int32)) == [False] for number in wrong)
    assert_conforms(TorchBackend("cpu"), run)


def test_powers_of_integers_that_are_none_of_their_type_are_open() -> None:
    run = pow_of(np.array([11, -2, 0], np.int8), np.array([3.0, 0.5, -1.0], np.float16))
    assert run.expected["output_tensor"].free is not None
    assert run.expected["output_tensor"].free.tolist() == [True, True, True]


@pytest.mark.parametrize("kind", [np.int8, np.int32])
def test_integers_to_powers_of_floats_beside_another_library(kind: Any) -> None:
    """Those that onnxruntime computes are right; both are of the same bases and exponents."""
    base, exponent = (part.reshape(-1) for part in np.meshgrid(np.arange(-9, 10), np.arange(-2, 5) / 2))
    run = pow_of(base.astype(kind), exponent.astype(np.float32))
    (found,) = computed("Pow", {"X": base.astype(np.int32), "Y": exponent.astype(np.float32)}, outputs=(np.int32,))
    assert all(holds(run, found.astype(kind)))


def test_floats_to_powers_of_integers() -> None:
    run = pow_of(np.array([-1.5, -2.0, 1.0], np.float32), np.array([3, -2, -(2**31)], np.int32))
    assert holds(run, np.array([-3.375, 0.25, 1.0], np.float32)) == [True] * 3
    assert holds(run, np.array([3.375, -0.25, -1.0], np.float32)) == [False] * 3
    assert_conforms(TorchBackend("cpu"), run)


def test_a_constant_exponent_may_be_rounded_to_float16() -> None:
    desc = operators()["ELEMENT_WISE_CONSTANT_POW"].desc(
        TensorDesc.of(DataType.FLOAT16, (2,)), TensorDesc.of(DataType.FLOAT16, (2,)), None, 2049.0
    )
    run = with_values(desc, HIGHEST, input_tensor=np.array([-1, 1], np.float16))
    assert holds(run, np.array([-1, 1], np.float16)) == [True, True]
    assert holds(run, np.array([1, 2], np.float16)) == [True, False]


def test_exponents_of_another_type_come_with_3_0() -> None:
    tensors = [TensorDesc.of(kind, (1, 1, 1, 2)) for kind in (DataType.FLOAT32, DataType.FLOAT16, DataType.FLOAT32)]
    desc = operators()["ELEMENT_WISE_POW"].desc(*tensors, None)
    for backend in (TorchBackend("cpu"),):
        assert not backend.validate(desc, Level.L2_1).accepted
        assert backend.validate(desc, Level.L3_0).accepted
    assert decide(desc, Level.L2_1).rules == ("ELEMENT_WISE_POW.exponent-data-type",)
    assert decide(desc, Level.L3_0).outcome is Outcome.ACCEPT
