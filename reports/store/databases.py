"""SQLite files from outside: read so that nothing in them runs, that reading them ends, and that nothing is written.

A file brings its own schema, in which a table can be a view of anything, and its pages can lead in circles. What it may
cost is bounded here by its size.

A file whose writer was stopped midway, or that has a WAL of somebody's beside it, is not whole; it is refused, as to
read it SQLite would have to write to its folder.
"""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dml_conformance.spec.errors import BadInputError

MOST_VALUE_BYTES = 32 << 20  # of one value; the largest that is written is a block of compressed cases
# Steps of SQLite's virtual machine: reading a table once takes it less than one for each byte of the file.
_MOST_STEPS_A_BYTE, _FREE_STEPS, _BETWEEN_LOOKS = 200, 10_000_000, 1_000_000
READING: Final = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_PRAGMA,
        sqlite3.SQLITE_TRANSACTION,
    }
)
ADDING: Final = READING | {sqlite3.SQLITE_INSERT}

_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names a super-journal, SQLite's file format 3

_MODE_AT, _WAL_MODE = 18, b"\2\2"  # in the header of a file


class UnreadableError(Exception):
    """A file that cannot be read as it lies there; the message says why, and what to do."""


def _connection(path: Path, *, restore: bool, create: bool) -> sqlite3.Connection:
    """A connection to a file; unless it is to be restored or created nothing is written to it or its folder.

    Raises:
        UnreadableError: what a writer left beside it has to be taken back or put in first.
        OSError, sqlite3.Error: it cannot be read.
    """
    mode = "rwc" if create else "rw" if restore else "ro"
    if mode == "ro":
        wal = path.resolve().with_name(f"{path.resolve().name}-wal")
        if wal.is_file() and wal.stat().st_size > 0:
            raise UnreadableError(
                f"{path.name}-wal beside it has what is not in it yet; reading does not put it in: wait for its writer "
                "to end, or open it once with the program that made it"
            )
        with path.open("rb") as file:
            file.seek(_MODE_AT)
            if file.read(len(_WAL_MODE)) == _WAL_MODE:  # without a WAL the file has all there is
                mode = "ro&immutable=1"
    elif _names_another_file(path):
        raise UnreadableError(
            f"{path.name}-journal beside it names another file, which SQLite would remove when it takes back what a "
            "writer had not finished; no writer of this suite leaves such a journal: look who did, and remove it"
        )
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        connection.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
        raise UnreadableError(
            f"its writer was stopped midway, and {path.name}-journal beside it has what is to be taken back; "
            "reading does not do so: write to it once with the program that made it"
        ) from error
    return connection


def _names_another_file(path: Path) -> bool:
    """Whether the journal beside a file names a super-journal, as one of several files written together does."""
    try:
        with path.resolve().with_name(f"{path.resolve().name}-journal").open("rb") as journal:
            journal.seek(-len(_JOURNAL_MAGIC), os.SEEK_END)
            return journal.read() == _JOURNAL_MAGIC
    except OSError:  # there is none, or it is shorter than that
        return False


class DatabaseReader(ABC):
    """Something that reads a database. Use it as a context manager, or `close` it.

    Args:
        path: of the file.
        restore: take back first what a writer that was stopped midway had not finished.
        create: open it for writing too, and make it where there is none.
    """

    def __init__(self, path: Path, *, restore: bool = False, create: bool = False) -> None:
        self.path = path
        with self._using():
            self._connection = _connection(path, restore=restore, create=create)
            self._size = path.stat().st_size  # for `guard`
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
        self._connection.close()

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


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
