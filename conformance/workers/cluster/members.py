"""The workers of a cluster, as its scheduler describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_NAMED = 5  # workers in a message


class ClusterMember(NamedTuple):
    """A worker of the cluster.

    Attributes:
        address: of the worker.
        name: as its user named it, or Dask.
        resources: what it was started with.
        threads: how many tasks it takes at once.
    """

    address: str
    name: str
    resources: Mapping[str, float]
    threads: int

    def __str__(self) -> str:
        return self.address if self.name == self.address else f"{self.name} ({self.address})"

    def slots(self, wanted: Mapping[str, float]) -> int:
        """How many tasks that need certain resources it takes at once."""
        shares = (int(self.resources.get(name, 0) / amount) for name, amount in wanted.items())
        return min(self.threads, *shares) if wanted else self.threads


def named(members: Sequence[ClusterMember]) -> str:
    """Workers and what they were started with."""
    shown = [
        f"{member} with {', '.join(f'{name}={amount:g}' for name, amount in member.resources.items()) or 'none'}"
        for member in members[:MOST_NAMED]
    ]
    more = len(members) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")
