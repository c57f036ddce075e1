"""The process that has the libraries and the device: it decides on descriptors and executes them.

It is ended by whatever ends the device: a crash, a device removed, a request that takes too long. Whoever asks it
starts another one.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from contextlib import suppress

import msgspec

from dml_conformance.backends.directml.com import ComError
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.execution.gpu import DeviceOutOfMemory, DeviceRemoved, Gpu
from dml_conformance.backends.directml.execution.loader import Setup
from dml_conformance.backends.directml.execution.opening import ExecutionDevice, open_device
from dml_conformance.backends.directml.execution.protocol import (
    Buffer,
    Copy,
    CreationResult,
    Decide,
    ExecutionProblem,
    ProblemKind,
    Reply,
    Request,
    RunOperator,
    RunTimes,
    decode_request,
    encode,
)
from dml_conformance.backends.directml.execution.submission import Bound, Submission, time_copies
from dml_conformance.backends.directml.execution.work import Program
from dml_conformance.backends.directml.protocol import Hello
from dml_conformance.backends.directml.structs import BLOCK_SIZE, OPERATOR_DESC_AT
from dml_conformance.backends.processes.child_process import take_pipes
from dml_conformance.backends.processes.framing import Receiver, send, write

ANSWER_SECONDS = 120.0  # a software device takes seconds for the largest cases
TOOK_TOO_LONG = 70  # exit status


def main(setup_json: str) -> None:
    """Serve requests from standard input on standard output until it ends.

    Args:
        setup_json: a `Setup`.
    """
    requests, replies = take_pipes()
    timer = DeadlineTimer()
    memory = ctypes.create_string_buffer(BLOCK_SIZE)
    try:
        with timer:
            opened = open_device(msgspec.json.decode(setup_json, type=Setup))
            hello = Hello(
                address=ctypes.addressof(memory),
                level=opened.directml.level(),
                data_types=tuple(sorted(opened.directml.data_types())),
                device=opened.name,
                versions=opened.versions,
            )
    except (DirectmlError, ComError) as error:
        send(replies, encode(Hello(error=str(error))))
        return
    send(replies, encode(hello))
    Server(opened, memory, requests, replies, timer).serve()
    opened.gpu.close()
    opened.directml.close()


class DeadlineTimer:
    """Ends the process if what is done in `with` takes too long. It may be in a library, and deaf to Python."""

    def __init__(self, seconds: float = ANSWER_SECONDS) -> None:
        self._seconds = seconds
        self._deadline = float("inf")
        threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self) -> None:
        self._deadline = time.monotonic() + self._seconds

    def __exit__(self, *_: object) -> None:
        self._deadline = float("inf")

    def _watch(self) -> None:
        while time.monotonic() < self._deadline:
            time.sleep(min(1.0, self._seconds / 10))
        os.write(2, f"no answer after {self._seconds:g} seconds\n".encode())
        os._exit(TOOK_TOO_LONG)


class Server:
    """Answers requests on one device."""

    def __init__(
        self,
        opened: ExecutionDevice,
        memory: ctypes.Array[ctypes.c_char],
        requests: int,
        replies: int,
        timer: DeadlineTimer,
    ) -> None:
        self._gpu: Gpu = opened.gpu
        self._directml = opened.directml
        self._memory = memoryview(memory).cast("B")
        self._desc = ctypes.addressof(memory) + OPERATOR_DESC_AT
        self._receiver = Receiver(requests, in_turn=False)
        self._replies = replies
        self._timer = timer

    def serve(self) -> None:
        """Answer until the requests end, or the device is gone."""
        with suppress(EOFError, BrokenPipeError):
            while (received := self._receiver.receive()) is not None:
                reply, resources = self._answer(decode_request(received[1]))
                send(self._replies, encode(reply))
                for data in resources:
                    write(self._replies, data)
                if isinstance(reply, ExecutionProblem) and reply.problem is ProblemKind.DEVICE_REMOVED:
                    return

    def _answer(self, request: Request) -> tuple[Reply, list[bytearray]]:
        resources: list[bytearray] = []
        if isinstance(request, Decide | RunOperator):
            self._receiver.read_into(self._memory[: request.block])
        if isinstance(request, RunOperator):
            resources = [bytearray(length) for length in request.lengths]
            for data in resources:
                self._receiver.read_into(memoryview(data))
        try:
            with self._timer:
                match request:
                    case Decide():
                        return CreationResult(self._directml.create_operator(self._desc)), []
                    case RunOperator():
                        return RunTimes(self._execute(request, resources)), resources
                    case Copy(size, repeats):
                        return RunTimes(time_copies(self._gpu, size, repeats)), []
        except DeviceOutOfMemory as error:
            return ExecutionProblem(ProblemKind.NO_MEMORY, str(error)), []
        except DeviceRemoved as error:
            return ExecutionProblem(ProblemKind.DEVICE_REMOVED, str(error)), []
        except ComError as error:
            return self._failure(error), []

    def _execute(self, request: RunOperator, resources: list[bytearray]) -> list[float]:
        def bound(buffer: Buffer | None) -> Bound | None:
            if buffer is None:
                return None
            return Bound(resources[buffer.resource], buffer.offset, buffer.size, buffer.is_owned)

        inputs, outputs = ([bound(buffer) for buffer in buffers] for buffers in (request.inputs, request.outputs))
        with Program(self._gpu, self._desc) as program, Submission(self._gpu) as submission:
            submission.add(program, inputs, outputs)
            if request.repeats:
                return submission.time(request.repeats)
            submission.run()
        return []

    def _failure(self, error: ComError) -> ExecutionProblem:
        try:
            self._gpu.check_alive()
        except DeviceRemoved as removed:
            return ExecutionProblem(ProblemKind.DEVICE_REMOVED, f"{error}; {removed}")
        return ExecutionProblem(ProblemKind.FAILED, str(error))
