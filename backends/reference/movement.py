"""The array primitives that operators which move data are made of.

Each has a fast path for a source that lies packed in memory and a general one for any strides. The general one
never makes the source packed first: with strides of 0 a few bytes can stand for billions of elements.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.layout import UNSIGNED
from dml_conformance.spec.expectation import Bits, Expectation, Mask
from dml_conformance.spec.structures import Gather, GatherElements, GatherNd

Integers = npt.NDArray[np.integer[Any]]

SHORT_ROW = 1024  # bytes; longer rows are copied as fast in either way


def positions(indices: Integers, size: int) -> tuple[Integers, Mask | None]:
    """Turn indices into places along a dimension.

    Args:
        indices: any shape, signed or unsigned.
        size: elements of the dimension.

    Returns:
        Places from 0 to size - 1 in the shape of `indices`, and which of them stand for an index out of range (below
        -size or from size on), or None where none does. Such a place is 0: some element, as good as any other.
    """
    # Read as unsigned, a negative index is huge: where all are plain, one pass tells.
    if int(indices.view(UNSIGNED[indices.itemsize]).max()) < size:
        # UINT64 is the one type that NumPy does not take as an index.
        return indices.view(np.int64) if indices.dtype == np.uint64 else indices, None
    outside = (indices < -size) | (indices >= size)
    wide = indices.astype(np.int64)  # exact for every index that is not outside
    places = np.where(outside, 0, np.where(wide < 0, wide + size, wide))
    return places, np.asarray(outside) if outside.any() else None


def take_slices(source: Bits, axis: int, places: Integers) -> Bits:
    """`out[before..., p..., after...] = source[before..., places[p...], after...]`.

    Args:
        source: any shape.
        axis: the dimension of `source` that `places` addresses.
        places: any shape, also none at all; values from 0 to `source.shape[axis]` - 1.
    """
    if source.flags.c_contiguous:
        return np.asarray(source.take(places, axis))
    return np.asarray(source[(slice(None),) * axis + (places,)])


def take_elements(source: Bits, axis: int, places: Integers) -> Bits:
    """`out[before..., p, after...] = source[before..., places[before..., p, after...], after...]`.

    Args:
        source: any shape.
        axis: the dimension of `source` that `places` addresses.
        places: the shape of `source` but for `axis`; values from 0 to `source.shape[axis]` - 1.
    """
    if not source.flags.c_contiguous:
        return np.take_along_axis(source, places, axis)
    before, size, after = prod(source.shape[:axis]), source.shape[axis], prod(source.shape[axis + 1 :])
    flat = np.multiply(places, after, dtype=np.intp).reshape(before, -1, after)
    flat += (np.arange(before) * (size * after))[:, None, None] + np.arange(after)
    return source.reshape(-1).take(flat.reshape(places.shape))


def take_blocks(source: Bits, batches: int, places: list[Integers]) -> Bits:
    """`out[b..., p..., rest...] = source[b..., places[0][b..., p...], places[1][b..., p...], ..., rest...]`.

    Args:
        source: any shape.
        batches: how many dimensions b has; they have the same sizes in `source` and in each of `places`.
        places: one array for each dimension of `source` after the batches that is addressed, all of the same shape;
            values from 0 to that dimension's size - 1.
    """
    addressed = source.shape[: batches + len(places)]
    across_places = (1,) * (places[0].ndim - batches)
    if source.flags.c_contiguous:
        rows: npt.NDArray[Any] = np.arange(prod(addressed[:batches])).reshape(addressed[:batches] + across_places)
        for size, place in zip(addressed[batches:], places, strict=True):
            rows = rows * size + place
        return np.asarray(source.reshape(-1, *source.shape[len(addressed) :]).take(rows, 0))
    batch = (along.reshape(along.shape + across_places) for along in np.ix_(*map(range, addressed[:batches])))
    return np.asarray(source[(*batch, *places)])


def repeat(source: Bits, repeats: tuple[int, ...]) -> Bits:
    """`out[c...] = source[c[d] % source.shape[d] for each d]`.

    Args:
        source: any shape.
        repeats: one for each dimension of `source`.
    """
    out = np.empty([size * count for size, count in zip(source.shape, repeats, strict=True)], source.dtype)
    # Every dimension of `out` is split into (repeat, size); splitting needs no copy whatever the strides are.
    split = tuple(part for pair in zip(repeats, source.shape, strict=True) for part in pair)
    target = out.reshape(split)
    origin = source.reshape(tuple(part for size in source.shape for part in (1, size)))
    row = source.shape[-1] * source.itemsize
    if source.itemsize < row <= SHORT_ROW and target.strides[-1] == origin.strides[-1] == source.itemsize:
        # One wide element a row: loops over a few elements each would take several times as long.
        wide: np.dtype[Any] = UNSIGNED.get(row) or np.dtype((np.void, row))
        target, origin = target.view(wide), origin.view(wide)
    target[...] = origin
    return out


def last_dimensions(array: Any, count: int) -> Any:
    """The last `count` dimensions; of the leading ones, which have size 1, the first element."""
    return array[(0,) * (array.ndim - count) + (...,)]


def expected(values: Bits, outside: Mask | None, desc: Gather | GatherElements | GatherNd) -> dict[str, Expectation]:
    """What an operator that reads through an index tensor gives: where an index is out of range, any of the input.

    Args:
        values: as computed, right-aligned to the output's sizes.
        outside: True where an index is out of range, over the first dimensions of `values`; None for nowhere.
        desc: the descriptor.
    """
    sizes = desc.output_tensor.sizes
    if outside is None:
        return {"output_tensor": Expectation(values.reshape(sizes))}
    outside = outside.reshape(outside.shape + (1,) * (values.ndim - outside.ndim))
    one_of = np.broadcast_to(outside, values.shape).reshape(sizes)
    return {"output_tensor": Expectation(values.reshape(sizes), one_of, "input_tensor")}
