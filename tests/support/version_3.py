"""Results files of version 3, as releases before version 4 wrote them."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import msgspec

from dml_conformance.reports.store.forms import BLOCK_3, FORMS, TRAITS
from dml_conformance.reports.store.results import APPLICATION_ID, PAGE_SIZE, Store


def write_version_3(path: Path, results: Path) -> None:
    """The file of version 3 with what a results file holds."""
    with Store(results) as store, closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        connection.executescript(FORMS[3].schema)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 3")
        labels: dict[str, int] = {}
        bodies = []
        for number, record in enumerate(store.records(), 1):
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
        connection.execute("ATTACH ? AS other", (str(results),))
        connection.execute("INSERT INTO stream SELECT * FROM other.stream")
        connection.execute(f"INSERT INTO throughput SELECT id, {', '.join(FORMS[3].timed)} FROM other.throughput")
        connection.commit()
        connection.execute("ANALYZE main")
