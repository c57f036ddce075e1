"""What throughput is measured with: sizes, types, states of the caches, and what of a backend is not timed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from backends.base import Answer, Binding, Capabilities, Timed, TimedCold, Unsupported
from conformance.budget import BUDGETS, LEAST_THROUGHPUT_BYTES, SIZE_RATIO
from conformance.judge import Judge
from conformance.throughput import measure, useful_bytes
from reports.records import Caches, Throughput
from spec.case import Case
from spec.levels import Level
from spec.operator import OperatorDesc
from spec.registry import operators
from spec.rules import Category
from spec.tensor import TensorDesc

KIB, MIB = 1 << 10, 1 << 20
BUDGET = replace(BUDGETS["quick"], large_bytes=256 * KIB, repeats=2)
SIZES = (16 * KIB, 64 * KIB, 256 * KIB)
OPERATORS = tuple(operators())


class Untimed:
    """A backend that accepts all and does nothing; `calls` are its executions."""

    def __init__(self, **claims: Any) -> None:
        self.claims = claims
        self.calls: list[OperatorDesc] = []

    def capabilities(self) -> Capabilities:
        claims = {"levels": tuple(Level), "operators": OPERATORS, "versions": {}, **self.claims}
        return Capabilities("fake", "none", enforces=frozenset(Category), **claims)

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        return Answer(True)

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        self.calls.append(desc)


class OwnClock(Untimed):
    """One that says how long it took: a second, and half of one for a copy."""

    def time_execution(self, desc: OperatorDesc, *rest: Any) -> list[float]:
        self.calls.append(desc)
        return [1.0] * rest[-1]

    def time_copy(self, size: int, repeats: int) -> list[float]:
        return [0.5] * repeats


class Cold(OwnClock):
    """One that empties its caches, and is then half as fast."""

    def time_execution_cold(self, desc: OperatorDesc, *rest: Any) -> list[float]:
        return [2.0] * rest[-1]

    def time_copy_cold(self, size: int, repeats: int) -> list[float]:
        return [1.0] * repeats


class NeverCold(Cold):
    """One that cannot empty them on this device."""

    def time_copy_cold(self, size: int, repeats: int) -> list[float]:
        raise Unsupported("not here")


def measured(backend: Any, *, levels: tuple[Level, ...] = tuple(Level)) -> list[Throughput]:
    return list(measure(Judge(backend, "fake"), OPERATORS, levels, BUDGET))


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=lambda budget: budget.name)
@pytest.mark.parametrize("versions", [{}, {"cuda": "13.0"}], ids=["host", "cuda"])
def test_sizes_go_from_the_least_to_the_budgets_own(budget: Any, versions: dict[str, str]) -> None:
    capabilities = Untimed(versions=versions).capabilities()
    sizes = budget.throughput_sizes(capabilities)
    assert sizes[-1] == budget.throughput_bytes(capabilities)
    assert LEAST_THROUGHPUT_BYTES <= sizes[0] < SIZE_RATIO * LEAST_THROUGHPUT_BYTES
    assert all(after == SIZE_RATIO * before for before, after in itertools.pairwise(sizes))
    assert sum(sizes[:-1]) < sizes[-1] / (SIZE_RATIO - 1)


def test_every_operator_and_type_is_timed_at_every_size() -> None:
    backend = OwnClock()
    assert isinstance(backend, Timed)
    rows = measured(backend)
    by_timing = Counter((row.operator, row.data_type) for row in rows)
    assert set(by_timing.values()) == {len(SIZES)}
    assert len(by_timing) == 4 * 11 + 10  # TILE has no FLOAT64
    assert {row.caches for row in rows} == {Caches.WARM}
    assert len({row.timing for row in rows}) == len(rows)


def test_an_output_has_the_size_that_its_row_says() -> None:
    """So that rows of different operators, types and backends compare."""
    backend = OwnClock()
    rows = measured(backend)
    for row, desc in zip(rows, backend.calls, strict=True):
        output: TensorDesc = desc.output_tensor  # type: ignore[attr-defined]
        assert row.output_bytes == row.size == output.element_count * output.data_type.size, row
        assert (row.operator, row.data_type) == (desc.operator, output.data_type.name)
        assert row.useful_bytes == useful_bytes(Case.of(desc, Level.L6_4, {}, rule=""))
        assert row.seconds == (1.0, 1.0)
        assert row.copy_bytes_per_second == row.useful_bytes / 0.5


def test_cold_caches_are_timed_where_the_backend_empties_them() -> None:
    backend = Cold()
    assert isinstance(backend, TimedCold)
    rows = measured(backend)
    assert [row.caches for row in rows[:4]] == [Caches.WARM, Caches.COLD] * 2
    for warm, cold in zip(rows[::2], rows[1::2], strict=True):
        assert warm.timing[:3] == cold.timing[:3]
        assert (warm.median_seconds, cold.median_seconds) == (1.0, 2.0)
        assert warm.copy_bytes_per_second == 2 * cold.copy_bytes_per_second


def test_where_it_cannot_only_warm_ones_are() -> None:
    assert {row.caches for row in measured(NeverCold())} == {Caches.WARM}


def test_without_a_clock_of_its_own_a_backend_is_timed_by_the_hosts() -> None:
    backend = Untimed()
    rows = measured(backend)
    assert all(len(row.seconds) == BUDGET.repeats and min(row.seconds) > 0 for row in rows)
    assert len(backend.calls) == len(rows) * (BUDGET.repeats + 1)
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
