"""Timing a backend in the process that it runs in: by its own clock where it has one, else by the host's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ceil
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from dml_conformance.backends.base import Backend, Execution, Timed, TimedCold, Unsupported

Runs = Callable[[int], list[float]]  # seconds of each of so many runs in a row
STEADY = 0.05  # that the medians of two parts of the runs may differ by
# Of the time that passes for who asks for runs: how many times as long as they are said to take may go by beside them,
# and by how much their sum may be longer, as that is another clock's.
BESIDE, CLOCKS = 3, 0.05
# Seconds by which it may be longer for many runs than for one, as a machine has other things to do; how many runs show
# it, and how often it has to be so.
NOISE, MOST_RUNS, ATTEMPTS = 0.02, 1024, 3
SLOW = 0.1  # seconds of runs, beyond which no more are timed: what disturbs slow ones is a small part of them


class WarmUp(NamedTuple):
    """How long runs go on before they count.

    Attributes:
        least_runs, least_seconds: it goes on for one or the other at least: what a device takes longer to come up to
            speed for looks steady at first.
        most_runs, most_seconds: and no longer than this, steady or not.
    """

    least_runs: int
    least_seconds: float
    most_runs: int = 1024
    most_seconds: float = 1.0

    def is_enough(self, seconds: Sequence[float]) -> bool:
        return len(seconds) >= self.least_runs or sum(seconds) >= self.least_seconds

    def most(self, seconds: Sequence[float]) -> int:
        """How many runs there may be at the most, by what those so far took."""
        run = median(seconds)
        return min(self.most_runs, int(self.most_seconds / run)) if run > 0 else self.most_runs

    def least(self, seconds: Sequence[float]) -> int:
        run = median(seconds)
        return min(self.least_runs, ceil(self.least_seconds / run)) if run > 0 else self.least_runs


# A processor is warm after a few runs, and what disturbs it after that goes on; a GPU's clock rises for a hundred runs
# and more.
QUICK = WarmUp(32, 0.02, most_seconds=0.1)
PATIENT = WarmUp(128, 0.25, most_runs=512, most_seconds=0.25)
NO_WARM_UP = WarmUp(1, 0.0, most_seconds=0.1)  # what is steady at once counts


class Series(NamedTuple):
    """The last of many runs in a row.

    Attributes:
        seconds: of each.
        is_steady: whether they took as long as those before them.
        is_plausible: see `WallClock`.
    """

    seconds: tuple[float, ...]
    is_steady: bool
    is_plausible: bool = True


class _Request(NamedTuple):
    """Runs that were asked for.

    Attributes:
        runs: how many were made.
        seconds: that they are said to have taken together.
        wall: seconds that passed for who asked.
    """

    runs: int
    seconds: float
    wall: float

    @property
    def rest(self) -> float:
        return self.wall - self.seconds


class WallClock:
    """Asks for runs, and measures the time that passes meanwhile, as the clock that times the runs is the backend's.

    Runs follow each other, so together they take no longer than the request. What it takes beyond them, such as copies
    to a device and a warm-up, hardly depends on how many they are: where it grows with their number far more than they
    are said to take, they take longer than that.

    Args:
        runs: makes them.
        beside: seconds that may pass beside each run.
    """

    def __init__(self, runs: Runs, beside: float) -> None:
        self._runs, self._beside = runs, beside
        self.requests: list[_Request] = []

    def __call__(self, repeats: int) -> list[float]:
        began = perf_counter()
        seconds = self._runs(repeats)
        self.requests.append(_Request(len(seconds), sum(seconds), perf_counter() - began))
        return seconds

    def is_plausible(self) -> bool:
        """Whether the runs may have taken as long as they are said to; asks for more of them where that is in doubt."""
        last = self.requests[-1]
        if last.rest > self._allowed(last) and not any(self._grows_little(last.runs) for _ in range(ATTEMPTS)):
            return False
        return all(request.seconds <= (1 + CLOCKS) * request.wall for request in self.requests)

    def _grows_little(self, runs: int) -> bool:
        """Whether many runs take little more beside them than one does; of ever more, until that can be told."""
        one = self._asked(1)
        while runs <= MOST_RUNS:
            many = self._asked(runs)
            excess = many.rest - one.rest - self._allowed(many)
            if excess <= 0 or many.runs < runs:
                return excess <= NOISE + one.rest
            if excess > NOISE + one.rest:
                return False
            runs *= 4
        return True

    def _asked(self, runs: int) -> _Request:
        self(runs)
        return self.requests[-1]

    def _allowed(self, request: _Request) -> float:
        return BESIDE * request.seconds + self._beside * request.runs


def time_steadily(clock: Runs, repeats: int, warm_up: WarmUp) -> Series:
    """Time `repeats` runs at a rate that is steady, or as steady as it gets within the limits of the warm-up.

    The clock is asked for ever more runs in a row and not for the same number again: between two requests a device has
    time to cool down.
    """
    count = repeats
    seconds = clock(count)
    while seconds and not (warm_up.is_enough(seconds) and _is_steady(seconds)):
        following = min(max(2 * count, warm_up.least(seconds)), warm_up.most(seconds))
        if following <= count:
            break
        count, seconds = following, clock(following)
    return Series(tuple(seconds[-repeats:]), _is_steady(seconds))


def _is_steady(seconds: Sequence[float]) -> bool:
    """Whether the last third of the runs took as long as the third before."""
    if not seconds:
        return False
    part = max(len(seconds) // 3, 1)
    before, last = seconds[-2 * part : -part] or seconds, seconds[-part:]
    return abs(median(before) - median(last)) <= STEADY * median(last)


def time_execution(backend: Backend, execution: Execution, repeats: int, *, cold: bool = False) -> list[float]:
    """Seconds of each of `repeats` runs, after a warm-up, with warm or cold caches; of slow ones fewer.

    By the host's clock, the outputs' resources are what they were before the first run and before the last one: who
    leaves out a run that he has made before is found by what is missing then.

    Raises:
        Unsupported: the backend cannot empty its caches.
        Exception: whatever the backend raises.
    """
    if cold:
        return _cold(backend).time_execution_cold(*execution, repeats)
    if isinstance(backend, Timed):
        return backend.time_execution(*execution, repeats)
    before = {id(buffer): (buffer, buffer.copy()) for buffer, _, _ in execution.outputs.values()}

    def restore() -> None:
        for buffer, content in before.values():
            buffer[:] = content

    return time_by_clock(lambda: backend.execute(*execution), repeats, restore)


def time_copy(backend: object, size: int, repeats: int, *, cold: bool = False) -> list[float]:
    """Seconds of each of `repeats` copies of `size` bytes, from the backend's memory to itself; errors as above."""
    if cold:
        return _cold(backend).time_copy_cold(size, repeats)
    if isinstance(backend, Timed):
        return backend.time_copy(size, repeats)
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    return time_by_clock(lambda: np.copyto(target, source), repeats)


def _cold(backend: object) -> TimedCold:
    if isinstance(backend, TimedCold):
        return backend
    raise Unsupported("the backend cannot empty its caches")


def time_by_clock(
    work: Callable[[], object], repeats: int, restore: Callable[[], object] = lambda: None
) -> list[float]:
    """Seconds of each of `repeats` runs by the host's clock, after one that warms up; of slow ones fewer.

    `restore` is called before the first run and before the last one.
    """
    work()  # warms up
    seconds: list[float] = []
    for run in range(repeats):
        is_last = run == repeats - 1 or sum(seconds) + max(seconds, default=0.0) > SLOW
        if is_last or run == 0:
            restore()
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
        if is_last or seconds[0] > SLOW:  # not the warm-up, which may have compiled something
            break
    return seconds
