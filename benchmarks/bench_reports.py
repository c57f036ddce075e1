"""Storing results and rendering them.

The peer is the plainest thing that could do: one JSON text a record in an SQLite table, and reading them back. It
cannot count anything, and takes several times the room.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import count, cycle, islice
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import msgspec
import pytest
import report_data
from racing import Goal, Peer, Race, Work
from ratios import Clock
from sizes import Sizes

from dml_conformance.reports.model.records import Record
from dml_conformance.reports.output.folder import OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.results import Store, StoreWriter

GOAL = Goal(100_000 / 5)
MANY_GOAL = Goal(1_000_000 / 60)
MOST_MEMORY = 1 << 30  # bytes, of a process that makes a page of `many_records`
MOST_ON_DISK = 5_000_000  # bytes, of a page


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
    """From the stored file to the page's text, cases and all; the peer reads its records and makes nothing of them."""
    place, plain = next(path), next(path)
    report_data.feed(StoreWriter(place), records)
    store_plainly(plain, records)

    def rendered() -> int:
        return page_of(place)[0]

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


def bench_many(race: Race, sizes: Sizes, path: Iterator[Path]) -> None:
    """A million records into one page, by a process of its own, whose memory is looked at.

    Their cases are those of `distinct_records`, over and over, each time bound elsewhere.
    """
    place = next(path)
    kinds = list(report_data.faulty(sizes.distinct_records))
    many = (report_data.another(record, i) for i, record in enumerate(islice(cycle(kinds), sizes.many_records)))
    report_data.feed(StoreWriter(place), many)

    def aggregated() -> int:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            count, size, memory = process.submit(page_of, place).result()
        assert size <= MOST_ON_DISK, f"a page of {size:,} bytes"
        assert memory <= MOST_MEMORY, f"{memory:,} bytes of memory"
        return count

    race("records", Work("aggregate into a page", aggregated), MANY_GOAL, heavy=True, clock=Clock.WALL)


def bench_open(race: Race, records: list[Record], path: Iterator[Path], tmp_path: Path) -> None:
    """From the page's address to its list of cases on the screen, in the system's Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    report_data.feed(StoreWriter(place := next(path)), records)
    page = tmp_path / "report.html"
    _, size, _ = page_of(place, page)
    assert size <= MOST_ON_DISK, f"a page of {size:,} bytes"
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)

        def opened() -> int:
            tab = browser.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector(".list tbody tr")
            tab.close()
            return len(records)

        race("records", Work("open the page", opened), Goal(len(records) / 2), heavy=True, clock=Clock.WALL)
        browser.close()


def page_of(results: Path, page: Path | None = None) -> tuple[int, int, int]:
    """Make the page of a stored campaign: how many records, bytes of the page, and bytes of memory at the most."""
    with Store(results) as store:
        report = CampaignReport.of([store])
    text = report_html(report).encode()
    if page is not None:
        page.write_bytes(text)
    return report.summaries[0].total, len(text), most_memory()


def most_memory() -> int:
    """The most bytes of memory that this process had at a time.

    `getrusage` would count what the process that started this one had, since it is kept over `exec`.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return getrusage(RUSAGE_SELF).ru_maxrss * 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


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
