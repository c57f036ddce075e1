"""What compares is itself checked: a judge that takes wrong outputs for right ones does not go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_files import write_backend
from commands import certificate, invoke
from scripted_backend import ScriptedBackend

from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.judge import comparison_check
from dml_conformance.conformance.judge import judge as judge_module
from dml_conformance.conformance.judge.batch import BatchJudge, _Batch
from dml_conformance.conformance.judge.compare import EQUAL
from dml_conformance.conformance.judge.comparison_check import CHECKED_OF, MOST_CHECKED, is_checked, spoiled_output
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.memory import OutputMemory
from dml_conformance.reports.model.records import Phase, Verdict
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.strategies.cases import numbered_case

TOLD = "the judge's own comparison has been changed: it took a wrong output for a right one"


def sweep(operator: str, count: int) -> list[Case]:
    return [numbered_case(0, operator, HIGHEST, n) for n in range(count)]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every small case is checked with."""
    monkeypatch.setattr(comparison_check, "CHECKED_OF", 1)


def test_one_small_case_in_a_thousand_is_checked_with() -> None:
    digests = [f"{n:064x}" for n in range(3 * CHECKED_OF)]
    assert sum(is_checked(digest, MOST_CHECKED) for digest in digests) == 3
    assert not any(is_checked(digest, MOST_CHECKED + 1) for digest in digests)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("operator", ["TILE", "GATHER", "ELEMENT_WISE_ADD", "ACTIVATION_SOFTMAX", "CAST", "TOP_K"])
def test_a_judge_that_compares_goes_on(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy differs from the output in one element, which stays as it is."""
    spoiled: list[int] = []

    def watched(output: OutputMemory, expected: Any) -> OutputMemory | None:
        before = output.elements.copy()
        found = spoiled_output(output, expected)
        assert np.array_equal(output.elements, before)
        if found is not None:
            spoiled.append(np.count_nonzero(found.elements != before))
        return found

    monkeypatch.setattr(comparison_check, "spoiled_output", watched)
    judge = Judge(ReferenceBackend(), "reference")
    verdicts = {judge.record(case, Phase.SWEEP).verdict for case in sweep(operator, 60)}
    assert verdicts <= {Verdict.PASS, Verdict.OBSERVED}
    assert len(spoiled) > 20
    assert set(spoiled) == {1}


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("operator", ["TILE", "ELEMENT_WISE_ADD"])
def test_a_judge_that_does_not_compare_is_found(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "compare", lambda *_: EQUAL)
    judge = Judge(ScriptedBackend(execute=lambda *_: None), "mine", repeat=1)
    records = (judge.record(case, Phase.SWEEP) for case in sweep(operator, 60))
    with pytest.raises(GivenUp, match=TOLD):
        list(records)


@pytest.mark.usefixtures("always")
def test_what_compares_batches_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = sweep("TILE", 60)
    judge = BatchJudge(Judge(TorchBackend("cpu"), "torch"))
    assert {record.verdict for record in judge.records(cases, Phase.SWEEP)} == {Verdict.PASS}
    monkeypatch.setattr(_Batch, "_touched", lambda *_: [])
    with pytest.raises(GivenUp, match=TOLD):
        list(judge.records(cases, Phase.SWEEP))


def test_a_backend_that_changes_what_compares_is_not_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_check, "CHECKED_OF", 20)
    monkeypatch.setattr(judge_module, "compare", judge_module.compare)  # and put back in the end
    methods = """\
        def execute(self, desc, level, inputs, outputs):
            from dml_conformance.conformance.judge import judge
            judge.compare = lambda *_: judge.EQUAL
    """
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput")
    name = write_backend(tmp_path, methods)
    result = invoke("certify", "--in-process", "--backend", name, *scope, "--out", tmp_path / "out")
    assert result.exit_code == 3, result.output
    found = certificate(tmp_path / "out")
    assert found["outcome"] == "incomplete"
    assert TOLD in found["why_incomplete"][0]
