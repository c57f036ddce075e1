"""A script that runs commands of the suite and has them killed, or their disk full, at moments counted beforehand.

It reads scenarios from standard input, one JSON object a line, and writes what became of each. A command is run in a
process forked from this one, which has everything loaded, so that hundreds of them take as long as what they do.

A moment is whatever leaves something behind or takes it away: a record that the store takes, an SQL statement that it
executes (a statement that inserts many rows is many), a file that is opened to be written, made, renamed or removed.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

import dml_conformance.conformance.cli.certify
import dml_conformance.conformance.cli.run  # noqa: F401 - both are loaded before any process is forked
from dml_conformance.conformance.campaign import driver
from dml_conformance.conformance.cli import main
from dml_conformance.reports.store import results as store
from dml_conformance.reports.store.results import StoreWriter

KINDS = RECORD, SQL, FILE = "record", "sql", "file"
FILE_EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate")


class Attempt(msgspec.Struct):
    """One command, and what happens to it.

    Attributes:
        arguments: of `dml-conformance`.
        moment: at which it is sent the signal, from 1 on; 0 = never.
        signal: that it is sent; 0 = file operations fail from that moment on, as on a full disk.
        file_bytes: the most that a file may have, as a quota sets it; 0 = any.
        pages: the most that the results may have; 0 = any.
        resumes: whether `--resume` is added, where there is something to resume: a file that was not there before.
        kinds: of moments that are counted. At an SQL statement the process can be killed, and not be told to stop: the
            module that executes it would not pass on what is raised.
    """

    arguments: list[str]
    moment: int = 0
    signal: int = 0
    file_bytes: int = 0
    pages: int = 0
    resumes: bool = False
    kinds: tuple[str, ...] = KINDS


class Outcome(msgspec.Struct):
    """What became of a command: its exit code, or the signal that ended it as a negative number; what it wrote."""

    code: int
    moments: int
    stdout: str
    stderr: str


class Moments:
    """Counts moments, and acts at one of them."""

    def __init__(self, attempt: Attempt, report: Path) -> None:
        self._attempt = attempt
        self._report = report
        self._here = str(Path.cwd())
        self._is_watching = True
        self.count = 0

    def passes(self, kind: str) -> None:
        """One more moment is about to come."""
        if not self._is_watching or kind not in self._attempt.kinds:
            return
        self.count += 1
        wanted = self._attempt.moment
        if self._attempt.signal and self.count == wanted:
            self.tell()
            os.kill(os.getpid(), self._attempt.signal)
        elif kind == FILE and wanted and not self._attempt.signal and self.count >= wanted:
            raise OSError(28, "No space left on device")

    def tell(self) -> None:
        """Write down how many there were."""
        self._is_watching = False
        self._report.write_text(str(self.count))
        self._is_watching = True

    def watch(self) -> None:
        """Count from here on, until the process ends."""
        connect, record = StoreWriter._connect, StoreWriter.record

        def watched_connect(writer: StoreWriter) -> None:
            connect(writer)
            assert isinstance(writer._connection, sqlite3.Connection)
            writer._connection.set_trace_callback(lambda statement: self.passes(SQL))

        def watched_record(writer: StoreWriter, taken: Any) -> None:
            if self._attempt.pages:
                assert writer._connection is not None
                writer._connection.execute(f"PRAGMA max_page_count = {self._attempt.pages}")
            self.passes(RECORD)
            record(writer, taken)

        replaced: Any = StoreWriter
        replaced._connect, replaced.record = watched_connect, watched_record
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in FILE_EVENTS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 - no file is looked at
        is_read = event == "open" and not int(arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        takes = event in ("os.remove", "os.rmdir") and not self._attempt.signal  # a full disk has room for that
        if path.startswith(self._here + os.sep) and not is_read and not takes:
            self.passes(FILE)


def run(attempt: Attempt, here: Path) -> Outcome:
    """Run a command in a folder, in a process of its own."""
    names = [here.with_name(f"{here.name}-{name}") for name in ("moments", "stdout", "stderr")]
    for name in names:
        name.write_text("")
    child = os.fork()
    if child == 0:
        os.chdir(here)
        _exit_with(lambda: _child(attempt, *names))
    _, status = os.waitpid(child, 0)
    count, stdout, stderr = (name.read_text() for name in names)
    return Outcome(os.waitstatus_to_exitcode(status), int(count or 0), stdout, stderr)


def _exit_with(action: Callable[[], int]) -> None:
    code = 99
    try:
        code = action()
    finally:
        os._exit(code)


def _child(attempt: Attempt, moments_file: Path, stdout: Path, stderr: Path) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream, path in ((sys.stdout, stdout), (sys.stderr, stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_TRUNC), stream.fileno())
    if attempt.file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (attempt.file_bytes, attempt.file_bytes))
    driver.BLOCK_LINES = 64
    store.COMMIT_SECONDS = 0  # every unit is committed, so that few cases make many different moments
    moments = Moments(attempt, moments_file)
    moments.watch()
    code: Any = 0
    try:
        resume = ["--resume"] if attempt.resumes and any(Path().glob("*out*")) else []
        main([*attempt.arguments, *resume], prog_name="dml-conformance")
    except SystemExit as stop:
        code = stop.code
    sys.stdout.flush()
    sys.stderr.flush()
    if not attempt.file_bytes:
        moments.tell()
    return int(code or 0)


if __name__ == "__main__":
    for line in sys.stdin:
        here, attempts = msgspec.convert(json.loads(line), tuple[str, list[Attempt]])
        outcomes = [run(attempt, Path(here)) for attempt in attempts]
        sys.stdout.buffer.write(msgspec.json.encode(outcomes) + b"\n")
        sys.stdout.flush()
