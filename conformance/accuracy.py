"""How far from the exact value results are, for all that the arguments of an operator may be.

Arguments are tried binade by binade, the numbers of one exponent and sign: all of them, or as many of each spread over
it. Of several, that is the first floating-point one; the others are drawn, some of any size and some like the first.
Where the backend works on a device of torch's, the one argument of a function is made there, and results are judged
there, by the reference's own formula; some of that is held against what the same formula gives on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from array_api_compat import array_namespace
from array_api_compat import numpy as of_host

from dml_conformance.backends.base import Backend, Binding, Bytes, Unsupported
from dml_conformance.backends.reference.floats import quiet, spacing
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.backends.reference.operators import CUTS, OPERATORS
from dml_conformance.backends.reference.parts import cut_elementwise, reach_of
from dml_conformance.spec.accuracy import Profile
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.errors import BadInputError, BrokenRunError
from dml_conformance.spec.expectation import in_order
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import OperatorDesc, inputs, outputs
from dml_conformance.spec.registry import operator, operators
from dml_conformance.strategies.builders import builder, leading_ones
from dml_conformance.strategies.chooser import SimplestChooser
from dml_conformance.strategies.context import Context

if TYPE_CHECKING:
    from dml_conformance.backends.torch import TorchBackend

TYPES = (DataType.FLOAT32, DataType.FLOAT16)
SAMPLED = 2**13  # FLOAT32 numbers of each binade where not all are tried; eight times as many of FLOAT16's few
ON_HOST, ON_DEVICE = 2**20, 2**24  # numbers at a time
CHECKED = 1000  # of each such part, held against the reference where they are judged on a device
WIDTH = 64  # of a row whose elements are computed together
WORST = 10  # results that are wrong, to be named
SCATTER = 12345  # an odd number that numbers between steps are made with
# Errors are counted by their logarithms, in bins of a sixteenth of a power of two.
LEAST_LOG, MOST_LOG, BINS_A_POWER = -12, 52, 16


# Attributes that make an operator round, where those that come first do not: numbers that FLOAT32 has.
ATTRIBUTES: dict[str, dict[str, float]] = {
    "ACTIVATION_LINEAR": {"alpha": 0.699999988079071, "beta": 0.30000001192092896},
    "ACTIVATION_SHRINK": {"bias": 0.3750399947166443},
    "ELEMENT_WISE_CONSTANT_POW": {"exponent": 1.7000000476837158},
}


class AccuracyError(BadInputError):
    """An operator whose accuracy cannot be measured so."""


class RefusedError(AccuracyError):
    """What the backend does not do."""


class Part(NamedTuple):
    """Numbers of some binades, as many of each: a row for each of these.

    Attributes:
        binade: the first one: sign and exponent, as they stand in the bits.
        rows: how many binades.
        start, end: which mantissas of each, counted in steps.
        step: from one mantissa to about the next one.
    """

    binade: int
    rows: int
    start: int
    end: int
    step: int = 1

    @property
    def size(self) -> int:
        return self.rows * (self.end - self.start)


class Wrong(NamedTuple):
    """A result that is wrong: of which arguments, what is right, and how far away that is."""

    arguments: tuple[float, ...]
    expected: str
    found: float
    error: float  # in units in the last place; infinite where one of the two is


@dataclass
class Accuracy:
    """What was measured of an operator, for results of a type.

    Attributes:
        operator: its name.
        data_type: of results.
        tried: results.
        counted: those whose errors count; see `Judged`.
        wrong: results outside their intervals.
        worst: of these, the farthest away.
        largest: by binade, the largest error in units in the last place, and the arguments that it was found at.
        used: by binade, the largest part of what the bound allows that an error was.
        histogram: of the errors' logarithms.
    """

    operator: str
    data_type: DataType
    tried: int = 0
    counted: int = 0
    wrong: int = 0
    worst: list[Wrong] = field(default_factory=list)
    largest: dict[int, tuple[float, tuple[float, ...]]] = field(default_factory=dict)
    used: dict[int, float] = field(default_factory=dict)
    histogram: Any = 0

    @property
    def error(self) -> tuple[float, tuple[float, ...]]:
        """The largest one, and the arguments that it was found at."""
        return max(self.largest.values(), key=lambda found: found[0], default=(0.0, ()))

    @property
    def most_used(self) -> float:
        return max(self.used.values(), default=0.0)

    def quantile(self, part: float) -> float:
        """What so large a part of the errors does not exceed: the end of a bin, 4 % too large at most."""
        below = np.cumsum(self.histogram)
        if not self.counted:
            return 0.0
        number = int(np.searchsorted(below, part * below[-1]))
        return min(float(2.0 ** (LEAST_LOG + (number + 1) / BINS_A_POWER)), self.error[0])

    def binades(self) -> list[tuple[float, float, float, float]]:
        """From the least argument to the greatest: from where, to where, the largest error, the most of the bound used.

        Neighbours are one where their errors differ by a factor of 2 at most, or are half a unit at most.
        """
        rows: list[tuple[float, float, float, float]] = []
        least = 0.0
        for low, high, binade in sorted((*_range(binade, self.data_type), binade) for binade in self.largest):
            error, used = self.largest[binade][0], self.used[binade]
            if rows and rows[-1][1] == low:
                first, _, most, before = rows[-1]
                if max(most, error) <= max(0.5, 2 * min(least, error)):
                    rows[-1], least = (first, high, max(most, error), max(before, used)), min(least, error)
                    continue
            rows.append((low, high, error, used))
            least = error
        return rows


def _range(binade: int, data_type: DataType) -> tuple[float, float]:
    """Between which two numbers those of a binade lie."""
    info = np.finfo(NUMBERS[data_type])
    exponents = 2 ** int(info.nexp)
    exponent = binade % exponents
    low, high = (
        0.0 if n == 0 else 2.0 ** float(n - exponents // 2 + 1) if n < exponents - 1 else np.inf
        for n in (exponent, exponent + 1)
    )
    return (-high, -low) if binade >= exponents else (low, high)


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

    is_right: Any
    is_counted: Any
    error: Any
    used: Any
    value: Any
    low: Any
    high: Any
    nan: Any


class Function(NamedTuple):
    """An operator as a function of numbers.

    Attributes:
        name: the operator's.
        desc: makes the descriptor for so many rows and columns.
        leading: which of its inputs is tried binade by binade, and of what type that is.
        found: what it computes.
        is_of_one: whether that is a function of one number.
    """

    name: str
    desc: Callable[[int, int], OperatorDesc]
    leading: tuple[int, DataType]
    found: Formula
    is_of_one: bool

    @quiet
    def judged(self, found: Formula, results: Any, profile: Profile) -> Judged:
        """Results of the function of some arguments: arrays, or tensors of torch's on a device."""
        enclosure, data_type = found(profile), found.data_type
        xp = enclosure.xp
        value, low, high = enclosure.rounded(data_type)
        exact, nan = enclosure.value, enclosure.nan
        got = xp.astype(results, xp.float64)
        is_right = xp.where(xp.isnan(got), nan, (low <= results) & (results <= high))
        if found.keeps_zero_signs:
            is_zero = (low == 0) & (high == 0) & ~nan
            is_right = is_right & (~is_zero | (xp.signbit(results) == xp.signbit(value)))
        is_counted = xp.isfinite(got) & xp.isfinite(exact)
        if (says := found.counted(enclosure, reach_of(self.name, data_type, profile))) is not None:
            is_counted = is_counted & says
        away = abs(got - exact)
        end = xp.where(got > exact, enclosure.high, enclosure.low)
        is_none = (away == 0) | ((got == 0) & (end == 0))  # some functions have no results beyond 0
        used = xp.where(is_none, 0.0, away / abs(end - exact))
        error, used = (xp.where(is_counted, each, 0.0) for each in (away / spacing(xp, exact, data_type), used))
        return Judged(is_right, is_counted, error, used, value, low, high, nan)


@cache
def function(name: str, data_type: DataType) -> Function | None:
    """An operator as a function with results of a type; None where it is none.

    Its attributes are those that come first, or in `ATTRIBUTES`.
    """
    spec = operator(name)
    needed = [each for each in spec.tensor_fields if not each.optional]
    has_numbers = spec.primitives or CUTS.get(name) is cut_elementwise
    if not has_numbers or [each.is_output for each in needed].count(True) != 1:
        return None
    ctx = Context.at(SimplestChooser(), spec, HIGHEST)
    for group in {spec.group(each) for each in needed}:
        types = ctx.types[group]  # of integers the narrowest, whose sums FLOAT32 has
        ctx = ctx.of_types(group, (data_type if data_type in types else min(types, key=lambda of: of.size),))

    def desc(rows: int, columns: int) -> OperatorDesc:
        sizes = (rows, columns) if is_element_wise else (rows * columns // WIDTH, WIDTH)
        made: OperatorDesc = builder(name).of_sizes(ctx, leading_ones(ctx, *sizes))
        return msgspec.structs.replace(made, **ATTRIBUTES.get(name, {}))

    is_element_wise = True
    one = desc(1, WIDTH)
    slots = list(inputs(one))
    found = computed(one, [np.zeros(slot.tensor.sizes, NUMBERS[slot.tensor.data_type]) for slot in slots])
    leading = next(((n, of) for n, slot in enumerate(slots) if (of := slot.tensor.data_type) in TYPES), None)
    if found is None or leading is None or next(iter(outputs(one))).tensor.data_type is not data_type:
        return None
    is_element_wise = found.is_element_wise
    return Function(name, desc, leading, found, is_element_wise and len(found.arguments) == 1)


def computed(desc: OperatorDesc, arguments: Sequence[Any]) -> Formula | None:
    """What an operator computes of its inputs; None where that is no formula."""
    arrays = {
        slot.key: each.view(UNSIGNED[slot.tensor.data_type.size]).reshape(slot.tensor.sizes)
        for slot, each in zip(inputs(desc), arguments, strict=True)
    }
    (found,) = OPERATORS[desc.operator](desc, arrays).values()
    return found if isinstance(found, Formula) else None


def functions() -> list[str]:
    """The operators that are functions of numbers."""
    return [name for name in operators() if any(function(name, data_type) for data_type in TYPES)]


def parts(of: Function, most: int, sampled: int | None) -> Iterator[Part]:
    """What the leading argument of a function is tried with, at most so many numbers at a time.

    Args:
        of: the function; with one argument, all FLOAT16 numbers are tried.
        most: how many at a time.
        sampled: how many FLOAT32 numbers of each binade; None for all that one argument can be.
    """
    data_type = of.leading[1]
    info = np.finfo(NUMBERS[data_type])
    binades, columns, step = 2 ** (int(info.nexp) + 1), 2 ** int(info.nmant), 1
    if not of.is_of_one:
        sampled = max(sampled or SAMPLED, WIDTH)
        sampled -= sampled % WIDTH
        columns, step = (sampled, columns // sampled) if columns >= sampled else (8 * sampled, 1)
    elif sampled is not None and data_type is DataType.FLOAT32:
        columns, step = min(columns, sampled), max(1, columns // sampled)
    rows = max(1, most // columns)
    for binade in range(0, binades, rows):
        for start in range(0, columns, most):
            yield Part(binade, min(rows, binades - binade), start, min(start + most, columns), step)


def numbers_of(part: Part, data_type: DataType, xp: Any = of_host, device: Any = None) -> Any:
    """The numbers of a part, a row for each binade; between steps they lie anywhere, in each binade elsewhere."""
    bits = int(np.finfo(NUMBERS[data_type]).nmant)
    binades = xp.arange(part.binade, part.binade + part.rows, dtype=xp.int64, device=device)[:, None]
    steps = xp.arange(part.start, part.end, dtype=xp.int64, device=device)
    mantissas = (steps * part.step + steps * (SCATTER + 2 * binades) % part.step) % 2**bits
    patterns = xp.astype((binades << bits) | mantissas, getattr(xp, f"int{8 * data_type.size}"))
    return patterns.view(getattr(xp, data_type.name.lower()))


def drawn(part: Part, desc: OperatorDesc, of: Function) -> list[Any]:
    """The arguments of a function for a part; the same at each call.

    The leading one has the part's numbers. Where a result depends on whole rows, those of a row are of any size up to
    the end of its binade, positive or negative. Other floating-point arguments are numbers of any bits; of like size;
    small, whole ones too; and the leading ones but for their last bits, positive or negative. Integers are of any bits
    or small.
    """
    leading, first = of.leading[0], numbers_of(part, of.leading[1])
    found = []
    for place, slot in enumerate(inputs(desc)):
        data_type = slot.tensor.data_type
        chance = np.random.default_rng((part.binade, part.start, place))
        if place != leading:
            found.append(_companions(first, data_type, chance))
        elif of.found.is_element_wise:
            found.append(first)
        else:
            ends = np.ldexp(1.0, np.frexp(np.abs(first[:, :1].astype(np.float64)))[1])
            numbers = (ends * chance.uniform(-1.0, 1.0, first.shape)).astype(first.dtype)
            found.append(np.where(np.isfinite(first[:, :1]), numbers, first))
    return found


def _companions(first: Any, data_type: DataType, chance: np.random.Generator) -> Any:
    """Numbers to be computed with others; see `drawn`."""
    kind, shape = NUMBERS[data_type], first.shape
    anything = chance.integers(0, 2 ** (8 * data_type.size), shape, UNSIGNED[data_type.size], endpoint=False)
    small = chance.uniform(-16.0 if data_type.is_float or data_type.is_signed_integer else 0.0, 16.0, shape)
    if not data_type.is_float:
        return np.where(chance.random(shape) < 0.5, anything.view(kind), small.astype(kind))
    sign = chance.choice((-1.0, 1.0), shape)
    like = first * chance.uniform(1.0, 2.0, shape) * np.ldexp(1.0, chance.integers(-3, 4, shape)) * sign
    last_bits = first.view(UNSIGNED[first.itemsize]) ^ chance.integers(0, 16, shape, UNSIGNED[first.itemsize])
    nearly = last_bits.view(first.dtype) * sign
    ways = (anything.view(kind), like, small, np.rint(small), nearly)
    return np.choose(chance.integers(0, len(ways), shape), [way.astype(kind) for way in ways])


class _OnHost:
    """Runs a backend on arrays in the host's memory."""

    most = ON_HOST

    def __init__(self, backend: Backend, level: Level, of: Function, profile: Profile) -> None:
        self._backend, self._level, self._of, self._profile = backend, level, of, profile

    def judge(self, part: Part) -> tuple[list[Any], Any, Judged]:
        """Arguments, results, and what is known of these."""
        desc = self._of.desc(part.rows, part.end - part.start)
        arguments = drawn(part, desc, self._of)
        results = self._results(desc, arguments)
        found = computed(desc, arguments)
        assert found is not None
        judged = self._of.judged(found, results, self._profile)
        shape = (part.rows, part.end - part.start)
        return arguments, results.reshape(shape), Judged(*(each.reshape(shape) for each in judged))

    def _results(self, desc: OperatorDesc, arguments: Sequence[Any]) -> Any:
        (target,) = outputs(desc)
        found = np.full(target.tensor.sizes, np.nan, NUMBERS[target.tensor.data_type])  # of what is not written
        bound = {slot.key: _whole_units(each) for slot, each in zip(inputs(desc), arguments, strict=True)}
        written = _whole_units(found)
        self._backend.execute(desc, self._level, bound, {target.key: written})
        return written.view[: found.nbytes].view(found.dtype).reshape(found.shape)


def _whole_units(array: Any) -> Binding:
    """A copy of the memory of an array, a multiple of 4 bytes as what is bound is."""
    padded: Bytes = np.zeros(-(-array.nbytes // 4) * 4, np.uint8)
    padded[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Binding(padded, 0, padded.size)


class _OnDevice:
    """Runs a torch backend on tensors where it works, and judges its results there."""

    most = ON_DEVICE

    def __init__(self, backend: TorchBackend, of: Function, profile: Profile) -> None:
        from array_api_compat import torch as of_torch

        self._backend, self._of, self._profile, self._xp = backend, of, profile, of_torch

    def judge(self, part: Part) -> tuple[list[Any], Any, Judged]:
        """Arguments, results, and what is known of these.

        Raises:
            BrokenRunError: that is not what the reference says.
        """
        desc = self._of.desc(part.rows, part.end - part.start)
        (source,), (target,) = inputs(desc), outputs(desc)
        arguments = numbers_of(part, self._of.leading[1], self._xp, self._backend.device)
        results = arguments.new_full(arguments.shape, np.nan)
        self._backend.execute_on_device(
            desc,
            {source.key: arguments.reshape(source.tensor.sizes)},
            {target.key: results.view(target.tensor.sizes)},
        )
        judged = self._of.judged(self._of.found._replace(arguments=(arguments,)), results, self._profile)
        self._check(arguments, judged)
        return [arguments], results, judged

    def _check(self, arguments: Any, judged: Judged) -> None:
        """Hold some of the intervals against the host's."""
        flat, data_type = arguments.reshape(-1), self._of.found.data_type

        def some(numbers: Any) -> Any:
            return _host(numbers.reshape(-1)[:: max(1, len(flat) // CHECKED) | 1])

        with np.errstate(all="ignore"):
            found = self._of.found._replace(arguments=(some(arguments),))(self._profile)
            value, *ends = found.rounded(data_type)
        ordered = [in_order(each.view(UNSIGNED[data_type.size]), data_type).astype(np.int64) for each in ends]
        # FLOAT64's functions there differ from the host's in their last places, so ends may be the next number. And the
        # unit in the last place doubles at powers of two, on either side of which an exact value may be computed.
        mantissa = value.view(UNSIGNED[data_type.size]) & (2 ** int(np.finfo(NUMBERS[data_type]).nmant) - 1)
        allowed = np.where(mantissa == 0, 2 + ordered[1] - ordered[0], 1)
        differs = found.nan != some(judged.nan)
        for own, right in zip((judged.low, judged.high), ordered, strict=True):
            differs |= abs(in_order(some(own).view(UNSIGNED[data_type.size]), data_type) - right) > allowed
        if differs.any():
            raise BrokenRunError(
                f"{self._of.name}: the intervals computed for {some(arguments)[differs][0]:.9g} and "
                f"{differs.sum() - 1} of {differs.size} more numbers are not the reference's"
            )


def _host(numbers: Any) -> Any:
    """The same as an array in the host's memory."""
    return numbers if isinstance(numbers, np.ndarray) else numbers.cpu().numpy()


def measure(
    backend: Backend,
    name: str,
    data_type: DataType,
    profile: Profile,
    *,
    sampled: int | None = SAMPLED,
    on_device: bool = False,
    advance: Callable[[int], None] = lambda count: None,
) -> Accuracy:
    """Measure an operator on a backend.

    Args:
        backend: that executes it.
        name: the operator's.
        data_type: of its results.
        profile: that results are held to.
        sampled: how many FLOAT32 numbers of each binade are tried; None for all that one argument can be.
        on_device: whether the argument of a function of one is made, and its results are judged, on the device of a
            torch backend.
        advance: is told how many more have been tried.

    Raises:
        AccuracyError: the operator is no function with results of this type.
        RefusedError: the backend refuses it.
        BrokenRunError: the backend fails, or the device does not compute the reference's intervals.
    """
    of = function(name, data_type)
    if of is None:
        raise AccuracyError(f"{name} has no bounds as a function with {data_type.name} results")
    level = max(backend.capabilities().levels)
    if reason := _refusal(backend, of.desc(1, WIDTH), level):
        raise RefusedError(f"{name}: the backend refuses {data_type.name}: {reason}")
    run: _OnHost | _OnDevice = _OnHost(backend, level, of, profile)
    if on_device and of.is_of_one:
        run = _OnDevice(backend, of, profile)  # type: ignore[arg-type]
    found = Accuracy(name, data_type)
    with np.errstate(all="ignore"):
        for part in parts(of, run.most, sampled):
            try:
                arguments, results, judged = run.judge(part)
            except BrokenRunError:
                raise
            except Exception as error:
                raise BrokenRunError(f"{name}: the backend fails: {type(error).__name__}: {error}") from error
            _count(found, part, arguments, results, judged)
            advance(part.size)
    return found


def _refusal(backend: Backend, desc: OperatorDesc, level: Level) -> str:
    """Why a backend does not execute a descriptor; "" where it does."""
    try:
        answer = backend.validate(desc, level)
    except Unsupported as reason:
        return str(reason) or "not supported"
    return "" if answer.accepted else answer.reason or "no reason given"


def works_on_device(backend: Backend) -> bool:
    """Whether numbers can be made and judged where a backend works."""
    return backend.capabilities().accelerated and hasattr(backend, "execute_on_device")


def _count(found: Accuracy, part: Part, arguments: Sequence[Any], results: Any, judged: Judged) -> None:
    """Add what came of a part."""
    xp = array_namespace(judged.error)
    bins = (MOST_LOG - LEAST_LOG) * BINS_A_POWER
    logarithms = xp.clip(xp.log2(judged.error[judged.is_counted]), LEAST_LOG, MOST_LOG - 0.01)
    places = xp.astype(xp.floor((logarithms - LEAST_LOG) * BINS_A_POWER), xp.int64)
    found.histogram = found.histogram + _host(xp.bincount(places, minlength=bins))
    found.counted = int(found.histogram.sum())
    found.tried += part.size
    places = xp.argmax(judged.error, axis=1)[:, None]
    columns = (xp.take_along_axis(judged.error, places, axis=1), xp.max(judged.used, axis=1))
    largest, used = (_host(column).reshape(-1).tolist() for column in columns)
    where = list(
        zip(*(_host(xp.take_along_axis(each, places, axis=1)).reshape(-1).tolist() for each in arguments), strict=True)
    )
    has = _host(xp.any(judged.is_counted, axis=1)).tolist()
    for row, binade in enumerate(range(part.binade, part.binade + part.rows)):
        if has[row]:
            found.largest[binade] = max(found.largest.get(binade, (0.0, where[row])), (largest[row], where[row]))
            found.used[binade] = max(found.used.get(binade, 0.0), used[row])
    wrong = int((~judged.is_right).sum())
    if wrong:
        found.wrong += wrong
        found.worst = _worst([*found.worst, *_found_wrong(arguments, results, judged)])


def _worst(wrong: Sequence[Wrong]) -> list[Wrong]:
    return sorted(wrong, key=lambda each: -each.error)[:WORST]


def _found_wrong(arguments: Sequence[Any], results: Any, judged: Judged) -> Iterator[Wrong]:
    """The worst of the results that are wrong."""
    xp = array_namespace(judged.error)
    score = xp.where(judged.is_counted, judged.error, xp.inf)
    score = xp.where(judged.is_right, -1.0, score).reshape(-1)
    chosen = xp.argsort(score, descending=True, stable=True)[:WORST]
    columns = [
        _host(each.reshape(-1)[chosen]).tolist()
        for each in (score, results, judged.low, judged.high, judged.nan, judged.value, *arguments)
    ]
    for error, result, low, high, nan, value, *of in zip(*columns, strict=True):
        if error >= 0:
            yield Wrong(tuple(of), _expected(low, high, nan, value), result, error)


def _expected(low: float, high: float, nan: bool, value: float) -> str:
    if low > high:
        return "NaN"
    text = f"{value:.9g}" if low == high else f"{low:.9g} to {high:.9g}"
    return f"{text} or NaN" if nan else text
