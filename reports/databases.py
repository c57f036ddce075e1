"""SQLite files from outside: read so that nothing in them runs, and that reading them ends.

A file brings its own schema, in which a table can be a view of anything, and its pages can lead in circles. What it may
cost is bounded here by its size.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

MOST_VALUE_BYTES = 32 << 20  # of one value; the largest that is written is a block of compressed cases
# Steps of SQLite's virtual machine: reading a table once takes it less than one for each byte of the file.
_MOST_STEPS_A_BYTE, _FREE_STEPS, _BETWEEN_LOOKS = 200, 10_000_000, 1_000_000
READING: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA})
ADDING: Final = READING | {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_TRANSACTION}


def guard(connection: sqlite3.Connection, path: Path, actions: frozenset[int] = READING) -> None:
    """Bound what statements on an opened file can do.

    No view or trigger of the file takes part in a statement, no value is larger than `MOST_VALUE_BYTES`, and statements
    that take more steps than a file of this size needs are broken off. All of these end in `sqlite3.Error`.

    Args:
        connection: to the file.
        path: of the file.
        actions: that statements may take, as `set_authorizer` names them.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)
    connection.set_authorizer(_Authorizer(actions))
    connection.set_progress_handler(_Steps(path.stat().st_size), _BETWEEN_LOOKS)


class _Authorizer:
    """Allows some actions, and none on behalf of a view or trigger."""

    def __init__(self, actions: frozenset[int]) -> None:
        self._actions = actions

    def __call__(self, action: int, _1: str | None, _2: str | None, _3: str | None, inside: str | None) -> int:
        return sqlite3.SQLITE_OK if inside is None and action in self._actions else sqlite3.SQLITE_DENY


class _Steps:
    """Counts steps, and says when there were too many."""

    def __init__(self, size: int) -> None:
        self._left = _FREE_STEPS + _MOST_STEPS_A_BYTE * size

    def __call__(self) -> bool:
        self._left -= _BETWEEN_LOOKS
        return self._left < 0
