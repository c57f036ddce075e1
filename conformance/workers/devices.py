"""Several devices of one kind in one machine: which there are, and a place on each for a worker process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from dml_conformance.backends.loading import BackendError, on_device
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.walls import FileWall
from dml_conformance.conformance.workers.process import JudgeProcess


def devices_of(backends: Sequence[str], wall: FileWall | None = None) -> list[tuple[str, ...]]:
    """The devices of each backend, as its class takes them; empty for one that has no choice of them.

    They are asked for in a process of its own: to say so a backend runs its code.

    Args:
        backends: their names.
        wall: around that process; None = there is none.

    Raises:
        BackendError: a backend cannot be had.
        WorkerError: no process can be started.
    """
    with closing(JudgeProcess(wall=wall)) as process:
        try:
            return process.devices(backends)
        except ProcessLost as lost:
            raise BackendError(f"the devices of {', '.join(backends)} cannot be had: the process {lost}") from None


def places_on(
    backends: Sequence[str], devices: Sequence[Sequence[str]], chosen: Sequence[int]
) -> tuple[tuple[str, ...], ...]:
    """The names that the backends are loaded by, device by device.

    Args:
        backends: their names.
        devices: of each; one that has none is the same in every place.
        chosen: which of the devices, by number; empty for all.

    Raises:
        BackendError: no backend has a choice of devices, or there is no such device.
    """
    most = max(devices, key=len, default=())
    if not most:
        raise BackendError(f"--devices: {', '.join(backends)} leaves no choice of devices on this machine")
    for number in chosen:
        if number >= len(most):
            there = ", ".join(f"{n} = {device}" for n, device in enumerate(most))
            raise BackendError(f"--devices: there is no device {number}; there are {there}")
    return tuple(
        tuple(
            on_device(name, own[number % len(own)]) if own else name
            for name, own in zip(backends, devices, strict=True)
        )
        for number in chosen or range(len(most))
    )
