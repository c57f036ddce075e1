"""Windows that slide over an image, as views in which elements overlap, and written back to their places."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import torch
from torch import Tensor
from torch.nn import functional

from dml_conformance.backends.torch.operators import PlanError
from dml_conformance.spec.structures import AveragePooling, AveragePoolingGrad, Convolution, Fold, Pooling, PoolingGrad

Windowed = AveragePooling | AveragePoolingGrad | Convolution | Fold | Pooling | PoolingGrad


def window_counts(desc: Windowed, sizes: Sequence[int], spatial: Sequence[int]) -> list[int]:
    """How many windows of these sizes there are along each spatial dimension of an image."""
    arrays = (sizes, desc.strides, dilations_of(desc), desc.start_padding, desc.end_padding)
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


def dilations_of(desc: Windowed) -> Sequence[int]:
    """From each element of a window to the next; 1 where the operator has no gaps."""
    found: Sequence[int] = getattr(desc, "dilations", (1,) * len(desc.strides))
    return found


def single(desc: Windowed, sizes: Sequence[int]) -> list[int]:
    """The dimensions along which windows of these sizes are the elements of the image, one by one."""
    more = getattr(desc, "output_padding", (0,) * len(sizes))
    arrays = (sizes, desc.strides, desc.start_padding, desc.end_padding, more)
    return [2 + d for d, entries in enumerate(zip(*arrays, strict=True)) if entries == (1, 1, 0, 0, 0)]


def window_view(
    desc: Windowed, source: Tensor, sizes: Sequence[int], counts: Sequence[int], padding: float = 0
) -> Tensor:
    """Batch, channels, the elements of a window, the windows: a view of the image with its padding."""
    pads = [n for pair in zip(desc.start_padding[::-1], desc.end_padding[::-1], strict=True) for n in pair]
    padded = functional.pad(source, pads, value=padding) if any(pads) else source
    of_image, of_rows = padded.stride()[:2], padded.stride()[2:]
    within = [stride * dilation for stride, dilation in zip(of_rows, dilations_of(desc), strict=True)]
    between = [stride * step for stride, step in zip(of_rows, desc.strides, strict=True)]
    return padded.as_strided((*source.shape[:2], *sizes, *counts), (*of_image, *within, *between))


def add_windows(
    desc: Windowed, columns: Tensor, sizes: Sequence[int], counts: Sequence[int], padded: Sequence[int]
) -> Tensor:
    """Every element of windows added to its place in a padded image.

    Args:
        desc: has the strides, and dilations if there are gaps.
        columns: batch, channels, the elements of a window together with the windows.
        sizes: of a window.
        counts: of the windows.
        padded: spatial sizes of the image.
    """
    batch, channels = columns.shape[:2]
    addends = as_addends(columns).reshape(batch * channels, -1)
    row = addends.new_zeros(batch * channels, prod(padded))
    row.index_add_(1, _places(desc, sizes, counts, padded, columns.device), addends)
    return row.to(columns.dtype).view(batch, channels, *padded)


def as_addends(numbers: Tensor) -> Tensor:
    """Numbers as they are added in place: in FLOAT64 on CUDA, where atomic additions in FLOAT32 lose subnormal ones."""
    return numbers.double() if numbers.is_cuda and numbers.is_floating_point() else numbers


def cropped(desc: Windowed, padded: Tensor, spatial: Sequence[int]) -> Tensor:
    """An image without its padding."""
    for d, size in enumerate(spatial):
        padded = padded.narrow(2 + d, desc.start_padding[d], size)
    return padded


def _places(
    desc: Windowed, window: Sequence[int], counts: Sequence[int], padded: Sequence[int], device: torch.device
) -> Tensor:
    """Where each element of each window stands in the row of the padded image, window elements first."""
    rank, kind, parts = len(counts), torch.int32 if prod(padded) < 2**31 else torch.int64, []
    for d in range(rank):
        # In 64 bits first: a step that nothing is taken by may be any number.
        within = torch.arange(window[d], device=device).mul_(dilations_of(desc)[d]).to(kind)
        between = torch.arange(counts[d], device=device).mul_(desc.strides[d]).to(kind)
        along = (within[:, None] + between).mul_(prod(padded[d + 1 :]))
        sizes = [1] * (2 * rank)
        sizes[d], sizes[rank + d] = along.shape
        parts.append(along.view(sizes))
    return reduce(torch.add, parts).reshape(-1)
