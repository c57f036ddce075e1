"""A second reference, slow on purpose: the pages' pseudocode, one output element at a time, in plain Python.

It shares nothing with the fast one: no arrays, no views, no vectors. Memory is a run of bytes, an element stands at
dot(coordinates, strides) elements from the start, and every output coordinate is walked in order. NumPy appears only
where memory is handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product as every_combination
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.tensor import TensorDesc

Coordinates = tuple[int, ...]

BYTES = {
    DataType.FLOAT64: 8,
    DataType.FLOAT32: 4,
    DataType.FLOAT16: 2,
    DataType.INT64: 8,
    DataType.INT32: 4,
    DataType.INT16: 2,
    DataType.INT8: 1,
    DataType.UINT64: 8,
    DataType.UINT32: 4,
    DataType.UINT16: 2,
    DataType.UINT8: 1,
}


class Memory(NamedTuple):
    """A tensor and the bytes that it is bound to."""

    data: bytes
    tensor: TensorDesc

    def element(self, coordinates: Coordinates) -> bytes:
        """The bytes of the element at these coordinates; of 4 bits one with its sign, or zeros, before it."""
        place, data_type = dot(coordinates, strides_of(self.tensor)), self.tensor.data_type
        assert all(0 <= c < size for c, size in zip(coordinates, self.tensor.sizes, strict=True)), coordinates
        if data_type in (DataType.UINT4, DataType.INT4):
            assert place // 2 < self.tensor.total_tensor_size_in_bytes
            low, high = self.data[place // 2] % 16, self.data[place // 2] // 16
            half = high if place % 2 else low
            return bytes([half + 240 if half > 7 and data_type is DataType.INT4 else half])
        width = BYTES[data_type]
        assert (place + 1) * width <= self.tensor.total_tensor_size_in_bytes
        return self.data[place * width : (place + 1) * width]

    def number(self, coordinates: Coordinates) -> int:
        """The integer held at these coordinates."""
        signed = self.tensor.data_type in (DataType.INT32, DataType.INT64)
        return int.from_bytes(self.element(coordinates), "little", signed=signed)


class Expected(NamedTuple):
    """Output elements in row-major order: bit patterns, or None where an index out of range leaves them open."""

    elements: list[int | None]

    @property
    def open(self) -> list[bool]:
        return [element is None for element in self.elements]


def dot(coordinates: Coordinates, strides: Coordinates) -> int:
    total = 0
    for coordinate, stride in zip(coordinates, strides, strict=True):
        total += coordinate * stride
    return total


def strides_of(tensor: TensorDesc) -> Coordinates:
    """The strides given, or the packed ones: each the product of the sizes after it."""
    if tensor.strides is not None:
        return tensor.strides
    strides: list[int] = []
    step = 1
    for size in reversed(tensor.sizes):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


def walk(sizes: Coordinates) -> Iterator[Coordinates]:
    """Every coordinate, the last dimension fastest."""
    return every_combination(*(range(size) for size in sizes))


def place_named_by(index: int, size: int) -> int | None:
    """The place along a dimension, counted from the end for a negative index; None out of range."""
    if 0 <= index < size:
        return index
    if -size <= index < 0:
        return size + index
    return None


def right_align(coordinates: Coordinates, count: int) -> Coordinates:
    """The last `count` coordinates, or leading zeros before all of them: what is cropped or added has size 1."""
    if len(coordinates) < count:
        return (0,) * (count - len(coordinates)) + coordinates
    assert not any(coordinates[: len(coordinates) - count])
    return coordinates[len(coordinates) - count :]


def gather(desc: Any, source: Memory, indices: Memory) -> Iterator[bytes | None]:
    """output[...] = input[..., indices[...], ...]"""
    rank = len(source.tensor.sizes)
    after_axis = rank - desc.axis - 1
    for c in walk(desc.output_tensor.sizes):
        full = right_align(c, desc.axis + desc.index_dimensions + after_axis)
        before = full[: desc.axis]
        i = full[desc.axis : desc.axis + desc.index_dimensions]
        after = full[desc.axis + desc.index_dimensions :]
        place = place_named_by(indices.number(right_align(i, rank)), source.tensor.sizes[desc.axis])
        yield None if place is None else source.element((*before, place, *after))


def gather_elements(desc: Any, source: Memory, indices: Memory) -> Iterator[bytes | None]:
    """output[c] = input[c with c[Axis] replaced by indices[c]]"""
    for c in walk(desc.output_tensor.sizes):
        place = place_named_by(indices.number(c), source.tensor.sizes[desc.axis])
        yield None if place is None else source.element((*c[: desc.axis], place, *c[desc.axis + 1 :]))


def gather_nd1(desc: Any, source: Memory, indices: Memory) -> Iterator[bytes | None]:
    """output[b, i, rest] = input[b, indices[b, i, :], rest]"""
    rank = len(source.tensor.sizes)
    batch_count = getattr(desc, "batch_dimension_count", 0)
    tuple_size = indices.tensor.sizes[-1]
    first_addressed = rank - desc.input_dimension_count + batch_count
    walked_by_indices = desc.indices_dimension_count - 1
    rest_count = desc.input_dimension_count - batch_count - tuple_size
    for c in walk(desc.output_tensor.sizes):
        full = right_align(c, walked_by_indices + rest_count)
        b_and_i, rest = full[:walked_by_indices], full[walked_by_indices:]
        chosen: list[int] = []
        for t in range(tuple_size):
            index = indices.number(right_align((*b_and_i, t), rank))
            place = place_named_by(index, source.tensor.sizes[first_addressed + t])
            if place is None:
                yield None
                break
            chosen.append(place)
        else:
            yield source.element(right_align((*b_and_i[:batch_count], *chosen, *rest), rank))


def tile(desc: Any, source: Memory) -> Iterator[bytes | None]:
    """output[c] = input[c[d] % InputTensor.Sizes[d] for each d]"""
    for c in walk(desc.output_tensor.sizes):
        yield source.element(tuple(c[d] % size for d, size in enumerate(source.tensor.sizes)))


COMPUTE: dict[str, tuple[Callable[..., Iterator[bytes | None]], tuple[str, ...]]] = {
    "GATHER": (gather, ("input_tensor", "indices_tensor")),
    "GATHER_ELEMENTS": (gather_elements, ("input_tensor", "indices_tensor")),
    "GATHER_ND": (gather_nd1, ("input_tensor", "indices_tensor")),
    "GATHER_ND1": (gather_nd1, ("input_tensor", "indices_tensor")),
    "TILE": (tile, ("input_tensor",)),
}


def expected_output(desc: OperatorDesc, inputs: Mapping[str, Binding]) -> Expected:
    """Every element of OutputTensor, computed from the inputs' bytes."""
    compute, names = COMPUTE[desc.operator]
    tensors = [Memory(bytes(inputs[name].view), getattr(desc, name)) for name in names]
    return Expected([None if e is None else int.from_bytes(e, "little") for e in compute(desc, *tensors)])


def read_output(desc: Any, binding: Binding) -> list[int]:
    """The bit patterns that an output's memory holds, in row-major order."""
    memory = Memory(bytes(binding.view), desc.output_tensor)
    return [int.from_bytes(memory.element(c), "little") for c in walk(desc.output_tensor.sizes)]


def places_of_elements(tensor: TensorDesc) -> Iterator[range]:
    """The bytes of each element, as offsets into the tensor's memory, in row-major order."""
    width, strides = BYTES[tensor.data_type], strides_of(tensor)
    for coordinates in walk(tensor.sizes):
        start = dot(coordinates, strides) * width
        yield range(start, start + width)


def bind(tensor: TensorDesc, fill: bytes, *, offset: int = 0) -> Binding:
    """A resource that holds the tensor `offset` bytes from its start, filled with `fill` over and over."""
    size = -(-tensor.total_tensor_size_in_bytes // 4) * 4
    length = offset + size + 64
    content = bytearray((fill * (length // len(fill) + 1))[:length])
    return Binding(np.frombuffer(content, np.uint8), offset, size)


def store(tensor: TensorDesc, binding: Binding, elements: Iterable[int]) -> None:
    """Put elements in row-major order into the tensor's memory, as bit patterns or as numbers."""
    width = BYTES[tensor.data_type]
    for place, element in zip(places_of_elements(tensor), elements, strict=True):
        pattern = (element % 2 ** (8 * width)).to_bytes(width, "little")
        binding.view[place.start : place.stop] = np.frombuffer(pattern, np.uint8)
