"""SLICE, SLICE1 and SLICE_GRAD: a block of a tensor, read with a step along each dimension."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.structures import DML_SLICE1_OPERATOR_DESC, DML_SLICE_OPERATOR_DESC, SliceGrad

Walk = tuple[int, int]  # along one dimension: the first element, and the step from each to the next


def walks(desc: DML_SLICE1_OPERATOR_DESC | SliceGrad) -> list[Walk]:
    """Where the windows of SLICE1 and SLICE_GRAD are walked: from their ends where the step is negative."""
    windows = zip(desc.input_window_offsets, desc.input_window_sizes, desc.input_window_strides, strict=True)
    return [(offset + (size - 1 if step < 0 else 0), step) for offset, size, step in windows]


def block(along: list[Walk], sizes: tuple[int, ...]) -> tuple[Any, ...]:
    """The coordinates of so many elements along each dimension: `first[d] + step[d] * c[d]`."""
    return np.ix_(*(first + step * np.arange(size) for (first, step), size in zip(along, sizes, strict=True)))


def slice_(desc: DML_SLICE_OPERATOR_DESC, arrays: Arrays) -> Arrays:
    """output[c...] = input[Offsets[d] + Strides[d] * c[d] for each d]."""
    along = list(zip(desc.offsets, desc.strides, strict=True))
    return {"output_tensor": arrays["input_tensor"][block(along, desc.output_tensor.sizes)]}


def slice1(desc: DML_SLICE1_OPERATOR_DESC, arrays: Arrays) -> Arrays:
    """output[c...] = input[first[d] + InputWindowStrides[d] * c[d] for each d]."""
    return {"output_tensor": arrays["input_tensor"][block(walks(desc), desc.output_tensor.sizes)]}


def slice_grad(desc: SliceGrad, arrays: Arrays) -> Arrays:
    """output[first[d] + InputWindowStrides[d] * c[d] for each d] = input[c...], and 0 elsewhere."""
    gradient = arrays["input_gradient_tensor"]
    output = np.zeros(desc.output_gradient_tensor.sizes, gradient.dtype)
    output[block(walks(desc), gradient.shape)] = gradient
    return {"output_gradient_tensor": output}


def cut_slice(desc: DML_SLICE_OPERATOR_DESC, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    starts = zip(desc.offsets, desc.strides, spans, strict=True)
    return msgspec.structs.replace(
        desc, offsets=tuple(first + step * span.start for first, step, span in starts)
    ), arrays


def cut_slice1(desc: DML_SLICE1_OPERATOR_DESC, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    starts = zip(walks(desc), spans, strict=True)
    return _from(desc, tuple(first + step * span.start for (first, step), span in starts)), arrays


def cut_slice_grad(desc: SliceGrad, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    gradient = arrays["input_gradient_tensor"]
    kept, firsts = [], []
    for (first, step), span, count in zip(walks(desc), spans, gradient.shape, strict=True):
        # How far from the first element the span begins and ends, in the direction of the walk.
        begin, end = span.start - first, span.stop - first
        if step < 0:
            begin, end = 1 - end, 1 - begin
        low, high = (min(max(-(-place // abs(step)), 0), count) for place in (begin, end))
        kept.append(slice(low, high))
        firsts.append(first + step * low - span.start if low < high else 0)
    return _from(desc, tuple(firsts)), {"input_gradient_tensor": gradient[tuple(kept)]}


def _from(desc: DML_SLICE1_OPERATOR_DESC | SliceGrad, firsts: tuple[int, ...]) -> Any:
    """The descriptor with windows of one element, so that the walks begin there."""
    return msgspec.structs.replace(desc, input_window_offsets=firsts, input_window_sizes=(1,) * len(firsts))


OPERATORS: dict[str, Compute] = {"SLICE": slice_, "SLICE1": slice1, "SLICE_GRAD": slice_grad}
CUTS: dict[str, Cut] = {"SLICE": cut_slice, "SLICE1": cut_slice1, "SLICE_GRAD": cut_slice_grad}
