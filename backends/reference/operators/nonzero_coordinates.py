"""NONZERO_COORDINATES: how many elements are not zero, and where they are."""

from __future__ import annotations

from math import prod

import numpy as np

from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits
from dml_conformance.backends.reference.operators._order import is_tiny, magnitudes
from dml_conformance.spec.expectation import PART_ELEMENTS, Expectation, nans
from dml_conformance.spec.structures import NonzeroCoordinates


def nonzero_coordinates(desc: NonzeroCoordinates, arrays: Arrays) -> dict[str, Expectation]:
    """The number of elements that are not zero and, a row each, the last of their coordinates, in row-major order.

    Rows after that number are undefined. Whether a NaN or a subnormal counts no page says: what follows is open.
    """
    data_type, sizes = desc.input_tensor.data_type, desc.output_coordinates_tensor.sizes
    elements = arrays["input_tensor"].reshape(-1)
    last = desc.input_tensor.sizes[-sizes[-1] :]
    is_row = last == (elements.size,)
    coordinates = np.zeros(sizes[-2:], "<u4")
    found, known = 0, None  # rows, and those before the first that is open
    for start in range(0, elements.size, PART_ELEMENTS):  # NumPy makes several arrays of INT64 of all at once
        part = elements[start : start + PART_ELEMENTS]
        values = magnitudes(part) if data_type.is_float else part
        places = np.flatnonzero(values)
        if data_type.is_float and known is None:
            open_at = np.flatnonzero((nans(part, data_type) | is_tiny(part, data_type)) & (values != 0))
            known = found + int(np.searchsorted(places, open_at[0])) if open_at.size else None
        places += start
        row = places[:, None] if is_row else np.stack(np.unravel_index(places % prod(last), last), -1)
        coordinates[found : found + len(places)] = row
        found += len(places)
    free = np.zeros(coordinates.shape, np.bool_)
    free[found if known is None else known :] = True
    count = np.full(desc.output_count_tensor.sizes, found, "<u4")
    return {
        "output_count_tensor": Expectation(count, free=None if known is None else np.full(count.shape, True)),
        "output_coordinates_tensor": Expectation(
            as_bits(coordinates, desc.output_coordinates_tensor), free=free.reshape(sizes)
        ),
    }


OPERATORS: dict[str, Compute] = {"NONZERO_COORDINATES": nonzero_coordinates}
