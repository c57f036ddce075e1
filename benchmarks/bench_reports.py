"""Storing results and rendering them.

The peer is the plainest thing that could do: one JSON text a record in an SQLite table, and reading them back. It
cannot count anything, and takes several times the room.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, cycle, islice
from pathlib import Path

import msgspec
import pytest
import report_data
from racing import Goal, Peer, Race, Work
from ratios import Clock
from sizes import Sizes

from reports.html import report_html
from reports.records import Record
from reports.store import Store, StoreWriter
from reports.summary import Summary
from reports.writing import OutputFolder, ReportFolder

GOAL = Goal(100_000 / 5)


@pytest.fixture(scope="module")
def records(sizes: Sizes) -> list[Record]:
    """Records of a backend with faults of every kind; the distinct ones repeat, far apart."""
    return list(islice(cycle(report_data.faulty(sizes.distinct_records)), sizes.records))


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A new path whenever one is asked for."""
    return (tmp_path / str(n) for n in count())


def bench_store(race: Race, records: list[Record], path: Iterator[Path]) -> None:
    def stored_plainly() -> int:
        store_plainly(next(path), records)
        return len(records)

    race(
        "records",
        Work("store", stored(records, path)),
        GOAL,
        Peer(Work("SQLite, a JSON text each", stored_plainly)),
        heavy=True,
        clock=Clock.WALL,
    )


def bench_render(race: Race, records: list[Record], path: Iterator[Path]) -> None:
    """From the stored file to the page's text."""
    place, plain = next(path), next(path)
    report_data.feed(StoreWriter(place), records)
    store_plainly(plain, records)

    def rendered() -> int:
        with Store(place) as store:
            report_html(Summary.of_store(store))
        return len(records)

    def read_plainly() -> int:
        decoder = msgspec.json.Decoder(Record)
        with closing(sqlite3.connect(plain)) as connection:
            texts = connection.execute("SELECT json FROM record ORDER BY id")
            return sum(isinstance(decoder.decode(text), Record) for (text,) in texts)

    race(
        "records",
        Work("render from the store", rendered),
        GOAL,
        Peer(Work("SQLite, a JSON text each, read", read_plainly)),
        heavy=True,
        clock=Clock.WALL,
    )


def bench_whole_folder(race: Race, records: list[Record], path: Iterator[Path]) -> None:
    """All that a campaign leaves: store, certificate, JUnit file and page, from the stream of records."""

    def written() -> int:
        with OutputFolder(next(path)) as output:
            report_data.feed(ReportFolder(output), records)
        return len(records)

    race(
        "records",
        Work("store, certificate, JUnit, page", written),
        Peer(Work("the store alone", stored(records, path))),
        heavy=True,
        clock=Clock.WALL,
    )


def stored(records: list[Record], path: Iterator[Path]) -> Callable[[], int]:
    """Into a new store each time."""

    def run() -> int:
        report_data.feed(StoreWriter(next(path)), records)
        return len(records)

    return run


def store_plainly(path: Path, records: list[Record]) -> None:
    encode = msgspec.json.Encoder().encode
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE record (id INTEGER PRIMARY KEY, json TEXT NOT NULL)")
        connection.executemany("INSERT INTO record VALUES (NULL, ?)", ((encode(record),) for record in records))
        connection.commit()
