"""What passed is computed again, in part, by a process that no backend was in, before a run says so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from backend_files import write_backend
from commands import certificate, invoke, records_of
from msgspec.structs import replace
from report_data import campaign as campaign_with

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign import recheck
from dml_conformance.conformance.campaign.recheck import LEAST, MOST, PassedSample
from dml_conformance.conformance.judge import judge as judge_module
from dml_conformance.conformance.judge.judge import Judge, is_digested
from dml_conformance.conformance.workers.process import JudgeProcess
from dml_conformance.conformance.workers.setup import WorkerError
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.strategies.cases import numbered_case

OPERATORS = ("GATHER", "TILE")
TOLD = "passed, but its outputs are not what a new process computes"
SCOPE = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput")
# The memory of the judge is changed so that nothing is compared, and that this is not checked either.
UNCOMPARED = """\
    def execute(self, desc, level, inputs, outputs):
        from dml_conformance.conformance.judge import judge
        judge.compare, judge.is_checked = lambda *_: judge.EQUAL, lambda *_: False
"""


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """Of the reference, enough for a sample."""
    judge = Judge(ReferenceBackend(), "reference")
    cases = (numbered_case(0, operator, HIGHEST, n) for operator in OPERATORS for n in range(400))
    return [judge.record(case, Phase.SWEEP) for case in cases]


@pytest.fixture
def unchanged_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test's backend changes is put back."""
    for name in ("compare", "is_checked"):
        monkeypatch.setattr(judge_module, name, getattr(judge_module, name))


def sample_of(records: list[Record]) -> PassedSample:
    sample = PassedSample()
    sample.start(campaign_with(operators=OPERATORS))
    for record in records:
        sample.record(record)
    return sample


def test_a_sample_has_cases_of_every_operator(records: list[Record]) -> None:
    digested = [record for record in records if record.output]
    assert {is_digested(record.case) for record in digested} == {True}
    chosen = sample_of(records).chosen()
    assert Counter(record.operator for record in chosen) == dict.fromkeys(OPERATORS, LEAST // 2)
    turned = sample_of(records[::-1]).chosen()
    assert {record.case for record in turned} == {record.case for record in chosen}
    many = [replace(each, case=f"{n:032x}{each.case[32:]}") for n in range(400) for each in digested]
    assert LEAST < len(sample_of(many).chosen()) <= MOST


def test_what_a_new_process_computes_is_what_is_on_record(records: list[Record]) -> None:
    assert sample_of(records).why_untrusted() == ""
    assert PassedSample().why_untrusted() == ""
    first = sample_of(records).chosen()[0]
    wrong = [replace(each, output="0" * 32) if each.case == first.case else each for each in records]
    told = sample_of(wrong).why_untrusted()
    assert TOLD in told
    assert f"{first.operator}: case {first.case[:16]}" in told
    assert f"expected the digest {first.output}, found {'0' * 32}" in told


def test_where_no_process_can_be_had_nothing_is_believed(
    records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> JudgeProcess:
        raise WorkerError("no worker process can be started: none is left")

    monkeypatch.setattr(recheck, "JudgeProcess", refused)
    told = "some cases that passed could not be computed again: no worker process can be started: none is left"
    assert sample_of(records).why_untrusted() == told


@pytest.mark.usefixtures("unchanged_judge")
def test_a_backend_that_stops_the_comparison_is_not_certified(tmp_path: Path) -> None:
    name = write_backend(tmp_path, UNCOMPARED)
    result = invoke("certify", "--in-process", "--backend", name, *SCOPE, "--out", tmp_path / "out")
    assert result.exit_code == 3, result.output
    found = certificate(tmp_path / "out")
    assert found["outcome"] == "incomplete"
    assert TOLD in found["why_incomplete"][0]
    assert {record.verdict for record in records_of(tmp_path / "out")} == {Verdict.PASS, Verdict.OBSERVED}


@pytest.mark.usefixtures("unchanged_judge")
def test_nor_does_it_pass_a_corpus(tmp_path: Path) -> None:
    name, cases = write_backend(tmp_path, UNCOMPARED), tmp_path / "cases.jsonl"
    assert invoke("generate", "--operator", "TILE", "--cases", 300, "-o", cases).exit_code == 0
    result = invoke("run", cases, "--in-process", "--backend", name, "--out", tmp_path / "out")
    assert result.exit_code == 3, result.output
    assert TOLD in certificate(tmp_path / "out")["why_incomplete"][0]
    right = invoke("run", cases, "--in-process", "--backend", "reference", "--out", tmp_path / "right")
    assert right.exit_code == 0, right.output
