"""ONE_HOT: sequences along one axis, all off but for the element that an index names."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import UNSIGNED, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.movement import Integers
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import with_tensors
from dml_conformance.spec.expectation import Expectation, Mask
from dml_conformance.spec.structures import OneHot
from dml_conformance.spec.tensor import TensorDesc

# What stands for an index that is too large, and for one that is negative beyond the first element.
TOO_LARGE, TOO_SMALL = 2**63 - 1, -(2**63)


def one_hot(desc: OneHot, arrays: Arrays) -> dict[str, Expectation]:
    """output[..., i, ...] = i == indices[..., 0, ...] ? on : off"""
    sizes, values = desc.output_tensor.sizes, arrays["values_tensor"]
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    named = places(indices, sizes[desc.axis])
    along = np.arange(sizes[desc.axis]).reshape([-1 if d == desc.axis else 1 for d in range(len(sizes))])
    off, on = values[np.unravel_index([0, 1], values.shape)]
    is_open: Mask = np.broadcast_to(named == TOO_SMALL, sizes)
    found = np.where(along == named, on, off)
    return {"output_tensor": Expectation(found, is_open, "values_tensor") if is_open.any() else Expectation(found)}


def places(indices: Integers, size: int) -> Integers:
    """The elements of a sequence that indices name, from 0 on; or that none is named."""
    is_large = indices >= size
    wide = np.where(is_large, 0, indices).astype(np.int64)
    found = np.where(wide < 0, wide + size, wide)
    return np.where(is_large, TOO_LARGE, np.where(found < 0, TOO_SMALL, found))


def cut(desc: OneHot, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """Indices are counted from where the box begins, as INT64."""
    axis, span = desc.axis, spans[desc.axis]
    beside = tuple(slice(None) if d == axis else along for d, along in enumerate(spans))
    indices = as_numbers(arrays["indices_tensor"][beside], desc.indices_tensor.data_type)
    named = places(indices, desc.output_tensor.sizes[axis])
    inside = (span.start <= named) & (named < span.stop)
    moved = np.where(inside, named - span.start, np.where(named == TOO_SMALL, TOO_SMALL, TOO_LARGE))
    tensor = TensorDesc.of(DataType.INT64, moved.shape)
    return with_tensors(desc, {"indices_tensor": tensor}), {**arrays, "indices_tensor": moved.view(UNSIGNED[8])}


OPERATORS: dict[str, Compute] = {"ONE_HOT": one_hot}
CUTS: dict[str, Cut] = {"ONE_HOT": cut}
