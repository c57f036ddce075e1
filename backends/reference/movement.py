"""The array primitives that the operators are made of, written straight into the output's memory.

Each has a fast path for a source that lies packed in memory and a general one for any strides. The general one
never makes the source packed first: with strides of 0 a few bytes can stand for billions of elements.

NumPy's `take` gets mode "wrap" because its default mode copies the whole output; positions are in range already.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.layout import UNSIGNED, Bits, Integers

Mask = npt.NDArray[np.bool_]

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


def take_slices(source: Bits, axis: int, places: Integers, out: Bits) -> None:
    """`out[before..., p..., after...] = source[before..., places[p...], after...]`.

    Args:
        source: any shape.
        axis: the dimension of `source` that `places` addresses.
        places: any shape, also none at all; values from 0 to `source.shape[axis]` - 1.
        out: the shape of `source` with `axis` replaced by the shape of `places`.
    """
    if source.flags.c_contiguous:
        source.take(places, axis, out, "wrap")
    else:
        out[...] = source[(slice(None),) * axis + (places,)]


def take_elements(source: Bits, axis: int, places: Integers, out: Bits) -> None:
    """`out[before..., p, after...] = source[before..., places[before..., p, after...], after...]`.

    Args:
        source: any shape.
        axis: the dimension of `source` that `places` addresses.
        places: the shape of `source` but for `axis`; values from 0 to `source.shape[axis]` - 1.
        out: the shape of `places`.
    """
    if source.flags.c_contiguous:
        before, size, after = prod(source.shape[:axis]), source.shape[axis], prod(source.shape[axis + 1 :])
        flat = np.multiply(places, after, dtype=np.intp).reshape(before, -1, after)
        flat += (np.arange(before) * (size * after))[:, None, None] + np.arange(after)
        source.reshape(-1).take(flat.reshape(out.shape), None, out, "wrap")
    else:
        out[...] = np.take_along_axis(source, places, axis)


def take_blocks(source: Bits, batches: int, places: list[Integers], out: Bits) -> None:
    """`out[b..., p..., rest...] = source[b..., places[0][b..., p...], places[1][b..., p...], ..., rest...]`.

    Args:
        source: any shape.
        batches: how many dimensions b has; they have the same sizes in `source` and in each of `places`.
        places: one array for each dimension of `source` after the batches that is addressed, all of the same shape;
            values from 0 to that dimension's size - 1.
        out: the shape of `places`, then that of the dimensions of `source` that are not addressed.
    """
    addressed = source.shape[: batches + len(places)]
    across_places = (1,) * (places[0].ndim - batches)
    if source.flags.c_contiguous:
        rows: npt.NDArray[Any] = np.arange(prod(addressed[:batches])).reshape(addressed[:batches] + across_places)
        for size, place in zip(addressed[batches:], places, strict=True):
            rows = rows * size + place
        source.reshape(-1, *source.shape[len(addressed) :]).take(rows, 0, out, "wrap")
    else:
        batch = (along.reshape(along.shape + across_places) for along in np.ix_(*map(range, addressed[:batches])))
        out[...] = source[(*batch, *places)]


def repeat(source: Bits, repeats: tuple[int, ...], out: Bits) -> None:
    """`out[c...] = source[c[d] % source.shape[d] for each d]`.

    Args:
        source: any shape.
        repeats: one for each dimension of `source`.
        out: each size of `source` times its repeat.
    """
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
