"""ADAM_OPTIMIZER, held against the page's formula number by number, ONNX's evaluator and PyTorch's optimizer.

onnxruntime's build for processors has no kernel of Adam; the evaluator that comes with ONNX, in NumPy, has.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
import torch
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, tensor, with_values
from msgspec.structs import replace
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_node import elements

from dml_conformance.backends.reference import ReferenceBackend, expected_output
from dml_conformance.backends.reference.layout import bits
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.adam_optimizer import NAME
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, Reading, decide
from dml_conformance.strategies.values import output_in_place

SIZES = (1, 2, 3, 4)
INPUTS = ("input_parameters_tensor", "input_first_moment_tensor", "input_second_moment_tensor", "gradient_tensor")
OUTPUTS = ("output_parameters_tensor", "output_first_moment_tensor", "output_second_moment_tensor")
STEP = "training_step_tensor"
MEMBERS = {"learning_rate": 0.5, "beta1": 0.5, "beta2": 0.75, "epsilon": 0.125}
NOTHING: dict[str, Any] = {}


def described(kind: Any = np.float32, **changes: Any) -> Any:
    """A descriptor; changes are of members, and of tensors."""
    alike = TensorDesc.of(DataType[np.dtype(kind).name.upper()], SIZES)
    tensors = dict.fromkeys((*INPUTS, *OUTPUTS), alike) | {STEP: TensorDesc.of(DataType.UINT32, (1, 1, 1, 1))}
    return operator(NAME).desc(**{**tensors, **MEMBERS, **changes})


def of(step: int = 3, kind: Any = np.float32, arrays: dict[str, Any] = NOTHING, **members: Any) -> Run:
    """A case, with random elements where none are given."""
    drawn = dict(zip(INPUTS, np.random.default_rng(5).normal(0, 1, (4, *SIZES)), strict=True))
    drawn[INPUTS[2]] = drawn[INPUTS[2]] ** 2 + 0.1
    with np.errstate(over="ignore"):
        found = {key: np.broadcast_to(arrays.get(key, own), SIZES).astype(kind) for key, own in drawn.items()}
    return with_values(described(kind, **members), HIGHEST, **found, **{STEP: np.uint32(step)})


def ends(run: Run, key: str) -> tuple[Any, Any]:
    """The least and the greatest that is right."""
    within = run.expected[key].within
    assert within is not None
    kind = run.desc.input_parameters_tensor.data_type
    low, high = (numbers(part, kind).astype(float) for part in (within.low, within.high))
    return low, high


def may_be_nan(run: Run, key: str = OUTPUTS[0]) -> Any:
    within = run.expected[key].within
    assert within is not None
    return np.zeros(SIZES, bool) if within.nan is None else within.nan


def slow_step(desc: Any, x: float, m: float, v: float, g: float, t: int) -> tuple[float, float, float]:
    """The page's formula of one weight."""
    m = desc.beta1 * m + (1 - desc.beta1) * g
    v = desc.beta2 * v + (1 - desc.beta2) * g * g
    alpha = math.sqrt(1 - desc.beta2**t) / (1 - desc.beta1**t)
    return x - desc.learning_rate * alpha * m / (math.sqrt(v) + desc.epsilon), m, v


def test_what_is_expected_lies_around_the_slow_reference() -> None:
    seen = dict.fromkeys(OUTPUTS, 0)
    narrow = 0
    for run in small_runs(NAME, 200):
        arrays = elements(run)
        step = int(arrays.pop(STEP).item())
        if not step or not all((np.abs(of) < 1e3).all() for of in arrays.values()):
            continue
        bounds = {key: ends(run, key) for key in OUTPUTS}
        eps = float(np.finfo(arrays[INPUTS[0]].dtype).eps)
        for c in list(slow.walk(bounds[OUTPUTS[0]][0].shape))[:12]:
            x, m, v, g = (float(arrays[key][c]) for key in INPUTS)
            if run.desc.beta2 * v + (1 - run.desc.beta2) * g * g < 1e-3:
                continue
            for key, y in zip(OUTPUTS, slow_step(run.desc, x, m, v, g, step), strict=True):
                low, high = (end[c] for end in bounds[key])
                if abs(y) < 6e4:
                    assert low - eps * abs(y) - 1e-7 <= y <= high + eps * abs(y) + 1e-7, (key, run.desc, step)
                    seen[key] += 1
                    narrow += high - low < 4 * eps * (abs(y) + abs(x)) + 2e-3 * abs(y - x)
    assert min(seen.values()) > 200
    assert narrow > 0.9 * sum(seen.values())


@pytest.mark.parametrize("step", [0, 1, 2, 10, 1000, 2**31, 2**32 - 1])
@pytest.mark.parametrize("epsilon", [0.0, 1e-8, 0.125])
def test_onnx_takes_the_same_steps(step: int, epsilon: float) -> None:
    """Step 0 too, in which it corrects nothing."""
    run = of(step, epsilon=float(np.float32(epsilon)), beta1=float(np.float32(0.9)), beta2=float(np.float32(0.999)))
    given, desc = elements(run), run.desc
    node = helper.make_node(
        "Adam",
        ["r", "t", "x", "g", "v", "h"],
        ["x1", "v1", "h1"],
        domain="ai.onnx.preview.training",
        alpha=desc.beta1,
        beta=desc.beta2,
        epsilon=desc.epsilon,
        norm_coefficient=0.0,
        norm_coefficient_post=0.0,
    )
    x, m, v, g = (given[key].astype(np.float64) for key in INPUTS)
    feeds = {"r": np.float64(0.5), "t": np.int64(step), "x": x, "g": g, "v": m, "h": v}
    for key, found in zip(OUTPUTS, ReferenceEvaluator(node).run(None, feeds), strict=True):
        low, high = ends(run, key)
        found = found.astype(np.float32)
        assert ((low <= found) & (found <= high)).all()
    assert may_be_nan(run).all() == (step == 0)
    assert_conforms(TorchBackend("cpu"), run)


def test_pytorch_takes_the_same_steps_with_an_epsilon_that_is_corrected_too() -> None:
    """It adds Epsilon to the corrected root, which is as adding less of it, by the root of the correction, to ours."""
    arrays = {**elements(of()), INPUTS[1]: np.zeros(SIZES), INPUTS[2]: np.zeros(SIZES)}
    weights = torch.nn.Parameter(torch.tensor(arrays[INPUTS[0]], dtype=torch.float64))
    optimizer = torch.optim.Adam([weights], lr=0.5, betas=(0.5, 0.75), eps=0.125)
    for step in range(1, 6):
        arrays[INPUTS[3]] = np.random.default_rng(step).normal(0, 1, SIZES).astype(np.float32)
        run = of(step, arrays=arrays, epsilon=float(np.float32(0.125 * math.sqrt(1 - 0.75**step))))
        before = elements(run)
        with torch.no_grad():
            weights.copy_(torch.tensor(before[INPUTS[0]].astype(np.float64)))
        if step > 1:
            state = optimizer.state[weights]
            state["exp_avg"].copy_(torch.tensor(before[INPUTS[1]].astype(np.float64)))
            state["exp_avg_sq"].copy_(torch.tensor(before[INPUTS[2]].astype(np.float64)))
        weights.grad = torch.tensor(before[INPUTS[3]].astype(np.float64))
        optimizer.step()
        state = optimizer.state[weights]
        after = [weights.detach().numpy(), state["exp_avg"].numpy(), state["exp_avg_sq"].numpy()]
        for key, found in zip(OUTPUTS, after, strict=True):
            low, high = ends(run, key)
            unit = 2.0**-23 * (np.abs(found) + 1)
            assert ((low - unit <= found) & (found <= high + unit)).all(), (key, step)
        arrays = {**arrays, **dict(zip(INPUTS, after, strict=False))}


def test_step_0_is_a_nan_or_not_corrected() -> None:
    run = of(0)
    x, m, v = (elements(run)[key].astype(np.float64) for key in INPUTS[:3])
    g = elements(run)[INPUTS[3]].astype(np.float64)
    m, v = 0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g * g
    found = x - 0.5 * m / (np.sqrt(v) + 0.125)
    low, high = ends(run, OUTPUTS[0])
    assert may_be_nan(run).all()
    assert ((low <= found + 1e-7) & (found - 1e-7 <= high)).all()
    assert (high - low < 2e-6).all()
    assert not may_be_nan(run, OUTPUTS[1]).any()
    assert not may_be_nan(run, OUTPUTS[2]).any()


def test_what_a_correction_by_little_loses_is_right_and_no_more() -> None:
    """Of 1 - 0.999, in the first step, a unit of 0.999 is 6e-5; from 2^16 steps on nothing is corrected."""
    first, last = (of(step, beta2=float(np.float32(0.999)), beta1=0.0, epsilon=0.0) for step in (1, 2**16))
    for run, part in ((first, 2e-3), (last, 2e-6)):
        low, high = ends(run, OUTPUTS[0])
        x = elements(run)[INPUTS[0]]
        assert (high - low < part * np.abs(low - x) + 1e-6).all()
        assert (high > low).all()


def test_float16_moments_may_be_rounded_before_they_are_used() -> None:
    run = of(kind=np.float16)
    x, m, v, g = (elements(run)[key].astype(np.float64) for key in INPUTS)
    m, v = 0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g * g
    alpha = math.sqrt(1 - 0.75**3) / (1 - 0.5**3)
    for is_rounded in (False, True):
        used = [of.astype(np.float16).astype(np.float64) if is_rounded else of for of in (m, v)]
        found = (x - 0.5 * alpha * used[0] / (np.sqrt(used[1]) + 0.125)).astype(np.float16).view(np.uint16)
        assert is_right(run.expected[OUTPUTS[0]], found, DataType.FLOAT16).all()


def test_a_second_moment_below_0_has_no_root() -> None:
    run = of(arrays={INPUTS[2]: np.where(np.arange(24).reshape(SIZES) % 2, -9.0, 9.0), INPUTS[3]: 1.0})
    low, _ = ends(run, OUTPUTS[0])
    assert np.array_equal(may_be_nan(run), np.arange(24).reshape(SIZES) % 2 == 1)
    assert np.array_equal(may_be_nan(run), low == 1), "where no number is right"


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 3e38, 1e-45, 1e-40, 6e-8, 0.0, -0.0, -1.0])
def test_what_is_special(number: float, kind: Any) -> None:
    for key in INPUTS:
        for step, epsilon in ((1, 0.0), (2**32 - 1, 0.125), (0, 0.0)):
            assert_conforms(TorchBackend("cpu"), of(step, kind, arrays={key: number}, epsilon=epsilon))


@pytest.mark.parametrize("rates", [(0.0, 0.0), (1.0, 0.5), (0.5, 1.0), (1.0, 1.0), (1 - 2.0**-24, 1 - 2.0**-24)])
def test_decay_rates_at_their_ends(rates: tuple[float, float]) -> None:
    for step in (0, 1, 2**24 + 1, 2**32 - 1):
        assert_conforms(TorchBackend("cpu"), of(step, beta1=rates[0], beta2=rates[1]))


def test_decisions() -> None:
    one = (1, 1, 1, 1)
    for changes, outcome, observed in (
        ({}, Outcome.ACCEPT, Outcome.ACCEPT),
        ({STEP: TensorDesc.of(DataType.FLOAT32, one)}, Outcome.UNSPECIFIED, Outcome.REJECT),
        ({STEP: TensorDesc.of(DataType.FLOAT16, one)}, Outcome.UNSPECIFIED, Outcome.REJECT),
        ({STEP: TensorDesc.of(DataType.INT32, one)}, Outcome.REJECT, Outcome.REJECT),
        ({STEP: TensorDesc.of(DataType.UINT32, (1, 1, 1, 2))}, Outcome.REJECT, Outcome.REJECT),
        ({STEP: TensorDesc.of(DataType.UINT32, SIZES)}, Outcome.REJECT, Outcome.REJECT),
        ({"beta1": 1.5}, Outcome.UNSPECIFIED, Outcome.ACCEPT),
        ({"beta2": -0.5}, Outcome.UNSPECIFIED, Outcome.ACCEPT),
        ({"beta2": math.nan}, Outcome.UNSPECIFIED, Outcome.ACCEPT),
        ({"beta1": 0.0, "beta2": 1.0, "learning_rate": -3.0, "epsilon": -1.0}, Outcome.ACCEPT, Outcome.ACCEPT),
        ({"gradient_tensor": TensorDesc.of(DataType.FLOAT32, one)}, Outcome.REJECT, Outcome.REJECT),
        ({OUTPUTS[2]: TensorDesc.of(DataType.FLOAT16, SIZES)}, Outcome.REJECT, Outcome.REJECT),
    ):
        desc = described(**changes)
        assert decide(desc, HIGHEST).outcome is outcome, changes
        assert decide(desc, HIGHEST, Reading.OBSERVED).outcome is observed, changes


class OneByOne(ReferenceBackend):
    """Computes each output, in an order, from what the inputs' memory holds when its turn comes."""

    def __init__(self, *order: str) -> None:
        super().__init__()
        self.order = order

    def execute(self, desc: Any, level: Any, inputs: Any, outputs: Any) -> None:
        for key in self.order:
            bits(outputs[key], tensor(desc, key))[...] = expected_output(desc, inputs)[key].values


def verdict_in_place(backend: Any, key: str) -> Verdict:
    data = {each: Recipe("positive", seed) for seed, each in enumerate(INPUTS)} | {
        STEP: Recipe("explicit", values=(3,))
    }
    data[key] = replace(data[key], in_place=True)
    return Judge(backend, "").judge(Case.of(described(), HIGHEST, data, rule="EXECUTION.in-place")).verdict


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        (OUTPUTS, {INPUTS[3]}),
        (OUTPUTS[::-1], {INPUTS[1], INPUTS[2]}),
    ],
)
def test_an_output_in_the_place_of_an_input_is_what_it_is_elsewhere(order: tuple[str, ...], wrong: set[str]) -> None:
    """Each in that of its own, and OutputParametersTensor in that of the gradients too."""
    found = {key: output_in_place(described(), key).key for key in INPUTS}
    assert found == {**dict(zip(INPUTS, OUTPUTS, strict=False)), INPUTS[3]: OUTPUTS[0]}
    assert {key for key in INPUTS if verdict_in_place(OneByOne(*order), key) is Verdict.FAIL} == wrong
    assert {verdict_in_place(ReferenceBackend(), key) for key in INPUTS} == {Verdict.PASS}
    assert verdict_in_place(ReferenceBackend(), STEP) is Verdict.ERROR, "of which the page says so"
