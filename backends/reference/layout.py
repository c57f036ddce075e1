"""Tensors as strided NumPy views of the bytes that they are bound to.

Moving data is bit for bit, so elements are seen as unsigned integers of their width whatever their type: no NaN is
quieted, no subnormal flushed. Only index tensors are read as the numbers that they hold. Source of the layout: the
Strides member of DML_BUFFER_TENSOR_DESC; an element stands at dot(coordinates, strides) elements from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Binding
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import TensorDesc

Bits = npt.NDArray[np.unsignedinteger[Any]]
Integers = npt.NDArray[np.integer[Any]]

# Tensors are little-endian on every machine.
UNSIGNED: dict[int, np.dtype[np.unsignedinteger[Any]]] = {size: np.dtype(f"<u{size}") for size in (1, 2, 4, 8)}
_NUMBERS: dict[DataType, np.dtype[np.integer[Any]]] = {
    DataType.INT32: np.dtype("<i4"),
    DataType.INT64: np.dtype("<i8"),
    DataType.UINT32: np.dtype("<u4"),
    DataType.UINT64: np.dtype("<u8"),
}


def bits(binding: Binding, tensor: TensorDesc) -> Bits:
    """The elements as bit patterns, in the tensor's sizes; no copy, so writing to it writes to the buffer.

    Raises:
        TypeError, ValueError: the elements do not all lie inside the bound range.
    """
    return _view(binding, tensor, UNSIGNED[tensor.data_type.size])


def indices(binding: Binding, tensor: TensorDesc) -> Integers:
    """The elements of an index tensor as numbers, in the tensor's sizes; no copy.

    Raises:
        TypeError, ValueError: the elements do not all lie inside the bound range.
    """
    return _view(binding, tensor, _NUMBERS[tensor.data_type])


def _view(binding: Binding, tensor: TensorDesc, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if tensor.strides is None:
        return np.ndarray(tensor.sizes, dtype, binding.view)
    in_bytes = tuple(stride * dtype.itemsize for stride in tensor.strides)
    return np.ndarray(tensor.sizes, dtype, binding.view, strides=in_bytes)
