"""From bound resources to torch tensors and back: strides, offsets, and the way to a device.

Elements are viewed as signed integers of their width (torch has few kernels for unsigned types, and floats may lose
NaN payloads on the way), or as the numbers that they are where an operator asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

from dml_conformance.backends.base import Binding, BoundTensor, Bytes, looked_at
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import TensorDesc, implied_size_in_bytes

BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
NUMBERS = {data_type: getattr(torch, data_type.unpacked.name.lower()) for data_type in DataType if data_type.size}
RESOURCE_ALIGNMENT = 256  # bytes; a multiple of every element size and of what a binding's offset is a multiple of
MOST_PINNED = 64 * 2**20  # bytes through which everything travels; torch keeps pinned memory for reuse


def element_type(tensor: TensorDesc, as_numbers: bool) -> torch.dtype:
    """The torch type that a described tensor's elements are viewed as."""
    return NUMBERS[tensor.data_type] if as_numbers else BITS[tensor.data_type.size]


def viewed(resource: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes as elements; those at the end that make no whole one are left out."""
    size, length = dtype.itemsize, resource.shape[0]
    return (resource if length % size == 0 else resource[: length - length % size]).view(dtype)


def strided_view(elements: Tensor, start: int, tensor: TensorDesc) -> Tensor:
    """The described elements in a resource.

    Args:
        elements: the resource, viewed as elements of the type wanted.
        start: byte at which the tensor starts, a multiple of the element size.
        tensor: its sizes and strides.

    Raises:
        RuntimeError: from torch, if an element stands outside the storage.
    """
    strides, first = tensor.strides, start // elements.itemsize
    if strides is None:
        sizes = tensor.sizes
        return elements.narrow(0, first, math.prod(sizes)).view(sizes)
    return elements.as_strided(tensor.sizes, strides, first)


class UnpackedElements:
    """Elements of 4 bits, of which two share a byte, each in a byte of its own.

    Args:
        resource: the bytes that hold the tensor.
        tensor: the tensor.

    Attributes:
        elements: in the tensor's sizes.
    """

    def __init__(self, resource: Tensor, tensor: TensorDesc) -> None:
        self._resource = resource
        halves = torch.stack((resource & 15, resource >> 4), -1).reshape(-1).view(torch.int8)
        self._every = (halves ^ 8) - 8 if tensor.data_type.is_signed_integer else halves
        self.elements = strided_view(self._every, 0, tensor)

    def write_back(self) -> None:
        """Bring what the elements are now to where they came from."""
        low, high = self._every.view(torch.uint8).view(-1, 2).unbind(-1)
        self._resource.copy_(low & 15 | high << 4)


def held_in_bytes(tensor: TensorDesc) -> TensorDesc:
    """The bytes that hold a tensor's elements, as a tensor."""
    return TensorDesc.of(DataType.UINT8, (implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides),))


def fill(target: Tensor, result: Tensor) -> None:
    """Put what an operator has made into an output's place, where it is not already.

    Args:
        target: the place, as bits.
        result: bits or numbers of the same width.

    Raises:
        ValueError: they are not of the same sizes or width.
    """
    if result is target:
        return
    if result.shape != target.shape or result.itemsize != target.itemsize:
        found = f"{result.dtype} of sizes {tuple(result.shape)}"
        raise ValueError(f"an operator gives {found} for {target.itemsize} bytes each of {tuple(target.shape)}")
    target.copy_(result if result.dtype is target.dtype else result.view(target.dtype))


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
        return strided_view(viewed(torch.from_numpy(_writeable(binding.buffer)), dtype), binding.offset, tensor)

    def write_back(self, outputs: Iterable[Binding]) -> None:
        """Nothing: what was written was written in place."""


def _writeable(resource: Bytes) -> Bytes:
    """The resource where it lies, as torch has no read-only tensors; a copy of one that nobody may write."""
    if resource.flags.writeable:
        return resource
    resource = resource.view()
    try:
        resource.flags.writeable = True
    except ValueError:
        return resource.copy()
    return resource


class StagedCopy:
    """A copy of arrays on a device, all in one allocation so that one transfer takes small ones there.

    Args:
        arrays: of bytes.
        device: one of CUDA's.
        parts: of each array that are copied; None = all of each.

    Attributes:
        memory: on the device.
        places: of the arrays in it.
    """

    def __init__(
        self, arrays: Sequence[Bytes], device: torch.device, parts: Sequence[Sequence[slice]] | None = None
    ) -> None:
        self._arrays = arrays
        self._parts = parts or [[slice(0, len(array))] for array in arrays]
        self.places: list[slice] = []
        end = 0
        for array in arrays:
            self.places.append(slice(end, end + len(array)))
            end += -(-len(array) // RESOURCE_ALIGNMENT) * RESOURCE_ALIGNMENT
        self._host = torch.empty(min(end, MOST_PINNED), dtype=torch.uint8, pin_memory=True)
        self.memory = torch.empty(end, dtype=torch.uint8, device=device)
        staged = self._host.numpy()
        if end <= MOST_PINNED:
            for array, place in zip(arrays, self.places, strict=True):
                staged[place] = array
            self.memory.copy_(self._host, non_blocking=True)
            return
        for number in range(len(arrays)):
            for part, there in self._stretches(number):
                staged[: len(part)] = part
                there.copy_(self._host[: len(part)])

    def bring_back(self, numbers: Sequence[int]) -> None:
        """Copy the arrays of these numbers, whole, to where they came from; waits for the device."""
        staged = self._host.numpy()
        if len(self.memory) > MOST_PINNED:
            for number in numbers:
                for part, there in self._stretches(number):
                    self._host[: len(part)].copy_(there)
                    part[:] = staged[: len(part)]
            return
        for place in (self.places[number] for number in numbers):
            self._host[place].copy_(self.memory[place], non_blocking=True)
        torch.cuda.current_stream(self.memory.device).synchronize()
        for number in numbers:
            self._arrays[number][:] = staged[self.places[number]]

    def _stretches(self, number: int) -> Iterator[tuple[Bytes, Tensor]]:
        """What is copied of an array in pieces that pinned memory has room for, and each one's place on the device."""
        array, first = self._arrays[number], self.places[number].start
        for part in self._parts[number]:
            for start in range(part.start, part.stop, MOST_PINNED):
                stop = min(start + MOST_PINNED, part.stop)
                yield array[start:stop], self.memory[first + start : first + stop]


class DeviceResources:
    """Copies of resources on a CUDA device.

    A resource that is bound more than once is copied once, so that its bindings share memory on the device too.
    """

    def __init__(self, bindings: Iterable[tuple[Binding, TensorDesc]], device: torch.device) -> None:
        bound: dict[int, list[BoundTensor]] = {}
        buffers: dict[int, Bytes] = {}
        for (buffer, start, size), tensor in bindings:
            buffers[id(buffer)] = buffer
            bound.setdefault(id(buffer), []).append(BoundTensor(start, size, tensor))
        self._numbers = {identity: number for number, identity in enumerate(bound)}
        parts = [looked_at(len(buffers[identity]), tensors) for identity, tensors in bound.items()]
        self._copy = StagedCopy(list(buffers.values()), device, parts)

    def view(self, binding: Binding, tensor: TensorDesc, dtype: torch.dtype) -> Tensor:
        start = self._copy.places[self._numbers[id(binding.buffer)]].start
        return strided_view(viewed(self._copy.memory, dtype), start + binding.offset, tensor)

    def write_back(self, outputs: Iterable[Binding]) -> None:
        """Copy the outputs' whole resources to where they came from; waits for the device."""
        self._copy.bring_back(sorted({self._numbers[id(binding.buffer)] for binding in outputs}))
