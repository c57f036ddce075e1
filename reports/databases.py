"""SQLite files from outside: read so that nothing in them runs, that reading them ends, and that nothing is written.

A file brings its own schema, in which a table can be a view of anything, and its pages can lead in circles. What it may
cost is bounded here by its size.

Of a file in WAL mode the newest content may lie in a second one beside it. SQLite reads the two together, but leaves
files of its own there while it does. So such a pair is read from a copy elsewhere, and a WAL file that is alone, which
has all its content, as one that nobody changes.
"""

from __future__ import annotations

import shutil
import sqlite3
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from dml_conformance.spec.errors import BadInputError

MOST_VALUE_BYTES = 32 << 20  # of one value; the largest that is written is a block of compressed cases
# Steps of SQLite's virtual machine: reading a table once takes it less than one for each byte of the file.
_MOST_STEPS_A_BYTE, _FREE_STEPS, _BETWEEN_LOOKS = 200, 10_000_000, 1_000_000
READING: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA})
ADDING: Final = READING | {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_TRANSACTION}

MOST_COPIED = 16 << 30  # bytes of a file and its WAL; no results are larger
_COPIES = 5  # tries, each undone where a writer began its WAL anew meanwhile
_HEADER = 32  # bytes, in which each WAL has numbers of its own, and a file says in which mode it is
_MODE_AT, _WAL_MODE = slice(18, 20), b"\2\2"


class UnreadableError(Exception):
    """A file that cannot be read as it lies there; the message says why, and what to do."""


class DatabaseFile:
    """An SQLite file opened for reading; nothing is written to its folder, which may be one that nobody can write to.

    Args:
        path: of the file.
        in_place: open it with its WAL where they lie; then files of SQLite's do come to lie beside them.
        create: open it for writing too, and make it where there is none.

    Attributes:
        connection: to the file, or to a copy of it with all that was committed.
        size: bytes that are read from, for `guard`.

    Raises:
        UnreadableError: what a writer left beside it has to be taken back first, or it is written to all the time.
        OSError, sqlite3.Error: it cannot be read.
    """

    def __init__(self, path: Path, *, in_place: bool = False, create: bool = False) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        if create:
            self.connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=rwc", uri=True, isolation_level=None)
            self.size = path.stat().st_size
            return
        self.size = path.stat().st_size
        real = path.resolve()
        wal = _beside(real, "wal")
        if not in_place and wal.is_file() and wal.stat().st_size > 0:
            self._folder = TemporaryDirectory(prefix="dml-conformance-")
            try:
                real = _copied(real, Path(self._folder.name))
                self.size = real.stat().st_size + _beside(real, "wal").stat().st_size
            except BaseException:
                self._folder.cleanup()
                raise
        is_whole = not in_place and self._folder is None and _head(real)[_MODE_AT] == _WAL_MODE
        mode = "mode=ro&immutable=1" if is_whole else "mode=ro"
        self.connection = sqlite3.connect(f"{real.as_uri()}?{mode}", uri=True, isolation_level=None)
        try:
            self.connection.execute("PRAGMA schema_version")
        except sqlite3.Error as error:
            self.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
            raise UnreadableError(
                f"its writer was stopped midway, and {path.name}-journal beside it has what is to be taken back; "
                "reading does not do so: write to it once with the program that made it"
            ) from error

    def close(self) -> None:
        self.connection.close()
        if self._folder is not None:
            self._folder.cleanup()


class DatabaseReader(ABC):
    """Something that reads a database. Use it as a context manager, or `close` it.

    Args:
        path: of the file.
        in_place, create: as for `DatabaseFile`.
    """

    def __init__(self, path: Path, *, in_place: bool = False, create: bool = False) -> None:
        self.path = path
        with self._using():
            self._file = DatabaseFile(path, in_place=in_place, create=create)
        self._connection = self._file.connection
        try:
            with self._using():
                self._open()
        except BadInputError:
            self.close()
            raise

    @abstractmethod
    def _using(self) -> AbstractContextManager[None]:
        """Whatever goes wrong with the file as the `BadInputError` that its user knows."""

    @abstractmethod
    def _open(self) -> None:
        """See that the file is what it should be, and guard what is done with it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


def _beside(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}-{kind}")


def _copied(path: Path, folder: Path) -> Path:
    """A copy of a file and its WAL, as they were at one moment.

    A writer may go on meanwhile: what it moves from the WAL into the file stays in the WAL too, until it begins that
    anew, which its header shows.
    """
    wal, copy = _beside(path, "wal"), folder / path.name
    if path.stat().st_size + wal.stat().st_size > MOST_COPIED:
        raise UnreadableError(
            f"has a WAL beside it and is too large to be copied: expected at most {MOST_COPIED:,} bytes"
        )
    for _ in range(_COPIES):
        before = _head(wal)
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, _beside(copy, "wal"))
        if before == _head(wal) == _head(_beside(copy, "wal")):
            return copy
    raise UnreadableError("is being written, and changed each time that it was read; wait for its writer to end")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER)


def guard(connection: sqlite3.Connection, size: int, actions: frozenset[int] = READING) -> None:
    """Bound what statements on an opened file can do.

    No view or trigger of the file takes part in a statement, no value is larger than `MOST_VALUE_BYTES`, and statements
    that take more steps than a file of this size needs are broken off. All of these end in `sqlite3.Error`.

    Args:
        connection: to the file.
        size: of the file, in bytes.
        actions: that statements may take, as `set_authorizer` names them.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)
    connection.set_authorizer(
        lambda action, _1, _2, _3, inside: (
            sqlite3.SQLITE_OK if inside is None and action in actions else sqlite3.SQLITE_DENY
        )
    )
    looks = count(1)
    most = _FREE_STEPS + _MOST_STEPS_A_BYTE * size
    connection.set_progress_handler(lambda: next(looks) * _BETWEEN_LOOKS > most, _BETWEEN_LOOKS)
