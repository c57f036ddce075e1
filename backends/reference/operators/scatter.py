"""SCATTER and SCATTER_ND: the input with updates in the places that indices name.

Where two updates are for one place, either may be there; an index out of range may write anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.movement import Integers, last_dimensions, positions
from dml_conformance.spec.expectation import Bits, Expectation, Mask
from dml_conformance.spec.structures import DML_SCATTER_ND_OPERATOR_DESC, DML_SCATTER_OPERATOR_DESC


def scatter(desc: DML_SCATTER_OPERATOR_DESC, arrays: Arrays) -> dict[str, Expectation]:
    """output = input; output[..., indices[..., i, ...], ...] = updates[..., i, ...]; i is the coordinate along Axis."""
    output = arrays["input_tensor"].copy("C")
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    places, outside = positions(indices, output.shape[desc.axis])
    np.put_along_axis(output, places, arrays["updates_tensor"], desc.axis)
    writers = np.empty(output.shape, np.intp)
    number = np.arange(places.size).reshape(places.shape)
    np.put_along_axis(writers, places, number, desc.axis)
    contested = np.take_along_axis(writers, places, desc.axis) != number
    one_of = np.zeros(output.shape, np.bool_)
    if contested.any():
        np.logical_or.at(one_of.reshape(-1), _flat(output.shape, desc.axis, places)[contested], True)
    return _expected(output, one_of, outside is not None)


def scatter_nd(desc: DML_SCATTER_ND_OPERATOR_DESC, arrays: Arrays) -> dict[str, Expectation]:
    """output = input; output[indices[i..., :]..., rest...] = updates[i..., rest...]."""
    output = arrays["input_tensor"].copy("C")
    blocks = last_dimensions(output, desc.input_dimension_count)
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    indices = last_dimensions(indices, desc.indices_dimension_count)
    number: Any = 0
    is_outside = False
    for d in range(indices.shape[-1]):
        place, outside = positions(indices[..., d], blocks.shape[d])
        number = number * blocks.shape[d] + place.astype(np.intp)
        is_outside |= outside is not None
    rows = blocks.reshape(-1, *blocks.shape[indices.shape[-1] :])  # one for each tuple that there can be
    rows[number.reshape(-1)] = arrays["updates_tensor"].reshape(number.size, *rows.shape[1:])
    one_of = np.zeros(output.shape, np.bool_)
    named, times = np.unique(number, return_counts=True)
    one_of.reshape(rows.shape)[named[times > 1]] = True
    return _expected(output, one_of, is_outside)


def _flat(sizes: tuple[int, ...], axis: int, places: Integers) -> Integers:
    """The numbers of the elements that places along an axis name."""
    coordinates: list[Integers] = list(np.ix_(*map(np.arange, places.shape)))
    coordinates[axis] = places
    return np.ravel_multi_index(np.broadcast_arrays(*coordinates), sizes)


def _expected(output: Bits, one_of: Mask, is_outside: bool) -> dict[str, Expectation]:
    if is_outside:
        return {"output_tensor": Expectation(output, free=np.ones(output.shape, np.bool_))}
    if one_of.any():
        return {"output_tensor": Expectation(output, one_of, "updates_tensor")}
    return {"output_tensor": Expectation(output)}


OPERATORS: dict[str, Compute] = {"SCATTER": scatter, "SCATTER_ND": scatter_nd}
