"""Having a backend, in a process of its own or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dml_conformance.backends.base import Backend
from dml_conformance.backends.loading import load_backend
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.limits import Limits


@contextmanager
def opened(name: str, limits: Limits | None) -> Iterator[Backend]:
    """A backend for as long as it is needed.

    Args:
        name: as on the command line.
        limits: of its process; None = it is loaded into this one.

    Raises:
        BackendError: it cannot be had.
    """
    if limits is None:
        yield load_backend(name)
        return
    backend = IsolatedBackend(name, limits)
    try:
        yield backend
    finally:
        backend.close()
