"""Records that another process wrote down: every consumer makes of them what it makes of the records themselves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import report_data

from dml_conformance.conformance.judge.blame import SettledStream
from dml_conformance.conformance.packages.waivers import Waivers
from dml_conformance.reports.model.encoded import EncodedRecord, encode_record
from dml_conformance.reports.model.records import Record, Verdict
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


def test_an_encoded_record_is_the_record_and_its_traits_hold_nothing_long() -> None:
    assert {record.verdict for record in RECORDS} >= {Verdict.PASS, Verdict.FAIL, Verdict.OBSERVED}
    assert any(record.differences for record in RECORDS)
    for record in RECORDS:
        whole = encode_record(record).whole()
        assert whole == record
        assert msgspec.json.encode(whole) == msgspec.json.encode(record)  # the case's members in their order
        traits = encode_record(record).traits
        assert (traits.case_json, traits.differences, traits.reproduce) == ({}, (), "")
        assert (traits.case, traits.verdict, traits.rule) == (record.case, record.verdict, record.rule)


def test_every_consumer_makes_the_same_of_them(tmp_path: Path) -> None:
    """Waivers too, and of text that is no Unicode."""
    odd = report_data.plain(Verdict.FAIL, rule="GATHER.values", reason="bad \udcff name")
    about = {"reason": "known", "link": "https://example.org/1", "owner": "me", "expires": "2099-01-01"}
    waivers = Waivers([Waiver(rules=["GATHER.values"], **about)])
    found = []
    for encoded in (False, True):
        path = tmp_path / f"{encoded}.sqlite"
        plain, waived, summary = Plain(), Plain(), Summary()
        stream = FanOut(plain, summary, StoreWriter(path), SettledStream(waivers.apply, waived))
        stream.start(report_data.campaign())
        for record in (*RECORDS, odd):
            stream.record(encode_record(record) if encoded else record)
        stream.finish(report_data.ending())
        with Store(path) as store:
            assert list(store.records()) == plain.records
        found.append((plain, waived, summary, path.read_bytes()))
    (plain, waived, summary, content), (of_encoded, also_waived, other, same) = found
    assert plain.records[:-1] == of_encoded.records[:-1] == RECORDS
    assert plain.records[-1].reason == of_encoded.records[-1].reason == "bad \\udcff name"
    assert waived.records == also_waived.records
    assert any(record.verdict is Verdict.WAIVED for record in waived.records)
    for name in ("counts", "tests", "decisions", "accepted", "coverage", "failures", "observed", "reasons"):
        assert getattr(summary, name) == getattr(other, name), name
    assert summary.digests.content == other.digests.content
    assert summary.digests.results == other.digests.results
    assert content == same
