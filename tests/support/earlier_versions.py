"""Results files of versions 3 and 4, as releases before version 5 wrote them."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import report_data

from dml_conformance.reports.model.records import Record
from dml_conformance.reports.store.authentication import MAC_TABLE
from dml_conformance.reports.store.forms import BLOCK_3, FORMS, TRAITS
from dml_conformance.reports.store.results import APPLICATION_ID, PAGE_SIZE, Store


def write_version_3(path: Path, results: Path) -> None:
    """The file of version 3 with what a results file holds."""
    with _copying(path, results, 3) as (connection, records):
        labels: dict[str, int] = {}
        bodies = []
        for number, record in enumerate(records, 1):
            words = [str(getattr(record, trait)) for trait in TRAITS]
            row = (
                *(number, bytes.fromhex(record.case)),
                *(labels.setdefault(word, len(labels) + 1) for word in words),
                *(record.rank, record.seconds, record.difference_count, record.reason),
            )
            connection.execute(f"INSERT INTO record VALUES ({', '.join('?' * len(row))})", row)
            bodies.append(msgspec.Raw(record.body))
        connection.executemany("INSERT INTO label VALUES (?, ?)", ((number, text) for text, number in labels.items()))
        for block, at in enumerate(range(0, len(bodies), BLOCK_3)):
            content = zlib.compress(msgspec.json.encode(bodies[at : at + BLOCK_3]), 3)
            connection.execute("INSERT INTO body VALUES (?, ?)", (block, content))
        connection.execute("INSERT INTO stream SELECT * FROM other.stream")
        connection.execute(f"INSERT INTO throughput SELECT id, {', '.join(FORMS[3].timed)} FROM other.throughput")


def write_version_4(path: Path, results: Path) -> None:
    """The file of version 4 with what a results file holds, and its MAC."""
    with _copying(path, results, 4) as (connection, records):
        digests = {number: bytes.fromhex(record.case) for number, record in enumerate(records, 1)}
        connection.create_function("digest_of", 1, digests.__getitem__)
        connection.execute("INSERT INTO record SELECT id, digest_of(id), judgement, tensors, seconds FROM other.record")
        for table in ("stream", "label", "judgement", "tensors", "remark", "body", "throughput"):
            connection.execute(f"INSERT INTO {table} SELECT * FROM other.{table}")
        connection.execute(MAC_TABLE)
        report_data.seal(connection)


@contextmanager
def _copying(path: Path, results: Path, version: int) -> Iterator[tuple[sqlite3.Connection, Iterator[Record]]]:
    """A new file of a version, to which the one that is copied is attached as `other`, and the records of that."""
    with Store(results) as store, closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        connection.executescript(FORMS[version].schema)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("ATTACH ? AS other", (str(results),))
        yield connection, store.records()
        connection.commit()
        connection.execute("ANALYZE main")
