"""NONZERO_COORDINATES: how many elements are not zero, and where they are."""

from __future__ import annotations

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits
from dml_conformance.backends.reference.operators._order import is_tiny, magnitudes
from dml_conformance.spec.expectation import PART_ELEMENTS, Expectation, nans
from dml_conformance.spec.structures import NonzeroCoordinates


def nonzero_coordinates(desc: NonzeroCoordinates, arrays: Arrays) -> dict[str, Expectation]:
    """The number of elements that are not zero and, a row each, the last of their coordinates, in row-major order.

    Rows after that number are undefined. Whether a NaN or a subnormal counts no page says: what follows is open.
    """
    source, data_type = arrays["input_tensor"], desc.input_tensor.data_type
    values = magnitudes(source) if data_type.is_float else source
    is_open = (nans(source, data_type) | is_tiny(source, data_type)) & (values != 0)
    is_open = is_open if data_type.is_float else np.zeros(source.shape, np.bool_)
    places = np.flatnonzero(values)
    open_at = np.flatnonzero(is_open)
    known = np.searchsorted(places, open_at[0]) if open_at.size else len(places)

    sizes = desc.output_coordinates_tensor.sizes
    coordinates = np.zeros(sizes[-2:], "<u4")
    for start in range(0, len(places), PART_ELEMENTS):  # NumPy makes three arrays of INT64 of all at once
        part = np.unravel_index(places[start : start + PART_ELEMENTS], source.shape)
        coordinates[start : start + len(part[0])] = np.stack(part[source.ndim - sizes[-1] :], -1)
    free = np.zeros(coordinates.shape, np.bool_)
    free[known:] = True
    count = np.full(desc.output_count_tensor.sizes, len(places), "<u4")
    return {
        "output_count_tensor": Expectation(count, free=np.full(count.shape, True) if open_at.size else None),
        "output_coordinates_tensor": Expectation(
            as_bits(coordinates, desc.output_coordinates_tensor), free=free.reshape(sizes)
        ),
    }


OPERATORS: dict[str, Compute] = {"NONZERO_COORDINATES": nonzero_coordinates}
