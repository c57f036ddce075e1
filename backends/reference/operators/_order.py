"""Which elements have no order that every implementation agrees on.

No page says where a NaN stands among numbers, whether the two zeros are equal where elements are compared, or whether a
subnormal counts as zero, as Direct3D allows it to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Mask, nans

# By bytes of an element: bits of the least normal number of that type.
_LEAST_NORMAL = {2: 1 << 10, 4: 1 << 23, 8: 1 << 52}


class Unordered(NamedTuple):
    """Elements of sequences, in their shape.

    Attributes:
        whole: those of sequences with a NaN, where nothing is known of the order.
        tiny: zeros and subnormals of sequences in which these are not all +0, or all -0; which of them comes before
            which is not known.
    """

    whole: Mask
    tiny: Mask


def magnitudes(elements: Bits) -> Bits:
    """The bits of floats without their sign."""
    return elements & elements.dtype.type(2 ** (8 * elements.itemsize - 1) - 1)


def is_tiny(elements: Bits, data_type: DataType) -> Mask:
    """Zeros and subnormals; none of integers."""
    if not data_type.is_float:
        return np.zeros(elements.shape, np.bool_)
    return np.asarray(magnitudes(elements) < _LEAST_NORMAL[elements.itemsize])


def unordered(elements: Bits, data_type: DataType, axis: int) -> Unordered | None:
    """Of the sequences along an axis; None where all have an order."""
    if not data_type.is_float:
        return None
    whole, tiny = nans(elements, data_type).any(axis, keepdims=True), is_tiny(elements, data_type)
    first = np.take_along_axis(elements, tiny.argmax(axis, keepdims=True), axis)
    differ = tiny & ((elements != first) | (magnitudes(elements) != 0))
    found = Unordered(np.broadcast_to(whole, elements.shape), tiny & differ.any(axis, keepdims=True))
    return found if found.whole.any() or found.tiny.any() else None
