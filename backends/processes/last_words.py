"""What a process wrote on its standard output and error, and the stack that faulthandler put between."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import PurePath
from typing import IO

from dml_conformance.backends.foreign_text import one_line

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MOST_READ = 2**16  # bytes, of the end
MOST_OUTPUT = 2**20  # bytes that may be on the disk
LONGEST_OUTPUT = 400
MOST_FRAMES = 8
# From its frames on outwards a stack is the harness's own.
_OWN = ("backends", "processes", "server.py")
_DUMP = re.compile(r"(?:Fatal Python error: .*|(?:Current thread|Thread) 0x[0-9a-f]+.* \(most recent call first\):)$")
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<name>.*)$')
_OF_DUMPS = ("Extension modules: ", "  ...", "  <")
_CURRENT = "Current thread"


class Remarks:
    """The file that a process prints to, of which the end is kept.

    Attributes:
        file: for the process to write to.
    """

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `close`
        if fcntl is not None:
            flags = fcntl.fcntl(self.file, fcntl.F_GETFL)
            fcntl.fcntl(self.file, fcntl.F_SETFL, flags | os.O_APPEND)
        self._start = 0  # of what was printed since the last `begin`
        self._before = b""  # what was printed since, and was cut

    def begin(self) -> None:
        """What has been printed until now is of no interest any more."""
        self._start, self._before = os.fstat(self.file.fileno()).st_size, b""

    def cut(self) -> None:
        """Take what was printed off the disk where it is too much.

        Raises:
            ValueError: the file has just been closed.
        """
        if fcntl is None:  # who writes next would do so where the end was
            return
        if os.fstat(self.file.fileno()).st_size > MOST_OUTPUT:
            self._before, self._start = self._printed(), 0
            os.ftruncate(self.file.fileno(), 0)

    def output(self) -> str:
        """The end of what was printed since the last `begin`, in one line, without stacks."""
        return _parts(self._printed())[0]

    def last_words(self) -> str:
        """What to say of a process that is gone: `: its last output: ...; its stack: ...`, or "" without either."""
        output, stack = _parts(self._printed())
        words = []
        if output:
            words.append(f"its last output: {output}")
        if stack:
            words.append(f"its stack: {stack}")
        return ": " + "; ".join(words) if words else ""

    def has_stack(self) -> bool:
        """Whether the process has written down where it is."""
        return bool(_parts(self._printed())[1])

    def close(self) -> None:
        self.file.close()

    def _printed(self) -> bytes:
        """The end of what was printed since the last `begin`."""
        end = os.fstat(self.file.fileno()).st_size
        start = max(self._start if self._start <= end else 0, end - MOST_READ)  # it may have been cut since
        if hasattr(os, "pread"):  # by position, not by seeking: the processes share one offset in the file
            printed = os.pread(self.file.fileno(), end - start, start)
        else:
            self.file.seek(start)
            printed = self.file.read(end - start)
        return (self._before + printed)[-MOST_READ:]


def _parts(text: bytes) -> tuple[str, str]:
    """The end of what was printed, and the stack of the thread that was at it."""
    printed: list[str] = []
    stacks: dict[str, list[str]] = {}
    frames: list[str] | None = None
    is_own = False
    for line in text.decode(errors="replace").splitlines():
        if dump := _DUMP.search(line):  # what was printed before it need not end a line
            printed.append(line[: dump.start()])
            frames, is_own = stacks.setdefault(dump[0], []), False
        elif frames is not None and (frame := _FRAME.match(line)):
            is_own = is_own or PurePath(frame["file"]).parts[-3:] == _OWN
            if not is_own:
                frames.append(f"{PurePath(frame['file']).name}:{frame['line']} ({frame['name']})")
        elif line and not line.startswith(_OF_DUMPS):
            printed.append(line)
    threads = [found for head, found in stacks.items() if head.startswith(_CURRENT)] or list(stacks.values())
    stack = next((found for found in reversed(threads) if found), [])
    shown = " < ".join(stack[:MOST_FRAMES]) + (" < ..." if len(stack) > MOST_FRAMES else "")
    output = one_line(" ".join(printed), 10**6)
    return output if len(output) <= LONGEST_OUTPUT else "..." + output[-LONGEST_OUTPUT:], shown
