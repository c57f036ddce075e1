"""How fast a backend is: each operator with each data type, small and large, beside the best copy of the device."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import inf
from statistics import median
from typing import NamedTuple

import msgspec

from dml_conformance.backends.base import RAISED, Backend, Capabilities
from dml_conformance.backends.heap import keep_freed_memory
from dml_conformance.backends.processes.errors import StrayWrite
from dml_conformance.backends.timing import NO_WARM_UP, PATIENT, QUICK, Series, WallClock, time_copy, time_steadily
from dml_conformance.conformance.campaign.budget import SIZE_RATIO, Budget
from dml_conformance.conformance.judge.judge import FIRST_RUNS, LAST_RUNS, Judge, Judgement, Pending, verdict_on
from dml_conformance.conformance.judge.timed import TimedMemory
from dml_conformance.reports.model.records import Caches, Caveat, Phase, Record, Throughput, Verdict
from dml_conformance.spec.case import Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc, descriptor_classes, inputs, outputs, slots
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import families, spec_of
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc, braces
from dml_conformance.spec.tensor_rules import OUTPUT_BOUNDS
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.cases import patterns
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.values import IN_RANGE, RANDOM_BITS, REGION_PATTERNS, most_diverse

# Times the least that any size takes, up to which a run is the time of a launch for the most part.
LAUNCHES = 2
# Elements of a domain that are made; a larger tensor has them again and again.
MOST_DISTINCT = 2**16
# Patterns that are made as they are.
WHOLE = (RANDOM_BITS, IN_RANGE, *REGION_PATTERNS)
# That runs which measure the same may differ by; what differs by more was disturbed.
SPREAD = 0.2
# How often something is measured until nothing disturbs it, unless it has taken so many seconds.
ATTEMPTS, ATTEMPT_SECONDS = 3, 0.5

# Bytes a second that nothing writes: a processor's core, 64 of them in each cycle of 5 GHz, and an accelerator.
MOST_OF_A_CORE, MOST_OF_AN_ACCELERATOR = 3.2e11, 2e13
# Seconds that may pass beside a run that is timed: what reads a clock, and what launches work on a device.
BESIDE_A_RUN, BESIDE_A_LAUNCH = 5e-5, 1e-3


def _copy_by(operator: str, *attributes: object) -> Callable[[TensorDesc], OperatorDesc]:
    return lambda tensor: descriptor_classes()[operator](tensor, tensor, *attributes)


# Descriptors that copy a tensor of four dimensions.
COPIES: Mapping[str, Callable[[TensorDesc], OperatorDesc]] = {
    "ELEMENT_WISE_IDENTITY": _copy_by("ELEMENT_WISE_IDENTITY", None),
    "TILE": _copy_by("TILE", (1, 1, 1, 1)),
}


def measure(
    judge: Judge, operators: Sequence[str], levels: Sequence[Level], budget: Budget, layers: Sequence[Case] = ()
) -> Iterator[Throughput | Record]:
    """A row for each operator, data type, size and state of the caches, at the highest level asked for and claimed.

    After these comes one for each of the `layers` of networks, with warm caches: what one reads was just written.

    The budget says which data types and sizes. Caches are warm; a backend that can empty them (`TimedCold`) is timed
    with cold ones too, where it is with several sizes. Only what the backend accepts, claims and executes without error
    is timed: speed of the others means nothing. What the first timed runs and the last ones left is compared; where it
    is wrong, its record stands in place of a row.
    """
    capabilities = judge.capabilities
    claimed = [level for level in levels if level in capabilities.levels]
    if not claimed or not capabilities.executes or Category.EXECUTION not in capabilities.enforces:
        return
    keep_freed_memory()  # tensors of one size follow each other, in a process that may have judged nothing
    level = max(claimed)
    states = _states(judge.backend)
    data_types = {
        operator: _context(operator, level).data_types
        for operator in operators
        if level >= operator_named(operator).introduced_in and operator in capabilities.operators
    }
    timings = budget.timings(data_types, families(), capabilities)
    if not timings:
        return
    meter = _Meter(judge, capabilities, budget.repeats)
    for size, caches in product(sorted({size for timing in timings for size in timing.sizes}), states):
        meter.measure_copies(size, level, caches)
    for operator, data_type, sizes in timings:
        found: list[Measurement | Record] = []
        for size in sizes:
            timed_in = states if budget.is_timed_cold(size, sizes) else states[:1]
            found += _rows(meter, operator, data_type, size, level, timed_in)
        yield from with_caveats([row for row in found if isinstance(row, Measurement)], meter.launches)
        yield from (record for record in found if isinstance(record, Record))
    for case in layers:
        yield from _layer_rows(meter, case)


def _context(operator: str, level: Level) -> Context:
    return Context.at(SeededChooser(0), operator_named(operator), level)


def _rows(
    meter: _Meter, operator: str, data_type: DataType, size: int, level: Level, states: Sequence[Caches]
) -> Iterator[Measurement | Record]:
    """A case timed in each state of the caches, up to the first that leaves something wrong; its tensors are let go of
    with the last."""
    try:
        desc = builder(operator).large(_context(operator, level).but(data_types=(data_type,)), size)
    except Impossible:
        return
    timed = meter.prepared(desc, level)
    if timed is not None:
        yield from _timed_rows(meter, timed, data_type, size, states)


def _layer_rows(meter: _Meter, case: Case) -> Iterator[Throughput | Record]:
    """The row of a network's layer, or the record of what is wrong."""
    timed = meter.prepared(case.desc, case.level)
    if timed is None:
        return
    data_type = outputs(case.desc)[0].tensor.data_type
    for found in _timed_rows(meter, timed, data_type, _written_bytes(case), [Caches.WARM]):
        if isinstance(found, Record):
            yield found
        else:
            yield from (
                msgspec.structs.replace(row, layer=case.digest) for row in with_caveats([found], meter.launches)
            )


def _timed_rows(
    meter: _Meter, timed: _Timed, data_type: DataType, size: int, states: Sequence[Caches]
) -> Iterator[Measurement | Record]:
    for caches in states:
        found: Measurement | Record | None = None
        begin = time.perf_counter()
        for _ in range(ATTEMPTS):
            found = meter.measured(timed, data_type, size, caches)
            is_disturbed = isinstance(found, Measurement) and found.is_disturbed
            if not is_disturbed or time.perf_counter() - begin > ATTEMPT_SECONDS:
                break
        if found is not None:
            yield found
        if isinstance(found, Record):
            return


class Measurement(NamedTuple):
    """A row, whether something else than the device's speed shows in it, and whether it can be true."""

    row: Throughput
    is_disturbed: bool
    is_plausible: bool = True


class _Timed(NamedTuple):
    """A case that the backend accepts, and its memory."""

    pending: Pending
    memory: TimedMemory

    @property
    def case(self) -> Case:
        return self.pending.case


class _Wrong(Exception):
    """Timed runs left something wrong."""

    def __init__(self, judged: Judgement) -> None:
        super().__init__(judged.reason)
        self.judged = judged


class _Meter:
    """Times one backend, and knows what its device has been seen to do at the most.

    Attributes:
        launches: by state of the caches, seconds of the least that there is to launch, a copy of a byte.
    """

    def __init__(self, judge: Judge, capabilities: Capabilities, repeats: int) -> None:
        self._judge, self._backend = judge, judge.backend
        self._copying = [make for operator, make in COPIES.items() if operator in capabilities.operators]
        self._repeats = repeats
        # To empty the caches before each run is work enough to keep a device warm.
        self._warm_up = {Caches.WARM: PATIENT if capabilities.accelerated else QUICK, Caches.COLD: NO_WARM_UP}
        # How long it takes to empty them is not known.
        self._beside = {Caches.WARM: BESIDE_A_LAUNCH if capabilities.accelerated else BESIDE_A_RUN, Caches.COLD: inf}
        self._most = MOST_OF_AN_ACCELERATOR if capabilities.accelerated else MOST_OF_A_CORE * (os.cpu_count() or 1)
        self._largest = 0
        self._copies: defaultdict[Caches, list[tuple[int, float]]] = defaultdict(list)  # bytes moved, and a second
        self.launches: dict[Caches, float] = {}

    def measure_copies(self, size: int, level: Level, caches: Caches) -> None:
        """Try each way to copy `size` bytes: the device's own, and a kernel of the backend's. The best one counts."""
        if caches not in self.launches:
            self.launches[caches] = _seconds(self._time_copy(1, caches))
        self._largest = max(self._largest, 2 * size)
        self.copy(2 * size, caches)
        for make in self._copying:
            tensor = TensorDesc.of(DataType.FLOAT32, (1, 1, 1, size // DataType.FLOAT32.size))
            if (timed := self.prepared(make(tensor), level)) is not None:
                series = self.time(timed, caches)
                seconds = 0.0 if isinstance(series, Record) else _seconds(series)
                self._note(useful_bytes(timed.case), seconds, caches)

    def copy(self, moved: int, caches: Caches) -> tuple[float, bool]:
        """Bytes read plus bytes written a second, in a copy that reads and writes `moved` bytes together, and whether
        that is plausible.

        As many bytes as the operator moves, so that caches help both alike, and right beside it, so that a busy machine
        slows both alike. 0 where the copy fails.
        """
        size = max(moved // 2, 1)
        series = self._time_copy(size, caches)
        is_plausible = series is not None and self._is_plausible(series, size)
        return self._note(2 * size, _seconds(series), caches), is_plausible

    def limit(self, moved: int, caches: Caches) -> float:
        """Bytes a second of the best copy of as many bytes or more.

        A smaller one may be held up by its launch, or lie in caches. Those of the largest size count for whatever moves
        more.
        """
        least = min(moved - 1, self._largest)
        return max(rate for size, rate in self._copies[caches] if size >= least)

    def prepared(self, desc: OperatorDesc, level: Level) -> _Timed | None:
        """A descriptor with data, bound as most programs do; None where it is not accepted or not claimed."""
        case = Case.of(desc, level, timed_recipes(desc), rule=f"{desc.operator}.values", timed=True).bound(Placement())
        pending = self._judge.decide(case)
        if not isinstance(pending, Pending):
            return None
        memory = self._judge.timed_memory(pending)
        return None if isinstance(memory, Judgement) else _Timed(pending, memory)

    def time(self, timed: _Timed, caches: Caches) -> Series | Record | None:
        """None where it is not claimed, or broken; the record where the first runs or the last left something wrong."""
        wall = WallClock(partial(timed.memory.run, self._backend, cold=caches is Caches.COLD), self._beside[caches])

        def clock(repeats: int) -> list[float]:
            seconds = wall(repeats)
            if len(wall.requests) == 1:
                self._check(timed, FIRST_RUNS)
            return seconds

        try:
            series = time_steadily(clock, self._repeats, self._warm_up[caches])
            series = series._replace(is_plausible=wall.is_plausible())
            if len(wall.requests) > 1:
                self._check(timed, LAST_RUNS)
        except _Wrong as wrong:
            return self._judge.describe(timed.case, Phase.THROUGHPUT, wrong.judged)
        except StrayWrite as error:
            judged = timed.pending.judged(*verdict_on(error, "time_execution"))._replace(rule=OUTPUT_BOUNDS)
            return self._judge.describe(timed.case, Phase.THROUGHPUT, judged)
        except RAISED:  # not claimed, broken, or the process that it was to be made in is lost
            return None
        return series

    def measured(self, timed: _Timed, data_type: DataType, size: int, caches: Caches) -> Measurement | Record | None:
        """A row of an output of about `size` bytes, between two copies of as much; otherwise as `time`."""
        useful = useful_bytes(timed.case)
        before, is_before_plausible = self.copy(useful, caches)
        series = self.time(timed, caches)
        if series is None or isinstance(series, Record):
            return series
        after, is_after_plausible = self.copy(useful, caches)
        if not (_seconds(series) and before and after):
            return None
        limit = self.limit(useful, caches)
        operator, shape = timed.case.operator, _shape(timed.case)
        row = Throughput(operator, data_type.name, shape, useful, series.seconds, limit, size, caches)
        # How long a launch takes differs from one to the next, whatever the device is at.
        copies = (useful / before, useful / after)
        are_copies_apart = spread(copies) > SPREAD and min(copies) > LAUNCHES * self.launches[caches]
        is_disturbed = not series.is_steady or spread(series.seconds) > SPREAD or are_copies_apart
        written = _written_bytes(timed.case)
        is_plausible = self._is_plausible(series, written) and is_before_plausible and is_after_plausible
        return Measurement(row, is_disturbed, is_plausible)

    def _check(self, timed: _Timed, runs: str) -> None:
        """Raise where what the last run left is wrong."""
        judged = self._judge.judge_timed(timed.pending, timed.memory, runs)
        if judged.verdict is not Verdict.PASS:
            raise _Wrong(judged)

    def _is_plausible(self, series: Series, written: int) -> bool:
        """Whether runs that write so many bytes can have taken as long as is said."""
        return series.is_plausible and written <= self._most * _seconds(series)

    def _time_copy(self, size: int, caches: Caches) -> Series | None:
        def clock(repeats: int) -> list[float]:
            return time_copy(self._backend, size, repeats, cold=caches is Caches.COLD)

        wall = WallClock(clock, self._beside[caches])
        try:
            series = time_steadily(wall, self._repeats, self._warm_up[caches])
            return series._replace(is_plausible=wall.is_plausible())
        except RAISED:  # not claimed, broken, or the process that it was to be made in is lost
            return None

    def _note(self, moved: int, seconds: float, caches: Caches) -> float:
        if not seconds:
            return 0.0
        self._copies[caches].append((moved, moved / seconds))
        return moved / seconds


def with_caveats(timed: Sequence[Measurement], launches: dict[Caches, float]) -> list[Throughput]:
    """The rows of one operator and data type with what is to be known before they are believed.

    Args:
        timed: by size, ascending.
        launches: see `_Meter`.
    """
    by_caches = {caches: [each.row for each in timed if each.row.caches is caches] for caches in Caches}
    found = []
    for row, is_disturbed, is_plausible in timed:
        caveats = []
        if _is_launch(row, by_caches[row.caches], launches.get(row.caches, 0.0)):
            caveats.append(Caveat.LAUNCH_BOUND)
        if is_disturbed:
            caveats.append(Caveat.DISTURBED)
        if row.fraction_of_copy > 1 and (why := _why_above_the_copy(row, by_caches)):
            caveats.append(why)
        if row.fraction_of_copy > 1 and not caveats:
            caveats.append(Caveat.UNLIKE_A_COPY)
        if not is_plausible:
            caveats.append(Caveat.IMPLAUSIBLE)
        found.append(msgspec.structs.replace(row, caveats=tuple(caveats)))
    return found


def _is_launch(row: Throughput, series: Sequence[Throughput], launch: float) -> bool:
    """Whether a run takes hardly longer than the least does: the smallest of its series or, for that, whether the next
    takes hardly longer; with none of about the size, a launch of nothing."""
    smallest = series[0]
    if row is not smallest:
        return row.median_seconds <= LAUNCHES * smallest.median_seconds
    if len(series) > 1 and series[1].output_bytes <= SIZE_RATIO * row.output_bytes:
        return series[1].median_seconds <= LAUNCHES * row.median_seconds
    return row.median_seconds <= LAUNCHES * launch


def _why_above_the_copy(row: Throughput, by_caches: dict[Caches, list[Throughput]]) -> Caveat | None:
    """Whether it is caches: where what is moved does not lie in them, from memory or at a larger size, it is not so."""
    if row.caches is Caches.COLD:
        return None
    cold = [other for other in by_caches[Caches.COLD] if other.output_bytes == row.output_bytes]
    larger = [other for other in by_caches[Caches.WARM] if other.output_bytes > row.output_bytes]
    return Caveat.CACHED if any(other.fraction_of_copy <= 1 for other in (*cold, *larger)) else None


def spread(values: Sequence[float]) -> float:
    """How far apart values lie, as a share of their middle; of many the outer quarters are left out."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    return (ordered[-1 - cut] - ordered[cut]) / median(ordered)


def _seconds(series: Series | None) -> float:
    return median(series.seconds) if series is not None and series.seconds else 0.0


def useful_bytes(case: Case) -> int:
    """Each input element read once, each index once, each output element written once."""
    return sum(slot.tensor.element_count * slot.tensor.data_type.bits for slot in slots(case.desc)) // 8


def _written_bytes(case: Case) -> int:
    """Bytes of the elements of the outputs."""
    return sum(slot.tensor.element_count * slot.tensor.data_type.bits for slot in outputs(case.desc)) // 8


def _states(backend: Backend) -> list[Caches]:
    """The states of the caches that the backend can be timed with."""
    try:
        time_copy(backend, 1, 1, cold=True)
    except RAISED:  # it cannot, or not on this device
        return [Caches.WARM]
    return list(Caches)


def timed_recipes(desc: OperatorDesc) -> dict[str, Recipe]:
    """Data with bits as different as the domains allow; of those that take long to make a few, again and again."""
    spec, data = spec_of(desc), {}
    for seed, slot in enumerate(inputs(desc)):
        if spec.index is not None and slot.key == spec.index.indices:
            data[slot.key] = Recipe(IN_RANGE, seed)
        else:
            pattern = most_diverse(patterns(spec, slot.field))
            data[slot.key] = Recipe(pattern, seed, period=0 if pattern in WHOLE else MOST_DISTINCT)
    return data


def _shape(case: Case) -> str:
    return " ".join(f"{slot.name.replace('Tensor', '')}{braces(slot.tensor.sizes)}" for slot in slots(case.desc))
