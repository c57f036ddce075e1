"""Elements of 4 bits, of which two share a byte, the first one in its low half.

They are computed with as elements of 8 bits. Source: the page of DML_TENSOR_DATA_TYPE; erratum TENSOR-4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits
from dml_conformance.spec.tensor import TensorDesc, implied_size_in_bytes

Bytes = npt.NDArray[np.uint8]


def extended(elements: Bytes, data_type: DataType) -> Bytes:
    """Bytes whose high half follows from the low one: the sign, or 0."""
    low = np.bitwise_and(elements, 15, dtype=np.uint8)
    return np.subtract(low ^ 8, 8, dtype=np.uint8) if data_type.is_signed_integer else low


def unpacked(content: Bytes, data_type: DataType) -> Bytes:
    """Every element in a byte of its own, two for each byte."""
    return extended(np.stack((content, content >> 4), -1).reshape(-1), data_type)


def packed(elements: Bytes) -> Bytes:
    """An even number of elements, two in each byte."""
    found: Bytes = np.bitwise_or(elements[0::2] & 15, elements[1::2] << 4, dtype=np.uint8)
    return found


def elements(memory: Bytes, tensor: TensorDesc) -> Bits:
    """A copy of the elements of a tensor that begins where memory does, in its sizes."""
    return _strided(unpacked(memory[: _size(tensor)], tensor.data_type), tensor)


def put(memory: Bytes, tensor: TensorDesc, values: Bits) -> None:
    """Write elements to their places; those between them, padding, keep their values."""
    every = unpacked(memory[: _size(tensor)], tensor.data_type)
    _strided(every, tensor)[...] = values
    memory[: _size(tensor)] = packed(every)


def _size(tensor: TensorDesc) -> int:
    return implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)


def _strided(every: Bytes, tensor: TensorDesc) -> Bits:
    return np.ndarray(tensor.sizes, np.uint8, every, strides=tensor.effective_strides)
