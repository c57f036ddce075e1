"""ELEMENT_WISE_BIT_AND, _OR, _XOR, _NOT, _COUNT, _SHIFT_LEFT and _SHIFT_RIGHT: elements as nothing but their bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dml_conformance.backends.reference.layout import UNSIGNED, Array, Arrays, Compute
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.structures import ElementWiseBits

_COUNTS = np.array([byte.bit_count() for byte in range(256)], np.uint8)  # bits that each byte has set


def combine(operation: Callable[[Array, Array], Array], desc: ElementWiseBits, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = operation(a[c...], b[c...]), bit by bit"""
    return {"output_tensor": operation(arrays["a_tensor"], arrays["b_tensor"])}


def invert(desc: ElementWiseBits, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = ~input[c...]"""
    return {"output_tensor": ~arrays["input_tensor"]}


def count(desc: ElementWiseBits, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = number of bits set in input[c...]"""
    source = np.ascontiguousarray(arrays["input_tensor"])
    in_bytes = source.view(np.uint8).reshape(*source.shape, source.itemsize)
    return {"output_tensor": _COUNTS[in_bytes].sum(-1, dtype=UNSIGNED[desc.output_tensor.data_type.size])}


def shift(operation: Callable[[Array, Array], Array], desc: ElementWiseBits, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = operation(a[c...], b[c...]), `<<` or `>>`; free where b[c...] is no less than the bits of a."""
    a, b = arrays["a_tensor"], arrays["b_tensor"]
    is_beyond = b >= 8 * a.itemsize
    shifted = operation(a, np.where(is_beyond, b.dtype.type(0), b))
    return {"output_tensor": Expectation(shifted, free=is_beyond if is_beyond.any() else None)}


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_BIT_AND": partial(combine, np.bitwise_and),
    "ELEMENT_WISE_BIT_OR": partial(combine, np.bitwise_or),
    "ELEMENT_WISE_BIT_XOR": partial(combine, np.bitwise_xor),
    "ELEMENT_WISE_BIT_NOT": invert,
    "ELEMENT_WISE_BIT_COUNT": count,
    "ELEMENT_WISE_BIT_SHIFT_LEFT": partial(shift, np.left_shift),
    "ELEMENT_WISE_BIT_SHIFT_RIGHT": partial(shift, np.right_shift),
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
