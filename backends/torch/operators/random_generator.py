"""RANDOM_GENERATOR."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.backends.torch.operators._numbers import narrow, widen
from dml_conformance.spec.structures import RandomGenerator

_LOW = 0xFFFFFFFF
_TOGETHER = 2**15  # counters that a processor takes at once, so that their numbers stay in its caches


def random_generator(desc: RandomGenerator, tensors: Tensors) -> Tensors:
    """Philox 4x32-10 of the counters from that of the state on, and the state that comes after."""
    state, sizes = tensors["input_state_tensor"], desc.output_tensor.sizes
    if prod(state.shape) != 6 or state.shape[-1] != 6:
        raise PlanError(f"InputStateTensor has sizes {tuple(state.shape)}, it takes 6 along the last dimension")
    if state.is_meta:
        return {"output_tensor": state.new_empty(sizes), "output_state_tensor": state}
    words = widen(state).reshape(-1).unbind()
    groups = -(-prod(sizes) // 4)
    steps = torch.arange(groups, device=state.device)
    parts = torch.split(steps, groups if state.is_cuda else _TOGETHER)
    made = torch.cat([_philox(words, part).to(torch.int32) for part in parts]).view(torch.uint32)
    found = {"output_tensor": made[: prod(sizes)].reshape(sizes)}
    if desc.output_state_tensor is not None:
        after = _advanced(words[:4], torch.tensor(groups, device=state.device))
        found["output_state_tensor"] = narrow(torch.stack((*after, *words[4:])).reshape(state.shape), torch.uint32)
    return found


def _philox(words: tuple[Tensor, ...], steps: Tensor) -> Tensor:
    """Four numbers of each counter that is some steps behind that of the state, whose words these are."""
    x, (k0, k1) = _advanced(words[:4], steps), words[4:]
    for _ in range(10):
        p, q = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = (_high(q) ^ x[1] ^ k0, q & _LOW, _high(p) ^ x[3] ^ k1, p & _LOW)
        k0, k1 = (k0 + 0x9E3779B9) & _LOW, (k1 + 0xBB67AE85) & _LOW
    return torch.stack(x, dim=-1).reshape(-1)


def _advanced(words: tuple[Tensor, ...], steps: Tensor) -> tuple[Tensor, ...]:
    """The words of a counter after some steps."""
    found = []
    for word in words:
        steps = steps + word
        found.append(steps & _LOW)
        steps = _high(steps)
    return tuple(found)


def _high(product: Tensor) -> Tensor:
    """The upper 32 bits of 64; the sign is one of them."""
    return (product >> 32) & _LOW


OPERATORS = {
    "RANDOM_GENERATOR": TorchOperator(
        random_generator,
        (),
        frozenset({"input_state_tensor"}),
        ranks=(("input_state_tensor", "output_state_tensor"),),
    )
}
