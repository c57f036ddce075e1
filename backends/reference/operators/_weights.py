"""Weights that elements along a dimension have for others, between what FLOAT32 may make of them.

Interpolation is a sum of elements times weights, which are products of one for each dimension; its gradient is the same
with places and elements exchanged. No weight is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import chain
from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation
from dml_conformance.backends.reference.floats import FORMATS, quiet, spacing
from dml_conformance.backends.reference.sums import Losses
from dml_conformance.spec.accuracy import Subnormals
from dml_conformance.spec.expectation import PART_ELEMENTS, Mask

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Apply = Callable[[Floats, str], Floats]


class Weights(NamedTuple):
    """Along a dimension, of each element a few places and its weight at each of them.

    Attributes:
        size: how many places there are.
        places: of each element; one may stand there twice.
        exact: the weights.
        low: the least that an implementation may have.
        high: the greatest.
        near: whether a place is so near that its weight, even of 0, may be multiplied with.
        lengths: where consecutive elements with the same places and weights are one, how many each is; None for one.
    """

    size: int
    places: Places
    exact: Floats
    low: Floats
    high: Floats
    near: Mask
    lengths: Places | None = None

    @property
    def is_exact(self) -> bool:
        return bool((self.low == self.high).all())

    def equals(self, other: Weights) -> bool:
        """Whether these are the same weights at the same places."""
        return self.size == other.size and all(map(np.array_equal, self[1:], other[1:]))  # type: ignore[arg-type]

    def is_identity(self, weights: Floats) -> bool:
        """Whether every element has a place of its own, in their order, with the weight 1 and no other."""
        if self.lengths is not None:
            return False
        places, one = self.places[:, 0], weights[:, 0]
        is_own = len(places) == self.size and bool((places == np.arange(self.size)).all())
        return is_own and bool((one == 1).all()) and not weights[:, 1:].any()

    def in_runs(self) -> Weights:
        """The same, consecutive elements with the same places and weights taken together."""
        parts: tuple[npt.NDArray[Any], ...] = self[1:6]
        first = run_starts(parts)
        places, exact, low, high, near = (part[first] for part in parts)
        return Weights(self.size, places, exact, low, high, near, np.diff(first, append=len(self.places)))

    def spread(self, numbers: Floats, weights: Floats, d: int) -> Floats:
        """The elements times weights, added up at their places along a dimension."""
        if self.is_identity(weights):
            return numbers
        moved = np.moveaxis(numbers, d, 0)
        if self.lengths is not None:
            moved = added(moved, self.lengths, 0)
        found = np.zeros((self.size, *moved.shape[1:]))
        for places, weight in zip(self.places.T, weights.T, strict=True):
            if weight.any():
                np.add.at(found, places, moved * weight.reshape(-1, *(1,) * (moved.ndim - 1)))
        return np.moveaxis(found, 0, d)

    def within(self, start: int, stop: int) -> Weights:
        """Of these places alone; what others would get comes to one place behind them, unless there are none."""
        if (start, stop) == (0, self.size):
            return self
        is_here = (start <= self.places) & (self.places < stop)
        return self._replace(size=stop - start + 1, places=np.where(is_here, self.places - start, stop - start))


def run_starts(parts: Sequence[npt.NDArray[Any]]) -> Places:
    """Where rows begin that are other than those before, in any of some arrays."""
    is_first = np.zeros(len(parts[0]), np.bool_)
    is_first[0] = True
    for column in chain.from_iterable(part.T for part in parts):  # as rows are short
        is_first[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(is_first)


def added(numbers: Floats, lengths: Places, axis: int) -> Floats:
    """Along an axis, of so many numbers each that follow each other the sum."""
    if (lengths == 1).all():
        return numbers
    found: Floats = np.add.reduceat(numbers, np.cumsum(lengths) - lengths, axis)
    return found


def joined(blocks: Sequence[Weights]) -> Weights:
    """The weights of elements that follow each other, of blocks in which the same ones are taken together."""
    places, exact, low, high, near, together = map(np.concatenate, zip(*(block[1:] for block in blocks), strict=True))
    return Weights(blocks[0].size, places, exact, low, high, near, None if (together == 1).all() else together)


def nearest_weights(size: int, low: Places, exact: Places, high: Places) -> Weights:
    """One place for each element, or either of two.

    Args:
        size: how many places there are.
        low: the place if coordinates are the least that FLOAT32 may have.
        exact: of exact coordinates; it is `low` or `high`.
        high: if they are the greatest.
    """
    places = np.stack((low, high), 1)
    is_certain, is_other = (low == high)[:, None], np.array([False, True])
    at = np.where(is_certain, ~is_other, places == exact[:, None])
    most = np.where(is_certain, ~is_other, True)
    exact_, least = at.astype(np.float64), (at & is_certain).astype(np.float64)
    return Weights(size, places, exact_, least, most.astype(np.float64), most)


def linear_weights(size: int, least: Floats, exact: Floats, most: Floats) -> Weights:
    """What is left of 1 by the distance, of the two places next to coordinates, which lie in the dimension."""
    places = np.floor(least)[:, None] + np.array([0, 1, 2, 3, -1])
    parts = [np.clip(1.0 - np.abs(end[:, None] - places), 0.0, None) for end in (least, exact, most)]
    is_between = (least[:, None] <= places) & (places <= most[:, None])
    low, high = np.minimum(parts[0], parts[2]), np.where(is_between, 1.0, np.maximum(parts[0], parts[2]))
    is_inside = (places >= 0) & (places < size)
    near = is_inside & (places <= np.floor(most)[:, None] + 2)
    low, at, high = (np.where(is_inside, part, 0.0) for part in (low, parts[1], high))
    return Weights(size, np.clip(places, 0, size - 1).astype(np.int64), at, low, high, near)


@quiet
def spread(evaluation: Evaluation, numbers: Any, every: Sequence[Weights], rounded: int, is_open: bool) -> Enclosure:
    """The elements of a tensor times their weights along every dimension, added up at their places, in any order.

    Args:
        evaluation: how it is computed.
        numbers: of the tensor.
        every: the weights along each dimension.
        rounded: how many times a product of an element and its weights is rounded.
        is_open: whether anything is right near what is not finite; else a sum of infinities is what it is.
    """
    if not is_open and all(of.is_identity(of.low) and of.is_identity(of.high) for of in every):
        x = evaluation.of(numbers)
        return Enclosure(evaluation, x.value, *_with_both_zeros(x.low, x.high), x.maybe_nan)

    def applied(part: Floats, which: str) -> Floats:
        for d, weights in enumerate(every):
            part = weights.spread(part, getattr(weights, which), d)
        return part

    count = np.asarray(reduce(np.multiply.outer, map(_terms, every))).reshape([of.size for of in every])
    return weighted(evaluation, numbers, applied, count, [every], rounded, is_open)


def _terms(of: Weights) -> Floats:
    """How many elements may have a weight at each place along a dimension."""
    lengths = np.ones(len(of.places)) if of.lengths is None else of.lengths
    counts = (of.high > 0) * lengths[:, None]
    return np.bincount(of.places.ravel(), counts.ravel(), of.size).astype(np.float64)


@quiet
def gathered(evaluation: Evaluation, numbers: Any, rows: Weights, columns: Weights, rounded: int) -> Enclosure:
    """What samples have of images, the last two dimensions: the elements at their places times their weights."""
    whole = numbers
    if numbers.size > PART_ELEMENTS:
        (rows, height), (columns, width) = map(_seen, (rows, columns))
        numbers = numbers[..., height, width]

    def applied(part: Floats, which: str) -> Floats:
        for d, weights in ((-2, rows), (-1, columns)):
            terms = part.take(weights.places, d)  # the places in two dimensions
            by = getattr(weights, which)
            part = (terms * by[:, :, None] if d == -2 else terms * by).sum(axis=-1 if d == -1 else -2)
        return part

    count = np.multiply.outer(*((of.high > 0).sum(1).astype(np.float64) for of in (rows, columns)))
    return weighted(evaluation, numbers, applied, count, [(rows, columns)], rounded, True, whole)


def _seen(of: Weights) -> tuple[Weights, slice]:
    """The weights of those places alone that lie from the first to the last of all, and these."""
    start, stop = int(of.places.min()), int(of.places.max()) + 1
    return of.within(start, stop), slice(start, stop)


def weighted(
    evaluation: Evaluation,
    numbers: Any,
    applied: Apply,
    count: Floats,
    every: Sequence[Sequence[Weights]],
    rounded: int,
    is_open: bool,
    whole: Any = None,
) -> Enclosure:
    """Sums of products of elements and weights.

    Args:
        evaluation: how they are computed.
        numbers: the elements.
        applied: the sums of numbers, with the weights of this name.
        count: how many terms each sum has.
        every: the weights that terms have, those of different ones apart.
        rounded: how many times a term is rounded.
        is_open: whether anything is right near what is not finite; else a sum of infinities is what it is.
        whole: what the elements are some of; None if that is all.
    """
    x, is_finite = evaluation.of(numbers), np.isfinite(numbers)
    ends = [x.value, x.low, x.high]
    if not is_finite.all():
        finite = {id(part): np.where(is_finite, part, 0.0) for part in ends}
        ends = [finite[id(part)] for part in ends]

    def parts(part: Floats, which: str) -> tuple[Floats, Floats]:
        """The sums of what is positive, and of what is negative, without the sign."""
        return applied(np.clip(part, 0.0, None), which), applied(np.clip(-part, 0.0, None), which)

    positive, negative = parts(ends[0], "exact")
    value, most = positive - negative, (positive, negative)
    low, high = value, value
    if x.low is not x.high or not all(weights.is_exact for each in every for weights in each):
        least = parts(ends[1], "low")[0], parts(ends[2], "low")[1]
        most = parts(ends[2], "high")[0], parts(ends[1], "high")[1]
        low, high = least[0] - most[1], most[0] - least[1]
    magnitudes = most[0] + most[1]
    is_moved = (count <= 1) & all(((of.exact == 0) | (of.exact == 1)).all() for each in every for of in each)
    whole = numbers if whole is None else whole
    is_exact = (low == high) & (is_moved | _are_whole(evaluation, whole, every, magnitudes))
    assert evaluation.data_type is not None
    unit = spacing(np, magnitudes * (1.0 + count * FORMATS[evaluation.data_type].epsilon), evaluation.data_type)
    worst = np.maximum(count - 1, 0) * unit
    losses = Losses(worst, worst / 2, np.full_like(worst, inf), np.full_like(worst, inf))
    products = magnitudes * rounded if rounded else None
    found = evaluation.total(value, low, high, most, count, lambda: losses, products=products, is_exact=is_exact)
    found = Enclosure(evaluation, found.value, *_with_both_zeros(found.low, found.high), found.maybe_nan)
    return found if is_finite.all() else _with_infinities(found, numbers, applied, is_open)


def _with_both_zeros(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """A sum that begins with 0 has no -0 of its terms, and one that does not has it."""
    return np.where(low == 0, -0.0, low), np.where(high == 0, 0.0, high)


def _are_whole(evaluation: Evaluation, numbers: Any, every: Sequence[Sequence[Weights]], magnitudes: Floats) -> Mask:
    """Where all partial sums are multiples of a unit of all terms, and numbers of the type."""
    assert evaluation.data_type is not None
    of = FORMATS[evaluation.data_type]
    unit = _unit(numbers) * min((float(np.prod([_unit(of.exact) for of in each])) for each in every), default=1.0)
    is_whole = magnitudes <= unit / (of.epsilon / 2)
    if evaluation.tolerance.subnormals[evaluation.data_type] is not Subnormals.KEPT and unit < of.normal:
        is_whole = magnitudes == 0
    return np.asarray(is_whole | (magnitudes == 0))


def _unit(numbers: Any) -> float:
    """The largest power of two that all finite numbers are multiples of."""
    least = inf
    for block in np.array_split(numbers.reshape(-1), numbers.size // 2**18 + 1):
        parts, exponents = np.frexp(block[(block != 0) & np.isfinite(block)].astype(np.float64))
        digits = (parts * 2.0**53).astype(np.int64)
        least = min(least, float(np.ldexp((digits & -digits).astype(np.float64), exponents - 53).min(initial=inf)))
    return least if least < inf else 1.0


def _with_infinities(found: Enclosure, numbers: Any, applied: Apply, is_open: bool) -> Enclosure:
    """With what terms make of a sum that are not finite."""

    def places(which: str) -> list[Mask]:
        """Where a NaN, an infinity and a negative one come to, by weights of this name."""
        masks = np.isnan(numbers), numbers == inf, numbers == -inf
        return [applied(mask.astype(np.float64), which) > 0 for mask in masks]

    nan, above, below = places("near" if is_open else "high")
    any_ = nan | above | below
    if is_open:
        return found.opened(any_)
    has_nan, has_above, has_below = places("low")
    # A NaN is one beside anything, as opposite infinities are; an infinity is not, beside what may be elsewhere.
    is_certain = has_nan | (has_above & has_below) | (~nan & ((has_above & ~below) | (has_below & ~above)))
    none = nan | (above & below)
    value = np.where(none, np.nan, np.where(above, inf, np.where(below, -inf, found.value)))
    # What is finite may have overflown to the opposite infinity.
    maybe_nan = (above & (found.low == -inf)) | (below & (found.high == inf)) | found.nan
    low, high = (np.where(any_, value, end) for end in (found.low, found.high))
    exact = Enclosure(found.evaluation, value, low, high, maybe_nan if maybe_nan.any() else None)
    return exact.opened(any_ & ~is_certain)
