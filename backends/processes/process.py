"""The processes that a backend may take down, as seen from the harness: how they are watched, asked and ended."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import msgspec
import psutil

from dml_conformance.backends.processes.arena import SMALLEST, Arena
from dml_conformance.backends.processes.child_process import ChildProcess, StartedProcess, how_it_ended, main_of
from dml_conformance.backends.processes.errors import THE_PROCESS, ProcessLost
from dml_conformance.backends.processes.framing import LONGEST, Receiver, WireError, send
from dml_conformance.backends.processes.last_words import Remarks
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.backends.processes.oom import OomKills, cause_of
from dml_conformance.backends.processes.watchdog import WATCHDOG
from dml_conformance.backends.processes.wire import LONGEST_ANSWER, Greeting, decode_greeting
from dml_conformance.backends.processes.zygote import MARKED, Zygote

_T = TypeVar("_T")

START_SECONDS = 300.0
EXIT_SECONDS = 1.0
MIB = 2**20
HAS_PROC = sys.platform == "linux"


class Origin(NamedTuple):
    """What every process of a backend is started from.

    Attributes:
        name: of the backend.
        path: where modules are found.
        folder: that file names are relative to.
    """

    name: str
    path: Sequence[str]
    folder: str


class SupervisedProcess(ABC):
    """A process that shares memory with this one, is held to limits, and whose end is told with its last words.

    Args:
        start: starts it, with that memory, the file that it prints to, and a mark for its environment.
        limits: that it is held to.
        most_received, in_turn: see `Receiver`.

    Attributes:
        arena: the memory that is shared with it.
        pid: of the process.
        end: ends it, and all that it started.

    Raises:
        OSError: no process can be started.
    """

    def __init__(
        self,
        start: Callable[[Arena, IO[bytes], str], ChildProcess],
        limits: Limits,
        most_received: int = LONGEST,
        *,
        in_turn: bool,
    ) -> None:
        mark = secrets.token_hex(16)
        self.arena = Arena(mark)
        self._remarks = Remarks()
        try:
            self.arena.reserve(SMALLEST)
            self._process = start(self.arena, self._remarks.file, mark)
        except OSError:
            self._remarks.close()
            self.arena.close()
            raise
        self.pid = self._process.process.pid
        self._mark, self._started = mark, 0
        with suppress(OSError):
            self._started = _started_at(self.pid) if HAS_PROC else 0
        left = self._mark, self._started, os.getpid()
        self.end = weakref.finalize(self, _end, self._process, self.arena, self._remarks, *left)
        self._limits = limits
        self._was_gone = False
        self._doing = ""  # what it was asked for last, where it is asked for one thing at a time
        self._is_awaited = False  # whether its end would be the loss of something
        self._sentence: ProcessLost | None = None
        self._lock = threading.Lock()  # of the two above
        self._receiver = Receiver(self._process.replies, most_received, in_turn=in_turn)
        self._descendants = Descendants(self.pid)
        self._oom_kills = OomKills(self.pid)
        WATCHDOG.watch(self)

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
                _end_left(self._mark, self._started)
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

    @abstractmethod
    def _broken_limit(self, elapsed: float) -> ProcessLost | None:
        """Which limit the process has gone beyond, if any; `elapsed` seconds since this was asked last."""

    def _await(self) -> None:
        with self._lock:
            self._is_awaited = True

    def _received(self, decode: Callable[[bytes], _T], number: int = 0) -> _T:
        """Wait for a message of this number.

        Raises:
            ProcessLost: there is none, and the process is no more.
        """
        try:
            received = self._receiver.receive()
            if received is None:
                raise self._lost()
            if received[0] != number:
                raise WireError
            return decode(received[1])
        except (WireError, msgspec.MsgspecError):
            raise self._lost("sent what is no answer") from None

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
        lost.args = (lost.how + self._remarks.last_words(),)
        self.end()
        return lost

    @property
    def _where(self) -> str:
        return f" in {self._doing}" if self._doing else ""

    def _too_long(self, seconds: float) -> ProcessLost:
        return ProcessLost(f"took more than {seconds:g} s{self._where} and was ended", LossCause.TIME_LIMIT)

    def _too_much(self, most: int) -> ProcessLost:
        how = f"grew beyond the memory limit of {_size(most)}{self._where} and was ended"
        return ProcessLost(how, LossCause.MEMORY_LIMIT)


class BackendProcess(SupervisedProcess):
    """A process that makes a backend and answers requests, under watch.

    Starting it returns at once; `hello` waits for it.

    Args:
        origin: what to start.
        limits: that it is held to.
        zygote: forks it; None = it is started.

    Attributes:
        requests: how many it was sent.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, origin: Origin, limits: Limits, zygote: Zygote | None = None) -> None:
        self.requests = 0
        self._number = secrets.randbits(63)  # of a request; none that a backend could answer by chance
        self._most_shared = 0
        # Of the request under way: how long it may take, and for how long the watchdog has seen it.
        self._seconds = START_SECONDS
        self._spent = 0.0
        start = partial(_started, origin) if zygote is None else zygote.fork
        super().__init__(start, limits, LONGEST_ANSWER, in_turn=True)

    def hello(self) -> Greeting:
        """The first message, when it comes.

        Raises:
            ProcessLost: none came.
        """
        self._begin("start-up", START_SECONDS)
        return self._answer(0, decode_greeting)

    def ask(
        self,
        content: bytes,
        doing: str,
        decode: Callable[[bytes], _T],
        *,
        shared: int = 0,
        seconds: float | None = None,
    ) -> _T:
        """Send a request and wait for the answer.

        Args:
            content: the request.
            doing: what it is, in a word.
            decode: makes the answer of a message; raises `WireError` or `msgspec.MsgspecError` where it is none.
            shared: bytes of the shared memory that it uses.
            seconds: that it may take, where that is not as the limits say.

        Raises:
            ProcessLost: none came; this object is of no use any more.
        """
        self.requests += 1
        self._most_shared = max(self._most_shared, shared)
        self._remarks.begin()
        self._begin(doing, self._limits.seconds if seconds is None else seconds)
        self._number += 1
        try:
            send(self._process.requests, content, self._number)
        except BrokenPipeError:
            pass  # how it ended is found where the answer is read
        except BaseException:
            self.end()
            raise
        return self._answer(self._number, decode)

    def _broken_limit(self, elapsed: float) -> ProcessLost | None:
        self._spent += elapsed
        if self._spent > self._seconds:
            return self._too_long(self._seconds)
        most = self._limits.bytes
        if most is not None and self._descendants.memory() - self._most_shared > most:
            return self._too_much(most)
        return None

    def _begin(self, doing: str, seconds: float) -> None:
        self._doing, self._seconds, self._spent = doing, seconds, 0.0
        self._await()

    def _answer(self, number: int, decode: Callable[[bytes], _T]) -> _T:
        try:
            answer = self._received(decode, number)
        except ProcessLost:
            raise
        except BaseException:  # such as an interrupt: the answer would be taken for that to the next request
            self.end()
            raise
        with self._lock:
            self._is_awaited = False
        most = self._limits.bytes
        if most is not None and self._sentence is None and _peak(self.pid) - self._most_shared > most:
            self._sentence = self._too_much(most)
        if self._sentence is not None:
            raise self._lost()
        return answer

    def _lost(self, why: str = "") -> ProcessLost:
        lost = super()._lost(why)
        lost.how = THE_PROCESS + lost.how
        lost.args = (f"{THE_PROCESS}{lost}",)
        lost.was_new = self.requests <= 1
        return lost


def _started(origin: Origin, arena: Arena, remarks: IO[bytes], mark: str) -> StartedProcess:
    return StartedProcess(
        origin.path,
        main_of(
            "dml_conformance.backends.processes.server",
            origin.name,
            arena.place,
            0 if os.name == "posix" else os.getpid(),
        ),
        remarks,
        inherited=arena.inherited,
        environment={MARKED: mark},
        folder=origin.folder,
    )


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


def _end(process: ChildProcess, arena: Arena, remarks: Remarks, mark: str, started: int, harness: int) -> None:
    """End a process and all that it started; a copy of the harness leaves that to the harness."""
    if os.getpid() != harness:
        return
    process.end()
    _end_left(mark, started)
    remarks.close()
    arena.close()


def _end_left(mark: str, started: int) -> None:
    """End what is left of a process."""
    for pid in _left_of(mark, started) if HAS_PROC else _marked(mark):
        with suppress(psutil.Error):
            psutil.Process(pid).kill()


def _marked(mark: str) -> Iterator[int]:
    """Processes that are known by their environment, as one that has left the group is."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARKED) == mark:
                yield process.pid


def _left_of(mark: str, started: int) -> Iterator[int]:
    """Those, and those that are known by their memory: a copy of a copy has the environment of the first.

    Args:
        mark: that they have in either.
        started: when the first of them was; older ones are not looked at, which saves most of the time.
    """
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):  # noqa: PTH208 - names
        with suppress(OSError, LookupError, ValueError):
            if _started_at(pid) >= started and pid != os.getpid():
                content = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/maps").read_bytes()
                if mark.encode() in content:
                    yield pid


def _started_at(pid: int) -> int:
    """When a process was started, in ticks since the system was; errors where there is none."""
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])


def _size(count: int) -> str:
    """`4 GiB`."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):g} {unit}"
    return f"{count} bytes"
