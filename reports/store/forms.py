"""How results files hold records: the tables of each version, and how they are asked.

Words that repeat (operators, rules, verdicts) stand once in `label`, and everywhere else their numbers; the view
`result` shows records with the words, for people with an SQL shell. Of version 4 on what records have in common is a
row of `judgement` and one of `tensors`, and what few of them have one of `remark`. What only single records are asked
for (case, differences, reproducing line) is JSON in `body`, the bodies of successive records compressed together. A
case's digest follows from the case; of version 5 on only its start is stored, by which cases are found.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from typing import NamedTuple

import zstandard

from dml_conformance.reports.model.records import TRAITS as ALL_TRAITS
from dml_conformance.reports.model.records import Throughput

MAX_BLOCK_BYTES = 16 << 20  # a block that unpacks to more is not ours
BLOCK_3 = 128  # records of a block of version 3
START = 16  # bytes of a digest that a file of version 5 has

# The traits that are text, in the order of the columns: of what was judged, and of its tensors.
JUDGEMENT = ("operator", "level", "phase", "rule", "verdict", "expected", "answered")
TENSORS = tuple(trait for trait in ALL_TRAITS if trait not in (*JUDGEMENT, "rank"))
TRAITS = (*JUDGEMENT, *TENSORS)


class Form(NamedTuple):
    """How the files of a version hold records.

    Attributes:
        schema: SQL of a finished file.
        records: what has a row for each record, in FROM: its id, digest or the start of that, numbers of its labels,
            NULL for what is missing, rank, seconds, difference_count and reason.
        block: SQL that gives, for the number of a record, the first number of the block that has its body, and that.
        unpack: the JSON of a block; raises ValueError where it is damaged, or more than `MAX_BLOCK_BYTES`.
        timed: the columns of a measurement.
    """

    schema: str
    records: str
    block: str
    unpack: Callable[[bytes], bytes]
    timed: tuple[str, ...] = Throughput.__struct_fields__

    def objects(self) -> dict[str, str]:
        """The SQL of every table, view and index of a finished file, by name."""
        connection = sqlite3.connect(":memory:")
        try:
            connection.executescript(self.schema)
            return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        finally:
            connection.close()


def _inflated(block: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(block, MAX_BLOCK_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it does not end where it should, or is beyond all measure")
    return text


def _unpacked(block: bytes) -> bytes:
    try:
        size = zstandard.get_frame_parameters(block).content_size  # more than there can be where it is not said
        if size > MAX_BLOCK_BYTES:
            raise ValueError(f"{size:,} bytes, which is beyond all measure")
        return zstandard.ZstdDecompressor().decompress(block, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


_SHARED = """
CREATE TABLE stream (
    part TEXT PRIMARY KEY CHECK (part IN ('campaign', 'ending')),
    json TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE label (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
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
    caveats TEXT NOT NULL{layer}
);
"""


_LAYER = ", layer TEXT NOT NULL"


def _labels(traits: tuple[str, ...]) -> str:
    return "".join(f"{trait} INTEGER NOT NULL REFERENCES label, " for trait in traits)


def _view(records: str) -> str:
    """The view of records with words in place of numbers."""
    words = ", ".join(f"{trait}_label.text AS {trait}" for trait in TRAITS)
    joins = " ".join(f"JOIN label AS {trait}_label ON {trait}_label.id = record.{trait}" for trait in TRAITS)
    return f"""
CREATE VIEW result AS SELECT
    record.id, digest, {words},
    rank, seconds, difference_count, reason
FROM {records} {joins};
"""  # noqa: S608 - constants only


_VERSION_3 = Form(
    f"""{_SHARED.format(layer="")}
CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    {_labels(TRAITS)}
    rank INTEGER NOT NULL,
    seconds REAL NOT NULL,
    difference_count INTEGER NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE body (
    block INTEGER PRIMARY KEY,
    bodies BLOB NOT NULL
);
{_view("record")}
CREATE INDEX record_by_verdict ON record (verdict, operator, level);
""",
    "record",
    f"SELECT {BLOCK_3} * block + 1, bodies FROM body WHERE block = (? - 1) / {BLOCK_3}",  # noqa: S608 - constants only
    _inflated,
    tuple(name for name in Throughput.__struct_fields__ if name != "layer"),
)

# LEFT JOIN: a record whose rows elsewhere are missing is damaged, and not to be passed over.
_RECORDS = f"""(
    SELECT record.id AS id, digest, {", ".join(TRAITS)}, rank,
        CASE typeof(seconds) WHEN 'integer' THEN seconds / 1e6 ELSE seconds END AS seconds,
        coalesce(difference_count, 0) AS difference_count, coalesce(reason, '') AS reason
    FROM record
        LEFT JOIN judgement ON judgement.id = record.judgement
        LEFT JOIN tensors ON tensors.id = record.tensors
        LEFT JOIN remark ON remark.id = record.id
) AS record"""  # noqa: S608 - constants only
_VERSION_4 = Form(
    f"""{_SHARED.format(layer=_LAYER)}
CREATE TABLE judgement (
    id INTEGER PRIMARY KEY,
    {_labels(JUDGEMENT).removesuffix(", ")}
);
CREATE TABLE tensors (
    id INTEGER PRIMARY KEY,
    {_labels(TENSORS)}
    rank INTEGER NOT NULL
);
CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    judgement INTEGER NOT NULL REFERENCES judgement,
    tensors INTEGER NOT NULL REFERENCES tensors,
    seconds NOT NULL -- an integer counts microseconds, anything else is REAL
);
CREATE TABLE remark (
    id INTEGER PRIMARY KEY REFERENCES record,
    difference_count INTEGER NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE body (
    first INTEGER PRIMARY KEY REFERENCES record,
    bodies BLOB NOT NULL
);
{_view(_RECORDS)}
""",
    _RECORDS,
    "SELECT first, bodies FROM body WHERE first <= ? ORDER BY first DESC LIMIT 1",
    _unpacked,
)
_VERSION_5 = _VERSION_4._replace(
    schema=_VERSION_4.schema.replace("digest", "digest_start").replace(" = 32)", f" = {START})"),
    records=_RECORDS.replace("digest", "digest_start AS digest"),
)
FORMS = {3: _VERSION_3, 4: _VERSION_4, 5: _VERSION_5}
