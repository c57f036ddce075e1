"""Processes that never outlive the one that started them, nor does what they start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO

import psutil
import pytest

from dml_conformance.backends.processes.child_process import ChildProcess, how_it_ended

pytestmark = pytest.mark.skipif(os.name != "posix", reason="where there are no groups, nothing guards them")

# Tells the process that it starts, which ignores what can be ignored, and waits for its input to end.
STARTS = """\
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"])
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def remarks() -> Iterator[IO[bytes]]:
    with TemporaryFile() as file:
        yield file


def started_process(remarks: IO[bytes], code: str, **environment: str) -> ChildProcess:
    return ChildProcess(sys.path, f"exec({code!a})", remarks, inherited=(), environment=environment)


def is_gone(pid: int) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("how", ["end", "stop, end", "killed, end"])
def test_with_it_ends_what_it_has_started(remarks: IO[bytes], how: str) -> None:
    process = started_process(remarks, STARTS)
    child = int(os.read(process.replies, 100))
    assert psutil.Process(child).is_running()
    if how.startswith("stop"):
        process.stop()
        assert process.process.returncode == 0
    elif how.startswith("killed"):
        process.kill()
        process.process.wait()
    assert psutil.pid_exists(child)
    process.end()
    assert is_gone(child)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(process.requests)


def test_it_has_the_environment_that_it_is_given_and_a_group_of_its_own(remarks: IO[bytes]) -> None:
    process = started_process(
        remarks, "import os; print(f'{os.environ[\"WORD\"]} {os.getpgid(0) == os.getpid()}')", WORD="x"
    )
    process.process.wait()
    assert os.read(process.replies, 100) == b"x True\n"
    process.end()


def test_without_a_guard_there_is_no_process(remarks: IO[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    whole = subprocess.Popen.__init__

    def fails_the_second_time(self: subprocess.Popen[bytes], *arguments: object, **options: object) -> None:
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(self)
        whole(self, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess.Popen, "__init__", fails_the_second_time)
    with pytest.raises(OSError, match="temporarily unavailable"):
        started_process(remarks, "import time; time.sleep(1000)")
    assert started[0].returncode == -signal.SIGKILL
    for pipe in (started[0].stdin, started[0].stdout):
        assert pipe is not None
        pipe.close()


def test_a_process_that_is_killed_before_its_guard_starts_has_ended(
    remarks: IO[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    whole = subprocess.Popen.__init__

    def kills_the_first(self: subprocess.Popen[bytes], *arguments: object, **options: object) -> None:
        for process in started:
            os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)  # from now on there is no such group to join
        started.append(self)
        whole(self, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess.Popen, "__init__", kills_the_first)
    process = started_process(remarks, "import time; time.sleep(1000)")
    assert os.read(process.replies, 100) == b""
    assert process.process.returncode is not None
    process.end()


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "ended with code 0"), (3, "ended with code 3"), (-9, "died of SIGKILL"), (-99, "died of signal 99")],
)
def test_how_it_ended(code: int, words: str) -> None:
    assert how_it_ended(code) == words
