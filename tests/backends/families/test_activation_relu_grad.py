"""ACTIVATION_RELU_GRAD. ONNX has Relu, but no operator for its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values
from slow_reference import walk

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

NAME, OUTPUT = "ACTIVATION_RELU_GRAD", "output_gradient_tensor"


def run_of(name: str, *arrays: Any) -> Run:
    tensor = TensorDesc.of(DataType[arrays[0].dtype.name.upper()], arrays[0].shape)
    desc = operators()[name].desc(*(tensor,) * (len(arrays) + 1))
    keys = ("input_tensor", "input_gradient_tensor")[: len(arrays)]
    run = with_values(desc, HIGHEST, **dict(zip(keys, arrays, strict=True)))
    assert_conforms(TorchBackend("cpu"), run)
    return run


def passes(run: Run, *results: Any) -> list[bool]:
    data_type = run.desc.input_tensor.data_type
    array = np.array(results, data_type.name.lower())
    found: list[bool] = is_right(run.expected[OUTPUT], array.view(f"u{array.itemsize}"), data_type).tolist()
    return found


def test_gradients_are_the_slopes_of_the_rectifier() -> None:
    x, step = np.linspace(-3, 3, 96, dtype=np.float32), np.float32(2.0**-10)
    rectified = (run_of("ACTIVATION_RELU", x + way).expected["output_tensor"].values for way in (step, -step))
    above, below = (values.view(np.float32).astype(float) for values in rectified)
    slopes = np.rint((above - below) / (2 * float(step)))
    assert set(slopes) == {0, 1}
    gradient = np.arange(1, 97, dtype=np.float32)
    run = run_of(NAME, x, gradient)
    assert all(passes(run, *(slopes * gradient)))
    assert not any(passes(run, *((1 - slopes) * gradient)))


def test_gradients_are_the_pages_formula() -> None:
    exact = 0
    for run in small_runs(NAME, 120):
        data_type = run.desc.input_tensor.data_type
        kind = np.dtype(data_type.name.lower())
        expected = run.expected[OUTPUT]
        found, within = numbers(expected.values, data_type), expected.within
        for place in walk(run.desc.input_tensor.sizes):
            x, gradient = (
                np.frombuffer(run.memory(key).element(place), kind)[0].item()
                for key in ("input_tensor", "input_gradient_tensor")
            )
            if not (math.isnan(x) or math.isnan(gradient)):
                assert found[place] == (gradient if x > 0 else 0), (run.desc, place)
                exact += within is None or bool(within.low[place] == within.high[place])
    assert exact > 500


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.float16, np.float32])
def test_the_gradient_of_0_is_0(kind: Any) -> None:
    run = run_of(NAME, np.array([0, 1, -1], kind), np.array([5, -6, 7], kind))
    assert passes(run, 0, -6, 0) == [True] * 3
    assert passes(run, 5, 6, 7) == [False] * 3


def test_a_nan_and_a_subnormal_number_count_as_above_0_or_not() -> None:
    x, gradient = np.array([math.nan, 1e-40, 1.0], np.float32), np.array([5.0, 6.0, math.nan], np.float32)
    run = run_of(NAME, x, gradient)
    assert passes(run, 5, 6, math.nan) == passes(run, 0, 0, math.nan) == [True] * 3
    assert passes(run, -1, -1, 0) == [False] * 3
