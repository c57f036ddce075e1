"""What is right of an output: for each element exact bits, an interval, one of several values, or anything.

An output slot has one `Expectation`. Its parts are disjoint: an element is in `one_of`, in `free`, in an interval, or
else exact. `values` has some right value of every element, and of an exact one the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.spec.datatypes import DataType

Bits = npt.NDArray[np.unsignedinteger[Any]]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]
Change = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
Box = tuple[Any, ...]  # along each dimension of a tensor a slice of coordinates

PART_ELEMENTS = 2**17  # that are looked at together

# By bytes of an element: signed integers of that width, the bits without the sign, and where a float has its infinity.
_SIGNED = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}
_MAGNITUDE = {size: np.uint64(2 ** (8 * size - 1) - 1).astype(f"u{size}") for size in (2, 4, 8)}
_INFINITY = {2: np.uint16(0x7C00), 4: np.uint32(0x7F800000), 8: np.uint64(0x7FF0000000000000)}


class Within(NamedTuple):
    """Intervals of values, both ends included, in the type's own order; both zeros of a float are the same place.

    Attributes:
        low: of each element, the bits of the least value that is right; no NaN. Above `high`, no number is right.
        high: the greatest.
        nan: True where a NaN, of whatever bits, is right; None for nowhere. Together with an empty interval a NaN is
            demanded.
        where: True for the elements that have an interval; None for all.
        exact: of each element the exact value, as FLOAT64, that its interval lies around; None where it is no result
            of arithmetic.
        argument: of each element the first number that it was computed from, as FLOAT64; None where that was itself
            rounded before.
        counted: True where the error of a result says how well it was computed: its bound lies around the exact value,
            and no subnormal number that may be taken for zero is involved. None for all.
    """

    low: Bits
    high: Bits
    nan: Mask | None = None
    where: Mask | None = None
    exact: Numbers | None = None
    argument: Numbers | None = None
    counted: Mask | None = None

    @property
    def counts(self) -> Mask | bool:
        """`counted`, also where it is None."""
        return True if self.counted is None else self.counted

    def each(self, change: Change) -> Within:
        """The intervals with each part changed in the same way."""
        return Within(*(None if part is None else change(part) for part in self))  # type: ignore[arg-type]

    def holds(self, elements: Bits, data_type: DataType) -> Mask:
        """Which elements lie in their intervals, whether they have one or not."""
        found = in_order(elements, data_type)
        inside = (in_order(self.low, data_type) <= found) & (found <= in_order(self.high, data_type))
        if data_type.is_float:
            is_nan = nans(elements, data_type)
            inside = inside & ~is_nan
            if self.nan is not None:
                inside |= is_nan & self.nan
        return np.asarray(inside)


class Expectation(NamedTuple):
    """What is right of the elements of one output tensor, whatever its layout in memory.

    Attributes:
        values: bits of the elements, as unsigned integers of their width in the tensor's sizes.
        one_of: True where every element of an input's memory is right; None for nowhere.
        memory: key of the slot whose memory that is; "" where `one_of` is None.
        free: True where anything is right, that nothing is written too; None for nowhere.
        within: the intervals of those elements that have one; None for none.
    """

    values: Bits
    one_of: Mask | None = None
    memory: str = ""
    free: Mask | None = None
    within: Within | None = None

    @property
    def is_exact(self) -> bool:
        """Whether all elements are."""
        return self.one_of is None and self.free is None and self.within is None

    @property
    def intervals(self) -> Mask | None:
        """True where an interval is right; None for nowhere."""
        if self.within is None:
            return None
        return np.ones(self.values.shape, np.bool_) if self.within.where is None else self.within.where

    @property
    def open(self) -> Mask | None:
        """True for the elements that are not exact; None for none."""
        found = None
        for mask in (self.one_of, self.free, self.intervals):
            if mask is not None:
                found = mask if found is None else found | mask
        return found

    def cut(self, box: Box) -> Expectation:
        """What is right of some elements alone."""
        return self.each(lambda part: part[box])

    def each(self, change: Change) -> Expectation:
        """What is right of elements in other places: each part is changed in the same way."""
        one_of, free = (None if mask is None else change(mask) for mask in (self.one_of, self.free))
        within = None if self.within is None else self.within.each(change)
        return Expectation(change(self.values), one_of, self.memory, free, within)

    def at(self, coordinates: tuple[int, ...]) -> Expectation:
        """What is right of one element, as a tensor of it alone."""
        return self.cut(tuple(slice(place, place + 1) for place in coordinates))

    def parts(self) -> Iterator[tuple[Box, Expectation]]:
        """The boxes that it is compared by, of consecutive elements, and what is right of each."""
        if self.values.size <= PART_ELEMENTS:
            yield tuple([slice(0, size) for size in self.values.shape]), self
            return
        for box in boxes(self.values.shape, PART_ELEMENTS):
            yield box, self.cut(box)


def boxes(sizes: Sequence[int], most: int, turn: int = 0) -> Iterator[Box]:
    """Boxes that a tensor of these sizes is made of, each of consecutive elements, in order; where there is a turn,
    none goes on after so many steps along the axis that it is made of parts along."""
    axis, step = split(sizes, most)
    whole = tuple(slice(0, size) for size in sizes[axis + 1 :])
    turn = turn or sizes[axis]
    for outer in product(*map(range, sizes[:axis])):
        for first in range(0, sizes[axis], turn):
            end = min(first + turn, sizes[axis])
            for start in range(first, end, step):
                along = slice(start, min(start + step, end))
                yield (*(slice(place, place + 1) for place in outer), along, *whole)


def box_of(sizes: Sequence[int], most: int, element: int) -> Box:
    """That of the `boxes` which an element is in, counted in row-major order."""
    axis, step = split(sizes, most)
    within = prod(sizes[axis:])
    outer = np.unravel_index(element // within, sizes[:axis]) if axis else ()
    start = element % within // prod(sizes[axis + 1 :]) // step * step
    along = slice(start, min(start + step, sizes[axis]))
    whole = (slice(0, size) for size in sizes[axis + 1 :])
    return (*(slice(int(place), int(place) + 1) for place in outer), along, *whole)


def split(sizes: Sequence[int], most: int) -> tuple[int, int]:
    """Along which axis boxes of consecutive elements, of at most so many, follow each other; and their size there."""
    axes = [axis for axis, size in enumerate(sizes) if size > 1 and prod(sizes[axis + 1 :]) <= most]
    axis = axes[0] if axes else len(sizes) - 1
    return axis, max(1, most // prod(sizes[axis + 1 :]))


def in_order(elements: Bits, data_type: DataType) -> npt.NDArray[np.integer[Any]]:
    """Integers that compare as the elements do as numbers; those of neighbouring floats differ by 1.

    The bits of a float are taken as a signed integer, and negative ones turned around; a NaN is beyond the infinities.
    """
    if not data_type.is_float and not data_type.is_signed_integer:
        return elements
    signed = elements.view(_SIGNED[elements.itemsize])
    if not data_type.is_float:
        return signed
    # Without branches, which cost several times as much where signs are mixed: -1 for negative ones turns them around.
    turned = signed >> (8 * elements.itemsize - 1)
    magnitude = (elements & _MAGNITUDE[elements.itemsize]).view(signed.dtype)
    return np.asarray((magnitude ^ turned) - turned)


def nans(elements: Bits, data_type: DataType) -> Mask:
    """Which elements are NaN."""
    if not data_type.is_float:
        return np.zeros(elements.shape, np.bool_)
    return np.asarray((elements & _MAGNITUDE[elements.itemsize]) > _INFINITY[elements.itemsize])
