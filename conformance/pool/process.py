"""One worker process, as seen from the process that gives it work and watches it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import IO, Any, NamedTuple

import msgspec

from conformance.isolation.arena import SMALLEST, Arena
from conformance.isolation.limits import Limits
from conformance.isolation.process import (
    DUMP_SECONDS,
    FROM_OUTSIDE,
    GUARD,
    MIB,
    START_SECONDS,
    STOP_SECONDS,
    Descendants,
)
from conformance.isolation.remarks import Remarks
from conformance.isolation.watchdog import WATCHDOG
from conformance.isolation.wire import DUMP
from conformance.pool.messages import Reply, Request, decode_reply, receive, send
from conformance.pool.watch import State, Watch


class Ending(NamedTuple):
    """Why a process ended.

    Attributes:
        how: in words, to follow `the process`.
        from_outside: whether something else on this machine may have ended it, and the backend need not have.
        timed_out: whether it was ended because the backend took too long.
        too_large: whether it was ended because it took too much memory.
    """

    how: str
    from_outside: bool = False
    timed_out: bool = False
    too_large: bool = False


class Lost(Exception):
    """Raised where a worker process is gone; another one has to take its place. The message, which follows `the
    process`, has its last words too.

    Attributes:
        ending: why it ended.
        state: what it was doing.
    """

    def __init__(self, ending: Ending, state: State, words: str) -> None:
        super().__init__(ending.how + words)
        self.ending = ending
        self.state = state


class WorkerProcess:
    """A process that answers requests in order, of which several can be under way, and that is held to limits.

    Args:
        limits: of the time in each call of a backend, and of memory.
        environment: variables, in addition to this process's.

    Attributes:
        pid: of the process.
        holds_backends: whether the memory limit is its business; it is not while a backend has a process of its own.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, limits: Limits, environment: dict[str, str]) -> None:
        self.holds_backends = True
        self._limits = limits
        self._lock = threading.Lock()  # of the next two
        self._sentence: Ending | None = None
        self._is_over = False
        arena = Arena()
        arena.reserve(SMALLEST)
        self._watch = Watch(arena.memory)
        self._remarks = Remarks()
        try:
            self._process, guard = _start(arena, self._remarks.file, environment)
        except OSError:
            self._watch.close()
            arena.close()
            self._remarks.close()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self._requests, self._replies = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._end = weakref.finalize(self, _end, self._process, guard, self._watch, arena, self._remarks)
        self._family = Descendants(self.pid)
        self._last, self._spent = State(0, 0), 0.0
        WATCHDOG.watch(self)

    def send(self, request: Request) -> None:
        """Give it something to do. Where it is gone, that shows when the answer is waited for."""
        with suppress(BrokenPipeError):
            send(self._requests, request)

    def receive(self) -> Reply:
        """Wait for the next answer.

        Raises:
            Lost: there is none, and the process is no more.
        """
        try:
            content = receive(self._replies)
            if content is not None:
                return decode_reply(content)
        except (ValueError, msgspec.MsgspecError):
            pass
        raise self._lost()

    def kill(self) -> None:
        """End it now; whoever waits for an answer is told."""
        with suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        """Have it end by itself where it has nothing to do, and end it otherwise."""
        with self._lock:
            self._is_over = True
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        self._end()

    def look(self, elapsed: float) -> None:
        """Hold the process to its limits; called by the watchdog all the time.

        Args:
            elapsed: seconds since last time.
        """
        with self._lock:
            if self._is_over or self._sentence is not None:
                return
            state = self._watch.state
        self._remarks.cut()
        if state != self._last:
            self._last, self._spent = state, 0.0
        elif state.backend is not None:
            self._spent += elapsed
        allowed = START_SECONDS if state.is_loading else self._limits.seconds
        if state.backend is not None and self._spent > allowed:
            self._sentenced(Ending(f"took more than {allowed:g} s and was ended", timed_out=True))
        elif self._limits.bytes is not None and self.holds_backends and self._family.memory() > self._limits.bytes:
            most = f"{self._limits.bytes / MIB:,.0f} MiB"
            self._sentenced(Ending(f"grew beyond the memory limit of {most} and was ended", too_large=True))

    def _sentenced(self, sentence: Ending) -> None:
        with self._lock:
            if self._is_over:
                return
            self._sentence = sentence
        self._write_down_stack()
        self.kill()

    def _write_down_stack(self) -> None:
        """Have the process write down where it is, unless it takes too long over that as well."""
        if not DUMP:
            return
        with suppress(OSError):
            self._process.send_signal(DUMP)
        until = time.monotonic() + DUMP_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            time.sleep(DUMP_SECONDS / 50)
            with self._lock:
                if self._is_over or self._remarks.has_stack():
                    return

    def _lost(self) -> Lost:
        """End what is left of the process, and say how it ended."""
        try:
            # Its end of the pipe is closed before there is a code to wait for.
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            ending = Ending("sent what is no answer, or closed its connection, and was ended")
        else:
            ending = Ending(_how(code), from_outside=-code in FROM_OUTSIDE)
        with self._lock:
            self._is_over = True
            ending = self._sentence or ending
            state = self._watch.state
        words = self._remarks.last_words()
        self._end()
        return Lost(ending, state, words)


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"


def _start(
    arena: Arena, remarks: IO[bytes], environment: dict[str, str]
) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes] | None]:
    """Start a process, and what ends it and those that it started when this one has gone."""
    path = [entry or os.getcwd() for entry in sys.path]  # noqa: PTH109 - a text, as the others are
    code = f"import sys; sys.path[:] = {path!a}; from conformance.pool.worker import main; main({arena.place!a})"
    # In a group of its own: an interrupt from the terminal is for this process alone.
    options: dict[str, Any] = {"process_group": 0, "pass_fds": arena.inherited} if os.name == "posix" else {}
    process = subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=remarks,
        bufsize=0,
        env=os.environ | environment,
        **options,
    )
    if os.name != "posix":
        return process, None
    try:
        guard = subprocess.Popen(  # noqa: S603 - nothing of it comes from outside
            ["/bin/sh", "-c", GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            process_group=process.pid,
        )
    except OSError:
        process.kill()
        process.wait()
        raise
    return process, guard


def _end(
    process: subprocess.Popen[bytes],
    guard: subprocess.Popen[bytes] | None,
    watch: Watch,
    arena: Arena,
    remarks: Remarks,
) -> None:
    """End the process and all that it started, and let go of everything."""
    with suppress(OSError):
        process.kill()
    if guard is not None:
        assert guard.stdin is not None
        with suppress(OSError):
            guard.stdin.close()
        guard.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with suppress(OSError):
            pipe.close()
    process.wait()
    watch.close()
    arena.close()
    remarks.close()
