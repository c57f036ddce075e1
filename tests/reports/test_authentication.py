"""Results that something else than a command has changed: told where the key is, and said not to be known elsewhere."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import report_data
from commands import certificate, invoke
from earlier_versions import write_version_3

from dml_conformance.reports.output.folder import OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.store import authentication
from dml_conformance.reports.store import results as store
from dml_conformance.reports.store.authentication import KEY_FILE, Authenticity, own_key, state_folder
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.reports.store.resuming import ResumeError

PASSES = "(SELECT id FROM label WHERE text = 'pass')"
CHANGES = [
    f"UPDATE judgement SET verdict = {PASSES}",
    "UPDATE stream SET json = replace(json, 'TILE', 'GATHER') WHERE part = 'campaign'",
    "UPDATE label SET text = 'pass' || id WHERE text = 'fail'",
    "UPDATE tensors SET rank = rank + 1 WHERE id = 1",
    "DELETE FROM record WHERE id = (SELECT max(id) FROM record)",
    "DELETE FROM record WHERE id = 7",
    "UPDATE record SET id = CASE id WHEN 7 THEN -8 WHEN 8 THEN -7 END WHERE id IN (7, 8)",
    "UPDATE record SET seconds = CAST(seconds AS TEXT) WHERE id = 7",
    "DELETE FROM remark",
    "UPDATE body SET bodies = (SELECT bodies FROM body ORDER BY first DESC LIMIT 1) WHERE first = 1",
    "UPDATE throughput SET seconds = '[1.0]' WHERE id = 1",
    "UPDATE mac SET value = zeroblob(32)",
    "DROP VIEW result",
]


@pytest.fixture
def other_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another user's state, or that of another machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    own_key.cache_clear()
    yield tmp_path / "state" / "dml-conformance"
    own_key.cache_clear()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "BLOCK", 128)
    path = tmp_path / "results.sqlite"
    stream = StoreWriter(path)
    stream.start(report_data.campaign())
    for record in report_data.some_faulty()[:300]:
        stream.record(record)
    for row in report_data.throughputs():
        stream.throughput(row)
    stream.finish(report_data.ending())
    return path


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(sql).rowcount
        if "-8" in sql:
            connection.execute("UPDATE record SET id = -id WHERE id < 0")
        connection.commit()


def authenticity(path: Path) -> Authenticity:
    with Store(path) as opened:
        return opened.authenticity()


@pytest.mark.parametrize("sql", CHANGES)
def test_whatever_is_changed_is_seen_and_not_shown(results: Path, tmp_path: Path, sql: str) -> None:
    assert authenticity(results) is Authenticity.SOUND
    change(results, sql)
    with Store(results) as opened:
        assert opened.authenticity() is Authenticity.CHANGED
    result = invoke("report", results, "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "results.sqlite: it is not what a command of this user wrote: something else has changed it" in result.stderr
    assert not (tmp_path / "page.html").exists()
    assert invoke("history", "add", tmp_path / "h.sqlite", results).exit_code == 2


def test_elsewhere_and_without_a_mac_they_are_shown_and_it_is_said(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_version_3(earlier := tmp_path / "earlier.sqlite", results)
    without = Path(shutil.copy(results, tmp_path / "without.sqlite"))
    change(without, "DELETE FROM mac")
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "nothing"))
        result = invoke("report", results, "-o", tmp_path / "page.html")
        assert not (tmp_path / "nothing").exists()  # nothing is made there by who only reads
    told = "cannot be authenticated here: it was written on another machine, or by another user"
    assert (result.exit_code, result.stderr.count(told)) == (0, 1)
    for path in (earlier, without):
        result = invoke("report", path, "-o", tmp_path / "page.html", "--replace")
        assert (result.exit_code, result.stderr.count("it has no MAC, as files of earlier releases have none")) == (
            0,
            1,
        )


def test_what_is_being_written_is_authentic_at_each_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BLOCK", 7)
    monkeypatch.setattr(store, "COMMIT_SECONDS", 0.0)
    writer = StoreWriter(path := tmp_path / "results.sqlite")
    writer.start(report_data.campaign())
    for number, record in enumerate(report_data.some_faulty()[:40]):
        assert authenticity(path) is Authenticity.SOUND
        writer.record(record)
        if number % 5 == 0:
            writer.mark(f"{number}")
    for row in report_data.throughputs()[:2]:
        writer.throughput(row)
        assert authenticity(path) is Authenticity.SOUND
    writer.close()
    with Store(path) as opened:
        last = opened.marks()[-2]
    writer = StoreWriter(path)
    writer.reopen(last)
    assert authenticity(path) is Authenticity.SOUND
    report_data.feed(writer, report_data.some_faulty()[:40])
    assert authenticity(path) is Authenticity.SOUND


def interrupted(folder: Path) -> Path:
    """A run that ends when it has judged something; returns its results file."""
    try:
        with OutputFolder(folder) as output:
            reports = ReportFolder(output)
            reports.start(report_data.campaign())
            for record in report_data.some_faulty()[:40]:
                reports.record(record)
            reports._store.mark("unit")
            reports._store._flush()
            reports.close()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        return output.folder / "results.sqlite"


def resume(folder: Path) -> ReportFolder:
    with OutputFolder(folder, resume=True) as output:
        reports = ReportFolder(output)
        report_data.feed(reports, report_data.some_faulty()[:50])
    return reports


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (f"UPDATE judgement SET verdict = {PASSES}", "results.sqlite: it is not what a command of this user wrote"),
        ("UPDATE mark SET records = records - 1", "results.sqlite: it is not what a command of this user wrote"),
        ("DELETE FROM mac", "results.sqlite: it has no MAC"),
        ('INSERT INTO stream VALUES (\'ending\', \'{"finished": "", "complete": true, "reason": ""}\')', "wrote"),
    ],
)
def test_a_run_is_not_resumed_from_results_that_were_changed(tmp_path: Path, sql: str, told: str) -> None:
    change(interrupted(tmp_path / "out"), sql)
    with pytest.raises(ResumeError, match=f"{told}.*; it is not resumed, --replace discards it and starts anew"):
        resume(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_that_was_begun_elsewhere_is_resumed_and_the_certificate_says_so(
    tmp_path: Path, other_state: Path
) -> None:
    interrupted(tmp_path / "out")
    shutil.rmtree(other_state)
    own_key.cache_clear()
    resume(tmp_path / "out")
    told = "from results of another machine or user, which were not authenticated"
    assert certificate(tmp_path / "out")["environment"]["resumed"] == told
    with Store(tmp_path / "out" / "results.sqlite") as opened:
        assert opened.authenticity() is Authenticity.SOUND
        assert opened.campaign.environment["resumed"] == told


# The key.


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_key_is_made_once_and_only_its_user_reads_it(other_state: Path) -> None:
    assert state_folder() == other_state
    key = own_key()
    assert not key.problem
    assert [path.name for path in other_state.iterdir()] == [KEY_FILE]
    assert stat.S_IMODE((other_state / KEY_FILE).stat().st_mode) == 0o600
    own_key.cache_clear()
    assert own_key() == key
    assert authentication._made_secret() == key.secret  # as by a process that found none at the same moment


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("spoil", ["open", "short", "link", "file"])
def test_a_key_that_is_none_is_not_used_and_that_is_told(other_state: Path, tmp_path: Path, spoil: str) -> None:
    other_state.parent.mkdir()
    if spoil == "file":
        other_state.write_text("")
    else:
        other_state.mkdir()
        place = tmp_path / "elsewhere" if spoil == "link" else other_state / KEY_FILE
        place.write_bytes(bytes(31 if spoil == "short" else 32))
        place.chmod(0o644 if spoil == "open" else 0o600)
        if spoil == "link":
            (other_state / KEY_FILE).symlink_to(place)
    assert own_key().problem
    assert own_key().secret != bytes(32)
    result = invoke("certify", "--backend", "reference", "--operator", "TILE", "--budget", "quick", "--cases", 0,
                    "--no-throughput", "--in-process", "--out", tmp_path / "out")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "What is written now cannot be authenticated later, as no key is kept: " in result.stderr
