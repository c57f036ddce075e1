"""Timing a backend in the process that it runs in: by its own clock where it has one, else by the host's."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from backends.base import Backend, Execution, Timed, TimedCold, Unsupported


def time_execution(backend: Backend, execution: Execution, repeats: int, *, cold: bool = False) -> list[float]:
    """Seconds of each of `repeats` runs, after a warm-up, with warm or cold caches.

    Raises:
        Unsupported: the backend cannot empty its caches.
        Exception: whatever the backend raises.
    """
    if cold:
        return _cold(backend).time_execution_cold(*execution, repeats)
    if isinstance(backend, Timed):
        return backend.time_execution(*execution, repeats)
    return _by_clock(lambda: backend.execute(*execution), repeats)


def time_copy(backend: object, size: int, repeats: int, *, cold: bool = False) -> list[float]:
    """Seconds of each of `repeats` copies of `size` bytes, from the backend's memory to itself; errors as above."""
    if cold:
        return _cold(backend).time_copy_cold(size, repeats)
    if isinstance(backend, Timed):
        return backend.time_copy(size, repeats)
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    return _by_clock(lambda: np.copyto(target, source), repeats)


def _cold(backend: object) -> TimedCold:
    if isinstance(backend, TimedCold):
        return backend
    raise Unsupported("the backend cannot empty its caches")


def _by_clock(work: Callable[[], object], repeats: int) -> list[float]:
    work()  # warms up
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return seconds
