"""What is right of results, and how far from the exact value they are, where they are: in arrays or torch's tensors.

`backends.reference.arithmetic` says what is right; `judged_by_reference` asks it. `Judge` computes the same of billions
of numbers, each the one argument of a function, on the device that they lie on; who uses it holds some of that against
the reference. The exact function is the reference's own: what it calls of NumPy is called of torch (`TorchNumbers`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dml_conformance.backends.reference.arithmetic import OWN_ERROR, Arithmetic, Function, bounded, spacing
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.spec.accuracy import Bound, Profile, Subnormals
from dml_conformance.spec.datatypes import DataType

if TYPE_CHECKING:
    import torch

Numbers = Any  # an array or a tensor


class Library(Protocol):
    """NumPy or torch, in the names that they share, and what they do not share."""

    names: Any

    def cast(self, numbers: Numbers, kind: str) -> Numbers:
        """The numbers in another type, `float64`."""

    def apply(self, function: Function, numbers: Numbers) -> Numbers:
        """A function of the reference, of FLOAT64 numbers."""

    def count_up(self, start: int, end: int) -> Numbers:
        """Whole numbers of 64 bits."""

    def largest(self, numbers: Numbers, count: int) -> Numbers:
        """The places of the largest ones, in no order."""

    def histogram(self, numbers: Numbers, bins: int, least: float, most: float) -> Numbers:
        """How many lie in each of so many bins of the same width; others are left out."""

    def take(self, numbers: Numbers, places: Numbers) -> Numbers:
        """Of each row, those at its places."""

    def host(self, numbers: Numbers) -> Any:
        """The same as an array in the host's memory."""


class NumPy:
    """On the host."""

    names: Any = np

    def cast(self, numbers: Numbers, kind: str) -> Numbers:
        return numbers.astype(kind)

    def apply(self, function: Function, numbers: Numbers) -> Numbers:
        return np.asarray(function(numbers), np.float64)

    def count_up(self, start: int, end: int) -> Numbers:
        return np.arange(start, end, dtype=np.int64)

    def largest(self, numbers: Numbers, count: int) -> Numbers:
        return np.argsort(-numbers, kind="stable")[:count]

    def histogram(self, numbers: Numbers, bins: int, least: float, most: float) -> Numbers:
        return np.histogram(numbers, bins, (least, most))[0]

    def take(self, numbers: Numbers, places: Numbers) -> Numbers:
        return np.take_along_axis(numbers, places, 1)

    def host(self, numbers: Numbers) -> Any:
        return np.asarray(numbers)


class Torch:
    """On a device of torch's."""

    def __init__(self, device: torch.device) -> None:
        import torch

        self.names: Any = torch
        self._device = device

    def cast(self, numbers: Numbers, kind: str) -> Numbers:
        return numbers.to(getattr(self.names, kind))

    def apply(self, function: Function, numbers: Numbers) -> Numbers:
        found = function(TorchNumbers(numbers))
        return _tensor(found, numbers).broadcast_to(numbers.shape).double()

    def count_up(self, start: int, end: int) -> Numbers:
        return self.names.arange(start, end, dtype=self.names.int64, device=self._device)

    def largest(self, numbers: Numbers, count: int) -> Numbers:
        return numbers.topk(min(count, len(numbers))).indices

    def histogram(self, numbers: Numbers, bins: int, least: float, most: float) -> Numbers:
        return self.names.histc(numbers, bins, least, most)

    def take(self, numbers: Numbers, places: Numbers) -> Numbers:
        return numbers.gather(1, places)

    def host(self, numbers: Numbers) -> Any:
        return numbers.cpu().numpy()


class TorchNumbers(NDArrayOperatorsMixin):
    """A tensor that NumPy's functions take: `np.exp` of it is `torch.exp` of the tensor.

    Raises:
        TypeError: from a function that is not known here.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, tensor: Numbers) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    def astype(self, dtype: Any, **_: Any) -> TorchNumbers:
        return self if np.dtype(dtype) == bool else TorchNumbers(self.tensor.double())

    def __array_ufunc__(self, ufunc: Any, method: str, *arguments: Any, **options: Any) -> Any:
        if method != "__call__" or not options.keys() <= {"dtype", "casting"}:
            return NotImplemented
        kind = options.get("dtype")
        return self._call(ufunc.__name__.partition(" ")[0], arguments, kind is not None and np.dtype(kind) != bool)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return NotImplemented if options else self._call(function.__name__, arguments, False)

    def _call(self, name: str, arguments: Sequence[Any], to_numbers: bool) -> Any:
        import torch

        of_torch: Callable[..., Any] | None = getattr(torch, _TORCH_NAMES.get(name, name), None)
        if of_torch is None:
            return NotImplemented
        tensors = [_tensor(argument, self.tensor) for argument in arguments]
        return TorchNumbers(of_torch(*(tensor.double() for tensor in tensors) if to_numbers else tensors))


def _tensor(number: Any, like: Numbers) -> Numbers:
    if isinstance(number, TorchNumbers):
        return number.tensor
    value = number.item() if isinstance(number, np.ndarray | np.generic) else number
    kind = None if isinstance(value, bool) else like.new_zeros(0).double().dtype
    return like.new_full((), value, dtype=kind)


_TORCH_NAMES = {
    "rint": "round",
    "power": "pow",
    "fabs": "abs",
    "equal": "eq",
    "invert": "bitwise_not",
    "clip": "clamp",
}


def _of_exact(also: Function, function: Function, x: Numbers) -> Numbers:
    """What is right too, told from the exact value."""
    return also(function(x), x)


class Judged(NamedTuple):
    """What is known of each result.

    Attributes:
        is_right: whether it lies in its interval.
        is_counted: whether its error counts: it and the exact value are finite, and it says something, see `Within`.
        error: in units in the last place of the exact value; 0 where it does not count.
        used: the part of the way from the exact value to the interval's end, likewise; more than 1 is beyond it.
        value: the nearest number of the type.
        low, high: the ends of the interval, as numbers of the type.
        nan: where a NaN is right.
    """

    is_right: Numbers
    is_counted: Numbers
    error: Numbers
    used: Numbers
    value: Numbers
    low: Numbers
    high: Numbers
    nan: Numbers


def judged_by_reference(found: Arithmetic, results: Any, data_type: DataType, bound: Bound, profile: Profile) -> Judged:
    """Results on the host, of a function of any arguments, as the reference has it."""
    expected, (least, most) = bounded(found, data_type, bound, profile)
    within, kind = expected.within, results.dtype
    if within is None or within.exact is None:
        raise ValueError("An Arithmetic is expected within intervals around exact values.")
    bits = np.ascontiguousarray(results).view(UNSIGNED[data_type.size])
    is_right = within.holds(bits, data_type)
    if within.where is not None:
        is_right = np.where(within.where, is_right, bits == expected.values)
    got, exact = results.astype(np.float64), within.exact
    is_counted = np.isfinite(got) & np.isfinite(exact) & within.counts
    with np.errstate(all="ignore"):
        away = got - exact
        used = np.where(away == 0, 0.0, away / (np.where(away > 0, most, least) - exact))
        error = np.where(is_counted, abs(away) / spacing(exact, data_type), 0.0)
    nan = np.zeros(exact.shape, np.bool_) if within.nan is None else within.nan
    value, low, high = (part.view(kind) for part in (expected.values, within.low, within.high))
    return Judged(is_right, is_counted, error, np.where(is_counted, used, 0.0), value, low, high, nan)


class Judge:
    """Judges the results of a function of one number.

    Args:
        library: of the numbers.
        found: what is computed; its arguments are not looked at.
        data_type: of argument and result.
        bound: that the results are held to.
        profile: that it is of.
    """

    def __init__(
        self, library: Library, found: Arithmetic, data_type: DataType, bound: Bound, profile: Profile
    ) -> None:
        self._library, self._xp = library, library.names
        self._found, self._bound = found, bound
        self._type = data_type.name.lower()
        self._info = np.finfo(NUMBERS[data_type])
        self._is_cutting = data_type in profile.cut
        self._is_flushing = profile.subnormals[data_type] is not Subnormals.KEPT

    def judge(self, arguments: Numbers, results: Numbers) -> Judged:
        xp, cast = self._xp, self._library.cast
        x, got, smallest = cast(arguments, "float64"), cast(results, "float64"), float(self._info.tiny)
        exact, least, most, nan = self._ends(x)
        is_tiny = (x != 0) & (abs(x) < smallest)
        if self._is_flushing and bool(is_tiny.any()):
            flushed = [self._ends(xp.where(is_tiny, x * 0.0, x))]
            if self._found.compared is not None:
                flushed.append(self._around(self._found.compared, x))
            for _, low, high, other in flushed:
                least, most, nan = xp.minimum(least, low), xp.maximum(most, high), nan | other
        value, low, high = self._rounded(exact, least, most)
        is_right = xp.where(xp.isnan(got), nan, (low <= results) & (results <= high))
        if self._found.keeps_zero_signs:
            is_zero = (low == 0) & (high == 0) & ~nan
            is_right &= ~is_zero | (xp.signbit(results) == xp.signbit(value))
        is_counted = xp.isfinite(got) & xp.isfinite(exact) & ~(abs(x) > self._bound.reach)
        if self._is_flushing:
            is_counted &= ~is_tiny & ((abs(exact) >= 2 * smallest) | (exact == 0))
        away = got - exact
        used = xp.where(away == 0, 0.0, away / (xp.where(away > 0, most, least) - exact))
        error = xp.where(is_counted, abs(away) / self._spacing(exact), 0.0)
        used = xp.where(is_counted, used, 0.0)
        return Judged(is_right, is_counted, error, used, value, low, high, nan)

    def _ends(self, x: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """The exact values, from where to where results are right, and where NaN is; see `arithmetic`."""
        xp, found = self._xp, self._found
        exact, low, high, nan = self._around(found.function, x)
        of_exact: list[Function] = [partial(_of_exact, function, found.function) for function in found.also]
        for function in (*of_exact, *(found.steps if self._bound.steps else ())):
            _, least, most, other = self._around(function, x)
            low, high, nan = xp.minimum(low, least), xp.maximum(high, most), nan | other
        return exact, low, high, nan

    def _around(self, function: Function, x: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """The same of one function."""
        xp, bound, apply = self._xp, self._bound, self._library.apply
        exact = apply(function, x)
        low = high = exact
        if bound.argument or bound.shift:
            away = xp.where(xp.isfinite(x), bound.argument * abs(x) + bound.shift, 0.0)
            for near in (apply(function, x - away), apply(function, x + away)):
                low, high = xp.fmin(low, near), xp.fmax(high, near)
                if (extremes := self._found.extremes) is not None:
                    has_pole = (xp.sign(near) != xp.sign(exact)) & (abs(near - exact) > 1.0)
                    low, high = xp.where(has_pole, extremes[0], low), xp.where(has_pole, extremes[1], high)
        is_finite = xp.isfinite(exact)
        if not bound.is_exact:
            units = xp.where(exact == 0, 0.0, bound.ulp * self._spacing(exact))
            absolute = xp.full_like(units, bound.absolute)
            if self._found.unit is not None:
                absolute = absolute * apply(self._found.unit, x)
            allowed = (units + absolute if bound.is_sum else xp.maximum(units, absolute)) + OWN_ERROR * abs(exact)
            if self._found.error is not None:
                allowed = allowed + apply(self._found.error, x)
            low, high = xp.where(is_finite, low - allowed, low), xp.where(is_finite, high + allowed, high)
        if bound.reach < np.inf:
            is_beyond = (abs(x) > bound.reach) & is_finite
            low, high = xp.where(is_beyond, bound.beyond[0], low), xp.where(is_beyond, bound.beyond[1], high)
        nan = xp.isnan(exact)
        return exact, xp.where(nan, np.inf, low), xp.where(nan, -np.inf, high), nan

    def _spacing(self, numbers: Numbers) -> Numbers:
        """A unit in the last place of the type at each number, by the exponents of FLOAT64."""
        xp, info = self._xp, self._info
        exponent = ((numbers.view(xp.int64) >> 52) & 0x7FF) - 1023
        exponent = xp.clip(exponent, int(info.minexp), int(info.maxexp) - 1) - info.nmant
        return ((exponent + 1023) << 52).view(xp.float64)

    def _rounded(self, exact: Numbers, least: Numbers, most: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The nearest numbers of the type, and the first and the last ones in the intervals; see `arithmetic`."""
        xp, info, bound = self._xp, self._info, self._bound
        beyond = 2.0 ** float(info.maxexp)
        value, low, high = (self._library.cast(numbers, self._type) for numbers in (exact, least, most))
        infinity = xp.full_like(value, np.inf)
        low = xp.where(low < least, xp.nextafter(low, infinity), low)
        high = xp.where(high > most, xp.nextafter(high, -infinity), high)
        low = xp.where(least <= -bound.overflow * beyond, -infinity, low)
        high = xp.where(most >= bound.overflow * beyond, infinity, high)
        if self._is_cutting:
            largest, is_beyond = xp.full_like(value, info.max.item()), xp.isfinite(exact)
            low = xp.where(is_beyond & (low == np.inf), largest, low)
            high = xp.where(is_beyond & (high == -np.inf), -largest, high)
        is_number = ~xp.isnan(value) & (least <= most)
        low = xp.where(is_number & (value < low), value, low)
        high = xp.where(is_number & (value > high), value, high)
        zero = xp.zeros_like(value)
        if self._is_flushing:
            to_zero = (low <= high) & (low < info.tiny.item()) & (high > -info.tiny.item())
            low = xp.where(to_zero, xp.minimum(low, zero), low)
            high = xp.where(to_zero, xp.maximum(high, zero), high)
        is_empty = least > most
        return value, xp.where(is_empty, zero + 1, low), xp.where(is_empty, zero - 1, high)
