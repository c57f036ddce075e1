"""GATHER: slices of the input along one axis, chosen and arranged by an index tensor."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.movement import expected, last_dimensions, positions, take_slices
from dml_conformance.backends.reference.parts import Cut, Spans, aligned
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import Gather


def gather(desc: Gather, arrays: Arrays) -> dict[str, Expectation]:
    """output[before..., i..., after...] = input[before..., indices[i...], after...], right-aligned.

    `i` runs over the last IndexDimensions dimensions of the indices. An output of too many dimensions loses leading
    ones, one of too few gains them.
    """
    source, indices = arrays["input_tensor"], as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    places, outside = positions(last_dimensions(indices, desc.index_dimensions), source.shape[desc.axis])
    values = take_slices(source, desc.axis, places)
    if outside is not None:
        outside = outside.reshape((1,) * desc.axis + outside.shape)
    return expected(values, outside, desc)


def cut(desc: Gather, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    source: Any = arrays["input_tensor"]
    indices: Any = arrays["indices_tensor"]
    index_rank = desc.index_dimensions
    spans = aligned(spans, source.ndim - 1 + index_rank)
    before, middle, after = (
        spans[: desc.axis],
        spans[desc.axis : desc.axis + index_rank],
        spans[desc.axis + index_rank :],
    )
    return desc, {"input_tensor": source[(*before, slice(None), *after)], "indices_tensor": indices[(..., *middle)]}


OPERATORS: dict[str, Compute] = {"GATHER": gather}
CUTS: dict[str, Cut] = {"GATHER": cut}
