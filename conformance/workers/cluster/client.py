"""The process that reads and writes, as a client of a Dask scheduler: blocks go to its workers, records come back in
order.

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
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.workers.cluster import tasks
from dml_conformance.conformance.workers.cluster.identity import (
    Order,
    WorkerIdentity,
    decode_identity,
    decode_losses,
    encode,
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
from dml_conformance.conformance.workers.executor import RemoteExecutor
from dml_conformance.conformance.workers.messages import (
    Reply,
    TaskOutcome,
    WorkerClaims,
    WorkerFault,
    decode_reply,
    packed,
)
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import CaseBlock, Task
from dml_conformance.reports.encoded import EncodedRecord, decode_records
from dml_conformance.reports.release import suite_version

if TYPE_CHECKING:
    from distributed import Future

TASKS_AHEAD = 3  # for each block that can be judged at once, so that no worker waits for the one that reads and writes
PATIENCE = 60.0  # seconds to wait for a worker where there is none
LOOK_SECONDS = 5.0  # between two looks at which workers there are
MOST_KILLED = 3  # times that Dask may give up a block since its workers died
CANCELLED = (asyncio.CancelledError, futures.CancelledError)  # one of which is Dask's, by its version

_T = TypeVar("_T")


class Cluster(RemoteExecutor["Future[bytes]"]):
    """The workers of a Dask scheduler, which judge as the processes of one machine do.

    Args:
        setup: what they need; a backend's file must be at the same place on every worker.
        address: of the scheduler, as Dask takes it: `tcp://host:8786`, or `tls://`, for which Dask's own configuration
            has the certificates.
        resources: what a worker must have been started with to be asked, and how much of it each block takes.
        patience: seconds to wait for a worker where there is none.
        tell: hears of it.

    Attributes:
        environment: of the workers, where it is not that of this process; for the certificate.
        losses: known after `close`.

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
        super().__init__(setup)
        self.address = address
        self._resources = dict(resources or {})
        self._patience = patience
        self._numbers = itertools.count()
        self._order = Order(uuid.uuid4().hex, setup, suite_version())
        self._client = connected(address)
        try:
            self._members = self._found(tell)
            self._looked = time.monotonic()
            identities = self._identities()
            self._claims = self._claimed()
        except BaseException:
            self.close()
            raise
        self.environment = environment_of(identities)
        self._order = msgspec.structs.replace(self._order, claims=tuple(self._claims))

    def capabilities(self) -> list[Capabilities]:
        """What each backend claims, the same on every worker."""
        return self._claims

    def close(self) -> None:
        """Have the workers let go of what they have loaded, and leave them."""
        with suppress(Exception):  # whatever is lost by now is no loss any more
            if self._client.status == "running":
                answers = self._client.run(tasks.leave, self._order.run, on_error="ignore")
                for answer in answers.values():
                    self.losses.update(decode_losses(answer))
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
        members = [member for member in there if member.slots(self._resources)]
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
        there = [
            ClusterMember(address, str(about["name"]), about["resources"], about["nthreads"])
            for address, about in workers.items()
        ]
        return sorted(there, key=lambda member: (member.name, member.address))

    def _identities(self) -> list[WorkerIdentity]:
        """What the workers say of themselves."""
        found = []
        for member, answer in self._answers(tasks.introduce):
            if isinstance(answer, Exception):
                needed = f"no dml-conformance {suite_version()} that works"
                raise ClusterError(f"worker {member} has {needed}: {in_one_line(answer)}")
            identity = _decoded(decode_identity, answer, f"worker {member}")
            if identity.suite_version != suite_version():
                raise ClusterError(
                    f"worker {member} has dml-conformance {identity.suite_version}; expected {suite_version()}, "
                    "which this is"
                )
            found.append(identity)
        return found

    def _claimed(self) -> list[Capabilities]:
        """What the backends claim on all workers."""
        first: tuple[ClusterMember, list[Capabilities]] | None = None
        for member, answer in self._answers(tasks.claims, encode(self._order)):
            reply = _decoded(decode_reply, answer, f"worker {member}")
            if not isinstance(reply, WorkerClaims) or len(reply.capabilities) != len(self.setup.backends):
                raise _error(reply, f"worker {member}")
            claims = list(reply.capabilities)
            if first is None:
                first = member, claims
            elif difference := first_difference(first[1], claims):
                raise ClusterError(f"worker {member} is not like worker {first[0]}: {difference}")
        assert first is not None
        return first[1]

    def _answers(self, function: Callable[..., Any], *arguments: Any) -> list[tuple[ClusterMember, Any]]:
        """What a function gives on each worker, or raises there.

        A worker that dies meanwhile is left out: when it comes again, it is held to what the others say.
        """
        addresses = [member.address for member in self._members]
        found = self._ask_scheduler(
            lambda: self._client.run(function, *arguments, workers=addresses, on_error="return")
        )
        there = [(member, found[member.address]) for member in self._members]
        answers = [(member, answer) for member, answer in there if not isinstance(answer, OSError)]
        if not answers:
            member, error = there[0]
            raise ClusterLost(f"all workers were lost at the start; the first of them, {member}: {in_one_line(error)}")
        return answers

    def _ask_scheduler(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (OSError, *CANCELLED) as error:
            raise self._scheduler_lost(error) from error

    def _scheduler_lost(self, error: BaseException) -> ClusterLost:
        return ClusterLost(f"the scheduler at {self.address} is gone, so the run is incomplete: {in_one_line(error)}")

    def _most_under_way(self) -> int:
        """Blocks to have taken ahead, by the workers that there are now or were a moment ago."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        return TASKS_AHEAD * max(1, sum(member.slots(self._resources) for member in self._members))

    def _look(self) -> None:
        self._members = [member for member in self._present() if member.slots(self._resources)]
        self._looked = time.monotonic()

    # --- tasks ---

    def _submit(self, task: Task, *, quarantine: bool = False) -> Future[bytes]:
        return self._client.submit(
            tasks.judge,
            encode(self._order),
            packed(task),
            quarantine=quarantine,
            key=f"dml-conformance-{self._order.run}-{next(self._numbers)}",
            resources=self._resources or None,
            pure=False,
        )

    def _outcome(self, task: Task, pending: Future[bytes]) -> tuple[TaskOutcome, list[list[EncodedRecord]]]:
        """As `RemoteExecutor` has it.

        Raises:
            ClusterError: a worker has come that is not like the others.
            ClusterLost: the scheduler is gone, or all workers are.
        """
        from distributed import KilledWorker

        for killed in itertools.count(1):
            try:
                content = self._content(pending)
                break
            except KilledWorker as error:
                # The workers that died may have died of another task, or of something else altogether.
                if killed >= MOST_KILLED:
                    raise WorkerError(_about_killed(task, error)) from error
                pending = self._submit(task, quarantine=True)
        reply = _decoded(decode_reply, content, "a worker")
        if not isinstance(reply, TaskOutcome):
            raise _error(reply, self._whose(pending))
        records = [_decoded(decode_records, each, "a worker") for each in reply.records]
        expected = [task.size] * len(records) if isinstance(task, CaseBlock) and not reply.given_up else None
        if len(records) != len(self.setup.backends) or expected not in (None, [len(each) for each in records]):
            raise _error(reply, self._whose(pending))
        pending.release()
        return reply, records

    def _content(self, future: Future[bytes]) -> bytes:
        """What a task has given, when it has; waits as long as there are workers.

        Raises:
            ClusterLost: the scheduler is gone, or all workers are.
            KilledWorker: too many workers died that had the task.
        """
        deadline = None
        while True:
            try:
                return future.result(timeout=LOOK_SECONDS)
            except TimeoutError:
                pass
            except (OSError, *CANCELLED) as error:
                raise self._scheduler_lost(error) from error
            self._look()
            if self._members:
                deadline = None
            elif deadline is None:
                deadline = time.monotonic() + self._patience
            elif time.monotonic() > deadline:
                raise ClusterLost(f"no worker is left at {self.address}, so the run is incomplete")

    def _whose(self, future: Future[bytes]) -> str:
        """Which worker a task's outcome is from, in words."""
        places = self._ask_scheduler(lambda: self._client.who_has([future]))
        addresses = {address for held in places.values() for address in held}
        there = [f"worker {member}" for member in self._present() if member.address in addresses]
        return there[0] if there else "a worker that is gone"

    def _let_go(self, pending: Sequence[Future[bytes]]) -> None:
        if pending and self._client.status == "running":
            with suppress(Exception):  # the scheduler may be gone, which is told already
                self._client.cancel(pending, force=True)


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


def _about_killed(task: Task, error: Exception) -> str:
    lines = f": lines {task.numbers[0]} to {task.numbers[-1]}" if isinstance(task, CaseBlock) and task.numbers else ""
    return f"{task.name}{lines}: workers die of it again and again: {in_one_line(error)}"
