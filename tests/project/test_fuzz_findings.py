"""What fuzzing found, each mended and kept here in its smallest form, and what was found by looking while it ran."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import package_support
import pytest
import report_data
import zstandard
from commands import invoke
from cryptography.exceptions import InternalError
from cryptography.hazmat.primitives import serialization
from report_data import plain

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.conformance.exchange.failures import read_failures
from dml_conformance.reports.history.database import HistoryError, HistoryFile
from dml_conformance.reports.model.records import Verdict
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.model.text import indented_json
from dml_conformance.reports.package.archive import write_archive
from dml_conformance.reports.package.signature import KeyFileError, read_private_key, read_public_key
from dml_conformance.reports.store.databases import MOST_VALUE_BYTES, guard
from dml_conformance.reports.store.results import Store, StoreError, StoreWriter
from dml_conformance.spec.case import Case
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.strategies.cases import numbered_case

DEEP = "[" * 100_000 + "]" * 100_000


def refused(*arguments: object, named: str) -> str:
    """What is told of a bad input: one line, with code 2."""
    result = invoke(*arguments)
    assert (result.exit_code, result.exception.__class__) == (2, SystemExit), result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("dml-conformance: ")
    assert named in line
    return line


# --- cases and models ---------------------------------------------------------------------------------------------


def executed_case() -> Case:
    return next(case for n in range(9) if (case := numbered_case(0, "TILE", HIGHEST, n)).data)


@pytest.mark.parametrize("command", [("replay", "--backend", "reference", "--in-process"), ("export-model", "-o", "x")])
def test_a_case_nested_without_end_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "case.json"
    path.write_text(DEEP)
    refused(*command, path, named="case.json")


def test_a_failing_case_nested_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(DEEP)
    with pytest.raises(FormError, match=r"a\.json: expected a case as JSON"):
        read_failures(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="named pipes are POSIX's")
def test_a_pipe_among_failing_cases_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(FormError, match=r"pipe\.json: is no file"):
        read_failures(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="this file is Linux's")
def test_a_failing_case_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("/proc/self/mem")
    with pytest.raises(FormError, match=r"a\.json: cannot be read"):
        read_failures(tmp_path)


def test_a_case_without_one_of_its_tensors_is_judged(tmp_path: Path) -> None:
    content = executed_case().to_json()
    del content["desc"]["OutputTensor"]
    path = tmp_path / "case.json"
    path.write_text(json.dumps(content))
    assert invoke("replay", "--backend", "reference", "--in-process", path).exit_code == 0


@pytest.mark.parametrize(
    ("recipe", "problem"),
    [
        ({"pattern": "no such"}, "unknown pattern 'no such'"),
        ({"pattern": "ramp", "seed": -1}, "expected a seed from 0"),
        ({"pattern": "explicit", "values": [1]}, "1 explicit values for"),
    ],
)
def test_data_that_cannot_be_made_is_a_bad_input(tmp_path: Path, recipe: dict[str, Any], problem: str) -> None:
    """And no fault of the harness, with code 3."""
    content = executed_case().to_json()
    content["data"] = dict.fromkeys(content["data"], recipe)
    path = tmp_path / "case.json"
    path.write_text(json.dumps(content))
    assert problem in refused("replay", "--backend", "reference", "--in-process", path, named="case.json.data")
    with pytest.raises(FormError, match=r"case\.json\.data"):
        read_failures(tmp_path)


def model(source: str) -> str:
    tensor = {"DataType": "UINT8", "Sizes": [2]}
    desc = {"InputTensor": tensor, "OutputTensor": tensor, "RepeatsCount": 1, "Repeats": [1]}
    return json.dumps(
        {
            "resources": {"in": {"initialValuesDataType": "UINT8", "initialValues": {"sourcePath": source}}},
            "dispatchables": {"tile": {"type": "DML_OPERATOR_TILE", "desc": desc}},
            "commands": [{"type": "dispatch", "dispatchable": "tile", "bindings": {"InputTensor": "in"}}],
        }
    )


def test_a_model_reads_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    """What it reads goes into a case, which is handed on."""
    (tmp_path / "secret.bin").write_bytes(bytes([1, 2, 3, 4]))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = folder / "model.json"
    for source in ("../secret.bin", str(tmp_path / "secret.bin"), "..\\secret.bin", "link.bin"):
        path.write_text(model(source))
        assert "outside of the model's folder" in refused("import-model", path, named="model.json"), source
    path.write_text(model("a\0b"))
    refused("import-model", path, named="model.json")
    (folder / "sub").mkdir()
    np.save(folder / "sub" / "data.npy", np.array([1, 2], np.uint8))
    path.write_text(model("sub/../sub/data.npy"))
    (case,) = json.loads(invoke("import-model", path).stdout)
    assert case["data"]["InputTensor"]["values"] == [1, 2]


# --- results ------------------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(path), [plain(), plain(Verdict.FAIL)])
    return path


def edit(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement, values)


def read_all(path: Path) -> None:
    with Store(path) as store:
        summary = Summary()
        store.replay(FanOut(summary))
        assert len(store) == summary.total


def test_results_that_are_sound_are_read(results: Path) -> None:
    read_all(results)


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE label", "CREATE VIEW label AS " + ENDLESS.format("i AS id, 'x' AS text")),
        ("DROP TABLE stream", "CREATE VIEW stream AS " + ENDLESS.format("'campaign' AS part, '{}' AS json")),
        ("DROP TABLE body", "CREATE VIEW body AS SELECT 1 AS first, zeroblob(900000000) AS bodies"),
        ("DROP TABLE throughput", "CREATE VIEW throughput AS SELECT * FROM stream"),
    ],
    ids=["label", "stream", "body", "throughput"],
)
def test_no_view_stands_in_for_a_table(results: Path, statements: tuple[str, ...]) -> None:
    edit(results, *statements)
    with pytest.raises(StoreError, match=r"not authorized|prohibited"):
        read_all(results)
    refused("export", results, "--format", "csv", named="results.sqlite")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO remark VALUES (1, 0, x'ff')",
        "UPDATE record SET seconds = 'long'",
        "UPDATE record SET seconds = -1.0",
        "UPDATE record SET seconds = 9e999",
        "UPDATE tensors SET rank = 'x'",
        "INSERT INTO remark VALUES (1, 0.5, '')",
        "UPDATE record SET digest_start = 'text'",
        "UPDATE record SET digest_start = 1",
        "UPDATE record SET digest_start = substr(digest_start, 1, 8)",
        "UPDATE judgement SET operator = 99",
        "UPDATE record SET tensors = 99",
        "UPDATE label SET text = x'ff' WHERE text = 'GATHER'",
        "UPDATE label SET text = 'no operator' WHERE text = 'GATHER'",
        "UPDATE throughput SET seconds = '[]'",
        "UPDATE throughput SET seconds = '[0]'",
        "UPDATE throughput SET copy_bytes_per_second = 0.0",
        "UPDATE throughput SET useful_bytes = 'x'",
        "UPDATE OR IGNORE throughput SET operator = x'ff'",
        "UPDATE stream SET json = json_set(json, '$.backend', json('{}')) WHERE part = 'campaign'",
        "UPDATE stream SET json = json_set(json, '$.backend.executes', 'yes') WHERE part = 'campaign'",
        "UPDATE stream SET json = json_set(json, '$.spec', 'else') WHERE part = 'campaign'",
        "UPDATE stream SET json = json_set(json, '$.rules', json('[{}]')) WHERE part = 'campaign'",
        "UPDATE stream SET json = json_remove(json, '$.rules[0].category') WHERE part = 'campaign'",
        "UPDATE stream SET json = json_set(json, '$.strength', json('{\"killed\": 1}')) WHERE part = 'campaign'",
    ],
)
def test_values_of_another_form_are_refused(results: Path, statement: str) -> None:
    edit(results, statement)
    with pytest.raises(StoreError, match=r"results\.sqlite"):
        read_all(results)


def test_of_results_of_another_form_nothing_is_made(results: Path) -> None:
    edit(results, "UPDATE record SET digest_start = 'text'")
    refused("report", results, "-o", results.with_name("out.html"), named="results.sqlite")
    assert not results.with_name("out.html").exists()


@pytest.mark.parametrize("text", [b"[" + b"[]," * 4_000_000 + b"[]]", bytes(40 << 20), DEEP.encode()])
def test_a_block_that_unpacks_to_too_much_is_refused(results: Path, text: bytes) -> None:
    edit(results, "UPDATE body SET bodies = ?", values=(zstandard.compress(text),))
    with pytest.raises(StoreError, match="damaged"):
        read_all(results)


def test_a_guarded_file_has_no_large_values_and_no_long_statements(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)")
        guard(connection, path.stat().st_size)
        assert connection.execute("SELECT a FROM t").fetchall() == [(1,), (2,), (3,)]
        with pytest.raises(sqlite3.DataError):
            connection.execute(f"SELECT length(zeroblob({MOST_VALUE_BYTES + 1})) FROM t").fetchall()
        for statement in ("DELETE FROM t", "ATTACH 'y' AS y", ENDLESS.format("i"), "CREATE TABLE u (a)"):
            with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"):
                connection.execute(statement)
        many = ", ".join(f"t AS t{n}" for n in range(18))  # 3^18 rows
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(f"SELECT count(t1.a) FROM {many}").fetchall()
    assert not (tmp_path / "y").exists()


def test_a_damaged_package_is_named_and_not_where_it_was_unpacked(tmp_path: Path) -> None:
    folder = package_support.make(tmp_path / "p", ReferenceBackend())
    (folder / "results.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4096))
    with (tmp_path / "p.tar.zst").open("wb") as file:
        write_archive(folder, "p", file)
    line = refused("export", tmp_path / "p.tar.zst", "--format", "csv", named=str(tmp_path / "p.tar.zst"))
    assert line.count(os.sep) == str(tmp_path / "p.tar.zst").count(os.sep) + 1, line


# --- histories ----------------------------------------------------------------------------------------------------


@pytest.fixture
def history(tmp_path: Path, results: Path) -> Path:
    path = tmp_path / "history.sqlite"
    assert invoke("history", "add", path, results).exit_code == 0
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE throughput SET bytes_per_second = 0.0",
        "UPDATE OR IGNORE throughput SET operator = x'ff'",
        "UPDATE run SET digest = x'00'",
        "UPDATE run SET device = x'07'",
        "UPDATE run SET json = '" + DEEP + "'",
        "UPDATE verdicts SET count = 'many'",
    ],
)
def test_histories_with_other_values_are_refused(history: Path, statement: str) -> None:
    edit(history, statement)
    refused("history", "show", history, named="history.sqlite")


def test_no_view_or_trigger_of_a_history_takes_part(history: Path, results: Path) -> None:
    edit(history, "CREATE TRIGGER t AFTER INSERT ON verdicts BEGIN DELETE FROM run; END")
    other = results.with_name("other.sqlite")
    report_data.feed(StoreWriter(other), [plain()])
    refused("history", "add", history, other, named="history.sqlite")
    edit(history, "DROP TABLE verdicts", "CREATE VIEW verdicts AS SELECT id AS run, 'x' AS operator FROM run")
    with HistoryFile(history) as opened, pytest.raises(HistoryError):
        opened.series()


def test_showing_a_history_writes_nothing(history: Path) -> None:
    """A journal beside it could name any other file, which SQLite would look at and remove."""
    with HistoryFile(history) as opened, pytest.raises(sqlite3.OperationalError, match="readonly"):
        opened._connection.execute("INSERT INTO verdicts VALUES (1, '', '', '', 1)")


# --- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("read", "load"), [(read_private_key, "private"), (read_public_key, "public")])
def test_what_openssl_fails_at_is_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object], load: str
) -> None:
    """Where it has an error that it does not know, or no memory left."""

    def fail(*arguments: object, **more: object) -> object:
        raise InternalError("Unknown OpenSSL error", [])

    path = tmp_path / "k.pem"
    path.write_text("-----BEGIN")
    path.chmod(0o600)
    monkeypatch.setattr(serialization, f"load_pem_{load}_key", fail)
    with pytest.raises(KeyFileError, match=r"k\.pem: expected an Ed25519"):
        read(path)


# --- what is shown ------------------------------------------------------------------------------------------------


def test_json_and_tables_have_no_characters_that_act(capsys: pytest.CaptureFixture[str]) -> None:
    nasty = "\x1b[2J\x9b1m\u202e\u2066\x7f"
    print_json({nasty: [nasty]})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {nasty: [nasty]}
    print_table(("a", "b"), [("a", nasty)])
    shown += capsys.readouterr().out
    assert not set("\x1b\x9b\u202e\u2066\x7f") & set(shown)
    assert json.loads(indented_json(nasty)) == nasty
