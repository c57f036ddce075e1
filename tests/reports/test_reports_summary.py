"""What a campaign comes to: cells, outcome, coverage, samples, digests; and that memory does not follow the cases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
import report_data
from report_data import plain

from dml_conformance.conformance.judge.blame import SettledStream
from dml_conformance.conformance.packages.waivers import Waivers
from dml_conformance.reports.model.digests import Digests
from dml_conformance.reports.model.encoded import EncodedRecord, encode_record
from dml_conformance.reports.model.records import JUDGED_PHASES, Ending, Phase, Record, Verdict
from dml_conformance.reports.model.stream import Consumer, FanOut, StreamError
from dml_conformance.reports.model.summary import (
    MAX_REASONS,
    OTHER_REASONS,
    SAMPLES_PER_GROUP,
    SAMPLES_PER_TEST,
    CellVerdict,
    Conformance,
    FailureKind,
    Summary,
    case_size,
    failure_kind,
)
from dml_conformance.reports.package.forms import Waiver
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.spec.rules import Category

ONE_CELL = {"operators": ("GATHER",), "levels": ("3_0",)}


def summed(*records: Record, ending: Ending | None = None, **changes: object) -> Summary:
    summary = Summary()
    summary.start(report_data.campaign(**{**ONE_CELL, **changes}))
    for record in records:
        summary.record(record)
    summary.finish(ending or report_data.ending())
    return summary


def of(*verdicts: Verdict) -> list[Record]:
    return [plain(verdict) for verdict in verdicts]


V, C = Verdict, CellVerdict
EVERYTHING = report_data.backend(enforces=[str(category) for category in Category])


@pytest.mark.parametrize(
    ("verdicts", "cell", "outcome"),
    [
        ([V.PASS, V.OBSERVED, V.WAIVED], C.CONFORMANT, Conformance.CONFORMANT),
        ([V.PASS, V.NOT_SUPPORTED], C.NARROWER, Conformance.NARROWER),
        ([V.PASS, V.FAIL], C.NOT_CONFORMANT, Conformance.NOT_CONFORMANT),
        ([V.PASS, V.CRASH], C.NOT_CONFORMANT, Conformance.NOT_CONFORMANT),
        ([V.PASS, V.TIMEOUT], C.NOT_CONFORMANT, Conformance.NOT_CONFORMANT),
        ([V.FAIL, V.ERROR], C.NOT_CONFORMANT, Conformance.NOT_CONFORMANT),
        ([V.PASS, V.ERROR], C.INCOMPLETE, Conformance.INCOMPLETE),
        ([], C.INCOMPLETE, Conformance.INCOMPLETE),
        ([V.WAIVED], C.INCOMPLETE, Conformance.INCOMPLETE),
        ([V.OBSERVED, V.NOT_SUPPORTED], C.OBSERVED_ONLY, Conformance.INCOMPLETE),
        ([V.NOT_SUPPORTED], C.NOT_SUPPORTED, Conformance.INCOMPLETE),
    ],
)
def test_what_verdicts_come_to(verdicts: list[Verdict], cell: CellVerdict, outcome: Conformance) -> None:
    summary = summed(*of(*verdicts), backend=EVERYTHING)
    assert [found.verdict for found in summary.matrix()] == [cell]
    assert summary.conformance is outcome


def test_a_cell_without_cases_is_a_gap_where_it_is_claimed() -> None:
    backend = report_data.backend(levels=["3_0"])
    summary = summed(plain(), levels=("3_0", "4_1"), backend=backend)
    assert [cell.verdict for cell in summary.matrix()] == [C.CONFORMANT, C.NOT_SUPPORTED]
    assert summary.conformance is Conformance.NARROWER
    summary = summed(plain(), levels=("3_0", "4_1"))
    assert summary.conformance is Conformance.INCOMPLETE
    assert summary.why_incomplete() == ["Claimed, but without a judged case: GATHER at 4_1."]


def test_a_run_that_was_stopped_or_goes_on_is_incomplete_unless_something_failed() -> None:
    stopped = report_data.ending("stopped by the user")
    summary = summed(plain(), ending=stopped)
    assert summary.conformance is Conformance.INCOMPLETE
    assert [cell.verdict for cell in summary.matrix()] == [C.INCOMPLETE]
    assert summary.why_incomplete() == ["The run did not reach its end: stopped by the user."]
    failed = summed(plain(Verdict.FAIL), ending=stopped)
    assert failed.conformance is Conformance.NOT_CONFORMANT
    assert "did not reach its end" in failed.headline()
    begun = Summary()
    begun.start(report_data.campaign(**ONE_CELL))
    begun.record(plain())
    assert (begun.conformance, begun.seconds) == (Conformance.INCOMPLETE, None)


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (plain(Verdict.FAIL, expected="ACCEPT", answered="reject"), FailureKind.DECISION),
        (plain(Verdict.FAIL, expected="REJECT", answered="accept"), FailureKind.DECISION),
        (plain(Verdict.FAIL, expected="ACCEPT", answered="accept"), FailureKind.OUTPUT),
        (plain(Verdict.FAIL, expected="UNSPECIFIED", answered="accept"), FailureKind.OUTPUT),
        (plain(Verdict.CRASH, expected="ACCEPT", answered="reject"), FailureKind.CRASH),
        (plain(Verdict.TIMEOUT), FailureKind.TIMEOUT),
        (plain(Verdict.ERROR), FailureKind.ERROR),
    ],
)
def test_kinds_of_failures(record: Record, kind: FailureKind) -> None:
    assert failure_kind(record) is kind


@pytest.mark.parametrize(
    ("desc", "size"),
    [
        ({"InputTensor": {"Sizes": [2, 3]}, "OutputTensors": [{"Sizes": [4]}, None]}, (1 + 2) + (1 + 3) + (1 + 4)),
        ({"InputTensor": {"Sizes": 5}, "Sizes": ["9", 1]}, 2),
        (None, 0),
    ],
)
def test_a_case_is_as_large_as_its_tensors(desc: Any, size: int) -> None:
    """Also in a file from outside, where a descriptor may be of any form."""
    assert case_size(plain(case_json={"desc": desc}))[0] == size


def test_counts_are_those_of_the_records() -> None:
    summary = report_data.summary_of(report_data.some_faulty())
    records = report_data.some_faulty()
    assert summary.counts == Counter(record.verdict for record in records)
    assert summary.total == len(records)
    assert summary.decisions == Counter((r.rule, r.expected, r.answered, r.verdict) for r in records)
    assert sum(group.count for group in summary.failures.values()) == summary.failed
    cells = {(cell.operator, cell.level): Counter(cell.counts) for cell in summary.matrix()}
    for (operator, level), counts in cells.items():
        assert counts == Counter(r.verdict for r in records if (r.operator, r.level) == (operator, level))
    for phase, test in summary.phases().items():
        assert test.counts == Counter(record.verdict for record in records if record.phase is phase)
        assert test.seconds == pytest.approx(sum(record.seconds for record in records if record.phase is phase))
    assert list(summary.phases()) == list(JUDGED_PHASES)
    assert summary.seconds == 72


def test_coverage_counts_judged_cases_that_the_specification_accepts() -> None:
    summary = summed(
        plain(data_type="FLOAT32", rank=4),
        plain(Verdict.FAIL, data_type="FLOAT32", rank=4),
        plain(Verdict.NOT_SUPPORTED, data_type="FLOAT32"),
        plain(expected="REJECT", answered="reject", data_type="FLOAT32"),
    )
    assert summary.coverage["data_type"] == {("FLOAT32", "GATHER"): 2}
    assert summary.coverage["rank"] == {("4", "GATHER"): 2}


def test_rule_coverage_tells_both_ways_apart() -> None:
    def about(rule: str, expected: str, verdict: Verdict = Verdict.PASS, **changes: object) -> Record:
        answered = "accept" if expected == "ACCEPT" else "reject"
        return plain(verdict, rule=rule, expected=expected, answered=answered, **changes)

    summary = summed(
        about("GATHER.axis-range", "REJECT", Verdict.CRASH),
        about("GATHER.values", "ACCEPT", Verdict.FAIL),
        about("GATHER.values", "ACCEPT", level="2_0"),
        about("TENSOR.sizes", "REJECT", operator="TILE"),
        about("TENSOR.sizes", "REJECT", Verdict.NOT_SUPPORTED),
        about("TENSOR.output-overlap", "UNSPECIFIED", Verdict.OBSERVED),
        about("TILE.repeats", "REJECT", operator="TILE"),
        plain(rule="", level="3_0", reason="decided only; execution is not claimed"),
        operators=("GATHER", "TILE"),
        levels=("2_0", "3_0"),
    )
    coverage = {found.id: found for found in summary.rule_results()}

    def counted(rule: str) -> tuple[int, int, int, int, str]:
        found = coverage[rule]
        return found.accepted, found.rejected, found.left_open, found.differences, found.ways

    # A valid case keeps every descriptor rule of its operator and level.
    assert counted("GATHER.axis-range") == (3, 1, 0, 1, "both ways")
    assert counted("TENSOR.sizes") == (3, 1, 0, 0, "both ways")
    assert counted("TENSOR.output-overlap") == (3, 0, 1, 0, "both ways")
    assert counted("GATHER.output-sizes") == (3, 0, 0, 0, "one way")
    assert counted("GATHER.shape-before-2_1") == (1, 0, 0, 0, "one way")  # it ends at 2_1
    assert counted("TILE.repeats") == (0, 1, 0, 0, "one way")
    assert counted("TILE.output-sizes") == (0, 0, 0, 0, "none")
    # What an execution is held to is known only where the verdict says so: a decision alone is no credit.
    assert counted("GATHER.values") == (2, 0, 0, 1, "executed")
    assert counted("GATHER.negative-indices") == (0, 0, 0, 0, "none")


def test_an_open_question_that_is_settled_can_reject() -> None:
    settled = plain(rule="TENSOR.output-overlap", expected="REJECT", answered="reject")
    left_open = plain(Verdict.OBSERVED, rule="TENSOR.output-overlap", expected="UNSPECIFIED")
    for record, spec, told in ((settled, "observed", (True, 1, 0)), (left_open, "documented", (False, 0, 1))):
        (found,) = (of for of in summed(record, spec=spec).rule_results() if of.id == record.rule)
        assert (found.can_reject, found.rejected, found.left_open, found.ways) == (*told, "one way")


def test_what_is_not_claimed() -> None:
    claims = {"levels": ["3_0"], "operators": ["GATHER"], "enforces": ["shape", "execution"]}
    scope = {"operators": ("GATHER", "TILE"), "levels": ("2_1", "3_0")}
    not_claimed = summed(**scope, backend=report_data.backend(**claims, executes=False)).not_claimed()
    assert (not_claimed.operators, not_claimed.levels) == (["TILE"], ["2_1"])
    assert "execution" in not_claimed.categories
    assert "shape" not in not_claimed.categories
    assert {"TENSOR.sizes", "GATHER.axis-range", "GATHER.values"} <= set(not_claimed.rules)
    assert "GATHER.output-sizes" not in not_claimed.rules
    assert "execution" not in summed(backend=report_data.backend(**claims)).not_claimed().categories


def test_a_conformant_headline_says_how_far_it_reaches_and_what_was_not_promised() -> None:
    assert summed(plain(), backend=EVERYTHING).headline() == (
        "torch:cuda:0 agrees with the specification in the one judged case, at every operator and level asked for."
    )
    backend = {**EVERYTHING, "enforces": ["execution"], "levels": ["3_0"]}
    summary = summed(plain(), plain(), levels=("3_0", "4_1"), backend=backend)
    rules = [rule["category"] for rule in summary.campaign.rules]
    assert summary.headline() == (
        "torch:cuda:0 agrees with the specification in all 2 judged cases, at 1 of 2 combinations of operator and "
        f"level. Its claims cover 100 % of 2 cases and {rules.count('execution')} of {len(rules)} rules."
    )


def test_a_headline_says_what_the_outcome_does_not_rest_on() -> None:
    backend = report_data.campaign().backend
    told = summed(plain(), backend={**backend, "executes": False}, spec="observed").headline()
    assert told.endswith(
        " Decisions alone were judged: nothing was executed. What the pages leave open counts as observed."
    )
    failed = summed(plain(Verdict.FAIL), backend={**backend, "executes": False})
    assert failed.headline().endswith(" nothing was executed.")
    assert "executed" not in summed(plain()).headline()
    assert "observed" not in summed(plain()).headline()


def test_samples_are_the_first_and_the_smallest_and_no_more() -> None:
    sizes = [5, 4, 9, 3, 8]
    records = [
        plain(Verdict.FAIL, case=f"{i:064x}", case_json={"desc": list(range(size))}) for i, size in enumerate(sizes)
    ]
    (group,) = summed(*records).failures.values()
    assert group.count == len(sizes)
    assert group.samples == records[:SAMPLES_PER_GROUP]
    assert group.smallest is records[3]
    assert group.shown() == [*records[:SAMPLES_PER_GROUP], records[3]]


def test_memory_does_not_follow_the_number_of_failures() -> None:
    def failing(count: int) -> Summary:
        return summed(
            *(plain(Verdict.FAIL, case=f"{i:064x}", case_json={"desc": {"n": i}}) for i in range(count)),
            *(plain(Verdict.NOT_SUPPORTED, reason=f"reason {i}") for i in range(count)),
            *(plain(Verdict.OBSERVED, reason=f"reason {i}") for i in range(count)),
        )

    few, many = failing(200), failing(2000)
    (group,) = many.failures.values()
    assert len(group.samples) == SAMPLES_PER_GROUP
    (test,) = many.tests.values()
    assert len(test.samples) == SAMPLES_PER_TEST
    for summary in (few, many):
        reasons = summary.reasons[Verdict.NOT_SUPPORTED]
        assert len(reasons) == MAX_REASONS + 1
        assert reasons.total() == summary.counts[Verdict.NOT_SUPPORTED]
    assert many.reasons[Verdict.NOT_SUPPORTED][OTHER_REASONS] == 2000 - MAX_REASONS
    assert len(many.observed["GATHER", "GATHER.values"].reasons) == MAX_REASONS + 1
    assert [len(few.tests), len(few.decisions)] == [len(many.tests), len(many.decisions)]


def test_samples_of_tests_are_capped_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dml_conformance.reports.model.summary.MAX_TEST_SAMPLES", 5)
    summary = summed(*(plain(Verdict.FAIL, rule=f"GATHER.rule-{i}") for i in range(9)))
    assert [len(test.samples) for test in summary.tests.values()] == [1] * 5 + [0] * 4


def test_a_record_that_the_campaign_leaves_out_does_not_belong() -> None:
    with pytest.raises(StreamError, match="TILE at 3_0"):
        summed(plain(operator="TILE"))
    with pytest.raises(StreamError, match="GATHER at 6_4"):
        summed(plain(level="6_4"))


# Digests.


def digests(records: list[Record], **changes: object) -> Digests:
    found = Digests()
    report_data.feed(found, records, **changes)
    return found


def test_the_results_digest_is_of_cases_and_verdicts_alone() -> None:
    records = list(report_data.some_faulty()[:50])
    slower = [msgspec.structs.replace(record, seconds=record.seconds * 3, reason="other") for record in records]
    first, second = digests(records), digests(slower, started="2031-01-01T00:00:00Z")
    assert first.results == second.results
    assert first.content != second.content


def test_the_results_digest_tells_verdicts_cases_and_order_apart() -> None:
    records = [plain(case="a" * 64), plain(Verdict.FAIL, case="b" * 64)]
    variants = [
        records,
        records[::-1],
        records[:1],
        [records[0], plain(case="b" * 64)],
        [records[0], plain(Verdict.FAIL, case="c" * 64)],
    ]
    assert len({digests(variant).results for variant in variants}) == len(variants)


@pytest.mark.parametrize(
    "change",
    [{"seconds": 1.0}, {"reason": "r"}, {"case_json": {"a": 1}}, {"phase": Phase.SEARCH}, {"reproduce": "x"}],
)
def test_the_content_digest_covers_every_field(change: dict[str, object]) -> None:
    assert digests([plain()]).content != digests([plain(**change)]).content


def test_the_content_digest_covers_campaign_measurements_and_ending() -> None:
    def of(*, row: bool = True, reason: str = "", seed: int = 1) -> str:
        found = Digests()
        found.start(report_data.campaign(seed=seed))
        if row:
            found.throughput(report_data.throughputs()[0])
        found.finish(report_data.ending(reason))
        return found.content

    assert len({of(), of(row=False), of(reason="stopped"), of(seed=2)}) == 4


def test_a_failure_among_measurements_changes_no_digest_by_its_place() -> None:
    """A file has the measurements behind all records, so a package of such a run did not verify."""

    def of(*items: str) -> str:
        found, first, row = Digests(), plain(), report_data.throughputs()[0]
        failed = plain(Verdict.FAIL, case="b" * 64)
        found.start(report_data.campaign(seed=1))
        for item in items:
            found.throughput(row) if item == "row" else found.record(first if item == "first" else failed)
        found.finish(report_data.ending(""))
        return found.content

    assert of("first", "row", "failed") == of("first", "failed", "row")
    assert len({of("first", "failed", "row"), of("failed", "first", "row"), of("first", "failed", "row", "row")}) == 3


def test_the_summary_digests_what_it_counts() -> None:
    summary = report_data.summary_of(report_data.some_faulty())
    expected = digests(list(report_data.some_faulty()))
    assert (summary.digests.results, summary.digests.content) == (expected.results, expected.content)


def test_a_fan_out_tells_each_consumer_everything_in_order() -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[object] = []

        start = record = throughput = finish = lambda self, item: self.heard.append(item)

    first, second = Listener(), Listener()
    records = report_data.some_sound()[:3]
    report_data.feed(FanOut(first, second), records)
    assert first.heard == [report_data.campaign(), *records, *report_data.throughputs(), report_data.ending()]
    assert second.heard == first.heard


def test_an_ending_says_whether_the_run_was_stopped() -> None:
    assert Ending.now().complete
    assert Ending.now().finished.endswith("Z")
    stopped = Ending.now("out of disk")
    summary = Summary()
    FanOut(summary).start(report_data.campaign(environment={"cpu": "\ud800"}))
    FanOut(summary).finish(Ending.now("\udcff"))
    assert summary.why_incomplete()[0].endswith("\\udcff.")
    assert (stopped.complete, stopped.reason) == (False, "out of disk")


# Records that another process wrote down: every consumer makes of them what it makes of the records themselves.


class Plain(Consumer):
    """A consumer that asks for whole records."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, record: Record | EncodedRecord) -> None:
        self.records.append(record.whole())


def test_an_encoded_record_is_the_record_and_its_traits_hold_nothing_long() -> None:
    records = [*report_data.some_sound(), *report_data.some_faulty()]
    assert {record.verdict for record in records} >= {Verdict.PASS, Verdict.FAIL, Verdict.OBSERVED}
    assert any(record.differences for record in records)
    for record in records:
        whole = encode_record(record).whole()
        assert whole == record
        assert msgspec.json.encode(whole) == msgspec.json.encode(record)  # the case's members in their order
        traits = encode_record(record).traits
        assert (traits.case_json, traits.differences, traits.reproduce) == ({}, (), "")
        assert (traits.case, traits.verdict, traits.rule) == (record.case, record.verdict, record.rule)


def test_every_consumer_makes_the_same_of_them(tmp_path: Path) -> None:
    """Waivers too, and of text that is no Unicode."""
    records = [*report_data.some_sound(), *report_data.some_faulty()]
    odd = plain(Verdict.FAIL, rule="GATHER.values", reason="bad \udcff name")
    about = {"reason": "known", "link": "https://example.org/1", "owner": "me", "expires": "2099-01-01"}
    waivers = Waivers([Waiver(rules=["GATHER.values"], **about)])
    found = []
    for encoded in (False, True):
        path = tmp_path / f"{encoded}.sqlite"
        whole, waived, summary = Plain(), Plain(), Summary()
        stream = FanOut(whole, summary, StoreWriter(path), SettledStream(waivers.apply, waived))
        stream.start(report_data.campaign())
        for record in (*records, odd):
            stream.record(encode_record(record) if encoded else record)
        stream.finish(report_data.ending())
        with Store(path) as store:
            assert list(store.records()) == whole.records
        found.append((whole, waived, summary, path.read_bytes()))
    (whole, waived, summary, content), (of_encoded, also_waived, other, same) = found
    assert whole.records[:-1] == of_encoded.records[:-1] == records
    assert whole.records[-1].reason == of_encoded.records[-1].reason == "bad \\udcff name"
    assert waived.records == also_waived.records
    assert any(record.verdict is Verdict.WAIVED for record in waived.records)
    for name in ("counts", "tests", "decisions", "accepted", "coverage", "failures", "observed", "reasons"):
        assert getattr(summary, name) == getattr(other, name), name
    assert summary.digests.content == other.digests.content
    assert summary.digests.results == other.digests.results
    assert content == same
