"""ACTIVATION_RELU, _ELU, _SIGMOID, _SOFTPLUS and the other activation functions of one number."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.activation import SPECS
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

NAMES = tuple(spec.name.removeprefix("ACTIVATION_") for spec in SPECS)
TYPES = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}
INFINITY, NAN = math.inf, math.nan


def logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def exponential(x: float) -> float:
    """exp(x) - 1"""
    return math.expm1(x) if x < 700 else INFINITY


def clamp(x: float) -> float:
    return min(max(x, 0.0), 1.0)


# From a number that is no NaN and a descriptor.
SLOW: dict[str, Callable[[float, Any], float]] = {
    "CELU": lambda x, d: max(0.0, x) + min(0.0, d.alpha * exponential(x / d.alpha)),
    "ELU": lambda x, d: x if x >= 0 else d.alpha * exponential(x),
    "GELU": lambda x, d: x * 0.5 * math.erfc(-x / math.sqrt(2)),
    "HARD_SIGMOID": lambda x, d: clamp(d.alpha * x + d.beta),
    "HARD_SWISH": lambda x, d: x * clamp(d.alpha * x + d.beta),
    "LEAKY_RELU": lambda x, d: x if x >= 0 else d.alpha * x,
    "LINEAR": lambda x, d: d.alpha * x + d.beta,
    "PARAMETRIC_SOFTPLUS": lambda x, d: d.alpha * softplus(d.beta * x),
    "RELU": lambda x, d: max(0.0, x),
    "SCALED_ELU": lambda x, d: d.gamma * (x if x > 0 else d.alpha * exponential(x)),
    "SCALED_TANH": lambda x, d: d.alpha * math.tanh(d.beta * x),
    "SHRINK": lambda x, d: x - d.bias if x > d.threshold else x + d.bias if x < -d.threshold else 0.0,
    "SIGMOID": lambda x, d: logistic(x),
    "SOFTPLUS": lambda x, d: softplus(d.steepness * x) / d.steepness,
    "SOFTSIGN": lambda x, d: x / (1 + abs(x)),
    "SWISH": lambda x, d: x * logistic(d.sigmoid_input_scale * x),
    "TANH": lambda x, d: math.tanh(x),
    "THRESHOLDED_RELU": lambda x, d: x if x > d.alpha else 0.0,
}


def desc_of(name: str, data_type: DataType, count: int, **attributes: float) -> Any:
    spec = operators()[f"ACTIVATION_{name}"]
    tensor = TensorDesc.of(data_type, (1, 1, 1, count))
    return spec.desc(**{field.attribute: tensor for field in spec.tensor_fields}, **attributes)


def ends(run: Run) -> tuple[Any, Any, Any]:
    """The least and the greatest right number of each element, and where a NaN is right."""
    expected, data_type = run.expected["output_tensor"], run.desc.output_tensor.data_type
    assert expected.within is not None
    low, high = (
        numbers(part, data_type).reshape(-1).astype(np.float64) for part in (expected.within.low, expected.within.high)
    )
    nan = np.zeros(low.shape, bool) if expected.within.nan is None else expected.within.nan.reshape(-1)
    return low, high, nan


def of_numbers(name: str, values: Any, data_type: DataType = DataType.FLOAT32, **attributes: float) -> Run:
    found = np.array(values, TYPES[data_type])
    return with_values(desc_of(name, data_type, found.size, **attributes), HIGHEST, input_tensor=found)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "PARAMETERIZED_RELU"])
def test_what_is_expected_lies_around_the_slow_reference(name: str) -> None:
    """And not far around it: a few thousandths of what is computed with."""
    seen = 0
    for run in small_runs(f"ACTIVATION_{name}", 24):
        desc, data_type = run.desc, run.desc.output_tensor.data_type
        if data_type not in TYPES or run.expected["output_tensor"].free is not None:
            continue
        low, high, _ = ends(run)
        memory = run.memory("input_tensor")
        scale = max([1.0, *(abs(getattr(desc, f.attribute)) for f in desc.fields if not f.is_tensor)])
        for n, c in enumerate(slow.walk(desc.output_tensor.sizes)):
            x = float(np.frombuffer(memory.element(c), TYPES[data_type])[0])
            if not math.isfinite(x) or abs(x) > 1e4 or 0 < abs(x) < 1e-30:
                continue
            y = SLOW[name](x, desc)
            if abs(y) > 6e4:
                continue
            info = np.finfo(TYPES[data_type])
            unit = float(info.eps) * abs(y) + float(info.tiny)
            far = 5e-3 * (scale * max(abs(x), 1.0) ** 2 + abs(y))
            assert low[n] - unit <= y <= high[n] + unit, (name, x, y, low[n], high[n])
            assert high[n] - low[n] <= 2 * far, (name, x, y, low[n], high[n])
            seen += 1
    assert seen > 40


@pytest.mark.parametrize(
    ("name", "attributes", "plus", "minus", "nan"),
    [
        ("CELU", {"alpha": 0.5}, (INFINITY, INFINITY), (-0.5, -0.5), (0, 0, True)),
        ("ELU", {"alpha": 0.5}, (INFINITY, INFINITY), (-0.5, -0.5), None),
        ("GELU", {}, (INFINITY, INFINITY), None, None),
        ("HARD_SIGMOID", {"alpha": 0.2, "beta": 0.5}, (1, 1), (0, 0), (0, 1, True)),
        ("HARD_SWISH", {"alpha": 0.2, "beta": 0.5}, (INFINITY, INFINITY), None, None),
        ("LEAKY_RELU", {"alpha": -0.5}, (INFINITY, INFINITY), (INFINITY, INFINITY), None),
        ("LINEAR", {"alpha": -2.0, "beta": 0.5}, (-INFINITY, -INFINITY), (INFINITY, INFINITY), None),
        ("PARAMETRIC_SOFTPLUS", {"alpha": 2.0, "beta": 0.5}, (INFINITY, INFINITY), (0, 0), None),
        ("RELU", {}, (INFINITY, INFINITY), (0, 0), (0, 0, True)),
        ("SCALED_ELU", {"alpha": 0.5, "gamma": 2.0}, (INFINITY, INFINITY), (-1, -1), None),
        ("SCALED_TANH", {"alpha": 2.0, "beta": -0.5}, (-2, -2), (2, 2), None),
        ("SHRINK", {"bias": 0.5, "threshold": 0.5}, (INFINITY, INFINITY), (-INFINITY, -INFINITY), (0, 0, False)),
        ("SIGMOID", {}, (1, 1), (0, 0), None),
        ("SOFTPLUS", {"steepness": 2.0}, (INFINITY, INFINITY), (0, 0), None),
        ("SOFTSIGN", {}, None, None, None),
        ("SWISH", {"sigmoid_input_scale": 1.0}, (INFINITY, INFINITY), None, None),
        ("TANH", {}, (1, 1), (-1, -1), None),
        ("THRESHOLDED_RELU", {"alpha": 1.0}, (INFINITY, INFINITY), (0, 0), (0, 0, False)),
    ],
)
def test_infinities_and_nan(name: str, attributes: dict[str, float], plus: Any, minus: Any, nan: Any) -> None:
    """None stands for a NaN and nothing else."""
    for data_type in TYPES:
        run = of_numbers(name, [INFINITY, -INFINITY, NAN], data_type, **attributes)
        low, high, may_be_nan = ends(run)
        for n, right in enumerate((plus, minus, nan)):
            if right is None:
                assert low[n] > high[n]
                assert may_be_nan[n]
            else:
                assert low[n] <= right[0] <= right[1] <= high[n]
                assert math.isinf(right[0]) or high[n] - low[n] <= 5e-3 + 1.125 * (right[1] - right[0])
                assert may_be_nan[n] == (right[2] if len(right) > 2 else False)
        assert_conforms(TorchBackend("cpu"), run)


@pytest.mark.parametrize(
    ("name", "attributes", "x", "near"),
    [
        ("SOFTPLUS", {"steepness": 1.0}, [100.0, 1000.0, 1e30], [100.0, 1000.0, 1e30]),
        ("PARAMETRIC_SOFTPLUS", {"alpha": 2.0, "beta": 0.5}, [1000.0, 1e30], [1000.0, 1e30]),
        ("TANH", {}, [-45.0, -1e30, 1e30], [-1.0, -1.0, 1.0]),
        ("SWISH", {"sigmoid_input_scale": 1.0}, [-100.0, -1e30, 1e30], [0.0, 0.0, 1e30]),
        ("GELU", {}, [-1e30, 1e30], [0.0, 1e30]),
        ("SIGMOID", {}, [-1e30, 1e30], [0.0, 1.0]),
    ],
)
def test_large_arguments_do_not_overflow(name: str, attributes: dict[str, float], x: Any, near: Any) -> None:
    low, high, nan = ends(of_numbers(name, x, **attributes))
    assert (low <= np.array(near) * (1 + 1e-6) + 1e-6).all()
    assert (high >= np.array(near) * (1 - 1e-6) - 1e-6).all()
    assert np.isfinite(high).all()
    assert not nan.any()


def test_what_is_at_a_threshold_is_not_above_it() -> None:
    low, high, _ = ends(of_numbers("THRESHOLDED_RELU", [1.0, np.nextafter(np.float32(1), np.float32(2))], alpha=1.0))
    assert low.tolist() == high.tolist() == [0.0, np.nextafter(np.float32(1), np.float32(2))]
    low, high, _ = ends(of_numbers("SHRINK", [0.5, -0.5, 0.75, -0.75], bias=0.25, threshold=0.5))
    assert np.abs(low - [0, 0, 0.5, -0.5]).max() < 1e-6
    assert np.abs(high - [0, 0, 0.5, -0.5]).max() < 1e-6


@pytest.mark.parametrize("name", ["LEAKY_RELU", "ELU"])
def test_a_comparison_may_take_a_subnormal_number_for_0(name: str) -> None:
    tiny, small = np.float32(-1e-39), np.float32(-2e-38)
    for profile, least in ((DIRECTML, tiny), (PRECISE, 0.0)):
        run = of_numbers(name, [tiny, small], alpha=0.0)
        within = expected_output(run.desc, run.bindings, profile)["output_tensor"].within
        assert within is not None
        assert np.abs(numbers(within.low, DataType.FLOAT32).reshape(-1) - [least, 0.0]).max() < 1e-44
        assert not numbers(within.high, DataType.FLOAT32).any()
    run = of_numbers(name, [np.float16(-6e-8)], DataType.FLOAT16, alpha=0.0)
    assert ends(run)[0].tolist() == [0.0]


def test_a_slope_is_compared_with_nothing() -> None:
    desc = desc_of("PARAMETERIZED_RELU", DataType.FLOAT32, 3)
    x, slopes = np.array([-1e-39, -1e-39, -4.0], np.float32), np.array([-4.0, 0.0, -1e-39], np.float32)
    low, high, _ = ends(with_values(desc, HIGHEST, input_tensor=x, slope_tensor=slopes))
    assert np.abs(low - [x[0], x[1], 0.0]).max() < 1e-44
    assert np.abs(high - [4e-39, 0.0, 4e-39]).max() < 1e-44


def test_slopes_are_those_of_their_places() -> None:
    seen: dict[bool, int] = {False: 0, True: 0}
    for run in small_runs("ACTIVATION_PARAMETERIZED_RELU", 60):
        data_type, expected = run.desc.output_tensor.data_type, run.expected["output_tensor"]
        if data_type.is_float:
            continue
        source, slopes = run.memory("input_tensor"), run.memory("slope_tensor")
        least, most = data_type.limits or (0, 0)
        found = numbers(expected.values, data_type).reshape(-1)
        free = np.zeros(found.shape, bool) if expected.free is None else expected.free.reshape(-1)
        for n, c in enumerate(slow.walk(run.desc.output_tensor.sizes)):
            x, slope = (int.from_bytes(m.element(c), "little", signed=True) for m in (source, slopes))
            y = x if x >= 0 else Fraction(slope) * x
            assert free[n] == (not least <= y <= most)
            assert free[n] or found[n] == y
            seen[bool(free[n])] += 1
    assert min(seen.values()) > 20, seen


def test_shrunk_integers_are_exact_or_open() -> None:
    values = np.array([-128, -127, -3, -2, 2, 3, 127], np.int8)
    run = with_values(desc_of("SHRINK", DataType.INT8, 7, bias=-1.0, threshold=2.0), HIGHEST, input_tensor=values)
    expected = run.expected["output_tensor"]
    assert expected.free is not None
    assert expected.free.reshape(-1).tolist() == [True, False, False, False, False, False, True]
    assert numbers(expected.values, DataType.INT8).reshape(-1)[1:6].tolist() == [-128, -4, 0, 0, 4]
    run = with_values(desc_of("SHRINK", DataType.INT8, 7, bias=0.5, threshold=2.0), HIGHEST, input_tensor=values)
    free = run.expected["output_tensor"].free
    assert free is not None
    assert free.all()


def test_a_steepness_below_1_came_with_6_4() -> None:
    for steepness, levels in ((1.0, list(Level)), (0.5, [Level.L6_4]), (-1.0, [Level.L6_4])):
        desc = desc_of("SOFTPLUS", DataType.FLOAT32, 3, steepness=steepness)
        accepted = [level for level in Level if decide(desc, level).outcome is Outcome.ACCEPT]
        assert accepted == levels
        assert [level for level in Level if TorchBackend("cpu").validate(desc, level).accepted] == levels


@pytest.mark.parametrize(("name", "attribute"), [("CELU", "alpha"), ("SOFTPLUS", "steepness")])
def test_a_division_by_0_is_open(name: str, attribute: str) -> None:
    free = of_numbers(name, [1.0, -1.0], **{attribute: 0.0}).expected["output_tensor"].free
    assert free is not None
    assert free.all()
