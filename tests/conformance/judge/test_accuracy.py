"""Results of arithmetic: which are inaccurate and which are wrong, under whose bounds, and what is kept of errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sweep_support import sweep

from dml_conformance.backends.base import Execution
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.judge.accuracy import MOST_USED, PossibleErrors, errors_of, near, ulps
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.compare import compare
from dml_conformance.conformance.judge.explain import explain
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.errors import LEAST_BIN, Errors
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Tolerance
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.expectation import Expectation, Within
from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc

LEVEL = Level.L6_4
EXP, SIN = "ELEMENT_WISE_EXP", "ELEMENT_WISE_SIN"
# Where an exponential may be 4 units in the last place off, and 12 more for the argument of a shader.
EIGHTS = (8.0, 8.25, 8.5)


class OffBackend(ReferenceBackend):
    """The reference, so many units in the last place away from zero; alone and in batches."""

    def __init__(self, ulp: int) -> None:
        super().__init__()
        self._ulp = ulp

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
        self._do(Execution(desc, level, inputs, outputs))

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            self._do(execution)

    def _do(self, execution: Execution) -> None:
        ReferenceBackend.execute(self, *execution)
        tensor = execution.desc.output_tensor
        found = execution.outputs["output_tensor"].view[: tensor.element_count * tensor.data_type.size]
        found.view(f"u{tensor.data_type.size}")[...] += self._ulp


def case_of(
    *values: float, operator: str = EXP, data_type: DataType = DataType.FLOAT32, scale_bias: ScaleBias | None = None
) -> Case:
    tensor = TensorDesc.of(data_type, (len(values),))
    desc = descriptor_classes()[operator](tensor, tensor, scale_bias)
    return Case.of(desc, LEVEL, {"input_tensor": Recipe("explicit", values=values)}, rule=f"{operator}.values")


def both_ways(ulp: int, *cases: Case, tolerance: Tolerance = DIRECTML) -> list[Record]:
    """The records of cases on a backend that is so far off: the same one by one and in batches."""
    found = []
    for one_by_one in (True, False):
        judge = BatchJudge(Judge(OffBackend(ulp), "off", tolerance=tolerance), one_by_one=one_by_one)
        found.append([msgspec.structs.replace(record, seconds=0.0) for record in judge.records(cases, Phase.SWEEP)])
    assert found[0] == found[1]
    return found[0]


# --- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data_type", "values", "ulp", "rule"),
    [
        (DataType.FLOAT32, EIGHTS, 0, ""),
        (DataType.FLOAT32, EIGHTS, 8, ""),
        (DataType.FLOAT32, EIGHTS, 100, "accuracy"),
        (DataType.FLOAT32, EIGHTS, 1 << 20, "values"),
        (DataType.FLOAT16, EIGHTS, 0, ""),
        (DataType.FLOAT16, EIGHTS, 10, "accuracy"),
        (DataType.FLOAT16, EIGHTS, 200, "values"),
        # One far result makes all of them a wrong value: 100 units are much where the results are few and small.
        (DataType.FLOAT16, (8.0, -87.5), 100, "values"),
    ],
)
def test_a_wrong_result_near_the_right_one_is_inaccurate(
    data_type: DataType, values: Sequence[float], ulp: int, rule: str
) -> None:
    """Every record has its errors, right or wrong."""
    (record,) = both_ways(ulp, case_of(*values, data_type=data_type))
    assert record.verdict is (Verdict.FAIL if rule else Verdict.PASS)
    assert record.rule == f"{EXP}.{rule or 'values'}"
    assert record.reason.endswith("by more than they may") == (rule == "accuracy")
    assert record.errors is not None
    assert sum(count for _, count in record.errors.bins) == len(values)
    if values == EIGHTS and ulp <= 100:
        assert record.errors.largest == pytest.approx(ulp, abs=0.5)
        assert [power for power, _ in record.errors.magnitudes] == [3]


def test_the_precise_tolerance_is_stricter() -> None:
    case = case_of(*EIGHTS)
    verdicts = [both_ways(8, case, tolerance=tolerance)[0].verdict for tolerance in (DIRECTML, PRECISE)]
    assert verdicts == [Verdict.PASS, Verdict.FAIL]
    (record,) = both_ways(8, case, tolerance=PRECISE)
    assert record.rule == f"{EXP}.accuracy"
    assert "--accuracy precise" in record.reproduce
    assert "--accuracy" not in both_ways(100, case)[0].reproduce


def test_a_wrong_result_says_how_far_it_is_from_the_exact_value() -> None:
    (record,) = both_ways(100, case_of(*EIGHTS))
    for difference, value in zip(record.differences, EIGHTS, strict=True):
        unit = 2.0 ** (math.frexp(math.exp(value))[1] - 24)
        assert difference.ulp == pytest.approx((float(difference.actual) - math.exp(value)) / unit, rel=1e-3)
        assert difference.expected.startswith("from ")
    assert f", {record.differences[0].ulp:.3g} ULP from the exact value" in explain(record)
    decoded = msgspec.json.decode(msgspec.json.encode(record), type=Record)
    assert (decoded.differences, decoded.errors) == (record.differences, record.errors)


def test_what_is_no_number_is_so_far_from_none() -> None:
    """Nor is it near any, nor has it an error that counts."""
    exact = np.array([1.0, np.inf, np.nan, 1.0])
    low = high = exact.astype(np.float32).view(np.uint32)
    expected = Expectation(low, within=Within(low, high, exact=exact, argument=exact))
    actual = np.array([np.nan, 1.0, 1.0, 1.5], np.float32).view(np.uint32)
    shown = compare(actual, expected, DataType.FLOAT32).shown
    assert [difference.ulp for difference in shown] == [None, None, None, 4194000.0]  # to four digits
    told = compare(actual, Expectation(low), DataType.FLOAT32).shown
    assert {difference.ulp for difference in told} == {None}
    assert b"ulp" not in msgspec.json.encode(told)
    assert not np.isfinite(ulps(actual, exact, DataType.FLOAT32))[:3].any()
    assert not near(actual, within_one(exact), DataType.FLOAT32)[:3].any()
    assert errors_of([(actual[:3], within_one(exact[:3]), DataType.FLOAT32, 1)]) is None


# --- errors -----------------------------------------------------------------------------------------------------------


def within_one(exact: Any, data_type: DataType = DataType.FLOAT32) -> Expectation:
    """A unit in the last place to both sides is right."""
    number = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}[data_type]
    nearest = np.asarray(exact).astype(number)
    low, high = (np.nextafter(nearest, number(end)).view(f"u{data_type.size}") for end in (-np.inf, np.inf))
    return Expectation(nearest.view(f"u{data_type.size}"), within=Within(low, high, exact=exact, argument=exact))


def moved(exact: Any, ulp: Any) -> Any:
    return exact.astype(np.float32).view(np.uint32) + np.asarray(ulp, np.uint32)


def test_results_are_near_up_to_a_part_of_the_value_or_a_few_times_what_is_allowed() -> None:
    exact = np.array([1.0, 1.5, 2.0])
    expected = within_one(exact)
    for ulp, is_near in ((0, True), (1, True), (4, True), (1000, True), (1024, True), (1025, False), (1 << 22, False)):
        assert_array_equal(near(moved(exact, ulp), expected, DataType.FLOAT32), is_near)
    coarse = within_one(exact, DataType.FLOAT16)
    for ulp, is_near in ((4, True), (16, True), (33, False)):
        actual = exact.astype(np.float16).view(np.uint16) + np.uint16(ulp)
        assert near(actual, coarse, DataType.FLOAT16)[0] == is_near
    assert not near(moved(exact, 0), Expectation(moved(exact, 0)), DataType.FLOAT32).any()


def test_errors_are_counted_by_their_size_and_by_that_of_the_argument() -> None:
    exact = np.array([1.0, 1.25, 4.0, -4.5, 0.0, 2.0**-140])
    errors = errors_of([(moved(exact, [1, 3, 0, 2, 0, 1]), within_one(exact), DataType.FLOAT32, 1)])
    assert errors is not None
    assert errors.largest == 3.0
    assert errors.bins == ((LEAST_BIN, 2), (0, 2), (4, 1), (7, 1))
    assert errors.magnitudes == ((-126, 1.0), (0, 3.0), (2, 2.0))


def test_the_part_of_the_bound_that_results_need_is_counted_from_the_nearest_number() -> None:
    exact = np.array([1.0, 1.0 + 0.25 * 2.0**-23, 3.0])
    expected = within_one(exact)
    assert expected.within is not None
    within = expected.within
    four = within._replace(high=moved(exact, 4))
    for bound, away, used in (
        (within, [0, 0, 0], 0.0),
        (within, [0, 1, 0], 1.0),
        (four, [2, 0, 0], 0.5),
        (four, [0, 2, 0], 1.5 / 3.5),
        (four, [4, 0, 1], 1.0),
        (four, [8, 0, 0], 2.0),
        (within._replace(low=moved(exact, 0), high=moved(exact, 0)), [0, 0, 1], MOST_USED),
    ):
        errors = errors_of([(moved(exact, away), expected._replace(within=bound), DataType.FLOAT32, 1)])
        assert errors is not None
        assert errors.used == pytest.approx(used, rel=1e-3), away
    # Of what was rounded before the errors are not counted, but what of its bound is needed is known.
    within = four._replace(argument=None)
    chained = expected._replace(within=within)
    assert errors_of([(moved(exact, [2, 0, 0]), chained, DataType.FLOAT32, 1)]) == Errors(0.0, used=0.5)
    # Where other numbers are right too no bound is needed.
    second = np.array([False, True, False])
    for open_ in (
        chained._replace(free=second),
        chained._replace(one_of=second),
        chained._replace(within=within._replace(where=~second)),
    ):
        assert errors_of([(moved(exact, [2, 99, 0]), open_, DataType.FLOAT32, 1)]) == Errors(0.0, used=0.5)


def test_errors_of_several_outputs_are_those_of_one() -> None:
    exact = np.array([1.0, 3.0])
    one, other = within_one(exact[:1]), within_one(exact[1:])
    parts = [(moved(exact[:1], 2), one, DataType.FLOAT32, 1), (moved(exact[1:], 1), other, DataType.FLOAT32, 1)]
    assert errors_of(parts) == errors_of([(moved(exact, [2, 1]), within_one(exact), DataType.FLOAT32, 1)])
    no_arithmetic = Expectation(moved(exact, 0))
    assert errors_of([*parts, (moved(exact, 9), no_arithmetic, DataType.FLOAT32, 1)]) == errors_of(parts)
    assert errors_of([(moved(exact, 9), no_arithmetic, DataType.FLOAT32, 1)]) is None


def test_where_an_error_says_nothing_it_does_not_count() -> None:
    exact = np.array([1.0, 1.25, 4.0])
    expected = within_one(exact)
    assert expected.within is not None
    within = expected.within._replace(counted=np.array([True, False, True]))
    expected, actual = expected._replace(within=within), moved(exact, [1, 1 << 22, 0])
    errors = errors_of([(actual, expected, DataType.FLOAT32, 1)])
    assert errors is not None
    assert (errors.largest, errors.bins) == (1.0, ((LEAST_BIN, 1), (0, 1)))
    possible = PossibleErrors()
    possible.add(expected, DataType.FLOAT32)
    assert possible.why_not(errors) == ""
    assert possible.why_not(msgspec.structs.replace(errors, bins=((LEAST_BIN, 2), (0, 1)))).startswith("3 results")


def test_what_a_device_takes_for_zero_is_no_error() -> None:
    class Flushing(OffBackend):
        """It writes 0 for subnormal results."""

        def _do(self, execution: Execution) -> None:
            super()._do(execution)
            results = execution.outputs["output_tensor"].view.view(np.float32)
            results[np.abs(results) < np.finfo(np.float32).tiny] = 0

    for tolerance in (DIRECTML, PRECISE):
        judge = BatchJudge(Judge(Flushing(0), "off", tolerance=tolerance))
        (record,) = judge.records([case_of(1.0, -88.0)], Phase.SWEEP)
        assert record.verdict is (Verdict.PASS if tolerance is DIRECTML else Verdict.FAIL)
        assert record.errors is not None
        assert (record.errors.largest <= 0.5) == (tolerance is DIRECTML)


def test_any_case_has_the_same_errors_one_by_one_and_in_a_batch() -> None:
    """What was rounded before, by a scale and bias, is not counted."""
    scaled = case_of(*EIGHTS, scale_bias=ScaleBias(0.5, 1.0))
    *records, last = both_ways(0, *sweep(60, names=(EXP, SIN)), case_of(*EIGHTS), scaled)
    assert {record.verdict for record in records} <= {Verdict.PASS, Verdict.OBSERVED}
    assert sum(record.errors is not None for record in records) > 5
    assert last.verdict is Verdict.PASS
    assert last.errors is None or (last.errors.bins, last.errors.magnitudes) == ((), ())
