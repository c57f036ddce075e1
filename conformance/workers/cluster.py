"""Judging on other machines: the workers of a Dask scheduler, each with backends of its own.

Tasks and outcomes are those of every executor. Dask sends them, has what a lost worker was at judged by another one,
and raises here what was raised there. Which worker judges what makes no difference, so neither does their number, nor
how many of them are lost on the way.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.workers.environment import environment
from dml_conformance.conformance.workers.executor import TASKS_AHEAD, Executor, InProcess, settle
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import Work, WorkOutcome
from dml_conformance.reports.model.release import suite_version
from dml_conformance.spec.errors import BadInputError, BrokenRunError

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

PATIENCE = 60.0  # seconds to wait for a worker where there is none
LOOK_SECONDS = 5.0  # between two looks at which workers there are
IDLE_SECONDS = 600.0  # after which the other side of a run is taken to be gone
MOST_NAMED = 5  # workers in a message
CANCELLED = (asyncio.CancelledError, futures.CancelledError)  # one of which is Dask's, by its version


class ClusterError(BadInputError, ValueError):
    """A cluster that is not as it has to be, or is not asked for as it should be; the message says what to change."""


class ClusterLost(BrokenRunError):
    """A cluster that cannot be reached, has no workers, or lost them; the run is incomplete."""


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
        return f"worker {self.address if self.name == self.address else f'{self.name} ({self.address})'}"

    def has(self, wanted: Mapping[str, float]) -> bool:
        """Whether it has so much of certain resources."""
        return all(self.resources.get(name, 0) >= amount for name, amount in wanted.items())


@dataclass(frozen=True)
class Order:
    """What a run asks of every worker.

    Attributes:
        run: a name of its own, so that no run gets a backend that was loaded for another.
        setup: what cases are judged by.
        suite_version: of this package, where it was asked.
        claims: what each backend has to claim; empty where that is what is asked.
    """

    run: str
    setup: JudgeSetup
    suite_version: str
    claims: tuple[Capabilities, ...] = ()


class Cluster(Executor):
    """The workers of a Dask scheduler, which judge as the processes of one machine do.

    Args:
        setup: what they need; a backend's file must be at the same place on every worker.
        address: of the scheduler, as Dask takes it: `tcp://host:8786`, or `tls://`, for which Dask's own configuration
            has the certificates.
        resources: what a worker must have been started with to be asked, and how much of it each task takes.
        patience: seconds to wait for a worker where there is none.
        tell: hears of it.

    Raises:
        BackendError: a worker cannot have a backend.
        ClusterError: Dask is not installed, the address is none, no worker has the resources, or the workers are not
            alike.
        ClusterLost: the scheduler cannot be reached, or no worker has come.
    """

    def __init__(
        self,
        setup: JudgeSetup,
        address: str,
        resources: Mapping[str, float] | None = None,
        *,
        patience: float = PATIENCE,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(setup.backends)
        self.address = address
        self._resources = dict(resources or {})
        self._patience = patience
        self._numbers = itertools.count()
        self._order = Order(uuid.uuid4().hex, setup, suite_version())
        self._client = _connected(address)
        try:
            self._members = self._found(tell)
            self._looked = self._seen = time.monotonic()
            self.environment = environment_of(self._environments())
            self._claims = self._claimed()
        except BaseException:
            self.close()
            raise
        self._order = replace(self._order, claims=tuple(self._claims))

    def capabilities(self) -> list[Capabilities]:
        """What each backend claims, the same on every worker."""
        return self._claims

    def close(self) -> None:
        """Have the workers let go of what they have loaded, and leave them."""
        with suppress(Exception):  # whatever is lost by now is no loss any more
            if self._client.status == "running":
                self._client.run(leave, self._order.run, on_error="ignore")
        self._client.close()

    @property
    def most_open(self) -> int:
        """As `Executor` has it, by the workers that there are now or were a moment ago."""
        self.check()
        return TASKS_AHEAD * max(1, len(self._members))

    def check(self) -> None:
        """Look which workers there are.

        Raises:
            ClusterLost: the scheduler is gone, or all workers are.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._members = [member for member in self._present() if member.has(self._resources)]
        self._looked = time.monotonic()
        if self._members:
            self._seen = now
        elif now - self._seen > self._patience + LOOK_SECONDS:
            raise ClusterLost(f"no worker is left at {self.address}, so the run is incomplete")

    def submit(self, task: Work) -> futures.Future[WorkOutcome]:
        asked = self._client.submit(
            judge,
            pickle.dumps((self._order, task)),  # which Dask would look into
            key=f"dml-conformance-{self._order.run}-{next(self._numbers)}",
            resources=self._resources or None,
            pure=False,
        )
        outcome: futures.Future[WorkOutcome] = futures.Future()

        def pass_on(_: DaskFuture[WorkOutcome]) -> None:
            if outcome.set_running_or_notify_cancel():
                settle(outcome, lambda: self._outcome(asked))

        asked.add_done_callback(pass_on)
        outcome.add_done_callback(lambda _: self._let_go(asked))
        return outcome

    def _outcome(self, asked: DaskFuture[WorkOutcome]) -> WorkOutcome:
        from distributed import KilledWorker

        try:
            return asked.result()
        except KilledWorker as error:
            lost = ProcessLost(in_one_line(error), LossCause.CONNECTION)
            lost.how = "lost again and again"
            raise lost from error
        except (OSError, *CANCELLED) as error:
            raise self._scheduler_lost(error) from error

    def _let_go(self, asked: DaskFuture[WorkOutcome]) -> None:
        with suppress(Exception):  # the scheduler may be gone, which is told already
            if self._client.status == "running":
                asked.cancel(force=True)

    # Who takes part.

    def _found(self, tell: Callable[[str], None]) -> list[ClusterMember]:
        """The workers that have the resources; waits for one if there is none at all."""
        if not (there := self._present()):
            tell(f"There is no worker at {self.address}; waiting up to {self._patience:g} s for one")
            try:
                self._client.wait_for_workers(1, self._patience)
            except TimeoutError:
                raise ClusterLost(
                    f"no worker has come to {self.address} within {self._patience:g} s; "
                    f"start one with: dask worker {self.address}"
                ) from None
            there = self._present()
        members = [member for member in there if member.has(self._resources)]
        if not members:
            wanted = " ".join(f"{name}={amount:g}" for name, amount in self._resources.items())
            raise ClusterError(
                f"no worker at {self.address} was started with --resources {wanted!r}; "
                f"there {'is' if len(there) == 1 else 'are'} {_named(there)}"
            )
        return members

    def _present(self) -> list[ClusterMember]:
        """All workers at this moment, in the order of their names."""
        workers = self._ask_scheduler(lambda: self._client.scheduler_info(n_workers=-1)["workers"])
        there = [ClusterMember(address, str(about["name"]), about["resources"]) for address, about in workers.items()]
        return sorted(there, key=lambda member: (member.name, member.address))

    def _environments(self) -> list[dict[str, str]]:
        """Those of the workers, all of which have this release."""
        found = []
        for member, answer in self._ask_members(introduce):
            if isinstance(answer, Exception):
                needed = f"no dml-conformance {suite_version()} that works"
                raise ClusterError(f"{member} has {needed}: {in_one_line(answer)}")
            release, own = answer
            if release != suite_version():
                raise ClusterError(f"{member} has dml-conformance {release}; expected {suite_version()}, which this is")
            found.append(own)
        return found

    def _claimed(self) -> list[Capabilities]:
        """What the backends claim on all workers."""
        found: list[tuple[ClusterMember, list[Capabilities]]] = []
        for member, claims in self._ask_members(load, self._order):
            if isinstance(claims, Exception):
                raise told_by(member, claims)
            found.append((member, claims))
            first, expected = found[0]
            if difference := first_difference(expected, claims):
                raise ClusterError(f"{member} is not like {first}: {difference}")
        return found[0][1]

    def _ask_members(self, question: Callable[..., Any], *arguments: object) -> list[tuple[ClusterMember, Any]]:
        """What each worker answers, or what it raises.

        One that dies meanwhile is left out: when it comes again, it is held to what the others say.
        """
        addresses = [member.address for member in self._members]
        answers = self._ask_scheduler(
            lambda: self._client.run(question, *arguments, workers=addresses, on_error="return")
        )
        pairs = [(member, answers[member.address]) for member in self._members]
        found = [(member, answer) for member, answer in pairs if not isinstance(answer, OSError)]
        if not found:
            member, answer = pairs[0]
            raise ClusterLost(f"all workers were lost at the start; the first of them, {member}: {in_one_line(answer)}")
        return found

    def _ask_scheduler(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (OSError, *CANCELLED) as error:
            raise self._scheduler_lost(error) from error

    def _scheduler_lost(self, error: BaseException) -> ClusterLost:
        return ClusterLost(f"the scheduler at {self.address} is gone, so the run is incomplete: {in_one_line(error)}")


def in_one_line(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _named(members: Sequence[ClusterMember]) -> str:
    """Workers and what they were started with."""
    shown = [
        f"{str(member).removeprefix('worker ')} with "
        f"{', '.join(f'{name}={amount:g}' for name, amount in member.resources.items()) or 'none'}"
        for member in members[:MOST_NAMED]
    ]
    more = len(members) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _connected(address: str) -> Client:
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
    try:
        # Asked first, as a Client that fails on this leaves more behind than an exception; in a thread of its own, as
        # this one may have a loop that runs, as in a notebook.
        with futures.ThreadPoolExecutor(1) as thread:
            kind = thread.submit(lambda: asyncio.run(_kind(address, timeout))).result()
        if kind != "Scheduler":
            raise ClusterError(f"what answers at {address} is no scheduler but a {kind}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # versions are asked for where they matter
            return Client(address, timeout=timeout, set_as_default=False, name="dml-conformance")
    except OSError as error:
        raise ClusterLost(f"no scheduler answers at {address} within {timeout:g} s") from error
    except ClusterError:
        raise
    except (ValueError, TypeError, RuntimeError) as error:  # Dask's, for each kind of address another one
        raise ClusterError(
            f"--scheduler {address}: expected an address that Dask takes, such as tcp://host:8786: {in_one_line(error)}"
        ) from error


async def _kind(address: str, timeout: float) -> str:
    """What answers at an address: `Scheduler`, `Worker`, `Nanny`."""
    from distributed import Security, rpc

    arguments = Security().get_connection_args("client")
    async with rpc(address, timeout=timeout, connection_args=arguments) as there:
        return str((await asyncio.wait_for(there.identity(), timeout))["type"])


# Whether workers are alike, as results of unlike ones would be no results of one backend.


def first_difference(expected: Sequence[Capabilities], found: Sequence[Capabilities]) -> str:
    """Where what backends claim differs from what the same backends claim elsewhere, in words; "" where nowhere."""
    for one, other in zip(expected, found, strict=True):
        wanted, there = one.as_json(), other.as_json()
        for name in wanted:
            if wanted[name] != there[name]:
                return f"{one.name}: {name}: expected {_part(wanted[name], there[name])}"
    return ""


def _part(wanted: Any, there: Any) -> str:
    """The part of two values that differs: entries of a mapping, or what only one of two lists has."""
    if isinstance(wanted, Mapping):
        keys = [key for key in sorted({*wanted, *there}) if wanted.get(key) != there.get(key)]
        one, other = (
            ", ".join(f"{key} {values[key]}" if key in values else f"no {key}" for key in keys)
            for values in (wanted, there)
        )
        return f"{one}, found {other}"
    if isinstance(wanted, list):
        missing = ", ".join(map(str, (item for item in wanted if item not in there))) or "nothing else"
        more = ", ".join(map(str, (item for item in there if item not in wanted))) or "nothing else"
        return f"{missing}, found {more}"
    return f"{wanted!r}, found {there!r}"


def environment_of(workers: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What a certificate has to tell of the workers: where their environment is not that of this process.

    How many workers there are is no part of it, so that it is the same for any number of like ones.
    """
    found = {}
    for what, own in environment().items():
        there = {each.get(what, "unknown") for each in workers}
        if there - {own}:
            found[f"{what} of workers"] = ", ".join(sorted(there))
    return found


# What Dask's workers run.


def introduce() -> tuple[str, dict[str, str]]:
    """The release that is installed here, and the environment as a certificate has it."""
    return suite_version(), environment()


async def load(order: Order) -> list[Capabilities]:
    """What the backends of a run claim here. Loading takes long, and the loop that this runs in is what the scheduler
    hears from."""
    return await asyncio.to_thread(lambda: _loaded(order).claims)


def judge(content: bytes) -> WorkOutcome:
    """Judge a task as ordered; both are pickled, the order with the claims that are expected.

    Raises:
        CorpusError: a line is not as it was written.
        BackendError, ClusterError, WorkerError, ClusterLost: it cannot be judged here, and the message says where.
    """
    from distributed import get_worker

    order, task = pickle.loads(content)  # noqa: S301 - whoever reaches the scheduler can run anything here
    try:
        return _loaded(order).judge(task)
    except CorpusError:
        raise
    except Exception as error:
        here = get_worker()
        raise told_by(ClusterMember(here.address, str(here.name), {}), error) from None


async def leave(run: str) -> None:
    """Let go of all that was loaded for a run, when the task that is being judged is through."""
    with _lock:
        loaded = _runs.pop(run, None)
    if loaded is not None:
        await asyncio.to_thread(loaded.close)


def told_by(member: ClusterMember, error: Exception) -> Exception:
    """What a worker raised, as it is told here."""
    if isinstance(error, ClusterError):
        return ClusterError(f"{member} has come, and is not like the others: {error}")
    if isinstance(error, BackendError | WorkerError):
        return type(error)(f"{member}: {error}")
    return ClusterLost(f"{member}: {type(error).__name__}: {in_one_line(error)}")


class LoadedRun:
    """What is loaded for a run. It judges one task at a time, as Python does not use more than one core; where no more
    comes for long, the backends' processes end, and start again if it does.

    Args:
        order: of the run.

    Attributes:
        claims: of the backends here.

    Raises:
        BackendError: a backend cannot be had.
        ClusterError: this worker is not like those that the run has begun with.
    """

    def __init__(self, order: Order) -> None:
        if order.suite_version != suite_version():
            raise ClusterError(f"expected dml-conformance {order.suite_version}, found {suite_version()}")
        self._judges = order.setup.judges()
        self._executor = InProcess(self._judges, one_by_one=order.setup.one_by_one)
        self.claims = self._executor.capabilities()
        self._lock = threading.Lock()
        self._idle = self._waiting()
        if order.claims and (difference := first_difference(order.claims, self.claims)):
            self.close()
            raise ClusterError(difference)

    def judge(self, task: Work) -> WorkOutcome:
        """What comes of a task; raises CorpusError."""
        with self._lock:
            self._idle.cancel()
            try:
                return self._executor.judge(task)
            finally:
                self._idle = self._waiting()

    def close(self) -> None:
        """End the backends' processes."""
        with self._lock:
            self._idle.cancel()
            for each in self._judges:
                if isinstance(each.backend, IsolatedBackend):
                    each.backend.close()

    def _waiting(self) -> threading.Timer:
        timer = threading.Timer(IDLE_SECONDS, self.close)
        timer.daemon = True
        timer.start()
        return timer


_lock = threading.Lock()
_runs: dict[str, LoadedRun] = {}  # in this process


def _loaded(order: Order) -> LoadedRun:
    """That of a run, which is loaded if it is not; raises as `LoadedRun`."""
    with _lock:
        if order.run not in _runs:
            _runs[order.run] = LoadedRun(order)
        return _runs[order.run]
