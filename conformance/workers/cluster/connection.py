"""Finding the scheduler of a cluster."""

from __future__ import annotations

import asyncio
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from dml_conformance.conformance.workers.cluster.errors import ClusterError, ClusterLost, in_one_line

if TYPE_CHECKING:
    from distributed import Client


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
