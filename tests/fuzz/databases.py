"""Edits of SQLite files: of their schema, of the values in their tables, and of their pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Any

import zstandard
from hypothesis import strategies as st

from fuzz.edits import HOSTILE_TEXTS, bytes_edited, json_edited, places

_TOKENS = (b"SQLite format 3\0", b"CREATE VIEW", b"CREATE TRIGGER", b"WITHOUT ROWID", b"record", b"\x0d", b"\x05")
# Columns that hold JSON, as text or compressed by Zstandard.
_INNER = (
    *(("stream", "json"), ("body", "bodies"), ("throughput", "seconds")),
    *(("mark", "unit"), ("mark", "records"), ("run", "json")),
)
_LONG = "x" * 3_000_000
_VALUES: tuple[Any, ...] = (
    None,
    *(-1, 0, 1, 2**31, 2**62, -(2**63)),
    *(0.5, 1e308, float("inf"), -0.0),
    *(text for text in HOSTILE_TEXTS if "\ud800" not in text),
    *(b"", b"\0" * 32, b"\xff" * 31, b"\xed\xa0\x80"),
    "9" * 400,
    _LONG,
)
# What is of use to one who wants a reader's program to run for long, to take memory, to call functions or to write.
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
_LARGE = "SELECT zeroblob(900000000) FROM (SELECT 1)"
_STATEMENTS: tuple[str, ...] = (
    "CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
    "CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT load_extension('x'); END",
    "CREATE VIEW v AS SELECT * FROM v",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "CREATE TABLE extra (a, b GENERATED ALWAYS AS (hex(zeroblob(a))))",
    "CREATE UNIQUE INDEX odd ON {table} (json_extract('{{}}', '$'))",
    "ALTER TABLE {table} ADD COLUMN more GENERATED ALWAYS AS (hex(randomblob(1000000)))",
    "ALTER TABLE {table} RENAME TO other",
    "ALTER TABLE {table} RENAME COLUMN {column} TO other",
    "ALTER TABLE {table} DROP COLUMN {column}",
    "DROP TABLE {table}",
    "DELETE FROM {table}",
    "DELETE FROM {table} WHERE rowid = {row}",
    "INSERT INTO {table} SELECT * FROM {table} WHERE true ON CONFLICT DO NOTHING",
    "UPDATE {table} SET {column} = rowid * 1000003",
    "PRAGMA user_version = {row}",
    "PRAGMA application_id = {row}",
    "PRAGMA journal_mode = WAL",
    "UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', 'BLOB')",
    "UPDATE sqlite_schema SET sql = replace(sql, 'TEXT', 'TEXT DEFAULT (randomblob(900000000))')",
    "UPDATE sqlite_schema SET rootpage = {row} WHERE name = '{table}'",
    "UPDATE sqlite_schema SET sql = 'CREATE TABLE {table}(a' || char(0) || ')' WHERE name = '{table}'",
    "UPDATE sqlite_schema SET name = char(27) || name WHERE name = '{table}'",
    "DELETE FROM sqlite_schema WHERE name = '{table}'",
    "INSERT INTO sqlite_schema VALUES ('table', 'sqlite_stat1', 'sqlite_stat1', 2, 'CREATE TABLE sqlite_stat1(a)')",
)


def database_edited(draw: st.DrawFn, content: bytes) -> bytes:
    """A database with edits by SQL, of its pages, or both."""
    how = draw(st.sampled_from(["sql", "sql", "sql", "pages", "both"]))
    if how != "pages":
        content = _by_sql(draw, content)
    if how != "sql":
        content = bytes_edited(draw, content, _TOKENS)
    return content


def _by_sql(draw: st.DrawFn, content: bytes) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(content)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for _ in range(draw(st.integers(1, 3))):
            edit: _Edit = draw(st.sampled_from([_value, _statement, _replaced, _inner, _inner]))
            tables = _tables(connection)
            if edit is _inner:
                tables = {table: [column] for table, column in _INNER if column in tables.get(table, ())}
            if tables:
                # What SQLite refuses is no edit, nor is one of JSON that an edit before has spoiled.
                with suppress(*_NO_EDIT):
                    edit(draw, connection, tables)
        with suppress(sqlite3.Error):
            content = connection.serialize()
    return content


_Tables = dict[str, Sequence[str]]
_NO_EDIT = (sqlite3.Error, zstandard.ZstdError, OverflowError, ValueError, MemoryError, RecursionError)
_Edit = Callable[[st.DrawFn, sqlite3.Connection, _Tables], None]


def _tables(connection: sqlite3.Connection) -> _Tables:
    """The columns of each table."""
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in names}
    except sqlite3.Error:  # the edits before have left nothing to read
        return {}


def _place(draw: st.DrawFn, tables: _Tables) -> tuple[str, str]:
    table = draw(st.sampled_from(list(tables)))
    return table, draw(st.sampled_from(tables[table] or ["rowid"]))


def _value(draw: st.DrawFn, connection: sqlite3.Connection, tables: _Tables) -> None:
    """Another value in one row, or in all of them."""
    table, column = _place(draw, tables)
    value = draw(st.sampled_from(_VALUES))
    everywhere = draw(st.booleans()) and value != _LONG
    where = "true" if everywhere else _one_row(draw, connection, table)
    connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {where}', (value,))


def _one_row(draw: st.DrawFn, connection: sqlite3.Connection, table: str) -> str:
    (count,) = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()
    key = connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk = 1", (table,)).fetchone()
    name = key[0] if key else "rowid"
    return f'"{name}" = (SELECT "{name}" FROM "{table}" LIMIT 1 OFFSET {draw(places) % max(count, 1)})'


def _statement(draw: st.DrawFn, connection: sqlite3.Connection, tables: _Tables) -> None:
    table, column = _place(draw, tables)
    row = draw(st.sampled_from([-1, 0, 1, 2, 3, 7, 99_999]))
    connection.execute(draw(st.sampled_from(_STATEMENTS)).format(table=table, column=column, row=row))


def _replaced(draw: st.DrawFn, connection: sqlite3.Connection, tables: _Tables) -> None:
    """A view in the place of a table, with columns of its names that have no end or are beyond all measure."""
    table, _ = _place(draw, tables)
    kinds = st.sampled_from(["i", "0", f"({_LARGE})", "'{}'", "'campaign'", "randomblob(32)"])
    selected = ", ".join(f'{draw(kinds)} AS "{column}"' for column in tables[table])
    limit = draw(st.sampled_from(["", " LIMIT 10", " LIMIT 10000000"]))
    connection.execute(f'DROP TABLE "{table}"')
    connection.execute(f'CREATE VIEW "{table}" AS {_ENDLESS} SELECT {selected} FROM n{limit}')


def _inner(draw: st.DrawFn, connection: sqlite3.Connection, tables: _Tables) -> None:
    """JSON in a row, edited as such; where it is compressed, also what unpacks to far too much."""
    table, column = _place(draw, tables)
    where = _one_row(draw, connection, table)
    (content,) = connection.execute(f'SELECT "{column}" FROM "{table}" WHERE {where}').fetchone() or (None,)
    if isinstance(content, str):
        value: Any = json_edited(draw, content).decode("utf-8", "replace")
    elif isinstance(content, bytes):
        is_bomb = not draw(st.integers(0, 4))
        value = zstandard.compress(
            draw(st.sampled_from(_BOMBS))() if is_bomb else json_edited(draw, zstandard.decompress(content))
        )
    else:
        return  # an edit before has put something else there, or nothing
    connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {where}', (value,))


_BOMBS: tuple[Callable[[], bytes], ...] = (
    lambda: bytes(64 << 20),
    lambda: b"[" + b",".join([b"0"] * 8_000_000) + b"]",
    lambda: b"[" + b",".join([b"[]"] * 5_000_000) + b"]",
    lambda: b"[[{" + b",".join([b'"a":[]'] * 2_000_000) + b'},[],"","",""]]',
    lambda: b"[" * 15_000_000,
    lambda: b"[" + b",".join([b'[{"type":"T","desc":{}},[],"","",""]'] * 128) + b"]",
)
