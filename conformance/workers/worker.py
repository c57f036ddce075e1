"""The process that judges blocks, in which judge and backend are together: asking across processes costs more than most
cases do.

Nothing that a backend prints comes near the answers. What ends the process is found by the one that watches it.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from queue import SimpleQueue

from dml_conformance.backends.base import Backend
from dml_conformance.backends.foreign_text import encodable
from dml_conformance.backends.loading import BackendError, devices_of, load_backend
from dml_conformance.backends.processes.arena import SMALLEST, Mapped
from dml_conformance.backends.processes.worker import STANDARD_INPUT, STANDARD_OUTPUT, settle
from dml_conformance.conformance.campaign.sweep import Setup, read_cases
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.workers.heartbeat import LOADING, Watch, watched
from dml_conformance.conformance.workers.messages import (
    Devices,
    Failed,
    FindDevices,
    Judged,
    Loaded,
    Losses,
    Reply,
    Request,
    Work,
    decode_request,
    receive,
    send,
)
from dml_conformance.conformance.workers.quarantine import judged_carefully
from dml_conformance.reports.encoded import encode_records
from dml_conformance.reports.records import Phase

LAST_SECONDS = 5.0  # that an idle process may take to end


def main(place: str) -> None:
    """Answer requests from standard input on standard output until there are no more.

    Args:
        place: of the memory that is shared with the process that watches this one.
    """
    requests, replies = os.dup(STANDARD_INPUT), os.dup(STANDARD_OUTPUT)
    settle()
    queue: SimpleQueue[Request | None] = SimpleQueue()
    worker = _Worker(Watch(Mapped(place).memory(SMALLEST)))
    threading.Thread(target=_take_requests, args=(requests, queue, worker), daemon=True).start()
    while (request := queue.get()) is not None:
        worker.is_busy = True
        reply: Reply | None
        try:
            reply = worker.reply(request)
        except Exception as error:
            reply = Failed(type(error).__name__, encodable(" ".join(str(error).split())))
        if reply is not None:
            send(replies, reply)
        worker.is_busy = False


def _take_requests(file: int, queue: SimpleQueue[Request | None], worker: _Worker) -> None:
    """Pass on requests; at their end an idle process ends by itself, one that is busy at once."""
    while (content := receive(file)) is not None:
        queue.put(decode_request(content))
    if not worker.is_busy:
        queue.put(None)
        time.sleep(LAST_SECONDS)
    os._exit(1)


class _Worker:
    """Answers requests.

    Args:
        watch: where calls of backends are seen.

    Attributes:
        is_busy: whether a request is being answered.
    """

    def __init__(self, watch: Watch) -> None:
        self.is_busy = False
        self._watch = watch
        self._setup = Setup(())
        self._backends: dict[int, Backend] = {}
        self._judges: dict[int, BatchJudge] = {}

    def reply(self, request: Request) -> Reply | None:
        """Do as asked; None where there is nothing to say.

        Raises:
            BackendError: a backend cannot be had.
            CorpusError: a line is not as it was written.
        """
        if isinstance(request, Work):
            return self._judged(request)
        if isinstance(request, FindDevices):
            return Devices(tuple(devices_of(name) for name in self._setup.backends))
        self._setup = request.setup
        if not request.loads:
            return None
        loaded = Loaded(tuple(self._backend(n).capabilities() for n in range(len(self._setup.backends))))
        gc.freeze()  # what is loaded stays, so no collection has to look at it
        return loaded

    def _backend(self, number: int) -> Backend:
        if number not in self._backends:
            self._watch.enter(LOADING + number + 1)
            try:
                backend = load_backend(self._setup.loaded_names[number])
            except BackendError:
                self._watch.leave()
                raise
            self._watch.leave()
            self._backends[number] = watched(backend, self._watch, number)
        return self._backends[number]

    def _judge(self, number: int) -> BatchJudge:
        if number not in self._judges:
            judge = self._setup.judge(number, self._backend(number))
            self._judges[number] = BatchJudge(judge, one_by_one=self._setup.one_by_one)
        return self._judges[number]

    def _judged(self, work: Work) -> Judged:
        cases = read_cases(work.block)
        records: list[bytes] = []
        losses: list[Losses] = []
        given_up = ""
        for number in range(len(self._setup.backends)):
            if number in work.carefully:
                careful = judged_carefully(self._setup, number, cases, work.suspicions)
                records.append(encode_records(careful.records))
                losses.append(careful.losses)
                given_up = given_up or careful.given_up
            else:
                records.append(encode_records(self._judge(number).records(cases, Phase.SWEEP)))
                losses.append(Losses())
        return Judged(work.number, tuple(records), tuple(losses), given_up)
