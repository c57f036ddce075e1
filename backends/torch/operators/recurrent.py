"""DML_OPERATOR_RNN, LSTM and GRU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, at_once, check_sizes
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import Recurrent

_DIRECTION = enumeration("DML_RECURRENT_NETWORK_DIRECTION")
_FLOATS = ("input_tensor", "weight_tensor", "recurrence_tensor", "bias_tensor", "hidden_init_tensor")
_OUTPUTS = ("output_sequence_tensor", "output_single_tensor")
_CELLS = ("cell_mem_init_tensor", "peephole_tensor")
_CELL_OUTPUT = "output_cell_single_tensor"
# Along which dimension sequences stand beside each other.
_BATCH = {"input_tensor": 2, "hidden_init_tensor": 2, "cell_mem_init_tensor": 2, "sequence_lengths_tensor": 3}
MOST_AT_ONCE = 2**20


class _Direction(NamedTuple):
    """One direction in FLOAT32: what the input comes to at every step with its bias, the recurrence and its bias, the
    peepholes by gate, and the activations."""

    own: Tensor
    recurrence: Tensor
    bias: Tensor
    peepholes: Tensor | None
    functions: Any
    desc: Recurrent


_States = tuple[Tensor, ...]
_Step = Callable[[_Direction, Tensor, _States], _States]


def _rnn(of: _Direction, own: Tensor, states: _States) -> _States:
    """`H = f(X W + H R + biases)`."""
    return (activated(of.functions[0], own + torch.matmul(states[0], of.recurrence) + of.bias),)


def _lstm(of: _Direction, own: Tensor, states: _States) -> _States:
    """`C = f C + i c`, `H = o h(C)`; peepholes see the state before, as the page's equations have it."""
    assert of.desc.operator == "LSTM"
    (f, g, h), (hidden, cell) = of.functions, states
    i, o, forget, new = (own + torch.matmul(hidden, of.recurrence) + of.bias).chunk(4, -1)
    if of.peepholes is not None:
        seen = of.peepholes.reshape(3, 1, -1) * cell
        i, o, forget = i + seen[0], o + seen[1], forget + seen[2]
    if of.desc.use_clip_threshold:
        threshold = of.desc.clip_threshold
        i, o, forget, new = (gate.clamp(-threshold, threshold) for gate in (i, o, forget, new))
    i = activated(f, i)
    forget = 1 - i if of.desc.couple_input_forget else activated(f, forget)
    cell = forget * cell + i * activated(g, new)
    return activated(f, o) * activated(h, cell), cell


def _gru(of: _Direction, own: Tensor, states: _States) -> _States:
    """`H = (1 - z) h + z H`, with the reset before the product or after it."""
    assert of.desc.operator == "GRU"
    (f, g), (h,) = of.functions, states
    size = h.shape[-1]
    gates, hidden = of.recurrence[:, : 2 * size], of.recurrence[:, 2 * size :]
    z, r = activated(f, own[:, : 2 * size] + torch.matmul(h, gates) + of.bias[: 2 * size]).chunk(2, -1)
    if of.desc.linear_before_reset:
        inner = r * (torch.matmul(h, hidden) + of.bias[2 * size :])
    else:
        inner = torch.matmul(r * h, hidden) + of.bias[2 * size :]
    return ((1 - z) * activated(g, own[:, 2 * size :] + inner) + z * h,)


class _Unit(NamedTuple):
    """Gates, activations of a direction and initial states of an operator, and its step."""

    gates: int
    functions: int
    initial: tuple[str, ...]
    step: _Step


_UNITS = {
    "RNN": _Unit(1, 1, ("hidden_init_tensor",), _rnn),
    "LSTM": _Unit(4, 3, ("hidden_init_tensor", "cell_mem_init_tensor"), _lstm),
    "GRU": _Unit(3, 2, ("hidden_init_tensor",), _gru),
}


def recurrent(desc: Recurrent, tensors: Tensors) -> Tensors:
    """One direction after the other, one step of many sequences after the other, in FLOAT32."""
    source, unit = tensors["input_tensor"], _UNITS[desc.operator]
    count = 2 if desc.direction == _DIRECTION.BIDIRECTIONAL else 1
    steps, size = source.shape[1], tensors["recurrence_tensor"].shape[3]
    _check(desc, tensors, count, size)
    if source.is_meta:
        states = source.new_empty((steps, count, source.shape[2], size))
        found = (states, *(states[:1] for _ in unit.initial))
    else:
        blocks = [_states(desc, some, count) for some in _blocks(tensors, max(size * unit.gates, source.shape[3]))]
        found = tuple(torch.cat(parts, 2) for parts in zip(*blocks, strict=True))
    outputs = dict(zip((*_OUTPUTS, _CELL_OUTPUT), found, strict=False))
    return {key: output for key, output in outputs.items() if getattr(desc, key) is not None}


def _check(desc: Recurrent, tensors: Tensors, count: int, size: int) -> None:
    _, _, batch, width = tensors["input_tensor"].shape
    rows = _UNITS[desc.operator].gates * size
    sizes = {
        "input_tensor": (1, *tensors["input_tensor"].shape[1:]),
        "weight_tensor": (1, count, rows, width),
        "recurrence_tensor": (1, count, rows, size),
        "bias_tensor": (1, 1, count, 2 * rows),
        "hidden_init_tensor": (1, count, batch, size),
        "cell_mem_init_tensor": (1, count, batch, size),
        "peephole_tensor": (1, 1, count, 3 * size),
        "sequence_lengths_tensor": (1, 1, 1, batch),
    }
    for key, tensor in tensors.items():
        check_sizes(key, tensor, sizes[key])
    if len(desc.activation_descs) != _UNITS[desc.operator].functions * count:
        raise PlanError(f"{len(desc.activation_descs)} activations for {count} directions")
    if all(getattr(desc, key) is None for key in _OUTPUTS):
        raise PlanError("there is no output")


def _blocks(tensors: Tensors, width: int) -> Iterator[Tensors]:
    """The tensors of as many sequences as make no more elements than are made at once, of so many in each step."""
    _, steps, batch, _ = tensors["input_tensor"].shape
    step = max(1, at_once(MOST_AT_ONCE, tensors["input_tensor"].device) // (steps * width))
    for at in range(0, batch, step):
        parts = {key: tensors[key].narrow(d, at, min(step, batch - at)) for key, d in _BATCH.items() if key in tensors}
        yield {**tensors, **parts}


def _states(desc: Recurrent, tensors: Tensors, count: int) -> list[Tensor]:
    """What all directions come to."""
    parts = zip(*(_direction(desc, tensors, n) for n in range(count)), strict=True)
    return [torch.stack(each, 1).to(tensors["input_tensor"].dtype) for each in parts]


def _direction(desc: Recurrent, tensors: Tensors, n: int) -> list[Tensor]:
    """All states of a direction in order of time, 0 behind the end of a sequence, and the last ones."""
    unit, (x, weight, recurrence) = _UNITS[desc.operator], (tensors[key][0].float() for key in _FLOATS[:3])
    steps, batch, _ = x.shape
    size = recurrence.shape[-1]
    rows = unit.gates * size
    bias = tensors["bias_tensor"][0, 0, n].float() if "bias_tensor" in tensors else x.new_zeros(2 * rows)
    peepholes = tensors["peephole_tensor"][0, 0, n].float() if "peephole_tensor" in tensors else None
    functions = desc.activation_descs[unit.functions * n :][: unit.functions]
    own = torch.matmul(x, weight[n].mT) + bias[:rows]
    of = _Direction(own, recurrence[n].mT, bias[rows:], peepholes, functions, desc)
    ends = torch.full((batch, 1), steps, device=x.device)
    if "sequence_lengths_tensor" in tensors:
        ends = tensors["sequence_lengths_tensor"].reshape(batch, 1)
    states = tuple(tensors[key][0, n].float() if key in tensors else x.new_zeros((batch, size)) for key in unit.initial)
    every = x.new_zeros((steps, batch, size))
    is_backward = desc.direction == _DIRECTION.BACKWARD or n == 1
    for t in range(steps - 1, -1, -1) if is_backward else range(steps):
        new = unit.step(of, own[t], states)
        every[t] = torch.where(t < ends, new[0], 0.0)
        states = tuple(torch.where(t < ends, *pair) for pair in zip(new, states, strict=True))
    return [every, *(state.unsqueeze(0) for state in states)]


_PLAIN = TorchOperator(recurrent, agree=((*_FLOATS, *_OUTPUTS),), numbers=frozenset(_FLOATS), fault=fusion_fault)
_WITH_CELLS = TorchOperator(
    recurrent,
    agree=((*_FLOATS, *_CELLS, *_OUTPUTS, _CELL_OUTPUT),),
    numbers=frozenset((*_FLOATS, *_CELLS)),
    fault=fusion_fault,
)
OPERATORS = {"RNN": _PLAIN, "LSTM": _WITH_CELLS, "GRU": _PLAIN}
