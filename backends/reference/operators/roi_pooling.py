"""ROI_POOLING: the greatest elements of windows that regions of images are divided into."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate, either
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._windows import CUT_REGIONS
from dml_conformance.backends.reference.parts import Cut
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.expectation import Mask
from dml_conformance.spec.structures import RoiPooling

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Round = Callable[[Numbers], Numbers]

LARGEST = 2.0**20  # corner; beyond it products may pass 32 bits
ULP = 2.0**-23


def _up(numbers: Numbers) -> Numbers:
    return np.floor(numbers + 0.5)


def _away(numbers: Numbers) -> Numbers:
    return np.copysign(np.floor(np.abs(numbers) + 0.5), numbers)


ROUNDINGS: tuple[Round, ...] = (_up, _away, np.rint)  # they differ in halves


class Region(NamedTuple):
    """What a row of the ROITensor asks for.

    Attributes:
        image: that it is of; None where anything is right.
        readings: for each way to round, the elements that windows see along height and width, in rows; those of the
            shorter ones go on with their last.
        empty: which windows see no element, by one of these ways.
    """

    image: int | None
    readings: tuple[tuple[Places, Places], ...]
    empty: Mask


@quiet
def roi_pooling(desc: RoiPooling, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, y, x] = max(input[BatchID, c, StartY..EndY, StartX..EndX]), with integer division and without the
    ends; clamped to the input.
    """
    data_type = desc.output_tensor.data_type
    images, rows = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "roi_tensor"))
    regions = [_region(desc, row.astype(np.float64), images.shape) for row in rows.reshape(-1, rows.shape[-1])]
    shape = desc.output_tensor.sizes[1:]
    is_open = np.stack([np.broadcast_to(region.empty, shape) for region in regions])

    def greatest(tolerance: Tolerance) -> Enclosure:
        every = Evaluation(tolerance).of(images)
        found = []
        for region in regions:
            if region.image is None:
                found.append(Enclosure(every.evaluation, np.zeros((1, *shape))))
                continue
            image = every[region.image]
            maxima = [_maxima(image, *seen) for seen in region.readings]
            found.append(either(*maxima).reshape(1, *shape))
        return concatenate(found, 0).opened(is_open)  # numbers of the type, as the input's are

    return {"output_tensor": greatest}


def _region(desc: RoiPooling, row: Numbers, shape: tuple[int, ...]) -> Region:
    image, corners = row[0], row[1:] * desc.spatial_scale
    near = np.abs(corners) * ULP * (corners.astype(np.float32) != corners)
    is_sound = 0 <= image < shape[0] and image == np.floor(image) and bool((np.abs(corners) < LARGEST).all())
    is_sound = is_sound and row[1] <= row[3] and row[2] <= row[4]
    pooled = desc.pooled_size.height, desc.pooled_size.width
    if not is_sound or (np.rint(corners - near) != np.rint(corners + near)).any():
        return Region(None, (), np.ones(pooled, np.bool_))
    readings, empty = [], np.zeros(pooled, np.bool_)
    for x1, y1, x2, y2 in {tuple(rounded(corners)) for rounded in ROUNDINGS}:
        ends = (y1, y2), (x1, x2)
        seen = [_windows(*each) for each in zip(ends, pooled, shape[2:], strict=True)]
        (rows, few_rows), (columns, few_columns) = seen
        readings.append((rows, columns))
        empty |= few_rows[:, None] | few_columns
    return Region(int(image), tuple(readings), empty)


def _windows(ends: tuple[float, float], count: int, size: int) -> tuple[Places, Mask]:
    """The elements that windows along a dimension see, and which see none."""
    first, last = map(int, ends)
    length, places = last - first + 1, np.arange(count)
    start = np.clip(places * length // count + first, 0, size)
    end = np.clip(((places + 1) * length + count - 1) // count + first, 0, size)
    seen = np.minimum(start[:, None] + np.arange(max(int((end - start).max()), 1)), end[:, None] - 1)
    return np.clip(seen, 0, size - 1), end <= start


def _maxima(image: Enclosure, rows: Places, columns: Places) -> Enclosure:
    """The greatest elements of windows, by channel."""
    seen = image.each(lambda part: part[:, rows[:, :, None, None], columns])
    return seen.max((2, 4)).each(partial(np.squeeze, axis=(2, 4)))


OPERATORS: dict[str, Compute] = {"ROI_POOLING": roi_pooling}
CUTS: dict[str, Cut] = {"ROI_POOLING": CUT_REGIONS}
