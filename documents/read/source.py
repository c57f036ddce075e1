"""From a file to text, or a reason why not: what is no page at all is refused here, before anything is parsed."""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path

from dml_conformance.documents.read.model import PageError, Place, ReadingProblem

# The largest pages of the documentation have some 100 kB and 2 000 lines. A file is refused before it is read.
MAX_BYTES = 1 << 20
MAX_LINES = 20_000
_LONGEST_FRAGMENT = 80

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")


class PageText:
    """The text of a page, the places in it, and what could not be read of it.

    Line ends are one newline each, offsets count characters from 0.
    """

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = self.text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines[:-1])]
        self.problems: list[ReadingProblem] = []

    def place(self, offset: int) -> Place:
        line = bisect_right(self.starts, offset) - 1
        return Place(line + 1, offset - self.starts[line] + 1)

    def problem(self, id: str, what: str, fragment: str, offset: int) -> None:
        """Something at this offset cannot be read."""
        self.problems.append(ReadingProblem(id, what, fragment[:_LONGEST_FRAGMENT], self.place(offset)))


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file of at most `MAX_BYTES`.

    Raises:
        PageError: no such file, not a regular file, too large or unreadable.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise PageError(f"{path} is {kind}; expected a page, a Markdown or text file: name the files one by one")
        if status.st_size > MAX_BYTES:
            raise PageError(_too_large(str(path), f"{status.st_size} bytes, at most {MAX_BYTES}"))
        with path.open("rb") as file:
            # Bounded once more: the size of a file can change, and some file systems do not tell it.
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        why = error.strerror or error
        raise PageError(f"{path} cannot be read: {why}; check the path and its permissions") from None


def decode(data: bytes, path: str) -> PageText:
    """The text in these bytes: UTF-8 with or without byte order mark, or UTF-16 with one.

    Raises:
        PageError: too many bytes, another encoding, or no text.
    """
    if len(data) > MAX_BYTES:
        raise PageError(_too_large(path, f"{len(data)} bytes, at most {MAX_BYTES}"))
    encoding = "utf-16" if data.startswith(_UTF16_MARKS) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise PageError(
            f"{path} is not text in {encoding.removesuffix('-sig').upper()} (byte {error.start}); expected a page as "
            "UTF-8, or as UTF-16 with a byte order mark: save it as UTF-8"
        ) from None
    if not text.strip():
        raise PageError(f"{path} is empty; expected a page on an operator")
    control = _CONTROL.search(text)
    if control is not None:
        raise PageError(
            f"{path} is not text: it holds the control character U+{ord(control.group()):04X}; expected a page, a "
            "Markdown or text file in UTF-8"
        )
    document = PageText(text)
    if len(document.lines) > MAX_LINES:
        raise PageError(_too_large(path, f"{len(document.lines)} lines, at most {MAX_LINES}"))
    return document


def _too_large(path: str, size: str) -> str:
    return f"{path} is too large for a page: {size} are read; expected one page on one operator: split the file"
