"""Records that another process wrote down: every consumer makes of them what it makes of the records themselves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import report_data

from dml_conformance.conformance.judge.blame import SettledStream
from dml_conformance.conformance.packages.waivers import Waivers
from dml_conformance.reports.model.encoded import EncodedRecord, encode_record
from dml_conformance.reports.model.records import Ending, Record, Verdict
from dml_conformance.reports.model.stream import Consumer, FanOut
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.package.forms import Waiver
from dml_conformance.reports.store.results import Store, StoreWriter

RECORDS = [*report_data.some_sound(), *report_data.some_faulty()]


class Plain(Consumer):
    """A consumer that asks for whole records."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, record: Record | EncodedRecord) -> None:
        self.records.append(record.whole())


def feed(stream: FanOut, *, encoded: bool) -> None:
    stream.start(report_data.campaign())
    for record in RECORDS:
        stream.record(encode_record(record) if encoded else record)
    stream.finish(Ending("2026-01-01T00:00:00Z"))


def test_an_encoded_record_is_the_record() -> None:
    assert {record.verdict for record in RECORDS} >= {Verdict.PASS, Verdict.FAIL, Verdict.OBSERVED}
    assert any(record.differences for record in RECORDS)
    for record in RECORDS:
        whole = encode_record(record).whole()
        assert whole == record
        assert msgspec.json.encode(whole) == msgspec.json.encode(record)  # the case's members in their order


def test_a_consumer_gets_whole_records_that_asks_for_them() -> None:
    plain, also = Plain(), Summary()
    feed(FanOut(plain, also), encoded=True)
    assert plain.records == RECORDS
    assert also.total == len(RECORDS)


def test_summary_and_cases_are_the_same() -> None:
    found = []
    for encoded in (False, True):
        found.append(Summary())
        feed(FanOut(found[-1]), encoded=encoded)
    summary, of_encoded = found
    for name in ("counts", "tests", "decisions", "accepted", "coverage", "failures", "observed", "reasons"):
        assert getattr(summary, name) == getattr(of_encoded, name), name
    assert summary.digests.content == of_encoded.digests.content
    assert summary.digests.results == of_encoded.digests.results


def test_the_store_is_the_same_to_the_byte(tmp_path: Path) -> None:
    contents = []
    for encoded in (False, True):
        path = tmp_path / f"{encoded}.sqlite"
        feed(FanOut(StoreWriter(path)), encoded=encoded)
        with Store(path) as store:
            assert list(store.records()) == RECORDS
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_waivers_apply() -> None:
    failed = next(record for record in RECORDS if record.verdict is Verdict.FAIL)
    waiver = Waiver(reason="known", link="https://example.org/1", owner="me", expires="2099-01-01", rules=[failed.rule])
    found = []
    for encoded in (False, True):
        plain = Plain()
        feed(SettledStream(Waivers([waiver]).apply, plain), encoded=encoded)
        found.append(plain.records)
    assert found[0] == found[1]
    assert any(record.verdict is Verdict.WAIVED for record in found[1])


def test_text_that_is_no_unicode_is_encoded() -> None:
    record = report_data.plain(Verdict.FAIL, reason="bad \udcff name")
    found = []
    for encoded in (False, True):
        plain = Plain()
        stream = FanOut(plain)
        stream.record(encode_record(record) if encoded else record)
        found += plain.records
    assert found[0] == found[1]
    assert found[0].reason == "bad \\udcff name"


@pytest.mark.parametrize("record", RECORDS[::17])
def test_traits_hold_nothing_long(record: Record) -> None:
    traits = encode_record(record).traits
    assert (traits.case_json, traits.differences, traits.reproduce) == ({}, (), "")
    assert (traits.case, traits.verdict, traits.rule) == (record.case, record.verdict, record.rule)
