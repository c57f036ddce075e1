"""CTRF, Markdown and CSV from the stream, and the command that writes them from stored results."""

from __future__ import annotations

import csv
import io
import json
import re
import tracemalloc
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import report_data
from click.testing import Result
from commands import invoke
from ctrf_schema import CTRF
from report_data import plain

from dml_conformance.reports.model.records import NOT_CONFORMANT, Caches, Difference, Record, Verdict, at_largest_size
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import FailureKind, Summary
from dml_conformance.reports.model.text import share_of_copy
from dml_conformance.reports.store import results as store_module
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.reports.views.csv_rows import COLUMNS, CsvWriter, cell
from dml_conformance.reports.views.ctrf import ctrf_json
from dml_conformance.reports.views.junit import NO_RULE, junit_xml
from dml_conformance.reports.views.markdown import MAX_CHARACTERS, markdown

NASTY = "[x](javascript:1)\x1b[2J\x07 <script>alert(1)</script> @team `tick` |pipe| \u202e\ud800 ```"


@pytest.fixture(scope="module")
def faulty() -> Summary:
    return report_data.summary_of(report_data.some_faulty())


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_faulty())
    return path


# --- CTRF ---------------------------------------------------------------------------------------------------------


def ctrf(summary: Summary) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(ctrf_json(summary))
    jsonschema.Draft202012Validator(CTRF).validate(document)
    return document


def test_ctrf_has_the_tests_that_there_are(faulty: Summary) -> None:
    document = ctrf(faulty)
    tests, sums = document["results"]["tests"], document["results"]["summary"]
    found = {(operator, level, rule) for operator, level, _, rule in faulty.tests}
    assert len(tests) == len(found) == sums["tests"]
    statuses = Counter(test["status"] for test in tests)
    assert statuses == {status: sums[status] for status in ("passed", "failed", "skipped")}
    failed = {
        f"{operator} {level} {rule or NO_RULE}"
        for (operator, level, _, rule), test in faulty.tests.items()
        if any(test.counts[verdict] for verdict in NOT_CONFORMANT)
    }
    assert {test["name"] for test in tests if test["status"] == "failed"} == failed
    assert len({test["name"] for test in tests}) == len(tests)
    cases: Counter[str] = sum((Counter(test["extra"]["cases"]) for test in tests), Counter())
    assert cases == sums["extra"]["cases"] == {str(v): n for v, n in faulty.counts.items() if n}


def test_ctrf_tells_when_and_how_to_reproduce(faulty: Summary) -> None:
    results = ctrf(faulty)["results"]
    assert results["summary"]["stop"] - results["summary"]["start"] == 72_000 == results["summary"]["duration"]
    failed = [test for test in results["tests"] if test["status"] == "failed"]
    assert all("reproduce: dml-conformance " in test["trace"] for test in failed)
    assert all(test["message"].startswith(test["rawStatus"]) or len(test["extra"]["cases"]) > 1 for test in failed)


V = Verdict


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ([V.PASS], "passed"),
        ([V.FAIL], "failed"),
        ([V.CRASH], "failed"),
        ([V.TIMEOUT], "failed"),
        ([V.ERROR], "other"),
        ([V.WAIVED], "skipped"),
        ([V.OBSERVED], "skipped"),
        ([V.NOT_SUPPORTED], "skipped"),
        ([V.PASS, V.ERROR, V.CRASH], "failed"),
        ([V.WAIVED, V.PASS], "passed"),
    ],
)
def test_verdicts_have_a_status(verdicts: list[Verdict], status: str) -> None:
    """The last of them is what they come to."""
    (test,) = ctrf(report_data.summary_of(map(plain, verdicts)))["results"]["tests"]
    assert (test["status"], test["rawStatus"]) == (status, str(verdicts[-1]))


def test_the_same_stream_has_the_same_report(faulty: Summary) -> None:
    assert ctrf_json(report_data.summary_of(report_data.some_faulty())) == ctrf_json(faulty)
    other = ctrf(report_data.summary_of(report_data.some_sound()))
    assert uuid.UUID(other["reportId"]) != uuid.UUID(ctrf(faulty)["reportId"])


def test_a_campaign_that_was_cut_off_has_a_report() -> None:
    summary = Summary()
    summary.start(report_data.campaign(started="no date"))
    document = json.loads(ctrf_json(summary))
    assert document["results"]["tests"] == []
    assert document["results"]["summary"]["start"] == 0


# --- Markdown -----------------------------------------------------------------------------------------------------


def test_markdown_has_the_matrix_and_every_failure(faulty: Summary) -> None:
    text = markdown(faulty)
    lines = text.splitlines()
    assert lines[0] == "# ✗ torch:cuda:0: not conformant"
    for operator in faulty.campaign.operators:
        row = next(line for line in lines if line.startswith(f"| {operator} | ") and ("✓" in line or "✗" in line))
        cells = [cell for cell in faulty.matrix() if cell.operator == operator]
        told = [f"{c.verdict.symbol} {c.counts.failed}" if c.counts.failed else c.verdict.symbol for c in cells]
        assert row.strip("| ").split(" | ")[1:] == told
    for group in faulty.failure_groups(*FailureKind):
        assert f"### {group.operator} {group.rule}" in lines
        assert group.smallest.reproduce in lines


def test_markdown_is_bounded_and_counts_the_rest() -> None:
    records = [
        plain(Verdict.FAIL, rule=f"GATHER.r{i}", reason="wrong", reproduce="x" * 2000, case=f"{i:064x}")
        for i in range(200)
    ]
    text = markdown(report_data.summary_of(records))
    assert len(text) <= MAX_CHARACTERS
    shown = text.count("### GATHER")
    assert 20 < shown < 200
    assert f"{200 - shown} more groups of failures, {200 - shown} cases, are in the report." in text
    assert text.rstrip().endswith("`.")


def test_a_line_that_is_too_long_to_copy_is_named_by_its_case() -> None:
    text = markdown(report_data.summary_of([plain(Verdict.FAIL, reproduce="x" * 5000, case="ab" * 32)]))
    assert "replay results.sqlite#abababababab" in text
    assert "xxxx" not in text


def test_markdown_takes_words_from_outside() -> None:
    words = NASTY.replace("\ud800", "")
    difference = Difference((0,), words, "", words, "")
    record = plain(
        Verdict.FAIL, reason=NASTY, reproduce=NASTY, differences=(difference,), difference_count=1, case="c" * 64
    )
    backend = report_data.backend(name=NASTY, device=NASTY)
    text = markdown(report_data.summary_of([record], backend=backend))
    assert "\x1b" not in text
    assert "\u202e" not in text
    prose, code = [], False
    fence = ""
    for line in text.splitlines():
        ticks = re.match("`{3,}", line)
        if ticks and (not code or line == fence):
            code, fence = not code, ticks[0]
        elif not code:
            prose.append(re.sub(r"(?<!\\)(`+) ?.*? ?\1(?!`)", "", line))
    assert not code
    for mark in ("<script", "@team", "](java"):
        assert not any(re.search(rf"(?<!\\){re.escape(mark)}", line) for line in prose), mark
    assert all(line.count("|") - line.count("\\|") == 3 for line in prose if line.startswith("| device"))


def test_no_text_ends_the_code_that_it_stands_in() -> None:
    lines = markdown(report_data.summary_of([plain(Verdict.FAIL, reason="```", reproduce="~~~")])).splitlines()
    start = lines.index("````text")
    assert lines[start : start + 3] == ["````text", "```", "````"]


def test_an_incomplete_run_says_why() -> None:
    summary = report_data.cut_off("the device was lost")
    assert "- The run did not reach its end: the device was lost." in markdown(summary)


def test_a_sound_backend_has_nothing_that_differs() -> None:
    text = markdown(report_data.summary_of(report_data.some_sound()))
    assert "What differs" not in text
    assert "## Throughput\n\nOutputs of 256 MiB.\n" in text
    timed = at_largest_size(row for row in report_data.throughputs() if row.caches is Caches.WARM)
    shares = {row.data_type: share_of_copy(row) for row in timed if row.operator == "TILE"}
    assert f"| TILE | INT8 | {shares['INT8']} | INT64 | {shares['INT64']} |" in text


# --- CSV ----------------------------------------------------------------------------------------------------------


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def written(records: Iterable[Record], **changes: Any) -> str:
    stream = io.StringIO(newline="")
    report_data.feed(FanOut(CsvWriter(stream)), records, **changes)
    return stream.getvalue()


def test_csv_has_a_row_for_each_record() -> None:
    records = report_data.some_faulty()
    text = written(records)
    found = rows(text)
    assert text.startswith(",".join(COLUMNS) + "\r\n")
    assert text.count("\r\n") == len(records) + 1 == text.count("\n")
    assert [row["case"] for row in found] == [record.case for record in records]
    for number, (row, record) in enumerate(zip(found, records, strict=True), 1):
        assert row["number"] == str(number)
        for column in ("operator", "level", "phase", "rule", "verdict", "answered", "data_type", "reason", "reproduce"):
            assert row[column] == getattr(record, column)
        assert float(row["seconds"]) == pytest.approx(record.seconds, abs=1e-9)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1", " =1", "＝1", "-2+3"])
def test_no_cell_is_a_formula(text: str) -> None:
    (row,) = rows(written([plain(Verdict.FAIL, reason=text)], backend=report_data.backend(name=text)))
    assert row["reason"] == row["backend"] == f"'{text.strip()}"


def test_cells_are_whole_and_on_one_line() -> None:
    reason = 'a "quote", a comma,\nand a line'
    (row,) = rows(written([plain(Verdict.FAIL, reason=reason, reproduce=NASTY.replace("\ud800", ""))]))
    assert row["reason"] == 'a "quote", a comma, and a line'
    assert "\x1b" not in row["reproduce"]
    assert cell("3_0") == "3_0"


# --- files and the command ----------------------------------------------------------------------------------------


def call(*arguments: object) -> Result:
    return invoke("export", *arguments)


def test_every_form_is_exported(results: Path, faulty: Summary) -> None:
    expected = {
        "ctrf": ctrf_json(faulty).decode(),
        "junit": junit_xml(faulty).decode(),
        "markdown": markdown(faulty),
        "csv": written(report_data.some_faulty()),
    }
    for form, text in expected.items():
        target = results.with_name(f"out.{form}")
        assert call(results, "--format", form, "-o", target).exit_code == 0
        assert target.read_bytes().decode() == text
        assert call(results.parent, "--format", form).output_bytes.decode() == text
        again = call(results, "--format", form, "-o", target)
        assert (again.exit_code, "exists" in again.output) == (2, True)
        assert call(results, "--format", form, "-o", target, "--replace").exit_code == 0
    foreign = call(results, "--format", "csv", "-o", results.with_name("out.ctrf"), "--replace")
    assert (foreign.exit_code, "is not replaced" in foreign.output) == (2, True)


def test_several_campaigns_are_one_table(results: Path) -> None:
    other = report_data.stored(report_data.some_sound(), backend=report_data.backend(name="b"))
    found = rows(call(results, other, "--format", "csv").output)
    assert Counter(row["backend"] for row in found) == {report_data.BACKEND: 1500, "b": 900}
    both = call(results, other, "--format", "markdown").output
    heads = [line for line in both.splitlines() if line.startswith("# ")]
    assert heads == ["# ✗ torch:cuda:0: not conformant", "# ◒ b: conformant within narrower claims"]
    assert call(results, other, "--format", "ctrf").exit_code == 2


def test_rows_are_written_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held at once is a block, and does not grow with the number of records."""
    monkeypatch.setattr(store_module, "BLOCK", 128)
    peaks = []
    for n, count in enumerate((200, 200, 3200)):  # the first also has what is kept for the process
        path = report_data.stored(report_data.faulty(count))
        tracemalloc.start()
        with Store(path) as store, (tmp_path / f"{n}.csv").open("w", newline="", encoding="utf-8") as stream:
            store.replay(FanOut(CsvWriter(stream)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 3 * peaks[1]  # of 16 times as many; what waits for the garbage collector is some of it
