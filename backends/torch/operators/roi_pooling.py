"""DML_OPERATOR_ROI_POOLING: the greatest elements of windows that regions of images are divided into."""

from __future__ import annotations

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator
from dml_conformance.spec.structures import RoiPooling

LARGEST = 2.0**20  # corner that is looked at
MOST_AT_ONCE = 2**24  # elements of an intermediate result


def roi_pooling(desc: RoiPooling, tensors: Tensors) -> Tensors:
    """Along height and then along width, the maximum of what stands between the first and the last place of a window.

    Places outside of the image count for nothing.
    """
    source, regions, size = tensors["input_tensor"], tensors["roi_tensor"], desc.pooled_size
    if regions.dim() != 4 or regions.shape[:2] != (1, 1) or regions.shape[3] != 5:
        raise PlanError(f"ROITensor has sizes {tuple(regions.shape)}")
    if min(size.height, size.width) < 1:
        raise PlanError(f"PooledSize is {size.width} by {size.height}")
    count, (batch, channels, height, width) = regions.shape[2], source.shape
    if source.is_meta:
        return {"output_tensor": source.new_empty((count, channels, size.height, size.width))}
    rows = regions.reshape(count, 5).double().nan_to_num(0, LARGEST, -LARGEST)
    images = rows[:, 0].long().clamp(0, batch - 1)
    corners = ((rows[:, 1:] * desc.spatial_scale).clamp(-LARGEST, LARGEST) + 0.5).floor().long()
    # Only as many regions at once as there is room for.
    step = max(MOST_AT_ONCE // (channels * width * max(height, size.height)), 1)
    parts = []
    for at in range(0, count, step):
        some, ends = source[images[at : at + step]], corners[at : at + step]
        found = _maxima(some.transpose(2, 3), ends[:, 1], ends[:, 3], size.height)
        parts.append(_maxima(found.transpose(2, 3), ends[:, 0], ends[:, 2], size.width))
    return {"output_tensor": torch.cat(parts)}


def _maxima(source: Tensor, first: Tensor, last: Tensor, count: int) -> Tensor:
    """Of each window along the last dimension; 0 where it sees nothing.

    Maxima of 1, 2, 4 and more places that follow each other are made in turn; two of the widest that a window has room
    for cover it.
    """
    length, size = (last - first + 1)[:, None], source.shape[-1]
    window = torch.arange(count, device=source.device)
    start = torch.div(window * length, count, rounding_mode="floor") + first[:, None]
    end = torch.div((window + 1) * length + count - 1, count, rounding_mode="floor") + first[:, None]
    start, end = start.clamp(0, size), end.clamp(0, size)
    seen, widest, width = end - start, source, 1
    most = int(seen.max())
    found = source.new_zeros((*source.shape[:-1], count))
    while True:
        is_covered = (width <= seen) & (seen < 2 * width)
        if bool(is_covered.any()):
            at_both_ends = [_taken(widest, place.clamp(0, size - width)) for place in (start, end - width)]
            found = torch.where(is_covered[:, None, None], torch.maximum(*at_both_ends), found)
        if 2 * width > most:
            return found
        widest = torch.maximum(widest[..., :-width], widest[..., width:])
        width *= 2


def _taken(source: Tensor, places: Tensor) -> Tensor:
    """The elements at a region's places along the last dimension."""
    return source.gather(-1, places[:, None, None].expand(*source.shape[:-1], -1))


NUMBERS = frozenset({"input_tensor", "roi_tensor"})
OPERATORS = {
    "ROI_POOLING": TorchOperator(roi_pooling, agree=(("input_tensor", "roi_tensor", "output_tensor"),), numbers=NUMBERS)
}
