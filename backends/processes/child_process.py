"""A Python process that never outlives this one, nor does what it starts: how it is started, looked into and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import IO, Any

from dml_conformance.backends.processes.last_words import Remarks
from dml_conformance.backends.processes.walls import FileWall

STOP_SECONDS = 2.0
# The signal at which a process writes down where it is, where there are signals.
DUMP = getattr(signal, "SIGUSR1", 0)
DUMP_SECONDS = 0.5
# Ends the process group that it is in when this process has gone or closes the pipe, whatever the group is doing.
# In the environment of a process and of all that it starts: marks of those that it is below.
MARKED = "DML_CONFORMANCE_PROCESS"
_GUARD = "trap '' HUP INT TERM; read -r line; kill -KILL 0"


class ChildProcess:
    """A process with pipes to and from it, in a group of its own, so that an interrupt from the terminal is for this
    process alone; and, where there are groups, another one that ends the group.

    Args:
        path: where it finds modules.
        code: Python that it runs.
        remarks: takes what it prints.
        inherited: file descriptors that it has in common with this process.
        environment: variables, in addition to this process's.
        folder: that file names are relative to; None = this process's.

    Attributes:
        process: it.
        requests, replies: descriptors of the pipes.

    Raises:
        OSError: no process can be started.
    """

    def __init__(
        self,
        path: Sequence[str],
        code: str,
        remarks: IO[bytes],
        *,
        inherited: Sequence[int],
        environment: Mapping[str, str],
        folder: str | None = None,
    ) -> None:
        has_groups = os.name == "posix"
        options: dict[str, Any] = {"process_group": 0, "pass_fds": inherited} if has_groups else {}
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter
            [sys.executable, "-c", f"{_found_in(path)}; {code}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=remarks,
            bufsize=0,
            cwd=folder,
            env={**os.environ, **environment},
            **options,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._pipes = self.process.stdin, self.process.stdout
        self.requests, self.replies = (pipe.fileno() for pipe in self._pipes)
        self._guard = self._guarded() if has_groups else None

    def _guarded(self) -> subprocess.Popen[bytes] | None:
        """The process that ends the group; None where that is gone already, so that who talks to it is told."""
        try:
            return subprocess.Popen(  # noqa: S603 - nothing of it comes from outside
                ["/bin/sh", "-c", _GUARD],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={
                    name: value for name, value in os.environ.items() if name != MARKED
                },  # or it ends before the group
                process_group=self.process.pid,
            )
        except OSError:
            if self.process.poll() is not None:
                return None
            self.process.kill()
            self.process.wait()
            raise

    @property
    def pids(self) -> set[int]:
        """Of the process and of the one that ends its group."""
        return {self.process.pid} | ({self._guard.pid} if self._guard is not None else set())

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Tell it that no more will come, and give it a moment to end by itself."""
        with suppress(OSError):
            self._pipes[0].close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def kill(self) -> None:
        """End it now, and not yet what it has started."""
        with suppress(OSError):
            self.process.kill()

    def end(self) -> None:
        """End it and the rest of its group, and let go of everything."""
        self.kill()
        self.process.wait()
        if self._guard is not None:
            assert self._guard.stdin is not None
            with suppress(OSError):
                self._guard.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._guard.wait(STOP_SECONDS)
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()

    def write_down_stack(self, remarks: Remarks, is_over: Callable[[], bool]) -> None:
        """Have the process write down where it is, unless it takes too long over that as well.

        Args:
            remarks: where to.
            is_over: whether nobody wants to know any more.
        """
        if not DUMP:
            return
        with suppress(OSError):
            self.process.send_signal(DUMP)
        until = time.monotonic() + DUMP_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            time.sleep(DUMP_SECONDS / 50)
            if is_over():
                return
            if remarks.has_stack():
                time.sleep(DUMP_SECONDS / 50)  # for the rest of it
                return


def import_path() -> list[str]:
    """Where this process finds modules, in a form that means the same in any folder."""
    return [entry or os.getcwd() for entry in sys.path]  # noqa: PTH109 - a text, as the others are


def main_of(module: str, *arguments: str | int, wall: FileWall | None = None) -> str:
    """Python that calls the `main` of a module, once the process can look into no other one's memory.

    Each thread has capabilities of its own, and NumPy starts some when it is imported: so that comes first.

    Args:
        module: it.
        arguments: of `main`.
        wall: is built around the process before; None = none is. Where it cannot be, the process ends.
    """
    built = "" if wall is None or wall.refused else f"{wall!a}.build(); "
    walls = f"from {FileWall.__module__} import FileWall, give_up_tracing; {built}give_up_tracing()"
    return f"{walls}; from {module} import main; main({', '.join(map(ascii, arguments))})"


def tried(wall: FileWall) -> FileWall:
    """The same wall, with the reason why it cannot be built here: a process has tried, as one that fails is lost."""
    code = f"from {FileWall.__module__} import FileWall; print({wall!a}.refusal())"
    found = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", f"{_found_in(import_path())}; {code}"], capture_output=True, text=True, check=False
    )
    return wall._replace(refused="it cannot be tried here" if found.returncode else found.stdout.strip())


def _found_in(path: Sequence[str]) -> str:
    """Python that has modules found there."""
    return f"import sys; sys.path[:] = {list(path)!a}"


def take_pipes() -> tuple[int, int]:
    """Make this process, which was started by another one, one that nothing comes between the messages of.

    Standard error is a file; what is printed goes there too. A crash leaves no core: it is an answer here.

    Returns:
        Descriptors that requests are read from and answers are written to.
    """
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return requests, replies


def how_it_ended(code: int) -> str:
    """In words, to follow `the process`.

    Args:
        code: as `subprocess` has it: below 0 the signal that it died of.
    """
    if code >= 0:
        return f"ended with code {code}"
    return f"died of {signal.Signals(-code).name if -code in signal.valid_signals() else f'signal {-code}'}"
