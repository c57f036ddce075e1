"""What the pages print as formulas and ranges, word for word, the wrong ones included.

Nothing but `spec check` uses this: it holds each against the worked examples. What the rules follow stands in
`spec.operators`. Keys are operator names; an operator without an entry has nothing of the kind on its page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from dml_conformance.spec.datatypes import DataType

Sizes = tuple[int, ...]


def _right_aligned(sizes: Sizes, count: int) -> Sizes:
    """As many entries as dimensions: leading ones are cropped or added, nothing else is."""
    while len(sizes) > count and sizes[0] == 1:
        sizes = sizes[1:]
    return (1,) * (count - len(sizes)) + sizes


def gather_sizes(desc: Any) -> Sizes:
    """GATHER, OutputTensor: the index sizes in the place of the axis, right-aligned."""
    source, indices, axis = desc.input_tensor.sizes, desc.indices_tensor.sizes, desc.axis
    joined = source[:axis] + indices[len(indices) - desc.index_dimensions :] + source[axis + 1 :]
    return _right_aligned(joined, len(desc.output_tensor.sizes))


def gather_elements_sizes(desc: Any) -> Sizes:
    """GATHER_ELEMENTS, OutputTensor: the sizes of the index tensor."""
    return tuple(desc.indices_tensor.sizes)


def gather_nd_sizes(desc: Any) -> Sizes:
    """GATHER_ND and, with the same text, GATHER_ND1: index sizes without the last, then the last input sizes.

    How many of the input's is where the pages err: as many as a tuple has coordinates (GATHER_ND-1, GATHER_ND1-1).
    """
    source, indices = desc.input_tensor.sizes, desc.indices_tensor.sizes
    tuple_size = indices[-1]
    joined = indices[len(indices) - desc.indices_dimension_count : -1] + source[len(source) - tuple_size :]
    return _right_aligned(joined, len(desc.output_tensor.sizes))


def tile_sizes(desc: Any) -> Sizes:
    """TILE, OutputTensor: each size times its repeat."""
    return tuple(size * repeat for size, repeat in zip(desc.input_tensor.sizes, desc.repeats, strict=True))


SIZES: Mapping[str, Callable[[Any], Sizes]] = {
    "GATHER": gather_sizes,
    "GATHER_ELEMENTS": gather_elements_sizes,
    "GATHER_ND": gather_nd_sizes,
    "GATHER_ND1": gather_nd_sizes,
    "TILE": tile_sizes,
}


class Bounded(NamedTuple):
    """A value of a descriptor and the range that the page prints for it."""

    name: str
    value: int
    allowed: range


def gather_ranges(desc: Any) -> Iterator[Bounded]:
    yield Bounded("axis", desc.axis, range(len(desc.input_tensor.sizes)))
    yield Bounded("index-dimensions", desc.index_dimensions, range(len(desc.indices_tensor.sizes)))


def gather_elements_ranges(desc: Any) -> Iterator[Bounded]:
    yield Bounded("axis", desc.axis, range(len(desc.input_tensor.sizes)))


def gather_nd_ranges(desc: Any) -> Iterator[Bounded]:
    source, indices = desc.input_tensor.sizes, desc.indices_tensor.sizes
    yield Bounded("input-dimension-count", desc.input_dimension_count, range(1, len(source) + 1))
    yield Bounded("indices-dimension-count", desc.indices_dimension_count, range(1, len(indices) + 1))
    yield Bounded("tuple-size", indices[-1], tuple_sizes(len(source)))


def gather_nd1_ranges(desc: Any) -> Iterator[Bounded]:
    yield from gather_nd_ranges(desc)
    yield Bounded("batch-dimension-count", desc.batch_dimension_count, range(len(desc.input_tensor.sizes)))


def tile_ranges(desc: Any) -> Iterator[Bounded]:
    count = len(desc.input_tensor.sizes)
    yield Bounded("repeats-count", len(desc.repeats), range(count, count + 1))
    for repeat in desc.repeats:
        yield Bounded("repeats", repeat, range(1, 2**32))


RANGES: Mapping[str, Callable[[Any], Iterator[Bounded]]] = {
    "GATHER": gather_ranges,
    "GATHER_ELEMENTS": gather_elements_ranges,
    "GATHER_ND": gather_nd_ranges,
    "GATHER_ND1": gather_nd1_ranges,
    "TILE": tile_ranges,
}


def tuple_sizes(dimension_count: int) -> range:
    """GATHER_ND and GATHER_ND1, IndicesTensor: coordinates of a tuple, at most InputTensor.DimensionCount."""
    return range(1, dimension_count + 1)


# Operators whose index tensor holds tuples, and whether they have batches before them.
TUPLES: Mapping[str, bool] = {"GATHER_ND": False, "GATHER_ND1": True}


def rank_bound(desc: Any, original_rank: int) -> tuple[int, int]:
    """GATHER, OutputTensor: relevant output dimensions, and what the page has them not exceed."""
    return original_rank + desc.index_dimensions - 1, len(desc.output_tensor.sizes)


RANK_BOUND: Mapping[str, Callable[[Any, int], tuple[int, int]]] = {"GATHER": rank_bound}


class Counts(NamedTuple):
    """The counts of a tuple-indexing descriptor that its printed ranges are about."""

    dimension_count: int
    input_dimension_count: int
    indices_dimension_count: int
    batch_dimension_count: int
    tuple_size: int


def allowed_counts(dimension_count: int, with_batches: bool) -> Iterator[Counts]:
    """Every combination of counts within the ranges that GATHER_ND's or GATHER_ND1's page prints."""
    counts = range(1, dimension_count + 1)
    batches = range(dimension_count) if with_batches else range(1)
    for combination in product(counts, counts, batches, tuple_sizes(dimension_count)):
        yield Counts(dimension_count, *combination)


_ELEMENT_SIZE = {
    "FLOAT32": 4, "UINT32": 4, "INT32": 4, "FLOAT16": 2, "UINT16": 2, "INT16": 2,
    "UINT8": 1, "INT8": 1, "FLOAT64": 8, "UINT64": 8, "INT64": 8,
}  # fmt: skip


def calc_buffer_tensor_size(data_type: DataType, sizes: Sizes, strides: Sizes | None) -> int:
    """dml-helper-functions, DMLCalcBufferTensorSize: bytes, with the widths of the C++ variables.

    The index of the last element is a UINT, so it wraps at 32 bits (TENSOR-3); types that the code does not list
    give 0 (TENSOR-4).
    """
    element_size = _ELEMENT_SIZE.get(data_type.name, 0)
    if element_size == 0:
        return 0
    if strides is None:
        elements = 1
        for size in sizes:
            elements = elements * size % 2**64
    else:
        last = 0
        for size, stride in zip(sizes, strides, strict=True):
            last = (last + (size - 1) * stride) % 2**32
        elements = last + 1
    return (elements * element_size + 3) % 2**64 & ~3
