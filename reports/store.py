"""The results of a campaign in one SQLite file: every record with its whole case, and sums of them by any trait.

Words that repeat (operators, rules, verdicts) stand once in `label`, and `record` holds their numbers; the view
`result` shows records with the words, for people with an SQL shell. What only single records are asked for (case,
differences, reproducing line) is JSON in `body`, compressed 128 records at a time: a tenth of its size, and faster
to write than the plain text.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from reports.records import Campaign, Ending, Phase, Record, Throughput, Verdict
from reports.stream import Body, Consumer, StreamError, Written

APPLICATION_ID = 0x444D4C43  # "DMLC", in the file's header
SCHEMA_VERSION = 1
BLOCK = 128  # records whose bodies are compressed together
BATCH = 8 * BLOCK  # records in a transaction
MAX_BLOCK_BYTES = 16 << 20  # a block that unpacks to more is not ours
_COMPRESSION = 3  # of 9; more than this makes the file a twentieth smaller and takes half as long again
_MAX_PARAMETERS = 500  # of one query; SQLite's own limit was 999 for long

# The traits of a record that repeat, in the order of the table's columns.
TRAITS = (
    "operator",
    "level",
    "phase",
    "rule",
    "verdict",
    "expected",
    "answered",
    "data_type",
    "index_type",
    "layout",
    "pattern",
)
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
    copy_bytes_per_second REAL NOT NULL
);
CREATE VIEW result AS SELECT
    record.id, digest, {", ".join(f"{trait}_label.text AS {trait}" for trait in TRAITS)},
    rank, seconds, difference_count, reason
FROM record {" ".join(f"JOIN label AS {trait}_label ON {trait}_label.id = record.{trait}" for trait in TRAITS)};
"""  # noqa: S608 - constants only
_INDICES = """
CREATE INDEX record_by_verdict ON record (verdict, operator, level);
CREATE INDEX record_by_operator ON record (operator, level, verdict);
CREATE INDEX record_by_rule ON record (rule, expected, answered, verdict);
"""
_INSERT = f"INSERT INTO record VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - constants only


def expected_schema() -> dict[str, str]:
    """The SQL of every table, view and index of a finished results file, by name."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_SCHEMA + _INDICES)
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    finally:
        connection.close()


class StoreError(Exception):
    """A results file that cannot be read or written; the message names the file and what was expected."""


# What reading a damaged file can raise, from SQLite to the decoders.
_DAMAGE = (
    sqlite3.Error,
    OSError,
    zlib.error,
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    LookupError,
    RecursionError,
)

_ENCODER = msgspec.json.Encoder()
_BLOCK_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_BODY_DECODER = msgspec.json.Decoder(Body)


class StoreWriter:
    """A consumer that writes the stream to a new file.

    While the run goes on the file is in WAL mode and committed every 1024 records, so that a run that is killed leaves
    what it had. `finish` leaves a single file.

    Raises:
        StoreError: from every method, where the file exists already or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._labels: dict[str, int] = {}
        self._new_labels: list[tuple[int, str]] = []
        self._rows: list[tuple[Any, ...]] = []
        self._bodies: list[msgspec.Raw] = []
        self._count = 0

    def start(self, campaign: Campaign) -> None:
        if self._path.exists():
            raise StoreError(f"{self._path}: exists already; results are written to a new file")
        try:
            self._connection = sqlite3.connect(self._path, isolation_level=None)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot be written: {error}") from error
        with self._writing() as connection:
            connection.execute("PRAGMA page_size = 8192")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
            self._put_part("campaign", campaign)

    def record(self, record: Record) -> None:
        self._add(record, msgspec.Raw(_ENCODER.encode(Body.of(record))))

    def written(self, written: Written) -> None:
        self._add(written.traits, msgspec.Raw(written.body))

    def _add(self, record: Record, body: msgspec.Raw) -> None:
        """Take a record, of which the case is not looked at, and its body."""
        known, label = self._labels.get, self._label
        self._count += 1
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

    def throughput(self, row: Throughput) -> None:
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO throughput VALUES (NULL, ?, ?, ?, ?, ?, ?)",
                (
                    row.operator,
                    row.data_type,
                    row.shape,
                    row.useful_bytes,
                    _ENCODER.encode(row.seconds).decode(),
                    row.copy_bytes_per_second,
                ),
            )

    def finish(self, ending: Ending) -> None:
        self._flush()
        with self._writing() as connection:
            # Built at the end: an index kept up record by record costs more and ends up scattered.
            connection.executescript(f"BEGIN; {_INDICES} COMMIT;")
            self._put_part("ending", ending)
            connection.execute("PRAGMA analysis_limit = 1000")
            connection.execute("ANALYZE")
            connection.execute("PRAGMA journal_mode = DELETE")  # writes the WAL back and removes it
        self.close()

    def close(self) -> None:
        """Let go of the file. What was not yet committed is lost; `finish` has called this already."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _label(self, text: str) -> int:
        """The number of a text that has none yet."""
        number = self._labels[text] = len(self._labels) + 1
        self._new_labels.append((number, str(text)))
        return number

    def _flush(self) -> None:
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
            connection.executemany("INSERT INTO body VALUES (?, ?)", blocks)
            connection.execute("COMMIT")
        self._new_labels, self._rows, self._bodies = [], [], []

    def _put_part(self, part: str, value: Campaign | Ending) -> None:
        with self._writing() as connection:
            connection.execute("INSERT INTO stream VALUES (?, ?)", (part, _ENCODER.encode(value).decode()))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if self._connection is None:
            raise StreamError(f"{self._path}: a stream starts with its campaign, and this one has none, or has ended")
        try:
            yield self._connection
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self._path}: cannot be written: {error}") from error


class Store:
    """A results file opened for reading. Use it as a context manager, or `close` it.

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

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise StoreError(f"{path}: no such file; expected a results file of this suite")
        with self._reading():
            self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            with self._reading():
                self._open()
        except StoreError:
            self._connection.close()
            raise

    def _open(self) -> None:
        self._connection.execute("PRAGMA trusted_schema = OFF")
        if self._pragma("application_id") != APPLICATION_ID:
            raise StoreError(f"{self.path}: an SQLite file, but not one of this suite's results files")
        version = self._pragma("user_version")
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path}: results of version {version}, from a newer release; this one reads up to version "
                f"{SCHEMA_VERSION}"
            )
        if version < 1:
            raise StoreError(f"{self.path}: results of version {version}; expected 1 to {SCHEMA_VERSION}")
        parts = dict(self._connection.execute("SELECT part, json FROM stream"))
        if "campaign" not in parts:
            raise StoreError(f"{self.path}: holds no campaign; the run ended before it began")
        self.campaign = msgspec.json.decode(parts["campaign"], type=Campaign)
        self.ending = msgspec.json.decode(parts["ending"], type=Ending) if "ending" in parts else None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def __len__(self) -> int:
        """How many records there are."""
        with self._reading():
            return int(self._connection.execute("SELECT count(*) FROM record").fetchone()[0])

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
        conditions, parameters = ["1"], list[Any]()
        for trait, values in wanted.items():
            if values is not None:
                several = [values] if isinstance(values, str) else list(values)
                marks = ", ".join("?" * len(several))
                conditions.append(f"{trait} IN (SELECT id FROM label WHERE text IN ({marks}))")  # noqa: S608 - marks
                parameters += [str(value) for value in several]
        yield from self._selected(" AND ".join(conditions), parameters)

    def record_numbered(self, number: int) -> Record | None:
        """The record that is the `number`th of the stream, from 1 on; None where there are not so many."""
        return next(self._selected("id = ?", [number]), None)

    def records_of_case(self, digest: str) -> Iterator[Record]:
        """The records of every case whose digest begins with these hexadecimal digits, in the order of the stream."""
        return self._selected("lower(hex(digest)) LIKE ?", [digest.lower() + "%"])

    def _selected(self, condition: str, parameters: list[Any]) -> Iterator[Record]:
        query = f"SELECT {', '.join(_COLUMNS)} FROM record WHERE {condition} ORDER BY id"  # noqa: S608 - our own
        with self._reading():
            labels = dict(self._connection.execute("SELECT id, text FROM label"))
            block, bodies = -1, list[msgspec.Raw]()
            for row in self._connection.execute(query, parameters):
                if (row[0] - 1) // BLOCK != block:
                    block = (row[0] - 1) // BLOCK
                    bodies = self._bodies(block)
                yield _record(row, labels, _BODY_DECODER.decode(bodies[(row[0] - 1) % BLOCK]))

    def answers(self, cases: Collection[str]) -> dict[str, tuple[Verdict, str]]:
        """Verdict and answer of those of these cases (by digest) that were judged; of a repeated one the last."""
        found: dict[str, tuple[Verdict, str]] = {}
        wanted = frozenset(cases)
        with self._reading():
            labels = dict(self._connection.execute("SELECT id, text FROM label"))
            query, parameters = "SELECT digest, verdict, answered FROM record", [bytes.fromhex(case) for case in cases]
            if len(parameters) <= _MAX_PARAMETERS:
                query += f" WHERE digest IN ({', '.join('?' * len(parameters))})"
            else:  # one pass over all of them is faster than many for some each
                parameters = []
            for digest, verdict, answered in self._connection.execute(f"{query} ORDER BY id", parameters):
                if (case := digest.hex()) in wanted:
                    found[case] = (Verdict(labels[verdict]), labels[answered])
        return found

    def throughputs(self) -> tuple[Throughput, ...]:
        """The measurements, in the order of the stream."""
        columns = "operator, data_type, shape, useful_bytes, seconds, copy_bytes_per_second"
        query = f"SELECT {columns} FROM throughput ORDER BY id"  # noqa: S608 - constants only
        with self._reading():
            return tuple(
                Throughput(
                    operator, data_type, shape, size, msgspec.json.decode(seconds, type=tuple[float, ...]), bandwidth
                )
                for operator, data_type, shape, size, seconds, bandwidth in self._connection.execute(query)
            )

    def counts(self, *traits: str) -> dict[tuple[str, ...], int]:
        """How many records there are of each combination of traits, counted in SQL.

        Args:
            traits: any of `TRAITS`.

        Raises:
            ValueError: no such trait.
        """
        unknown = [trait for trait in traits if trait not in TRAITS]
        if unknown or not traits:
            raise ValueError(f"cannot count by {', '.join(unknown) or 'nothing'}; expected some of {', '.join(TRAITS)}")
        columns = ", ".join(traits)
        query = f"SELECT {columns}, count(*) FROM record GROUP BY {columns}"  # noqa: S608 - names out of TRAITS
        with self._reading():
            labels = dict(self._connection.execute("SELECT id, text FROM label"))
            return {tuple(labels[i] for i in ids): count for *ids, count in self._connection.execute(query)}

    def replay(self, consumer: Consumer) -> None:
        """Give a consumer the stream that was stored. A run that was cut off is given an ending that says so."""
        consumer.start(self.campaign)
        for record in self.records():
            consumer.record(record)
        for row in self.throughputs():
            consumer.throughput(row)
        cut_off = Ending("", complete=False, reason="the run was cut off before its end")
        consumer.finish(cut_off if self.ending is None else self.ending)

    def _bodies(self, block: int) -> list[msgspec.Raw]:
        row = self._connection.execute("SELECT bodies FROM body WHERE block = ?", (block,)).fetchone()
        if row is None:
            raise StoreError(f"{self.path}: damaged: block {block} is missing")
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(row[0], MAX_BLOCK_BYTES)
        if not unpacker.eof:
            raise StoreError(f"{self.path}: damaged: block {block} does not end, or is beyond all measure")
        return _BLOCK_DECODER.decode(text)

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Whatever a damaged file makes SQLite, zlib or the decoders raise, as StoreError."""
        try:
            yield
        except _DAMAGE as error:
            raise StoreError(
                f"{self.path}: not a results file of this suite, or a damaged one; expected an SQLite file of version "
                f"1 to {SCHEMA_VERSION} ({error})"
            ) from error


def _record(row: tuple[Any, ...], labels: dict[int, str], body: Body) -> Record:
    _, digest, *ids, rank, seconds, difference_count, reason = row
    operator, level, phase, rule, verdict, expected, answered, data_type, index_type, layout, pattern = (
        labels[i] for i in ids
    )
    return Record(
        case=digest.hex(),
        operator=operator,
        level=level,
        phase=Phase(phase),
        rule=rule,
        verdict=Verdict(verdict),
        expected=expected,
        answered=answered,
        reason=reason,
        data_type=data_type,
        index_type=index_type,
        rank=rank,
        layout=layout,
        pattern=pattern,
        seconds=seconds,
        case_json=body.case_json,
        differences=body.differences,
        difference_count=difference_count,
        reproduce=body.reproduce,
        output=body.output,
        waived=body.waived,
    )
