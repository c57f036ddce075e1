"""UNFOLD and FOLD: windows that slide over an image become the columns of a matrix, and are added up again."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.layout import NUMBERS, Arrays, Compute, as_numbers
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.operator import Misfit
from dml_conformance.spec.operators._windows import FIRST, windows_of

Array = npt.NDArray[Any]


def unfold(desc: Any, arrays: Arrays) -> Arrays:
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


def fold(desc: Any, arrays: Arrays) -> dict[str, Expectation]:
    """output = 0; output[n, c, b * Strides + w * Dilations - StartPadding] += input[n, (c, w), b].

    Sums are exact where they are of whole numbers that the type has all of; anything else may be added up in any order
    and precision, and is not judged.
    """
    data_type, shown = desc.output_tensor.data_type, desc.output_tensor.sizes
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    counts = _counts(desc, shown[FIRST:])
    columns = numbers.astype(np.float64).reshape(*shown[:2], *desc.window_sizes, *counts)
    sums = _added(desc, columns, counts)
    result_type = NUMBERS[data_type]
    with np.errstate(invalid="ignore", over="ignore"):
        values = sums.astype(result_type)
    whole = np.isfinite(columns) & (columns == np.trunc(columns)) & ~((columns == 0) & np.signbit(columns))
    exact_below = 2.0 ** (np.finfo(result_type).nmant + 1) if data_type.is_float else 2.0**52
    magnitudes = _added(desc, np.where(whole, np.abs(columns), np.inf), counts)
    free = ~(magnitudes < exact_below)
    return {"output_tensor": Expectation(values, free=free if free.any() else None)}


def _counts(desc: Any, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """How many windows there are along each spatial dimension."""
    windows = windows_of(desc, desc.window_sizes, len(spatial))
    assert not isinstance(windows, Misfit), "the shapes follow from a valid descriptor"
    return tuple(window.count(size) for window, size in zip(windows, spatial, strict=True))


def _added(desc: Any, columns: Array, counts: tuple[int, ...]) -> Array:
    """Each element of the windows at its place in the image."""
    sizes = desc.output_tensor.sizes
    before, behind = desc.start_padding, desc.end_padding
    spatial = [size + first + last for size, first, last in zip(sizes[2:], before, behind, strict=True)]
    padded = np.zeros((*sizes[:2], *spatial), columns.dtype)
    for place in product(*map(range, desc.window_sizes)):
        at: Any = (slice(None), slice(None), *place)
        padded[_seen(desc, place, counts)] += columns[at]
    inside: Any = [slice(first, first + size) for first, size in zip(before, sizes[2:], strict=True)]
    return padded[(slice(None), slice(None), *inside)]


def _seen(desc: Any, place: tuple[int, ...], counts: tuple[int, ...]) -> tuple[Any, ...]:
    """Where on the padded image all windows have the element at a place in them."""
    along = zip(place, desc.dilations, desc.strides, counts, strict=True)
    steps: Any = [
        slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride) for at, dilation, stride, count in along
    ]
    return (slice(None), slice(None), *steps)


OPERATORS: dict[str, Compute] = {"FOLD": fold, "UNFOLD": unfold}
