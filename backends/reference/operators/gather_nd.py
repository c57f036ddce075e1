"""GATHER_ND and GATHER_ND1: blocks of the input, each named by a tuple of indices.

Source: the operators' pages, with the corrected sizes (errata GATHER_ND-1, GATHER_ND1-1).
"""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.movement import Integers, expected, last_dimensions, positions, take_blocks
from dml_conformance.backends.reference.parts import Cut, Spans, aligned
from dml_conformance.spec.expectation import Expectation, Mask
from dml_conformance.spec.structures import GatherNd


def gather_nd(desc: GatherNd, arrays: Arrays) -> dict[str, Expectation]:
    """output[b..., i..., rest...] = input[b..., indices[b..., i..., :]..., rest...].

    b runs over the batches, which GATHER_ND has none of.
    """
    batches = getattr(desc, "batch_dimension_count", 0)
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    source = last_dimensions(arrays["input_tensor"], desc.input_dimension_count)
    indices = last_dimensions(indices, desc.indices_dimension_count)
    places: list[Integers] = []
    outside: Mask | None = None
    for coordinate in range(indices.shape[-1]):
        place, wrong = positions(indices[..., coordinate], source.shape[batches + coordinate])
        places.append(place)
        if wrong is not None:
            outside = wrong if outside is None else outside | wrong
    return expected(take_blocks(source, batches, places), outside, desc)


def cut(desc: GatherNd, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    source: Any = arrays["input_tensor"]
    indices: Any = arrays["indices_tensor"]
    batches = getattr(desc, "batch_dimension_count", 0)
    index_rank, source_rank = desc.indices_dimension_count - 1, desc.input_dimension_count
    addressed = batches + indices.shape[-1]
    spans = aligned(spans, index_rank + source_rank - addressed)
    unaddressed = spans[index_rank:]
    kept = (*spans[:batches], *(slice(None),) * indices.shape[-1], *unaddressed)
    return desc, {
        "input_tensor": source[(..., *kept)],
        "indices_tensor": indices[(..., *spans[:index_rank], slice(None))],
    }


OPERATORS: dict[str, Compute] = {"GATHER_ND": gather_nd, "GATHER_ND1": gather_nd}
CUTS: dict[str, Cut] = {"GATHER_ND": cut, "GATHER_ND1": cut}
