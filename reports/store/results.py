"""The results of a campaign in one SQLite file: every record with its whole case.

What its tables hold is told in `forms`. Bodies that are compressed together take a twentieth of their room.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import zstandard

from dml_conformance.reports.model.encoded import LONGEST_REASON, EncodedRecord
from dml_conformance.reports.model.records import TRAITS as ALL_TRAITS
from dml_conformance.reports.model.records import (
    Body,
    Caches,
    Campaign,
    Caveat,
    Ending,
    Phase,
    Record,
    Throughput,
    Verdict,
)
from dml_conformance.reports.model.stream import ALL, Consumer, StreamError
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.store.authentication import (
    MAC_TABLE,
    Authenticity,
    ContentDigest,
    Key,
    authenticity_of,
    kept_key,
    own_key,
    put_mac,
)
from dml_conformance.reports.store.checks import (
    check_campaign,
    check_ending,
    check_lengths,
    check_record,
    check_throughput,
)
from dml_conformance.reports.store.databases import DatabaseReader, UnreadableError, guard
from dml_conformance.reports.store.forms import FORMS, JUDGEMENT, MAX_BLOCK_BYTES, START, TENSORS, TRAITS, Form
from dml_conformance.spec.case import digest_of
from dml_conformance.spec.errors import BadInputError, BrokenRunError

APPLICATION_ID = 0x444D4C43  # "DMLC", in the file's header
SCHEMA_VERSION = 5  # of what is written
_READABLE = " or ".join(map(str, FORMS))
PAGE_SIZE = 8192  # bytes
BLOCK = 4096  # records whose bodies are compressed together, and that are in a transaction, at most
COMMIT_SECONDS = 2.0  # between the transactions of a run that makes few records, at the end of a unit of work
_FETCHED = 512  # records that are read at once
READER_SECONDS = 60.0  # that whoever reads a file keeps its writer waiting, before that gives up
# Levels of Zstandard: of a block that is written once more when there is more of it, and of one that is whole.
_QUICK, _SMALL = 3, 9

_judgement_of, _tensors_of = attrgetter(*JUDGEMENT), attrgetter(*TENSORS, "rank")
_COLUMNS = ("id", "digest", *TRAITS, "rank", "seconds", "difference_count", "reason")

# Only in the file of a run that has not ended: what of it is finished, and how much of the stream there was by then.
_MARKS = """
CREATE TABLE mark (
    id INTEGER PRIMARY KEY,
    unit TEXT NOT NULL,
    records INTEGER NOT NULL,
    labels INTEGER NOT NULL,
    throughputs INTEGER NOT NULL
);
"""

# `differing` is a function that `Store` makes of what it is asked for. What is numbered to find the first of each kind
# are rows of few columns, which sort fast.
_RANKED = f"""
SELECT id, digest, differs, is_wanted, is_first, {", ".join(TRAITS)}, rank FROM (
    SELECT id, digest, {", ".join(TRAITS)}, rank, {{changed}} AS is_changed, {{wanted}} AS is_wanted,
        verdict IN (SELECT id FROM label WHERE differing(text)) AS differs,
        id IN (SELECT id FROM (
            SELECT id, row_number() OVER (PARTITION BY operator, level, rule, verdict ORDER BY id) AS place
            FROM {{records}}
        ) WHERE place <= ?) AS is_first
    FROM {{records}}
) ORDER BY is_changed DESC, differs DESC, is_wanted DESC, is_first DESC, substr(digest, 1, 8), id LIMIT ?
"""  # noqa: S608 - constants only
_LONGEST = 1e6  # seconds that are counted in microseconds
_KEY_DIGITS = 16  # of a digest, by which cases are put in order


class RankedCase(NamedTuple):
    """A case as a list has it.

    Attributes:
        number: of its record.
        key: the first digits of its digest.
        differs: whether it differs.
        is_wanted: whether it was asked for among those that differ.
        is_first: whether it is one of the first of its kind.
        traits: in the order of the model's.
    """

    number: int
    key: str
    differs: bool
    is_wanted: bool
    is_first: bool
    traits: tuple[Any, ...]


def _throughput_of(row: Sequence[Any]) -> Throughput:
    operator, data_type, shape, useful, seconds, copy, size, caches, caveats, *layer = row
    runs = msgspec.json.decode(seconds, type=tuple[float, ...])
    known = msgspec.json.decode(caveats, type=tuple[Caveat, ...])
    return Throughput(operator, data_type, shape, useful, runs, copy, size, Caches(caches), known, *layer)


class StoreError(BadInputError):
    """A results file that cannot be read or written; the message names the file and what was expected."""


class StoreWriteError(BrokenRunError, StoreError):
    """A results file that cannot be written any more, because the disk is full for example."""


class Mark(NamedTuple):
    """A finished unit of work, and how much of the stream a results file holds up to its end."""

    unit: str
    records: int
    labels: int
    throughputs: int


NOTHING = Mark("", 0, 0, 0)


# What reading a damaged file can raise, from SQLite to the decoders.
_DAMAGE = (
    sqlite3.Error,
    OSError,
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
)

_ENCODER = msgspec.json.Encoder()
_BLOCK_DECODER: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(
    Annotated[list[msgspec.Raw], msgspec.Meta(max_length=BLOCK)]
)
_BODY_DECODER = msgspec.json.Decoder(Body)


class _Numbers:
    """The rows of a table of what repeats, numbered from 1 on in the order in which they are needed first.

    Args:
        row: the columns after the number, of what is numbered.

    Attributes:
        known: the number of each.
        new: rows that are not in the file yet.
    """

    def __init__(self, row: Callable[[Any], Iterable[Any]]) -> None:
        self._row = row
        self.known: dict[Any, int] = {}
        self.new: list[tuple[Any, ...]] = []

    def of(self, thing: Any) -> int:
        """Its number."""
        number = self.known.get(thing)
        if number is None:
            number = self.known[thing] = len(self.known) + 1
            self.new.append((number, *self._row(thing)))
        return number


class StoreWriter(Consumer):
    """A consumer that writes the stream to a new file, or goes on with one that an interrupted run left.

    It is committed whenever a block is full, and at the end of a unit of work where the last time is a while ago, so
    that a run that is killed leaves what it had.

    Raises:
        StoreError: from every method, where the file exists already or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._labels = labels = _Numbers(lambda text: [str(text)])
        self._judgements = _Numbers(lambda traits: map(labels.of, traits))
        self._tensors = _Numbers(lambda traits: (*map(labels.of, traits[:-1]), traits[-1]))
        self._rows: list[tuple[Any, ...]] = []
        self._remarks: list[tuple[int, int, str]] = []
        self._bodies: list[msgspec.Raw] = []  # of the block that is not full yet
        self._first, self._size = 1, 0  # number of the first record in it, bytes
        self._new_marks: list[Mark] = []
        self._content = ContentDigest()
        self._block: tuple[int, bytes] | None = None  # the row of `body` that is written again when there is more of it
        self._count = self._throughputs = 0
        self._kept = NOTHING  # what the file had when it was reopened
        self._is_reopened = self._has_ending = False
        self._committed = time.monotonic()

    def reopen(self, last: Mark | None, campaign: Campaign | None = None) -> None:
        """Go on with the file that an interrupted run left, in place of a new one.

        The stream is then given from its start once more; what the file has of it is not written again.

        Args:
            last: of the file's marks; what came after it is removed. None: the stream had ended, and all of it is kept.
            campaign: in place of the one that the file has; None = that one.
        """
        self._connect()
        with self._writing() as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # one of an earlier release may be in another
            connection.execute("BEGIN IMMEDIATE")
            if authenticity_of(connection, own_key()) is Authenticity.CHANGED:
                raise StoreError(f"{self._path}: {Authenticity.CHANGED.value}")
            if campaign is not None:
                connection.execute("UPDATE stream SET json = ? WHERE part = ?", _part("campaign", campaign)[::-1])
            if last is None:
                records, throughputs = (
                    connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - constants only
                    for table in ("record", "throughput")
                )
                last = Mark("", records, 0, throughputs)
                self._has_ending = True
                self._content = ContentDigest.of(connection)
                self._put_mac(connection)
            else:
                self._cut(connection, last)
            connection.execute("COMMIT")
        self._kept, self._is_reopened = last, True

    def _cut(self, connection: sqlite3.Connection, last: Mark) -> None:
        """Remove what came after a mark; what is left of the last block stays in memory until it is full."""
        connection.execute("DELETE FROM mark WHERE records > ? OR throughputs > ?", (last.records, last.throughputs))
        for table, key, kept in (
            ("record", "id", last.records),
            ("remark", "id", last.records),
            ("body", "first", last.records),
            ("label", "id", last.labels),
            ("throughput", "id", last.throughputs),
        ):
            connection.execute(f"DELETE FROM {table} WHERE {key} > ?", (kept,))  # noqa: S608 - constants only
        for table in ("judgement", "tensors"):  # which are numbered as records come to need them
            used = f"SELECT coalesce(max({table}), 0) FROM record"  # noqa: S608 - constants only
            connection.execute(f"DELETE FROM {table} WHERE id > ({used})")  # noqa: S608 - constants only
        labels = dict(connection.execute("SELECT id, text FROM label"))
        self._labels.known = {text: number for number, text in labels.items()}
        # A label that is missing is told when the records are read.
        for number, *ids in connection.execute("SELECT * FROM judgement"):
            self._judgements.known[tuple(map(labels.get, ids))] = number
        for number, *ids, rank in connection.execute("SELECT * FROM tensors"):
            self._tensors.known[(*map(labels.get, ids), rank)] = number
        if last.records:
            self._first, bodies = _block(connection, FORMS[SCHEMA_VERSION], last.records, self._path)
            self._bodies = bodies[: last.records + 1 - self._first]
            self._size = sum(len(bytes(body)) + 1 for body in self._bodies)
        connection.execute("DELETE FROM body WHERE first = ?", (self._first,))
        self._content = ContentDigest.of(connection)
        self._put_block(connection, _QUICK)
        self._put_mac(connection)

    def start(self, campaign: Campaign) -> None:
        if self._is_reopened:
            return
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666))
        except FileExistsError:
            raise StoreWriteError(f"{self._path}: exists already; results are written to a new file") from None
        except OSError as error:
            raise StoreWriteError(f"{self._path}: cannot be written: {error.strerror}") from error
        self._connect()
        with self._writing() as connection:
            connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
            connection.execute("BEGIN")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            for statement in (FORMS[SCHEMA_VERSION].schema + _MARKS + MAC_TABLE).split(";"):
                connection.execute(statement)
            self._put(connection, "stream", [_part("campaign", campaign)])
            self._put_mac(connection)
            connection.execute("COMMIT")

    def record(self, record: Record | EncodedRecord) -> None:
        self._count += 1
        if self._count <= self._kept.records:  # the file has had it since before it was reopened
            return
        body, record = record.body, record.traits
        if len(self._bodies) == BLOCK or self._size + len(body) + 2 > MAX_BLOCK_BYTES:
            self._flush(_SMALL)
            if self._block is not None:
                self._content.add("body", [self._block])
            self._block = None
            self._bodies, self._first, self._size = [], self._count, 0
        self._bodies.append(msgspec.Raw(body))
        self._size += len(body) + 1
        start = bytes.fromhex(record.case)[:START]
        judgement, tensors = self._judgements.of(_judgement_of(record)), self._tensors.of(_tensors_of(record))
        self._rows.append((self._count, start, judgement, tensors, _shortest(record.seconds)))
        if record.difference_count or record.reason:
            self._remarks.append((self._count, record.difference_count, record.reason))

    def mark(self, unit: str) -> None:
        """All records and measurements of a unit of work, one that was not finished before, have been given."""
        self._new_marks.append(Mark(unit, self._count, len(self._labels.known), self._throughputs))
        if unit == ALL or time.monotonic() - self._committed >= COMMIT_SECONDS:
            self._flush()

    def throughput(self, row: Throughput) -> None:
        self._throughputs += 1
        if self._throughputs <= self._kept.throughputs:
            return
        with self._writing() as connection:
            # The table has a column for each field, in their order.
            values = [
                _ENCODER.encode(value).decode() if isinstance(value, tuple) else value
                for value in msgspec.structs.astuple(row)
            ]
            connection.execute("BEGIN")
            self._put(connection, "throughput", [(self._throughputs, *values)])
            self._put_mac(connection)
            connection.execute("COMMIT")

    def finish(self, ending: Ending) -> None:
        if not self._has_ending:
            self._flush(_SMALL)
        with self._writing() as connection:
            if not self._has_ending:
                connection.execute("BEGIN")
                connection.execute("DROP TABLE mark")
                self._content.clear("mark")
                self._put(connection, "stream", [_part("ending", ending)])
                self._put_mac(connection)
                connection.execute("PRAGMA analysis_limit = 1000")
                connection.execute("ANALYZE")
                connection.execute("COMMIT")
                with suppress(sqlite3.Error):  # the file is whole without; it has the room of marks and earlier blocks
                    connection.execute("VACUUM")
        self.close()

    def close(self) -> None:
        """Let go of the file. What was not yet committed is lost; `finish` has called this already."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        try:
            self._connection = sqlite3.connect(self._path, READER_SECONDS, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error as error:
            raise StoreWriteError(f"{self._path}: cannot be written: {error}") from error

    def _flush(self, level: int = _QUICK) -> None:
        """Commit all that was given. A block that is not full is written all the same, and again when it is."""
        with self._writing() as connection:
            connection.execute("BEGIN")
            self._put(connection, "label", self._labels.new)
            self._put(connection, "judgement", self._judgements.new)
            self._put(connection, "tensors", self._tensors.new)
            self._put(connection, "record", self._rows)
            self._put(connection, "remark", self._remarks)
            self._put_block(connection, level)
            _insert(connection, "mark", [(None, *mark) for mark in self._new_marks])
            self._content.add("mark", self._new_marks)
            self._put_mac(connection)
            connection.execute("COMMIT")
        for new in (self._labels.new, self._judgements.new, self._tensors.new, self._rows, self._remarks):
            new.clear()
        self._new_marks = []
        self._committed = time.monotonic()

    def _put(self, connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows that are not written again."""
        _insert(connection, table, rows)
        self._content.add(table, rows)

    def _put_block(self, connection: sqlite3.Connection, level: int) -> None:
        if self._bodies:
            self._block = self._first, zstandard.ZstdCompressor(level).compress(_ENCODER.encode(self._bodies))
            connection.execute("INSERT OR REPLACE INTO body VALUES (?, ?)", self._block)

    def _put_mac(self, connection: sqlite3.Connection) -> None:
        """Write the MAC of all that was written, in the same transaction."""
        put_mac(connection, own_key(), self._content.mac(own_key().secret, self._block))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if self._connection is None:
            raise StreamError(f"{self._path}: a stream starts with its campaign, and this one has none, or has ended")
        try:
            yield self._connection
        except (sqlite3.Error, OSError) as error:
            raise StoreWriteError(f"{self._path}: cannot be written: {error}") from error


def _part(name: str, value: Campaign | Ending) -> tuple[str, str]:
    return name, _ENCODER.encode(value).decode()


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608 - constants only


def _shortest(seconds: float) -> float:
    """Whole microseconds where it is that, as an integer: two or three bytes in place of eight."""
    microseconds = round(seconds * 1e6) if seconds < _LONGEST else 0
    return microseconds if microseconds / 1e6 == seconds else seconds


def _block(connection: sqlite3.Connection, form: Form, number: int, path: Path) -> tuple[int, list[msgspec.Raw]]:
    """The block of bodies that has a record's, and the number of the first record in it.

    Raises:
        StoreError: it is missing or damaged.
    """
    try:
        row = connection.execute(form.block, (number,)).fetchone()
        first, bodies = (row[0], _BLOCK_DECODER.decode(form.unpack(row[1]))) if row else (number, [])
    except _DAMAGE as error:
        raise StoreError(f"{path}: damaged: the case of record {number}: {error}") from error
    if number - first >= len(bodies):
        raise StoreError(f"{path}: damaged: the case of record {number} is missing")
    return first, bodies


class Store(DatabaseReader):
    """A results file opened for reading, which leaves nothing beside it. Use it as a context manager, or `close` it.

    Args:
        path: of the file.
        restore: take back first what a writer that was stopped midway had not finished.

    Attributes:
        path: of the file.
        version: of its schema.
        campaign: what the run was about.
        ending: how it ended; None where it was cut off.

    Raises:
        StoreError: from every method, where the file is none of ours, is damaged, or is of a newer version.
    """

    path: Path
    version: int
    campaign: Campaign
    ending: Ending | None

    def __init__(self, path: Path, *, restore: bool = False) -> None:
        if not path.is_file():
            raise StoreError(f"{path}: no such file; expected a results file of this suite")
        super().__init__(path, restore=restore)

    def _open(self) -> None:
        guard(self._connection, self._size)
        if self._pragma("application_id") != APPLICATION_ID:
            raise StoreError(f"{self.path}: an SQLite file, but not one of this suite's results files")
        self.version = self._pragma("user_version")
        if self.version not in FORMS:
            raise StoreError(f"{self.path}: results of version {self.version}; this release reads version {_READABLE}")
        self._form = FORMS[self.version]
        parts = dict(self._connection.execute("SELECT part, json FROM stream"))
        if "campaign" not in parts:
            raise StoreError(f"{self.path}: holds no campaign; the run ended before it began")
        self.campaign = msgspec.json.decode(parts["campaign"], type=Campaign)
        try:
            check_campaign(self.campaign)
        except ValueError as error:
            raise StoreError(f"{self.path}: holds no campaign of this suite, or a damaged one: {error}") from error
        self.ending = msgspec.json.decode(parts["ending"], type=Ending) if "ending" in parts else None
        if self.ending is not None:
            check_ending(self.ending)

    def authenticity(self, key: Key | None = None) -> Authenticity:
        """What its MAC says, under this key or the one that the user has; reads all of it."""
        with self._using():
            self._connection.execute("BEGIN")
            try:
                found = authenticity_of(self._connection, key or kept_key())
                if found is Authenticity.SOUND and not self._has_our_schema():
                    found = Authenticity.CHANGED
            finally:
                self._connection.execute("COMMIT")
            return found

    def _has_our_schema(self) -> bool:
        query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        found = dict(self._connection.execute(query))
        return {name: sql for name, sql in found.items() if name not in ("mac", "mark")} == self._form.objects()

    def __len__(self) -> int:
        """How many records there are."""
        with self._using():
            return int(self._connection.execute("SELECT count(id) FROM record").fetchone()[0])

    def marks(self) -> tuple[Mark, ...]:
        """The finished units of a run that has not ended, in order; none of one that has."""
        with self._using():
            tables = self._connection.execute("SELECT name FROM sqlite_master WHERE name = 'mark'")
            if tables.fetchone() is None:
                return ()
            query = "SELECT unit, records, labels, throughputs FROM mark ORDER BY id"
            return tuple(msgspec.convert(row, Mark) for row in self._connection.execute(query))

    def records(
        self,
        *,
        verdict: str | Collection[str] | None = None,
        operator: str | Collection[str] | None = None,
        level: str | Collection[str] | None = None,
        rule: str | Collection[str] | None = None,
        phase: str | Collection[str] | None = None,
    ) -> Iterator[Record]:
        """The records in the order of the stream, one at a time; each filter is a value or several, None = any."""
        wanted = {"verdict": verdict, "operator": operator, "level": level, "rule": rule, "phase": phase}
        conditions = ["1"]
        for trait, values in wanted.items():
            if values is not None:
                self._define(f"among_{trait}", frozenset([values] if isinstance(values, str) else values))
                conditions.append(f"{trait} IN (SELECT id FROM label WHERE among_{trait}(text))")  # noqa: S608 - our own
        for _, record in self._selected(" AND ".join(conditions), []):
            yield record

    def numbered(self, numbers: Collection[int]) -> Iterator[tuple[int, Record]]:
        """Those of the records with these numbers that there are, from 1 on, in the order of the stream."""
        self._define("asked", frozenset(numbers))
        return self._selected("asked(id)", [])

    def records_of_case(self, digest: str) -> Iterator[Record]:
        """The records of every case whose digest begins with these hexadecimal digits, in the order of the stream."""
        digest = digest.lower()
        for _, record in self._selected("lower(hex(digest)) LIKE ?", [digest[: 2 * START] + "%"]):
            if record.case.startswith(digest):
                yield record

    def ranked(
        self,
        most: int,
        differing: Collection[Verdict],
        first: int,
        wanted: tuple[Collection[str], Collection[str]],
        digits: int,
    ) -> Iterator[RankedCase]:
        """The cases that say most, so many of them: what differs, the first of each kind, the rest by digest.

        Args:
            most: cases.
            differing: verdicts of those that differ.
            first: so many of each operator, level, rule and verdict are the first ones.
            wanted: beginnings of digests: of what comes first of all, and of what comes first among what differs.
            digits: that these beginnings have.
        """
        self._define("differing", frozenset(differing))
        changed, is_wanted = self._begins("changed", wanted[0], digits), self._begins("wanted", wanted[1], digits)
        with self._using():
            labels = self._label_texts()
            known: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # of cases that are alike, which are many, once
            query = _RANKED.format(records=self._form.records, changed=changed, wanted=is_wanted)
            for number, digest, differs, is_wanted, is_first, *traits in self._connection.execute(query, (first, most)):
                values = {trait: labels[label] for trait, label in zip(TRAITS, traits, strict=False)}
                values |= {"verdict": Verdict(values["verdict"]), "rank": traits[-1]}
                about = tuple(values[trait] for trait in ALL_TRAITS)
                about = known.setdefault(about, about)
                key = digest.hex()[:_KEY_DIGITS]
                yield RankedCase(number, key, bool(differs), bool(is_wanted), bool(is_first), about)

    def _define(self, name: str, values: Collection[Any]) -> None:
        """Let statements ask whether a value is one of these."""
        self._connection.create_function(name, 1, lambda value: value in values)

    def _begins(self, name: str, beginnings: Collection[str], digits: int) -> str:
        """Let statements ask whether a digest begins with one of these; returns the question."""
        self._connection.create_function(name, 1, lambda digest: digest[:digits] in beginnings)
        return f"{name}(lower(hex(digest)))" if beginnings else "0"

    def _selected(self, condition: str, parameters: list[Any]) -> Iterator[tuple[int, Record]]:
        with self._using():
            (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
            labels = self._label_texts()  # those of the records up to that one are among them
            first, bodies, before = 1, list[msgspec.Raw](), 0
            for row in self._rows(condition, parameters, last):
                if row[0] <= before:  # the pages of a damaged file can lead in a circle
                    raise StoreError(f"{self.path}: damaged: record {row[0]} comes after record {before}")
                before = row[0]
                if row[0] - first >= len(bodies):
                    first, bodies = _block(self._connection, self._form, row[0], self.path)
                check_lengths(f"reason of record {row[0]}", str(row[-1]), LONGEST_REASON)
                body = _BODY_DECODER.decode(bodies[row[0] - first])
                record = _record(self._digest(row[0], row[1], body.case_json), row, labels, body)
                check_record(record)
                yield row[0], record

    def _digest(self, number: int, start: bytes, case: dict[str, Any]) -> str:
        """The digest of a record's case, whose start, or all of it, stands in its row."""
        try:
            digest = digest_of(case)
        except _DAMAGE as error:
            raise StoreError(f"{self.path}: damaged: the case of record {number} is none: {error}") from error
        if bytes.fromhex(digest)[: max(START, len(start))] != start:
            raise StoreError(
                f"{self.path}: damaged: the case of record {number}: expected that of digest {start.hex()}, "
                f"found that of {digest}"
            )
        return digest

    def _rows(self, condition: str, parameters: list[Any], last: int) -> Iterator[tuple[Any, ...]]:
        """The rows up to the last one; of a run that has not ended a few at once, as its writer waits meanwhile."""
        columns, records = ", ".join(_COLUMNS), self._form.records
        query = f"SELECT {columns} FROM {records} WHERE id > ? AND id <= ? AND {condition} ORDER BY id"  # noqa: S608 - our own
        if self.ending is not None:
            cursor = self._connection.execute(query, [0, last, *parameters])
            # Not `yield from` the cursor: its end is an error in a closed file.
            while rows := cursor.fetchmany(_FETCHED):
                yield from rows
            return
        before = 0
        while rows := self._connection.execute(f"{query} LIMIT {_FETCHED}", [before, last, *parameters]).fetchall():
            yield from rows
            before = rows[-1][0]

    def answers(self, cases: Collection[str]) -> dict[str, tuple[Verdict, str]]:
        """Verdict and answer of those of these cases (by digest) that were judged; of a repeated one the last."""
        with self._using():
            labels = self._label_texts()
            asked = {bytes.fromhex(case)[:START]: case for case in cases}
            self._define("asked", asked)
            columns = f"substr(digest, 1, {START}) AS start, verdict, answered"
            query = f"SELECT {columns} FROM {self._form.records} WHERE asked(start) ORDER BY id"  # noqa: S608 - our own
            rows = self._connection.execute(query)
            return {asked[start]: (Verdict(labels[verdict]), labels[answered]) for start, verdict, answered in rows}

    def throughputs(self) -> tuple[Throughput, ...]:
        """The measurements, in the order of the stream."""
        query = f"SELECT {', '.join(self._form.timed)} FROM throughput ORDER BY id"  # noqa: S608 - constants only
        with self._using():
            rows = tuple(map(_throughput_of, self._connection.execute(query)))
            for row in rows:
                check_throughput(row)
            return rows

    def replay(self, consumer: Consumer) -> None:
        """Give a consumer the stream that was stored. A run that was cut off is given an ending that says so."""
        try:
            consumer.start(self.campaign)
            for record in self.records():
                consumer.record(record)
            for row in self.throughputs():
                consumer.throughput(row)
            cut_off = Ending("", complete=False, reason="the run was cut off before its end")
            consumer.finish(cut_off if self.ending is None else self.ending)
        except StreamError as error:
            raise StoreError(f"{self.path}: holds no campaign of this suite, or a damaged one: {error}") from error

    def summary(self) -> Summary:
        """The sums of the stored campaign; the same as the stream's own."""
        summary = Summary()
        self.replay(summary)
        return summary

    def _label_texts(self) -> dict[int, str]:
        labels = msgspec.convert(dict(self._connection.execute("SELECT id, text FROM label")), dict[int, str])
        for text in labels.values():
            check_lengths("a label", text)
        return labels

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Whatever a damaged file makes SQLite or the decoders raise, as StoreError."""
        try:
            yield
        except UnreadableError as error:
            raise StoreError(f"{self.path}: {error}") from error
        except _DAMAGE as error:
            raise StoreError(
                f"{self.path}: not a results file of this suite, or a damaged one; expected an SQLite file of version "
                f"{_READABLE} ({error})"
            ) from error


def _record(digest: str, row: tuple[Any, ...], labels: dict[int, str], body: Body) -> Record:
    _, _, *ids, rank, seconds, difference_count, reason = row
    traits: dict[str, Any] = dict(zip(TRAITS, (labels[i] for i in ids), strict=True))
    traits["phase"], traits["verdict"] = Phase(traits["phase"]), Verdict(traits["verdict"])
    return Record(
        digest,
        **traits,
        rank=rank,
        seconds=seconds,
        difference_count=difference_count,
        reason=reason,
        **msgspec.structs.asdict(body),
    )
