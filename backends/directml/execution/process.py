"""The process that executes, as seen from the one that asks it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, NamedTuple, NoReturn

import msgspec

from dml_conformance.backends.base import Binding
from dml_conformance.backends.directml import process as decisions
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.backends.directml.execution.loader import Setup
from dml_conformance.backends.directml.execution.protocol import (
    Buffer,
    Copy,
    Decide,
    Decision,
    Done,
    Execute,
    Failed,
    Problem,
    Ready,
    Reply,
    Request,
    read_into,
    receive,
    send,
)

STOP_SECONDS = 10.0
LAST_WORDS = 500  # characters of what a process that died had to say


class ExecutionError(RuntimeError):
    """A library refused what a valid descriptor and valid bindings asked for, or lost the device over it."""


class NoMemory(RuntimeError):
    """The device has no memory for it."""


class Resource(NamedTuple):
    """A resource to execute on.

    Attributes:
        binding: the resource, which gets what the device left in it, and the range bound.
        is_owned: see `submission.Bound`.
    """

    binding: Binding
    is_owned: bool = False


def start(setup: Setup) -> DeviceProcess:
    """Start a process with a device.

    Raises:
        DirectmlError: see `DeviceProcess`.
    """
    arguments = msgspec.json.encode(setup).decode()
    return DeviceProcess([sys.executable, "-m", "dml_conformance.backends.directml.execution.worker", arguments])


class DeviceProcess:
    """One running worker. Once a call has raised `LibraryCrash`, or it has been closed, it is of no use any more.

    Args:
        command: its command line.

    Attributes:
        hello: what it said of itself.
        is_running: whether it can be asked.

    Raises:
        DirectmlError: it could not be started, or says why it cannot work.
    """

    def __init__(self, command: Sequence[str]) -> None:
        # The worker finds the modules that this process found, wherever it was started from.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # an interrupt from the terminal is for this process alone
            )
        except OSError as error:
            raise DirectmlError(f"the process that executes cannot be started: {error}") from error
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._requests, self._replies = process.stdin, process.stdout
        self._words = _LastWords(process.stderr)
        self._stop = weakref.finalize(self, _stop, process)
        self.is_running = True
        self.hello = self._hello()

    def ask(self, block: bytes | bytearray) -> decisions.Reply:
        """Whether the library creates an operator.

        Args:
            block: of a `structs.Packer`.

        Raises:
            LibraryCrash: the process is gone.
        """
        self._send(Decide(len(block)), [block])
        reply = self._receive()
        assert isinstance(reply, Decision), reply
        return decisions.Reply(reply.code, "")

    def execute(
        self,
        block: bytes | bytearray,
        inputs: Sequence[Resource | None],
        outputs: Sequence[Resource | None],
        repeats: int = 0,
    ) -> list[float]:
        """Run an operator on resources, which get what the device left in them.

        Args:
            block: of a `structs.Packer`.
            inputs: in the order of the operator's struct, None for a tensor left out.
            outputs: likewise.
            repeats: how many runs to time, after a warm-up; 0 to run it once, untimed.

        Returns:
            Seconds of each timed run.

        Raises:
            NoMemory: the device has none for this.
            ExecutionError: a library refused; if the device was lost, the process is gone.
            LibraryCrash: the process is gone.
        """
        resources = [resource.binding for resource in (*inputs, *outputs) if resource is not None]
        request = Execute(len(block), _described(inputs), _described(outputs), repeats)
        self._send(request, [block, *(binding.buffer for binding in resources)])
        done = self._done()
        try:
            for binding in resources:
                read_into(self._replies, binding.buffer.data)
        except EOFError:
            self._gone()
        return done.seconds

    def copy(self, size: int, repeats: int) -> list[float]:
        """Seconds of each of several copies of `size` bytes on the device.

        Raises:
            NoMemory, ExecutionError, LibraryCrash: see `execute`.
        """
        self._send(Copy(size, repeats), [])
        return self._done().seconds

    def close(self) -> None:
        """End the process."""
        self.is_running = False
        self._stop()

    def _hello(self) -> Ready:
        try:
            ready = receive(self._replies, Ready)
        except msgspec.DecodeError as error:
            self.close()
            raise DirectmlError(f"the process that executes does not speak as expected: {error}") from None
        if ready is None:
            raise DirectmlError(f"the process that executes {self._end()}")
        if ready.error:
            self.close()
            raise DirectmlError(ready.error)
        return ready

    def _send(self, request: Request, blocks: Sequence[object]) -> None:
        try:
            send(self._requests, request)
            for block in blocks:
                self._requests.write(block)  # type: ignore[call-overload]  # bytes, or an array of bytes
            self._requests.flush()
        except OSError:  # a broken pipe, under whatever name the system has for it
            self._gone()

    def _receive(self) -> Reply:
        reply: Reply | None = receive(self._replies, Reply)  # type: ignore[arg-type]  # a union
        if reply is None:
            self._gone()
        return reply

    def _done(self) -> Done:
        reply = self._receive()
        if isinstance(reply, Failed):
            if reply.problem is Problem.NO_MEMORY:
                raise NoMemory(reply.message)
            if reply.problem is Problem.DEVICE_REMOVED:
                self.close()
            raise ExecutionError(reply.message)
        assert isinstance(reply, Done), reply
        return reply

    def _gone(self) -> NoReturn:
        raise LibraryCrash(self._end())

    def _end(self) -> str:
        """Wait for the process, which is dead or dying. Returns how it ended, and its last words."""
        self.close()
        code = self._process.returncode
        how = f"died of {_signal_name(-code)}" if code < 0 else f"ended with code {code}"
        words = self._words.all()
        return f"{how}: {words}" if words else how


class _LastWords:
    """The end of what a process writes to a pipe, however much it writes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._lines: deque[bytes] = deque(maxlen=16)
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def all(self) -> str:
        """What is left of it, once the process has ended."""
        self._thread.join(STOP_SECONDS)
        return " ".join(b"".join(self._lines).decode(errors="replace").split())[-LAST_WORDS:]

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            self._lines.extend(pipe)


def _described(resources: Sequence[Resource | None]) -> tuple[Buffer | None, ...]:
    return tuple(
        None
        if resource is None
        else Buffer(len(resource.binding.buffer), resource.binding.offset, resource.binding.size, resource.is_owned)
        for resource in resources
    )


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # what it was to be told may still lie in the buffer, and nobody be left to be told
        process.stdin.close()  # the worker ends when its requests do
    process.stdout.close()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
