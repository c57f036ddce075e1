"""ELEMENT_WISE_CLIP, ELEMENT_WISE_CLIP1 and ELEMENT_WISE_THRESHOLD."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

NAN, INF = math.nan, math.inf


def run_of(name: str, numbers: Any, *limits: float, scale_bias: Any = None) -> Run:
    data_type = DataType[numbers.dtype.name.upper()]
    tensor = TensorDesc.of(data_type, numbers.shape)
    kind = (int(data_type),) if name == "CLIP1" else ()
    desc = operators()[f"ELEMENT_WISE_{name}"].desc(tensor, tensor, scale_bias, *kind, *limits)
    run = with_values(desc, HIGHEST, input_tensor=numbers)
    assert_conforms(TorchBackend("cpu"), run)
    return run


def holds(run: Run, results: Any) -> list[bool]:
    """Which results are right."""
    found: list[bool] = is_right(
        run.expected["output_tensor"], results.view(f"u{results.itemsize}"), run.desc.input_tensor.data_type
    ).tolist()
    return found


@pytest.mark.parametrize("name", ["CLIP", "CLIP1"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32])
def test_elements_are_held_between_limits(name: str, kind: Any) -> None:
    numbers = np.array([0, 1, 5, 6, 7, 100, 127], kind)
    run = run_of(name, numbers, 1, 6)
    assert all(holds(run, np.array([1, 1, 5, 6, 6, 6, 6], kind)))
    assert not any(holds(run, np.array([0, 2, 4, 5, 7, 7, 7], kind)))


@pytest.mark.parametrize("name", ["CLIP", "CLIP1"])
def test_the_top_bit_is_no_sign_of_unsigned_numbers(name: str) -> None:
    assert all(holds(run_of(name, np.array([2**31, 3], np.uint32), 4, 100), np.array([100, 4], np.uint32)))


def test_limits_of_64_bits_are_exact() -> None:
    low, high = 2**53 + 1, 2**63 - 2
    run = run_of("CLIP1", np.array([0, 2**53 + 2, 2**63 - 1], np.int64), low, high)
    assert holds(run, np.array([low, 2**53 + 2, high], np.int64)) == [True] * 3
    assert holds(run, np.array([low - 1, 2**53, high + 1], np.int64)) == [False] * 3


def test_limits_of_integers_are_cut() -> None:
    run = run_of("CLIP", np.array([-5, -2, 4], np.int32), -2.75, 3.5)
    assert holds(run, np.array([-2, -2, 3], np.int32)) == [True] * 3
    assert holds(run, np.array([-3, -3, 4], np.int32)) == [False] * 3
    either = run_of("THRESHOLD", np.array([-5, -2], np.int32), -2.75)
    assert holds(either, np.array([-3, -2], np.int32)) == [True, True]
    assert holds(either, np.array([-2, -1], np.int32)) == [True, False]
    assert holds(either, np.array([-4, -3], np.int32)) == [False, False]


@pytest.mark.parametrize("limits", [(-1.0, 3.0), (0.0, 300.0), (NAN, 3.0), (-INF, INF)])
def test_limits_beyond_an_integer_type_leave_all_open(limits: tuple[float, float]) -> None:
    free = run_of("CLIP", np.array([1, 2], np.uint8), *limits).expected["output_tensor"].free
    assert free is not None
    assert free.all()


@pytest.mark.parametrize("name", ["CLIP", "CLIP1"])
def test_limits_out_of_order_give_either(name: str) -> None:
    for kind in (np.int16, np.float32):
        run = run_of(name, np.array([0, 9], kind), 4, 2)
        for right in (2, 4):
            assert all(holds(run, np.full(2, right, kind)))
        for wrong in (0, 9):
            assert not any(holds(run, np.full(2, wrong, kind)))


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_nan_stays_or_becomes_a_limit(kind: Any) -> None:
    run = run_of("CLIP", np.array([NAN], kind), -1.0, 2.0)
    assert [holds(run, np.array([n], kind))[0] for n in (NAN, -1.0, 2.0, 3.0, -2.0)] == [True] * 3 + [False] * 2
    lower = run_of("THRESHOLD", np.array([NAN], kind), 2.0)
    assert [holds(lower, np.array([n], kind))[0] for n in (NAN, 2.0, 0.0)] == [True, True, False]
    without = run_of("CLIP", np.array([-7.0, 1.0], kind), NAN, 0.5)
    assert holds(without, np.array([-7.0, 0.5], kind)) == [True, True]
    assert holds(without, np.array([-6.0, 1.0], kind)) == [False, False]


def test_limits_become_float16() -> None:
    run = run_of("CLIP", np.array([0.0, 1.0, INF], np.float16), 0.1, 1e6)
    assert holds(run, np.array([0.1, 1.0, INF], np.float16)) == [True] * 3
    assert holds(run, np.array([0.1, 1.0, 65504], np.float16)) == [True] * 3
    assert holds(run_of("CLIP", np.array([INF], np.float16), 0.0, INF), np.array([65504], np.float16)) == [False]
    lower = run_of("THRESHOLD", np.array([1.0], np.float16), 1e6)
    assert [holds(lower, np.array([n], np.float16)) for n in (INF, 65504, 65472)] == [[True], [True], [False]]


def test_limits_hold_what_is_scaled() -> None:
    run = run_of("CLIP", np.array([-4.0, 1.0, 4.0], np.float32), -1.0, 6.0, scale_bias=ScaleBias(3.0, -1.0))
    assert holds(run, np.array([-1.0, 2.0, 6.0], np.float32)) == [True] * 3
    assert holds(run, np.array([-4.0, 1.0, 11.0], np.float32)) == [False] * 3


def test_limits_have_the_tensors_type() -> None:
    tensor = TensorDesc.of(DataType.INT8, (2,))
    desc = operators()["ELEMENT_WISE_CLIP1"].desc(tensor, tensor, None, int(DataType.INT16), 0, 1)
    assert decide(desc, HIGHEST).rules == ("ELEMENT_WISE_CLIP1.min-max-data-type",)
    assert not TorchBackend("cpu").validate(desc, HIGHEST).accepted
