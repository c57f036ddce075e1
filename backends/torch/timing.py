"""Timing work on a device: the host's clock for the CPU, events on the stream for CUDA.

On CUDA the caches can be emptied before each run. That takes the device about a millisecond, in which the launch that
is timed gets into the queue; without it, runs follow each other as fast as they can be launched.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.timing import time_by_clock

WARM_UP = 3
FLUSH_BYTES = 512 * 2**20  # more than any cache holds
FLUSHES = 6


def seconds(work: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    """Seconds of each of `repeats` runs of `work`, after a warm-up; each finds in the caches what the last left."""
    if device.type != "cuda":
        return time_by_clock(work, repeats)
    for _ in range(WARM_UP):
        work()
    return _by_events(work, repeats, device)


def seconds_cold(work: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    """Seconds of each of `repeats` runs of `work`, after a warm-up, each with nothing of use in the caches.

    Raises:
        Unsupported: the device is none of CUDA's.
    """
    if device.type != "cuda":
        raise Unsupported("the caches of a CPU are not emptied")
    for _ in range(WARM_UP):
        work()
    flushed = torch.empty(FLUSH_BYTES, dtype=torch.int8, device=device)

    def flush() -> None:
        for _ in range(FLUSHES):
            flushed.zero_()

    return _by_events(work, repeats, device, flush)


def _by_events(
    work: Callable[[], object], repeats: int, device: torch.device, before: Callable[[], object] = lambda: None
) -> list[float]:
    with torch.cuda.device(device):
        stream = torch.cuda.current_stream()  # once, as to look it up takes longer than many a launch
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * repeats)]  # type: ignore[no-untyped-call]
        starts, ends = events[::2], events[1::2]
        for start, end in zip(starts, ends, strict=True):
            before()
            start.record(stream)
            work()
            end.record(stream)
        torch.cuda.synchronize(device)
    return [start.elapsed_time(end) / 1000 for start, end in zip(starts, ends, strict=True)]
