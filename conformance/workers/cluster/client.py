"""The process that reads and writes, as a client of a Dask scheduler: blocks go to its workers, records come back in
order.

What a lost worker was at, Dask has judged by another one. Which worker judges what makes no difference, so neither does
their number, nor how many of them are lost on the way.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.conformance.campaign.sweep import Block, Setup, WorkerError
from dml_conformance.conformance.exchange.corpus import CorpusError
from dml_conformance.conformance.workers.block_executor import Elsewhere
from dml_conformance.conformance.workers.cluster import worker
from dml_conformance.conformance.workers.cluster.connection import connected
from dml_conformance.conformance.workers.cluster.errors import ClusterError, ClusterLost, told
from dml_conformance.conformance.workers.cluster.identity import environment_of, first_difference
from dml_conformance.conformance.workers.cluster.members import Member, named
from dml_conformance.conformance.workers.cluster.messages import (
    Introduction,
    Order,
    decode_introduction,
    decode_losses,
    encode,
)
from dml_conformance.conformance.workers.messages import Failed, Judged, Loaded, Losses, Reply, decode_reply
from dml_conformance.reports.encoded import EncodedRecord, decode_records
from dml_conformance.reports.release import suite_version

if TYPE_CHECKING:
    from distributed import Future

BLOCKS_AHEAD = 3  # for each block that can be judged at once, so that no worker waits for the one that reads and writes
PATIENCE = 60.0  # seconds to wait for a worker where there is none
LOOK_SECONDS = 5.0  # between two looks at which workers there are
MOST_KILLED = 3  # times that Dask may give up a block since its workers died
CANCELLED = (asyncio.CancelledError, futures.CancelledError)  # one of which is Dask's, by its version

_T = TypeVar("_T")


class _Task(NamedTuple):
    """A block that is being judged, and how often it had to be given to the cluster anew."""

    block: Block
    future: Future[bytes]
    killed: int = 0


class Cluster(Elsewhere):
    """The workers of a Dask scheduler, which judge blocks as those of `conformance.workers` do.

    Args:
        setup: what they need; a backend's file must be at the same place on every worker.
        address: of the scheduler, as Dask takes it: `tcp://host:8786`, or `tls://`, for which Dask's own configuration
            has the certificates.
        resources: what a worker must have been started with to be asked, and how much of it each block takes.
        patience: seconds to wait for a worker where there is none.
        tell: hears of it.

    Attributes:
        environment: of the workers, where it is not that of this process; for the certificate.
        losses: of processes that judged, by how they ended; known after `close`.
        given_up: why not all blocks were judged; "" if they were.

    Raises:
        BackendError: a worker cannot have a backend.
        ClusterError: Dask is not installed, the address is none, no worker has the resources, or the workers are not
            alike.
        ClusterLost: the scheduler cannot be reached, or no worker has come.
    """

    def __init__(
        self,
        setup: Setup,
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
        self._numbers = count()
        self.losses: Counter[str] = Counter()
        self._order = Order(uuid.uuid4().hex, setup, suite_version())
        self._client = connected(address)
        try:
            self._members = self._found(tell)
            self._looked = time.monotonic()
            introductions = self._introductions()
            self._claims = self._claimed()
        except BaseException:
            self.close()
            raise
        self.environment = environment_of(introductions)
        self._order = msgspec.structs.replace(self._order, claims=tuple(self._claims))

    def capabilities(self) -> list[Capabilities]:
        """What each backend claims, the same on every worker."""
        return self._claims

    def written(self, blocks: Iterable[Block]) -> Iterator[list[list[EncodedRecord]]]:
        """For each backend the records of each block, in order; a few blocks are taken ahead for each worker.

        It ends early, and `given_up` says why, where a backend took down too many processes of its own.

        Raises:
            BackendError: a backend cannot be had on a worker.
            ClusterError: a worker has come that is not like the others.
            ClusterLost: the scheduler is gone, or all workers are.
            CorpusError: a line is not as it was written.
            WorkerError: processes were lost over the same block again and again.
        """
        self.given_up = ""
        losses = [Losses()] * len(self._setup.backends)
        under_way: deque[_Task] = deque()
        blocks = iter(blocks)
        try:
            while True:
                while len(under_way) <= self._most_under_way() and (block := next(blocks, None)) is not None:
                    under_way.append(self._submitted(block))
                if not under_way:
                    return
                judged, records = self._judged(under_way)
                yield records
                if self._gives_up(losses, judged):
                    return
        finally:
            self._let_go(under_way)

    def close(self) -> None:
        """Have the workers let go of what they have loaded, and leave them."""
        with suppress(Exception):  # whatever is lost by now is no loss any more
            if self._client.status == "running":
                answers = self._client.run(worker.leave, self._order.run, on_error="ignore")
                for answer in answers.values():
                    self.losses.update(decode_losses(answer))
        self._client.close()

    # --- who takes part ---

    def _found(self, tell: Callable[[str], None]) -> list[Member]:
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

    def _present(self) -> list[Member]:
        """All workers at this moment, in the order of their names."""
        workers = self._ask_scheduler(lambda: self._client.scheduler_info(n_workers=-1)["workers"])
        there = [
            Member(address, str(about["name"]), about["resources"], about["nthreads"])
            for address, about in workers.items()
        ]
        return sorted(there, key=lambda member: (member.name, member.address))

    def _introductions(self) -> list[Introduction]:
        """What the workers say of themselves."""
        found = []
        for member, answer in self._answers(worker.introduce):
            if isinstance(answer, Exception):
                needed = f"no dml-conformance {suite_version()} that works"
                raise ClusterError(f"worker {member} has {needed}: {told(answer)}")
            introduction = _decoded(decode_introduction, answer, f"worker {member}")
            if introduction.suite_version != suite_version():
                raise ClusterError(
                    f"worker {member} has dml-conformance {introduction.suite_version}; expected {suite_version()}, "
                    "which this is"
                )
            found.append(introduction)
        return found

    def _claimed(self) -> list[Capabilities]:
        """What the backends claim on all workers."""
        first: tuple[Member, list[Capabilities]] | None = None
        for member, answer in self._answers(worker.claims, encode(self._order)):
            reply = _decoded(decode_reply, answer, f"worker {member}")
            if not isinstance(reply, Loaded) or len(reply.capabilities) != len(self._setup.backends):
                raise _error(reply, f"worker {member}")
            claims = list(reply.capabilities)
            if first is None:
                first = member, claims
            elif difference := first_difference(first[1], claims):
                raise ClusterError(f"worker {member} is not like worker {first[0]}: {difference}")
        assert first is not None
        return first[1]

    def _answers(self, function: Callable[..., Any], *arguments: Any) -> list[tuple[Member, Any]]:
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
            raise ClusterLost(f"all workers were lost at the start; the first of them, {member}: {told(error)}")
        return answers

    def _ask_scheduler(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (OSError, *CANCELLED) as error:
            raise self._scheduler_lost(error) from error

    def _scheduler_lost(self, error: BaseException) -> ClusterLost:
        return ClusterLost(f"the scheduler at {self.address} is gone, so the run is incomplete: {told(error)}")

    def _most_under_way(self) -> int:
        """Blocks to have taken ahead, by the workers that there are now or were a moment ago."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        return BLOCKS_AHEAD * max(1, sum(member.slots(self._resources) for member in self._members))

    def _look(self) -> None:
        self._members = [member for member in self._present() if member.slots(self._resources)]
        self._looked = time.monotonic()

    # --- blocks ---

    def _submitted(self, block: Block, killed: int = 0) -> _Task:
        future = self._client.submit(
            worker.judge,
            encode(self._order),
            encode(block),
            carefully=killed > 0,
            key=f"dml-conformance-{self._order.run}-{next(self._numbers)}",
            resources=self._resources or None,
            pure=False,
        )
        return _Task(block, future, killed)

    def _judged(self, under_way: deque[_Task]) -> tuple[Judged, list[list[EncodedRecord]]]:
        """The outcome of the first block, and its records."""
        from distributed import KilledWorker

        while True:
            task = under_way.popleft()
            try:
                content = self._content(task.future)
            except KilledWorker as error:
                # The workers that died may have died of another block, or of something else altogether.
                if task.killed + 1 >= MOST_KILLED:
                    raise WorkerError(_about_killed(task.block, error)) from error
                under_way.appendleft(self._submitted(task.block, task.killed + 1))
                continue
            reply = _decoded(decode_reply, content, "a worker")
            if not isinstance(reply, Judged):
                raise _error(reply, self._whose(task.future))
            records = [_decoded(decode_records, each, "a worker") for each in reply.records]
            expected = [len(task.block.numbers)] * len(self._setup.backends)
            if not reply.given_up and [len(each) for each in records] != expected:
                raise _error(reply, self._whose(task.future))
            task.future.release()
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

    def _let_go(self, tasks: Iterable[_Task]) -> None:
        """Nobody waits for these any more."""
        unwanted = [task.future for task in tasks]
        if unwanted and self._client.status == "running":
            with suppress(Exception):  # the scheduler may be gone, which is told already
                self._client.cancel(unwanted, force=True)


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
    if not isinstance(reply, Failed):
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


def _about_killed(block: Block, error: Exception) -> str:
    first, last = block.numbers[0], block.numbers[-1]
    return f"{block.file}: lines {first} to {last}: workers die of it again and again: {told(error)}"
