"""How far from the exact value results are, for all that the arguments of an operator may be.

Arguments are tried binade by binade, the numbers of one exponent and sign: all of them, or as many of each spread over
it. Of several, that is the first floating-point one; the others are drawn, some of any size and some like the first.
Where the backend works on a device of torch's, the one argument of a function is made there, and results are judged
there, by the reference's own formula; some of that is held against what the same formula gives on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dml_conformance.backends.base import RAISED, Backend, Binding, Bytes, Unsupported
from dml_conformance.backends.reference.floats import namespace
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.conformance.accuracy.functions import WIDTH, Deviations, Function, computed, function
from dml_conformance.conformance.accuracy.numbers import SAMPLED, Part, drawn, numbers_of, parts
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.errors import BadInputError, BrokenRunError
from dml_conformance.spec.expectation import in_order
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, inputs, outputs

if TYPE_CHECKING:
    from dml_conformance.backends.torch import TorchBackend

ON_HOST, ON_DEVICE = 2**20, 2**24  # numbers at a time
CHECKED = 1000  # of each such part, held against the reference where they are judged on a device
WORST = 10  # results that are wrong, to be named
# Errors are counted by their logarithms, in bins of a sixteenth of a power of two.
LEAST_LOG, MOST_LOG, BINS_A_POWER = -12, 52, 16


class AccuracyError(BadInputError):
    """An operator whose accuracy cannot be measured so."""


class RefusedError(AccuracyError):
    """What the backend does not do."""


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
        counted: those whose errors count; see `Deviations`.
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


class _OnHost:
    """Runs a backend on arrays in the host's memory."""

    most = ON_HOST

    def __init__(self, backend: Backend, level: Level, of: Function, tolerance: Tolerance) -> None:
        self._backend, self._level, self._of, self._tolerance = backend, level, of, tolerance

    def judge(self, part: Part) -> tuple[list[Any], Any, Deviations]:
        """Arguments, results, and what is known of these."""
        desc = self._of.desc(part.rows, part.end - part.start)
        arguments = drawn(part, desc, self._of)
        results = self._results(desc, arguments)
        found = computed(desc, arguments)
        assert found is not None
        judged = self._of.judged(found, results, self._tolerance)
        shape = (part.rows, part.end - part.start)
        return arguments, results.reshape(shape), Deviations(*(each.reshape(shape) for each in judged))

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

    def __init__(self, backend: TorchBackend, of: Function, tolerance: Tolerance) -> None:
        from array_api_compat import torch as of_torch

        self._backend, self._of, self._tolerance, self._xp = backend, of, tolerance, of_torch

    def judge(self, part: Part) -> tuple[list[Any], Any, Deviations]:
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
        judged = self._of.judged(self._of.found._replace(arguments=(arguments,)), results, self._tolerance)
        self._check(arguments, judged)
        return [arguments], results, judged

    def _check(self, arguments: Any, judged: Deviations) -> None:
        """Hold some of the intervals against the host's."""
        flat, data_type = arguments.reshape(-1), self._of.found.data_type

        def some(numbers: Any) -> Any:
            return _host(numbers.reshape(-1)[:: max(1, len(flat) // CHECKED) | 1])

        with np.errstate(all="ignore"):
            found = self._of.found._replace(arguments=(some(arguments),))(self._tolerance)
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
    tolerance: Tolerance,
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
        tolerance: that results are held to.
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
    run: _OnHost | _OnDevice = _OnHost(backend, level, of, tolerance)
    if on_device and of.is_of_one:
        run = _OnDevice(backend, of, tolerance)  # type: ignore[arg-type]
    found = Accuracy(name, data_type)
    with np.errstate(all="ignore"):
        for part in parts(of, run.most, sampled):
            try:
                arguments, results, judged = run.judge(part)
            except BrokenRunError:
                raise
            except RAISED as error:
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


def _count(found: Accuracy, part: Part, arguments: Sequence[Any], results: Any, judged: Deviations) -> None:
    """Add what came of a part."""
    xp = namespace(judged.error)
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


def _found_wrong(arguments: Sequence[Any], results: Any, judged: Deviations) -> Iterator[Wrong]:
    """The worst of the results that are wrong."""
    xp = namespace(judged.error)
    score = xp.where(judged.is_counted, judged.error, xp.inf)
    score = xp.where(judged.is_right, -1.0, score).reshape(-1)
    chosen = xp.argsort(-score, stable=True)[:WORST]
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
