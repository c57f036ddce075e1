"""Timing a work and its peers in turn, and handing the samples to pytest-benchmark."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from ratios import Clock, Row, Sample, core_share, row
from sizes import Sizes

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Work(NamedTuple):
    """Something to time.

    Attributes:
        name: as the table shows it.
        run: does it once, and says how many units that were.
    """

    name: str
    run: Callable[[], int]


class Peer(NamedTuple):
    """Another way to do the same units of work; `needed` is how many times as fast the work has to be."""

    work: Work
    needed: float | None = None


class Goal(NamedTuple):
    """A fixed rate to reach, units a second."""

    rate: float


class Race:
    """Times one work against its peers. What comes out is a row of the table for each peer and each goal.

    Args:
        benchmark: pytest-benchmark's fixture; it keeps the work's wall times, and all samples as `extra_info`.
        suite: name of the benchmarks that this is one of.
        sizes: says how many rounds there are.

    Attributes:
        rows: of the table.
        share: of a core that the work and its peers had; None before they ran.
    """

    def __init__(self, benchmark: BenchmarkFixture, suite: str, sizes: Sizes) -> None:
        self._benchmark = benchmark
        self._suite = suite
        self._sizes = sizes
        self.rows: list[Row] = []
        self.share: float | None = None

    def __call__(
        self, unit: str, work: Work, *against: Peer | Goal, heavy: bool = False, clock: Clock = Clock.CORE
    ) -> None:
        """Run everything once unmeasured, then all rounds: in each the peers, then the work.

        Args:
            unit: what the works count.
            work: what the rows are about.
            against: what to compare it with.
            heavy: a round takes seconds, so that fewer have to do.
            clock: whose seconds the rates are of.
        """
        rounds = self._sizes.heavy_rounds if heavy else self._sizes.rounds
        peers = [peer.work for peer in against if isinstance(peer, Peer)]
        samples: dict[str, list[Sample]] = {each.name: [] for each in (work, *peers)}

        def take(each: Work) -> None:
            samples[each.name].append(sample(each))

        def take_peers() -> None:
            for peer in peers:
                gc.collect()  # none clears up after another on its own time
                take(peer)
            gc.collect()

        for each in (work, *peers):
            each.run()
        self._benchmark.pedantic(lambda: take(work), setup=take_peers, rounds=rounds)  # type: ignore[no-untyped-call]
        for rival in against:
            if isinstance(rival, Peer):
                name, needed = rival.work.name, rival.needed
                rates = [each.rate(clock) for each in samples[name]]
            else:
                name, needed = "goal", 1.0
                rates = [rival.rate] * len(samples[work.name])
            self.rows.append(row(self._suite, work.name, unit, samples[work.name], name, rates, needed, clock))
        self.share = core_share([each for taken in samples.values() for each in taken])
        self._benchmark.extra_info.update(
            unit=unit,
            rows=msgspec.to_builtins(self.rows),
            samples=msgspec.to_builtins(samples),
            core_share=self.share,
        )


def sample(work: Work) -> Sample:
    """Time one run by both clocks."""
    wall, core = time.perf_counter(), time.process_time()
    count = work.run()
    return Sample(count, time.perf_counter() - wall, time.process_time() - core)
