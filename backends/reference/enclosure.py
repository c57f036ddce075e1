"""Numbers with what a right implementation may have made of them: the exact value, the least, the greatest.

Formulas are written over enclosures as they stand on an operator's page, and each of their operations adds its own
error, which `spec.primitives` states. Arrays are NumPy's, or torch's on any device, of FLOAT64; its own rounding is
added outward wherever an operation is not exact in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial, reduce
from math import frexp, inf, prod
from operator import add, or_
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device

from dml_conformance.backends.reference import sums
from dml_conformance.backends.reference.floats import (
    EXPONENT,
    FORMATS,
    LEAST,
    OUTWARD,
    UNIT,
    Array,
    at_least,
    at_most,
    ends_of,
    every,
    is_short,
    namespace,
    narrow,
    nearest,
    outward,
    pair,
    quiet,
    replaced,
    some,
    spacing,
    type_name,
)
from dml_conformance.backends.reference.layout import UNSIGNED
from dml_conformance.backends.reference.sums import Axes, Losses
from dml_conformance.spec.accuracy import Bound, Subnormals, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Within
from dml_conformance.spec.primitives import PRIMITIVES, Primitive

Number = float | int
Function = Callable[..., Array]
NEAREST = Bound(0.5)
# The real library's products of 80 terms are one sum, those of 96 and more are up to 16.
STORED_FROM, STORED_MOST = 64, 16


Widening = Callable[["Enclosure", Array], "Enclosure"]
_WIDENING: ContextVar[Widening | None] = ContextVar("widening", default=None)


@contextmanager
def widening(widen: Widening) -> Iterator[None]:
    """While numbers of tensors may be others: `widen` gives the enclosure of some in place of that of exact ones."""
    before = _WIDENING.set(widen)
    try:
        yield
    finally:
        _WIDENING.reset(before)


# --- how formulas are evaluated ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    """How formulas are evaluated.

    Attributes:
        tolerance: whose bounds every operation has.
        data_type: the type that every result is rounded to, FLOAT32 for FLOAT16 tensors too as a rule; None for a
            formula that is not rounded.
    """

    tolerance: Tolerance
    data_type: DataType | None = DataType.FLOAT32

    def of(self, numbers: Array) -> Enclosure:
        """Numbers as those of a tensor, which are known exactly unless `widening` says otherwise; subnormal ones of
        its type may be taken for zero."""
        found, widen = self._exactly(numbers), _WIDENING.get()
        return found if widen is None else widen(found, numbers)

    @quiet
    def _exactly(self, numbers: Array) -> Enclosure:
        xp = namespace(numbers)
        wide = xp.astype(numbers, xp.float64)
        if numbers.dtype == xp.float32 and every(xp.abs(numbers) >= FORMATS[DataType.FLOAT32].normal):
            return Enclosure(self, wide)  # most data has no NaN, zero or subnormal number
        is_nan = xp.isnan(wide)
        if some(is_nan):
            wide = xp.where(is_nan, xp.nan, wide)  # of signaling ones maxima of numbers are now these, now NaN
        name = type_name(numbers.dtype)
        if name not in ("FLOAT32", "FLOAT16"):
            if name not in ("INT64", "UINT64") or not some(abs(wide) >= 2.0**53):
                return Enclosure(self, wide)
            slack = xp.where(abs(wide) >= 2.0**53, abs(wide) * UNIT, 0.0)
            return Enclosure(self, wide, wide - slack, wide + slack)
        return Enclosure(self, wide, *self._with_zero(xp, wide, wide, DataType[name]))

    def primitive(self, name: str) -> tuple[Primitive, Bound]:
        """An operation and its bound; none where nothing is rounded, or it is taken to lose nothing."""
        found = PRIMITIVES[name]
        if self.data_type is None or name in self.tolerance.lossless:
            return found, Bound()
        return found, found.bound(self.tolerance, self.data_type)

    @quiet
    def result(
        self,
        name: str,
        value: Array,
        low: Array,
        high: Array,
        maybe_nan: Array | None = None,
        exact: Array | None = None,
        factor: float = 1.0,
    ) -> Enclosure:
        """What an operation may give.

        Args:
            name: of the primitive.
            value: the exact result of exact operands.
            low: the least exact result of what the operands may be; NaN where none is a number.
            high: the greatest; the same array as `low` where all are alike.
            maybe_nan: where it may be a NaN besides a number; None for nowhere.
            exact: the exact results of operands that are known, else NaN: errors are counted in their units, though
                what a bound adds to the operands, or FLOAT64's own error, may reach beyond a power of two.
            factor: what the operation's result has been multiplied by, and its absolute error is besides.
        """
        xp = namespace(value)
        primitive, bound = self.primitive(name)
        if factor != 1.0:
            # Of a subnormal result a unit is multiplied, too, and what comes of it is rounded once more.
            least = 0.0 if self.data_type is None else FORMATS[self.data_type].subnormal
            absolute = max(abs(factor) * bound.absolute, (abs(factor) * bound.ulp + 1.0) * least)
            bound = replace(bound, absolute=absolute)
        if self.data_type is not None:
            rounded = self._rounded(xp, low, high, bound, primitive.keeps, exact)
            if rounded is None:
                low, high = self._with_zero(xp, low, high, self.data_type)
            else:
                if primitive.keeps_sign:
                    rounded = replaced(xp, (pair(xp, low, -high) >= 0) & (rounded < 0), 0.0, rounded)
                low, high = ends_of(self._zeroed(xp, rounded, self.data_type))
        if primitive.least > -inf and low is not high:
            low = at_least(low, primitive.least)
        return Enclosure(self, value, low, high, maybe_nan)

    def _rounded(
        self, xp: Any, low: Array, high: Array, bound: Bound, keeps: bool, exact: Array | None
    ) -> Array | None:
        """The least and the greatest number that is within a bound of one of those between two, the greatest with the
        other sign, so that both are rounded down; None where each is known and stays."""
        assert self.data_type is not None
        is_nearest = bound == NEAREST
        may_stay = low is high and (keeps or is_nearest)
        if may_stay and every((nearest(xp, low, self.data_type) == low) | xp.isnan(low)):
            return None
        if is_nearest:
            ends = pair(xp, low, -high)
            if self.data_type is DataType.FLOAT16:  # which may be what FLOAT32 has of it, rounded once more
                ends = xp.minimum(ends, nearest(xp, ends, DataType.FLOAT32))
            return xp.minimum(ends, nearest(xp, ends, self.data_type))
        if keeps and bound.ulp == 1.0:
            ends = pair(xp, low, -high)
            unit = spacing(xp, ends, self.data_type)
            ends = xp.floor(ends / unit) * unit
        elif low is high:
            allowed = self._allowed(xp, low if exact is None else xp.where(xp.isnan(exact), low, exact), bound)
            ends = pair(xp, low - allowed, -low - allowed)
        else:
            ends = pair(xp, low, -high)
            known = None if exact is None else pair(xp, exact, -exact)
            ends = self._below(xp, ends, pair(xp, high, -low), bound, known)
        return replaced(xp, ends <= -bound.overflow * FORMATS[self.data_type].beyond, -inf, ends)

    def _below(self, xp: Any, low: Array, high: Array, bound: Bound, exact: Array | None) -> Array:
        """The least number that is within a bound of one between two: not always that of the least, for above the next
        power of two units are twice as large, and at 0 there are none."""
        is_open = None if exact is None else xp.isnan(exact)
        found = low - self._allowed(xp, low if exact is None else xp.where(is_open, low, exact), bound)
        power = at_least(2.0 * (low.view(xp.int64) & EXPONENT).view(xp.float64), LEAST)
        is_between = (low >= 0) & (power <= high)
        if is_open is not None:
            is_between = is_between & is_open
        if not some(is_between):
            return found
        return xp.where(is_between, xp.minimum(found, power - self._allowed(xp, power, bound)), found)

    def _allowed(self, xp: Any, exact: Array, bound: Bound) -> Array:
        """How far from exact results a bound lets others be; no part of 0 is more than 0."""
        assert self.data_type is not None
        absolute = bound.absolute * OUTWARD
        units = xp.where(exact == 0, 0.0, bound.ulp * OUTWARD * spacing(xp, exact, self.data_type))
        if not absolute:
            return units
        return units + absolute if bound.is_sum else at_least(units, absolute)

    def _with_zero(self, xp: Any, low: Array, high: Array, data_type: DataType) -> tuple[Array, Array]:
        """With the zero of the same sign where subnormal numbers may be taken for it."""
        if self.tolerance.subnormals[data_type] is Subnormals.KEPT:
            return low, high
        ends = pair(xp, low, -high)
        zeroed = self._zeroed(xp, ends, data_type)
        return (low, high) if zeroed is ends else ends_of(zeroed)

    def _zeroed(self, xp: Any, ends: Array, data_type: DataType) -> Array:
        """The same where the greatest number has the other sign."""
        if self.tolerance.subnormals[data_type] is Subnormals.KEPT:
            return ends
        return replaced(xp, (ends > 0) & (ends < FORMATS[data_type].normal), 0.0, ends)

    def are_few(self, count: int) -> bool:
        """Whether a sum has so few terms that no more is known of it than what each addition may lose at most."""
        return count <= self.tolerance.sum_lambda + 1

    @quiet
    def total(
        self,
        value: Array,
        low: Array,
        high: Array,
        parts: tuple[Array, Array],
        count: Array | int,
        losses: Callable[[], Losses] | None,
        *,
        products: Array | None = None,
        is_exact: Array | None = None,
        maybe_nan: Array | None = None,
    ) -> Enclosure:
        """What a sum of terms may be, in any order.

        Args:
            value, low, high: of the exact sum, but for FLOAT64's own rounding.
            parts: how large the sum of the positive terms may be, and that of the negative ones without the sign.
            count: how many terms there are.
            losses: gives those of its additions, which are not kept; None where nothing is rounded.
            products: how large the sum of the terms' magnitudes may be where they are rounded products.
            is_exact: where all partial sums are numbers of the type.
            maybe_nan: where it may be a NaN besides a number.
        """
        xp = namespace(value)
        if self.data_type is None or losses is None:
            radius = (parts[0] + parts[1]) * (count * UNIT)
            return Enclosure(self, value, low - radius, high + radius, maybe_nan)
        of = FORMATS[self.data_type]
        lost = of.subnormal if self.tolerance.subnormals[self.data_type] is Subnormals.KEPT else 2 * of.normal
        terms = None if products is None else of.epsilon * products
        radius = self._lost(xp, losses(), terms, count) * OUTWARD
        radius = (parts[0] + parts[1]) * (count * UNIT) + radius + count * lost
        if is_exact is not None:
            if low is high and every(is_exact):
                return Enclosure(self, value, low, high, maybe_nan)
            radius = xp.where(is_exact, 0.0, radius)
        low, high = low - radius, high + radius
        # Without negative terms the sum is not negative either; infinite ones are in no part.
        low = xp.where((parts[1] == 0) & (low > -inf), at_least(low, 0.0), low)
        high = xp.where((parts[0] == 0) & (high < inf), at_most(high, 0.0), high)
        low, high = self._with_zero(xp, low, high, self.data_type)
        above, below = ((part >= of.largest) & ~xp.isnan(low) for part in parts)
        if some(above | below):
            low, high = xp.where(below, -inf, low), xp.where(above, inf, high)
            maybe_nan = _or(maybe_nan, above & below)
        return Enclosure(self, value, low, high, maybe_nan)

    def _lost(self, xp: Any, losses: Losses, terms: Array | None, count: Array | int) -> Array:
        """What a sum of `count` terms loses by its additions, and by its terms, whose last places come to `terms`."""
        add, multiply = (self.primitive(name)[1].ulp for name in ("add", "multiply"))
        if not multiply:
            terms = None
        worst = losses.total if add == NEAREST.ulp else losses.cut
        if not add:
            worst, losses = xp.zeros_like(worst), losses._replace(root=None)
        if terms is not None:
            worst = worst + multiply * terms
        if losses.root is None:
            return worst
        usual = xp.maximum(self.tolerance.sum_lambda * losses.root, losses.drift)
        if terms is not None:
            usual = usual + 0.5 * terms
        return xp.minimum(worst, xp.where(xp.asarray(count) > self.tolerance.sum_lambda + 1, usual, inf))


# --- enclosures -------------------------------------------------------------------------------------------------------


class Enclosure:
    """Numbers of FLOAT64 and what may stand in their place.

    Attributes:
        evaluation: how it is computed with.
        value: what the formula gives of its exact arguments, but for FLOAT64's own rounding.
        low: the least number that a right implementation may have; NaN where none may be one. A zero is of either
            sign where `low` is -0 and `high` +0.
        high: the greatest; the very array that `low` is where every element is known exactly.
        maybe_nan: where it may be a NaN besides a number; None for nowhere.
    """

    __array_ufunc__ = None  # an array of NumPy's on the left leaves the operation to the enclosure
    __slots__ = ("_reciprocal", "evaluation", "high", "low", "maybe_nan", "value")

    def __init__(
        self,
        evaluation: Evaluation,
        value: Array,
        low: Array | None = None,
        high: Array | None = None,
        maybe_nan: Array | None = None,
    ) -> None:
        self.evaluation = evaluation
        self.value = value
        self.low = value if low is None else low
        self.high = self.low if high is None else high
        self.maybe_nan = maybe_nan
        self._reciprocal: Enclosure | None = None

    @property
    def xp(self) -> Any:
        """The namespace that its arrays are of."""
        return namespace(self.value)

    @property
    def is_exact(self) -> bool:
        """Whether every element is known exactly."""
        return self.low is self.high and self.low is self.value

    @property
    def nan(self) -> Array:
        """Where a NaN is right, alone or besides numbers."""
        missing = self.xp.isnan(self.low)
        return missing if self.maybe_nan is None else missing | self.maybe_nan

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    def each(self, change: Callable[[Array], Array]) -> Enclosure:
        """With every array changed in the same way: moved, repeated, cut."""
        value = change(self.value)
        low = value if self.low is self.value else change(self.low)
        high = low if self.high is self.low else change(self.high)
        if self.maybe_nan is None:
            return Enclosure(self.evaluation, value, low, high)
        maybe_nan = self.maybe_nan
        if maybe_nan.shape != self.value.shape:  # one for several elements is one for each, which go different ways
            maybe_nan = self.xp.broadcast_to(maybe_nan, self.shape)
        return Enclosure(self.evaluation, value, low, high, change(maybe_nan))

    def __getitem__(self, index: Any) -> Enclosure:
        return self.each(lambda part: part[index])

    def reshape(self, *sizes: int) -> Enclosure:
        return self.each(lambda part: self.xp.reshape(part, sizes))

    def permute(self, *axes: int) -> Enclosure:
        return self.each(lambda part: self.xp.permute_dims(part, axes))

    def broadcast(self, *sizes: int) -> Enclosure:
        return self.each(lambda part: self.xp.broadcast_to(part, sizes))

    def operand(self, other: Enclosure | Number) -> Enclosure:
        """The other operand; a number is one that is known exactly."""
        if isinstance(other, Enclosure):
            return other
        xp = self.xp
        return Enclosure(self.evaluation, xp.asarray(float(other), dtype=xp.float64, device=device(self.value)))

    # --- arithmetic ---

    def __neg__(self) -> Enclosure:
        if self.is_exact:
            return Enclosure(self.evaluation, -self.value, maybe_nan=self.maybe_nan)
        return Enclosure(self.evaluation, -self.value, -self.high, -self.low, self.maybe_nan)

    def __abs__(self) -> Enclosure:
        xp = self.xp
        value = xp.abs(self.value)
        if self.is_exact:
            return Enclosure(self.evaluation, value, maybe_nan=self.maybe_nan)
        least = xp.where((self.low < 0) & (self.high > 0), 0.0, xp.minimum(xp.abs(self.low), xp.abs(self.high)))
        return Enclosure(self.evaluation, value, least, xp.maximum(xp.abs(self.low), xp.abs(self.high)), self.maybe_nan)

    @quiet
    def __add__(self, other: Enclosure | Number) -> Enclosure:
        other, xp = self.operand(other), self.xp
        maybe_nan = _or(self.maybe_nan, other.maybe_nan)
        if self.low is self.high and other.low is other.high:
            low, high = _sum(xp, self.low, other.low)
        else:
            rank = max(len(self.shape), len(other.shape))
            lows, highs = _sum(xp, _ends(xp, self, rank), _ends(xp, other, rank))
            low, high = lows[0], highs[1]
        is_finite = every(xp.isfinite(low)) and (low is high or every(xp.isfinite(high)))
        if not (is_finite or (self._is_finite() and other._is_finite())):
            # Opposite infinities; where one operand may be finite instead, the other one is the result.
            low, high = (low, high) if low is high else (xp.fmin(low, high), xp.fmax(low, high))
            opposite = ((self.high == inf) & (other.low == -inf)) | ((self.low == -inf) & (other.high == inf))
            maybe_nan = _or(maybe_nan, opposite)
        return self._result("add", lambda a, b: a + b, other, low, high, maybe_nan)

    __radd__ = __add__

    def __sub__(self, other: Enclosure | Number) -> Enclosure:
        return self + -self.operand(other)

    def __rsub__(self, other: Enclosure | Number) -> Enclosure:
        return self.operand(other) - self

    @quiet
    def __mul__(self, other: Enclosure | Number) -> Enclosure:
        """The product; of an enclosure by itself the square."""
        if other is self:
            return self._square()
        other, xp = self.operand(other), self.xp
        low, high = _corners(xp, _product, self, other)
        maybe_nan = _or(self.maybe_nan, other.maybe_nan)
        if not (self._is_finite() and other._is_finite()):
            one, two = self._has_zero() & other._has_infinity(), other._has_zero() & self._has_infinity()
            maybe_nan = _or(maybe_nan, one | two)
        found = self._result("multiply", lambda a, b: a * b, other, low, high, maybe_nan)
        return self._by_power_of_two(other, found) if self.shape else other._by_power_of_two(self, found)

    __rmul__ = __mul__

    def _by_power_of_two(self, factor: Enclosure, product: Enclosure) -> Enclosure:
        """A product, which is not rounded where a constant moves the exponents of normal numbers alone."""
        data_type = self.evaluation.data_type
        if factor.value.ndim or self.is_exact or not factor.is_exact or data_type is None:
            return product
        by = float(factor.value)
        if abs(frexp(by)[0]) != 0.5:
            return product
        xp, of = self.xp, FORMATS[data_type]
        low, high = (self.low * by, self.high * by) if by > 0 else (self.high * by, self.low * by)
        is_moved = xp.ones_like(low, dtype=xp.bool)
        for end in (low, high):
            size = xp.abs(end)
            is_moved = is_moved & ((size >= of.normal) & (size <= of.largest) | (end == 0) | ~xp.isfinite(end))
        low, high = (xp.where(is_moved, *ends) for ends in ((low, product.low), (high, product.high)))
        return Enclosure(self.evaluation, product.value, low, high, product.maybe_nan)

    def _square(self) -> Enclosure:
        size = abs(self)
        low, high = _product(self.xp, size.low, size.low)
        if size.low is not size.high:
            high = _product(self.xp, size.high, size.high)[1]
        return self._result("multiply", lambda a, b: a * b, self, low, high, self.maybe_nan)

    def _result(
        self, name: str, function: Function, other: Enclosure, low: Array, high: Array, maybe_nan: Array | None
    ) -> Enclosure:
        is_known = self.is_exact and other.is_exact and low is high
        value = low if is_known else function(self.value, other.value)
        return self.evaluation.result(name, value, low, high, maybe_nan)

    @quiet
    def __truediv__(self, other: Enclosure | Number) -> Enclosure:
        other, xp = self.operand(other), self.xp
        low, high = _corners(xp, _quotient, self, other)
        maybe_nan = _or(self.maybe_nan, other.maybe_nan)
        if other.low is not other.high:
            spans = other._has_both_signs() & ((self.low != 0) | (self.high != 0))
            low, high = xp.where(spans, -inf, low), xp.where(spans, inf, high)
        divisors = other._has_zero()
        if some(divisors) and some(of_zeros := self._has_zero() & divisors):
            maybe_nan = _or(maybe_nan, of_zeros)
        if not (self._is_finite() and other._is_finite()):
            maybe_nan = _or(maybe_nan, self._has_infinity() & other._has_infinity())
        quotient = self._result("divide", lambda a, b: a / b, other, low, high, maybe_nan)
        primitive, _ = self.evaluation.primitive("divide")
        if not primitive.by_reciprocal or self.evaluation.tolerance.is_precise or self.evaluation.data_type is None:
            return quotient
        return either(quotient, self * other.reciprocal())

    def __rtruediv__(self, other: Enclosure | Number) -> Enclosure:
        return self.operand(other) / self

    @quiet
    def reciprocal(self) -> Enclosure:
        """1 / x, by a reciprocal of its own and not by a division; computed once."""
        if self._reciprocal is not None:
            return self._reciprocal
        xp, one = self.xp, self.operand(1.0)
        low, high = _corners(xp, _quotient, one, self)
        if self.low is not self.high:
            spans = self._has_both_signs()
            low, high = xp.where(spans, -inf, low), xp.where(spans, inf, high)
        self._reciprocal = one._result("reciprocal", lambda a, b: a / b, self, low, high, self.maybe_nan)
        return self._reciprocal

    def _is_finite(self) -> bool:
        xp = self.xp
        is_finite = every(xp.isfinite(self.low))
        return is_finite and (self.low is self.high or every(xp.isfinite(self.high)))

    def _has_both_signs(self) -> Array:
        """Where numbers of both signs are among them, zeros too; the sign of a NaN says nothing."""
        xp = self.xp
        return (xp.signbit(self.low) != xp.signbit(self.high)) & ~xp.isnan(self.low)

    def _has_zero(self) -> Array:
        return (self.low <= 0) & (self.high >= 0)

    def _has_infinity(self) -> Array:
        return (self.low == -inf) | (self.high == inf)

    # --- sums ---

    @quiet
    def sum(self, axes: Axes) -> Enclosure:
        """The sum along axes, in any order; they stay, of size 1."""
        xp = self.xp
        count = prod(self.shape[axis] for axis in axes)
        if count == 1:
            return self

        def along(part: Array) -> Array:
            return part.sum(axis=axes, keepdims=True)

        def losses(low: Array, high: Array, _: Array, data_type: DataType) -> Losses:
            are_few = self.evaluation.are_few(count)
            return sums.of_terms(xp, self.value, low, high, axes, data_type, are_few=are_few)

        return self._sum(along, axes, count, losses)

    def mean(self, axes: Axes) -> Enclosure:
        """The sum along axes divided by the number of its terms."""
        return self.sum(axes) / prod(self.shape[axis] for axis in axes)

    @quiet
    def cumulative_sum(self, axis: int) -> Enclosure:
        """The sums of the terms up to each one along an axis, each in any order."""
        xp = self.xp
        sizes = [1] * len(self.shape)
        sizes[axis] = self.shape[axis]
        count = xp.reshape(xp.arange(1, sizes[axis] + 1, dtype=xp.float64, device=device(self.value)), tuple(sizes))

        def along(part: Array) -> Array:
            return xp.cumulative_sum(part, axis=axis)

        def losses(_: Array, __: Array, largest: Array, data_type: DataType) -> Losses:
            return sums.of_prefixes(xp, self.value, largest, count, along, data_type)

        return self._sum(along, (axis,), count, losses)

    def _sum(
        self,
        along: Callable[[Array], Array],
        axes: Axes,
        count: Array | int,
        losses: Callable[[Array, Array, Array, DataType], Losses],
    ) -> Enclosure:
        xp, tolerance, data_type = self.xp, self.evaluation.tolerance, self.evaluation.data_type

        def any_(mask: Array) -> Array:
            return along(xp.astype(mask, xp.float64)) > 0

        value = along(self.value)
        low = value if self.low is self.value else along(self.low)
        high = low if self.low is self.high else along(self.high)
        lower, upper, maybe_nan = self.low, self.high, None
        if self.maybe_nan is not None:
            maybe_nan = any_(self.maybe_nan)
        is_finite = self._is_finite()
        if not is_finite:
            low, high = (low, high) if low is high else (xp.fmin(low, high), xp.fmax(low, high))
            lower, upper = (_finite(xp, lower, upper), _finite(xp, upper, lower))
        positive, negative = along(at_least(upper, 0.0)), along(at_least(-lower, 0.0))
        if not is_finite:  # opposite infinities, one of which a sum of finite terms may be
            most = inf if data_type is None else FORMATS[data_type].largest
            above, below = any_(self.high == inf), any_(self.low == -inf)
            maybe_nan = _or(maybe_nan, (above & (below | (negative >= most))) | (below & (positive >= most)))
        parts = (positive, negative)
        if data_type is None:
            return self.evaluation.total(value, low, high, parts, count, None, maybe_nan=maybe_nan)
        # Where all terms are multiples of a unit of the largest sum, all partial sums are numbers of the type.
        largest = xp.max(positive + negative, axis=axes, keepdims=True)
        unit = spacing(xp, largest, data_type)
        is_exact = ~any_((self.low != self.high) | ((self.low / unit).round() * unit != self.low))
        is_exact = is_exact & (largest <= FORMATS[data_type].largest)
        if tolerance.subnormals[data_type] is not Subnormals.KEPT:
            is_exact = is_exact & ((unit >= FORMATS[data_type].normal) | (largest == 0))
        is_all_exact = every(is_exact)

        def lost() -> Losses:
            if is_all_exact:
                return Losses(0.0, 0.0)
            return losses(lower, upper, xp.maximum(positive, negative), data_type)

        return self.evaluation.total(value, low, high, parts, count, lost, is_exact=is_exact, maybe_nan=maybe_nan)

    @quiet
    def variance(self, axes: Axes, mean: Enclosure | None = None) -> Enclosure:
        """The mean of the squares of how far the elements are from their mean along axes, which is taken before.

        What the mean is off by, e, adds e^2 alone: the deviations sum up to 0, so what each gains others lose.
        """
        xp, evaluation = self.xp, self.evaluation
        mean = self.mean(axes) if mean is None else mean
        off = xp.maximum(mean.high - mean.value, mean.value - mean.low)
        away = xp.abs(self.value - mean.value)
        square = away * away
        radius = 0.0 if self.is_exact else xp.maximum(self.high - self.value, self.value - self.low)
        # The difference is rounded, which counts twice in its square, and the square is; FLOAT64 rounds these too.
        part = UNIT * 4
        if evaluation.data_type is not None:
            epsilon = FORMATS[evaluation.data_type].epsilon
            part += epsilon * (2 * evaluation.primitive("add")[1].ulp + evaluation.primitive("multiply")[1].ulp)
        rounding = part * (1 + part) * (away + radius + off) ** 2
        low, high = away * (away - 2 * radius) - rounding, (away + radius) ** 2 + rounding
        is_open = xp.any(~xp.isfinite(low) | ~xp.isfinite(high), axis=axes, keepdims=True)
        found = Enclosure(evaluation, square, low, high, self.maybe_nan).mean(axes)
        low, high = at_least(found.low, 0.0), found.high + off * off * (1 + 2.0**-8)
        if not some(is_open):
            return Enclosure(evaluation, found.value, low, high, found.maybe_nan)
        # Infinite elements are infinitely far from an infinite mean; other sums may have overflown, or not.
        is_none = xp.isnan(self.low) | (xp.isinf(self.low) & (self.low == self.high))
        none = xp.any(is_none, axis=axes, keepdims=True)
        low, high = (xp.where(none, xp.nan, xp.where(is_open, of, end)) for of, end in ((0.0, low), (inf, high)))
        return Enclosure(evaluation, found.value, low, high, _or(found.maybe_nan, is_open))

    def __matmul__(self, other: Enclosure) -> Enclosure:
        return self.product(other)

    def product(
        self,
        other: Enclosure,
        of: DataType | None = None,
        *,
        term: Enclosure | None = None,
        is_stored: bool = False,
    ) -> Enclosure:
        """The product of matrices, see `product_of`."""
        count = self.shape[-1]
        return product_of(Factors(count, count, lambda _: (self, other)), term, of, is_stored=is_stored)

    def _of_stored_parts(self, parts: tuple[Array, Array], is_whole: Array | None, data_type: DataType) -> Enclosure:
        """This sum where parts of it are rounded or cut to a type, and added up then.

        Args:
            parts: how large the sum of the positive terms may be, and that of the negative ones without the sign.
            is_whole: where all partial sums are whole numbers; None for nowhere.
            data_type: of the parts.
        """
        xp, of = self.xp, FORMATS[data_type]
        most, largest = parts[0] + parts[1], xp.maximum(*parts)
        lost = of.epsilon * most * OUTWARD + STORED_MOST * of.subnormal
        if is_whole is not None:
            lost = xp.where(is_whole & (most <= 2.0 / of.epsilon), 0.0, lost)
        found = Enclosure(self.evaluation, self.value, self.low - lost, self.high + lost, self.maybe_nan)
        return found.opened((largest * OUTWARD >= of.largest) & (largest * OUTWARD < most))

    def _is_whole(self, axis: int) -> Array:
        """Whether all along an axis, which stays, of size 1, are whole numbers."""
        xp, value = self.xp, self.value
        first = value[..., :16] if axis == -1 else value[..., :16, :]  # of reals they tell already that none are
        found = xp.all(first == first.round(), axis=axis, keepdims=True)
        return xp.all(value == value.round(), axis=axis, keepdims=True) if some(found) else found

    def _most(self) -> Array:
        """How far from 0 the elements may be, and from their values besides."""
        xp = self.xp
        return xp.abs(self.value) + xp.maximum(self.high - self.value, self.value - self.low)

    # --- the least and the greatest, and what is chosen ---

    @quiet
    def max(self, axes: Axes) -> Enclosure:
        """The greatest along axes, which stay, of size 1; beside a NaN it is a NaN or the greatest number."""
        xp = self.xp

        def along(part: Array) -> Array:
            return xp.max(xp.where(xp.isnan(part), -inf, part), axis=axes, keepdims=True)

        value = xp.max(self.value, axis=axes, keepdims=True)
        has_nan = xp.any(self.nan, axis=axes, keepdims=True)
        is_zero = self.value == 0
        if self.is_exact and not some(has_nan) and not some(is_zero & xp.signbit(self.value)):
            return Enclosure(self.evaluation, value)
        certain = self.low if self.maybe_nan is None else xp.where(self.maybe_nan, -inf, self.low)
        none = xp.all(xp.isnan(self.low), axis=axes, keepdims=True)
        low, high = (xp.where(none, xp.nan, along(part)) for part in (certain, self.high))
        # Of two zeros either is the greater one.
        below, above = (self.low == 0) & xp.signbit(self.low), (self.high == 0) & ~xp.signbit(self.high)
        below, above = (xp.any(mask, axis=axes, keepdims=True) for mask in (below, above))
        low, high = xp.where((low == 0) & below, -0.0, low), xp.where((high == 0) & above, 0.0, high)
        return Enclosure(self.evaluation, value, low, high, has_nan)

    def min(self, axes: Axes) -> Enclosure:
        """The least along axes, which stay, of size 1; beside a NaN it is a NaN or the least number."""
        return -(-self).max(axes)

    def __gt__(self, other: Enclosure | Number) -> Condition:
        other = self.operand(other)
        possible, certain = self.high > other.low, self.low > other.high
        maybe_nan = _or(self.maybe_nan, other.maybe_nan)
        return Condition(self.value > other.value, possible, certain if maybe_nan is None else certain & ~maybe_nan)

    def __ge__(self, other: Enclosure | Number) -> Condition:
        other = self.operand(other)
        possible, certain = self.high >= other.low, self.low >= other.high
        maybe_nan = _or(self.maybe_nan, other.maybe_nan)
        return Condition(self.value >= other.value, possible, certain if maybe_nan is None else certain & ~maybe_nan)

    def __lt__(self, other: Enclosure | Number) -> Condition:
        return self.operand(other) > self

    def __le__(self, other: Enclosure | Number) -> Condition:
        return self.operand(other) >= self

    @quiet
    def to(self, data_type: DataType) -> Enclosure:
        """As numbers of a type: the nearest, or cut where the tolerance lets it be."""
        xp, tolerance = self.xp, self.evaluation.tolerance
        ends = pair(xp, self.low, -self.high)
        found = nearest(xp, ends, data_type)
        if data_type in tolerance.cut:
            found = xp.fmin(found, self._cut(ends, data_type))
        return Enclosure(self.evaluation, self.value, *ends_of(found), self.maybe_nan)

    def _cut(self, numbers: Array, data_type: DataType) -> Array:
        """Without the digits that a type does not have; the largest number in place of what is beyond it."""
        xp, of = self.xp, FORMATS[data_type]
        unit = spacing(xp, numbers, data_type)
        cut = (xp.trunc(numbers / unit) * unit).clip(-of.largest, of.largest)
        return xp.where(xp.isfinite(numbers), cut, numbers)

    def computed_in(self, data_type: DataType | None) -> Enclosure:
        """The same numbers, with which operations are computed in another type from here on."""
        found = self.each(lambda part: part)
        found.evaluation = replace(self.evaluation, data_type=data_type)
        return found

    def opened(self, where: Array) -> Enclosure:
        """With anything in some places, NaN too."""
        xp = self.xp
        if not some(where):
            return self
        low, high = (xp.where(where, end, of) for end, of in ((-inf, self.low), (inf, self.high)))
        return Enclosure(self.evaluation, self.value, low, high, _or(self.maybe_nan, where))

    @quiet
    def rounded(self, data_type: DataType) -> tuple[Array, Array, Array]:
        """Of an output of a type, which holds these numbers rounded or cut: the nearest numbers to the exact values,
        the least that are right, and the greatest; where none is, 1 and -1.

        The nearest number to the exact value is right whatever else is.
        """
        xp, of = self.xp, FORMATS[data_type]
        values, least, most = (narrow(xp, part, data_type) for part in (self.value, self.low, self.high))
        # Mostly these are numbers of the type already, and so nothing is chosen, which would take ten times as long.
        if some(is_below := xp.astype(least, xp.float64) < self.low):
            least = xp.where(is_below, xp.nextafter(least, xp.full_like(values, inf)), least)
        least = replaced(xp, self.low <= -of.beyond, -inf, least)
        if some(is_above := xp.astype(most, xp.float64) > self.high):
            most = xp.where(is_above, xp.nextafter(most, xp.full_like(values, -inf)), most)
        most = replaced(xp, self.high >= of.beyond, inf, most)
        if data_type in self.evaluation.tolerance.cut:
            is_beyond = xp.isfinite(self.value)
            least = replaced(xp, is_beyond & (least == inf), of.largest, least)
            most = replaced(xp, is_beyond & (most == -inf), -of.largest, most)
        is_none = xp.isnan(self.low)
        if not every(least <= values):
            least = xp.fmin(least, values)
        if not every(values <= most):
            most = xp.fmax(most, values)
        least, most = replaced(xp, is_none, 1.0, least), replaced(xp, is_none, -1.0, most)
        return replaced(xp, xp.isnan(values), xp.nan, values), least, most

    def expectation(self, data_type: DataType) -> Expectation:
        """What is right of an output of a type, which holds these numbers rounded or cut: on the host."""
        values, least, most = (np.asarray(part) for part in self.rounded(data_type))
        is_nan = np.asarray(self.nan)
        within = Within(_bits(least), _bits(most), is_nan if is_nan.any() else None, exact=np.asarray(self.value))
        return Expectation(_bits(values), within=within)


class Condition(NamedTuple):
    """A comparison of enclosures: what it is of their values, where it may be true and where it must be."""

    value: Array
    possible: Array
    certain: Array

    def __invert__(self) -> Condition:
        return Condition(~self.value, ~self.certain, ~self.possible)


def known(mask: Array) -> Condition:
    """Of what is told from exact numbers."""
    return Condition(mask, mask, mask)


@quiet
def where(condition: Condition, one: Enclosure, other: Enclosure | Number) -> Enclosure:
    """The elements of one where a condition holds, else those of the other; where it may be either, both."""
    xp, other = one.xp, one.operand(other)

    def chosen(mask: Array, first: Array, second: Array) -> Array:
        return xp.where(mask, first, second)

    value = chosen(condition.value, one.value, other.value)
    open_ = condition.possible & ~condition.certain
    if one.is_exact and other.is_exact and not some(open_):
        return Enclosure(one.evaluation, value)
    low, high = (chosen(condition.certain, *pair) for pair in ((one.low, other.low), (one.high, other.high)))
    maybe_nan = None
    if one.maybe_nan is not None or other.maybe_nan is not None:
        masks = [xp.zeros_like(open_) if of.maybe_nan is None else of.maybe_nan for of in (one, other)]
        maybe_nan = chosen(condition.certain, *masks) | (open_ & (masks[0] | masks[1]))
    if some(open_):
        both = either(one, other)
        low, high = chosen(open_, both.low, low), chosen(open_, both.high, high)
        maybe_nan = _or(maybe_nan, open_ & both.nan)
    return Enclosure(one.evaluation, value, low, high, maybe_nan)


@quiet
def either(*choices: Enclosure) -> Enclosure:
    """The hull of what implementations may choose from; the value is that of the first."""
    xp = choices[0].xp
    low, high = _hull(xp, [of.low for of in choices], [of.high for of in choices])
    nan = reduce(or_, [of.nan for of in choices])
    maybe_nan = nan if some(nan) else None
    value = choices[0].value
    if len({id(of.low) for of in choices} | {id(of.high) for of in choices}) == 1:
        low = high = choices[0].low
    return Enclosure(choices[0].evaluation, value, low, high, maybe_nan)


def stack(parts: Sequence[Enclosure], axis: int = 0) -> Enclosure:
    """Enclosures of the same sizes along a new axis."""
    return _joined(parts, lambda xp, arrays: xp.stack(arrays, axis=axis))


def concatenate(parts: Sequence[Enclosure], axis: int) -> Enclosure:
    """Enclosures one behind the other along an axis."""
    return _joined(parts, lambda xp, arrays: xp.concat(arrays, axis=axis))


def _joined(parts: Sequence[Enclosure], join: Callable[[Any, list[Array]], Array]) -> Enclosure:
    xp = parts[0].xp
    value = join(xp, [part.value for part in parts])
    if all(part.is_exact for part in parts):
        return Enclosure(parts[0].evaluation, value)
    low, high = join(xp, [part.low for part in parts]), join(xp, [part.high for part in parts])
    nan = join(xp, [part.nan for part in parts])
    return Enclosure(parts[0].evaluation, value, low, high, nan if some(nan) else None)


# --- products of matrices ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Factors:
    """The matrices that a product is of, or what these are made of: as a whole, or part by part where there is not the
    memory for that.

    Attributes:
        count: columns of the left one, and rows of the right one.
        step: how many of them a part has.
        part: gives these columns of the left one, and these rows of the right one.
    """

    count: int
    step: int
    part: Callable[[slice], tuple[Any, Any]]

    @classmethod
    def of(cls, count: int, step: int, part: Callable[[slice], tuple[Any, Any]]) -> Factors:
        """The same, made once where the whole is one part."""
        if count > step:
            return cls(count, step, part)
        whole = part(slice(0, count))
        return cls(count, step, lambda _: whole)

    def each(self, change: Callable[[Any, Any], tuple[Any, Any]]) -> Factors:
        """What becomes of both."""
        return Factors.of(self.count, self.step, lambda along: change(*self.part(along)))

    def parts(self) -> Iterator[tuple[Any, Any]]:
        """All parts, in order."""
        return (self.part(slice(start, start + self.step)) for start in range(0, self.count, self.step))

    def sums(self, of: Callable[[Any, Any], Array]) -> Array:
        """What comes of the parts, added up; of masks, where any is true."""
        return reduce(add, (of(*part) for part in self.parts()))


class _Products(NamedTuple):
    """What is known of products that are added up.

    Attributes:
        evaluation: how they are computed.
        value: their sums.
        magnitudes: the sums of how large they are.
        most: of how large they may be.
        sizes: of the rows and columns that are multiplied.
        is_exact: whether all of these are known exactly.
        is_whole: where all of them are whole numbers; None for nowhere.
        maybe_nan: where one may be a NaN besides a number; None for nowhere.
    """

    evaluation: Evaluation
    value: Array
    magnitudes: Array
    most: Array
    sizes: tuple[sums.Sizes, sums.Sizes]
    is_exact: bool
    is_whole: Array | None
    maybe_nan: Array | None

    @classmethod
    def of(cls, one: Enclosure, other: Enclosure, start: int, count: int) -> _Products:
        """Of columns and rows that follow the first `start` of `count`."""
        xp, maybe_nan = one.xp, None
        rows, columns = xp.abs(one.value), xp.abs(other.value)
        sizes = sums.Sizes.of(xp, rows, -1, start, count), sums.Sizes.of(xp, columns, -2, start, count)
        magnitudes, is_exact = rows @ columns, one.is_exact and other.is_exact
        most = magnitudes if is_exact else one._most() @ other._most()
        is_whole = one._is_whole(-1) & other._is_whole(-2) if is_exact else None
        if one.maybe_nan is not None:
            maybe_nan = xp.any(one.maybe_nan, axis=-1, keepdims=True)
        if other.maybe_nan is not None:
            maybe_nan = _or(maybe_nan, xp.any(other.maybe_nan, axis=-2, keepdims=True))
        value = one.value @ other.value
        return cls(one.evaluation, value, magnitudes, most, sizes, is_exact, is_whole, maybe_nan)

    @classmethod
    def of_all(cls, factors: Factors) -> _Products:
        """Of all parts of matrices."""
        start, found = 0, None
        for one, other in factors.parts():
            products = cls.of(one, other, start, factors.count)
            found = products if found is None else found.with_more(products)
            start += one.shape[-1]
        assert found is not None
        return found

    def with_more(self, other: _Products) -> _Products:
        """These and others that are added to the same sums."""
        xp = namespace(self.value)
        whole = None if self.is_whole is None or other.is_whole is None else self.is_whole & other.is_whole
        sizes = tuple(
            sums.Sizes(xp.concat([one.some, more.some], axis=axis), one.mean + more.mean)
            for one, more, axis in zip(self.sizes, other.sizes, (-1, -2), strict=True)
        )
        return _Products(
            self.evaluation,
            self.value + other.value,
            self.magnitudes + other.magnitudes,
            self.most + other.most,
            (sizes[0], sizes[1]),
            self.is_exact and other.is_exact,
            whole,
            _or(self.maybe_nan, other.maybe_nan),
        )


@quiet
def product_of(
    factors: Factors, term: Enclosure | None = None, of: DataType | None = None, *, is_stored: bool = False
) -> Enclosure:
    """The product of matrices, its sums in any order, by midpoint and radius (Rump, Fast and parallel interval
    arithmetic, 1999): three products of FLOAT64, two where both are known exactly.

    Args:
        factors: the matrices, which are enclosures.
        term: one more for each sum, of the product's sizes.
        of: the type of the factors; None for the one that is computed in.
        is_stored: whether parts of a sum may be kept in it that is as long as the tolerance says.
    """
    evaluation, value, magnitudes, most, sizes, is_exact, whole, maybe_nan = _Products.of_all(factors)
    xp, data_type, count = namespace(value), evaluation.data_type, factors.count
    if term is not None:
        count, value, magnitudes = count + 1, value + term.value, magnitudes + xp.abs(term.value)
        is_exact, most, maybe_nan = is_exact and term.is_exact, most + term._most(), _or(term.maybe_nan, maybe_nan)
    low, high, radius = value, value, 0.0
    if not is_exact:
        radius = most - magnitudes + most * (2 * count * UNIT)
        low, high = value - radius, value + radius
    if data_type is None or not is_exact:
        whole = None
    elif whole is not None:
        whole = whole & (magnitudes <= 2.0 / FORMATS[data_type].epsilon)
        if term is not None:
            whole = whole & (term.value == term.value.round())
    parts = tuple(at_least((magnitudes + way * value) / 2, 0.0) + radius for way in (1.0, -1.0))
    losses = None
    if data_type is not None:
        if some(magnitudes >= FORMATS[data_type].largest):
            # Of two that overflow the lesser is lost in FLOAT64's difference, and makes a NaN.
            signs = (factors.sums(partial(_products_of_sign, way)) for way in (1.0, -1.0))
            ways = (0.0, 0.0) if term is None else (at_least(way * term.value, 0.0) for way in (1.0, -1.0))
            parts = tuple(part + more + radius for part, more in zip(signs, ways, strict=True))
        largest = xp.maximum(*parts)
        if of is DataType.FLOAT16 and data_type is DataType.FLOAT32:
            losses = partial(sums.of_halves, xp, largest + _lifted(factors, magnitudes), count)
        else:
            are_few = evaluation.are_few(count)
            losses = partial(sums.of_products, xp, sizes, largest, data_type, count, are_few=are_few)
    found = evaluation.total(value, low, high, parts, count, losses, products=most, is_exact=whole, maybe_nan=maybe_nan)
    is_finite = xp.isfinite(most)
    if not every(is_finite):
        found = _beside_infinities(factors, term, found, is_finite, is_exact)
    if of is None or not is_stored or of not in evaluation.tolerance.stored or count <= STORED_FROM:
        return found
    return found._of_stored_parts(parts, whole, of).opened(~is_finite)


def _lifted(factors: Factors, magnitudes: Array) -> Array | float:
    """How much larger the sums of magnitudes are where the least normal number of FLOAT16 stands for each subnormal one
    beside a number that is not 0."""
    least = FORMATS[DataType.FLOAT16].normal

    def is_subnormal(numbers: Enclosure) -> Array:
        size = numbers.xp.abs(numbers.value)
        return (size > 0) & (size < least)

    def lifted(numbers: Enclosure) -> Array:
        return numbers.xp.where(is_subnormal(numbers), least, numbers.xp.abs(numbers.value))

    if not any(some(is_subnormal(each)) for part in factors.parts() for each in part):
        return 0.0
    more = factors.sums(lambda one, other: lifted(one) @ lifted(other)) - magnitudes
    xp = namespace(magnitudes)
    return xp.where(xp.isfinite(more), more, 0.0)


def _products_of_sign(way: float, one: Enclosure, other: Enclosure) -> Array:
    """How large the sums of the positive products of rows and columns are, or of the negative ones without the sign."""
    rows = [at_least(sign * one.value, 0.0) for sign in (1.0, -1.0)]
    columns = [at_least(way * sign * other.value, 0.0) for sign in (1.0, -1.0)]
    return rows[0] @ columns[0] + rows[1] @ columns[1]


def _beside_infinities(
    factors: Factors, term: Enclosure | None, found: Enclosure, is_finite: Array, is_exact: bool
) -> Enclosure:
    """The product where some of its sums are not finite, of what is `found` by its errors."""
    xp, value = found.xp, found.value

    def finite(of: Enclosure) -> Array:
        return xp.where(xp.isfinite(of.value), xp.abs(of.value), 0.0)

    def has_none(one: Enclosure, other: Enclosure) -> Array:
        rows, columns = xp.isnan(one.low), xp.isnan(other.low)
        return xp.any(rows, axis=-1, keepdims=True) | xp.any(columns, axis=-2, keepdims=True)

    # Infinities and NaN are what they are in any order, unless finite products overflow beside them.
    if is_exact:
        low, high = value, value
        data_type = found.evaluation.data_type
        largest = inf if data_type is None else FORMATS[data_type].largest
        sizes = factors.sums(lambda one, other: finite(one) @ finite(other))
        if term is not None:
            sizes = sizes + finite(term)
        maybe_nan = _or(found.maybe_nan, ~is_finite & (sizes >= largest))
    else:
        none = factors.sums(has_none)
        if term is not None:
            none = none | xp.isnan(term.low)
        low, high = (xp.where(none, xp.nan, way) for way in (-inf, inf))
        maybe_nan = _or(found.maybe_nan, ~is_finite)
    low, high = xp.where(is_finite, found.low, low), xp.where(is_finite, found.high, high)
    return Enclosure(found.evaluation, value, low, high, maybe_nan)


# --- arithmetic of FLOAT64, rounded outward ---------------------------------------------------------------------------


def _sum(xp: Any, one: Array, other: Array) -> tuple[Array, Array]:
    """Exact where the error of the sum, which FLOAT64 has (Knuth's TwoSum), is 0."""
    total = one + other
    of_other = total - one
    error = (one - (total - of_other)) + (other - of_other)
    return outward(xp, total, (error != 0) & ~xp.isnan(error))


def _product(xp: Any, one: Array, other: Array) -> tuple[Array, Array]:
    is_exact = (is_short(xp, one) & is_short(xp, other)) | (one == 0) | (other == 0)
    return outward(xp, one * other, ~is_exact)


def _quotient(xp: Any, one: Array, other: Array) -> tuple[Array, Array]:
    found = one / other
    is_exact = is_short(xp, found) & is_short(xp, other) & (found * other == one)
    return outward(xp, found, ~(is_exact | (one == 0) | xp.isinf(other)))


def _corners(
    xp: Any, operation: Callable[..., tuple[Array, Array]], one: Enclosure, other: Enclosure
) -> tuple[Array, Array]:
    """The least and the greatest of an operation that has both where each operand is at an end."""
    if one.low is one.high and other.low is other.high:
        return operation(xp, one.low, other.low)
    if not other.value.ndim and other.is_exact and 0.0 < abs(by := float(other.value)) < inf:
        lows, highs = operation(xp, pair(xp, one.low, one.high), other.value)
        return (lows[0], highs[1]) if by > 0 else (lows[1], highs[0])
    rank = max(len(one.shape), len(other.shape))
    lows, highs = operation(xp, _ends(xp, one, rank)[:, None, ...], _ends(xp, other, rank)[None, ...])
    low, high = _hull(xp, *([corner for row in ends for corner in row] for ends in (lows, highs)))
    is_lost = xp.isnan(low)
    if some(is_lost):  # 0 times anything, or anything by infinity: a zero, of either sign, but at the ends
        is_wide = (one.low < one.high) | (other.low < other.high)
        is_lost = is_lost & is_wide & ~xp.isnan(one.low) & ~xp.isnan(other.low)
        low, high = xp.where(is_lost, -0.0, low), xp.where(is_lost, 0.0, high)
    return low, high


def _ends(xp: Any, of: Enclosure, rank: int) -> Array:
    """The ends along a new first axis, before as many dimensions as a rank says; one where they are the same."""
    ends = of.low[None, ...] if of.low is of.high else pair(xp, of.low, of.high)
    missing = rank - len(of.shape)
    return xp.reshape(ends, (ends.shape[0], *(1,) * missing, *of.shape)) if missing else ends


def _hull(xp: Any, lows: list[Array], highs: list[Array]) -> tuple[Array, Array]:
    """The least and the greatest number of several, -0 before +0; NaN where none is a number."""
    low, high = reduce(xp.fmin, lows), reduce(xp.fmax, highs)
    return zeros(xp, low, high, lows, highs)


def _finite(xp: Any, numbers: Array, others: Array) -> Array:
    """The numbers where they are finite, else the others where these are, else 0."""
    return xp.where(xp.isfinite(numbers), numbers, xp.where(xp.isfinite(others), others, 0.0))


def _or(one: Array | None, other: Array | None) -> Array | None:
    return other if one is None else one if other is None else one | other


def _bits(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view(UNSIGNED[numbers.itemsize]).reshape(numbers.shape)


def zeros(xp: Any, low: Array, high: Array, lows: Sequence[Array], highs: Sequence[Array]) -> tuple[Array, Array]:
    """The ends of enclosures, with zeros of both signs where they come of zeros of both."""
    if some(is_zero := low == 0):
        low = replaced(xp, is_zero & reduce(or_, ((part == 0) & xp.signbit(part) for part in lows)), -0.0, low)
    if some(is_zero := high == 0):
        high = replaced(xp, is_zero & reduce(or_, ((part == 0) & ~xp.signbit(part) for part in highs)), 0.0, high)
    return low, high
