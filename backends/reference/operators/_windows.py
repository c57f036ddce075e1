"""Which elements windows see that slide over an image, and which windows an element is seen by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import device

from dml_conformance.backends.reference.floats import Array, namespace
from dml_conformance.backends.reference.layout import Arrays
from dml_conformance.backends.reference.parts import CutRows, Spans
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.operator import Misfit, inputs, outputs
from dml_conformance.spec.operators._windows import FIRST, Pooled, Window, Windowed, windows_of
from dml_conformance.spec.structures import AveragePooling, Pooling


def seen(window: Window, length: int, count: int) -> Array:
    """By window and element of it, the place along a dimension of `length` elements; `length` is the padding."""
    places = np.arange(count)[:, None] * window.stride + np.arange(window.size) * window.dilation - window.before
    return np.where((places >= 0) & (places < length), places, length)


def known_windows(desc: Windowed, sizes: Sequence[int], spatial: int) -> tuple[Window, ...]:
    """What slides along each spatial dimension, of windows of these sizes."""
    found = windows_of(desc, sizes, spatial)
    assert not isinstance(found, Misfit), "the shapes follow from a valid descriptor"
    return found


def windows_seen(desc: Pooled, image: Sequence[int], pooled: Sequence[int]) -> tuple[tuple[Window, ...], list[Array]]:
    """What slides over an image of these sizes, and the places that it sees along each spatial dimension; see `seen`.

    Args:
        desc: has the windows' sizes as WindowSize.
        image: its sizes, batch and channels too.
        pooled: those of a tensor with an element for each window.
    """
    windows = known_windows(desc, desc.window_size, len(image) - FIRST)
    return windows, [seen(*each) for each in zip(windows, image[FIRST:], pooled[FIRST:], strict=True)]


def seeing(window: Window, length: int, count: int) -> Array:
    """By place and element of a window, which of `length` windows has that element there; `length` for none.

    Args:
        window: what slides along the dimension.
        length: how many windows there are.
        count: how many places are looked at, from the first behind the padding on.
    """
    starts = np.arange(count)[:, None] + window.before - np.arange(window.size) * window.dilation
    found, rest = np.divmod(starts, window.stride)
    return np.where((rest == 0) & (found >= 0) & (found < length), found, length)


def gathered(numbers: Array, places: Sequence[Array]) -> Array:
    """What is at the places of each spatial dimension, 0 behind the last one.

    Returns:
        Batch, channels, the rows of all places, then their columns.
    """
    xp = namespace(numbers)
    for d, place in enumerate(places):
        axis = FIRST + 2 * d
        behind = xp.zeros_like(numbers[(slice(None),) * axis + (slice(0, 1),)])
        padded = xp.concat([numbers, behind], axis=axis)
        index = xp.asarray(place.reshape(-1), device=device(numbers))
        sizes = (*numbers.shape[:axis], *place.shape, *numbers.shape[axis + 1 :])
        numbers = xp.reshape(xp.take(padded, index, axis=axis), sizes)
    rank = len(places)
    rows, columns = ([FIRST + first + 2 * d for d in range(rank)] for first in (0, 1))
    return xp.permute_dims(numbers, (0, 1, *rows, *columns))


def moving_axes(desc: Windowed, sizes: Sequence[int]) -> list[int]:
    """The spatial dimensions along which some window of these sizes sees more than the element in its own place."""
    lengths, counts = (of[0].tensor.sizes[FIRST:] for of in (inputs(desc), outputs(desc)))
    every = enumerate(zip(known_windows(desc, sizes, len(lengths)), lengths, counts, strict=True), FIRST)
    return [d for d, (of, size, count) in every if (of.size, of.stride, of.before, size) != (1, 1, 0, count)]


def pooled_axes(desc: Pooling | AveragePooling) -> Sequence[int]:
    """Where windows move; everywhere if an index says where an element stands among all."""
    has_indices = getattr(desc, "output_indices_tensor", None) is not None
    return range(len(outputs(desc)[0].tensor.sizes)) if has_indices else moving_axes(desc, desc.window_size)


def cut_regions(desc: OperatorDesc, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The regions and the channels of a box."""
    regions, channels, *_ = spans
    every = slice(None)
    boxes = {
        "input_tensor": (every, channels),
        "roi_tensor": (..., regions, every),
        "batch_indices_tensor": (..., regions),
    }
    return desc, {key: array[boxes[key]] for key, array in arrays.items()}


CUT_WINDOWS = CutRows(pooled_axes)
CUT_REGIONS = CutRows(lambda desc: (FIRST, FIRST + 1), cut_regions)


def counted(places: Sequence[Array], lengths: Sequence[int]) -> Any:
    """How many elements of each window are not in the padding."""
    total = np.ones((), np.int64)
    for place, length in zip(places, lengths, strict=True):
        total = np.multiply.outer(total, (place < length).sum(axis=1))
    return total
