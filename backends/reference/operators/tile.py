"""TILE: the input repeated along each dimension."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute
from dml_conformance.backends.reference.movement import repeat
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.structures import Tile


def tile(desc: Tile, arrays: Arrays) -> Arrays:
    """output[c...] = input[c[d] % InputTensor.Sizes[d] for each d]."""
    return {"output_tensor": repeat(arrays["input_tensor"], desc.repeats)}


def cut(desc: Tile, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    source, repeats = arrays["input_tensor"], list(desc.repeats)
    for axis, span in enumerate(spans):
        if (span.start, span.stop) != (0, source.shape[axis] * repeats[axis]):
            source = source.take(np.arange(span.start, span.stop) % source.shape[axis], axis)
            repeats[axis] = 1
    return msgspec.structs.replace(desc, repeats=tuple(repeats)), {"input_tensor": source}


OPERATORS: dict[str, Compute] = {"TILE": tile}
CUTS: dict[str, Cut] = {"TILE": cut}
