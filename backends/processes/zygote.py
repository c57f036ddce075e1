"""A process that has loaded all that a backend's process needs of this project, and becomes one by a fork, which takes
a tenth of a start.

It never loads a backend nor runs anything of one, so no thread, lock or device of a backend's is there when it forks.
It also is what guards these processes: it ends each, with its group, when the harness lets go of it or is gone.

What all of them have in common, as they are copies, is where code lies in memory and the order of sets of texts. Where
a process is to be as new as one can be, one is started instead.
"""

from __future__ import annotations

import gc
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from dml_conformance.backends.processes.arena import Arena
from dml_conformance.backends.processes.child_process import STOP_SECONDS, ChildProcess, main_of, python_command

# Without other systems' ways of passing files and of telling how a process ended.
CAN_FORK = sys.platform == "linux"
MARKED = "DML_CONFORMANCE_PROCESS"  # in the environment of a process and of all that it starts
_NUMBER = struct.Struct("=q")  # of a process, or what one ended with
_LONGEST_MARK = 64
# The files of a process as they are sent, and the numbers that the first four have in it.
_STANDARD = (0, 1, 2, 3)
SHARED = _STANDARD[-1]
_FILES = len(_STANDARD) + 2  # and where to tell how it ended, and what is closed when it is to end


class Zygote:
    """The process, as seen from the harness. It is ready when the first fork is.

    Args:
        name: of the backend that the processes load.
        path: where they find modules.
        folder: that file names are relative to.

    Raises:
        OSError: it cannot be started; from `fork`, too, where it is no more.
    """

    def __init__(self, name: str, path: Sequence[str], folder: str) -> None:
        self._socket, other = socket.socketpair()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                python_command(path, main_of(__name__, name, other.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                pass_fds=[other.fileno()],
                process_group=0,
            )
        except OSError:
            self._socket.close()
            raise
        finally:
            other.close()

    def fork(self, arena: Arena, remarks: IO[bytes], mark: str) -> ChildProcess:
        """Another process.

        Args:
            arena: the memory that it shares with the harness.
            remarks: takes what it prints.
            mark: that it and all that it starts has in its environment.
        """
        (shared,) = arena.inherited
        pipes = [os.pipe() for _ in range(4)]
        (request_end, requests), (replies, reply_end), (status, status_end), (lifeline_end, lifeline) = pipes
        theirs = (request_end, reply_end, status_end, lifeline_end)
        try:
            files = [request_end, reply_end, remarks.fileno(), shared, status_end, lifeline_end]
            socket.send_fds(self._socket, [mark.encode()], files)
            answer = self._socket.recv(_NUMBER.size)
            if len(answer) < _NUMBER.size or (pid := _NUMBER.unpack(answer)[0]) < 0:
                raise OSError("no process can be forked")
        except OSError:
            for file in (requests, replies, status, lifeline):
                os.close(file)
            raise
        finally:
            for file in theirs:
                os.close(file)
        child = ZygoteChild(pid, status, lifeline)
        return ChildProcess(child, os.fdopen(requests, "wb", 0), os.fdopen(replies, "rb", 0), child.end_group)

    def end(self) -> None:
        """End it, and the processes that are left."""
        self._socket.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        self._process.kill()
        self._process.wait()


class ZygoteChild:
    """A process that the zygote has forked, in a group of its own, to be used like one of `subprocess`.

    Args:
        pid: its number.
        status: descriptor to read from how it ended.
        lifeline: descriptor at whose end the zygote ends the group.

    Attributes:
        pid: its number, which the zygote keeps from being another's until `end_group`.
        returncode: how it ended; None as long as it has not.
    """

    def __init__(self, pid: int, status: int, lifeline: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._status, self._lifeline = status, lifeline
        self._lock = threading.Lock()  # the watchdog asks too

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; errors as in `subprocess`."""
        if self.returncode is not None:
            return self.returncode
        waiting = select.poll()
        waiting.register(self._status)
        if not waiting.poll(None if timeout is None else timeout * 1000):
            raise subprocess.TimeoutExpired("", timeout or 0)
        with self._lock:
            if self.returncode is None:
                self.returncode = self._code()
        return self.returncode

    def _code(self) -> int:
        told = os.read(self._status, _NUMBER.size)
        if len(told) == _NUMBER.size:
            return int(_NUMBER.unpack(told)[0])
        self._send(signal.SIGKILL)  # the zygote was killed, and nobody knows what becomes of its processes
        return -signal.SIGKILL

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            self._send(number)

    def end_group(self) -> None:
        """End what is left of its group, and let go of it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self._lifeline)
        os.close(self._status)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


# What follows runs in the zygote.


_KEPT: list[mmap.mmap] = []


class _ForkedChild:
    """A process that was forked.

    Attributes:
        pid: its number.
        status: file to tell how it ended on; None when it is told.
    """

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self.status: int | None = status

    def tell(self) -> None:
        """Tell how it ended, if it has; it stays a zombie, so that its number is not given to another."""
        if self.status is None:
            return
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None:
            code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            with suppress(BrokenPipeError):
                os.write(self.status, _NUMBER.pack(code))
            os.close(self.status)
            self.status = None

    def end(self) -> None:
        """End it and its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        if self.status is not None:
            os.close(self.status)


def main(name: str, control: int) -> None:
    """Fork as asked for until the harness is gone, and be a backend's process where it was forked.

    Args:
        name: of the backend.
        control: socket to the harness.
    """
    from dml_conformance.backends.processes import server

    gc.freeze()  # what is loaded stays, and its pages are shared as long as nobody looks at them
    if _was_forked(socket.socket(fileno=control)):
        server.main(name, f"file:{SHARED}", 0)


def _was_forked(harness: socket.socket) -> bool:
    """Serve the harness; returns in each process that was forked, and at the end."""
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    children: dict[int, _ForkedChild] = {}  # by lifeline
    waiting = select.poll()
    for file in (harness.fileno(), awake):
        waiting.register(file, select.POLLIN)
    while True:
        for file, _ in waiting.poll():
            if file == awake:
                os.read(awake, 4096)
                for child in children.values():
                    child.tell()
            elif file in children:
                waiting.unregister(file)
                children.pop(file).end()
                os.close(file)
            else:
                mark, files, _, _ = socket.recv_fds(harness, _LONGEST_MARK, _FILES)
                if not mark:
                    for child in children.values():
                        child.end()
                    return False
                pid = _forked()
                if pid == 0:
                    _become(mark.decode(), files, harness)
                    return True
                *own, status, lifeline = files
                for each in own:
                    os.close(each)
                if pid > 0:
                    children[lifeline] = _ForkedChild(pid, status)
                    waiting.register(lifeline, 0)  # its end shows all the same
                harness.sendall(_NUMBER.pack(pid))


def _forked() -> int:
    """Fork; returns as `os.fork`, and -1 where that cannot be done."""
    import warnings

    try:
        with warnings.catch_warnings():  # NumPy has threads of its own, which see to that themselves
            warnings.simplefilter("ignore")
            pid = os.fork()
    except OSError:
        return -1
    with suppress(OSError):  # whichever comes first
        os.setpgid(pid, pid)
    return pid


def _become(mark: str, files: Sequence[int], harness: socket.socket) -> None:
    """Make this process, which was just forked, one that nothing of the zygote is left in."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    harness.detach()
    above = max(*files, *_STANDARD) + 1
    for number, file in zip(_STANDARD, [os.dup2(file, above + n) for n, file in enumerate(files[:4])], strict=True):
        os.dup2(file, number)
    os.closerange(len(_STANDARD), os.sysconf("SC_OPEN_MAX"))
    os.environ[MARKED] = mark
    # What it copies itself to has the zygote's environment as far as the system shows, but this memory of its own.
    _KEPT.append(mmap.mmap(SHARED, mmap.PAGESIZE))
    if (numpy_random := sys.modules.get("numpy.random")) is not None:
        numpy_random.seed()  # or every process would draw the same
