"""DML_OPERATOR_MULTIHEAD_ATTENTION, and MULTIHEAD_ATTENTION1, of which heads of queries share those of keys."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._products import factor, product
from dml_conformance.backends.torch.views import head_counts
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import Attention

_MASK = enumeration("DML_MULTIHEAD_ATTENTION_MASK_TYPE")
_SINGLE = ("query_tensor", "key_tensor", "value_tensor")
_STACKED = {
    "stacked_query_key_tensor": (0, 1),
    "stacked_key_value_tensor": (1, 2),
    "stacked_query_key_value_tensor": (0, 1, 2),
}
_PAST = ("past_key_tensor", "past_value_tensor")
_PRESENT = ("output_present_key_tensor", "output_present_value_tensor")
_FLOATS = (*_SINGLE, *_STACKED, "bias_tensor", "relative_position_bias_tensor", *_PAST)


def attention(desc: Attention, tensors: Tensors) -> Tensors:
    """`softmax(q @ k.mT * Scale + bias + mask) @ v`, in FLOAT32, of all heads at once."""
    if "past_sequence_lengths_tensor" in tensors:
        raise PlanError("lengths of the past, whose meaning is not known")
    q, k, v = _heads(desc, tensors)
    batch, heads, queries, size = q.shape
    groups = k.shape[1]
    if k.shape != (batch, groups, k.shape[2], size) or v.shape[:3] != k.shape[:3] or heads % groups:
        raise PlanError(f"queries, keys and values of sizes {tuple(q.shape)}, {tuple(k.shape)} and {tuple(v.shape)}")
    if "bias_tensor" in tensors:
        rows = [part.shape[1] * part.shape[3] for part in (q, k, v)]
        biases = torch.split(_last(tensors["bias_tensor"], (sum(rows),)).float(), rows)
        q, k, v = (
            part.float() + bias.reshape(part.shape[1], 1, part.shape[3])
            for part, bias in zip((q, k, v), biases, strict=True)
        )
    if len(tensors.keys() & set(_PAST)) == 1:
        raise PlanError("keys or values alone from before")
    if _PAST[0] in tensors:
        before = tensors[_PAST[0]].shape[-2]
        k, v = (
            torch.cat((_last(tensors[key], (batch, groups, before, part.shape[3])), part), 2)
            for key, part in zip(_PAST, (k, v), strict=True)
        )
    scores = (batch, heads, queries, k.shape[2])
    added = torch.zeros((), device=q.device)
    if "relative_position_bias_tensor" in tensors:
        added = _last(tensors["relative_position_bias_tensor"], scores).float()
    if "mask_tensor" in tensors:
        seen = _seen(desc.mask_type, tensors["mask_tensor"], scores)
        added = torch.where(seen, added, added + desc.mask_filter_value)
    # Not by scaled_dot_product_attention: its fused kernels on CUDA take FLOAT32 apart into parts of which an infinite
    # one is a NaN, need aligned rows, and on the processor go astray where elements share memory.
    keys, values = (part if groups == heads else part.repeat_interleave(heads // groups, 1) for part in (k, v))
    found = product(q, keys.mT).mul_(desc.scale)
    if added.dim():
        found += added
    found = torch.softmax(found, -1) @ values.float()
    results = dict(zip(("output_tensor", *_PRESENT), (found.transpose(1, 2).flatten(2), k, v), strict=True))
    return {
        key: _with_ones(result, getattr(desc, key)).to(_kind(tensors))
        for key, result in results.items()
        if getattr(desc, key) is not None
    }


def _heads(desc: Attention, tensors: Tensors) -> list[Tensor]:
    """Query, key and value, each batch, heads, length, size."""
    of_queries, of_keys = head_counts(desc)
    counts = of_queries, of_keys, of_keys
    found: dict[int, Tensor] = {}
    if min(counts) < 1:
        raise PlanError("no heads")
    given = [*((key, (n,)) for n, key in enumerate(_SINGLE)), *_STACKED.items()]
    for key, places in ((key, places) for key, places in given if key in tensors):
        tensor = tensors[key]
        heads = counts[places[-1]]
        if len(places) > 1:
            if tensor.shape[2:4] != (heads, len(places)) or counts[places[0]] != heads:
                raise PlanError(f"{key} has sizes {tuple(tensor.shape)}, of {heads} heads")
            parts = tensor.unbind(3)
        else:
            batch, length, row = tensor.shape[-3:]
            parts = (_last(tensor, (batch, length, row)).reshape(batch, length, heads, row // heads),)
        for place, part in zip(places, parts, strict=True):
            if place in found:
                raise PlanError(f"{key} beside another tensor of the same")
            found[place] = factor(part.transpose(1, 2))
    if len(found) < 3:
        raise PlanError("query, key or value is missing")
    return [found[place] for place in range(3)]


def _last(tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The tensor without leading ones."""
    check_sizes("a tensor", tensor, (1,) * (tensor.dim() - len(sizes)) + sizes)
    return tensor.reshape(sizes)


def _with_ones(tensor: Tensor, described: Any) -> Tensor:
    """The tensor with leading ones up to the dimensions that an output has."""
    return tensor.reshape((1,) * (len(described.sizes) - tensor.dim()) + tuple(tensor.shape))


def _kind(tensors: Tensors) -> torch.dtype:
    return next(tensors[key].dtype for key in _FLOATS if key in tensors)


def _seen(kind: int, mask: Tensor, scores: tuple[int, ...]) -> Tensor:
    """Which keys a query is compared with in earnest."""
    batch, _, _, keys = scores
    if kind == _MASK.NONE:
        raise PlanError("a mask of no type")
    if kind == _MASK.BOOLEAN:
        return _last(mask, scores) != 0
    place = torch.arange(keys, device=mask.device)
    if kind == _MASK.KEY_SEQUENCE_LENGTH:
        return place < _last(mask, (1, batch)).reshape(batch, 1, 1, 1)
    if kind == _MASK.KEY_SEQUENCE_END_START:
        end, start = _last(mask, (2, batch)).reshape(2, batch, 1, 1, 1)
        between: Tensor = (place >= start) & (place < end)
        return between
    return place < _last(mask, (3 * batch + 2,))[:batch].reshape(batch, 1, 1, 1)


OPERATORS = dict.fromkeys(
    ("MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"),
    TorchOperator(
        attention,
        agree=((*_FLOATS, "output_tensor", *_PRESENT),),
        numbers=frozenset((*_FLOATS, "mask_tensor")),
        ranks=((*_SINGLE, "output_tensor"),),
        plan=plans.attention,
    ),
)
