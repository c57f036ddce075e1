"""BATCH_NORMALIZATION and _TRAINING with their gradients, held against sums over coordinates and ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

NAMES = (
    *("BATCH_NORMALIZATION", "BATCH_NORMALIZATION_TRAINING"),
    *("BATCH_NORMALIZATION_GRAD", "BATCH_NORMALIZATION_TRAINING_GRAD"),
)
SIZES, CHANNELS = (2, 3, 2, 4), (1, 3, 1, 1)
Function = Callable[[tuple[int, ...]], float]


def slow_outputs(desc: Any, arrays: dict[str, Any]) -> dict[str, Function]:
    """From coordinates of each output its element by the page's formula, one at a time."""

    def at(key: str, c: tuple[int, ...]) -> float:
        of = arrays[f"{key}_tensor"]
        return float(of[tuple(min(place, size - 1) for place, size in zip(c, of.shape, strict=True))])

    def over(c: tuple[int, ...], term: Function) -> list[float]:
        """Of all places that a parameter's element is for."""
        ones = desc.scale_tensor.sizes
        places = (range(n) if one == 1 else (c[d],) for d, (n, one) in enumerate(zip(x.shape, ones, strict=True)))
        return [term(place) for place in product(*places)]

    def mean(c: tuple[int, ...], term: Function) -> float:
        terms = over(c, term)
        return math.fsum(terms) / len(terms)

    def own(c: tuple[int, ...]) -> float:
        return mean(c, lambda p: at("input", p))

    def own_variance(c: tuple[int, ...]) -> float:
        middle = own(c)
        return mean(c, lambda p: (at("input", p) - middle) ** 2)

    def root(c: tuple[int, ...]) -> float:
        return math.sqrt(at("variance", c) + desc.epsilon)

    def of_input(c: tuple[int, ...]) -> float:
        gradient = at("input_gradient", c)
        if desc.operator.endswith("TRAINING_GRAD"):
            middle = own(c)
            covariance = mean(c, lambda p: at("input_gradient", p) * (at("input", p) - middle))
            gradient -= mean(c, lambda p: at("input_gradient", p))
            gradient -= (at("input", c) - middle) * covariance / (at("variance", c) + desc.epsilon)
        return gradient * at("scale", c) / root(c)

    def output(c: tuple[int, ...]) -> float:
        is_given = "mean_tensor" in arrays
        middle, variance = (at("mean", c), at("variance", c)) if is_given else (own(c), own_variance(c))
        found = at("scale", c) * (at("input", c) - middle) / math.sqrt(variance + desc.epsilon) + at("bias", c)
        return found + (at("fused_add", c) if "fused_add_tensor" in arrays else 0.0)

    x = arrays["input_tensor"]
    return {
        "output_tensor": output,
        "output_mean_tensor": own,
        "output_variance_tensor": own_variance,
        "output_gradient_tensor": of_input,
        "output_scale_gradient_tensor": lambda c: math.fsum(
            over(c, lambda p: at("input_gradient", p) * (at("input", p) - at("mean", p)) / root(p))
        ),
        "output_bias_gradient_tensor": lambda c: math.fsum(over(c, lambda p: at("input_gradient", p))),
    }


def ends(run: Run, key: str) -> tuple[Any, Any]:
    within = run.expected[key].within
    assert within is not None
    low, high = (numbers(part, run.desc.input_tensor.data_type).astype(float) for part in (within.low, within.high))
    return low, high


@pytest.mark.parametrize("name", NAMES)
def test_what_is_expected_lies_around_the_slow_reference(name: str) -> None:
    seen = dict.fromkeys((field.attribute for field in operator(name).output_fields), 0)
    for run in small_runs(name, 70):
        arrays = elements(run)
        is_tame = all((np.abs(of) < 1e3).all() for of in arrays.values())
        variance = arrays.get("variance_tensor", np.ones(1))
        if getattr(run.desc, "fused_activation", None) or not is_tame or not (variance + run.desc.epsilon > 0.1).all():
            continue
        found = slow_outputs(run.desc, arrays)
        for key in seen:
            low, high = ends(run, key)
            eps = float(np.finfo(arrays["input_tensor"].dtype).eps)
            for c in list(slow.walk(low.shape))[:12]:
                y = found[key](c) if not (run.desc.epsilon < 0.1 and name.endswith("TRAINING")) else math.nan
                if abs(y) < 6e4:
                    assert low[c] - eps * abs(y) - 1e-7 <= y <= high[c] + eps * abs(y) + 1e-7, (key, run.desc)
                    seen[key] += 1
    assert min(seen.values()) > 25


def of(name: str, kind: Any = np.float32, epsilon: float = 0.25, **arrays: Any) -> Run:
    """A case of parameters by channel, with random elements where none are given."""
    rng, spec = np.random.default_rng(1), operator(name)
    members: dict[str, Any] = {"spatial": True, "epsilon": epsilon, "fused_activation": None}
    full = ("input_tensor", "input_gradient_tensor", "fused_add_tensor", "output_tensor", "output_gradient_tensor")
    for field in spec.tensor_fields:
        sizes = SIZES if field.attribute in full else CHANNELS
        members[field.attribute] = TensorDesc.of(DataType[np.dtype(kind).name.upper()], sizes)
        if not field.is_output:
            given = arrays.get(field.attribute, rng.uniform(0.5, 2.0, sizes))
            arrays[field.attribute] = np.broadcast_to(given, sizes).astype(kind)
    desc = spec.desc(**{field.attribute: members[field.attribute] for field in spec.fields})
    return with_values(desc, HIGHEST, **{field.attribute: arrays[field.attribute] for field in spec.input_fields})


def test_the_variance_is_that_of_all_elements() -> None:
    x = np.broadcast_to(np.array([1.0, 3.0]).reshape(2, 1, 1, 1), SIZES)
    low, high = ends(of("BATCH_NORMALIZATION_TRAINING", input_tensor=x), "output_variance_tensor")
    assert low.ravel().tolist() == pytest.approx([1.0] * 3, abs=1e-5)
    assert high.ravel().tolist() == pytest.approx([1.0] * 3, abs=1e-5)


def test_statistics_of_float16_may_be_rounded_before_they_are_used() -> None:
    run = of("BATCH_NORMALIZATION_TRAINING", np.float16)
    arrays = {key: array.astype(np.float64) for key, array in elements(run).items()}
    x = arrays["input_tensor"]
    mean, variance = (
        part.astype(np.float16).astype(np.float64)
        for part in (x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True))
    )
    rounded = arrays["scale_tensor"] * (x - mean) / np.sqrt(variance + 0.25) + arrays["bias_tensor"]
    found = (rounded + arrays["fused_add_tensor"]).astype(np.float16).view(np.uint16)
    assert is_right(run.expected["output_tensor"], found, DataType.FLOAT16).all()


def test_a_multiple_of_the_input_is_right_and_what_a_bound_of_it_lets_through_is_little() -> None:
    run = of("BATCH_NORMALIZATION")
    given = elements(run)
    x, mean, variance, scale, bias = (given[f"{key}_tensor"] for key in ("input", "mean", "variance", "scale", "bias"))
    factor = scale / np.sqrt(variance + np.float32(0.25))
    found = (x * factor + (bias - mean * factor)).view(np.uint32)
    assert is_right(run.expected["output_tensor"], found, DataType.FLOAT32).all()
    low, high = ends(run, "output_tensor")
    assert (high - low < 4e-6).all()


@pytest.mark.parametrize("name", NAMES[2:])
def test_gradients_are_the_numerical_derivatives_of_the_forward_operator(name: str) -> None:
    """Of the sum of the outputs, times the incoming gradient, by each element of input, scale and bias."""
    is_training = "TRAINING" in name
    given = elements(of(name))
    x, g = (given[f"{key}_tensor"].astype(np.float64) for key in ("input", "input_gradient"))
    scale, bias, axes = given["scale_tensor"].astype(np.float64), np.zeros(CHANNELS), (0, 2, 3)
    mean, variance = (given[f"{key}_tensor"].astype(np.float64) for key in ("mean", "variance"))
    if is_training:
        mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)

    def total(x: Any, scale: Any, bias: Any) -> float:
        of = (x.mean(axes, keepdims=True), x.var(axes, keepdims=True)) if is_training else (mean, variance)
        return float((g * (scale * (x - of[0]) / np.sqrt(of[1] + 0.25) + bias)).sum())

    run = of(name, mean_tensor=mean, variance_tensor=variance, input_tensor=x, input_gradient_tensor=g)
    for place, key in enumerate(("output_gradient", "output_scale_gradient", "output_bias_gradient")):
        arguments, (low, high) = [x, scale, bias], ends(run, f"{key}_tensor")
        for c in slow.walk(arguments[place].shape):
            step = np.zeros(arguments[place].shape)
            step[c] = 1e-4
            up, down = (
                total(*(of + way * step if n == place else of for n, of in enumerate(arguments))) for way in (1, -1)
            )
            assert low[c] - 1e-5 <= (up - down) / 2e-4 <= high[c] + 1e-5
            assert high[c] - low[c] < 1e-4


def test_the_gradient_of_training_takes_the_inputs_own_mean_and_that_of_the_scale_what_is_given() -> None:
    name = "BATCH_NORMALIZATION_TRAINING_GRAD"
    one, other = (of(name, mean_tensor=np.full(CHANNELS, mean)) for mean in (0.0, 40.0))
    assert np.array_equal(ends(one, "output_gradient_tensor")[0], ends(other, "output_gradient_tensor")[0])
    assert (ends(one, "output_scale_gradient_tensor")[0] > ends(other, "output_scale_gradient_tensor")[1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_special(name: str) -> None:
    for number, key in product((math.inf, math.nan, 3e38, 1e-45, 0.0, -1.0), ("input", "variance", "scale")):
        for kind in (np.float32, np.float16):
            with np.errstate(over="ignore"):
                run = of(
                    name, kind, 0.0, **{f"{key}_tensor": np.where(np.arange(3).reshape(CHANNELS) == 1, number, 1.0)}
                )
            assert_conforms(TorchBackend("cpu"), run)


def test_spatial_has_a_rule_until_it_has_no_effect() -> None:
    def tensors(*sizes: tuple[int, ...]) -> Any:
        x, mean, variance, rest = (TensorDesc.of(DataType.FLOAT32, of) for of in sizes)
        return operator("BATCH_NORMALIZATION").desc(x, mean, variance, rest, rest, x, False, 0.5, None)

    image = (1, 3, 2, 4)
    for sizes, accepted, left_open in (
        ((SIZES, image, image, CHANNELS), Level.L1_0, False),
        ((SIZES, image, CHANNELS, CHANNELS), Level.L4_0, False),
        ((SIZES[1:], (3, 1, 1), (3, 1, 1), (3, 1, 1)), Level.L4_0, True),
    ):
        decisions = {level: decide(tensors(*sizes), level).outcome.name for level in Level}
        assert next(level for level, outcome in decisions.items() if outcome == "ACCEPT") == accepted
        assert (decisions[Level.L3_1] == "UNSPECIFIED") == left_open


def test_as_onnx_computes_it() -> None:
    """BatchNormalization has parameters by channel alone, no activation, and FLOAT32 on processors."""
    seen = 0
    for seed in range(12):
        run = of("BATCH_NORMALIZATION", input_tensor=np.random.default_rng(seed).normal(size=SIZES) * 4)
        given = elements(run)
        keys = ("scale_tensor", "bias_tensor", "mean_tensor", "variance_tensor")
        arrays = {"x": given["input_tensor"], **{key: given[key].ravel() for key in keys}}
        (found,) = computed("BatchNormalization", arrays, epsilon=0.25)
        right = is_right(run.expected["output_tensor"], found.view(np.uint32), DataType.FLOAT32)
        assert right.all()
        seen += right.size
    assert seen == 12 * math.prod(SIZES)
