"""Shapes by names in the column Dimensions: `{ BatchCount, [Depth], 1, Width }`, `{ InputDimensions[] }`."""

from __future__ import annotations

import re

from dml_conformance.documents.read import words
from dml_conformance.documents.read.model import NamedShape, ShapeDimension

_SHAPE = re.compile(r"\{([^{}]*)\}")
_DIMENSION = re.compile(r"(?P<open>\[)?\s*(?P<size>\d{1,9}|[^\W\d]\w*)\s*(?P<repeated>\[\s*\])?\s*(?(open)\])")
_LONGEST = 2_000


def shapes_in(text: str) -> tuple[NamedShape, ...]:
    """The shapes of a cell, `or` or a comma between them; none where anything else is in it."""
    text = words.half_width(text[:_LONGEST]).replace("\\", "")
    shapes = [_shape(match[1]) for match in _SHAPE.finditer(text)]
    between = [part for part in _SHAPE.split(text)[::2] if part.strip()]
    if not all(map(words.is_list_word, between)):
        return ()
    known = tuple(shape for shape in shapes if shape is not None)
    return known if len(known) == len(shapes) else ()


def _shape(inside: str) -> NamedShape | None:
    dimensions = [_dimension(part.strip()) for part in inside.split(",")]
    known = tuple(dimension for dimension in dimensions if dimension is not None)
    return NamedShape(known) if len(known) == len(dimensions) else None


def _dimension(text: str) -> ShapeDimension | None:
    match = _DIMENSION.fullmatch(text)
    if match is None:
        return None
    size: int | str = int(match["size"]) if match["size"].isdecimal() else match["size"]
    return ShapeDimension(size, match["open"] is not None, match["repeated"] is not None)
