"""Results with more measurements than any report has room for: what is shown is bounded, and the rest is counted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import report_data
from commands import invoke

from dml_conformance.reports.history.database import HistoryFile
from dml_conformance.reports.model.records import (
    MOST_MEASUREMENTS,
    MOST_SIZES,
    MOST_TIMED,
    Caches,
    Room,
    Throughput,
    Timing,
)
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.reports.views.markdown import MAX_CHARACTERS, markdown

MIB = 1 << 20


def row(operator: str, data_type: str, size: int, caches: Caches = Caches.WARM) -> Throughput:
    return Throughput(operator, data_type, "Input{1} Output{1}", 2 * size, (1e-3, 2e-3), 1e12, size, caches)


def long_names(count: int) -> Iterator[Throughput]:
    """The name of a type is as long as a name may be."""
    return (row("TILE", f"{n:x<990}{n % 7}", MIB) for n in range(count))


FLOODS: dict[str, Callable[[], Iterator[Throughput]]] = {
    "types": lambda: long_names(20_000),
    "sizes": lambda: (row("TILE", "FLOAT32", n, caches) for n in range(1, 10_001) for caches in Caches),
    "operators": lambda: (row(f"O{n}", f"T{n}", n + 1) for n in range(20_000)),
    "repeated": lambda: (row("TILE", "FLOAT32", MIB) for _ in range(20_000)),
}


@pytest.fixture(scope="module", params=FLOODS)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flood") / "r.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_sound()[:300])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM throughput")
        connection.executemany(
            "INSERT INTO throughput VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, '[]', '')",
            (
                (r.operator, r.data_type, r.shape, r.useful_bytes, msgspec.json.encode(r.seconds).decode(),
                 r.copy_bytes_per_second, r.output_bytes, str(r.caches))
                for r in FLOODS[request.param]()
            ),
        )  # fmt: skip
        report_data.seal(connection)
    return path


@pytest.fixture(scope="module")
def left_out(results: Path) -> int:
    with Store(results) as store:
        count = len(store.throughputs())
        summary = store.summary()
    assert len(summary.throughputs) <= MOST_MEASUREMENTS
    assert len(summary.throughputs) + summary.throughputs_left_out == count
    assert summary.throughputs_left_out > 10_000
    return summary.throughputs_left_out


@pytest.mark.few(2, 4)
@pytest.mark.parametrize("count", [1, 3])
def test_a_page_is_bounded_and_says_what_it_leaves_out(
    results: Path, left_out: int, tmp_path: Path, count: int
) -> None:
    paths = [tmp_path / f"{n}.sqlite" for n in range(count)]
    for path in paths:
        path.write_bytes(results.read_bytes())
    assert invoke("report", *paths, "-o", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(page.encode()) <= 5_000_000
    assert page.count(f"{left_out:,} measurements, for which there is no room here, are left out") == count


@pytest.mark.few(1, 2)
def test_certificate_console_and_markdown_are_bounded_and_say_so(results: Path, left_out: int) -> None:
    with Store(results) as store:
        summary = store.summary()
    certificate = Certificate.of(summary)
    assert certificate.throughput_left_out == left_out
    assert len(certificate.to_json()) < 8 * MIB
    shown = report_data.printed(summary, width=200)
    assert shown.count("\n") < 120
    text = markdown(summary)
    assert len(text) <= MAX_CHARACTERS
    for told in (shown, text):
        assert f"{left_out:,} more measurements are in the results alone." in told


@pytest.mark.few(1, 2)
def test_a_history_is_bounded_and_says_so(results: Path, left_out: int, tmp_path: Path) -> None:
    history, html = tmp_path / "h.sqlite", tmp_path / "h.html"
    assert f"{left_out:,} measurements are left out" in invoke("history", "add", history, results).output
    with closing(sqlite3.connect(history)) as connection:  # as one from elsewhere may have them
        connection.executemany(
            "INSERT OR IGNORE INTO throughput VALUES (1, ?, ?, ?, ?, 1e9)",
            ((r.operator, r.data_type, r.output_bytes, str(r.caches)) for r in long_names(20_000)),
        )
        connection.commit()
    assert "more measurements are left out" in invoke("history", "show", history).output
    assert invoke("history", "show", history, "--format", "html", "-o", html).exit_code == 0
    page = html.read_text(encoding="utf-8")
    assert len(page.encode()) <= 5_000_000
    assert "for which there is no room here, are left out; the history has all." in page


def test_a_history_of_many_series_is_bounded_and_says_so(tmp_path: Path) -> None:
    history, html = tmp_path / "h.sqlite", tmp_path / "h.html"
    with HistoryFile(history, create=True) as kept:
        kept.add(report_data.summary_of(report_data.some_sound()[:20]))
    with closing(sqlite3.connect(history)) as connection:
        query = "INSERT INTO run SELECT NULL, ?, backend, ?, started, outcome, json FROM run WHERE id = 1"
        connection.executemany(query, [(f"{n:064}", f"device {n}") for n in range(2_000)])
        connection.commit()
    assert "1,961 more backends and devices are left out" in invoke("history", "show", history).output
    assert invoke("history", "show", history, "--format", "html", "-o", html).exit_code == 0
    page = html.read_text(encoding="utf-8")
    assert "1,961 more backends and devices are left out" in page
    assert len(page) < 1_000_000


@pytest.mark.parametrize(
    ("timings", "most"),
    [
        ([Timing("O", f"T{n}", 1, Caches.WARM) for n in range(MOST_TIMED + 1)], MOST_TIMED),
        ([Timing("O", "T", n, Caches.WARM) for n in range(MOST_SIZES + 1)], MOST_SIZES),
        ([Timing("O", "T", 1, Caches.WARM)] * (MOST_MEASUREMENTS + 1), MOST_MEASUREMENTS),
        # All operators and types of a campaign, at eight sizes in both states of the caches.
        ([Timing(f"O{n % 5}", f"T{n}", 1 << size, of) for n in range(55) for size in range(8) for of in Caches], 880),
    ],
    ids=["types", "sizes", "measurements", "a campaign"],
)
def test_each_limit_leaves_out_what_is_beyond_it(timings: list[Timing], most: int) -> None:
    room = Room()
    assert [room.takes(timing) for timing in timings] == [True] * most + [False] * (len(timings) - most)
    assert room.left_out == len(timings) - most
