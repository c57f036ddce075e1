"""The results of a campaign in one SQLite file: every record with its whole case.

Words that repeat (operators, rules, verdicts) stand once in `label`, and `record` holds their numbers; the view
`result` shows records with the words, for people with an SQL shell. What only single records are asked for (case,
differences, reproducing line) is JSON in `body`, compressed 128 records at a time: a tenth of its size, and faster
to write than the plain text.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

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
from dml_conformance.reports.store.checks import (
    check_campaign,
    check_ending,
    check_lengths,
    check_record,
    check_throughput,
)
from dml_conformance.reports.store.databases import DatabaseReader, UnreadableError, guard
from dml_conformance.spec.errors import BadInputError, BrokenRunError

APPLICATION_ID = 0x444D4C43  # "DMLC", in the file's header
SCHEMA_VERSION = 3
PAGE_SIZE = 8192  # bytes
BLOCK = 128  # records whose bodies are compressed together
BATCH = 8 * BLOCK  # records in a transaction, at most
COMMIT_SECONDS = 0.5  # between the transactions of a run that makes few records, at the end of a unit of work
MAX_BLOCK_BYTES = 16 << 20  # a block that unpacks to more is not ours
READER_SECONDS = 60.0  # that whoever reads a file keeps its writer waiting, before that gives up
_COMPRESSION = 3  # of 9; more than this makes the file a twentieth smaller and takes half as long again

# The traits that are text, in the order of the table's columns.
TRAITS = tuple(trait for trait in ALL_TRAITS if trait != "rank")
_traits_of = attrgetter(*TRAITS)
_COLUMNS = ("id", "digest", *TRAITS, "rank", "seconds", "difference_count", "reason")

_SCHEMA = f"""
CREATE TABLE stream (
    part TEXT PRIMARY KEY CHECK (part IN ('campaign', 'ending')),
    json TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE label (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);
CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    {"".join(f"{trait} INTEGER NOT NULL REFERENCES label, " for trait in TRAITS)}
    rank INTEGER NOT NULL,
    seconds REAL NOT NULL,
    difference_count INTEGER NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE body (
    block INTEGER PRIMARY KEY,
    bodies BLOB NOT NULL
);
CREATE TABLE throughput (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    data_type TEXT NOT NULL,
    shape TEXT NOT NULL,
    useful_bytes INTEGER NOT NULL,
    seconds TEXT NOT NULL,
    copy_bytes_per_second REAL NOT NULL,
    output_bytes INTEGER NOT NULL,
    caches TEXT NOT NULL,
    caveats TEXT NOT NULL
);
CREATE VIEW result AS SELECT
    record.id, digest, {", ".join(f"{trait}_label.text AS {trait}" for trait in TRAITS)},
    rank, seconds, difference_count, reason
FROM record {" ".join(f"JOIN label AS {trait}_label ON {trait}_label.id = record.{trait}" for trait in TRAITS)};
"""  # noqa: S608 - constants only
# One is enough: to read all rows takes less than to carry indices along, which were a quarter of the file.
_INDICES = """
CREATE INDEX record_by_verdict ON record (verdict, operator, level);
"""
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
_INSERT = f"INSERT INTO record VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - constants only
_INSERT_THROUGHPUT = f"INSERT INTO throughput VALUES (NULL{', ?' * len(Throughput.__struct_fields__)})"  # noqa: S608

# `changed`, `differing`, `wanted` are functions that `Store` makes of what it is asked for.
_RANKED = f"""
SELECT id, digest, differs, is_wanted, is_first, {", ".join(TRAITS)}, rank FROM (
    SELECT *, changed(lower(hex(digest))) AS is_changed, wanted(lower(hex(digest))) AS is_wanted,
        verdict IN (SELECT id FROM label WHERE differing(text)) AS differs,
        row_number() OVER (PARTITION BY operator, level, rule, verdict ORDER BY id) <= ? AS is_first
    FROM record
) ORDER BY is_changed DESC, differs DESC, is_wanted DESC, is_first DESC, substr(digest, 1, 8), id LIMIT ?
"""  # noqa: S608 - constants only
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
    operator, data_type, shape, useful, seconds, copy, size, caches, caveats = row
    runs = msgspec.json.decode(seconds, type=tuple[float, ...])
    known = msgspec.json.decode(caveats, type=tuple[Caveat, ...])
    return Throughput(operator, data_type, shape, useful, runs, copy, size, Caches(caches), known)


def expected_schema() -> dict[str, str]:
    """The SQL of every table, view and index of a finished results file, by name."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_SCHEMA + _INDICES)
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    finally:
        connection.close()


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
    zlib.error,
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


class StoreWriter(Consumer):
    """A consumer that writes the stream to a new file, or goes on with one that an interrupted run left.

    It is committed every 1024 records, and at the end of a unit of work where the last time is a while ago, so that a
    run that is killed leaves what it had.

    Raises:
        StoreError: from every method, where the file exists already or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._labels: dict[str, int] = {}
        self._new_labels: list[tuple[int, str]] = []
        self._rows: list[tuple[Any, ...]] = []
        self._bodies: list[msgspec.Raw] = []  # of the blocks that are not full yet
        self._new_marks: list[Mark] = []
        self._count = self._throughputs = 0
        self._kept = NOTHING  # what the file had when it was reopened
        self._is_reopened = self._has_ending = False
        self._committed = time.monotonic()

    def reopen(self, last: Mark | None) -> None:
        """Go on with the file that an interrupted run left, in place of a new one.

        The stream is then given from its start once more; what the file has of it is not written again.

        Args:
            last: of the file's marks; what came after it is removed. None: the stream had ended, and all of it is kept.
        """
        self._connect()
        with self._writing() as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # one of an earlier release may be in another
            if last is None:
                records, throughputs = (
                    connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - constants only
                    for table in ("record", "throughput")
                )
                last = Mark("", records, 0, throughputs)
                self._has_ending = True
            else:
                self._cut(connection, last)
        self._kept, self._is_reopened = last, True

    def _cut(self, connection: sqlite3.Connection, last: Mark) -> None:
        """Remove what came after a mark; what is left of the last block stays in memory until it is full."""
        full, rest = divmod(last.records, BLOCK)
        connection.execute("BEGIN")
        connection.execute("DELETE FROM mark WHERE records > ? OR throughputs > ?", (last.records, last.throughputs))
        connection.execute("DELETE FROM record WHERE id > ?", (last.records,))
        connection.execute("DELETE FROM body WHERE block >= ?", (full + (rest > 0),))
        connection.execute("DELETE FROM label WHERE id > ?", (last.labels,))
        connection.execute("DELETE FROM throughput WHERE id > ?", (last.throughputs,))
        connection.execute("COMMIT")
        self._labels = {text: number for number, text in connection.execute("SELECT id, text FROM label")}
        if rest:
            self._bodies = _block(connection, full, self._path)[:rest]

    def start(self, campaign: Campaign) -> None:
        if self._is_reopened:
            return
        if self._path.exists():
            raise StoreError(f"{self._path}: exists already; results are written to a new file")
        self._connect()
        with self._writing() as connection:
            connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
            connection.execute("BEGIN")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            for statement in (_SCHEMA + _MARKS).split(";"):
                connection.execute(statement)
            _put_part(connection, "campaign", campaign)
            connection.execute("COMMIT")

    def record(self, record: Record | EncodedRecord) -> None:
        self._count += 1
        if self._count <= self._kept.records:  # the file has had it since before it was reopened
            return
        body, record = msgspec.Raw(record.body), record.traits
        known, label = self._labels.get, self._label
        self._rows.append(
            (
                self._count,
                bytes.fromhex(record.case),
                *[known(text) or label(text) for text in _traits_of(record)],
                record.rank,
                record.seconds,
                record.difference_count,
                record.reason,
            )
        )
        self._bodies.append(body)
        if len(self._rows) == BATCH:
            self._flush()

    def mark(self, unit: str) -> None:
        """All records and measurements of a unit of work, one that was not finished before, have been given."""
        self._new_marks.append(Mark(unit, self._count, len(self._labels), self._throughputs))
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
            connection.execute(_INSERT_THROUGHPUT, values)

    def finish(self, ending: Ending) -> None:
        if not self._has_ending:
            self._flush()
        with self._writing() as connection:
            if not self._has_ending:
                connection.execute("BEGIN")
                # Built at the end: an index kept up record by record costs more and ends up scattered.
                for statement in _INDICES.split(";"):
                    connection.execute(statement)
                connection.execute("DROP TABLE mark")
                _put_part(connection, "ending", ending)
                connection.execute("PRAGMA analysis_limit = 1000")
                connection.execute("ANALYZE")
                connection.execute("COMMIT")
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

    def _label(self, text: str) -> int:
        """The number of a text that has none yet."""
        number = self._labels[text] = len(self._labels) + 1
        self._new_labels.append((number, str(text)))
        return number

    def _flush(self) -> None:
        """Commit all that was given. A block that is not full is written all the same, and again when it is."""
        bodies = self._bodies
        first = (self._count - len(bodies)) // BLOCK
        blocks = [
            (first + i // BLOCK, zlib.compress(_ENCODER.encode(bodies[i : i + BLOCK]), _COMPRESSION))
            for i in range(0, len(bodies), BLOCK)
        ]
        with self._writing() as connection:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO label VALUES (?, ?)", self._new_labels)
            connection.executemany(_INSERT, self._rows)
            connection.executemany("INSERT OR REPLACE INTO body VALUES (?, ?)", blocks)
            connection.executemany("INSERT INTO mark VALUES (NULL, ?, ?, ?, ?)", self._new_marks)
            connection.execute("COMMIT")
        self._new_labels, self._rows, self._new_marks = [], [], []
        self._bodies = bodies[len(bodies) - self._count % BLOCK :] if self._count % BLOCK else []
        self._committed = time.monotonic()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if self._connection is None:
            raise StreamError(f"{self._path}: a stream starts with its campaign, and this one has none, or has ended")
        try:
            yield self._connection
        except (sqlite3.Error, OSError) as error:
            raise StoreWriteError(f"{self._path}: cannot be written: {error}") from error


def _put_part(connection: sqlite3.Connection, part: str, value: Campaign | Ending) -> None:
    connection.execute("INSERT INTO stream VALUES (?, ?)", (part, _ENCODER.encode(value).decode()))


def _block(connection: sqlite3.Connection, block: int, path: Path) -> list[msgspec.Raw]:
    """The bodies of a block.

    Raises:
        StoreError: it is missing or damaged.
    """
    row = connection.execute("SELECT bodies FROM body WHERE block = ?", (block,)).fetchone()
    if row is None:
        raise StoreError(f"{path}: damaged: block {block} is missing")
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(row[0], MAX_BLOCK_BYTES)
        if not unpacker.eof:
            raise StoreError(f"{path}: damaged: block {block} does not end, or is beyond all measure")
        return _BLOCK_DECODER.decode(text)
    except _DAMAGE as error:
        raise StoreError(f"{path}: damaged: block {block}: {error}") from error


class Store(DatabaseReader):
    """A results file opened for reading, which leaves nothing beside it. Use it as a context manager, or `close` it.

    Args:
        path: of the file.
        restore: take back first what a writer that was stopped midway had not finished.

    Attributes:
        path: of the file.
        campaign: what the run was about.
        ending: how it ended; None where it was cut off.

    Raises:
        StoreError: from every method, where the file is none of ours, is damaged, or is of a newer version.
    """

    path: Path
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
        if (version := self._pragma("user_version")) != SCHEMA_VERSION:
            raise StoreError(f"{self.path}: results of version {version}; this release reads version {SCHEMA_VERSION}")
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
        for _, record in self._selected("lower(hex(digest)) LIKE ?", [digest.lower() + "%"]):
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
        self._define("changed", wanted[0], digits)
        self._define("wanted", wanted[1], digits)
        with self._using():
            labels = self._label_texts()
            known: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # of cases that are alike, which are many, once
            for number, digest, differs, is_wanted, is_first, *traits in self._connection.execute(
                _RANKED, (first, most)
            ):
                values = {trait: labels[label] for trait, label in zip(TRAITS, traits, strict=False)}
                values |= {"verdict": Verdict(values["verdict"]), "rank": traits[-1]}
                about = tuple(values[trait] for trait in ALL_TRAITS)
                about = known.setdefault(about, about)
                key = digest.hex()[:_KEY_DIGITS]
                yield RankedCase(number, key, bool(differs), bool(is_wanted), bool(is_first), about)

    def _define(self, name: str, values: Collection[Any], digits: int | None = None) -> None:
        """Let statements ask whether a value, or the beginning of a digest, is one of these."""
        self._connection.create_function(name, 1, lambda value: value[:digits] in values if digits else value in values)

    def _selected(self, condition: str, parameters: list[Any]) -> Iterator[tuple[int, Record]]:
        with self._using():
            (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
            labels = self._label_texts()  # those of the records up to that one are among them
            block, bodies, before = -1, list[msgspec.Raw](), 0
            for row in self._rows(condition, parameters, last):
                if row[0] <= before:  # the pages of a damaged file can lead in a circle
                    raise StoreError(f"{self.path}: damaged: record {row[0]} comes after record {before}")
                before = row[0]
                if (row[0] - 1) // BLOCK != block:
                    block = (row[0] - 1) // BLOCK
                    bodies = _block(self._connection, block, self.path)
                check_lengths(f"reason of record {row[0]}", str(row[-1]), LONGEST_REASON)
                record = _record(row, labels, _BODY_DECODER.decode(bodies[(row[0] - 1) % BLOCK]))
                check_record(record)
                yield row[0], record

    def _rows(self, condition: str, parameters: list[Any], last: int) -> Iterator[tuple[Any, ...]]:
        """The rows up to the last one; of a run that has not ended a few at once, as its writer waits meanwhile."""
        query = f"SELECT {', '.join(_COLUMNS)} FROM record WHERE id > ? AND id <= ? AND {condition} ORDER BY id"  # noqa: S608 - our own
        if self.ending is not None:
            cursor = self._connection.execute(query, [0, last, *parameters])
            while rows := cursor.fetchmany(BATCH):  # not `yield from` the cursor: its end is an error in a closed file
                yield from rows
            return
        before = 0
        while rows := self._connection.execute(f"{query} LIMIT {BATCH}", [before, last, *parameters]).fetchall():
            yield from rows
            before = rows[-1][0]

    def answers(self, cases: Collection[str]) -> dict[str, tuple[Verdict, str]]:
        """Verdict and answer of those of these cases (by digest) that were judged; of a repeated one the last."""
        with self._using():
            labels = self._label_texts()
            self._define("asked", frozenset(bytes.fromhex(case) for case in cases))
            rows = self._connection.execute(
                "SELECT digest, verdict, answered FROM record WHERE asked(digest) ORDER BY id"
            )
            return {digest.hex(): (Verdict(labels[verdict]), labels[answered]) for digest, verdict, answered in rows}

    def throughputs(self) -> tuple[Throughput, ...]:
        """The measurements, in the order of the stream."""
        query = f"SELECT {', '.join(Throughput.__struct_fields__)} FROM throughput ORDER BY id"  # noqa: S608 - constants only
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
        """Whatever a damaged file makes SQLite, zlib or the decoders raise, as StoreError."""
        try:
            yield
        except UnreadableError as error:
            raise StoreError(f"{self.path}: {error}") from error
        except _DAMAGE as error:
            raise StoreError(
                f"{self.path}: not a results file of this suite, or a damaged one; expected an SQLite file of version "
                f"{SCHEMA_VERSION} ({error})"
            ) from error


def _record(row: tuple[Any, ...], labels: dict[int, str], body: Body) -> Record:
    _, digest, *ids, rank, seconds, difference_count, reason = row
    traits: dict[str, Any] = dict(zip(TRAITS, (labels[i] for i in ids), strict=True))
    traits["phase"], traits["verdict"] = Phase(traits["phase"]), Verdict(traits["verdict"])
    return Record(
        digest.hex(),
        **traits,
        rank=rank,
        seconds=seconds,
        difference_count=difference_count,
        reason=reason,
        **msgspec.structs.asdict(body),
    )
