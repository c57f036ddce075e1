"""One worker process, as seen from the process that gives it work and watches it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from typing import NamedTuple

import msgspec

from dml_conformance.backends.processes.arena import SMALLEST, Arena
from dml_conformance.backends.processes.child_process import STOP_SECONDS, GuardedProcess, how_it_ended
from dml_conformance.backends.processes.last_words import Remarks
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.losses import Loss, LossCause
from dml_conformance.backends.processes.oom import OomKills, cause_of
from dml_conformance.backends.processes.process import MIB, START_SECONDS, Descendants
from dml_conformance.backends.processes.watchdog import WATCHDOG
from dml_conformance.conformance.workers.heartbeat import State, Watch
from dml_conformance.conformance.workers.messages import Reply, Request, decode_reply, receive, send


class Ending(NamedTuple):
    """Why a process ended.

    Attributes:
        how: in words, to follow `the process`.
        cause: as a report counts it.
    """

    how: str
    cause: LossCause

    @property
    def from_outside(self) -> bool:
        """Whether something else on this machine may have ended it, and the backend need not have."""
        return self.cause in (LossCause.KILLED, LossCause.OOM_KILLER)

    @property
    def timed_out(self) -> bool:
        """Whether it was ended because the backend took too long."""
        return self.cause is LossCause.TIME_LIMIT


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

    @property
    def loss(self) -> Loss:
        """As a report counts it."""
        return Loss(self.ending.cause, self.ending.how)


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
            self._process = GuardedProcess(
                [entry or os.getcwd() for entry in sys.path],  # noqa: PTH109 - a text, as the others are
                f"from dml_conformance.conformance.workers.worker import main; main({arena.place!a})",
                self._remarks.file,
                inherited=arena.inherited,
                environment=environment,
            )
        except OSError:
            self._watch.close()
            arena.close()
            self._remarks.close()
            raise
        self.pid = self._process.process.pid
        self._end = weakref.finalize(self, _end, self._process, self._watch, arena, self._remarks)
        self._family = Descendants(self.pid)
        self._oom_kills = OomKills(self.pid)
        self._last, self._spent = State(0, 0), 0.0
        WATCHDOG.watch(self)

    def send(self, request: Request) -> None:
        """Give it something to do. Where it is gone, that shows when the answer is waited for."""
        with suppress(BrokenPipeError):
            send(self._process.requests, request)

    def receive(self) -> Reply:
        """Wait for the next answer.

        Raises:
            Lost: there is none, and the process is no more.
        """
        try:
            content = receive(self._process.replies)
            if content is not None:
                return decode_reply(content)
        except (ValueError, msgspec.MsgspecError):
            pass
        raise self._lost()

    def kill(self) -> None:
        """End it now; whoever waits for an answer is told."""
        self._process.kill()

    def close(self) -> None:
        """Have it end by itself where it has nothing to do, and end it otherwise."""
        with self._lock:
            self._is_over = True
        self._process.stop()
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
        self._oom_kills.look()
        if state != self._last:
            self._last, self._spent = state, 0.0
        elif state.backend is not None:
            self._spent += elapsed
        allowed = START_SECONDS if state.is_loading else self._limits.seconds
        if state.backend is not None and self._spent > allowed:
            self._sentenced(Ending(f"took more than {allowed:g} s and was ended", LossCause.TIME_LIMIT))
        elif self._limits.bytes is not None and self.holds_backends and self._family.memory() > self._limits.bytes:
            most = f"{self._limits.bytes / MIB:,.0f} MiB"
            self._sentenced(Ending(f"grew beyond the memory limit of {most} and was ended", LossCause.MEMORY_LIMIT))

    def _sentenced(self, sentence: Ending) -> None:
        with self._lock:
            if self._is_over:
                return
            self._sentence = sentence
        self._process.write_down_stack(self._remarks, self._has_ended)
        self.kill()

    def _has_ended(self) -> bool:
        with self._lock:
            return self._is_over

    def _lost(self) -> Lost:
        """End what is left of the process, and say how it ended."""
        try:
            # Its end of the pipe is closed before there is a code to wait for.
            code = self._process.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            ending = Ending("sent what is no answer, or closed its connection, and was ended", LossCause.CONNECTION)
        else:
            ending = Ending(how_it_ended(code), cause_of(code, self._oom_kills))
        with self._lock:
            self._is_over = True
            ending = self._sentence or ending
            state = self._watch.state
        words = self._remarks.last_words()
        self._end()
        return Lost(ending, state, words)


def _end(process: GuardedProcess, watch: Watch, arena: Arena, remarks: Remarks) -> None:
    """End the process and all that it started, and let go of everything."""
    process.end()
    watch.close()
    arena.close()
    remarks.close()
