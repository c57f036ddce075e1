"""The process that reads and writes, as a client of a Dask scheduler: tasks go to its workers, outcomes come back.

What a lost worker was at, Dask has judged by another one. Which worker judges what makes no difference, so neither does
their number, nor how many of them are lost on the way.
"""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.workers.cluster import tasks
from dml_conformance.conformance.workers.cluster.identity import (
    Order,
    WorkerIdentity,
    decode_identity,
    environment_of,
    first_difference,
)
from dml_conformance.conformance.workers.cluster.scheduler import (
    ClusterError,
    ClusterLost,
    ClusterMember,
    connected,
    in_one_line,
    named,
)
from dml_conformance.conformance.workers.executor import Executor
from dml_conformance.conformance.workers.messages import (
    Reply,
    TaskOutcome,
    WorkerClaims,
    WorkerFault,
    decode_reply,
    encode,
    packed,
)
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import CaseBlock, Task
from dml_conformance.reports.model.encoded import decode_records
from dml_conformance.reports.model.release import suite_version

if TYPE_CHECKING:
    from distributed import Future

TASKS_AHEAD = 4  # for each worker, so that none waits for the one that reads and writes
PATIENCE = 60.0  # seconds to wait for a worker where there is none
LOOK_SECONDS = 5.0  # between two looks at which workers there are
CANCELLED = (asyncio.CancelledError, futures.CancelledError)  # one of which is Dask's, by its version

_T = TypeVar("_T")


class Cluster(Executor):
    """The workers of a Dask scheduler, which judge as the processes of one machine do.

    Args:
        setup: what they need; a backend's file must be at the same place on every worker.
        address: of the scheduler, as Dask takes it: `tcp://host:8786`, or `tls://`, for which Dask's own configuration
            has the certificates.
        resources: what a worker must have been started with to be asked, and how much of it each task takes.
        patience: seconds to wait for a worker where there is none.
        tell: hears of it.

    Attributes:
        environment: of the workers, where it is not that of this process; for the certificate.

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
        self._client = connected(address)
        try:
            self._members = self._found(tell)
            self._looked = self._seen = time.monotonic()
            identities = self._identities()
            self._claims = self._claimed(identities)
        except BaseException:
            self.close()
            raise
        self.environment = environment_of([identity for _, identity in identities])
        self._order = msgspec.structs.replace(self._order, claims=tuple(self._claims))

    def capabilities(self) -> list[Capabilities]:
        """What each backend claims, the same on every worker."""
        return self._claims

    def close(self) -> None:
        """Have the workers let go of what they have loaded, and leave them."""
        with suppress(Exception):  # whatever is lost by now is no loss any more
            if self._client.status == "running":
                self._client.run(tasks.leave, self._order.run, on_error="ignore")
        self._client.close()

    # --- who takes part ---

    def _found(self, tell: Callable[[str], None]) -> list[ClusterMember]:
        """The workers that have the resources; waits for one if there is none at all."""
        deadline = time.monotonic() + self._patience
        is_told = False
        while not (there := self._present()):
            if time.monotonic() > deadline:
                raise ClusterLost(
                    f"no worker has come to {self.address} within {self._patience:g} s; "
                    f"start one with: dask worker {self.address}"
                )
            if not is_told:
                tell(f"There is no worker at {self.address}; waiting up to {self._patience:g} s for one")
                is_told = True
            time.sleep(min(0.2, self._patience))
        members = [member for member in there if member.has(self._resources)]
        if not members:
            wanted = " ".join(f"{name}={amount:g}" for name, amount in self._resources.items())
            raise ClusterError(
                f"no worker at {self.address} was started with --resources {wanted!r}; "
                f"there {'is' if len(there) == 1 else 'are'} {named(there)}"
            )
        return members

    def _present(self) -> list[ClusterMember]:
        """All workers at this moment, in the order of their names."""
        workers = self._ask_scheduler(lambda: self._client.scheduler_info(n_workers=-1)["workers"])
        there = [ClusterMember(address, str(about["name"]), about["resources"]) for address, about in workers.items()]
        return sorted(there, key=lambda member: (member.name, member.address))

    def _identities(self) -> list[tuple[ClusterMember, WorkerIdentity]]:
        """What the workers say of themselves.

        A worker that dies meanwhile is left out: when it comes again, it is held to what the others say.
        """
        addresses, order = [member.address for member in self._members], encode(self._order)
        answers = self._ask_scheduler(
            lambda: self._client.run(tasks.introduce, order, workers=addresses, on_error="return")
        )
        found = []
        for member in self._members:
            answer = answers[member.address]
            if isinstance(answer, OSError):
                continue
            if isinstance(answer, Exception):
                needed = f"no dml-conformance {suite_version()} that works"
                raise ClusterError(f"worker {member} has {needed}: {in_one_line(answer)}")
            identity = _decoded(decode_identity, answer, f"worker {member}")
            if identity.suite_version != suite_version():
                raise ClusterError(
                    f"worker {member} has dml-conformance {identity.suite_version}; expected {suite_version()}, "
                    "which this is"
                )
            found.append((member, identity))
        if not found:
            member = self._members[0]
            first = in_one_line(answers[member.address])
            raise ClusterLost(f"all workers were lost at the start; the first of them, {member}: {first}")
        return found

    def _claimed(self, identities: Sequence[tuple[ClusterMember, WorkerIdentity]]) -> list[Capabilities]:
        """What the backends claim on all workers."""
        found: list[tuple[ClusterMember, list[Capabilities]]] = []
        for member, identity in identities:
            if not isinstance(identity.claims, WorkerClaims):
                raise _error(identity.claims, f"worker {member}")
            claims = list(identity.claims.capabilities)
            found.append((member, claims))
            first, expected = found[0]
            if difference := first_difference(expected, claims):
                raise ClusterError(f"worker {member} is not like worker {first}: {difference}")
        return found[0][1]

    def _ask_scheduler(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (OSError, *CANCELLED) as error:
            raise self._scheduler_lost(error) from error

    def _scheduler_lost(self, error: BaseException) -> ClusterLost:
        return ClusterLost(f"the scheduler at {self.address} is gone, so the run is incomplete: {in_one_line(error)}")

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

    # --- tasks ---

    def submit(self, task: Task) -> futures.Future[TaskOutcome]:
        content = packed(task)
        asked = self._client.submit(
            tasks.judge,
            encode(self._order),
            content,
            key=f"dml-conformance-{self._order.run}-{next(self._numbers)}",
            resources=self._resources or None,
            pure=False,
        )
        outcome: futures.Future[TaskOutcome] = futures.Future()
        expected = task.size if isinstance(task, CaseBlock) else None
        asked.add_done_callback(partial(self._pass_on, outcome, expected))
        outcome.add_done_callback(lambda _: self._let_go(asked))
        return outcome

    def _pass_on(self, outcome: futures.Future[TaskOutcome], expected: int | None, asked: Future[bytes]) -> None:
        """Have a task's outcome be what Dask gives."""
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            outcome.set_result(self._outcome(asked, expected))
        except BaseException as error:
            outcome.set_exception(error)

    def _outcome(self, asked: Future[bytes], expected: int | None) -> TaskOutcome:
        """What came of a task that has so many cases, if that is known."""
        from distributed import KilledWorker

        try:
            reply = _decoded(decode_reply, asked.result(), "a worker")
        except KilledWorker as error:
            lost = ProcessLost(in_one_line(error), LossCause.CONNECTION)
            lost.how = "lost again and again"
            raise lost from error
        except (OSError, *CANCELLED) as error:
            raise self._scheduler_lost(error) from error
        if not isinstance(reply, TaskOutcome):
            raise _error(reply, self._whose(asked))
        counts = [len(_decoded(decode_records, judged.records, "a worker")) for judged in reply.backends]
        if len(counts) != len(self.backends):
            raise _error(reply, self._whose(asked))
        is_whole = not any(judged.given_up for judged in reply.backends)
        if expected is not None and is_whole and set(counts) != {expected}:
            raise _error(reply, self._whose(asked))
        return reply

    def _whose(self, asked: Future[bytes]) -> str:
        """Which worker a task's outcome is from, in words."""
        places = self._ask_scheduler(lambda: self._client.who_has([asked]))
        addresses = {address for held in places.values() for address in held}
        there = [f"worker {member}" for member in self._present() if member.address in addresses]
        return there[0] if there else "a worker that is gone"

    def _let_go(self, asked: Future[bytes]) -> None:
        with suppress(Exception):  # the scheduler may be gone, which is told already
            if self._client.status == "running":
                asked.cancel(force=True)


def _decoded(decode: Callable[[bytes], _T], answer: object, whose: str) -> _T:
    """What a worker said; raises ClusterLost where it makes no sense."""
    if not isinstance(answer, bytes):
        raise ClusterLost(f"{whose} gave {type(answer).__name__}, expected bytes")
    try:
        return decode(answer)
    except msgspec.MsgspecError as error:
        raise ClusterLost(f"{whose} gave an answer that is none: {error}") from error


def _error(reply: Reply, whose: str) -> Exception:
    """The exception that an answer stands for."""
    if not isinstance(reply, WorkerFault):
        return ClusterLost(f"{whose} gave another answer than was asked for")
    if reply.kind == CorpusError.__name__:
        return CorpusError(reply.text)
    if reply.kind == BackendError.__name__:
        return BackendError(f"{whose}: {reply.text}")
    if reply.kind == ClusterError.__name__:
        return ClusterError(f"{whose} has come, and is not like the others: {reply.text}")
    if reply.kind == WorkerError.__name__:
        return WorkerError(f"{whose}: {reply.text}")
    return ClusterLost(f"{whose}: {reply.kind}: {reply.text}")
