"""The worker process as seen from this side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from typing import IO, NamedTuple

import msgspec

from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.backends.directml.library import LibraryFile, cache_folder
from dml_conformance.backends.directml.profiles import Profile
from dml_conformance.backends.directml.protocol import REPLY, Hello

STOP_SECONDS = 5.0
LONGEST_REMARK = 500  # bytes of what a process that died had to say


class Reply(NamedTuple):
    """A decision: the HRESULT, and what the null device was asked for in vain."""

    code: int
    unexpected: str


def start(library: LibraryFile, profile: Profile) -> Worker:
    """Start a worker with a library, on a null device.

    Raises:
        DirectmlError: see `stubs.build` and `Worker`.
    """
    folder = stubs.build(cache_folder())
    arguments = (str(library.path), str(folder), profile.name)
    return Worker([sys.executable, "-m", "dml_conformance.backends.directml.worker", *arguments])


class Worker:
    """One running worker.

    Args:
        command: its command line.

    Attributes:
        hello: what it said of itself.

    Raises:
        DirectmlError: it could not be started, or says why it cannot decide.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._remarks = tempfile.TemporaryFile()  # noqa: SIM115  # closed by _stop
        self._remarked = 0
        environment = {
            **os.environ,
            # The worker finds the modules that this process found, wherever it was started from,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            # and has no threads, since it forks; NumPy, which it does not use, would start some as it is imported.
            "OPENBLAS_NUM_THREADS": "1",
        }
        try:
            self._process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._remarks,
                bufsize=0,
                env=environment,
                start_new_session=True,  # an interrupt from the terminal is for this process alone
            )
        except OSError as error:
            self._remarks.close()
            raise DirectmlError(f"the process for the DirectML library cannot be started: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stop = weakref.finalize(self, _stop, self._process, self._remarks)
        self._requests = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()
        self.hello = self._hello()

    def ask(self, block: bytes | bytearray) -> Reply:
        """Send a block of `structs.Packer`, wait for the decision.

        Raises:
            LibraryCrash: the library took its process down on this block; the next one may be sent.
            DirectmlError: the worker itself is gone; this object is of no use any more.
        """
        try:
            # A pipe takes as much as a block has at once; a signal may still cut it short.
            sent = os.write(self._requests, block)
            while sent < len(block):
                sent += os.write(self._requests, memoryview(block)[sent:])
        except BrokenPipeError:
            raise DirectmlError(f"the process for the DirectML library {self._end()}") from None
        data = self._read()
        while len(data) < REPLY.size:
            data += self._read()
        code, signal_number, length = REPLY.unpack_from(data)
        if signal_number:
            raise LibraryCrash(f"died of {_signal_name(signal_number)}{self._remark()}")
        while len(data) < REPLY.size + length:
            data += self._read()
        return Reply(code, data[REPLY.size :].decode(errors="replace") if length else "")

    def close(self) -> None:
        """End the worker."""
        self._stop()

    def _hello(self) -> Hello:
        data = b""
        while not data.endswith(b"\n"):
            data += self._read()
        try:
            hello = msgspec.json.decode(data, type=Hello)
        except msgspec.DecodeError as error:
            self.close()
            raise DirectmlError(f"the process for the DirectML library said {data[:200]!r}: {error}") from None
        if hello.error:
            self.close()
            raise DirectmlError(hello.error)
        return hello

    def _read(self) -> bytes:
        data = os.read(self._replies, 1 << 16)
        if not data:
            raise DirectmlError(f"the process for the DirectML library {self._end()}")
        return data

    def _end(self) -> str:
        """Wait for the process, which is dead or dying. Returns how it ended, and its last words."""
        code = self._process.wait()
        how = f"died of {_signal_name(-code)}" if code < 0 else f"ended with code {code}"
        remark = self._remark()
        self.close()
        return how + remark

    def _remark(self) -> str:
        """What was written to standard error since last time."""
        # By position, not by seeking: the processes share one offset in the file.
        start, end = self._remarked, os.fstat(self._remarks.fileno()).st_size
        self._remarked = end
        start = max(start, end - LONGEST_REMARK)
        text = os.pread(self._remarks.fileno(), end - start, start).decode(errors="replace")
        return f": {' '.join(text.split())}" if text.strip() else ""


def _signal_name(number: int) -> str:
    name = signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"
    return f"{name}, taking too long" if number == signal.SIGALRM else name


def _stop(process: subprocess.Popen[bytes], remarks: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()  # the worker ends when its requests do
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    remarks.close()
