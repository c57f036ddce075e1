"""The process that judges tasks. Where many cases are judged at once, judge and backend are together in it: asking
across processes costs more than most cases do.

Nothing that a backend prints comes near the answers. What ends the process is found by the one that watches it.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from functools import cache
from queue import SimpleQueue

from dml_conformance.backends.base import Backend
from dml_conformance.backends.foreign_text import encodable
from dml_conformance.backends.loading import BackendError, devices_of
from dml_conformance.backends.processes.arena import SMALLEST, ArenaView
from dml_conformance.backends.processes.child_process import take_pipes
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.framing import Receiver, send
from dml_conformance.backends.processes.losses import Loss
from dml_conformance.backends.processes.server import settle
from dml_conformance.conformance.judge.losses import tally_of
from dml_conformance.conformance.workers.heartbeat import LOADING, BackendWithHeartbeat, Heartbeat
from dml_conformance.conformance.workers.messages import (
    Assignment,
    Devices,
    FindDevices,
    Reply,
    Request,
    TaskOutcome,
    WorkerClaims,
    WorkerFault,
    decode_request,
    encode,
    unpacked,
)
from dml_conformance.conformance.workers.quarantine import judge_in_quarantine
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import CaseBlock, Task, TaskJudge
from dml_conformance.reports.encoded import encode_records

LAST_SECONDS = 5.0  # that an idle process may take to end


def main(place: str) -> None:
    """Answer requests from standard input on standard output until there are no more.

    Args:
        place: of the memory that is shared with the process that watches this one.
    """
    requests, replies = take_pipes()
    settle()
    queue: SimpleQueue[Request | None] = SimpleQueue()
    server = JudgeServer(Heartbeat(ArenaView(place).memory(SMALLEST)))
    threading.Thread(target=_take_requests, args=(requests, queue, server), daemon=True).start()
    while (request := queue.get()) is not None:
        server.is_busy = True
        try:
            reply = server.reply(request)
        except Exception as error:
            reply = fault(error)
        if reply is not None:
            send(replies, encode(reply))
        server.is_busy = False


def fault(error: Exception) -> WorkerFault:
    """An exception as it is answered."""
    return WorkerFault(type(error).__name__, encodable(" ".join(str(error).split())))


def _take_requests(file: int, queue: SimpleQueue[Request | None], server: JudgeServer) -> None:
    """Pass on requests; at their end an idle process ends by itself, one that is busy at once."""
    receiver = Receiver(file, in_turn=False)
    while (received := receiver.receive()) is not None:
        queue.put(decode_request(received[1]))
    if not server.is_busy:
        queue.put(None)
        time.sleep(LAST_SECONDS)
    os._exit(1)


class JudgeServer:
    """Answers requests.

    Args:
        heartbeat: where calls of backends are seen.

    Attributes:
        is_busy: whether a request is being answered.
    """

    def __init__(self, heartbeat: Heartbeat) -> None:
        self.is_busy = False
        self._heartbeat = heartbeat
        self._setup = JudgeSetup(())
        self._backend = cache(self._load)
        self._judge = cache(self._make_judge)

    def reply(self, request: Request) -> Reply | None:
        """Do as asked; None where there is nothing to say.

        Raises:
            BackendError: a backend cannot be had.
            CorpusError: a line is not as it was written.
        """
        if isinstance(request, Assignment):
            return self._outcome(request)
        if isinstance(request, FindDevices):
            return Devices(tuple(devices_of(name) for name in request.backends))
        self._setup = request.setup
        if not request.loads:
            return None
        claims = WorkerClaims(tuple(self._backend(n).capabilities() for n in range(len(self._setup.backends))))
        gc.freeze()  # what is loaded stays, so no collection has to look at it
        return claims

    def _load(self, number: int) -> Backend:
        if self._setup.isolated:  # its own process is watched, and not by way of this one
            return self._setup.load(number)
        self._heartbeat.enter(LOADING + number + 1)
        try:
            backend = self._setup.load(number)
        except BackendError:
            self._heartbeat.leave()
            raise
        self._heartbeat.leave()
        return BackendWithHeartbeat(backend, self._heartbeat, number)

    def _make_judge(self, number: int) -> TaskJudge:
        return TaskJudge(self._setup.judge(number, self._backend(number)), one_by_one=self._setup.one_by_one)

    def _outcome(self, assignment: Assignment) -> TaskOutcome:
        task = unpacked(assignment.task).read()
        outcomes = [self._outcome_on(number, task, assignment) for number in range(len(self._setup.backends))]
        return TaskOutcome(
            tuple(records for outcome in outcomes for records in outcome.records),
            tuple(count for outcome in outcomes for count in outcome.losses),
            next((outcome.given_up for outcome in outcomes if outcome.given_up), ""),
            tuple(loss for outcome in outcomes for loss in outcome.unrecorded),
        )

    def _outcome_on(self, number: int, task: Task, assignment: Assignment) -> TaskOutcome:
        """What comes of a task on one backend."""
        if number in assignment.quarantined:
            assert isinstance(task, CaseBlock)
            return judge_in_quarantine(self._setup, number, task.cases, assignment.suspicions)
        judge = self._judge(number)
        backend = judge.judge.backend
        before = tally_of(backend)
        records = []
        given_up, unrecorded = "", tuple[Loss, ...]()
        try:
            for record in judge.records(task):
                records.append(record)
        except GivenUp as reason:
            given_up, unrecorded = str(reason), reason.lost
        return TaskOutcome((encode_records(records),), (tally_of(backend).since(before),), given_up, unrecorded)
