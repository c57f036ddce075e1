"""DML_OPERATOR_MAX_POOLING and LP_POOLING in all versions, and MAX_POOLING_GRAD."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._numbers import narrow
from dml_conformance.backends.torch.operators._order import as_index, comparable
from dml_conformance.backends.torch.operators._windows import as_addends, single, window_counts, window_view
from dml_conformance.spec.structures import (
    DML_LP_POOLING1_OPERATOR_DESC,
    DML_LP_POOLING_OPERATOR_DESC,
    Pooling,
    PoolingGrad,
)


def _in_rows(desc: Pooling | PoolingGrad, source: Tensor, counts: Sequence[int], padding: float) -> Tensor:
    """Batch, channels, the elements of a window in a row, the windows."""
    view = window_view(desc, source, desc.window_size, counts, padding)
    return view.reshape(*source.shape[:2], prod(desc.window_size), *counts)


def _least(source: Tensor) -> float:
    return -torch.inf if source.is_floating_point() else torch.iinfo(source.dtype).min


def _first_greatest(desc: Pooling | PoolingGrad, source: Tensor, counts: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The greatest of each window, and its place in the row of its channel; a NaN is greater than any number.

    The padding is less than all: where it equals what is there, its place comes after all others.
    """
    rows = _in_rows(desc, source, counts, _least(source))
    spatial = source.shape[2:]
    kind = torch.int32 if prod(spatial) < 2**31 else torch.int64  # there are as many as elements, several times
    places = torch.arange(prod(spatial), device=source.device, dtype=kind).reshape(1, 1, *spatial)
    at = _in_rows(desc, places, counts, prod(spatial))
    most = rows.amax(2, keepdim=True)
    is_most = (rows == most) | (rows.isnan() & most.isnan()) if rows.is_floating_point() else rows == most
    return most.squeeze(2), torch.where(is_most, at, prod(spatial)).amin(2)


def _apart(desc: Pooling | PoolingGrad) -> list[int]:
    if getattr(desc, "output_indices_tensor", None) is not None:  # which count all elements
        return []
    return [0, 1, *single(desc, desc.window_size)]


def max_pooling(desc: Pooling, tensors: Tensors) -> Tensors:
    """The greatest of each window, and where the descriptor asks for it its place in the input as one row."""
    source = tensors["input_tensor"]
    counts = window_counts(desc, desc.window_size, source.shape[2:])
    indices = getattr(desc, "output_indices_tensor", None)
    if source.is_meta:
        found = source.new_empty((*source.shape[:2], *counts))
        return {"output_tensor": found} | ({} if indices is None else {"output_indices_tensor": found.long()})
    keys, places = comparable(source), None
    if indices is None:
        most = _in_rows(desc, keys, counts, _least(keys)).amax(2)
    else:
        most, places = _first_greatest(desc, keys, counts)
    outputs = {"output_tensor": narrow(most, source.dtype) if most.dtype != source.dtype else most}
    if indices is not None and places is not None:
        planes = torch.arange(prod(source.shape[:2]), device=source.device) * prod(source.shape[2:])
        rows = planes.reshape(*source.shape[:2], *(1,) * len(counts))
        outputs["output_indices_tensor"] = as_index(places + rows, indices.data_type.size)
    return outputs


def lp_pooling(desc: DML_LP_POOLING_OPERATOR_DESC | DML_LP_POOLING1_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """Powers of magnitudes, in FLOAT32."""
    source = tensors["input_tensor"]
    counts = window_counts(desc, desc.window_size, source.shape[2:])
    if source.is_meta:
        return {"output_tensor": source.new_empty((*source.shape[:2], *counts))}
    rows = _in_rows(desc, source.float().abs(), counts, 0.0)
    return {"output_tensor": rows.pow(desc.p).sum(2).pow(1.0 / desc.p).to(source.dtype)}


def max_pooling_grad(desc: PoolingGrad, tensors: Tensors) -> Tensors:
    """Each gradient added where the greatest of its window stands, in FLOAT32."""
    source, gradient = tensors["input_tensor"], tensors["input_gradient_tensor"]
    counts = window_counts(desc, desc.window_size, source.shape[2:])
    check_sizes("InputGradientTensor", gradient, (*source.shape[:2], *counts))
    if source.is_meta:
        return {"output_gradient_tensor": torch.empty_like(source)}
    _, places = _first_greatest(desc, source, counts)
    addends = as_addends(gradient.float()).flatten(2)
    row = addends.new_zeros((*source.shape[:2], prod(source.shape[2:]) + 1))
    row.scatter_add_(2, places.flatten(2).long(), addends)  # behind the last what the padding gets
    return {"output_gradient_tensor": row[..., :-1].reshape(source.shape).to(source.dtype)}


_SOURCE = frozenset({"input_tensor"})
_BOTH = ("input_tensor", "input_gradient_tensor")
OPERATORS = {
    "MAX_POOLING": TorchOperator(max_pooling, numbers=_SOURCE, apart=_apart),
    "MAX_POOLING1": TorchOperator(max_pooling, numbers=_SOURCE, apart=_apart),
    "MAX_POOLING2": TorchOperator(max_pooling, numbers=_SOURCE, apart=_apart),
    "LP_POOLING": TorchOperator(lp_pooling, numbers=_SOURCE, apart=_apart),
    "LP_POOLING1": TorchOperator(lp_pooling, numbers=_SOURCE, apart=_apart),
    "MAX_POOLING_GRAD": TorchOperator(
        max_pooling_grad, agree=((*_BOTH, "output_gradient_tensor"),), numbers=frozenset(_BOTH), apart=_apart
    ),
}
