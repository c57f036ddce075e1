"""What a command must not do with an input, each done on purpose, so that the sandbox's own tests see it noticed."""

from __future__ import annotations

import ctypes
import os
import pickle
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path


def commit(arguments: list[str]) -> None:
    """Do the misdeed that the first argument names."""
    name, *rest = arguments
    _MISDEEDS[name](*rest)


def _end(code: str, *lines: str) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    sys.exit(int(code))


def _leave(path: str) -> None:
    Path(path).write_text("left", encoding="utf-8")
    _end("2", "dml-conformance: input.json: expected something else")


def _raise() -> None:
    raise RuntimeError("not caught")


def _endless() -> None:
    while True:
        pass


def _run_code() -> None:
    exec(compile("pass", "input.json", "exec"))


_MISDEEDS = {
    "nothing": lambda: None,
    "system": lambda: os.system("true"),
    "process": lambda: subprocess.run(["true"], check=True),
    "fork": lambda: os._exit(0) if os.fork() == 0 else os.wait(),
    "network": lambda: socket.socket().connect_ex(("127.0.0.1", 9)),
    "write": lambda path: Path(path).write_text("x", encoding="utf-8"),
    "remove": lambda path: Path(path).unlink(missing_ok=True),
    "link": lambda path: os.symlink("x", path),  # noqa: PTH211 - the event of this name is what is noticed
    "database": lambda path: sqlite3.connect(path),
    "read": lambda path: Path(path).read_bytes(),
    "code": _run_code,
    "unpickle": lambda: pickle.loads(b"cbuiltins\nlen\n."),
    "memory": lambda: bytearray(1 << 40),
    "endless": _endless,
    "crash": lambda: ctypes.string_at(0),
    "raise": _raise,
    "end": _end,
    "say": lambda text: sys.stdout.write(text),
    "leave": _leave,
}
