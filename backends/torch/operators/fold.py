"""DML_OPERATOR_FOLD and UNFOLD, in any number of spatial dimensions."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator

BLOCKS_RANK = 3


def unfold(desc: Any, tensors: Tensors) -> Tensors:
    """A view of the padded image in which the elements overlap, made a matrix."""
    source = tensors["input_tensor"]
    batch, channels, *spatial = source.shape
    counts = _counts(desc, spatial)
    shape = (batch, channels * prod(desc.window_sizes), prod(counts))
    if source.is_meta:
        return {"output_tensor": source.new_empty(shape)}
    pads = [n for pair in zip(desc.start_padding[::-1], desc.end_padding[::-1], strict=True) for n in pair]
    padded = functional.pad(source, pads).contiguous()
    of_image, of_rows = padded.stride()[:2], padded.stride()[2:]
    within = [stride * dilation for stride, dilation in zip(of_rows, desc.dilations, strict=True)]
    between = [stride * step for stride, step in zip(of_rows, desc.strides, strict=True)]
    view = padded.as_strided((batch, channels, *desc.window_sizes, *counts), (*of_image, *within, *between))
    return {"output_tensor": view.reshape(shape)}


def fold(desc: Any, tensors: Tensors) -> Tensors:
    """Every element added to its place in the padded image, whose spatial dimensions are one row."""
    source = tensors["input_tensor"]
    if source.dim() != BLOCKS_RANK:
        raise PlanError(f"InputTensor has {source.dim()} dimensions, not 3")
    batch, elements, columns = source.shape
    spatial = desc.output_tensor.sizes[2:]
    counts = _counts(desc, spatial)
    window = prod(desc.window_sizes)
    if elements % window or columns != prod(counts):
        raise PlanError(
            f"{elements} elements and {columns} windows, expected a multiple of {window} and {prod(counts)}"
        )
    shape = (batch, elements // window, *spatial)
    if source.is_meta:
        return {"output_tensor": source.new_empty(shape)}
    padded = [sum(sizes) for sizes in zip(spatial, desc.start_padding, desc.end_padding, strict=True)]
    row = source.new_zeros(batch * (elements // window), prod(padded))
    row.index_add_(1, _places(desc, counts, padded, source.device), source.reshape(row.shape[0], -1))
    image = row.view(batch, elements // window, *padded)
    for d, size in enumerate(spatial):
        image = image.narrow(2 + d, desc.start_padding[d], size)
    return {"output_tensor": image}


def _counts(desc: Any, spatial: Any) -> list[int]:
    """How many windows there are along each spatial dimension."""
    arrays = (desc.window_sizes, desc.strides, desc.dilations, desc.start_padding, desc.end_padding)
    if not spatial or any(len(array) != len(spatial) for array in arrays):
        raise PlanError(f"the arrays have {[len(array) for array in arrays]} entries, the image {len(spatial)} of them")
    counts = []
    for size, window, stride, dilation, before, behind in zip(spatial, *arrays, strict=True):
        room = size + before + behind - dilation * (window - 1) - 1
        if not window or not stride or room < 0:
            raise PlanError(
                f"a window of {window} by {stride}, {dilation} apart, over {size + before + behind} elements"
            )
        counts.append(room // stride + 1)
    return counts


def _places(desc: Any, counts: list[int], padded: list[int], device: torch.device) -> Tensor:
    """Where each element of each window stands in the row of the padded image, window elements first."""
    found = torch.zeros((), dtype=torch.int64, device=device)
    rank = len(counts)
    for d in range(rank):
        within = torch.arange(desc.window_sizes[d], device=device) * desc.dilations[d]
        between = torch.arange(counts[d], device=device) * desc.strides[d]
        along = (within[:, None] + between).mul_(prod(padded[d + 1 :]))
        sizes = [1] * (2 * rank)
        sizes[d], sizes[rank + d] = along.shape
        found = found + along.view(sizes)
    return found.reshape(-1)


OPERATORS = {
    "FOLD": TorchOperator(
        fold,
        agree=(),
        numbers=frozenset({"input_tensor"}),
        ranks=(("input_tensor",), ("output_tensor",)),
    ),
    "UNFOLD": TorchOperator(unfold, agree=(), ranks=(("input_tensor",), ("output_tensor",))),
}
