"""ELEMENT_WISE_CLIP, ELEMENT_WISE_CLIP1, ELEMENT_WISE_THRESHOLD, and the gradients of CLIP.

ONNX has Clip, but no operator for its gradient: that is held against differences of CLIP's own results.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values
from slow_reference import walk

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


GRADIENTS = ["CLIP_GRAD", "CLIP_GRAD1"]


def grad_of(name: str, x: Any, gradient: Any, *limits: float) -> Run:
    data_type = DataType[x.dtype.name.upper()]
    tensor = TensorDesc.of(data_type, x.shape)
    kind = (int(data_type),) if name == "CLIP_GRAD1" else ()
    desc = operators()[f"ELEMENT_WISE_{name}"].desc(tensor, tensor, tensor, *kind, *limits)
    run = with_values(desc, HIGHEST, input_tensor=x, input_gradient_tensor=gradient)
    assert_conforms(TorchBackend("cpu"), run)
    return run


def passes(run: Run, results: Any) -> list[bool]:
    bits, data_type = results.view(f"u{results.itemsize}"), run.desc.input_tensor.data_type
    found: list[bool] = is_right(run.expected["output_gradient_tensor"], bits, data_type).tolist()
    return found


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_the_slopes_of_clip(name: str) -> None:
    x, step = np.linspace(-3, 3, 96, dtype=np.float32) + np.float32(2.0**-9), np.float32(2.0**-10)
    ends = (run_of(name.replace("_GRAD", ""), x + way, -1.0, 2.0) for way in (step, -step))
    above, below = (run.expected["output_tensor"].values.view(np.float32).astype(float) for run in ends)
    gradient = np.arange(1, 97, dtype=np.float32)
    slopes = np.rint((above - below) / (2 * float(step)))
    assert set(slopes) == {0, 1}
    run = grad_of(name, x, gradient, -1.0, 2.0)
    assert all(passes(run, (slopes * gradient).astype(np.float32)))
    assert passes(run, ((1 - slopes) * gradient).astype(np.float32)) == [False] * 96


@pytest.mark.parametrize("name", [f"ELEMENT_WISE_{name}" for name in GRADIENTS])
def test_gradients_are_the_pages_formula(name: str) -> None:
    seen = exact = 0
    for run in small_runs(name, 120):
        desc, data_type = run.desc, run.desc.input_tensor.data_type
        kind = np.dtype(data_type.name.lower())
        results = run.expected["output_gradient_tensor"]
        found, within = numbers(results.values, data_type), results.within
        if not (math.isfinite(desc.min) and math.isfinite(desc.max)):
            continue
        for place in walk(desc.input_tensor.sizes):
            x, gradient = (
                np.frombuffer(run.memory(key).element(place), kind)[0].item()
                for key in ("input_tensor", "input_gradient_tensor")
            )
            seen += 1
            if data_type.is_float and (
                within is None or within.low[place] != within.high[place] or within.nan is not None
            ):
                continue  # of NaN and limits that FLOAT16 does not have
            if not data_type.is_float and within is not None and within.where is not None and within.where[place]:
                continue  # of limits with a fraction, and beyond the type
            assert found[place] == (0 if x <= desc.min or x >= desc.max else gradient), (desc, place)
            exact += 1
    assert exact > seen / 2 > 250


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float16, np.float32])
def test_gradients_at_a_limit_are_0(name: str, kind: Any) -> None:
    x, gradient = np.array([0, 1, 2, 5, 6, 7], kind), np.full(6, 3, kind)
    run = grad_of(name, x, gradient, 1, 6)
    assert all(passes(run, np.array([0, 0, 3, 3, 0, 0], kind)))
    assert not any(passes(run, np.array([3, 3, 0, 2, 3, 3], kind)))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_nan_are_passed_on_or_not(name: str) -> None:
    x, gradient = np.array([NAN, 0.0], np.float32), np.array([5.0, NAN], np.float32)
    run = grad_of(name, x, gradient, -1.0, 1.0)
    assert [passes(run, np.array([n, NAN], np.float32)) for n in (0.0, 5.0)] == [[True, True]] * 2
    assert passes(run, np.array([NAN, 0.0], np.float32)) == [False, False]
    without = grad_of(name, np.array([3.0], np.float32), np.array([5.0], np.float32), NAN, 1.0)
    assert [passes(without, np.array([n], np.float32)) for n in (0.0, 5.0)] == [[True], [False]]


def test_gradients_of_integers_at_a_limit_with_a_fraction_are_open() -> None:
    x, gradient = np.array([-3, -2, 3, 4], np.int32), np.full(4, 7, np.int32)
    run = grad_of("CLIP_GRAD", x, gradient, -2.75, 3.5)
    assert passes(run, np.array([0, 7, 7, 0], np.int32)) == [True] * 4
    assert passes(run, np.array([7, 0, 0, 7], np.int32)) == [False, True, True, False]
    large = grad_of(
        "CLIP_GRAD", np.array([2**24 + 1, 2**24 + 3], np.int64), np.array([7, 7], np.int64), 2.0**24, 2.0**40
    )
    assert passes(large, np.array([0, 0], np.int64)) == [True, False]  # in FLOAT32 the first one is at the limit


def test_limits_of_gradients_have_the_tensors_type() -> None:
    tensor = TensorDesc.of(DataType.INT8, (2,))
    desc = operators()["ELEMENT_WISE_CLIP_GRAD1"].desc(tensor, tensor, tensor, int(DataType.INT16), 0, 1)
    assert decide(desc, HIGHEST).rules == ("ELEMENT_WISE_CLIP_GRAD1.min-max-data-type",)
    assert not TorchBackend("cpu").validate(desc, HIGHEST).accepted
