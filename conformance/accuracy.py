"""How far from the exact value results are, for all that the one argument of an operator may be.

Arguments are tried binade by binade, the numbers of one exponent and sign: all of them, or as many of each spread over
it. Where the backend works on a device of torch's, arguments are made there, and results are judged there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dml_conformance.backends.base import Backend, Binding, Bytes, Unsupported
from dml_conformance.backends.reference.arithmetic import Arithmetic, expectation
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.backends.reference.operators import OPERATORS
from dml_conformance.conformance.intervals import Judge, Judged, Library, NumPy, Torch
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
SAMPLED = 2**13  # FLOAT32 numbers of each binade where not all are tried
ON_HOST, ON_DEVICE = 2**20, 2**24  # numbers at a time
CHECKED = 1000  # of each such part, held against the reference
WORST = 10  # results that are wrong, to be named
SCATTER = 12345  # an odd number that numbers between steps are made with
# Errors are counted by their logarithms, in bins of a sixteenth of a power of two.
LEAST_LOG, MOST_LOG, BINS_A_POWER = -12, 52, 16


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
    """A result that is wrong: of which argument, what is right, and how far away that is."""

    argument: float
    expected: str
    found: float
    error: float  # in units in the last place; infinite where one of the two is


@dataclass
class Accuracy:
    """What was measured of an operator, for arguments of a type.

    Attributes:
        operator: its name.
        data_type: of arguments and results.
        tried: arguments.
        counted: results whose errors count; see `intervals.Judged`.
        wrong: results outside their intervals.
        worst: of these, the farthest away.
        largest: by binade, the largest error in units in the last place, and the argument that it was found at.
        used: by binade, the largest part of what the bound allows that an error was.
        histogram: of the errors' logarithms.
    """

    operator: str
    data_type: DataType
    tried: int = 0
    counted: int = 0
    wrong: int = 0
    worst: list[Wrong] = field(default_factory=list)
    largest: dict[int, tuple[float, float]] = field(default_factory=dict)
    used: dict[int, float] = field(default_factory=dict)
    histogram: Any = 0

    @property
    def error(self) -> tuple[float, float]:
        """The largest one, and the argument that it was found at."""
        return max(self.largest.values(), key=lambda found: found[0], default=(0.0, 0.0))

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


class Function(NamedTuple):
    """An operator as a function of one number.

    Attributes:
        desc: makes the descriptor for so many rows and columns.
        found: what it computes.
    """

    desc: Callable[[int, int], OperatorDesc]
    found: Arithmetic


@cache
def function(name: str, data_type: DataType) -> Function | None:
    """An operator's function of one number of a type, its attributes as they come first; None where it is none."""
    spec = operator(name)
    tensors = spec.tensor_fields
    needed = [each for each in tensors if not each.optional]
    if data_type not in spec.bounds or [each.is_output for each in needed] != [False, True]:
        return None
    ctx = Context.at(SimplestChooser(), spec, HIGHEST)
    group = spec.group(needed[0])
    if data_type not in ctx.types[group]:
        return None
    ctx = ctx.of_types(group, (data_type,))

    def desc(rows: int, columns: int) -> OperatorDesc:
        made: OperatorDesc = builder(name).of_sizes(ctx, leading_ones(ctx, rows, columns))
        return made

    one = desc(1, 2)
    if len(list(inputs(one))) != 1:
        return None
    (slot,) = inputs(one)
    bits = np.zeros(slot.tensor.sizes, UNSIGNED[data_type.size])
    (found,) = OPERATORS[name](one, {slot.key: bits}).values()
    is_one = isinstance(found, Arithmetic) and found.is_element_wise and found.inner is None
    if not is_one or found.nan is not None or len(found.arguments) != 1 or found.arguments[0].shape != bits.shape:
        return None
    return Function(desc, found)


def functions() -> list[str]:
    """The operators that are functions of one number."""
    return [name for name in operators() if any(function(name, data_type) for data_type in TYPES)]


def parts(data_type: DataType, most: int, sampled: int | None) -> Iterator[Part]:
    """The numbers of a type, at most so many at a time; of FLOAT32 so many of each binade, None for all."""
    info = np.finfo(NUMBERS[data_type])
    binades, columns, step = 2 ** (int(info.nexp) + 1), 2 ** int(info.nmant), 1
    if sampled is not None and data_type is DataType.FLOAT32:
        columns, step = min(columns, sampled), max(1, columns // sampled)
    rows = max(1, most // columns)
    for binade in range(0, binades, rows):
        for start in range(0, columns, most):
            yield Part(binade, min(rows, binades - binade), start, min(start + most, columns), step)


def numbers_of(part: Part, data_type: DataType, library: Library) -> Any:
    """The numbers of a part, a row for each binade; between steps they lie anywhere, in each binade elsewhere."""
    xp, bits = library.names, int(np.finfo(NUMBERS[data_type]).nmant)
    binades = library.count_up(part.binade, part.binade + part.rows)[:, None]
    steps = library.count_up(part.start, part.end)
    mantissas = steps * part.step + steps * (SCATTER + 2 * binades) % part.step
    patterns = library.cast((binades << bits) | mantissas, f"int{8 * data_type.size}")
    return patterns.view(getattr(xp, data_type.name.lower()))


class _OnHost:
    """Runs a backend on arrays in the host's memory."""

    library: Library = NumPy()
    most = ON_HOST
    tolerance = 0  # how many numbers of the type the ends of intervals may be from the reference's

    def __init__(self, backend: Backend, level: Level) -> None:
        self._backend, self._level = backend, level

    def results(self, desc: OperatorDesc, arguments: Any) -> Any:
        (source,), (target,) = inputs(desc), outputs(desc)
        found = np.full_like(arguments, np.nan)  # of what is not written
        buffers = {key: _whole_units(array) for key, array in ((source.key, arguments), (target.key, found))}
        bound = {key: Binding(buffer, 0, buffer.size) for key, buffer in buffers.items()}
        self._backend.execute(desc, self._level, {source.key: bound[source.key]}, {target.key: bound[target.key]})
        return buffers[target.key][: found.nbytes].view(found.dtype).reshape(found.shape)


def _whole_units(array: Any) -> Bytes:
    """A copy of the memory of an array, a multiple of 4 bytes as what is bound is."""
    padded = np.zeros(-(-array.nbytes // 4) * 4, np.uint8)
    padded[: array.nbytes] = array.reshape(-1).view(np.uint8)
    return padded


class _OnDevice:
    """Runs a torch backend on tensors where it works."""

    most = ON_DEVICE
    tolerance = 1  # FLOAT64's functions there differ from the host's in their last places

    def __init__(self, backend: TorchBackend) -> None:
        self._backend = backend
        self.library: Library = Torch(backend.device)

    def results(self, desc: OperatorDesc, arguments: Any) -> Any:
        (source,), (target,) = inputs(desc), outputs(desc)
        found = arguments.new_full(arguments.shape, np.nan)
        self._backend.execute_on_device(
            desc,
            {source.key: arguments.reshape(source.tensor.sizes)},
            {target.key: found.view(target.tensor.sizes)},
        )
        return found


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
        data_type: of its argument.
        profile: that results are held to.
        sampled: how many FLOAT32 numbers of each binade are tried; None for all. Of FLOAT16 all are.
        on_device: whether numbers are made and judged on the device of a torch backend.
        advance: is told how many more have been tried.

    Raises:
        AccuracyError: the operator is no function of one number of this type.
        RefusedError: the backend refuses it.
        BrokenRunError: the backend fails, or the device does not compute the reference's intervals.
    """
    of_one = function(name, data_type)
    if of_one is None:
        raise AccuracyError(f"{name} has no bounds as a function of one {data_type.name} number")
    level = max(backend.capabilities().levels)
    if reason := _refusal(backend, of_one.desc(1, 2), level):
        raise RefusedError(f"{name}: the backend refuses {data_type.name}: {reason}")
    run: _OnHost | _OnDevice = _OnDevice(backend) if on_device else _OnHost(backend, level)  # type: ignore[arg-type]
    spec = operator(name)
    bound = profile.bound(spec.bounds, spec.precise, data_type)
    judge = Judge(run.library, of_one.found, data_type, bound, profile)
    found = Accuracy(name, data_type)
    with np.errstate(all="ignore"):
        for part in parts(data_type, run.most, sampled):
            arguments = numbers_of(part, data_type, run.library)
            try:
                results = run.results(of_one.desc(part.rows, part.end - part.start), arguments)
            except Exception as error:
                raise BrokenRunError(f"{name}: the backend fails: {type(error).__name__}: {error}") from error
            judged = judge.judge(arguments, results)
            _check(run, of_one.found, arguments, judged, data_type, spec.name, profile)
            _count(found, part, arguments, results, judged, run.library)
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


def _check(
    run: _OnHost | _OnDevice,
    found: Arithmetic,
    arguments: Any,
    judged: Judged,
    data_type: DataType,
    name: str,
    profile: Profile,
) -> None:
    """Hold some of the intervals against the reference's."""

    def some(numbers: Any) -> Any:
        return run.library.host(numbers.reshape(-1)[:: max(1, len(flat) // CHECKED) | 1])

    flat = arguments.reshape(-1)
    spec = operator(name)
    bound = profile.bound(spec.bounds, spec.precise, data_type)
    expected = expectation(found._replace(arguments=(some(arguments),)), data_type, bound, profile)
    within = expected.within
    assert within is not None
    is_nan = np.zeros(within.low.shape, np.bool_) if within.nan is None else within.nan
    kind = UNSIGNED[data_type.size]
    # The unit in the last place doubles at powers of two, on either side of which an exact value may be computed.
    is_power = (expected.values & (2 ** int(np.finfo(NUMBERS[data_type]).nmant) - 1)) == 0
    allowed = run.tolerance * np.where(is_power, 2 + bound.ulp, 1)
    differs = is_nan != some(judged.nan)
    for own, right in ((judged.low, within.low), (judged.high, within.high)):
        apart = in_order(some(own).view(kind), data_type).astype(np.int64) - in_order(right, data_type)
        differs |= abs(apart) > allowed
    if differs.any():
        raise BrokenRunError(
            f"{name}: the intervals computed for {some(arguments)[differs][0]:.9g} and {differs.sum() - 1} of "
            f"{differs.size} more numbers are not the reference's"
        )


def _count(found: Accuracy, part: Part, arguments: Any, results: Any, judged: Judged, library: Library) -> None:
    """Add what came of a part."""
    xp, host = library.names, library.host
    logarithms = xp.clip(xp.log2(judged.error), LEAST_LOG, MOST_LOG - 0.01)
    logarithms = xp.where(judged.is_counted, logarithms, -np.inf)
    bins = (MOST_LOG - LEAST_LOG) * BINS_A_POWER
    found.histogram = found.histogram + host(library.histogram(logarithms, bins, LEAST_LOG, MOST_LOG)).astype(np.int64)
    found.counted = int(found.histogram.sum())
    found.tried += part.size
    places = xp.argmax(judged.error, 1)[:, None]
    largest, where, used = (
        host(column).reshape(-1).tolist()
        for column in (
            library.take(judged.error, places),
            library.take(arguments, places),
            xp.amax(judged.used, 1),
        )
    )
    has = host(judged.is_counted.any(1)).tolist()
    for row, binade in enumerate(range(part.binade, part.binade + part.rows)):
        if has[row]:
            found.largest[binade] = max(found.largest.get(binade, (0.0, where[row])), (largest[row], where[row]))
            found.used[binade] = max(found.used.get(binade, 0.0), used[row])
    wrong = int((~judged.is_right).sum())
    if wrong:
        found.wrong += wrong
        found.worst = _worst([*found.worst, *_found_wrong(arguments, results, judged, library)])


def _worst(wrong: Sequence[Wrong]) -> list[Wrong]:
    return sorted(wrong, key=lambda each: -each.error)[:WORST]


def _found_wrong(arguments: Any, results: Any, judged: Judged, library: Library) -> Iterator[Wrong]:
    """The worst of the results that are wrong."""
    xp, host = library.names, library.host
    score = xp.where(judged.is_counted, judged.error, np.inf)
    score = xp.where(judged.is_right, -1.0, score).reshape(-1)
    chosen = library.largest(score, WORST)
    columns = [
        host(each.reshape(-1)[chosen]).tolist()
        for each in (score, arguments, results, judged.low, judged.high, judged.nan, judged.value)
    ]
    for error, argument, result, low, high, nan, value in zip(*columns, strict=True):
        if error >= 0:
            yield Wrong(argument, _expected(low, high, nan, value), result, error)


def _expected(low: float, high: float, nan: bool, value: float) -> str:
    if low > high:
        return "NaN"
    text = f"{value:.9g}" if low == high else f"{low:.9g} to {high:.9g}"
    return f"{text} or NaN" if nan else text
