"""A process that runs commands in forks of itself, each with limits and under an audit hook that notes what it does.

It stays alone with its imports made, so that an input costs a fork and not a start of Python. Requests come as lines of
JSON on standard input, replies go as lines of JSON to standard output.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import subprocess
import sys
import traceback
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

MOST_BYTES = 1 << 30  # of address space, beyond what the process has before the command begins
MOST_SECONDS = 10.0  # of the processor; six times as many may pass, as others may be at work too
_WAITING = 6
MOST_OUTPUT = 1 << 20  # characters of each stream that are kept

_PROJECT = Path(__file__).resolve().parents[2]
_TESTS = _PROJECT / "tests"
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What starts a process or reaches for a network.
_FORBIDDEN = ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system")
_FORBIDDEN_FAMILIES = ("pty.", "socket.", "subprocess.", "urllib.", "http.", "ftplib.", "smtplib.")
# What changes a file system; every text among the arguments is a path.
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown")
_CHANGES += ("os.truncate", "os.utime", "os.mkfifo", "os.mknod")
# Where Python, its packages, this project and the system keep what any program reads.
_READABLE = ("/usr/", "/lib", "/proc/", "/sys/", "/dev/null", "/dev/urandom", "/etc/localtime", "/etc/ssl/")


class Outcome(NamedTuple):
    """What running a command came to.

    Attributes:
        code: its exit code; below 0 the signal that ended it.
        seconds: of the processor that it took.
        stdout: the beginning of what it wrote there.
        stderr: the same.
        did: what it did that reading a file needs not, a line each.
        timed_out: whether it was ended for taking too long.
    """

    code: int
    seconds: float
    stdout: str
    stderr: str
    did: tuple[str, ...]
    timed_out: bool


class Sandbox:
    """Runs commands in a process of its own. Use it as a context manager.

    Args:
        folder: for what the runs leave; everything that they may write lies below it.
        function: `module:function` that runs a command: takes its arguments, ends by SystemExit.
    """

    def __init__(self, folder: Path, function: str = "fuzz.sandbox:command_line") -> None:
        self.folder = folder.resolve()
        environment = {
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(
                filter(None, (str(_TESTS), str(_TESTS / "support"), os.environ.get("PYTHONPATH")))
            ),
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",  # a process with threads is not to be forked
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
        }
        for name in ("home", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.sandbox", str(self.folder), function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def warm_up(self, command: Sequence[str], folder: Path) -> None:
        """Run a command on a good input in the process itself, so that its forks need not import what it needs."""
        self._ask({"warm": True, "command": list(command), "folder": str(folder)})

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        stdin: Path | None = None,
        seconds: float = MOST_SECONDS,
        most_bytes: int = MOST_BYTES,
    ) -> Outcome:
        """Run a command in a fork.

        Args:
            command: its arguments.
            folder: in which it runs, below the sandbox's own.
            stdin: what standard input is; None: nothing.
            seconds: of the processor, after which it is ended.
            most_bytes: of address space that it may take.
        """
        request = {"command": list(command), "folder": str(folder), "stdin": str(stdin or os.devnull)}
        reply = self._ask({**request, "seconds": seconds, "most_bytes": most_bytes})
        return Outcome(**{**reply, "did": tuple(reply["did"])})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the sandbox has ended, with code {self._process.wait()}")
        reply: dict[str, Any] = json.loads(line)
        return reply


def command_line(arguments: list[str]) -> None:
    """The command line of this project, as its entry point runs it."""
    from dml_conformance.conformance.campaign.recheck import PassedSample
    from dml_conformance.conformance.cli import main

    PassedSample.chosen = lambda _: []  # type: ignore[method-assign]  # a process of the suite's own computes these

    main(arguments)


# --- in the process itself ----------------------------------------------------------------------------------------


def serve(folder: Path, function: Callable[[list[str]], None]) -> None:
    """Answer requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    while line := sys.stdin.readline():
        request = json.loads(line)
        os.chdir(request["folder"])
        if request.get("warm"):
            with suppress(SystemExit):
                function(request["command"])
            reply: dict[str, Any] = {}
        else:
            reply = _run(folder, function, request)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _run(folder: Path, function: Callable[[list[str]], None], request: dict[str, Any]) -> dict[str, Any]:
    streams = [folder / name for name in ("stdout", "stderr", "did")]
    child = os.fork()
    if not child:
        _in_child(folder, function, request, streams)
    waited_in_vain = not _ends_within(child, _WAITING * request["seconds"])
    if waited_in_vain:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    texts = []
    for path in streams:
        with path.open(errors="backslashreplace", newline="") as stream:
            texts.append(stream.read(MOST_OUTPUT))
    return {
        "code": code,
        "seconds": usage.ru_utime + usage.ru_stime,
        "stdout": texts[0],
        "stderr": texts[1],
        "did": texts[2].splitlines(),
        "timed_out": waited_in_vain or code == -signal.SIGXCPU,
    }


def _ends_within(child: int, seconds: float) -> bool:
    descriptor = os.pidfd_open(child)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def _in_child(
    folder: Path, function: Callable[[list[str]], None], request: dict[str, Any], streams: Sequence[Path]
) -> None:
    """Run a command and end the process, whatever happens."""
    code = 99
    try:
        out, err, did = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) for path in streams)
        os.dup2(os.open(request["stdin"], os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        limit = _address_space() + request["most_bytes"]
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        seconds = math.ceil(request["seconds"])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        sys.addaudithook(_Watch(folder, did))
        try:
            function(request["command"])
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(code)


def _address_space() -> int:
    """Bytes of address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


class _Watch:
    """An audit hook that writes down what reading an input should not do.

    Args:
        folder: outside of which nothing may be written, or read but what belongs to the system and this project.
        target: descriptor that the notes go to.
    """

    def __init__(self, folder: Path, target: int) -> None:
        self._folder = f"{folder}{os.sep}"
        self._target = target
        roots = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(_PROJECT), *filter(None, sys.path)}
        self._readable = (*_READABLE, *(f"{os.path.realpath(root)}{os.sep}" for root in roots))

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*arguments)
        elif event == "exec":
            self._executed(arguments[0])
        elif event == "sqlite3.connect":
            self._connected(arguments[0])
        elif event == "sqlite3.enable_load_extension" or event == "sqlite3.load_extension":
            self._note(event, *arguments)
        elif event == "ctypes.dlopen" and arguments[0] and not self._may_read(arguments[0]):
            self._note(event, arguments[0])
        elif event in _CHANGES:
            for argument in arguments:
                if isinstance(argument, str | bytes) and not self._may_write(argument):
                    self._note(event, argument)
        elif event in _FORBIDDEN or event.startswith(_FORBIDDEN_FAMILIES):
            self._note(event, *arguments)
        elif event == "pickle.find_class" or (event == "marshal.loads" and not _importing(sys._getframe(1))):
            self._note(event, *arguments[:2])

    def _opened(self, path: Any, mode: str | None, flags: int) -> None:
        if not isinstance(path, str | bytes):
            return  # a descriptor that is open already
        writing = bool(flags & _WRITING) if isinstance(flags, int) else set(mode or "") & set("wxa+")
        if not (self._may_write(path) if writing else self._may_read(path)):
            self._note("written" if writing else "read", path)

    def _connected(self, database: Any) -> None:
        text = os.fsdecode(database)
        path = text.removeprefix("file://").partition("?")[0]
        if path not in (":memory:", "") and not self._may_write(path):
            self._note("sqlite3.connect", text)

    def _executed(self, code: Any) -> None:
        """Python runs code objects when it imports; others must come from files of programs, and not from an input."""
        name = getattr(code, "co_filename", "?")
        is_file = name.startswith(os.sep) and self._resolved(name).startswith(self._readable)
        if not is_file and not name.startswith("<frozen") and not _importing(sys._getframe(2)):
            self._note("exec", name)

    def _may_write(self, path: str | bytes) -> bool:
        return self._resolved(path).startswith(self._folder) or os.fsdecode(path) == os.devnull

    def _may_read(self, path: str | bytes) -> bool:
        return self._resolved(path).startswith((self._folder, *self._readable))

    def _resolved(self, path: str | bytes) -> str:
        return os.path.realpath(os.fsdecode(path))

    def _note(self, event: str, *arguments: Any) -> None:
        os.write(self._target, f"{event} {ascii(arguments)[:300]}\n".encode())


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported, or annotations of a class are looked up; what these execute is their own."""
    while frame is not None:
        if frame.f_code.co_filename in ("<frozen importlib._bootstrap>", typing.__file__):
            return True
        frame = frame.f_back
    return False


def main() -> None:
    folder, (module, _, name) = Path(sys.argv[1]), sys.argv[2].partition(":")
    function = getattr(__import__(module, fromlist=[name]), name)
    serve(folder, function)


if __name__ == "__main__":
    main()
