"""What the operators that take elements by indices share: axes, rows, and indices that are always in range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels.plans import Plan
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, check_sizes
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.structures import (
    ArgReduce,
    Cumulative,
    LpNormalization,
    MeanVariance,
    Reduce,
    Softmax,
    TopK,
    WithAxis,
)

OffAxis = ArgReduce | Cumulative | LpNormalization | MeanVariance | Reduce | Softmax | TopK


def by_indices(
    take: Callable[[Any, Tensor, Tensor, Tensor | None], Tensor], plan: Callable[..., Plan | None]
) -> TorchOperator:
    """An operator that takes elements of one tensor by the indices in another: `take(desc, input, indices, out)`."""

    def run(desc: OperatorDesc, tensors: Tensors) -> Tensors:
        out = tensors.get("output_tensor")
        return {"output_tensor": take(desc, tensors["input_tensor"], tensors["indices_tensor"], out)}

    return TorchOperator(run, numbers=frozenset({"indices_tensor"}), fills=True, plan=plan)


def in_range(indices: Tensor, size: int) -> Tensor:
    """Indices as int64 from 0 to `size - 1`, for each that is in range the one that it means.

    -size to -1 of a signed type count from the end. What is out of range becomes some index in range: that of a
    signed type wraps round, that of an unsigned one is clamped.
    """
    if indices.is_meta:  # one number for another: shapes stay, and torch takes 100 times as long on meta tensors
        return torch.empty(indices.shape, dtype=torch.int64, device=indices.device)
    if indices.dtype is torch.uint64:  # from 2^63 on int64 is negative, and so clamped to 0
        return indices.view(torch.int64).clamp(0, size - 1)
    if indices.dtype is torch.uint32:
        return indices.to(torch.int64).clamp_(max=size - 1)
    return indices.to(torch.int64).remainder(size)


def take_rows(
    source: Tensor, coordinates: Sequence[Tensor | None], grid: Sequence[int], shape: Sequence[int], out: Tensor | None
) -> Tensor:
    """`source[coordinates[0], coordinates[1], ...]` at every place of a grid, arranged in `shape`.

    Args:
        source: of which the first dimensions are addressed, as many as there are coordinates; the others make a row.
        coordinates: index tensors that broadcast to the grid; None where a dimension runs along the grid's own.
        grid: sizes of what the coordinates run over.
        shape: of the result, which holds one row for each place of the grid.
        out: packed, to write into; or None.
    """
    # The addressed dimensions become one, of rows that may overlap, so that each place has a row's number. The step
    # from row to row divides all their strides; where the rows are packed it is exactly one row.
    sizes, strides, count = source.shape, source.stride(), len(coordinates)
    walked = [d for d in range(count) if sizes[d] > 1]
    step = math.gcd(*(strides[d] for d in walked)) or 1
    last = sum((sizes[d] - 1) * strides[d] for d in walked) // step
    rows = source.as_strided((last + 1, *sizes[count:]), (step, *strides[count:]))
    if source.is_meta:
        numbers = torch.empty(grid, dtype=torch.int64, device=source.device)
    else:
        numbers = torch.zeros((), dtype=torch.int64, device=source.device)
        for d in walked:
            along = coordinates[d]
            if along is None:
                along = torch.arange(sizes[d], device=source.device).view((-1,) + (1,) * (len(grid) - 1 - d))
            else:
                along = in_range(along, sizes[d])
            factor = strides[d] // step
            numbers = along if d == walked[0] and factor == 1 else torch.add(numbers, along, alpha=factor)
        numbers = numbers.expand(grid)
    index = numbers.reshape(-1)
    if out is None:
        return rows.index_select(0, index).reshape(shape)
    torch.index_select(rows, 0, index, out=out.view(index.shape[0], *sizes[count:]))
    return out


def valid_axis(desc: WithAxis, source: Tensor) -> int:
    return valid_axes((desc.axis,), source)[0]


def off_axis(desc: OffAxis) -> list[int]:
    """The dimensions off Axis or Axes; without either, those off the last one."""
    rank = len(desc.input_tensor.sizes)
    axes = getattr(desc, "axes", (getattr(desc, "axis", rank - 1),))
    return [d for d in range(rank) if d not in axes]


def check_off_axis(source: Tensor, other: Tensor, axis: int, name: str = "IndicesTensor") -> None:
    """Raise PlanError unless another has the sizes of a tensor off the axis, where torch itself would take fewer."""
    check_sizes(name, other, (*source.shape[:axis], other.shape[axis], *source.shape[axis + 1 :]))


def valid_axes(axes: Sequence[int], source: Tensor) -> list[int]:
    """Axes in order, each once."""
    if any(axis >= source.dim() for axis in axes):
        raise PlanError(f"axes {tuple(axes)}, InputTensor has {source.dim()} dimensions")
    return sorted(set(axes))


def rows_along(source: Tensor, axes: Sequence[int]) -> Tensor:
    """The elements along some axes, in their order, as the last dimension behind all others."""
    kept = [d for d in range(source.dim()) if d not in axes]
    return source.permute(*kept, *axes).reshape([source.shape[d] for d in kept] + [-1])
