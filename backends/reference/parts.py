"""What an output holds that is too large to be held twice: part by part, in row-major order.

A part is a box of coordinates. An operator's own function computes it, from inputs that are cut to what the box needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import layout
from dml_conformance.backends.reference.operators import OPERATORS, OUTPUT, Box, Result, last_dimensions
from dml_conformance.spec.operator import OperatorDesc

PART_ELEMENTS = 2**20

Spans = Sequence[slice]
# The descriptor and input tensors of an operator whose output is the box of the given spans alone.
Cut = Callable[..., tuple[Any, ...]]


class LargeResult:
    """What an output tensor has to hold, computed anew each time that it is asked for.

    Args:
        desc: a descriptor that is valid.
        inputs: the bound input tensors by Python attribute name; they must stay as they are.
    """

    def __init__(self, desc: OperatorDesc, inputs: Mapping[str, Binding]) -> None:
        self._desc = desc
        self._tensor = getattr(desc, OUTPUT)
        self._tensors = [
            read(inputs[name], getattr(desc, name)) for name, read in OPERATORS[desc.operator].inputs.items()
        ]

    def parts(self) -> Iterator[tuple[Box, Result]]:
        """The boxes of at most `PART_ELEMENTS` elements, and what each holds."""
        for box in boxes(self._tensor.sizes, PART_ELEMENTS):
            yield box, self._part(box)

    def at(self, coordinates: tuple[int, ...]) -> tuple[int, bool]:
        """An element's bit pattern, and whether it is left open."""
        return self._part(tuple(slice(place, place + 1) for place in coordinates)).at((0,) * len(coordinates))

    def _part(self, box: Box) -> Result:
        desc, *tensors = CUTS[self._desc.operator](self._desc, box, *self._tensors)
        unsigned = layout.UNSIGNED[self._tensor.data_type.size]
        out = np.empty([span.stop - span.start for span in box], unsigned)
        return Result(out, OPERATORS[desc.operator].compute(desc, *tensors, out))


def boxes(sizes: Sequence[int], most: int) -> Iterator[Box]:
    """Boxes that a tensor of these sizes is made of, each of consecutive elements, in order."""
    axis = next(axis for axis in range(len(sizes)) if prod(sizes[axis + 1 :]) <= most)
    step = max(1, most // prod(sizes[axis + 1 :]))
    whole = tuple(slice(0, size) for size in sizes[axis + 1 :])
    for outer in product(*map(range, sizes[:axis])):
        for start in range(0, sizes[axis], step):
            along = slice(start, min(start + step, sizes[axis]))
            yield (*(slice(place, place + 1) for place in outer), along, *whole)


def _cut_gather(desc: Any, spans: Spans, source: Any, indices: Any) -> tuple[Any, ...]:
    index_rank = last_dimensions(indices, desc.index_dimensions).ndim
    spans = _aligned(spans, source.ndim - 1 + index_rank)
    before, middle, after = (
        spans[: desc.axis],
        spans[desc.axis : desc.axis + index_rank],
        spans[desc.axis + index_rank :],
    )
    return desc, source[(*before, slice(None), *after)], indices[(..., *middle)]


def _cut_gather_elements(desc: Any, spans: Spans, source: Any, indices: Any) -> tuple[Any, ...]:
    along = tuple(slice(None) if axis == desc.axis else span for axis, span in enumerate(spans))
    return desc, source[along], indices[tuple(spans)]


def _cut_gather_nd(desc: Any, spans: Spans, source: Any, indices: Any) -> tuple[Any, ...]:
    batches = getattr(desc, "batch_dimension_count", 0)
    index_rank, source_rank = desc.indices_dimension_count - 1, desc.input_dimension_count
    addressed = batches + indices.shape[-1]
    spans = _aligned(spans, index_rank + source_rank - addressed)
    unaddressed = spans[index_rank:]
    kept = (*spans[:batches], *(slice(None),) * indices.shape[-1], *unaddressed)
    return desc, source[(..., *kept)], indices[(..., *spans[:index_rank], slice(None))]


def _cut_tile(desc: Any, spans: Spans, source: Any) -> tuple[Any, ...]:
    repeats = list(desc.repeats)
    for axis, span in enumerate(spans):
        if (span.start, span.stop) != (0, source.shape[axis] * repeats[axis]):
            source = source.take(np.arange(span.start, span.stop) % source.shape[axis], axis)
            repeats[axis] = 1
    return msgspec.structs.replace(desc, repeats=tuple(repeats)), source


def _aligned(spans: Spans, rank: int) -> tuple[slice, ...]:
    """The spans of the last `rank` dimensions; where there are fewer, ones are missing in front."""
    return (*(slice(0, 1),) * (rank - len(spans)), *spans[max(0, len(spans) - rank) :])


CUTS: Mapping[str, Cut] = {
    "GATHER": _cut_gather,
    "TILE": _cut_tile,
    "GATHER_ELEMENTS": _cut_gather_elements,
    "GATHER_ND": _cut_gather_nd,
    "GATHER_ND1": _cut_gather_nd,
}
