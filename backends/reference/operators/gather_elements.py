"""GATHER_ELEMENTS: elements of the input, one for each index."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.movement import expected, positions, take_elements
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import GatherElements


def gather_elements(desc: GatherElements, arrays: Arrays) -> dict[str, Expectation]:
    """output[..., i, ...] = input[..., indices[..., i, ...], ...]; i is the coordinate along Axis."""
    source, indices = arrays["input_tensor"], as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    places, outside = positions(indices, source.shape[desc.axis])
    return expected(take_elements(source, desc.axis, places), outside, desc)


def cut(desc: GatherElements, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    along = tuple(slice(None) if axis == desc.axis else span for axis, span in enumerate(spans))
    return desc, {
        "input_tensor": arrays["input_tensor"][along],
        "indices_tensor": arrays["indices_tensor"][tuple(spans)],
    }


OPERATORS: dict[str, Compute] = {"GATHER_ELEMENTS": gather_elements}
CUTS: dict[str, Cut] = {"GATHER_ELEMENTS": cut}
