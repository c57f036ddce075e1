"""Which files are pages, those named and those found in folders; and page models together in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from dml_conformance.backends.foreign_text import encodable
from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import NoOperatorPage, Page, PageError

SUFFIXES = (".md", ".txt")
_MARK = b"_OPERATOR_DESC"
_LOOKED_AT = 1 << 16  # bytes of a file that is too large or no text, for the name of a structure


class OtherFile(msgspec.Struct, frozen=True):
    """A file in a folder that is no page on an operator.

    Attributes:
        path: of the file.
        reason: why it is none.
    """

    path: str
    reason: str


class UnreadableFile(msgspec.Struct, frozen=True):
    """A file or folder that cannot be read as asked.

    Attributes:
        path: as it was given, or as it was found.
        problem: why, and what to do.
    """

    path: str
    problem: str


class PageFiles(NamedTuple):
    """What came of the files asked for.

    Attributes:
        pages: in the order asked for, those of a folder by path.
        skipped: found in folders, and no pages on operators.
        failures: what was named and cannot be read, and broken pages in folders.
    """

    pages: tuple[Page, ...]
    skipped: tuple[OtherFile, ...]
    failures: tuple[UnreadableFile, ...]


def collect(paths: Iterable[Path]) -> PageFiles:
    """Read pages.

    Args:
        paths: of files, and of folders, of which every Markdown and text file is looked at, also in the folders below;
            hidden ones are not. A file that is reached twice is read once.
    """
    pages: list[Page] = []
    skipped: list[OtherFile] = []
    failures: list[UnreadableFile] = []
    seen: set[str] = set()

    def read(path: Path, *, is_named: bool) -> None:
        real = os.path.realpath(path)
        if real in seen:
            return
        seen.add(real)
        shown = encodable(str(path))
        try:
            page = read_page(path)
        except PageError as error:
            if is_named or not (isinstance(error, NoOperatorPage) or _names_no_operator(path)):
                failures.append(UnreadableFile(shown, encodable(str(error))))
            else:
                skipped.append(OtherFile(shown, encodable(str(error))))
        else:
            pages.append(msgspec.structs.replace(page, path=shown))

    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112 - which never raises
            read(path, is_named=True)
            continue
        before = len(pages), len(failures), len(seen)
        for file in _below(path, failures):
            read(file, is_named=False)
        if before[:2] == (len(pages), len(failures)):
            looked_at = len(seen) - before[2]
            problem = f"{path} holds no page on an operator; {looked_at} {'/'.join(SUFFIXES)} files were looked at"
            failures.append(UnreadableFile(encodable(str(path)), encodable(problem)))
    return PageFiles(tuple(pages), tuple(skipped), tuple(failures))


def _names_no_operator(path: Path) -> bool:
    """Whether a file that cannot be read as a page is none at all; one that names a structure is a broken page."""
    try:
        with path.open("rb") as file:
            start = file.read(_LOOKED_AT)
    except OSError:
        return False
    return _MARK not in start and _MARK.decode().encode("utf-16-le") not in start


def _below(folder: Path, failures: list[UnreadableFile]) -> Iterator[Path]:
    """Markdown and text files in a folder and those below it, by path."""

    def failed(error: OSError) -> None:
        path = encodable(str(error.filename))
        failures.append(UnreadableFile(path, f"{path} cannot be read: {error.strerror}"))

    found = []
    for parent, folders, files in os.walk(folder, onerror=failed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in files if name.lower().endswith(SUFFIXES) and not name.startswith(".")]
    yield from sorted(found)


class PageCollection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Several pages.

    Attributes:
        format: 1; raised when something in it changes meaning.
        pages: in the order in which they were asked for.
    """

    format: int
    pages: tuple[Page, ...]

    def to_json(self) -> bytes:
        """Indented JSON, the same for the same pages."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"
