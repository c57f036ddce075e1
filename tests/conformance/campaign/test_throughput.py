"""What throughput is measured with: sizes, types, states of the caches, and what of a backend is not timed."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import cheating_backends
import pytest
from cheating_backends import FastBoth, FastClock, PatchesTheClock
from five_operators import FIVE
from msgspec.structs import replace as replace_struct
from scripted_backend import ScriptedBackend, flip_a_bit

from dml_conformance.backends.base import Answer, Binding, Capabilities, Timed, TimedCold, Unsupported
from dml_conformance.backends.processes.backend import opened
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.timing import PATIENT, QUICK, SLOW, WallClock, WarmUp, time_by_clock, time_steadily
from dml_conformance.conformance.campaign import throughput
from dml_conformance.conformance.campaign.budget import BUDGETS, LEAST_THROUGHPUT_BYTES, SIZE_RATIO
from dml_conformance.conformance.campaign.driver import certify
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.campaign.throughput import (
    BESIDE_A_RUN,
    SPREAD,
    Measurement,
    measure,
    spread,
    timed_recipes,
    useful_bytes,
    with_caveats,
)
from dml_conformance.conformance.judge.judge import FIRST_RUNS, LAST_RUNS, Judge, reproduce_line
from dml_conformance.conformance.judge.timed import TimedMemory
from dml_conformance.reports.model.records import Caches, Caveat, Phase, Record, Throughput, Verdict
from dml_conformance.reports.model.summary import Conformance, Summary
from dml_conformance.reports.model.text import share_of_copy
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.case import Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import OperatorDesc, inputs, outputs
from dml_conformance.spec.registry import operator, operators
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import INPUTS_UNCHANGED, OUTPUT_BOUNDS
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.values import materialize

KIB, MIB = 1 << 10, 1 << 20
EVERY = {"size_ratio": SIZE_RATIO, "every_series": True, "cold_series": True, "timed_types_of_siblings": 1}
BUDGET = replace(BUDGETS["quick"], large_bytes=256 * KIB, repeats=2, **EVERY)
SIZES = (16 * KIB, 64 * KIB, 256 * KIB)
REFERENCE = ReferenceBackend()


class Elapsed:
    """Time that fakes say has passed, beside that which has."""

    seconds = 0.0

    @classmethod
    def clock(cls) -> float:
        return time.perf_counter() + cls.seconds


@pytest.fixture(autouse=True)
def _fakes_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dml_conformance.backends.timing.perf_counter", Elapsed.clock)


class Untimed:
    """The reference, that accepts all; `calls` are its executions."""

    def __init__(self, **claims: Any) -> None:
        self.claims = claims
        self.calls: list[OperatorDesc] = []

    def capabilities(self) -> Capabilities:
        claims = {"levels": tuple(Level), "operators": FIVE, "versions": {}, **self.claims}
        return Capabilities("fake", "none", enforces=frozenset(Category), **claims)

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        return Answer(True)

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        self.calls.append(desc)
        REFERENCE.execute(desc, level, inputs, outputs)


class OwnClock(Untimed):
    """One that says how long it took: a second, and half of one for a copy. What it is asked for it does once.

    Args:
        seconds: that each run takes, and twice as much as a copy does.
        claims: of its capabilities.
    """

    def __init__(self, seconds: float = 1.0, **claims: Any) -> None:
        super().__init__(**claims)
        self.seconds = seconds

    def time_execution(self, desc: OperatorDesc, *rest: Any) -> list[float]:
        self.execute(desc, *rest[:-1])
        return self.took(self.seconds, rest[-1])

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return self.took(self.seconds / 2, repeats)

    @staticmethod
    def took(seconds: float, repeats: int) -> list[float]:
        Elapsed.seconds += seconds * repeats
        return [seconds] * repeats


class Cold(OwnClock):
    """One that empties its caches, and is then half as fast; or cannot on this device."""

    can = True

    def time_execution_cold(self, desc: OperatorDesc, *rest: Any) -> list[float]:
        self.execute(desc, *rest[:-1])
        return self.took(2 * self.seconds, rest[-1])

    def time_copy_cold(self, size: int, repeats: int) -> list[float]:
        if not self.can:
            raise Unsupported("not here")
        return self.took(1.0, repeats)


class NeverCold(Cold):
    can = False


def measured(backend: Any, *, levels: tuple[Level, ...] = tuple(Level)) -> list[Throughput]:
    return rows_of(measure(Judge(backend, "fake"), FIVE, levels, BUDGET))


def rows_of(found: Iterable[Throughput | Record]) -> list[Throughput]:
    """All that was found, none of it wrong."""
    return [row for row in found if isinstance(row, Throughput) or pytest.fail(row.reason)]


def test_every_operator_has_data_to_be_timed_with() -> None:
    """One whose recipes give none would go untimed without a word, as regions did."""
    for name in operators():
        desc = builder(name).large(Context.at(SeededChooser(0), operators()[name], HIGHEST), LEAST_THROUGHPUT_BYTES)
        case = Case.of(desc, HIGHEST, timed_recipes(desc), rule=f"{name}.values", timed=True)
        assert materialize(case).keys() == {slot.key for slot in inputs(desc)}


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=lambda budget: budget.name)
@pytest.mark.parametrize("accelerated", [False, True], ids=["host", "accelerator"])
def test_sizes_go_from_the_least_to_the_budgets_own(budget: Any, accelerated: bool) -> None:
    capabilities = Untimed(accelerated=accelerated).capabilities()
    sizes = budget.throughput_sizes(capabilities)
    assert sizes[-1] == budget.throughput_bytes(capabilities)
    assert sizes[-1] == (budget.large_device_bytes if accelerated else budget.large_bytes)
    assert LEAST_THROUGHPUT_BYTES <= sizes[0] < SIZE_RATIO * LEAST_THROUGHPUT_BYTES
    steps = [after / before for before, after in itertools.pairwise(sizes)]
    assert all(step == budget.size_ratio for step in steps[1:])
    assert steps[0] <= budget.size_ratio
    assert (len(sizes) == 2) == (budget.name == "quick")
    assert sum(sizes[:-1]) < sizes[-1] / (SIZE_RATIO - 1)


def test_the_first_of_a_family_is_timed_with_a_type_of_each_width_and_its_siblings_with_one() -> None:
    """A series of sizes belongs to the first one with its first type, and to all where everything is measured."""
    families = {"GATHER": "gather", "GATHER_ND": "gather_nd", "GATHER_ND1": "gather_nd"}
    known = dict.fromkeys(families, (DataType.INT8, DataType.UINT32, DataType.FLOAT32, DataType.FLOAT16))
    quick, standard, full = (
        BUDGETS[name].timings(known, families, Untimed().capabilities()) for name in ("quick", "standard", "full")
    )
    three = [(DataType.FLOAT32, 2), (DataType.FLOAT16, 1), (DataType.INT8, 1)]
    found = [(timing.operator, timing.data_type, len(timing.sizes)) for timing in quick]
    assert found == [(name, *each) for name in ("GATHER", "GATHER_ND") for each in three]
    assert {timing.sizes[-1] for timing in quick} == {BUDGETS["quick"].large_bytes}
    assert standard[-1][:2] == ("GATHER_ND1", DataType.FLOAT32)
    assert [len(timing.sizes) for timing in standard] == [3, 1, 1, 3, 1, 1, 1]
    assert Counter(timing.operator for timing in full) == {"GATHER": 4, "GATHER_ND": 4, "GATHER_ND1": 3}
    assert {len(timing.sizes) for timing in full} == {7}


def test_every_operator_is_timed_at_every_size_and_an_output_has_that_which_its_row_says() -> None:
    """So that rows of different operators, types and backends compare."""
    backend = OwnClock()
    assert isinstance(backend, Timed)
    rows = measured(backend)
    by_timing = Counter((row.operator, row.data_type) for row in rows)
    assert set(by_timing.values()) == {len(SIZES)}
    assert {operator for operator, _ in by_timing} == set(FIVE)
    assert {row.caches for row in rows} == {Caches.WARM}
    assert len({row.timing for row in rows}) == len(rows)
    executed = backend.calls[len(SIZES) :]  # after the copies by a kernel, one for each size
    for row, desc in zip(rows, executed, strict=True):
        output: TensorDesc = desc.output_tensor  # type: ignore[attr-defined]
        assert row.output_bytes == output.element_count * output.data_type.size, row
        assert (row.operator, row.data_type) == (desc.operator, output.data_type.name)
        assert row.useful_bytes == useful_bytes(Case.of(desc, Level.L6_4, {}, rule=""))
        assert row.seconds == (1.0, 1.0)
        assert row.copy_bytes_per_second >= row.useful_bytes / 0.5


def test_cold_caches_are_timed_where_the_backend_empties_them() -> None:
    backend = Cold()
    assert isinstance(backend, TimedCold)
    rows = measured(backend)
    assert [row.caches for row in rows[:4]] == [Caches.WARM, Caches.COLD] * 2
    for warm, cold in zip(rows[::2], rows[1::2], strict=True):
        assert warm.timing[:3] == cold.timing[:3]
        assert (warm.median_seconds, cold.median_seconds) == (1.0, 2.0)
        assert warm.copy_bytes_per_second == 2 * cold.copy_bytes_per_second


def test_caches_are_cold_at_the_largest_of_several_sizes_alone() -> None:
    budget = replace(BUDGETS["quick"], large_bytes=256 * KIB, repeats=2, timed_types=2)
    rows = rows_of(measure(Judge(Cold(), "fake"), ("TILE",), (Level.L6_4,), budget))
    assert [(row.data_type, row.caches) for row in rows] == [
        ("FLOAT32", Caches.WARM),  # the least of the series, in caches anyway
        ("FLOAT32", Caches.WARM),
        ("FLOAT32", Caches.COLD),
        ("FLOAT16", Caches.WARM),
    ]


def test_with_cold_caches_what_is_steady_at_once_counts() -> None:
    """What empties them before each run warms the device up; with warm ones that takes many runs."""
    asked: list[int] = []

    class Short(Cold):
        def time_execution_cold(self, desc: OperatorDesc, *rest: Any) -> list[float]:
            asked.append(rest[-1])
            return super().time_execution_cold(desc, *rest)

    budget = replace(BUDGETS["quick"], large_bytes=256 * KIB, repeats=7, timed_types=1)
    rows = rows_of(measure(Judge(Short(1e-4, accelerated=True), "fake"), ("TILE",), (Level.L6_4,), budget))
    assert [len(row.seconds) for row in rows] == [7, 7, 7]
    assert asked == [7, 7, 7]  # copies by a kernel of both sizes, and the row


def test_where_caches_cannot_be_emptied_and_without_a_clock_a_backend_is_timed_all_the_same() -> None:
    assert {row.caches for row in measured(NeverCold())} == {Caches.WARM}
    rows = measured(Untimed())
    assert all(len(row.seconds) == BUDGET.repeats and min(row.seconds) > 0 for row in rows)
    assert min(row.copy_bytes_per_second for row in rows) > 0


@pytest.mark.parametrize(
    "backend",
    [OwnClock(executes=False), OwnClock(levels=(Level.L1_0,)), OwnClock(operators=())],
    ids=["executes nothing", "another level", "no operator"],
)
def test_what_is_not_claimed_is_not_timed(backend: OwnClock) -> None:
    assert measured(backend, levels=(Level.L3_0,)) == []
    assert backend.calls == []


def test_what_is_refused_or_raises_is_left_out() -> None:
    class Picky(OwnClock):
        def validate(self, desc: OperatorDesc, level: Level) -> Answer:
            return Answer(desc.operator != "TILE")

        def time_execution(self, desc: OperatorDesc, *rest: Any) -> list[float]:
            if desc.operator == "GATHER":
                raise Unsupported("no")
            if desc.operator == "GATHER_ND":
                raise RuntimeError("broken")
            return super().time_execution(desc, *rest)

    assert {row.operator for row in measured(Picky())} == {"GATHER_ELEMENTS", "GATHER_ND1"}


# --- what timed runs leave --------------------------------------------------------------------------------------------


class Skips(Untimed):
    """Does the work of a descriptor a few times, and no more."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def execute(self, desc: OperatorDesc, *rest: Any) -> None:
        if self.calls.count(desc) < self.most:
            super().execute(desc, *rest)


def leaving(do: Callable[..., object]) -> OwnClock:
    """Does something in place of executing where it is timed, with the execution and what is bound."""

    class Wrong(OwnClock):
        def time_execution(self, desc: Any, level: Any, inputs: Any, outputs: Any, repeats: int) -> list[float]:
            do(partial(self.execute, desc, level, inputs, outputs), inputs["input_tensor"], outputs["output_tensor"])
            return [1.0] * repeats

    return Wrong()


def nothing(*_: Any) -> None:
    pass


def half(execute: Any, source: Any, output: Any) -> None:
    """Leave out the second half."""
    kept = output.view[output.size // 2 :].copy()
    execute()
    output.view[output.size // 2 :] = kept


def beyond(execute: Any, source: Any, output: Any) -> None:
    execute()
    output.buffer[output.offset + output.size] ^= 1


def to_its_input(execute: Any, source: Any, output: Any) -> None:
    execute()
    source.view[-1] ^= 1


@pytest.mark.parametrize(
    ("backend", "rule", "runs"),
    [
        (Skips(1), "TILE.values", FIRST_RUNS),
        (Skips(9), "TILE.values", LAST_RUNS),
        (leaving(nothing), "TILE.values", FIRST_RUNS),
        (leaving(half), "TILE.values", FIRST_RUNS),
        (leaving(beyond), OUTPUT_BOUNDS, FIRST_RUNS),
        (leaving(to_its_input), INPUTS_UNCHANGED, FIRST_RUNS),
    ],
    ids=["once", "nine times", "never", "half", "beyond", "input"],
)
def test_what_timed_runs_leave_is_compared(backend: Untimed, rule: str, runs: str) -> None:
    """There is no row of what is wrong, and the record is a case that fails again when it is judged as it stands."""
    backend.claims["operators"] = ("TILE",)
    judge = Judge(backend, "fake")
    found = list(measure(judge, ("TILE",), (Level.L3_0,), BUDGET))
    assert found
    for record in found:
        assert isinstance(record, Record)
        assert (record.verdict, record.rule, record.phase) == (Verdict.FAIL, rule, Phase.THROUGHPUT)
        assert record.reason.endswith(f", {runs}")
        case = Case.from_json(record.case_json)
        assert case.timed
        assert case.digest == record.case
        assert record.reproduce == reproduce_line(case, "fake")
        backend.calls.clear()
        assert judge.judge(case).verdict is Verdict.FAIL
        assert judge.judge(replace_struct(case, timed=False)).verdict is not Verdict.CRASH


@pytest.mark.parametrize(("name", "output"), [("SCATTER", "OutputTensor"), ("RESAMPLE_GRAD", "OutputGradientTensor")])
def test_what_cannot_be_computed_in_part_is_held_to_be_written(name: str, output: str) -> None:
    """An output of a million elements that depend on each other takes seconds to compute: that nothing was written to
    it is found."""

    class Idle(OwnClock):
        def execute(self, *what: Any) -> None:
            """Nothing."""

    for backend, fails in ((Idle(operators=(name,)), True), (OwnClock(operators=(name,)), False)):
        *_, last = measure(Judge(backend, "fake"), (name,), (Level.L5_1,), replace(BUDGET, large_bytes=4 * MIB))
        assert isinstance(last, Record) is fails
        if isinstance(last, Record):
            assert last.reason == f"{output}: nothing was written to it, {FIRST_RUNS}"


def test_a_zero_point_that_is_its_poison_by_chance_is_no_failure() -> None:
    """One time in 256 the right byte is what stood there before; in a larger output that is never so."""
    spec, large_one, one = operator("DYNAMIC_QUANTIZE_LINEAR"), (1, 1, 1024, 512), (1, 1, 1, 1)
    types = (DataType.FLOAT32, large_one), (DataType.UINT8, large_one), (DataType.FLOAT32, one), (DataType.UINT8, one)
    desc = spec.desc(*(TensorDesc.of(*each) for each in types))
    case = Case.of(desc, HIGHEST, {"input_tensor": Recipe("moderate", period=65_536)}, rule=f"{spec.name}.values")
    memory = TimedMemory(case, Placement(), materialize(case), DIRECTML)
    memory.run(REFERENCE, 1)
    large, scale, zero_point = outputs(desc)
    for slot in (large, zero_point):
        found = memory.written[slot.key]
        assert found.poison is not None
        found.poison[...] = found.elements
    assert memory.is_untouched(large)
    assert not memory.is_untouched(zero_point)
    assert not memory.is_untouched(scale)


def test_a_campaign_with_a_wrong_timed_run_is_not_conformant() -> None:
    """All cases pass, and what is timed does not."""
    summary, backend = Summary(), leaving(nothing)
    backend.claims["operators"] = ("TILE",)
    backend.validate = REFERENCE.validate  # type: ignore[method-assign]
    certify(Engine(Judge(backend, "fake"), ("TILE",), (Level.L3_0,), replace(BUDGET, search=1, sweep=4), 0), summary)
    failed = {phase: test.counts[Verdict.FAIL] for phase, test in summary.phases().items()}
    assert [phase for phase, count in failed.items() if count] == [Phase.THROUGHPUT]
    assert summary.conformance is Conformance.NOT_CONFORMANT


# --- the clock of who asks --------------------------------------------------------------------------------------------


def rows_in_a_process(name: str) -> list[Throughput]:
    """Of TILE, at outputs of 16 KiB and of 1 MiB."""
    budget = replace(BUDGETS["quick"], large_bytes=MIB)
    with opened(name, Limits()) as backend:
        return rows_of(measure(Judge(backend, name), ("TILE",), (Level.L3_0,), budget))


@pytest.mark.parametrize("cheat", [FastClock, FastBoth, PatchesTheClock])
def test_a_clock_that_runs_slow_is_not_plausible(cheat: type[ReferenceBackend]) -> None:
    """Where a run takes a tenth of a millisecond; what takes less is held to what a processor can do."""
    rows = rows_in_a_process(f"{cheating_backends.__file__}:{cheat.__name__}")
    assert rows
    assert not any(row.is_plausible for row in rows if row.output_bytes == MIB)


def test_the_clock_of_a_right_backend_is_plausible() -> None:
    rows = rows_in_a_process("reference")
    assert rows
    assert all(row.is_plausible for row in rows)


class Asked:
    """Runs, and how much time passes over them.

    Args:
        run, said: seconds of each, and those that it is said to take.
        start: seconds that pass before the first.
        beside: seconds beside each.
        noise: seconds that pass beside all, by the number of the request.
    """

    def __init__(
        self, run: float, said: float, start: float = 0.0, beside: float = 0.0, noise: Sequence[float] = ()
    ) -> None:
        self.run, self.said, self.start, self.beside = run, said, start, beside
        self.noise, self.asked = iter(noise), list[int]()

    def __call__(self, repeats: int) -> list[float]:
        self.asked.append(repeats)
        Elapsed.seconds += self.start + (self.run + self.beside) * repeats + next(self.noise, 0.0)
        return [self.said] * repeats


@pytest.mark.parametrize(
    ("runs", "is_plausible"),
    [
        (Asked(1e-3, 1e-3), True),
        (Asked(1e-3, 1e-3, start=9.0), True),  # compiled, copied and warmed up for each request
        (Asked(1e-6, 1e-6, beside=BESIDE_A_RUN), True),
        (Asked(1e-3, 1e-3, beside=2e-3), True),  # as many that warm up, and what is restored
        (Asked(1e-3, 1e-3, noise=(0.5, 0.0, 0.9, 0.0, 0.5)), True),
        (Asked(1e-3, 1e-9), False),
        (Asked(1e-3, 1e-4), False),
        (Asked(1e-3, 1e-4, start=0.1), False),
        (Asked(0.2, 0.02), False),  # of which few are asked for
        (Asked(1e-4, 1e-9), False),
        (Asked(1e-3, 2e-3), False),  # more than has passed
    ],
)  # fmt: skip
def test_runs_take_the_time_that_passes(runs: Asked, is_plausible: bool) -> None:
    wall = WallClock(runs, BESIDE_A_RUN)
    time_steadily(wall, 3, QUICK)
    assert wall.is_plausible() is is_plausible


def test_a_plausible_clock_is_asked_for_nothing_more() -> None:
    runs = Asked(1e-3, 1e-3, start=0.01)
    wall = WallClock(runs, BESIDE_A_RUN)
    time_steadily(wall, 3, QUICK)
    assert wall.is_plausible()
    assert runs.asked == [3, 20]


@pytest.mark.parametrize(("accelerated", "seconds"), [(False, 1e-9), (True, 1e-10)])
def test_more_than_memory_takes_is_not_plausible(accelerated: bool, seconds: float) -> None:
    """However little time has passed."""
    backend = OwnClock(seconds, accelerated=accelerated, operators=("TILE",))
    rows = measured(backend)
    assert rows
    assert not any(row.is_plausible for row in rows)


# --- warming up -------------------------------------------------------------------------------------------------------

GB = 10**9


class Device(Untimed):
    """A device with a clock of its own: what it moves takes as long as it says.

    Args:
        launch: seconds of every run.
        copy, kernel: bytes read and written a second by the device's own copy, and by the backend's kernels.
        slowness: how many times as long a run takes, by its number in its row.
    """

    def __init__(
        self,
        launch: float = 0.0,
        copy: float = 400 * GB,
        kernel: float = 400 * GB,
        slowness: Callable[[int], float] | None = None,
    ) -> None:
        super().__init__(accelerated=True)
        self.launch, self.copy, self.kernel, self.slowness = launch, copy, kernel, slowness
        self.asked: list[int] = []

    def time_execution(self, desc: Any, level: Level, *rest: Any) -> list[float]:
        self.execute(desc, level, *rest[:-1])
        return self._runs(useful_bytes(Case.of(desc, level, {}, rule="")), self.kernel, rest[-1])

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return self._runs(2 * size, self.copy, repeats)

    def _runs(self, moved: int, speed: float, repeats: int) -> list[float]:
        self.asked.append(repeats)
        slowness = self.slowness or (lambda run: 1.0)
        seconds = [slowness(run) * (self.launch + moved / speed) for run in range(repeats)]
        Elapsed.seconds += sum(seconds)
        return seconds


ACCELERATED = replace(BUDGETS["quick"], large_device_bytes=4 * MIB, repeats=3, **EVERY)


def timed(backend: Any, *operators: str) -> list[Throughput]:
    return rows_of(measure(Judge(backend, "fake"), operators or ("TILE",), (Level.L3_0,), ACCELERATED))


def test_a_device_that_takes_a_hundred_runs_to_warm_up_is_timed_warm() -> None:
    """Asked for as many runs as are timed, it is three times slower all the time: it cools down in between."""
    warm, warming = timed(Device()), timed(Device(slowness=lambda run: max(1.0, 3.0 - 2.0 * run / 100)))
    assert [row.seconds for row in warming] == [row.seconds for row in warm]
    assert [row.copy_bytes_per_second for row in warming] == [row.copy_bytes_per_second for row in warm]
    assert not any(Caveat.DISTURBED in row.caveats for row in warming)


@pytest.mark.parametrize(
    ("seconds", "more", "warm_up", "asked", "is_steady"),
    [
        (0.2, 0.1, PATIENT, [3], False),  # slow runs are not repeated for long, whatever they come to
        (2.0, 0.0, QUICK, [3], True),
        (1e-3, 0.0, WarmUp(40, 0.02), [3, 20], True),  # a warm-up goes on for its least
        (1e-3, 0.0, WarmUp(12, 0.02), [3, 12], True),
    ],
)
def test_a_warm_up_takes_as_long_as_it_pays(
    seconds: float, more: float, warm_up: WarmUp, asked: list[int], is_steady: bool
) -> None:
    """Each run may take longer than the last one."""
    found: list[int] = []

    def clock(repeats: int) -> list[float]:
        found.append(repeats)
        return [seconds + more * run for run in range(repeats)]

    series = time_steadily(clock, 3, warm_up)
    assert (series.is_steady, len(series.seconds), found) == (is_steady, 3, asked)


@pytest.mark.parametrize(("seconds", "runs"), [(SLOW / 8, 7), (0.4 * SLOW, 3), (0.6 * SLOW, 2), (2 * SLOW, 1)])
def test_of_slow_runs_few_are_timed(seconds: float, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long what warms them up takes, which may compile something. The last one is made anew, as ever."""
    took = iter((5 * SLOW, *[seconds] * 7))
    now, restored = 0.0, list[float]()

    def work() -> None:
        nonlocal now
        now += next(took)

    monkeypatch.setattr("time.perf_counter", lambda: now)
    assert time_by_clock(work, 7, lambda: restored.append(now)) == pytest.approx([seconds] * runs)
    assert restored == pytest.approx(sorted({5 * SLOW, 5 * SLOW + (runs - 1) * seconds}))


# --- the limit, and what is to be known -------------------------------------------------------------------------------


def test_a_slow_copy_is_not_the_limit() -> None:
    """The kernel that repeats nothing copies too; no share is above what that does."""
    rows = timed(Device(copy=80 * GB), "TILE", "GATHER", "GATHER_ELEMENTS")
    assert {round(row.copy_bytes_per_second / GB) for row in rows} == {400}
    assert max(row.fraction_of_copy for row in rows) <= 1.001
    assert max(row.fraction_of_copy for row in rows) > 0.999


def test_without_tile_a_slow_copy_is_told_of() -> None:
    backend = Device(copy=80 * GB)
    backend.claims["operators"] = ("GATHER",)
    rows = timed(backend, "GATHER")
    assert all(row.fraction_of_copy > 4 and Caveat.UNLIKE_A_COPY in row.caveats for row in rows)
    assert share_of_copy(rows[-1]) == "500 % (unlike a copy)"


def test_what_takes_as_long_as_a_launch_is_marked_and_never_above_the_copy() -> None:
    """The copy of small sizes is as slow, or slower: the limit is that of the larger ones."""
    rows = timed(Device(launch=1e-3))
    assert all(Caveat.LAUNCH_BOUND in row.caveats for row in rows)
    assert all(row.fraction_of_copy < 1 for row in rows)
    rows = timed(Device(launch=1e-6, kernel=100 * GB))
    assert [Caveat.LAUNCH_BOUND in row.caveats for row in rows[:5]] == [True, True, False, False, False]
    least_and_largest = replace(ACCELERATED, size_ratio=MIB)
    found = measure(Judge(Device(launch=1e-6, kernel=100 * GB), "fake"), ("TILE",), (Level.L3_0,), least_and_largest)
    types = {row.data_type for row in rows}
    assert [Caveat.LAUNCH_BOUND in row.caveats for row in rows_of(found)] == [True, False] * len(types)
    assert not any(Caveat.LAUNCH_BOUND in row.caveats for row in timed(Device()))


def row(size: int, seconds: float, share: float, caches: Caches = Caches.WARM) -> Throughput:
    return Throughput("TILE", "INT8", "Output{1}", size, (seconds,), size / seconds / share, size, caches)


SMALL_ROW = partial(row, KIB, 1e-6)


@pytest.mark.parametrize(
    ("rows", "launch", "expected"),
    [
        # Caches are why a small size is above the copy.
        ([SMALL_ROW(2.0), row(16 * KIB, 1e-4, 0.9)], 0.0, [(Caveat.CACHED,), ()]),
        ([SMALL_ROW(2.0), row(KIB, 1e-5, 0.8, Caches.COLD)], 0.0, [(Caveat.CACHED,), ()]),
        ([SMALL_ROW(2.0), row(KIB, 1e-5, 1.2, Caches.COLD)], 0.0, [(Caveat.UNLIKE_A_COPY,)] * 2),
        # Alone a size is held against an empty launch.
        ([SMALL_ROW(0.5)], 1e-6, [(Caveat.LAUNCH_BOUND,)]),
        ([row(KIB, 1e-5, 0.5)], 1e-6, [()]),
    ],
)
def test_why_a_row_is_to_be_read_with_care(
    rows: list[Throughput], launch: float, expected: list[tuple[Caveat, ...]]
) -> None:
    found = with_caveats([Measurement(each, False) for each in rows], dict.fromkeys(Caches, launch))
    assert [each.caveats for each in found] == expected
    # A share of an earlier release is explained too.
    assert share_of_copy(SMALL_ROW(1.77)) == "177 % (above the one copy that was measured)"
    assert share_of_copy(SMALL_ROW(0.0123)) == "1.2 %"


def test_nothing_is_above_the_copy_without_a_reason() -> None:
    every = [row(size * KIB, size * 1e-6, share) for size in (1, 2, 16) for share in (0.5, 1.01, 3.0)]
    for first, second in itertools.combinations(every, 2):
        for disturbed in (False, True):
            given = with_caveats([Measurement(each, disturbed) for each in (first, second)], {})
            assert all(each.caveats for each in given if each.fraction_of_copy > 1)
            assert all((Caveat.DISTURBED in each.caveats) is disturbed for each in given)


def uneven(run: int) -> float:
    return (1.0, 1.3, 1.6)[run % 3]


class Throttled(Device):
    """Its own copy becomes slower with each request."""

    def time_copy(self, size: int, repeats: int) -> list[float]:
        self.copy *= 0.8
        return super().time_copy(size, repeats)


@pytest.mark.parametrize(
    ("backend", "most"),
    [
        (Throttled(), None),
        (Device(slowness=uneven), None),
        (Device(slowness=lambda run: 1.0 + run / 100), PATIENT.most_runs),  # never steady, and given up
    ],
)
def test_what_differs_from_run_to_run_is_marked(backend: Device, most: int | None) -> None:
    rows = timed(backend)
    assert rows
    assert all(Caveat.DISTURBED in row.caveats for row in rows)
    assert most is None or max(backend.asked) == most
    assert spread((1.0, 1.0, 1.0)) == 0
    assert spread((1.0, 1.1, 1.3)) > SPREAD > spread((1.0, 1.0, 1.1, 1.1, 9.0))


class Jittery(Device):
    """The launch of every other copy takes longer."""

    def __init__(self) -> None:
        super().__init__()
        self.copies = 0

    def time_copy(self, size: int, repeats: int) -> list[float]:
        self.copies += repeats == ACCELERATED.repeats  # the first request of a measurement
        self.launch = 1.5e-6 if self.copies % 2 else 1e-6
        return super().time_copy(size, repeats)

    def time_execution(self, desc: Any, level: Level, *rest: Any) -> list[float]:
        self.launch = 1e-6
        return super().time_execution(desc, level, *rest)


def test_copies_that_are_launches_may_differ() -> None:
    """They say nothing of the device; a copy that is more than that does."""
    assert not any(Caveat.DISTURBED in row.caveats for row in timed(Jittery()))


@pytest.mark.parametrize(("seconds", "times"), [(inf, 2), (0.0, 1)])
def test_what_was_disturbed_is_measured_again(seconds: float, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it took long."""

    class Calming(Device):
        """Runs of a descriptor differ when it is measured for the first time."""

        def __init__(self) -> None:
            super().__init__()
            self.measured = Counter[OperatorDesc]()

        def time_execution(self, desc: Any, level: Level, *rest: Any) -> list[float]:
            self.measured[desc] += rest[-1] == ACCELERATED.repeats  # the first request of a measurement
            self.slowness = uneven if self.measured[desc] == 1 else None
            seconds = super().time_execution(desc, level, *rest)
            self.slowness = None
            return seconds

    monkeypatch.setattr(throughput, "ATTEMPT_SECONDS", seconds)
    backend = Calming()
    rows = timed(backend)
    assert all((Caveat.DISTURBED in row.caveats) is (times == 1) for row in rows)
    assert set(backend.measured.values()) == {1, times}  # copies by a kernel are taken as they are


def test_an_operator_whose_outputs_are_wrong_is_not_timed() -> None:
    """Also where those that are timed are right. A wrong decision alone leaves it as fast as it is."""

    def wrong(desc: Any, inputs: Any, outputs: Any) -> None:
        if desc.operator == "TILE" and desc.output_tensor.element_count < 100:
            flip_a_bit(desc, inputs, outputs)

    def validate(desc: Any, level: Level) -> Answer:
        decided = ReferenceBackend().validate(desc, level)
        return Answer(True) if desc.operator == "CAST" else decided

    judge, summary = Judge(ScriptedBackend(after=wrong, validate=validate), "mine"), Summary()
    budget = replace(BUDGET, search=1, sweep=4)
    certify(Engine(judge, ("TILE", "CAST", "ELEMENT_WISE_ABS"), (Level.L3_0,), budget, 0), summary)
    assert {group.operator for group in summary.failures.values()} == {"TILE", "CAST"}
    assert {row.operator for row in summary.throughputs} == {"CAST", "ELEMENT_WISE_ABS"}
