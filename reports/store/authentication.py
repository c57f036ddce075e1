"""What tells the results that a command wrote from what something else made of them: a MAC under a key of the user's.

The MAC covers every row of every table, in order. Beside the rows, and committed with them, lie the MAC and the name of
its key; the key lies in the user's state folder.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

KEY_FILE = "results.key"
KEY_BYTES = MAC_BYTES = 32
_NAME_BYTES = 8  # of a key's name
_FETCHED = 512  # rows that are read at once

MAC_TABLE = """\
CREATE TABLE mac (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    key TEXT NOT NULL,
    value BLOB NOT NULL
)"""
# What is covered: of each table the columns that its rows are written with, and by what they are in order.
_COVERED = {
    "stream": "part, json FROM stream ORDER BY part",
    "label": "* FROM label ORDER BY id",
    "judgement": "* FROM judgement ORDER BY id",
    "tensors": "* FROM tensors ORDER BY id",
    "record": "* FROM record ORDER BY id",
    "remark": "* FROM remark ORDER BY id",
    "body": "* FROM body ORDER BY first",
    "throughput": "* FROM throughput ORDER BY id",
    "mark": "unit, records, labels, throughputs FROM mark ORDER BY id",
}
_pack = msgspec.msgpack.Encoder().encode


class Authenticity(Enum):
    """What the MAC in a results file says of its content."""

    SOUND = "it is what a command of this user wrote"
    CHANGED = "it is not what a command of this user wrote: something else has changed it"
    OF_ANOTHER_KEY = "it was written on another machine, or by another user"
    WITHOUT_MAC = "it has no MAC, as files of earlier releases have none"


class Key(NamedTuple):
    """A key for MACs.

    Attributes:
        secret: its bytes.
        problem: why it is not kept and ends with this process; "" where it is kept.
    """

    secret: bytes
    problem: str = ""

    @property
    def name(self) -> str:
        """What tells it from others, and nothing of its bytes."""
        return blake2b(b"name", key=self.secret, digest_size=_NAME_BYTES).hexdigest()


def state_folder() -> Path:
    """Where what a user's commands keep lies: below XDG_STATE_HOME or ~/.local/state, on Windows below LOCALAPPDATA."""
    base = Path(os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME", ""))
    if not base.is_absolute():
        base = Path(os.path.expanduser("~/.local/state"))  # noqa: PTH111 - a user may have no home
    return base / "dml-conformance"


@cache
def own_key() -> Key:
    """The user's key, made where there is none. Call it before a backend is loaded, whose code could be in its way."""
    try:
        return Key(_kept_secret() or _made_secret())
    except OSError as error:
        return Key(secrets.token_bytes(KEY_BYTES), str(error))


def kept_key() -> Key | None:
    """The user's key; None where there is none that can be used."""
    try:
        secret = _kept_secret()
    except OSError:
        return None
    return None if secret is None else Key(secret)


def _kept_secret() -> bytes | None:
    """The bytes of the key; None where there is none.

    Raises:
        OSError: it cannot be read, or others can read it.
    """
    path = state_folder() / KEY_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found, content = os.fstat(descriptor), file.read(KEY_BYTES + 1)
    is_open = sys.platform != "win32" and (found.st_mode & 0o077 or found.st_uid != os.geteuid())
    if is_open or len(content) != KEY_BYTES:
        raise OSError(f"{path}: expected {KEY_BYTES} bytes that nobody else may read; remove it, and one is made anew")
    return content


def _made_secret() -> bytes:
    """Make the key, unless another process does so at the same time, and return what is kept then."""
    folder = state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = folder / f".{KEY_FILE}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(partial, folder / KEY_FILE)
    finally:
        partial.unlink(missing_ok=True)
    secret = _kept_secret()
    if secret is None:
        raise OSError(f"{folder / KEY_FILE}: was removed as soon as it was made")
    return secret


class ContentDigest:
    """The digest of all rows of a results file: added as they are written, or read from the file.

    Each table has its own, so that the order in which rows of different tables are written does not count.
    """

    def __init__(self) -> None:
        self._digests = {table: blake2b() for table in _COVERED}

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> ContentDigest:
        """Of what a file holds; a table that is not there counts as one without rows."""
        found = cls()
        for table in _COVERED:
            found.read(connection, table)
        return found

    def add(self, table: str, rows: Iterable[Iterable[Any]]) -> None:
        """Take rows that come after all others of a table, with the columns in its order."""
        self._digests[table].update(b"".join(map(_pack, rows)))

    def read(self, connection: sqlite3.Connection, table: str) -> None:
        """Take all rows that a file has in a table."""
        if connection.execute("SELECT name FROM sqlite_master WHERE name = ?", (table,)).fetchone() is None:
            return
        cursor = connection.execute(f"SELECT {_COVERED[table]}")
        while rows := cursor.fetchmany(_FETCHED):
            self.add(table, rows)

    def clear(self, table: str) -> None:
        """Forget the rows of a table that is removed."""
        self._digests[table] = blake2b()

    def mac(self, secret: bytes, unfinished: tuple[int, bytes] | None = None) -> bytes:
        """The MAC of all this under a key.

        Args:
            secret: of the key.
            unfinished: a last row of `body` that was not added, as it is written again when there is more of it.
        """
        mac = blake2b(key=secret, digest_size=MAC_BYTES)
        for table, digest in self._digests.items():
            if table == "body" and unfinished is not None:
                digest = digest.copy()
                digest.update(_pack(unfinished))
            mac.update(digest.digest())
        return mac.digest()


def put_mac(connection: sqlite3.Connection, key: Key, mac: bytes) -> None:
    """Write the MAC in place of the one that is there; in the transaction that writes what it covers."""
    connection.execute("INSERT OR REPLACE INTO mac VALUES (1, ?, ?)", (key.name, mac))


def is_mac(row: tuple[Any, ...]) -> bool:
    """Whether a row of the table is of the form that `put_mac` writes; its MAC is only known to who has the key."""
    _, key, value = row
    is_name = type(key) is str and re.fullmatch(f"[0-9a-f]{{{2 * _NAME_BYTES}}}", key) is not None
    return is_name and type(value) is bytes and len(value) == MAC_BYTES


def authenticity_of(connection: sqlite3.Connection, key: Key | None) -> Authenticity:
    """What the MAC in an opened file says of its content, as far as a key tells; in a transaction that is open.

    Raises:
        sqlite3.Error, TypeError, ValueError: the file is damaged.
    """
    if connection.execute("SELECT name FROM sqlite_master WHERE name = 'mac'").fetchone() is None:
        return Authenticity.WITHOUT_MAC
    row = connection.execute("SELECT key, value FROM mac").fetchone()
    if row is None:
        return Authenticity.WITHOUT_MAC
    if key is None or row[0] != key.name:
        return Authenticity.OF_ANOTHER_KEY
    return Authenticity.SOUND if row[1] == ContentDigest.of(connection).mac(key.secret) else Authenticity.CHANGED
