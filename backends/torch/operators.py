"""The operators on torch tensors: one function each, run on meta tensors to decide and on the device to execute.

A function takes the descriptor for its attributes, the inputs as views of their described sizes, and `out`: a packed
tensor to write into, or None for a new one. It returns the output with the sizes that the operator gives it, with
leading ones up to the dimension count of the input. Elements travel as signed integers of their width, so that every
bit pattern comes through; an index tensor keeps its own type, which says whether a negative index can be meant.

Where shapes or attributes do not fit, `Refused` or torch's own error is raised. Values never raise: an index is
brought into range before it is used, since an index out of range would read foreign memory or, on CUDA, end the
context.

Meanings: the operators' pages (DML_GATHER_OPERATOR_DESC and so on), with the corrected size formulas of GATHER_ND
and GATHER_ND1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

UINT32_MAX = 2**32 - 1


class Refused(ValueError):
    """An attribute or a shape that the operator cannot work with."""


def gather(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None = None) -> Tensor:
    """GATHER: `output[before, i..., after] = input[before, indices[i...], after]`, right-aligned."""
    axis = _axis(desc, source)
    chosen = _last_dimensions(indices, desc.index_dimensions, "IndexDimensions", least=0)
    sizes = source.shape
    shape = (*sizes[:axis], *chosen.shape, *sizes[axis + 1 :])
    surplus = len(shape) - len(sizes)
    # Where a size above 1 were cropped, elements are left over and torch refuses the shape.
    aligned = shape[surplus:] if surplus > 0 else (1,) * -surplus + shape
    return _select(source, axis, in_range(chosen, sizes[axis]), aligned, out)


def gather_elements(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None = None) -> Tensor:
    """GATHER_ELEMENTS: `output[..., i, ...] = input[..., indices[..., i, ...], ...]`."""
    axis = _axis(desc, source)
    for d, (size, index_size) in enumerate(zip(source.shape, indices.shape, strict=True)):
        if d != axis and size != index_size:  # torch.gather itself would take fewer indices than elements
            raise Refused(f"dimension {d} has size {size} in InputTensor, {index_size} in IndicesTensor")
    return torch.gather(source, axis, in_range(indices, source.shape[axis]), out=out)


def gather_nd(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None = None) -> Tensor:
    """GATHER_ND: `output[i..., rest] = input[indices[i..., :], rest]`."""
    return _gather_tuples(desc, source, indices, 0, out)


def gather_nd1(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None = None) -> Tensor:
    """GATHER_ND1: `output[b..., i..., rest] = input[b..., indices[b..., i..., :], rest]`."""
    return _gather_tuples(desc, source, indices, desc.batch_dimension_count, out)


def tile(desc: Any, source: Tensor, out: Tensor | None = None) -> Tensor:
    """TILE: `output[c...] = input[c[d] % sizes[d] for each d]`."""
    sizes, repeats = source.shape, desc.repeats
    if len(repeats) != len(sizes):
        raise Refused(f"RepeatsCount is {len(repeats)}, InputTensor has {len(sizes)} dimensions")
    if min(repeats) < 1:
        raise Refused(f"Repeats is {tuple(repeats)}, and each has to be above 0")
    shape = [size * repeat for size, repeat in zip(sizes, repeats, strict=True)]
    if max(shape) > UINT32_MAX:
        raise Refused(f"the repeats give an output of sizes {tuple(shape)}, beyond what a size can be")
    if out is None:
        out = source.new_empty(shape)
    blocks = [n for pair in zip(repeats, sizes, strict=True) for n in pair]
    out.view(blocks).copy_(source.view([n for size in sizes for n in (1, size)]))
    return out


def in_range(indices: Tensor, size: int) -> Tensor:
    """Indices as int64 from 0 to `size - 1`, for each that is in range the one that it means.

    -size to -1 of a signed type count from the end. What is out of range becomes some index in range: that of a
    signed type wraps round, that of an unsigned one is clamped.
    """
    if indices.is_meta:  # one number for another: shapes stay, and torch takes 100 times as long on meta tensors
        return indices
    if indices.dtype is torch.uint64:  # from 2^63 on int64 is negative, and so clamped to 0
        return indices.view(torch.int64).clamp(0, size - 1)
    if indices.dtype is torch.uint32:
        return indices.to(torch.int64).clamp_(max=size - 1)
    return indices.to(torch.int64).remainder(size)


def _gather_tuples(desc: Any, source: Tensor, indices: Tensor, batch: int, out: Tensor | None) -> Tensor:
    rank = source.dim()
    source = _last_dimensions(source, desc.input_dimension_count, "InputDimensionCount")
    tuples = _last_dimensions(indices, desc.indices_dimension_count, "IndicesDimensionCount")
    sizes, index_sizes = source.shape, tuples.shape
    addressed = batch + index_sizes[-1]
    if batch >= len(index_sizes) or addressed > len(sizes):
        raise Refused(
            f"{batch} batch dimensions and tuples of {index_sizes[-1]} coordinates do not fit "
            f"{len(sizes)} input and {len(index_sizes)} index dimensions"
        )
    if sizes[:batch] != index_sizes[:batch]:
        raise Refused(f"batches are {tuple(sizes[:batch])} in InputTensor, {tuple(index_sizes[:batch])} in the indices")
    shape = (*index_sizes[:-1], *sizes[addressed:])

    # The batch and addressed dimensions become one, of rows that may overlap, so that a tuple becomes the number of
    # its row. The step from row to row divides all their strides; of a packed input it is exactly one row.
    strides = source.stride()
    walked = [(size, stride) for size, stride in zip(sizes[:addressed], strides[:addressed], strict=True) if size > 1]
    step = math.gcd(*(stride for _, stride in walked)) or 1
    count = 1 + sum((size - 1) * stride for size, stride in walked) // step
    rows = source.as_strided((count, *sizes[addressed:]), (step, *strides[addressed:]))
    numbers = _row_numbers(tuples, sizes, [stride // step for stride in strides[:addressed]], batch)
    return _select(rows, 0, numbers, (1,) * (rank - len(shape)) + shape, out)


def _row_numbers(tuples: Tensor, sizes: Sequence[int], steps: Sequence[int], batch: int) -> Tensor:
    """For each tuple along the last dimension, the sum of its coordinates and its batch's, times their steps."""
    if tuples.is_meta:
        return tuples.select(-1, 0)
    numbers = torch.zeros(tuples.shape[:-1], dtype=torch.int64, device=tuples.device)
    for d, (size, step) in enumerate(zip(sizes, steps, strict=False)):
        if size == 1 or step == 0:  # every coordinate stands on the same rows
            continue
        if d < batch:
            along = torch.arange(0, size * step, step, device=tuples.device)
            numbers += along.view((-1,) + (1,) * (numbers.dim() - 1 - d))
        else:
            numbers.add_(in_range(tuples.select(-1, d - batch), size), alpha=step)
    return numbers


def _select(source: Tensor, dim: int, index: Tensor, shape: Sequence[int], out: Tensor | None) -> Tensor:
    """The slices of `source` along `dim` that `index` (of any shape, in range) numbers, arranged in `shape`."""
    index = index.reshape(-1)
    if out is None:
        return source.index_select(dim, index).reshape(shape)
    selected = (*source.shape[:dim], index.shape[0], *source.shape[dim + 1 :])
    torch.index_select(source, dim, index, out=out.view(selected))
    return out


def _axis(desc: Any, source: Tensor) -> int:
    axis: int = desc.axis
    if not 0 <= axis < source.dim():
        raise Refused(f"Axis is {axis}, InputTensor has {source.dim()} dimensions")
    return axis


def _last_dimensions(tensor: Tensor, count: int, attribute: str, *, least: int = 1) -> Tensor:
    """The last `count` dimensions; torch refuses the view where one before them is not 1."""
    if not least <= count <= tensor.dim():
        raise Refused(f"{attribute} is {count}, expected {least} to {tensor.dim()}")
    return tensor if count == tensor.dim() else tensor.view(tensor.shape[tensor.dim() - count :])
