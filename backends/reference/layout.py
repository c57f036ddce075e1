"""Tensors as strided NumPy views of the bytes that they are bound to.

Moving data is bit for bit, so elements are seen as unsigned integers of their width whatever their type: no NaN is
quieted, no subnormal flushed. What is to be read as numbers is viewed as such. Source of the layout: the Strides member
of DML_BUFFER_TENSOR_DESC; an element stands at dot(coordinates, strides) elements from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Binding
from dml_conformance.spec import nibbles
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits
from dml_conformance.spec.tensor import TensorDesc

Array = npt.NDArray[Any]
Arrays = Mapping[str, Bits]  # by slot

# Tensors are little-endian on every machine.
UNSIGNED: dict[int, np.dtype[np.unsignedinteger[Any]]] = {size: np.dtype(f"<u{size}") for size in (1, 2, 4, 8)}
NUMBERS: dict[DataType, np.dtype[Any]] = {
    data_type: np.dtype(data_type.unpacked.name.lower()).newbyteorder("<") for data_type in DataType if data_type.size
}

# What an operator computes: from its descriptor and the bits of each input, by slot, those of each output; numbers of
# the output's type stand for their bits, and a `formula.Formula`, or another function of a tolerance that gives an
# enclosure, for results that are rounded.
Compute = Callable[[Any, Arrays], Mapping[str, Any]]


def bits(binding: Binding, tensor: TensorDesc) -> Bits:
    """The elements as bit patterns, in the tensor's sizes; no copy unless two share a byte, see `put`.

    Raises:
        TypeError, ValueError: the elements do not all lie inside the bound range.
    """
    if tensor.data_type.shares_bytes:
        return nibbles.elements(binding.view, tensor)
    dtype = UNSIGNED[tensor.data_type.size]
    if tensor.strides is None:
        return np.ndarray(tensor.sizes, dtype, binding.view)
    in_bytes = tuple(stride * dtype.itemsize for stride in tensor.strides)
    return np.ndarray(tensor.sizes, dtype, binding.view, strides=in_bytes)


def put(binding: Binding, tensor: TensorDesc, values: Bits) -> None:
    """Write the elements of a tensor; raises what `bits` does."""
    if tensor.data_type.shares_bytes:
        nibbles.put(binding.view, tensor, values)
    else:
        bits(binding, tensor)[...] = values


def as_numbers(array: Bits, data_type: DataType) -> Array:
    """Elements as the numbers that they are; no copy."""
    return array.view(NUMBERS[data_type])


def as_bits(array: Array, tensor: TensorDesc) -> Bits:
    """What was computed for a tensor as bits in its sizes."""
    assert array.itemsize == tensor.data_type.size, f"{array.dtype} computed for {tensor.data_type.name}"
    return array.view(UNSIGNED[array.itemsize]).reshape(tensor.sizes)
