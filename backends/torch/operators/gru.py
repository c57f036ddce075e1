"""DML_OPERATOR_GRU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.spec.field_kinds import enumeration

_DIRECTION = enumeration("DML_RECURRENT_NETWORK_DIRECTION")
_FLOATS = ("input_tensor", "weight_tensor", "recurrence_tensor", "bias_tensor", "hidden_init_tensor")
_OUTPUTS = ("output_sequence_tensor", "output_single_tensor")


def gru(desc: Any, tensors: Tensors) -> Tensors:
    """One direction after the other, one step of all sequences after the other, in FLOAT32."""
    source = tensors["input_tensor"]
    count = 2 if desc.direction == _DIRECTION.BIDIRECTIONAL else 1
    steps, size = source.shape[1], tensors["recurrence_tensor"].shape[3]
    _check(desc, tensors, count, size)
    if source.is_meta:
        states = source.new_empty((steps, count, source.shape[2], size))
        last = states[:1]
    else:
        found = [_direction(desc, tensors, n) for n in range(count)]
        states, last = (torch.stack(parts, 1).to(source.dtype) for parts in zip(*found, strict=True))
    outputs = dict(zip(_OUTPUTS, (states, last), strict=True))
    return {key: output for key, output in outputs.items() if getattr(desc, key) is not None}


def _check(desc: Any, tensors: Tensors, count: int, size: int) -> None:
    _, _, batch, width = tensors["input_tensor"].shape
    sizes = {
        "input_tensor": (1, *tensors["input_tensor"].shape[1:]),
        "weight_tensor": (1, count, 3 * size, width),
        "recurrence_tensor": (1, count, 3 * size, size),
        "bias_tensor": (1, 1, count, 6 * size),
        "hidden_init_tensor": (1, count, batch, size),
        "sequence_lengths_tensor": (1, 1, 1, batch),
    }
    for key, tensor in tensors.items():
        if tuple(tensor.shape) != sizes[key]:
            raise PlanError(f"{key} has sizes {tuple(tensor.shape)}, not {sizes[key]}")
    if len(desc.activation_descs) != 2 * count:
        raise PlanError(f"{len(desc.activation_descs)} activations for {count} directions")
    if all(getattr(desc, key) is None for key in _OUTPUTS):
        raise PlanError("there is no output")


def _direction(desc: Any, tensors: Tensors, n: int) -> tuple[Tensor, Tensor]:
    """All states of a direction in order of time, 0 behind the end of a sequence, and the last ones."""
    x, weight, recurrence = (tensors[key][0].float() for key in _FLOATS[:3])
    f, g = desc.activation_descs[2 * n : 2 * n + 2]
    steps, batch, _ = x.shape
    size = recurrence.shape[-1]
    bias = tensors["bias_tensor"][0, 0, n].float() if "bias_tensor" in tensors else x.new_zeros(6 * size)
    h = tensors["hidden_init_tensor"][0, n].float() if "hidden_init_tensor" in tensors else x.new_zeros((batch, size))
    ends = torch.full((batch, 1), steps, device=x.device)
    if "sequence_lengths_tensor" in tensors:
        ends = tensors["sequence_lengths_tensor"].reshape(batch, 1)
    gates, hidden = recurrence[n, : 2 * size].mT, recurrence[n, 2 * size :].mT
    own = torch.matmul(x, weight[n].mT) + bias[: 3 * size]
    states = x.new_zeros((steps, batch, size))
    is_backward = desc.direction == _DIRECTION.BACKWARD or n == 1
    for t in range(steps - 1, -1, -1) if is_backward else range(steps):
        before = torch.matmul(h, gates) + bias[3 * size : 5 * size]
        z, r = activated(f, own[t, :, : 2 * size] + before).chunk(2, -1)
        if desc.linear_before_reset:
            inner = r * (torch.matmul(h, hidden) + bias[5 * size :])
        else:
            inner = torch.matmul(r * h, hidden) + bias[5 * size :]
        new = (1 - z) * activated(g, own[t, :, 2 * size :] + inner) + z * h
        states[t] = torch.where(t < ends, new, 0.0)
        h = torch.where(t < ends, new, h)
    return states, h.unsqueeze(0)


OPERATORS = {
    "GRU": TorchOperator(
        gru,
        agree=((*_FLOATS, *_OUTPUTS),),
        numbers=frozenset(_FLOATS),
        fault=fusion_fault,
    ),
}
