"""RNN, LSTM and GRU, with the equations element by element in plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from onnx_node import computed, elements

from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.recurrent import UNITS
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders._fused import activation

NAMES = ("RNN", "LSTM", "GRU")
KINDS = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16, DataType.UINT32: np.uint32}
FUNCTIONS: dict[str, Any] = {
    "ACTIVATION_SIGMOID": lambda of, x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "ACTIVATION_TANH": lambda of, x: math.tanh(x),
    "ACTIVATION_LINEAR": lambda of, x: of.alpha * x + of.beta,
    "ACTIVATION_HARD_SIGMOID": lambda of, x: max(0.0, min(of.alpha * x + of.beta, 1.0)),
    "ACTIVATION_RELU": lambda of, x: max(x, 0.0),
}
SINGLE = ("output_single_tensor", "output_cell_single_tensor")
Step = tuple[int, int]  # time and sequence
States = tuple[list[float], ...]


def element(run: Run, key: str, *place: int) -> float:
    if getattr(run.desc, key) is None:
        return 0.0
    memory = run.memory(key)
    return float(np.frombuffer(memory.element(place), KINDS[memory.tensor.data_type])[0])


def gate(run: Run, n: int, row: int, step: Step, state: list[float], with_state: bool = True) -> float:
    """W x + R h and both biases, of a row of the weights."""
    t, b = step
    total = [
        element(run, "input_tensor", 0, t, b, i) * element(run, "weight_tensor", 0, n, row, i)
        for i in range(run.desc.input_tensor.sizes[3])
    ]
    total += of_state(run, n, row, state) if with_state else []
    return math.fsum([*total, element(run, "bias_tensor", 0, 0, n, row)])


def of_state(run: Run, n: int, row: int, state: list[float]) -> list[float]:
    terms = [element(run, "recurrence_tensor", 0, n, row, k) * h for k, h in enumerate(state)]
    gates = len(UNITS[run.desc.operator].gates)
    return [*terms, element(run, "bias_tensor", 0, 0, n, gates * len(state) + row)]


def rnn(run: Run, n: int, step: Step, states: States, functions: list[Any], new: bool) -> States:
    (h,), (f,) = states, functions
    return ([f(gate(run, n, k, step, h)) for k in range(len(h))],)


def gru(run: Run, n: int, step: Step, states: States, functions: list[Any], new: bool) -> States:
    (h,), (f, g), size = states, functions, len(states[0])
    z, r = ([f(gate(run, n, row * size + k, step, h)) for k in range(size)] for row in (0, 1))
    found = []
    for k in range(size):
        row = 2 * size + k
        own = gate(run, n, row, step, h, with_state=False)
        if run.desc.linear_before_reset:
            inner = r[k] * math.fsum(of_state(run, n, row, h))
        else:
            inner = math.fsum(of_state(run, n, row, [x * y for x, y in zip(r, h, strict=True)]))
        found.append((1 - z[k]) * g(own + inner) + z[k] * h[k])
    return (found,)


def lstm(run: Run, n: int, step: Step, states: States, functions: list[Any], new: bool) -> States:
    """`new` is whether the output gate sees the new cell state; what h is taken of is not clipped."""
    (h, c), (f, g, show), desc, size = states, functions, run.desc, len(states[0])

    def clipped(x: float) -> float:
        return max(-desc.clip_threshold, min(x, desc.clip_threshold)) if desc.use_clip_threshold else x

    def of_gate(row: int, k: int, seen: float) -> float:
        peephole = element(run, "peephole_tensor", 0, 0, n, row * size + k) * seen if row < 3 else 0.0
        return clipped(gate(run, n, row * size + k, step, h) + peephole)

    cells, shown = [], []
    for k in range(size):
        i = f(of_gate(0, k, c[k]))
        forget = 1 - i if desc.couple_input_forget else f(of_gate(2, k, c[k]))
        cells.append(forget * c[k] + i * g(of_gate(3, k, 0.0)))
        shown.append(f(of_gate(1, k, cells[k] if new else c[k])) * show(cells[k]))
    return shown, cells


STEPS: dict[str, Callable[..., States]] = {"RNN": rnn, "LSTM": lstm, "GRU": gru}


def slow_states(run: Run, n: int, b: int, new: bool = False) -> list[tuple[int, States]]:
    """The states of one sequence in one direction, each with its time, in the order in which they come about."""
    desc, size = run.desc, run.desc.recurrence_tensor.sizes[3]
    count = len(UNITS[desc.operator].functions)
    functions = [lambda x, of=of: FUNCTIONS[of.operator](of, x) for of in desc.activation_descs[count * n :][:count]]
    steps = desc.input_tensor.sizes[1]
    length = steps if desc.sequence_lengths_tensor is None else int(element(run, "sequence_lengths_tensor", 0, 0, 0, b))
    initial = ("hidden_init_tensor", "cell_mem_init_tensor")[: len(found_keys(run)) - 1]
    states: States = tuple([element(run, key, 0, n, b, k) for k in range(size)] for key in initial)
    found = []
    for t in reversed(range(length)) if desc.direction == 1 or n else range(length):
        states = STEPS[desc.operator](run, n, (t, b), states, functions, new)
        found.append((t, states))
    return found


def found_keys(run: Run) -> list[str]:
    return [key for key in ("output_sequence_tensor", *SINGLE) if hasattr(run.desc, key)]


def ends(run: Run, key: str) -> tuple[Any, Any]:
    within, data_type = run.expected[key].within, run.desc.input_tensor.data_type
    assert within is not None
    return numbers(within.low, data_type).astype(float), numbers(within.high, data_type).astype(float)


@pytest.mark.parametrize(("operator", "new"), [("RNN", False), ("LSTM", False), ("LSTM", True), ("GRU", False)])
def test_states_lie_around_the_equations(operator: str, new: bool) -> None:
    seen = exact = narrow = 0
    for run in small_runs(operator, 100):
        desc = run.desc
        patterns = {recipe.pattern for recipe in (run.case.data or {}).values()}
        if "special" in patterns or any(one.operator not in FUNCTIONS for one in desc.activation_descs):
            continue
        expected = {key: ends(run, key) for key in run.expected}
        for n, b in np.ndindex(desc.weight_tensor.sizes[1], desc.input_tensor.sizes[2]):
            states = slow_states(run, n, b, new)
            places = [("output_sequence_tensor", t, of[0]) for t, of in states]
            places += [(key, 0, of) for key, of in zip(SINGLE, states[-1][1], strict=False)] if states else []
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
    assert seen > 500
    assert exact > 20  # what FLOAT16 rounds on the way is known less exactly
    assert narrow > seen / 2 or operator == "LSTM"  # what a peephole sees makes them wider


def of(
    name: str = "GRU", kind: Any = np.float32, steps: int = 2, batch: int = 1, direction: int = 0, **members: Any
) -> Run:
    """Of one element and a state of one: gates of 1/2, no biases, and a state, of an LSTM new in the cell, that is
    twice the element with what was there."""
    spec, unit = operators()[name], UNITS[name]
    functions = {"RNN": ("IDENTITY",), "GRU": ("SIGMOID", "IDENTITY"), "LSTM": ("SIGMOID", "IDENTITY", "IDENTITY")}
    last = (*(0,) * (len(unit.gates) - 1), 2)
    arrays = {
        "input_tensor": np.arange(1, steps * batch + 1).reshape(1, steps, batch, 1).astype(kind),
        "weight_tensor": np.array(last, kind).reshape(1, 1, -1, 1),
        "recurrence_tensor": (np.array(last, kind) / 2).astype(kind).reshape(1, 1, -1, 1),
        **{key: members.pop(key) for key in list(members) if isinstance(members[key], np.ndarray)},
    }
    data_type = DataType[np.dtype(kind).name.upper()]
    tensors: dict[str, Any] = {
        key: TensorDesc.of(DataType[array.dtype.name.upper()], array.shape) for key, array in arrays.items()
    }
    given: dict[str, Any] = {field.attribute: None for field in spec.fields if field.is_tensor} | tensors
    for key in ("output_sequence_tensor", *SINGLE):
        if key in given:
            first = steps if "sequence" in key else 1
            given[key] = TensorDesc.of(data_type, (first, 1, batch, 1))
    rest = {
        "activation_descs": tuple(activation(f"ACTIVATION_{one}") for one in functions[name]),
        "direction": direction,
        "linear_before_reset": False,
        "clip_threshold": 0.0,
        "use_clip_threshold": False,
        "couple_input_forget": False,
    }
    named = {field.attribute for field in spec.fields}
    return with_values(
        spec.desc(**given | {key: value for key, value in rest.items() if key in named} | members), HIGHEST, **arrays
    )


def right(run: Run, key: str, place: int, value: float) -> bool:
    expected, data_type = run.expected[key], run.desc.input_tensor.data_type
    assert expected.within is not None
    bits = np.full(expected.values.shape, value, KINDS[data_type]).view(f"u{data_type.size}")
    return bool(expected.within.holds(bits, data_type).reshape(-1)[place])


# Of a sequence of 2 x, its states: of GRU half of 2 x + h / 2 and half of h; of LSTM o is half of the cell state, which
# is half of itself and half of 2 x + h.
STATES: dict[str, Callable[..., tuple[float, ...]]] = {
    "RNN": lambda x, h: (2 * x + h,),
    "GRU": lambda x, h: (x + 0.75 * h,),
    "LSTM": lambda x, h, c: (0.5 * (0.5 * c + 0.5 * (2 * x + h)), 0.5 * c + 0.5 * (2 * x + h)),
}


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_each_sequence_ends_at_its_own_end(name: str, direction: int) -> None:
    """Its other steps are no part of it, in either direction; what stands behind the end is open."""
    lengths = np.array([2, 1], np.uint32).reshape(1, 1, 1, 2)
    run = of(name, batch=2, direction=direction, sequence_lengths_tensor=lengths)
    step, none = STATES[name], (0.0,) * (len(found_keys(run)) - 1)
    elements_ = (1.0, 3.0) if direction == 0 else (3.0, 1.0)
    first = step(elements_[0], *none)
    second, alone = step(elements_[1], *first), step(2.0, *none)
    for key, whole, short in zip(SINGLE, second, alone, strict=False):
        assert right(run, key, 0, whole)
        assert right(run, key, 1, short)
        assert not right(run, key, 1, whole)
    assert right(run, "output_sequence_tensor", 0 if direction == 0 else 2, first[0])
    assert right(run, "output_sequence_tensor", 1, alone[0])
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
    run = of("GRU", np.float16, input_tensor=x, hidden_init_tensor=start)
    # 1 + 0.75 * 2^-10 goes on as such, or as 1 + 2^-10.
    exact = 0.75 * (1 + 0.75 * 2.0**-10) + 2.0**-11
    for value in (exact, exact + 0.1875 * 2.0**-10):
        assert right(run, "output_single_tensor", 0, value)
    assert not right(run, "output_single_tensor", 0, exact + 4 * 2.0**-10)


def test_what_float16_gates_are_computed_of_is_rounded_unless_that_is_to_be_precise() -> None:
    x = 1.0 + 3 * 2.0**-10
    run = of(
        "GRU",
        np.float16,
        input_tensor=np.array([x], np.float16).reshape(1, 1, 1, 1),
        weight_tensor=np.array([0, 0, x], np.float16).reshape(1, 1, 3, 1),
        bias_tensor=np.array([0, 0, -1, 0, 0, 0], np.float16).reshape(1, 1, 1, 6),
        steps=1,
    )
    for profile, is_right in ((DIRECTML, True), (PRECISE, False)):  # half of x * x - 1
        within = expected_output(run.desc, run.bindings, profile)["output_single_tensor"].within
        assert within is not None
        low, high = (float(numbers(end, DataType.FLOAT16).item()) for end in (within.low, within.high))
        assert low <= (x * x - 1) / 2 <= high + 2.0**-19
        assert (low <= 3 * 2.0**-10 <= high) is is_right


def test_without_a_state_before_infinite_weights_of_it_may_count_for_nothing() -> None:
    shrink = activation("ACTIVATION_SHRINK", bias=0.5, threshold=0.0)
    weights = np.array([0, 0, math.inf], np.float32).reshape(1, 1, 3, 1)
    gates = activation("ACTIVATION_LINEAR", alpha=0.0, beta=0.0)
    run = of(recurrence_tensor=weights, steps=1, activation_descs=(gates, shrink), linear_before_reset=True)
    for value in (0.0, 1.5):  # what is left of a NaN, or of 2
        assert right(run, "output_single_tensor", 0, value)


def stepped(peephole: float | None = None, **members: Any) -> Run:
    """One step of an LSTM from the cell state 2 with gates of 0 or 1, all 1 but for their peepholes: to 2 + 3."""
    step = activation("ACTIVATION_HARD_SIGMOID", alpha=1.0, beta=0.0)
    identity = activation("ACTIVATION_IDENTITY")
    more = {} if peephole is None else {"peephole_tensor": np.array([0, peephole, 0], np.float32).reshape(1, 1, 1, 3)}
    return of(
        "LSTM",
        steps=1,
        weight_tensor=np.array([1, 1, 1, 3], np.float32).reshape(1, 1, 4, 1),
        cell_mem_init_tensor=np.array([2], np.float32).reshape(1, 1, 1, 1),
        activation_descs=(step, identity, identity),
        **more,
        **members,
    )


def test_the_output_gate_sees_the_cell_state_before_or_after() -> None:
    run = stepped(peephole=-0.25)  # 1 - 2 / 4, or 1 - 5 / 4, times 5
    assert right(run, "output_single_tensor", 0, 2.5)
    assert right(run, "output_single_tensor", 0, 0.0)
    assert not right(run, "output_single_tensor", 0, 5.0)
    assert right(run, "output_cell_single_tensor", 0, 5.0)
    assert not right(run, "output_cell_single_tensor", 0, 4.0)
    assert right(stepped(peephole=0.0), "output_single_tensor", 0, 5.0)
    assert_conforms(TorchBackend("cpu"), run)


def test_inputs_of_gates_are_clipped_and_that_of_h_or_not() -> None:
    run = stepped(use_clip_threshold=True, clip_threshold=1.5)  # 2 + 1.5, shown as such or as 1.5
    assert right(run, "output_cell_single_tensor", 0, 3.5)
    assert not right(run, "output_cell_single_tensor", 0, 5.0)
    assert right(run, "output_single_tensor", 0, 3.5)
    assert right(run, "output_single_tensor", 0, 1.5)
    assert not right(run, "output_single_tensor", 0, 5.0)
    for threshold in (-1.0, math.nan):
        assert right(stepped(use_clip_threshold=True, clip_threshold=threshold), "output_cell_single_tensor", 0, 17.0)


def test_coupled_gates_forget_what_is_not_let_in() -> None:
    run = stepped(couple_input_forget=True)
    assert right(run, "output_cell_single_tensor", 0, 3.0)
    assert not right(run, "output_cell_single_tensor", 0, 5.0)
    assert_conforms(TorchBackend("cpu"), run)


@pytest.mark.parametrize("name", NAMES)
def test_there_is_an_output(name: str) -> None:
    """That of LSTM's cell state is not enough."""
    desc = of(name, output_sequence_tensor=None, output_single_tensor=None).desc
    assert decide(desc, HIGHEST).rules == (f"{name}.an-output",)
    assert decide(of(name, output_sequence_tensor=None).desc, HIGHEST).outcome is Outcome.ACCEPT
    assert decide(of(name, output_single_tensor=None).desc, HIGHEST).outcome is Outcome.ACCEPT


ONNX_NAMES = {"SIGMOID": "Sigmoid", "TANH": "Tanh", "RELU": "Relu"}
ONNX_DIRECTIONS = ("forward", "reverse", "bidirectional")


@pytest.mark.parametrize("name", NAMES)
def test_onnx_computes_what_is_right(name: str) -> None:
    """ONNX's kernels take FLOAT32 alone, and their sigmoid is right to a part of 1, not of small results. Of its
    activations those are asked for that have no attributes."""
    seen = 0
    for run in small_runs(name, 300):
        desc = run.desc
        kinds = [one.operator.removeprefix("ACTIVATION_") for one in desc.activation_descs]
        clips = getattr(desc, "use_clip_threshold", False)
        if desc.input_tensor.data_type is not DataType.FLOAT32 or not set(kinds) <= ONNX_NAMES.keys():
            continue
        if "special" in {recipe.pattern for recipe in (run.case.data or {}).values()}:
            continue
        found = onnx_outputs(name, run, kinds, desc.clip_threshold if clips else None)
        for key in run.expected:
            low, high = ends(run, key)
            values = np.asarray(found[key], float).reshape(low.shape)
            assert np.all((values >= low - 1e-7) & (values <= high + 1e-7)), (desc, key)
            seen += 1
    assert seen > 10


def onnx_outputs(name: str, run: Run, kinds: list[str], clip: float | None) -> dict[str, Any]:
    """ONNX's outputs; its Y has the sizes {seq_length, num_directions, batch_size, hidden_size}, as here."""
    given, desc = elements(run), run.desc
    lengths = given.get("sequence_lengths_tensor")
    arrays = {
        "X": given["input_tensor"][0],
        "W": given["weight_tensor"][0],
        "R": given["recurrence_tensor"][0],
        "B": given["bias_tensor"][0, 0] if "bias_tensor" in given else None,
        "lengths": None if lengths is None else lengths.reshape(-1).astype(np.int32),
        "initial_h": given["hidden_init_tensor"][0] if "hidden_init_tensor" in given else None,
    }
    more: dict[str, Any] = {}
    if name == "LSTM":
        arrays["initial_c"] = given["cell_mem_init_tensor"][0] if "cell_mem_init_tensor" in given else None
        arrays["P"] = given["peephole_tensor"][0, 0] if "peephole_tensor" in given else None
        more = {"input_forget": int(desc.couple_input_forget)}
    elif name == "GRU":
        more = {"linear_before_reset": int(desc.linear_before_reset)}
    keys = found_keys(run)
    outputs = computed(
        name,
        arrays,
        outputs=(np.float32,) * len(keys),
        hidden_size=desc.recurrence_tensor.sizes[3],
        direction=ONNX_DIRECTIONS[desc.direction],
        activations=[ONNX_NAMES[kind] for kind in kinds],
        clip=clip,
        **more,
    )
    return dict(zip(keys, outputs, strict=True))
