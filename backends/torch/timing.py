"""Timing work on a device: the host's clock for the CPU, events on the stream for CUDA."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

WARM_UP = 3


def seconds(work: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    """Seconds of each of `repeats` runs of `work`, after a warm-up."""
    for _ in range(WARM_UP):
        work()
    return _by_events(work, repeats, device) if device.type == "cuda" else _by_clock(work, repeats)


def _by_clock(work: Callable[[], object], repeats: int) -> list[float]:
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return found


def _by_events(work: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    with torch.cuda.device(device):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * repeats)]  # type: ignore[no-untyped-call]
        starts, ends = events[::2], events[1::2]
        for start, end in zip(starts, ends, strict=True):
            start.record()
            work()
            end.record()
        torch.cuda.synchronize(device)
    return [start.elapsed_time(end) / 1000 for start, end in zip(starts, ends, strict=True)]
