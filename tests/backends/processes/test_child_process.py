"""Processes that never outlive the one that started them, nor does what they start; messages to and from them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO

import psutil
import pytest

from dml_conformance.backends.processes import framing
from dml_conformance.backends.processes.child_process import ChildProcess, how_it_ended
from dml_conformance.backends.processes.framing import HEADER, MARK, Receiver, WireError, send

pytestmark = pytest.mark.skipif(os.name != "posix", reason="where there are no groups, nothing guards them")

# Tells the process that it starts, which ignores what can be ignored, and waits for its input to end.
STARTS = """\
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"])
print(f"{child.pid} {os.environ.get('WORD')} {os.getpgid(0) == os.getpid()}", flush=True)
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
    """It has the environment that it is given, and a group of its own."""
    process = started_process(remarks, STARTS, WORD="x")
    child, word, is_leader = os.read(process.replies, 100).split()
    assert (word, is_leader) == (b"x", b"True")
    assert psutil.Process(int(child)).is_running()
    if how.startswith("stop"):
        process.stop()
        assert process.process.returncode == 0
    elif how.startswith("killed"):
        process.kill()
        process.process.wait()
    assert psutil.pid_exists(int(child))
    process.end()
    assert is_gone(int(child))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(process.requests)
    assert [how_it_ended(code) for code in (3, -9, -99)] == [
        "ended with code 3",
        "died of SIGKILL",
        "died of signal 99",
    ]


@pytest.mark.parametrize("fails", [True, False])
def test_without_a_guard_there_is_no_process(fails: bool, remarks: IO[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the guard cannot be started, or the process is killed before it is."""
    started: list[subprocess.Popen[bytes]] = []
    whole = subprocess.Popen.__init__

    def start(self: subprocess.Popen[bytes], *arguments: object, **options: object) -> None:
        for process in started:
            if fails:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)  # from now on there is no such group to join
        started.append(self)
        whole(self, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess.Popen, "__init__", start)
    code = "import time; time.sleep(1000)"
    if fails:
        with pytest.raises(OSError, match="temporarily unavailable"):
            started_process(remarks, code)
        assert started[0].returncode == -signal.SIGKILL
        for pipe in (started[0].stdin, started[0].stdout):
            assert pipe is not None
            pipe.close()
        return
    process = started_process(remarks, code)
    assert os.read(process.replies, 100) == b""
    assert process.process.returncode is not None
    process.end()


# --- messages over pipes: in pieces, several at once, followed by bytes that are none ---------------------------------


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The end to read from, and the one to write to."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_messages_come_as_they_were_sent(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """However large they are, and though a pipe takes them in pieces; several may be on the way."""
    taken = os.write
    contents = [b"", b"one", bytes(range(256)) * 2000]
    for step in (7, 10_007, 10**9):
        monkeypatch.setattr(framing.os, "write", lambda file, data, step=step: taken(file, data[:step]))
        sent = contents if step > 7 else contents[:2]
        sender = threading.Thread(target=lambda sent=sent: [send(pipe[1], content, 5) for content in sent])
        sender.start()
        receiver = Receiver(pipe[0])
        assert [receiver.receive() for _ in sent] == [(5, content) for content in sent]
        sender.join()


@pytest.mark.parametrize(
    "data",
    [
        b"a line of text that is no message\n",
        HEADER.pack(MARK, 11, 1) + b"longer than",  # than a message may be
    ],
)
def test_what_is_no_message_is_told(pipe: tuple[int, int], data: bytes) -> None:
    os.write(pipe[1], data)
    with pytest.raises(WireError):
        Receiver(pipe[0], most=10).receive()


@pytest.mark.parametrize("data", [b"", HEADER.pack(MARK, 3, 1)[:-1], HEADER.pack(MARK, 3, 1) + b"on"])
def test_a_stream_may_end_anywhere(data: bytes) -> None:
    reads, writes = os.pipe()
    os.write(writes, data)
    os.close(writes)
    assert Receiver(reads).receive() is None
    os.close(reads)
