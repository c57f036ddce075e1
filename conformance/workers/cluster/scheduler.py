"""The scheduler of a cluster: how it is found, the workers that it knows, and what can be wrong with them."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from dml_conformance.spec.errors import BadInputError, BrokenRunError

if TYPE_CHECKING:
    from distributed import Client

MOST_NAMED = 5  # workers in a message


class ClusterError(BadInputError, ValueError):
    """A cluster that is not as it has to be, or is not asked for as it should be; the message says what to change."""


class ClusterLost(BrokenRunError):
    """A cluster that cannot be reached, has no workers, or lost them; the run is incomplete."""


def in_one_line(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def connected(address: str) -> Client:
    """A client of the scheduler.

    Raises:
        ClusterError: Dask is not installed, or the address is none of a scheduler.
        ClusterLost: nobody answers.
    """
    try:
        import dask
        from distributed import Client
        from distributed.versions import VersionMismatchWarning
    except ImportError as error:
        raise ClusterError(
            f"--scheduler needs dask.distributed: pip install 'dml-conformance[dask]' ({in_one_line(error)})"
        ) from error
    timeout = dask.utils.parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
    # Asked first, as a Client that fails on this leaves more behind than an exception.
    try:
        # In a thread of its own: this one may have a loop that runs, as in a notebook.
        with ThreadPoolExecutor(1) as thread:
            kind = thread.submit(lambda: asyncio.run(_kind(address, timeout))).result()
    except (ValueError, TypeError, RuntimeError) as error:  # Dask's, for each kind of address another one
        raise ClusterError(
            f"--scheduler {address}: expected an address that Dask takes, such as tcp://host:8786: {in_one_line(error)}"
        ) from error
    except OSError as error:
        raise ClusterLost(f"no scheduler answers at {address} within {timeout:g} s") from error
    if kind != "Scheduler":
        raise ClusterError(f"what answers at {address} is no scheduler but a {kind}")
    with warnings.catch_warnings():
        # Versions are asked for below, and in_one_line where they matter.
        warnings.simplefilter("ignore", VersionMismatchWarning)
        try:
            return Client(address, timeout=timeout, set_as_default=False, name="dml-conformance")
        except OSError as error:
            raise ClusterLost(f"no scheduler answers at {address} within {timeout:g} s") from error


async def _kind(address: str, timeout: float) -> str:
    """What answers at an address: `Scheduler`, `Worker`, `Nanny`."""
    from distributed import Security, rpc

    arguments = Security().get_connection_args("client")
    async with rpc(address, timeout=timeout, connection_args=arguments) as there:
        return str((await asyncio.wait_for(there.identity(), timeout))["type"])


class ClusterMember(NamedTuple):
    """A worker of the cluster.

    Attributes:
        address: of the worker.
        name: as its user named it, or Dask.
        resources: what it was started with.
    """

    address: str
    name: str
    resources: Mapping[str, float]

    def __str__(self) -> str:
        return self.address if self.name == self.address else f"{self.name} ({self.address})"

    def has(self, wanted: Mapping[str, float]) -> bool:
        """Whether it has so much of certain resources."""
        return all(self.resources.get(name, 0) >= amount for name, amount in wanted.items())


def named(members: Sequence[ClusterMember]) -> str:
    """Workers and what they were started with."""
    shown = [
        f"{member} with {', '.join(f'{name}={amount:g}' for name, amount in member.resources.items()) or 'none'}"
        for member in members[:MOST_NAMED]
    ]
    more = len(members) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")
