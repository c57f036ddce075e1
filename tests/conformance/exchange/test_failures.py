"""Failing cases as files: what certify leaves and takes, and the gate's explicit examples."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import report_data
from backend_files import write_backend
from commands import invoke, records_of
from five_operators import TileDesc
from gate_runs import run_gate
from judged_tasks import records_left
from report_data import plain

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.driver import describe_campaign
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.exchange.failures import read_failures, save_failure
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import search
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import FailureKind, Summary, case_size
from dml_conformance.reports.output.folder import OutputError, OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.views.failures import FAILURES, failing_cases
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.tensor import TensorDesc

# Wrong for every third number of elements, which no boundary but the search finds at some rules.
EVERY_THIRD = """
    def execute(self, desc, level, inputs, outputs):
        super().execute(desc, level, inputs, outputs)
        if desc.output_tensor.element_count % 3 == 0:
            outputs["output_tensor"].view[0] ^= 1
"""


@pytest.fixture
def backends(tmp_path: Path) -> Path:
    """Where backends `wrong.py` and `sound.py` are."""
    write_backend(tmp_path, EVERY_THIRD, file="wrong.py")
    write_backend(tmp_path, "pass", file="sound.py")
    return tmp_path


def tile(size: int = 3, level: Level = HIGHEST) -> Case:
    tensor = TensorDesc.of(DataType.FLOAT32, (1, 1, 1, size))
    return Case.of(
        TileDesc(tensor, tensor, (1, 1, 1, 1)), level, {"input_tensor": Recipe("ramp", 1)}, rule="TILE.values"
    )


# --- files --------------------------------------------------------------------------------------------------------


def test_the_smallest_case_of_each_operator_and_rule_is_a_file() -> None:
    summary = Summary()
    report_data.feed(FanOut(summary), report_data.some_faulty())
    files = failing_cases(summary)
    groups = list(summary.failure_groups(*(kind for kind in FailureKind if kind is not FailureKind.ERROR)))
    assert set(files) == {f"{group.operator}-{group.rule}.json" for group in groups}
    failing = [record for record in report_data.some_faulty() if record.verdict in NOT_CONFORMANT]
    for name, content in files.items():
        of_rule = [record for record in failing if f"{record.operator}-{record.rule}.json" == name]
        smallest = min(case_size(record) for record in of_rule)
        found = Case.from_json(json.loads(content))
        assert found.digest in {record.case for record in of_rule if case_size(record) == smallest}
        assert f"{found.operator}-{found.rule}.json" == name


@pytest.mark.parametrize("answers", [("accept", "reject"), ("reject", "accept")])
def test_of_several_kinds_of_failure_the_smallest_case_counts(answers: tuple[str, str]) -> None:
    """Faults of the harness are none."""
    records = [
        plain(Verdict.FAIL, answered=answer, case_json=tile(size).to_json())
        for answer, size in zip(answers, (30000, 3), strict=True)
    ]
    summary = Summary()
    report_data.feed(FanOut(summary), [*records, plain(Verdict.ERROR, case_json=tile(1).to_json())])
    (content,) = failing_cases(summary).values()
    assert json.loads(content)["desc"] == tile(3).to_json()["desc"]


def test_a_folder_is_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_bytes(msgspec.json.encode(tile(3).to_json()))
    (tmp_path / "a.json").write_bytes(msgspec.json.encode([tile(4).to_json(), tile(5).to_json()]))
    (tmp_path / "notes.txt").write_text("no case")
    found = read_failures(tmp_path)
    assert [case.digest for case in found] == [tile(size).digest for size in (4, 5, 3)]
    assert [case.origin for case in found] == ["failures/a.json", "failures/a.json", "failures/b.json"]


@pytest.mark.parametrize(
    ("content", "problem"), [(b"{", "a case as JSON"), (b'{"type": "X"}', "level"), (b"\xff", "JSON")]
)
def test_what_is_no_case_is_named(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(FormError, match=problem) as caught:
        read_failures(tmp_path)
    assert "bad.json" in str(caught.value)


def test_a_larger_case_is_only_saved_for_one_that_is_well_again(tmp_path: Path) -> None:
    def record(size: int) -> Record:
        return plain(Verdict.FAIL, operator="TILE", rule="TILE.values", case_json=tile(size).to_json())

    folder = tmp_path / "new" / "failures"
    path = save_failure(folder, record(300), larger_too=False)
    assert path == folder / "TILE-TILE.values.json"
    assert save_failure(folder, record(30000), larger_too=False) is None
    assert save_failure(folder, record(3), larger_too=False) == path
    assert read_failures(folder)[0].digest == tile(3).digest
    assert save_failure(folder, record(30000), larger_too=True) == path
    assert [entry.name for entry in folder.iterdir()] == [path.name]


# --- the campaign -------------------------------------------------------------------------------------------------


def test_saved_cases_come_first_and_are_told_of() -> None:
    judge = Judge(ReferenceBackend(), "reference")
    saved = [tile(3, Level.L4_1), tile(4), tile(5)]
    engine = Engine(judge, ("TILE",), [HIGHEST], BUDGETS["quick"], 0, saved)
    stream = records_left(engine)
    first = [next(stream) for _ in range(3)]
    # A case of a level that is not certified is left out.
    assert [record.case for record in first[:2]] == [tile(4).digest, tile(5).digest]
    assert {record.phase for record in first} == {Phase.EXAMPLES}
    assert first[2].case not in {case.digest for case in saved}
    assert describe_campaign(engine).environment["saved failures"].startswith("2, SHA-256 ")
    plain_engine = Engine(judge, ("TILE",), [HIGHEST], BUDGETS["quick"], 0)
    assert "saved failures" not in describe_campaign(plain_engine).environment


def test_certify_leaves_failures_and_runs_them_first(backends: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def certify(backend: str, *more: object) -> int:
        scope = ("--operator", "TILE", "--budget", "quick", "--cases", "20", "--out", out)
        return invoke("certify", "--backend", f"{backends}/{backend}.py:Mine", *scope, *more).exit_code

    assert certify("wrong") == 1
    saved = read_failures(out / FAILURES)
    assert "TILE.values" in {case.rule for case in saved}
    assert certify("sound", "--failures", out / FAILURES, "--package") == 2
    # In the same place, too: what is there is read before it is replaced.
    assert certify("sound", "--failures", out / FAILURES, "--replace") == 0
    assert not (out / FAILURES).exists()
    records = records_of(out)[: len(saved)]
    assert [record.case for record in records] == [case.digest for case in saved]
    assert all(record.verdict is Verdict.PASS for record in records)
    assert records[0].case_json["origin"].startswith("failures/TILE-")


def test_a_folder_of_failures_with_something_else_in_it_is_not_replaced(tmp_path: Path) -> None:
    def run(records: list[Record]) -> None:
        with OutputFolder(tmp_path / "out", replace=True) as output:
            report_data.feed(ReportFolder(output), records)

    run([plain(Verdict.FAIL, case_json=tile().to_json())])
    assert [path.name for path in (tmp_path / "out" / FAILURES).iterdir()] == ["GATHER-GATHER.values.json"]
    run([plain()])
    assert not (tmp_path / "out" / FAILURES).exists()
    (tmp_path / "out" / FAILURES).mkdir()
    (tmp_path / "out" / FAILURES / "thesis.doc").write_text("three years")
    with pytest.raises(OutputError, match="holds failures, which is no report"):
        run([plain()])


# --- the search and the gate --------------------------------------------------------------------------------------


def test_explicit_cases_come_first() -> None:
    judge, explicit = Judge(ReferenceBackend(), "reference"), [tile(300), tile(7)]
    for examples in (0, 3):
        found = [record.case for record in search(judge, "TILE", HIGHEST, "TILE.values", examples, 0, explicit)]
        assert found[:2] == [case.digest for case in explicit]
        assert (len(found) > 2) is bool(examples)


def test_the_gate_saves_what_it_finds_and_tries_it_first(backends: Path, pytester: pytest.Pytester) -> None:
    saved = pytester.path / "saved"

    def gate(backend: str, *more: str) -> pytest.RunResult:
        options = ("--dml-operator", "TILE", "--dml-level", "3_0", "--dml-failures", "saved", "-k", "TILE.values")
        return run_gate(pytester, "--dml-backend", f"{backends}/{backend}.py:Mine", *options, *more)

    gate("wrong").assert_outcomes(failed=1, deselected=25)
    assert [case.rule for case in read_failures(saved)] == ["TILE.values"]
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    # Without examples of its own, the saved one alone fails; it stays as it is.
    gate("wrong", "--dml-examples", "0").assert_outcomes(failed=1, deselected=25)
    gate("sound").assert_outcomes(passed=1, deselected=25)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    # What failed is made simpler, and that is what is saved.
    (saved / "TILE-TILE.values.json").unlink()
    (saved / "mine.json").write_bytes(msgspec.json.encode(tile(999, Level.L3_0).to_json()))
    gate("wrong", "--dml-examples", "0").assert_outcomes(failed=1, deselected=25)
    (simpler,) = [case for case in read_failures(saved) if case.origin != "failures/mine.json"]
    assert simpler.desc.output_tensor.element_count == 3  # type: ignore[attr-defined]
    (saved / "bad.json").write_text("[]x")
    result = gate("sound")
    assert result.ret is pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--dml-failures: *bad.json: expected a case as JSON*"])
