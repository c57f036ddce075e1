"""One process of a backend's, as seen from the harness."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import psutil

from dml_conformance.backends.processes.arena import SMALLEST, Arena
from dml_conformance.backends.processes.child_process import Guarded, GuardedProcess, how_it_ended
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.last_words import Remarks
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.backends.processes.oom import OomKills, cause_of
from dml_conformance.backends.processes.watchdog import WATCHDOG
from dml_conformance.backends.processes.wire import Hello, WireError, decode_hello, message, receive
from dml_conformance.backends.processes.zygote import MARKED, Zygote

_T = TypeVar("_T")

START_SECONDS = 300.0
EXIT_SECONDS = 1.0
MIB = 2**20
HAS_PROC = sys.platform == "linux"
THE_PROCESS = "the backend's process "  # is what the message of every loss begins with


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


class BackendProcess:
    """A process that makes a backend and answers requests, under watch.

    Starting it returns at once; `hello` waits for it.

    Args:
        origin: what to start.
        limits: that it is held to.
        zygote: forks it; None = it is started.

    Attributes:
        arena: the memory that is shared with it.
        requests: how many it was sent.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, origin: Origin, limits: Limits, zygote: Zygote | None = None) -> None:
        mark = secrets.token_hex(16)
        self.arena = Arena(mark)
        self.requests = 0
        self._number = secrets.randbits(63)  # of a request; none that a backend could answer by chance
        self._limits = limits
        self._remarks = Remarks()
        self._process: Guarded
        try:
            if zygote is not None:
                self.arena.reserve(SMALLEST)
                (shared,) = self.arena.inherited
                self._process = zygote.fork(mark, shared, self._remarks.file)
            else:
                self._process = _started(origin, self.arena, self._remarks, mark)
        except OSError:
            self._remarks.close()
            self.arena.close()
            raise
        self._pid = self._process.process.pid
        self._read = partial(os.read, self._process.replies)
        self._mark, self._started = mark, 0
        with suppress(OSError):
            self._started = _started_at(self._pid) if HAS_PROC else 0
        self._was_gone = False
        left = self._mark, self._started, os.getpid()
        self.end = weakref.finalize(self, _end, self._process, self.arena, self._remarks, *left)
        self._most_shared = 0
        # Of the request under way: what it is, how long it may take, and for how long the watchdog has seen it.
        self._doing = ""
        self._seconds = START_SECONDS
        self._spent = 0.0
        self._is_busy = False
        self._sentence: ProcessLost | None = None
        self._lock = threading.Lock()  # of the two above
        self._descendants = Descendants(self._pid)
        self._oom_kills = OomKills(self._pid)
        WATCHDOG.watch(self)

    def hello(self) -> Hello:
        """The first message, when it comes.

        Raises:
            ProcessLost: none came.
        """
        self._begin("start-up", START_SECONDS)
        return self._answer(0, decode_hello)

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
        data = message(self._number, content)
        try:
            sent = os.write(self._process.requests, data)
            while sent < len(data):
                sent += os.write(self._process.requests, memoryview(data)[sent:])
        except BrokenPipeError:
            pass  # how it ended is found where the answer is read
        except BaseException:
            self.end()
            raise
        return self._answer(self._number, decode)

    def close(self) -> None:
        """Have the process end by itself, or end it."""
        self._process.stop()
        self.end()

    def look(self, elapsed: float) -> None:
        """Hold the process to its limits; called by the watchdog all the time.

        Args:
            elapsed: seconds since last time.
        """
        self._remarks.cut()
        self._oom_kills.look()
        if not self._is_busy:
            return
        self._spent += elapsed
        if self._process.process.poll() is not None:
            if self._was_gone:  # and yet the connection is open: a copy of it has it
                _end_left(self._mark, self._started)
            self._was_gone = True
            return
        if self._spent > self._seconds:
            how = f"took more than {self._seconds:g} s in {self._doing} and was ended"
            lost = ProcessLost(how, LossCause.TIME_LIMIT)
        elif self._limits.bytes is not None and self._descendants.memory() - self._most_shared > self._limits.bytes:
            lost = self._too_much(self._limits.bytes)
        else:
            return
        with self._lock:
            if not self._is_busy:
                return
            self._sentence = lost
        self._process.write_down_stack(self._remarks)
        self._process.kill()

    def _begin(self, doing: str, seconds: float) -> None:
        self._doing, self._seconds, self._spent = doing, seconds, 0.0
        with self._lock:
            self._is_busy = True

    def _answer(self, number: int, decode: Callable[[bytes], _T]) -> _T:
        try:
            received = receive(self._read)
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
            self._is_busy = False
        most = self._limits.bytes
        if most is not None and self._sentence is None and _peak(self._pid) - self._most_shared > most:
            self._sentence = self._too_much(most)
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
            self._is_busy = False
            lost = self._sentence
        if lost is None and not why:
            try:
                # Its end of the pipe is closed before there is a code to wait for.
                code = self._process.process.wait(EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                why = "closed its connection"
            else:
                lost = ProcessLost(f"{how_it_ended(code)} in {self._doing}", cause_of(code, self._oom_kills))
        lost = lost or ProcessLost(f"{why} in {self._doing} and was ended", LossCause.CONNECTION)
        words = self._remarks.last_words()
        self.end()
        lost.how = f"{THE_PROCESS}{lost}"
        lost.args = (lost.how + words,)
        lost.was_new = self.requests <= 1
        return lost

    def _too_much(self, most: int) -> ProcessLost:
        how = f"grew beyond the memory limit of {_size(most)} in {self._doing} and was ended"
        return ProcessLost(how, LossCause.MEMORY_LIMIT)


def _started(origin: Origin, arena: Arena, remarks: Remarks, mark: str) -> GuardedProcess:
    return GuardedProcess(
        origin.path,
        f"from dml_conformance.backends.processes.worker import main; main({origin.name!a}, {arena.place!a}, "
        f"{0 if os.name == 'posix' else os.getpid()})",
        remarks.file,
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


def _end(process: Guarded, arena: Arena, remarks: Remarks, mark: str, started: int, harness: int) -> None:
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
