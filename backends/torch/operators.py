"""The operators on torch tensors: one function each, run on meta tensors to decide and on the device to execute.

A function takes the descriptor for its attributes, the inputs as views of their described sizes, and `out`: a packed
tensor to write into, or None for a new one. It returns the output with the sizes that the operator gives it, with
leading ones up to the dimension count of the input. Elements travel as signed integers of their width, so that every
bit pattern comes through; an index tensor keeps its own type, which says whether a negative index can be meant.

Where shapes or attributes do not fit, `PlanError` or torch's own error is raised. Values never raise: an index is
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
LEAST_ROW = 64  # bytes; with shorter rows, numbering them costs more than torch.gather's element by element


class PlanError(ValueError):
    """An attribute or a shape that the operator cannot work with."""


def gather(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None = None) -> Tensor:
    """GATHER: `output[before, i..., after] = input[before, indices[i...], after]`, right-aligned."""
    axis = _axis(desc, source)
    chosen = last_dimensions(indices, desc.index_dimensions, "IndexDimensions", least=0)
    before, after = source.shape[:axis], source.shape[axis + 1 :]
    shape = (*before, *chosen.shape, *after)
    surplus = len(shape) - source.dim()
    # Where a size above 1 were cropped, elements are left over and torch refuses the shape.
    aligned = shape[surplus:] if surplus > 0 else (1,) * -surplus + shape
    if math.prod(before) == 1 or math.prod(after) * source.itemsize >= LEAST_ROW:
        return _take_rows(source, [*(None for _ in before), chosen], (*before, *chosen.shape), aligned, out)
    index = in_range(chosen, source.shape[axis]).reshape((-1,) + (1,) * len(after)).expand(*before, -1, *after)
    if out is None:
        return torch.gather(source, axis, index).reshape(aligned)
    torch.gather(source, axis, index, out=out.view(index.shape))
    return out


def gather_elements(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None = None) -> Tensor:
    """GATHER_ELEMENTS: `output[..., i, ...] = input[..., indices[..., i, ...], ...]`."""
    axis = _axis(desc, source)
    for d, (size, index_size) in enumerate(zip(source.shape, indices.shape, strict=True)):
        if d != axis and size != index_size:  # torch.gather itself would take fewer indices than elements
            raise PlanError(f"dimension {d} has size {size} in InputTensor, {index_size} in IndicesTensor")
    return torch.gather(source, axis, in_range(indices, source.shape[axis]), out=out)


def gather_nd(desc: Any, source: Tensor, indices: Tensor, out: Tensor | None = None) -> Tensor:
    """GATHER_ND: `output[i..., rest] = input[indices[i..., :], rest]`; GATHER_ND1: the same with `b...` before each.

    GATHER_ND is GATHER_ND1 without batches.
    """
    rank, batch = source.dim(), batch_dimensions(desc)
    source = last_dimensions(source, desc.input_dimension_count, "InputDimensionCount")
    tuples = last_dimensions(indices, desc.indices_dimension_count, "IndicesDimensionCount")
    sizes, index_sizes = source.shape, tuples.shape
    addressed = batch + index_sizes[-1]
    if batch >= len(index_sizes) or addressed > len(sizes):
        raise PlanError(
            f"{batch} batch dimensions and tuples of {index_sizes[-1]} coordinates do not fit "
            f"{len(sizes)} input and {len(index_sizes)} index dimensions"
        )
    if sizes[:batch] != index_sizes[:batch]:
        raise PlanError(
            f"batches are {tuple(sizes[:batch])} in InputTensor, {tuple(index_sizes[:batch])} in the indices"
        )
    grid, rest = index_sizes[:-1], sizes[addressed:]
    coordinates = [*(None for _ in range(batch)), *tuples.unbind(-1)]
    return _take_rows(source, coordinates, grid, (1,) * (rank - len(grid) - len(rest)) + grid + rest, out)


def tile(desc: Any, source: Tensor, out: Tensor | None = None) -> Tensor:
    """TILE: `output[c...] = input[c[d] % sizes[d] for each d]`."""
    sizes, repeats = source.shape, desc.repeats
    if len(repeats) != len(sizes):
        raise PlanError(f"RepeatsCount is {len(repeats)}, InputTensor has {len(sizes)} dimensions")
    if min(repeats) < 1:
        raise PlanError(f"Repeats is {tuple(repeats)}, and each has to be above 0")
    shape = [size * repeat for size, repeat in zip(sizes, repeats, strict=True)]
    if max(shape) > UINT32_MAX:
        raise PlanError(f"the repeats give an output of sizes {tuple(shape)}, beyond what a size can be")
    if out is None:
        out = torch.empty(shape, dtype=source.dtype, device=source.device)
    wide = _widest(source, out)
    source, target = source.view(wide), out.view(wide)
    blocks = [n for pair in zip(repeats, source.shape, strict=True) for n in pair]
    target.view(blocks).copy_(source.view([n for size in source.shape for n in (1, size)]))
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


def batch_dimensions(desc: Any) -> int:
    """How many leading dimensions input and indices share: GATHER_ND1's BatchDimensionCount, of GATHER_ND none."""
    count: int = getattr(desc, "batch_dimension_count", 0)
    return count


def _take_rows(
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


def _widest(*tensors: Tensor) -> torch.dtype:
    """The widest type that all these tensors can be viewed as: what moves together moves in fewer, larger pieces.

    Where they start does not matter: a binding's offset is a multiple of 16 bytes.
    """
    size = tensors[0].itemsize
    for dtype in (torch.int64, torch.int32, torch.int16):
        ratio = dtype.itemsize // size
        if ratio > 1 and all(
            tensor.stride(-1) == 1
            and tensor.shape[-1] % ratio == 0
            and all(stride % ratio == 0 for stride in tensor.stride()[:-1])
            for tensor in tensors
        ):
            return dtype
    return tensors[0].dtype


def _axis(desc: Any, source: Tensor) -> int:
    axis: int = desc.axis
    if not 0 <= axis < source.dim():
        raise PlanError(f"Axis is {axis}, InputTensor has {source.dim()} dimensions")
    return axis


def last_dimensions(tensor: Tensor, count: int, attribute: str, *, least: int = 1) -> Tensor:
    """The last `count` dimensions; torch refuses the view where one before them is not 1."""
    if not least <= count <= tensor.dim():
        raise PlanError(f"{attribute} is {count}, expected {least} to {tensor.dim()}")
    return tensor if count == tensor.dim() else tensor.view(tensor.shape[tensor.dim() - count :])
