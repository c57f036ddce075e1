"""The process that judges tasks; each of its backends has one more process, so that it outlives what they do."""

from __future__ import annotations

import gc

from dml_conformance.backends.loading import devices_of
from dml_conformance.backends.processes.framing import Receiver, send
from dml_conformance.backends.processes.server import take_place
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.messages import (
    Assignment,
    Devices,
    FindDevices,
    Reply,
    Request,
    WorkerClaims,
    WorkerFault,
    decode_request,
    encode,
    unpacked,
)


def main(_: str, harness: int) -> None:
    """Answer requests from standard input on standard output until there are no more.

    Args:
        _: place of memory that is shared with the process that asks; nothing is.
        harness: that process; 0 where something else sees to it that none outlives it.
    """
    requests, replies = take_place(harness)
    receiver, server = Receiver(requests), JudgeServer()
    while (received := receiver.receive()) is not None:
        number, content = received
        try:
            reply = server.reply(decode_request(content))
        except Exception as error:
            reply = WorkerFault.of(error)
        send(replies, encode(reply), number)


class JudgeServer:
    """Answers requests."""

    def __init__(self) -> None:
        self._executor = InProcess([])

    def reply(self, request: Request) -> Reply:
        """Do as asked.

        Raises:
            BackendError: a backend cannot be had.
            CorpusError: a line is not as it was written.
        """
        if isinstance(request, Assignment):
            return self._executor.judge(unpacked(request.task))
        if isinstance(request, FindDevices):
            return Devices(tuple(devices_of(name) for name in request.backends))
        self._executor = InProcess(request.setup.judges(), one_by_one=request.setup.one_by_one)
        gc.freeze()  # what is loaded stays, so no collection has to look at it
        return WorkerClaims(tuple(self._executor.capabilities()))
