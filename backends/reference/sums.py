"""How far sums may be off that are added up in any order, in FLOAT64: what each of their additions may lose.

The result of an addition is the sum of some of the terms, so no larger than as many of the largest positive ones, or of
the negative ones. Rounded to nearest it loses half a unit in its last place or less, and no more than the lesser of the
two numbers; cut, twice that, but where their signs differ a whole unit of however little.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log2, prod, sqrt
from typing import Any, NamedTuple

from dml_conformance.backends.reference.floats import FORMATS, Array, at_least, some, spacing
from dml_conformance.spec.datatypes import DataType

Axes = tuple[int, ...]


class Losses(NamedTuple):
    """What n - 1 additions may lose.

    Attributes:
        cut: what they lose together at most where they are cut.
        total: the same where they are rounded to nearest.
        root: the root of the sum of the squares of what each loses then; None where there are too few to say more.
        drift: what they come to where they are alike, in which case it may be more than a multiple of the root; None
            likewise.
    """

    cut: Array
    total: Array
    root: Array | None = None
    drift: Array | None = None


def of_terms(
    xp: Any, value: Array, low: Array, high: Array, axes: Axes, data_type: DataType, *, are_few: bool
) -> Losses:
    """Of finite terms between two arrays, added up along axes, which the result has with size 1.

    The largest results are those that come of adding the largest terms first.
    """
    count = prod(value.shape[axis] for axis in axes)
    kept = [axis for axis in range(value.ndim) if axis not in axes]
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(value.shape))

    def rows(part: Array) -> Array:
        return xp.reshape(xp.permute_dims(part, (*kept, *axes)), (*(value.shape[axis] for axis in kept), count))

    def in_order(part: Array) -> Array:
        return xp.sort(rows(part), axis=-1)

    def largest_first(ordered: Array) -> Array:
        return xp.cumulative_sum(xp.flip(ordered, axis=-1), axis=-1)

    sizes_of_terms = in_order(at_least(high, 0.0))
    partial, is_signed = largest_first(sizes_of_terms), xp.any(rows(low < 0), axis=-1, keepdims=True)
    if some(is_signed):
        partial = xp.maximum(partial, largest_first(in_order(at_least(-low, 0.0))))
        sizes_of_terms = in_order(xp.maximum(xp.abs(low), xp.abs(high)))
    half = 0.5 * spacing(xp, partial[..., 1:] * (1.0 + count * FORMATS[data_type].epsilon), data_type)
    # In a tree the lesser of the two may be a sum of such terms, of a term at most log2(n) times.
    lesser = sizes_of_terms[..., :-1] * max(1.0, log2(count))
    losses = xp.minimum(half, lesser)
    cut = xp.where(is_signed, 2.0 * half, xp.minimum(2.0 * half, lesser))
    cut, total = (xp.reshape(part.sum(axis=-1), sizes) for part in (cut, losses))
    if are_few:
        return Losses(cut, total)
    root = xp.reshape(xp.sqrt((losses * losses).sum(axis=-1)), sizes)
    drift = _drift(xp, value, xp.reshape(2.0 * half[..., -1], sizes), lambda part: part.sum(axis=axes, keepdims=True))
    return Losses(cut, total, root, drift)


def of_prefixes(
    xp: Any, value: Array, largest: Array, count: Array, along: Callable[[Array], Array], data_type: DataType
) -> Losses:
    """Of sums of the first `count` terms, the positive or negative ones of which come to `largest`."""
    unit = spacing(xp, largest * (1.0 + count * FORMATS[data_type].epsilon), data_type)
    drift = _drift(xp, value, unit, along)
    total = (count - 1) * unit
    return Losses(total, total / 2, xp.sqrt(count - 1) * unit / 2, drift)


class Sizes(NamedTuple):
    """What rows, or columns, are like.

    Attributes:
        some: of some hundred of their elements, which are spread over all, how large they are.
        mean: of all.
    """

    some: Array
    mean: Array

    @classmethod
    def of(cls, xp: Any, sizes: Array, axis: int, start: int, count: int) -> Sizes:
        """Of rows, along axis -1, or columns of `count` elements, of which these follow the first `start`; their part
        of the mean."""
        step = max(1, count // 64)
        along = slice(-start % step, None, step)
        some = sizes[..., along] if axis == -1 else sizes[..., along, :]
        return cls(some, sizes.sum(axis=axis, keepdims=True) / count)

    def habits(self, xp: Any, axis: int) -> tuple[Array, Array]:
        """Of each row, or column, whether a size other than 0 stands in it twice, and whether more than one in 16 are
        nothing beside their mean."""
        some = xp.sort(self.some, axis=axis)
        one, next_ = (some[..., :-1], some[..., 1:]) if axis == -1 else (some[..., :-1, :], some[..., 1:, :])
        repeats = xp.any((one == next_) & (one != 0), axis=axis, keepdims=True)
        little = (some > 0) & (some < 2.0**-12 * self.mean)
        return repeats, xp.sum(xp.astype(little, xp.int64), axis=axis, keepdims=True) > some.shape[axis] // 16


def of_products(
    xp: Any, sizes: tuple[Sizes, Sizes], largest: Array, data_type: DataType, count: int, *, are_few: bool
) -> Losses:
    """Of a product of matrices, whose rows and columns are like this, of whose `count` terms the positive or negative
    ones come to `largest`."""
    unit = spacing(xp, largest * (1.0 + count * FORMATS[data_type].epsilon), data_type)
    total = (count - 1) * unit
    if are_few:
        return Losses(total, total / 2)
    (repeats, vanishes), (also, others) = sizes[0].habits(xp, -1), sizes[1].habits(xp, -2)
    drift = xp.where((repeats & also) | vanishes | others, inf, 0.0)
    return Losses(total, total / 2, sqrt(count - 1) * unit / 2, drift)


def of_halves(xp: Any, largest: Array, count: int) -> Losses:
    """Of a product of matrices of FLOAT16, added up in FLOAT32 one term after the other, or by tensor cores.

    Tensor cores shift the terms of a block to the exponent of the largest, where a subnormal factor has that of the
    least normal number, cut them there, and cut what comes of the block; no error makes up for another one, and none
    is more than a unit (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, 2021; an H200
    has two places more behind the last one of FLOAT32).

    Args:
        largest: what the positive or negative ones of the `count` terms come to, where that number stands for
            subnormal factors.
    """
    most = (count - 1) * spacing(xp, largest * (1.0 + count * FORMATS[DataType.FLOAT32].epsilon), DataType.FLOAT32)
    return Losses(most, most)


def _drift(xp: Any, terms: Array, unit: Array, along: Callable[[Array], Array]) -> Array:
    """What a sum gains where each term is rounded to a unit of its last place, or to a half or a quarter of it.

    So it is while the sum that it is added to has that unit. It is little where some errors are above 0 and others
    below; it is much where terms repeat, or are so small that all are lost.
    """
    found, is_negative = 0.0, terms < 0
    has_negative = some(is_negative)
    for part in (1.0, 0.5, 0.25):
        quantum = part * unit
        error = (terms / quantum).round()
        error *= quantum
        error -= terms
        error = xp.where(xp.isfinite(error), error, 0.0)
        if has_negative:
            found = found + xp.abs(along(xp.where(is_negative, error, 0.0)))
            error = xp.where(is_negative, 0.0, error)
        found = found + xp.abs(along(error))
    return found
