"""From bound memory to arrays and back: strides, the order of dimensions, 4-bit elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.onnxruntime.graph import FormLayout, numpy_type
from dml_conformance.spec import nibbles
from dml_conformance.spec.tensor import TensorDesc

Array = np.ndarray[Any, Any]


def read(binding: Binding, tensor: TensorDesc, layout: FormLayout) -> Array:
    """A copy of a bound tensor in a layout, packed."""
    if tensor.data_type.shares_bytes:
        elements = nibbles.elements(binding.view, tensor)
    else:
        elements = _strided(binding, tensor, numpy_type(layout.kind))
    if layout.order is not None:
        elements = elements.transpose(layout.order)
    array = np.ascontiguousarray(elements).view(numpy_type(layout.kind))
    return array if layout.sizes is None else array.reshape(layout.sizes)


def write(binding: Binding, tensor: TensorDesc, layout: FormLayout, array: Array) -> None:
    """Put an array in a layout into a bound tensor.

    Raises:
        ValueError: it has another number of elements.
    """
    order = layout.order or tuple(range(len(tensor.sizes)))
    sizes = [tensor.sizes[each] for each in order]
    if array.size != math.prod(sizes):
        raise ValueError(f"ONNX Runtime gives sizes {list(array.shape)} for {layout.key} of {list(tensor.sizes)}")
    elements = array.reshape(sizes).transpose(np.argsort(order))
    if tensor.data_type.shares_bytes:
        nibbles.put(binding.view, tensor, elements.view(np.uint8))
    else:
        _strided(binding, tensor, numpy_type(layout.kind))[...] = elements


def _strided(binding: Binding, tensor: TensorDesc, kind: np.dtype[Any]) -> Array:
    """The described elements where they lie."""
    strides = [each * kind.itemsize for each in tensor.effective_strides]
    return np.ndarray(tensor.sizes, kind, binding.buffer, binding.offset, strides)
