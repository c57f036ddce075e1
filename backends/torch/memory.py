"""From bound resources to torch tensors and back: strides, offsets, and the way to a device.

Elements are viewed as signed integers of their width (torch has few kernels for unsigned types, and floats may lose
NaN payloads on the way); index tensors as what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from dml_conformance.backends.base import Binding, Bytes
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import TensorDesc

BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
INDEX = {
    DataType.INT32: torch.int32,
    DataType.INT64: torch.int64,
    DataType.UINT32: torch.uint32,
    DataType.UINT64: torch.uint64,
}
RESOURCE_ALIGNMENT = 256  # bytes; a multiple of every element size and of what a binding's offset is a multiple of
MOST_PINNED = 64 * 2**20  # bytes; torch keeps pinned memory for reuse, so a large resource goes without


def element_type(tensor: TensorDesc, is_index: bool) -> torch.dtype:
    """The torch type that a described tensor's elements are viewed as."""
    return INDEX[tensor.data_type] if is_index else BITS[tensor.data_type.size]


def strided_view(resource: Tensor, start: int, tensor: TensorDesc, dtype: torch.dtype) -> Tensor:
    """The described elements in a resource.

    Args:
        resource: bytes, one dimension, all of their storage.
        start: byte at which the tensor starts, a multiple of the element size.
        tensor: its sizes and strides.
        dtype: what its elements are viewed as.

    Raises:
        RuntimeError: from torch, if an element stands outside the storage.
    """
    size = dtype.itemsize
    length = resource.shape[0]
    whole = resource if length % size == 0 else resource[: length - length % size]
    elements = whole.view(dtype)
    if tensor.strides is None:
        count = tensor.element_count
        return elements.narrow(0, start // size, count).view(tensor.sizes)
    return elements.as_strided(tensor.sizes, tensor.strides, start // size)


class Resources(Protocol):
    """Where the bindings of a case lie as torch sees them."""

    def view(self, binding: Binding, tensor: TensorDesc, dtype: torch.dtype) -> Tensor:
        """The elements of a bound tensor."""


class HostResources:
    """Resources that the CPU works on where they lie."""

    def __init__(self, outputs: Iterable[Binding]) -> None:
        for binding in outputs:
            if not binding.buffer.flags.writeable:
                raise ValueError("an output is bound to a resource that is read-only")

    def view(self, binding: Binding, tensor: TensorDesc, dtype: torch.dtype) -> Tensor:
        buffer = binding.buffer
        if not buffer.flags.writeable:  # torch has no read-only tensors and warns of an array that is
            buffer = buffer.copy()
        return strided_view(torch.from_numpy(buffer), binding.offset, tensor, dtype)

    def write_back(self, outputs: Iterable[Binding]) -> None:
        """Nothing: what was written was written in place."""


class StagedCopy:
    """A copy of arrays on a device, all in one allocation so that one transfer takes them there.

    Args:
        arrays: of bytes.
        device: one of CUDA's.

    Attributes:
        memory: on the device.
        places: of the arrays in it.
    """

    def __init__(self, arrays: Sequence[Bytes], device: torch.device) -> None:
        self._arrays = arrays
        self.places: list[slice] = []
        end = 0
        for array in arrays:
            self.places.append(slice(end, end + len(array)))
            end += -(-len(array) // RESOURCE_ALIGNMENT) * RESOURCE_ALIGNMENT
        self._host = torch.empty(end, dtype=torch.uint8, pin_memory=end <= MOST_PINNED)
        staged = self._host.numpy()
        for array, place in zip(arrays, self.places, strict=True):
            staged[place] = array
        self.memory = torch.empty(end, dtype=torch.uint8, device=device)
        self.memory.copy_(self._host, non_blocking=True)

    def bring_back(self, numbers: Sequence[int]) -> None:
        """Copy the arrays of these numbers, whole, to where they came from; waits for the device."""
        for place in (self.places[number] for number in numbers):
            self._host[place].copy_(self.memory[place], non_blocking=True)
        torch.cuda.current_stream(self.memory.device).synchronize()
        staged = self._host.numpy()
        for number in numbers:
            self._arrays[number][:] = staged[self.places[number]]


class DeviceResources:
    """Copies of resources on a CUDA device.

    A resource that is bound more than once is copied once, so that its bindings share memory on the device too.
    """

    def __init__(self, bindings: Iterable[Binding], device: torch.device) -> None:
        buffers = {id(binding.buffer): binding.buffer for binding in bindings}
        self._numbers = {identity: number for number, identity in enumerate(buffers)}
        self._copy = StagedCopy(list(buffers.values()), device)

    def view(self, binding: Binding, tensor: TensorDesc, dtype: torch.dtype) -> Tensor:
        start = self._copy.places[self._numbers[id(binding.buffer)]].start
        return strided_view(self._copy.memory, start + binding.offset, tensor, dtype)

    def write_back(self, outputs: Iterable[Binding]) -> None:
        """Copy the outputs' whole resources to where they came from; waits for the device."""
        self._copy.bring_back([self._numbers[id(binding.buffer)] for binding in outputs])
