"""The processes that a backend may take down, as seen from the harness: how they are watched, asked and ended."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import psutil

from dml_conformance.backends.processes.arena import SMALLEST, Arena
from dml_conformance.backends.processes.child_process import MARKED, ChildProcess, how_it_ended, import_path, main_of
from dml_conformance.backends.processes.errors import THE_PROCESS, ProcessLost
from dml_conformance.backends.processes.framing import LONGEST, Receiver, WireError, send
from dml_conformance.backends.processes.last_words import Remarks
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.backends.processes.oom import OomKills, cause_of
from dml_conformance.backends.processes.walls import adopts_orphans
from dml_conformance.backends.processes.watchdog import WATCHDOG
from dml_conformance.backends.processes.wire import LONGEST_ANSWER, Greeting, decode_greeting
from dml_conformance.spec.errors import BrokenRunError

_T = TypeVar("_T")

START_SECONDS = 300.0
EXIT_SECONDS = 1.0
ORPHAN_SECONDS = 10.0  # for what a backend left to be gone

# Processes that this one has started and not ended yet, by their marks; none is started while it is looked for orphans.
_STARTED: dict[str, ChildProcess] = {}
_STARTING = threading.Lock()


class OrphanError(BrokenRunError):
    """What a backend has left cannot be ended."""


class Origin(NamedTuple):
    """Where a process is started.

    Attributes:
        path: where modules are found.
        folder: that file names are relative to.
    """

    path: Sequence[str]
    folder: str

    @classmethod
    def here(cls) -> Origin:
        """As this process is now."""
        return cls(import_path(), os.getcwd())  # noqa: PTH109 - a text


class ServerProcess:
    """A process that answers requests one by one and shares memory with this one. It is held to limits, and its end is
    told with its last words.

    Args:
        module: whose `main` it runs, with the place of the shared memory and the process to end with (0 where something
            else sees to it that none outlives it) as the last arguments.
        arguments: those before.
        limits: that it is held to.
        origin: where it is started.
        environment: variables, in addition to this process's.
        most_received: bytes that an answer may have.

    Attributes:
        arena: the memory that is shared with it.
        pid: of the process.
        requests: how many it was sent.
        end: ends it, and all that it started.

    Raises:
        OSError: no process can be started.
    """

    whose = ""  # what a message begins with that says how it ended

    def __init__(
        self,
        module: str,
        *arguments: str,
        limits: Limits,
        origin: Origin,
        environment: Mapping[str, str],
        most_received: int = LONGEST,
    ) -> None:
        mark = secrets.token_hex(16)
        harness = 0 if os.name == "posix" else os.getpid()
        self.arena = Arena()
        self._remarks = Remarks()
        try:
            self.arena.reserve(SMALLEST)
            with _STARTING:
                self._process = _STARTED[mark] = ChildProcess(
                    origin.path,
                    main_of(module, *arguments, self.arena.place, harness, wall=limits.files),
                    self._remarks.file,
                    inherited=self.arena.inherited,
                    environment={**environment, MARKED: f"{os.environ.get(MARKED, '')} {mark}"},
                    folder=origin.folder,
                )
        except OSError:
            self._remarks.close()
            self.arena.close()
            raise
        self.pid = self._process.process.pid
        self._mark = mark
        self.end = weakref.finalize(self, _end, self._process, self.arena, self._remarks, mark, os.getpid())
        self.requests = 0
        self._limits = limits
        self._number = secrets.randbits(63)  # of a request; none that a backend could answer by chance
        self._most_shared = 0
        self._was_gone = False
        # Of the request under way: what it is, how long it may take, and for how long the watchdog has seen it.
        self._doing, self._seconds, self._spent = "", START_SECONDS, 0.0
        self._is_awaited = False  # whether its end would be the loss of something
        self._sentence: ProcessLost | None = None
        self._lock = threading.Lock()  # of the two above
        self._receiver = Receiver(self._process.replies, most_received)
        self._descendants = Descendants(self.pid)
        self._oom_kills = OomKills(self.pid)
        WATCHDOG.watch(self)

    def ask(
        self,
        content: bytes,
        doing: str,
        decode: Callable[[bytes], _T],
        *,
        answers: int = 1,
        shared: int = 0,
        seconds: float | None = None,
    ) -> Iterator[_T]:
        """Send a request and wait for its answers, all of which have to be taken.

        Args:
            content: the request.
            doing: what it is, in a word.
            decode: makes an answer of a message; raises `WireError` or `msgspec.MsgspecError` where it is none.
            answers: how many there are.
            shared: bytes of the shared memory that it uses.
            seconds: that each answer may take, where that is not as the limits say.

        Raises:
            ProcessLost: no more came; this object is of no use any more.
        """
        self.requests += 1
        self._most_shared = max(self._most_shared, shared)
        self._remarks.begin()
        seconds = self._limits.seconds if seconds is None else seconds
        self._begin(doing, seconds)
        self._number += 1
        try:
            send(self._process.requests, content, self._number)
        except BrokenPipeError:
            pass  # how it ended is found where the answer is read
        except BaseException:
            self.end()
            raise
        for _ in range(answers):
            self._begin(doing, seconds)
            yield self._answer(self._number, decode)

    def kill(self) -> None:
        """End it now; whoever waits for an answer is told."""
        self._process.kill()

    def close(self) -> None:
        """Have it end by itself where it has nothing to do, and end it otherwise."""
        with self._lock:
            self._is_awaited = False
        self._process.stop()
        self.end()

    def look(self, elapsed: float) -> None:
        """Hold the process to its limits; called by the watchdog all the time.

        Args:
            elapsed: seconds since last time.
        """
        self._remarks.cut()
        self._oom_kills.look()
        if not self._is_awaited:
            return
        if self._process.process.poll() is not None:
            if self._was_gone:  # and yet the connection is open: a copy of it has it
                _end_left(self._mark)
            self._was_gone = True
            return
        broken = self._broken_limit(elapsed) if self._sentence is None else None
        if broken is None:
            return
        with self._lock:
            if not self._is_awaited:
                return
            self._sentence = broken
        self._process.write_down_stack(self._remarks, lambda: not self._is_awaited)
        self._process.kill()

    def _broken_limit(self, elapsed: float) -> ProcessLost | None:
        """Which limit the process has gone beyond, if any; `elapsed` seconds since this was asked last."""
        self._spent += elapsed
        if self._spent > self._seconds:
            how = f"took more than {self._seconds:g} s{self._where} and was ended"
            return ProcessLost(how, LossCause.TIME_LIMIT)
        return self._too_much(self._descendants.memory)

    def _too_much(self, memory: Callable[[], int]) -> ProcessLost | None:
        """What it comes to where the process has more memory than it may, the shared one left out."""
        most = self._limits.bytes
        if most is None or memory() - self._most_shared <= most:
            return None
        how = f"grew beyond the memory limit of {_size(most)}{self._where} and was ended"
        return ProcessLost(how, LossCause.MEMORY_LIMIT)

    def _begin(self, doing: str, seconds: float) -> None:
        self._doing, self._seconds, self._spent = doing, seconds, 0.0
        with self._lock:
            self._is_awaited = True

    def _answer(self, number: int, decode: Callable[[bytes], _T]) -> _T:
        """Wait for the message of a number.

        Raises:
            ProcessLost: there is none, and the process is no more.
        """
        try:
            received = self._receiver.receive()
            if received is None:
                raise self._lost()
            if received[0] != number:
                raise WireError
            answer = decode(received[1])
        except (WireError, msgspec.MsgspecError):
            raise self._lost("sent what is no answer") from None
        except ProcessLost:
            raise
        except BaseException:  # such as an interrupt: the answer would be taken for that to the next request
            self.end()
            raise
        with self._lock:
            self._is_awaited = False
        self._sentence = self._sentence or self._too_much(lambda: _peak(self.pid))
        if self._sentence is not None:
            raise self._lost()
        return answer

    def _lost(self, why: str = "") -> ProcessLost:
        """End what is left of the process.

        Args:
            why: what it did; "" where its connection is closed, mostly as it has ended.

        Returns:
            How it ended, its last output and the stack.
        """
        with self._lock:
            self._is_awaited = False
            lost = self._sentence
        if lost is None and not why:
            try:
                # Its end of the pipe is closed before there is a code to wait for.
                code = self._process.process.wait(EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                why = "closed its connection"
            else:
                lost = ProcessLost(how_it_ended(code) + self._where, cause_of(code, self._oom_kills))
        lost = lost or ProcessLost(f"{why}{self._where} and was ended", LossCause.CONNECTION)
        lost.how = self.whose + lost.how
        lost.args = (lost.how + self._remarks.last_words(),)
        lost.was_new = self.requests <= 1
        self.end()
        return lost

    @property
    def _where(self) -> str:
        return f" in {self._doing}" if self._doing else ""


class BackendProcess(ServerProcess):
    """A process that makes a backend and answers requests about it.

    Starting it returns at once; `hello` waits for it.

    Args:
        name: of the backend.
        limits: that it is held to.
        origin: where it is started.

    Raises:
        OSError: no process can be started.
    """

    whose = THE_PROCESS

    def __init__(self, name: str, limits: Limits, origin: Origin) -> None:
        super().__init__(
            "dml_conformance.backends.processes.server",
            name,
            limits=limits,
            origin=origin,
            environment={},
            most_received=LONGEST_ANSWER,
        )

    def hello(self) -> Greeting:
        """The first message, when it comes.

        Raises:
            ProcessLost: none came.
        """
        self._begin("start-up", START_SECONDS)
        return self._answer(0, decode_greeting)


class Descendants:
    """A process and those that it started."""

    LOOKED_FOR = 0.5  # seconds from one look for new ones to the next, as it is a look at every process there is

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._known: list[psutil.Process] = []
        self._looked = -self.LOOKED_FOR

    def memory(self) -> int:
        """Bytes of memory that they have altogether."""
        total = 0
        with suppress(psutil.Error):
            if time.monotonic() - self._looked > self.LOOKED_FOR:
                process = psutil.Process(self._pid)
                self._known = [process, *process.children(recursive=True)]
                self._looked = time.monotonic()
        for process in self._known:
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total


def _peak(pid: int) -> int:
    """Most bytes of memory that a process had so far, or has, where the system does not say."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
        return int(next(line for line in lines if line.startswith(b"VmHWM")).split()[1]) * 1024
    with suppress(psutil.Error):
        memory = psutil.Process(pid).memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))
    return 0


def _end(process: ChildProcess, arena: Arena, remarks: Remarks, mark: str, harness: int) -> None:
    """End a process and all that it started; a copy of the harness leaves that to the harness."""
    if os.getpid() != harness:
        return
    process.end()
    with _STARTING:
        del _STARTED[mark]
    _end_left(mark)
    remarks.close()
    arena.close()


def _end_left(mark: str) -> None:
    """End what a process has left that is not of its group.

    Where this process doesn't adopt it, that is what has the mark in its environment.
    """
    if adopts_orphans():
        with suppress(OrphanError):  # it comes up again in the end
            end_orphans(mark)
        return
    for process in psutil.process_iter():
        if _is_marked(process, {mark}):
            with suppress(psutil.Error):
                process.kill()


def end_orphans(mark: str = "") -> None:
    """End all children of this process that it has not started: what backends left, and what that leaves in turn.

    What has the mark of another process that is still in use is left for the end of that one.

    Args:
        mark: of the process whose orphans they are, where that is known.

    Raises:
        OrphanError: there are still some after a while.
    """
    until = time.monotonic() + ORPHAN_SECONDS
    while left := _killed_orphans(mark):
        if time.monotonic() > until:
            raise OrphanError(
                f"process {left[0]}, which a backend has left, cannot be ended; end it, and go on with --resume"
            )


def _killed_orphans(mark: str) -> list[int]:
    """The orphans that there are, each of which has been killed, and is no more where it was dead by then."""
    with _STARTING:
        known = {pid for process in _STARTED.values() for pid in process.pids}
        others = _STARTED.keys() - {mark}
        found = [child for child in psutil.Process().children() if child.pid not in known]
        orphans = [child.pid for child in found if not _is_marked(child, others)]
        for orphan in orphans:
            with suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, os.WNOHANG)
    return orphans


def _is_marked(process: psutil.Process, marks: Collection[str]) -> bool:
    """Whether one of the marks is in a process's environment."""
    with suppress(psutil.Error, OSError):
        return not set(process.environ().get(MARKED, "").split()).isdisjoint(marks)
    return False


def _size(count: int) -> str:
    """`4 GiB`."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):g} {unit}"
    return f"{count} bytes"
