"""The results file: what goes in comes out, sums are right, and no damaged or foreign file is taken for results."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Container, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import report_data
import zstandard
from earlier_versions import write_version_3, write_version_4
from hypothesis import given, settings
from hypothesis import strategies as st

from dml_conformance.reports.history.database import HistoryError, HistoryFile
from dml_conformance.reports.model.records import Record, Throughput, Verdict
from dml_conformance.reports.model.stream import ALL, StreamError
from dml_conformance.reports.model.summary import Conformance
from dml_conformance.reports.store import forms
from dml_conformance.reports.store import results as store
from dml_conformance.reports.store.authentication import Authenticity
from dml_conformance.reports.store.forms import FORMS, MAX_BLOCK_BYTES, START, TRAITS
from dml_conformance.reports.store.results import (
    BLOCK,
    NOTHING,
    SCHEMA_VERSION,
    Store,
    StoreError,
    StoreWriter,
)
from dml_conformance.reports.store.resuming import PartialRun, ResumeError, is_begun
from dml_conformance.spec.case import digest_of

# What becomes of a file: SQL, with parameters or without, or other bytes.
Change = str | tuple[Any, ...] | Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "results.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_faulty())
    return path


def asked(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """What a file of results answers to SQL."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_what_goes_in_comes_out(results: Path) -> None:
    with Store(results) as opened:
        assert opened.campaign == report_data.campaign()
        assert opened.ending == report_data.ending()
        assert tuple(opened.records()) == report_data.some_faulty()
        assert opened.throughputs() == report_data.throughputs()
        assert len(opened) == len(report_data.some_faulty())


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 77])
def test_every_number_of_records_fits_the_blocks(count: int) -> None:
    records = [report_data.plain(number=i) for i in range(count)]
    with Store(report_data.stored(records)) as opened:
        assert list(opened.records()) == records


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_text_survives(data: st.DataObject) -> None:
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    record = report_data.plain(
        rule=data.draw(text), reason=data.draw(text), pattern=data.draw(text), reproduce=data.draw(text)
    )
    with Store(report_data.stored([record])) as opened:
        assert list(opened.records()) == [record]
        assert list(opened.records(rule=record.rule)) == [record]


def test_seconds_come_back_as_they_were_and_take_little_room() -> None:
    seconds = [0.0, 1e-6, 0.000123, 0.25, 61.000001, 0.1 + 0.2, 1.23456789e-4, 1e-9, 5e6, 1e300]
    records = [report_data.plain(seconds=each) for each in seconds]
    with Store(path := report_data.stored(records)) as opened:
        assert [record.seconds for record in opened.records()] == seconds
    kinds = [kind for (kind,) in asked(path, "SELECT typeof(seconds) FROM record")]
    assert kinds == 5 * ["integer"] + 5 * ["real"]
    assert asked(path, "SELECT seconds FROM result") == [(each,) for each in seconds]


@pytest.mark.parametrize(
    "wanted",
    [
        {"verdict": Verdict.FAIL},
        {"verdict": [Verdict.CRASH, Verdict.TIMEOUT]},
        {"operator": "TILE"},
        {"operator": "TILE", "level": ("1_0", "6_4")},
        {"rule": "GATHER.axis-range", "verdict": "fail", "operator": "GATHER", "level": "6_0"},
        {"rule": "x') OR 1=1; DROP TABLE record; --"},  # text is no SQL
        {"level": []},
    ],
)
def test_filters_pick_what_they_say(results: Path, wanted: dict[str, Any]) -> None:
    def fits(record: Record) -> bool:
        several = {trait: [value] if isinstance(value, str) else value for trait, value in wanted.items()}
        return all(getattr(record, trait) in values for trait, values in several.items())

    expected = [record for record in report_data.some_faulty() if fits(record)]
    with Store(results) as opened:
        assert list(opened.records(**wanted)) == expected
        assert len(opened) == len(report_data.some_faulty())


def test_the_view_shows_records_in_words(results: Path) -> None:
    record = report_data.some_faulty()[0]
    (row,) = asked(results, f"SELECT lower(hex(digest_start)), {', '.join(TRAITS)} FROM result WHERE id = 1")
    assert row == (record.case[: 2 * START], *(str(getattr(record, trait)) for trait in TRAITS))


def test_a_finished_run_is_one_file_without_marks(results: Path) -> None:
    assert [entry.name for entry in results.parent.iterdir()] == [results.name]
    assert asked(results, "PRAGMA freelist_count") == [(0,)]
    indices = {name for (name,) in asked(results, "SELECT name FROM sqlite_schema WHERE type = 'index'")}
    assert all(name.startswith("sqlite_autoindex_") for name in indices)
    with Store(results) as opened:
        assert opened.marks() == ()
    tables = {
        "stream",
        "label",
        "judgement",
        "tensors",
        "record",
        "remark",
        "body",
        "throughput",
        "sqlite_stat1",
        "mac",
    }
    assert set(everything(results)) == tables


def test_records_that_nobody_reads_to_their_end_are_no_error(results: Path) -> None:
    with Store(results) as store:
        records = store.records()
        next(records)
    del records


def test_who_reads_a_running_store_does_not_keep_its_writer_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slowly; what is read is what there was at the start, texts that came later are not missed."""
    monkeypatch.setattr(store, "READER_SECONDS", 0)
    writer = StoreWriter(tmp_path / "results.sqlite")
    writer.start(report_data.campaign())
    for i in range(3 * BLOCK + 1):
        if i == 2 * BLOCK + 1:
            reading = Store(tmp_path / "results.sqlite")
            records = reading.records()
            first = next(records)
        writer.record(report_data.plain(number=i, rule=f"GATHER.rule-{i // BLOCK}"))
    writer.close()
    with reading:
        read = [record.case for record in (first, *records)]
    assert read == [report_data.plain(number=i).case for i in range(2 * BLOCK)]
    assert asked(tmp_path / "results.sqlite", "SELECT count(*) FROM record") == [(3 * BLOCK,)]


def test_a_run_that_was_cut_off_keeps_its_blocks_and_says_so(tmp_path: Path) -> None:
    writer = StoreWriter(tmp_path / "results.sqlite")
    writer.start(report_data.campaign())
    for i in range(BLOCK + 10):
        writer.record(report_data.plain(number=i))
    writer.close()  # as when the process is killed: no `finish`
    with Store(tmp_path / "results.sqlite") as opened:
        assert opened.ending is None
        summary = opened.summary()
    assert summary.total == BLOCK
    assert summary.conformance is Conformance.INCOMPLETE
    assert "cut off" in summary.why_incomplete()[0]


def test_bodies_are_compressed(results: Path) -> None:
    plain = sum(len(msgspec.json.encode((r.case_json, r.differences, r.reproduce))) for r in report_data.some_faulty())
    ((stored,),) = asked(results, "SELECT sum(length(bodies)) FROM body")
    assert stored < plain / 6


def test_a_case_is_found_by_as_much_of_its_digest_as_is_known(results: Path) -> None:
    record = report_data.some_faulty()[700]
    other = record.case[:-1] + ("1" if record.case[-1] == "0" else "0")
    with Store(results) as opened:
        for digits in (12, 2 * START, 2 * START + 1, 64):
            assert list(opened.records_of_case(record.case[:digits].upper())) == [record]
        assert list(opened.records_of_case(other)) == []
        assert opened.answers([record.case]) == {record.case: (record.verdict, record.answered)}


def test_a_file_that_is_there_or_cannot_be_written_is_named(results: Path, tmp_path: Path) -> None:
    before = results.read_bytes()
    for path, told in ((results, "exists already"), (tmp_path / "missing" / "results.sqlite", "cannot be written")):
        with pytest.raises(StoreError, match=rf"results\.sqlite: {told}"):
            StoreWriter(path).start(report_data.campaign())
    assert results.read_bytes() == before


def test_a_stream_starts_with_its_campaign(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="starts with its campaign"):
        StoreWriter(tmp_path / "results.sqlite").finish(report_data.ending())


# Files that are not ours, or no longer.


def changed(results: Path, tmp_path: Path, change: Change) -> Path:
    """A copy of the results, changed by SQL or as bytes."""
    path = tmp_path / "changed.sqlite"
    if callable(change):
        path.write_bytes(change(results.read_bytes()))
        return path
    path.write_bytes(results.read_bytes())
    sql, *parameters = (change,) if isinstance(change, str) else change
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, parameters)
    return path


def read_all(path: Path) -> None:
    with Store(path) as opened:
        list(opened.records())


def of_length(share: float) -> Change:
    return lambda content: content[: int(len(content) * share)]


def bodies(case: dict[str, Any]) -> bytes:
    """A block in which every record has this case."""
    return zstandard.compress(msgspec.json.encode([(case, (), "")] * BLOCK))


NEW_BODIES = "UPDATE body SET bodies = ? WHERE first = 1"
CASE = {"type": "x", "desc": {}, "level": "3_0", "data": None}
FOUND = f"found that of {digest_of(CASE)}$"
OTHER_FILE = "not a results file"
RELEASE = "this release reads version 3 or 4 or 5$"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _: b"", "an SQLite file, but not one of this suite's results files"),
        (lambda _: b"hello", OTHER_FILE),
        (lambda _: b"{}" * 5000, OTHER_FILE),
        (lambda _: b"SQLite format 3\0" + b"\xff" * 4096, OTHER_FILE),
        *((of_length(share), OTHER_FILE) for share in (0.05, 0.3, 0.6, 0.9)),
        ("PRAGMA application_id = 0", "an SQLite file, but not one of this suite's"),
        ("PRAGMA user_version = 2", f"version 2; {RELEASE}"),
        ("PRAGMA user_version = 3", OTHER_FILE),
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", f"version {SCHEMA_VERSION + 1}; {RELEASE}"),
        ((NEW_BODIES, b"\0\1\2"), ""),
        ((NEW_BODIES, zstandard.compress(b"[[1,2,3]]")), ""),
        ((NEW_BODIES, zstandard.compress(b"[]")), "the case of record 1 is missing"),
        ((NEW_BODIES, zstandard.compress(b"[" * 100_000)), ""),
        ((NEW_BODIES, zlib.compress(b"[]")), "the case of record 1: "),
        ((NEW_BODIES, "text"), ""),
        ((NEW_BODIES, bodies({})), "the case of record 1 is none: 'type'"),
        ((NEW_BODIES, bodies(CASE | {"placement": 1})), "the case of record 1 is none: Expected `object`, got `int`"),
        ((NEW_BODIES, bodies(CASE)), f"the case of record 1: expected that of digest [0-9a-f]{{32}}, {FOUND}"),
        (
            "UPDATE record SET digest_start = zeroblob(16) WHERE id = 9",
            "the case of record 9: expected that of digest 0{32}, found",
        ),
        ("UPDATE body SET bodies = substr(bodies, 1, length(bodies) / 2) WHERE first = 1", ""),
        ("UPDATE body SET bodies = CAST(bodies || bodies AS BLOB) WHERE first = 1", "unused data"),
        ("DELETE FROM body WHERE first = 1", "the case of record 1 is missing"),
        ("DELETE FROM label WHERE text = 'fail'", ""),
        ("DELETE FROM judgement WHERE id = 2", ""),
        ("DELETE FROM tensors WHERE id = 2", ""),
        ("UPDATE label SET text = 'perhaps' WHERE text = 'fail'", ""),
        ("UPDATE judgement SET phase = 'x' WHERE id = 9", ""),
        ("UPDATE stream SET json = '{}' WHERE part = 'campaign'", ""),
        ("DELETE FROM stream", ""),
        ("DROP TABLE record", ""),
    ],
)
def test_what_is_no_results_file_or_damaged_is_told_with_the_file(
    results: Path, tmp_path: Path, change: Change, told: str
) -> None:
    path = changed(results, tmp_path, change)
    with pytest.raises(StoreError, match=rf"changed\.sqlite.*{told}"):
        read_all(path)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"some\.sqlite: no such file"):
        Store(tmp_path / "some.sqlite")


@pytest.mark.parametrize("says_its_size", [True, False])
def test_a_block_that_unpacks_without_end_is_refused(results: Path, tmp_path: Path, *, says_its_size: bool) -> None:
    packed = zstandard.ZstdCompressor(write_content_size=says_its_size).compress(bytes(MAX_BLOCK_BYTES + 1))
    path = changed(results, tmp_path, (NEW_BODIES, packed))
    with pytest.raises(StoreError, match=r"the case of record 1: .* beyond all measure"):
        read_all(path)


@pytest.mark.parametrize(("room", "blocks"), [(3, 1), (2, 2)])  # for two brackets and a comma
def test_what_takes_much_room_is_in_several_blocks(monkeypatch: pytest.MonkeyPatch, room: int, blocks: int) -> None:
    """Each of them is one that can be read."""
    records = [report_data.plain(number=i) for i in (10, 11)]
    for module in (store, forms):
        monkeypatch.setattr(module, "MAX_BLOCK_BYTES", 2 * len(records[0].body) + room)
    with Store(path := report_data.stored(records)) as opened:
        assert list(opened.records()) == records
    assert asked(path, "SELECT count(*) FROM body") == [(blocks,)]


def test_reading_changes_nothing(results: Path) -> None:
    before = results.read_bytes()
    with Store(results) as opened:
        list(opened.records())
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            opened._connection.execute("DELETE FROM record")
    assert results.read_bytes() == before


@pytest.fixture
def own(results: Path, tmp_path: Path) -> Path:
    """Results in a folder of their own, which a test may change."""
    (tmp_path / "own").mkdir()
    return Path(shutil.copy(results, tmp_path / "own"))


def in_wal_mode(path: Path) -> None:
    """Of the file alone: its WAL was written back and removed."""
    assert asked(path, "PRAGMA journal_mode = WAL") == [("wal",)]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def with_a_wal(path: Path) -> sqlite3.Connection:
    """The file with one record less, which its WAL alone says; the connection keeps it from being written back."""
    in_wal_mode(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("DELETE FROM record WHERE id = (SELECT max(id) FROM record)")
    return connection


def test_a_file_in_wal_mode_is_read_without_leaving_anything_beside_it(own: Path) -> None:
    in_wal_mode(own)
    with Store(own) as opened:
        assert len(list(opened.records())) == len(report_data.some_faulty())
        assert [entry.name for entry in own.parent.iterdir()] == [own.name]
    assert [entry.name for entry in own.parent.iterdir()] == [own.name]


def test_a_file_is_never_read_without_its_wal(own: Path, tmp_path: Path) -> None:
    """Be it there with a writer, or copied with the file."""
    connection = with_a_wal(own)
    with pytest.raises(StoreError, match=r"results\.sqlite-wal beside it has what is not in it yet"):
        Store(own)
    left = tmp_path / "left"
    left.mkdir()
    for name in (own.name, f"{own.name}-wal"):
        shutil.copy(own.parent / name, left / name)
    connection.close()
    with pytest.raises(StoreError, match=r"results\.sqlite-wal beside it has what is not in it yet"):
        Store(left / own.name)
    assert sorted(entry.name for entry in left.iterdir()) == [own.name, f"{own.name}-wal"]


def _history(path: Path) -> None:
    with pytest.raises(HistoryError, match=r"journal beside it names another file"), HistoryFile(path, create=True):
        pass


def _restored(path: Path) -> None:
    with pytest.raises(StoreError, match=r"journal beside it names another file"):
        Store(path, restore=True)


@pytest.mark.parametrize("opened", [_history, _restored, is_begun])
def test_a_journal_that_names_another_file_does_not_have_it_removed(
    own: Path, tmp_path: Path, opened: Callable[[Path], object]
) -> None:
    """SQLite takes back what the journal has, and then removes the file that several journals are said to share."""
    other = tmp_path / "other"
    other.write_bytes(b"another's\0")
    page, mark = int.from_bytes(own.read_bytes()[16:18]), bytes.fromhex("d9d505f920a163d7")
    numbers = (0, 0, own.stat().st_size // page, 512, page)  # records, nonce, pages, bytes of a sector and of a page
    header = mark + b"".join(number.to_bytes(4, "big") for number in numbers)
    name = str(other).encode()
    shared = (2**30 // page + 1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    own.with_name(f"{own.name}-journal").write_bytes(header.ljust(512, b"\0") + shared + mark)
    opened(own)
    assert other.exists()


def test_a_file_whose_writer_was_stopped_midway_is_refused_and_left_as_it_is(own: Path) -> None:
    connection = sqlite3.connect(own, isolation_level=None)
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("UPDATE record SET digest_start = randomblob(16)")
    files = {entry: entry.read_bytes() for entry in own.parent.iterdir()}
    assert len(files) == 2
    connection.execute("ROLLBACK")
    connection.close()
    for path, content in files.items():
        path.write_bytes(content)
    with pytest.raises(StoreError, match=r"writer was stopped midway, and results\.sqlite-journal"):
        Store(own)
    assert {entry: entry.read_bytes() for entry in own.parent.iterdir()} == files


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write to every folder")
def test_a_file_in_a_folder_that_nobody_may_write_to_is_read(own: Path) -> None:
    in_wal_mode(own)
    own.parent.chmod(0o555)
    try:
        with Store(own) as opened:
            assert len(opened) == len(report_data.some_faulty())
    finally:
        own.parent.chmod(0o755)


# Files of earlier versions.


@pytest.fixture(scope="module")
def version_3(results: Path) -> Path:
    write_version_3(path := results.parent.parent / "version_3.sqlite", results)
    return path


@pytest.fixture(scope="module")
def version_4(results: Path) -> Path:
    write_version_4(path := results.parent.parent / "version_4.sqlite", results)
    return path


@pytest.mark.parametrize(
    ("version", "digest"),
    [
        (3, "6cac2f818576969d8e1be5f1784c121d8af3479ecc04d4d672c172c06fddcbb6"),
        (4, "94a77c55c7276bcb36b48a82f44fd7d047ddd22f014b035ebe0212eb8538b16d"),
        (5, "97b0d9fdec49808d7755cf114099787b9b371bbfe765a1bb162a0959a1a128a2"),
    ],
)
def test_a_version_is_what_releases_write(version: int, digest: str) -> None:
    """SHA-256 over its tables, as the first of these had them."""
    text = "\n".join(sql for _, sql in sorted(FORMS[version].objects().items()))
    assert hashlib.sha256(text.encode()).hexdigest() == digest


@pytest.mark.parametrize("version", [3, 4])
def test_a_file_of_an_earlier_version_says_the_same(
    results: Path, version: int, request: pytest.FixtureRequest
) -> None:
    earlier: Path = request.getfixturevalue(f"version_{version}")
    with Store(earlier) as before, Store(results) as now:
        assert (before.version, now.version) == (version, SCHEMA_VERSION)
        assert (before.campaign, before.ending, len(before)) == (now.campaign, now.ending, len(now))
        assert list(before.records()) == list(now.records())
        assert before.throughputs() == now.throughputs()
        failed, failed_now = (list(each.records(verdict="fail", operator="TILE")) for each in (before, now))
        assert failed == failed_now != []
        assert list(before.numbered([1, 128, 129, 1400])) == list(now.numbered([1, 128, 129, 1400]))
        cases = [record.case for record in report_data.some_faulty()[:200]]
        assert before.answers(cases) == now.answers(cases)
        assert list(before.records_of_case(cases[0][:8])) == list(now.records_of_case(cases[0][:8]))
        asked_for: Any = (100, [Verdict.FAIL], 2, ([cases[7][:8]], [cases[9][:8]]), 8)
        assert list(before.ranked(*asked_for)) == list(now.ranked(*asked_for))
    wanted = [(number, start, *rest) for number, start, *rest in asked(results, "SELECT * FROM result ORDER BY id")]
    found = asked(earlier, "SELECT * FROM result ORDER BY id")
    assert [(number, digest[:START], *rest) for number, digest, *rest in found] == wanted
    assert [digest.hex() for _, digest, *_ in found] == [record.case for record in report_data.some_faulty()]


@pytest.mark.parametrize(
    "block", [zlib.compress(bytes(MAX_BLOCK_BYTES + 1)), zlib.compress(b"[]") + b"more", zlib.compress(b"[1]")[:-1]]
)
def test_a_block_of_version_3_that_does_not_end_is_refused(version_3: Path, tmp_path: Path, block: bytes) -> None:
    path = changed(version_3, tmp_path, ("UPDATE body SET bodies = ? WHERE block = 0", block))
    with pytest.raises(StoreError, match="does not end where it should"):
        read_all(path)


def test_a_whole_digest_of_an_earlier_version_is_held_against_the_case(version_4: Path, tmp_path: Path) -> None:
    change = "UPDATE record SET digest = CAST(substr(digest, 1, 16) || zeroblob(16) AS BLOB) WHERE id = 9"
    with pytest.raises(StoreError, match=r"the case of record 9: expected that of digest \w{32}0{32}, found"):
        read_all(changed(version_4, tmp_path, change))


def test_a_run_that_an_earlier_release_began_is_not_gone_on_with(
    version_3: Path, version_4: Path, tmp_path: Path
) -> None:
    with pytest.raises(ResumeError, match="it has no MAC, as files of earlier releases have none; it is not resumed"):
        PartialRun.of(version_3, tmp_path)  # though reports are all that it lacks: anybody can write such a file
    for version, path in ((3, version_3), (4, version_4)):
        path = changed(path, tmp_path, "DELETE FROM stream WHERE part = 'ending'")
        with pytest.raises(ResumeError, match=f"of version {version}, which this release only reads; --replace"):
            PartialRun.of(path, tmp_path)


def test_a_run_of_version_4_that_lacks_reports_alone_is_gone_on_with(version_4: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(version_4, tmp_path / "results.sqlite"))
    assert PartialRun.of(path, tmp_path).count == len(report_data.some_faulty())
    writer = StoreWriter(path)
    writer.reopen(None)
    report_data.feed(writer, report_data.some_faulty())
    assert everything(path) == everything(version_4)
    with Store(path) as opened:
        assert opened.authenticity() is Authenticity.SOUND


# Files that an interrupted run left.


def unfinished(path: Path, records: Sequence[Record], units: Container[int], rows: Sequence[Throughput] = ()) -> None:
    """A file with a mark after so many records each, and nothing else that was committed."""
    writer = StoreWriter(path)
    writer.start(report_data.campaign())
    for count, record in enumerate(records, 1):
        writer.record(record)
        if count in units:
            writer.mark(f"up to {count}")
    for row in rows:
        writer.throughput(row)
    writer.mark(ALL)
    # Of the next unit, which does not end; it need not come out the same another time.
    writer.record(msgspec.structs.replace(records[0], layout="seen once"))
    writer._flush()
    writer.close()


def everything(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, bodies as they are unpacked."""
    tables = [name for (name,) in asked(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: asked(path, f"SELECT * FROM {name} ORDER BY 1") for name in tables}
    return found | {"body": [(first, zstandard.decompress(bodies)) for first, bodies in found["body"]]}


@pytest.mark.parametrize("kept", [0, 1, 127, 128, 129, 640, 1023, 1024, 1101])
def test_a_file_that_is_gone_on_with_is_as_if_it_had_not_been_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(store, "BLOCK", 128)
    records, path = report_data.some_faulty(), tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(tmp_path / "whole.sqlite"), records)
    unfinished(path, records[:1224], range(0, 1224, 7) if kept == 0 else [kept])
    with Store(path) as opened:
        marks = [mark for mark in opened.marks() if mark.records <= kept]
    assert kept == 0 or marks[-1].records == kept
    writer = StoreWriter(path)
    writer.reopen(marks[-1] if marks else NOTHING)
    with Store(path) as opened:
        assert len(opened) == kept
        assert list(opened.records()) == list(records[:kept])
    report_data.feed(writer, records)
    assert everything(path) == everything(tmp_path / "whole.sqlite")


def test_a_file_of_large_blocks_is_gone_on_with_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records, path = report_data.some_faulty()[:60], tmp_path / "results.sqlite"
    monkeypatch.setattr(store, "MAX_BLOCK_BYTES", 9 * max(len(record.body) for record in records))
    report_data.feed(StoreWriter(tmp_path / "whole.sqlite"), records)
    unfinished(path, records, [33])
    writer = StoreWriter(path)
    with Store(path) as opened:
        writer.reopen(opened.marks()[0])
    report_data.feed(writer, records)
    assert everything(path) == everything(tmp_path / "whole.sqlite")


def test_nothing_is_left_of_what_came_after_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is less of it the next time."""
    monkeypatch.setattr(store, "BLOCK", 128)
    records, path = report_data.some_faulty(), tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(tmp_path / "whole.sqlite"), records[:140])
    unfinished(path, records, [130])
    writer = StoreWriter(path)
    with Store(path) as opened:
        writer.reopen(opened.marks()[0])
    report_data.feed(writer, records[:140])
    assert everything(path) == everything(tmp_path / "whole.sqlite")


def test_a_label_that_is_missing_is_told_when_a_file_is_gone_on_with(tmp_path: Path) -> None:
    unfinished(path := tmp_path / "results.sqlite", report_data.some_faulty()[:60], [33])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM label WHERE id = 1")
        report_data.seal(connection)
    with Store(path) as opened:
        StoreWriter(path).reopen(opened.marks()[0])
        with pytest.raises(StoreError, match=r"results\.sqlite"):
            list(opened.records())


def test_measurements_that_are_all_there_are_kept(tmp_path: Path) -> None:
    records, path, rows = report_data.some_sound(), tmp_path / "results.sqlite", report_data.throughputs()
    report_data.feed(StoreWriter(tmp_path / "whole.sqlite"), records)
    unfinished(path, records, [10], rows)
    with Store(path) as opened:
        assert [mark.throughputs for mark in opened.marks()] == [0, len(rows)]
        last = opened.marks()[-1]
    writer = StoreWriter(path)
    writer.reopen(last)
    with Store(path) as opened:
        assert opened.throughputs() == tuple(rows)
    report_data.feed(writer, records)
    assert everything(path) == everything(tmp_path / "whole.sqlite")
    again = StoreWriter(path)  # as when a run is killed between its last result and its first report
    again.reopen(None)
    report_data.feed(again, records)
    assert everything(path) == everything(tmp_path / "whole.sqlite")


def test_a_mark_is_committed_where_the_last_time_is_a_while_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "COMMIT_SECONDS", 3600.0)
    writer = StoreWriter(tmp_path / "results.sqlite")
    writer.start(report_data.campaign())
    for unit in ("one", "two"):
        writer.record(report_data.plain())
        writer.mark(unit)
    with Store(tmp_path / "results.sqlite") as opened:
        assert opened.marks() == ()
    monkeypatch.setattr(store, "COMMIT_SECONDS", 0.0)
    writer.mark("three")
    with Store(tmp_path / "results.sqlite") as opened:
        assert [(mark.unit, mark.records) for mark in opened.marks()] == [("one", 1), ("two", 2), ("three", 2)]
    writer.close()
