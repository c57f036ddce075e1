"""Operators without inputs, with several outputs, arrays of tensors and missing ones: executed and judged by slots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_operators import halves_case, ramps_case, sample_operators
from scripted_backend import ScriptedBackend

from dml_conformance.backends.processes.wire import describe, descriptor
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.exchange.dxdispatch.exporting import export
from dml_conformance.conformance.exchange.dxdispatch.importing import import_document
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.case import Case
from dml_conformance.spec.tensor_rules import OUTPUT_BOUNDS

__all__ = ["sample_operators"]
pytestmark = pytest.mark.usefixtures("sample_operators")

CASES = [ramps_case, lambda: ramps_case(down=None), halves_case, lambda: halves_case(bias=False, count=3)]


class Batching(ScriptedBackend):
    def execute_batch(self, executions: Any) -> None:
        for each in executions:
            self.execute(*each)

    def execute(self, *arguments: Any) -> None:
        super().execute(*arguments)


def judged(backend: ReferenceBackend, case: Case, at_once: bool) -> Record:
    judge = Judge(backend, "mine", digests_outputs=True)
    if at_once:
        batches = BatchJudge(judge)
        assert batches.in_batches
        return next(iter(batches.records([case], Phase.SWEEP)))
    return judge.record(case, Phase.SWEEP)


each_way = pytest.mark.parametrize("at_once", [False, True], ids=["alone", "in a batch"])


@each_way
@pytest.mark.parametrize("make", CASES)
def test_what_is_right_passes(make: Callable[[], Case], at_once: bool) -> None:
    backend = Batching()
    record = judged(backend, make(), at_once)
    assert (record.verdict, record.reason) == (Verdict.PASS, "")
    assert backend.asked.count("execute") >= 2
    assert record.output
    assert (record.layout, record.data_type) == ("packed", "FLOAT32")
    # One without inputs was taken for one without data, and never executed.
    assert judged(Batching(execute=lambda *_: None), make(), at_once).verdict is Verdict.FAIL


def write(key: str, place: int, value: float) -> Callable[..., None]:
    def after(desc: Any, inputs: Any, outputs: Any) -> None:
        outputs[key].view.view("<f4")[place] = value

    return after


@each_way
@pytest.mark.parametrize(
    ("make", "key", "place", "value", "reason"),
    [
        (ramps_case, "up_tensor", 1, 5.0, "UpTensor: 1 of 2 elements differ"),
        (ramps_case, "down_tensor", 0, 5.0, "DownTensor: 1 of 4 elements differ"),
        (ramps_case, "down_tensor", 2, 5.0, ""),
        (halves_case, "output_tensors[1]", 3, 0.0, "OutputTensors[1]: 1 of 4 elements differ"),
        (halves_case, "output_tensors[0]", 0, np.nextafter(np.float32(6.5), np.float32(9)), ""),
        (halves_case, "output_tensors[0]", 0, 6.499, "OutputTensors[0]: 1 of 4 elements differ"),
        (halves_case, "output_tensors[0]", 0, 6.501, "OutputTensors[0]: 1 of 4 elements differ"),
    ],
)
def test_each_output_is_judged_by_its_own_expectation(
    make: Callable[[], Case], key: str, place: int, value: float, reason: str, at_once: bool
) -> None:
    record = judged(Batching(after=write(key, place, value)), make(), at_once)
    assert record.reason == reason
    assert record.verdict is (Verdict.FAIL if reason else Verdict.PASS)


@each_way
@pytest.mark.parametrize("key", ["up_tensor", "down_tensor"])
def test_bytes_around_each_output_are_looked_at(key: str, at_once: bool) -> None:
    def after(desc: Any, inputs: Any, outputs: Any) -> None:
        outputs[key].buffer[outputs[key].offset - 1] ^= 1

    assert judged(Batching(after=after), ramps_case(), at_once).rule == OUTPUT_BOUNDS


@pytest.mark.parametrize("make", CASES)
def test_a_case_comes_back_from_its_model_and_its_descriptor_is_sent_whole(make: Callable[[], Case]) -> None:
    case = make()
    (imported,) = import_document(export(case, inline=True).model, "model.json", Path(), None).cases
    assert imported.without_data == ""
    assert imported.case.digest == case.digest
    assert describe(case.desc).operator == case.desc.operator
    assert descriptor(describe(case.desc)) == case.desc
