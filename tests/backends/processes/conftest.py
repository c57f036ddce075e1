"""What the tests of processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.limits import Limits


@pytest.fixture
def isolated() -> Iterator[Callable[..., IsolatedBackend]]:
    """Makes isolated backends, which are closed in the end."""
    made: list[IsolatedBackend] = []

    def make(name: str, limits: Limits = Limits(60.0)) -> IsolatedBackend:  # noqa: B008 - it is frozen
        made.append(IsolatedBackend(name, limits))
        return made[-1]

    yield make
    for backend in made:
        backend.close()
