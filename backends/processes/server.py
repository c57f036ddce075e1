"""The process that a backend runs in: it loads the backend, and answers requests until there are no more.

Nothing that the backend prints comes near the answers, and nothing that it raises ends the process. What does end it,
such as a crash in native code, is found by the process that asks.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dml_conformance.backends.base import Answer, Backend, Binding, Bytes, Execution, Unsupported, takes_batches
from dml_conformance.backends.foreign_text import encodable, place_of
from dml_conformance.backends.heap import keep_freed_memory, room_for
from dml_conformance.backends.loading import BackendError, load_backend, with_shared_code
from dml_conformance.backends.processes.arena import ArenaView
from dml_conformance.backends.processes.child_process import DUMP, take_pipes
from dml_conformance.backends.processes.framing import Receiver, send
from dml_conformance.backends.processes.wire import (
    LONGEST_TEXT,
    BackendException,
    BackendInfo,
    Bound,
    Completion,
    DecisionReply,
    EncodedDesc,
    Execute,
    ExecutionReply,
    Job,
    LoadError,
    NoAnswer,
    Question,
    Request,
    Time,
    Validate,
    WireAnswer,
    decode_request,
    descriptor,
    encode,
)
from dml_conformance.backends.timing import time_copy, time_execution
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc


def main(name: str, place: str, harness: int) -> None:
    """Answer requests from standard input on standard output until it ends.

    Args:
        name: of the backend.
        place: of the shared memory.
        harness: process that asks; 0 where something else sees to it that none outlives it.
    """
    requests, replies = take_place(harness)
    keep_freed_memory()
    memory, before = ArenaView(place), frozenset(sys.modules)
    try:
        backend = load_backend(name)
        hello = BackendInfo(with_shared_code(backend.capabilities(), name, before), takes_batches(backend))
        first = encode(hello)
    except BackendError as error:
        send(replies, encode(LoadError(encodable(str(error)))))
        return
    except BaseException as error:
        send(replies, encode(LoadError(encodable(f"backend {name!r} cannot be made: {_told(error)}"))))
        return
    send(replies, first)
    server = BackendServer(backend, memory)
    receiver = Receiver(requests)
    gc.freeze()  # what is loaded stays, so no collection has to look at it
    while (received := receiver.receive()) is not None:
        number, content = received
        for answer in server.answers(decode_request(content)):
            send(replies, encode(answer), number)


class BackendServer:
    """A backend and what it shares with the process that asks."""

    def __init__(self, backend: Backend, memory: ArenaView) -> None:
        self._backend: Any = backend
        self._memory = memory
        self._last: OperatorDesc | None = None

    def answers(self, request: Request) -> Iterator[DecisionReply | ExecutionReply]:
        if isinstance(request, Validate):
            yield from map(self._validated, request.questions)
            return
        try:
            answer: ExecutionReply = self._done(request)
        except BaseException as error:
            answer = _raised(error)
        yield answer

    def _validated(self, question: Question) -> DecisionReply:
        try:
            answer = self._backend.validate(self._descriptor(question.desc), Level(question.level))
            if isinstance(answer, Answer):
                return WireAnswer(bool(answer.accepted), _words(answer.reason))
            return NoAnswer(_words(answer, repr))
        except BaseException as error:
            return _raised(error)

    def _done(self, request: Execute | Time) -> Completion:
        memory, resources = self._memory.memory(request.memory), dict[tuple[int, int, bool], Bytes]()
        executions = [self._arguments(job, memory, resources) for job in request.jobs]
        if isinstance(request, Time):
            for execution in executions:
                return _timed(time_execution(self._backend, execution, request.repeats, cold=request.cold))
            return _timed(time_copy(self._backend, request.size, request.repeats, cold=request.cold))
        # A backend is only asked to execute what it has accepted, in this process too.
        for execution in executions if request.validate else ():
            with suppress(Exception):  # the answer was given before
                self._backend.validate(execution.desc, execution.level)
        with room_for(sum(map(len, resources.values()))):  # the shared memory stays as long as it ever was
            if request.batch:
                self._backend.execute_batch(executions)
            else:
                self._backend.execute(*executions[0])
        return Completion()

    def _arguments(self, job: Job, memory: Bytes, resources: dict[tuple[int, int, bool], Bytes]) -> Execution:
        def bindings(bounds: tuple[Bound, ...]) -> dict[str, Binding]:
            found = {}
            for name, start, length, offset, size, writeable in bounds:
                key = start, length, writeable
                resource = resources.get(key)
                if resource is None:
                    resource = memory[start : start + length]
                    if not writeable:
                        resource.flags.writeable = False
                    resources[key] = resource
                found[name] = Binding(resource, offset, size)
            return found

        return Execution(self._descriptor(job.desc), Level(job.level), bindings(job.inputs), bindings(job.outputs))

    def _descriptor(self, described: EncodedDesc) -> OperatorDesc:
        if described.content or self._last is None:
            self._last = descriptor(described)
        return self._last


def take_place(harness: int) -> tuple[int, int]:
    """Make this process one whose end is told, that disturbs nobody, and that does not outlive the harness.

    Args:
        harness: process to end with; 0 where something else sees to that.

    Returns:
        Descriptors that requests are read from and answers are written to.
    """
    requests, replies = take_pipes()
    remarks = os.dup(2)  # a backend may close its own
    faulthandler.enable(remarks)
    if hasattr(faulthandler, "register"):
        faulthandler.register(DUMP, remarks)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    with suppress(OSError):
        # Where memory runs out, the system had better end this process than the one that asks.
        Path("/proc/self/oom_score_adj").write_text("1000")
    if harness:
        threading.Thread(target=_end_with, args=(harness,), daemon=True).start()
    return requests, replies


def _end_with(harness: int) -> None:
    """End this process and those that it started when another one has ended."""
    import psutil  # not needed on most systems

    with suppress(psutil.Error):
        psutil.Process(harness).wait()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            process.kill()
    os._exit(1)


def _timed(seconds: Iterable[float]) -> Completion:
    return Completion(tuple(map(float, seconds)))


def _raised(error: BaseException) -> BackendException:
    kind = "Exception"
    if isinstance(error, Unsupported):
        kind = "Unsupported"
    elif isinstance(error, MemoryError):
        kind = "MemoryError"
    return BackendException(kind, encodable(type(error).__name__), _words(error), place_of(error))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {_words(error)}"


def _words(value: object, render: Callable[[object], str] = str) -> str:
    """What something of the backend's says; to say it is to run its code."""
    try:
        text = render(value)
    except BaseException as error:
        text = f"<{type(value).__name__}, which cannot be shown: {type(error).__name__}>"
    return encodable(text[:LONGEST_TEXT])
