"""UNFOLD and FOLD: windows that slide over an image become the columns of a matrix, and are added up again."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._windows import known_windows, seeing
from dml_conformance.backends.reference.parts import Cut, CutRows, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.operators._windows import FIRST
from dml_conformance.spec.structures import Fold

Array = npt.NDArray[Any]


def unfold(desc: Fold, arrays: Arrays) -> Arrays:
    """output[n, (c, w), b] = input[n, c, b * Strides + w * Dilations - StartPadding], or 0 in the padding."""
    source = arrays["input_tensor"]
    padding = ((0, 0), (0, 0), *zip(desc.start_padding, desc.end_padding, strict=True))
    padded = np.pad(source, padding)
    counts = _counts(desc, source.shape[FIRST:])
    columns = np.empty((*source.shape[:2], *desc.window_sizes, *counts), source.dtype)
    for place in product(*map(range, desc.window_sizes)):
        at: Any = (slice(None), slice(None), *place)
        columns[at] = padded[_seen(desc, place, counts)]
    return {"output_tensor": columns.reshape(desc.output_tensor.sizes)}


def fold(desc: Fold, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, b * Strides + w * Dilations - StartPadding] = sum(input[n, (c, w), b] for each w and b there)."""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    sizes, rank = desc.output_tensor.sizes, len(desc.output_tensor.sizes)
    counts = _counts(desc, sizes[FIRST:])
    columns = numbers.reshape(*sizes[:FIRST], *desc.window_sizes, *counts)
    windows = known_windows(desc, desc.window_sizes, len(counts))
    seen_by = [seeing(*each) for each in zip(windows, counts, sizes[FIRST:], strict=True)]

    def terms(part: Array) -> Array:
        """What is added up in each element of the image, along a last axis; 0 for each window that is not there."""
        padded = np.pad(part, [(0, 0)] * rank + [(0, 1)] * len(counts))
        found = []
        for place in product(*map(range, desc.window_sizes)):
            along = np.ix_(*(windows[:, w] for windows, w in zip(seen_by, place, strict=True)))
            found.append(padded[(slice(None), slice(None), *place, *along)])
        return np.stack(found, -1)

    def sums(tolerance: Tolerance) -> Enclosure:
        x = Evaluation(tolerance).of(columns)
        return x.each(terms).sum((rank,)).reshape(*sizes).to(desc.output_tensor.data_type)

    return {"output_tensor": sums}


def _counts(desc: Fold, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """How many windows there are along each spatial dimension."""
    windows = known_windows(desc, desc.window_sizes, len(spatial))
    return tuple(window.count(size) for window, size in zip(windows, spatial, strict=True))


def _seen(desc: Fold, place: tuple[int, ...], counts: tuple[int, ...]) -> tuple[Any, ...]:
    """Where on the padded image all windows have the element at a place in them."""
    along = zip(place, desc.dilations, desc.strides, counts, strict=True)
    steps: Any = [
        slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride) for at, dilation, stride, count in along
    ]
    return (slice(None), slice(None), *steps)


def folded_axes(desc: Fold) -> list[int]:
    """The spatial dimensions of an image along which an element is in other windows than the one in its own place."""
    image = desc.output_tensor.sizes[FIRST:]
    every = enumerate(zip(known_windows(desc, desc.window_sizes, len(image)), image, strict=True), FIRST)
    return [d for d, (of, size) in every if (of.size, of.stride, of.before, of.count(size)) != (1, 1, 0, size)]


def cut_image(desc: Fold, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The windows of a box of the image: all of them along the dimensions where it is not cut."""
    batch, channels, *places = spans
    sizes, every = desc.output_tensor.sizes, slice(None)
    columns = arrays["input_tensor"].reshape(*sizes[:FIRST], -1, *_counts(desc, sizes[FIRST:]))
    part = columns[(batch, channels, every, *places)]
    return desc, {"input_tensor": part.reshape(len(part), -1, prod(part.shape[FIRST + 1 :]))}


OPERATORS: dict[str, Compute] = {"FOLD": fold, "UNFOLD": unfold}
CUTS: dict[str, Cut] = {"FOLD": CutRows(folded_axes, cut_image)}
