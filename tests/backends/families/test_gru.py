"""GRU, with the equations element by element in plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.gru import GRU
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders._fused import activation

KINDS = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16, DataType.UINT32: np.uint32}
FUNCTIONS: dict[str, Any] = {
    "ACTIVATION_SIGMOID": lambda of, x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "ACTIVATION_TANH": lambda of, x: math.tanh(x),
    "ACTIVATION_LINEAR": lambda of, x: of.alpha * x + of.beta,
    "ACTIVATION_HARD_SIGMOID": lambda of, x: max(0.0, min(of.alpha * x + of.beta, 1.0)),
    "ACTIVATION_RELU": lambda of, x: max(x, 0.0),
}


def element(run: Run, key: str, *place: int) -> float:
    if getattr(run.desc, key) is None:
        return 0.0
    memory = run.memory(key)
    return float(np.frombuffer(memory.element(place), KINDS[memory.tensor.data_type])[0])


def gate(run: Run, n: int, row: int, step: tuple[int, int], state: list[float], with_bias: bool = True) -> float:
    """W x + R h and both biases, of a row of the weights."""
    t, b = step
    total = [
        element(run, "input_tensor", 0, t, b, i) * element(run, "weight_tensor", 0, n, row, i)
        for i in range(run.desc.input_tensor.sizes[3])
    ]
    total += of_state(run, n, row, state) if with_bias else []
    return math.fsum([*total, element(run, "bias_tensor", 0, 0, n, row)])


def of_state(run: Run, n: int, row: int, state: list[float]) -> list[float]:
    terms = [element(run, "recurrence_tensor", 0, n, row, k) * h for k, h in enumerate(state)]
    return [*terms, element(run, "bias_tensor", 0, 0, n, 3 * len(state) + row)]


def slow_gru(run: Run, n: int, b: int) -> list[tuple[int, list[float]]]:
    """The states of one sequence in one direction, each with its time, in the order in which they come about."""
    desc, size = run.desc, run.desc.recurrence_tensor.sizes[3]
    f, g = ((lambda x, of=of: FUNCTIONS[of.operator](of, x)) for of in desc.activation_descs[2 * n : 2 * n + 2])
    steps = desc.input_tensor.sizes[1]
    length = steps if desc.sequence_lengths_tensor is None else int(element(run, "sequence_lengths_tensor", 0, 0, 0, b))
    h = [element(run, "hidden_init_tensor", 0, n, b, k) for k in range(size)]
    found = []
    for t in reversed(range(length)) if desc.direction == 1 or n else range(length):
        z = [f(gate(run, n, k, (t, b), h)) for k in range(size)]
        r = [f(gate(run, n, size + k, (t, b), h)) for k in range(size)]
        new = []
        for k in range(size):
            row = 2 * size + k
            own = gate(run, n, row, (t, b), h, with_bias=False)
            if desc.linear_before_reset:
                inner = r[k] * math.fsum(of_state(run, n, row, h))
            else:
                inner = math.fsum(of_state(run, n, row, [x * y for x, y in zip(r, h, strict=True)]))
            new.append((1 - z[k]) * g(own + inner) + z[k] * h[k])
        h = new
        found.append((t, h))
    return found


def ends(run: Run, key: str) -> tuple[Any, Any]:
    within, data_type = run.expected[key].within, run.desc.input_tensor.data_type
    assert within is not None
    return numbers(within.low, data_type).astype(float), numbers(within.high, data_type).astype(float)


def test_states_lie_around_the_equations() -> None:
    seen = exact = narrow = 0
    for run in small_runs("GRU", 150):
        desc = run.desc
        patterns = {recipe.pattern for recipe in (run.case.data or {}).values()}
        if "special" in patterns or any(one.operator not in FUNCTIONS for one in desc.activation_descs):
            continue
        expected = {key: ends(run, key) for key in run.expected}
        for n, b in np.ndindex(desc.weight_tensor.sizes[1], desc.input_tensor.sizes[2]):
            states = slow_gru(run, n, b)
            places = [("output_sequence_tensor", t, h) for t, h in states]
            places += [("output_single_tensor", 0, states[-1][1])] if states else []
            for key, t, h in places:
                if key not in expected or not max(map(abs, h)) < 1e4:
                    continue
                for k in range(len(h)):
                    low, high = (float(end[t, n, b, k]) for end in expected[key])
                    unit = float(np.spacing(KINDS[desc.input_tensor.data_type](abs(h[k])))) + 2.0**-120
                    assert low - unit <= h[k] <= high + unit, (desc, key, t, n, b, k)
                    seen += 1
                    exact += low == high != 0
                    narrow += high - low <= 64 * unit
    assert seen > 1000
    assert exact > 100
    assert narrow > seen / 2


def of(kind: Any = np.float32, steps: int = 2, batch: int = 1, direction: int = 0, **members: Any) -> Run:
    """Of one element and a state of one: gates of 1/2, no biases, and a state that is twice the element."""
    functions = tuple(activation(f"ACTIVATION_{name}") for name in ("SIGMOID", "IDENTITY"))
    arrays = {
        "input_tensor": np.arange(1, steps * batch + 1).reshape(1, steps, batch, 1).astype(kind),
        "weight_tensor": np.array([0, 0, 2], kind).reshape(1, 1, 3, 1),
        "recurrence_tensor": np.array([0, 0, 1], kind).reshape(1, 1, 3, 1),
        **{key: members.pop(key) for key in list(members) if isinstance(members[key], np.ndarray)},
    }
    data_type = DataType[np.dtype(kind).name.upper()]
    tensors: dict[str, Any] = {
        key: TensorDesc.of(DataType[array.dtype.name.upper()], array.shape) for key, array in arrays.items()
    }
    given: dict[str, Any] = {field.attribute: None for field in GRU.fields if field.is_tensor} | tensors
    given |= {
        "output_sequence_tensor": TensorDesc.of(data_type, (steps, 1, batch, 1)),
        "output_single_tensor": TensorDesc.of(data_type, (1, 1, batch, 1)),
    }
    rest = {"activation_descs": functions, "direction": direction, "linear_before_reset": False}
    return with_values(GRU.desc(**given | rest | members), HIGHEST, **arrays)


def right(run: Run, key: str, place: int, value: float) -> bool:
    expected, data_type = run.expected[key], run.desc.input_tensor.data_type
    assert expected.within is not None
    bits = np.full(expected.values.shape, value, KINDS[data_type]).view(f"u{data_type.size}")
    return bool(expected.within.holds(bits, data_type).reshape(-1)[place])


@pytest.mark.parametrize("direction", [0, 1])
def test_each_sequence_ends_at_its_own_end(direction: int) -> None:
    """Its other steps are no part of it, in either direction; what stands behind the end is open."""
    lengths = np.array([2, 1], np.uint32).reshape(1, 1, 1, 2)
    run = of(batch=2, direction=direction, sequence_lengths_tensor=lengths)
    # Of each step half of 2 x and of half the state, and half of the state: x + 3/4 h.
    first, second = (1.0, 3.75) if direction == 0 else (3.0, 3.25)
    assert right(run, "output_single_tensor", 0, second)
    assert right(run, "output_single_tensor", 1, 2.0)
    assert not right(run, "output_single_tensor", 1, 5.5)
    assert right(run, "output_sequence_tensor", 0 if direction == 0 else 2, first)
    assert right(run, "output_sequence_tensor", 1, 2.0)
    assert right(run, "output_sequence_tensor", 3, math.nan)
    assert_conforms(TorchBackend("cpu"), run)


def test_reset_is_before_the_product_or_after_the_bias() -> None:
    bias = np.array([0, 0, 0, 0, 0, 4], np.float32).reshape(1, 1, 1, 6)
    for is_linear, value in ((False, 3.0), (True, 2.0)):  # half of 2 + 4, and half of 2 + 4 / 2
        run = of(steps=1, bias_tensor=bias, linear_before_reset=is_linear)
        assert right(run, "output_single_tensor", 0, value)
        assert not right(run, "output_single_tensor", 0, 5.0 - value)
        assert_conforms(TorchBackend("cpu"), run)


def test_states_of_float16_are_rounded_between_steps_or_not() -> None:
    x = np.array([1.0, 2.0**-11], np.float16).reshape(1, 2, 1, 1)
    start = np.array([2.0**-10], np.float16).reshape(1, 1, 1, 1)
    run = of(np.float16, input_tensor=x, hidden_init_tensor=start)
    # 1 + 0.75 * 2^-10 goes on as such, or as 1 + 2^-10.
    exact = 0.75 * (1 + 0.75 * 2.0**-10) + 2.0**-11
    for value in (exact, exact + 0.1875 * 2.0**-10):
        assert right(run, "output_single_tensor", 0, value)
    assert not right(run, "output_single_tensor", 0, exact + 4 * 2.0**-10)


def test_there_is_an_output() -> None:
    desc = of(output_sequence_tensor=None, output_single_tensor=None).desc
    assert decide(desc, HIGHEST).rules == ("GRU.an-output",)
    assert decide(of(output_sequence_tensor=None).desc, HIGHEST).outcome is Outcome.ACCEPT
