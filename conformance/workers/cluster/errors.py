"""What can be wrong with a cluster."""

from __future__ import annotations

from dml_conformance.spec.errors import BadInputError, BrokenRunError


class ClusterError(BadInputError, ValueError):
    """A cluster that is not as it has to be, or is not asked for as it should be; the message says what to change."""


class ClusterLost(BrokenRunError):
    """A cluster that cannot be reached, has no workers, or lost them; the run is incomplete."""


def told(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(str(error).split()) or type(error).__name__
