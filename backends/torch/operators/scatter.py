"""DML_OPERATOR_SCATTER and SCATTER_ND."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.backends.torch.operators._indexing import check_off_axis, in_range, valid_axis
from dml_conformance.backends.torch.views import last_dimensions
from dml_conformance.spec.structures import DML_SCATTER_ND_OPERATOR_DESC, DML_SCATTER_OPERATOR_DESC


def scatter(desc: DML_SCATTER_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """SCATTER: `output = input; output[..., indices[..., i, ...], ...] = updates[..., i, ...]`."""
    source, indices, updates = tensors["input_tensor"], tensors["indices_tensor"], tensors["updates_tensor"]
    axis = valid_axis(desc, source)
    check_off_axis(source, indices, axis)
    check_sizes("UpdatesTensor", updates, indices.shape)
    out = _copy(source, tensors)
    return {"output_tensor": out.scatter_(axis, in_range(indices, source.shape[axis]), updates)}


def scatter_nd(desc: DML_SCATTER_ND_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """SCATTER_ND: `output = input; output[indices[i..., :], rest] = updates[i..., rest]`."""
    source, updates = tensors["input_tensor"], tensors["updates_tensor"]
    sizes = last_dimensions(source, desc.input_dimension_count, "InputDimensionCount").shape
    indices = last_dimensions(tensors["indices_tensor"], desc.indices_dimension_count, "IndicesDimensionCount")
    *grid, count = indices.shape
    if count > len(sizes):
        raise PlanError(f"tuples of {count} coordinates, InputTensor has {len(sizes)} dimensions that count")
    blocks = [*grid, *sizes[count:]]
    check_sizes("UpdatesTensor", updates, [1] * (source.dim() - len(blocks)) + blocks)
    if source.is_meta:
        return {"output_tensor": source}
    out = _copy(source, tensors)
    number = torch.zeros((), dtype=torch.int64, device=source.device)
    for d in range(count):
        number = number * sizes[d] + in_range(indices[..., d], sizes[d])
    rows = out.view(prod(sizes[:count]), *sizes[count:])
    rows.index_copy_(0, number.reshape(-1), updates.reshape(prod(grid), *sizes[count:]))
    return {"output_tensor": out}


def _copy(source: Tensor, tensors: Tensors) -> Tensor:
    """The input, packed: in the output where that is given."""
    out = tensors.get("output_tensor")
    return source.clone(memory_format=torch.contiguous_format) if out is None else out.copy_(source)


_AGREE = (("input_tensor", "updates_tensor", "output_tensor"),)
OPERATORS = {
    "SCATTER": TorchOperator(scatter, _AGREE, frozenset({"indices_tensor"}), fills=True),
    "SCATTER_ND": TorchOperator(scatter_nd, _AGREE, frozenset({"indices_tensor"}), fills=True),
}
