"""The cases of a page: which are kept, how they are packed, and that they can be read back as they were."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import report_data
from report_data import plain

from dml_conformance.reports.model.records import FEW_DIFFERENCES, TRAITS, Difference, Record, Verdict
from dml_conformance.reports.page import cases as cases_module
from dml_conformance.reports.page.cases import DIFFERING, FIRST_KEPT, SHOWN_DIGITS, Cases, Embedded, _Rows, embed
from dml_conformance.reports.page.sample import ALWAYS, BLOCK, CaseSample

PLENTY = 50_000_000


def kept(records: Iterable[Record], wanted: tuple[str, ...] = ()) -> Cases:
    cases = Cases(wanted)
    report_data.feed(cases, records)
    return cases


def row_count(sample: CaseSample) -> int:
    return sum(len(part.keys) for part in sample.parts.values())


def unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


class Read:
    """What the page's script reads, read here in the plainest way."""

    def __init__(self, embedded: Embedded) -> None:
        data = unpacked(embedded.rows)
        (length,) = struct.unpack_from("<I", data)
        self.head: dict[str, Any] = json.loads(data[4 : 4 + length])
        count, offset = self.head["rows"], 4 + length
        self.rows: list[dict[str, Any]] = [{} for _ in range(count)]
        for column in self.head["columns"]:
            letter = {1: "B", 2: "H", 4: "I"}[column["width"]]
            for row, code in zip(self.rows, struct.unpack_from(f"<{count}{letter}", data, offset), strict=True):
                row[column["name"]] = column["labels"][code]
            offset += count * column["width"]
        size = self.head["digits"] // 2
        flags = unpacked(embedded.flags)
        lines = [line for block in embedded.blocks for line in unpacked(block).split(b"\n")]
        assert all(len(unpacked(block).split(b"\n")) == BLOCK for block in embedded.blocks[:-1])
        for i, row in enumerate(self.rows):
            row["digest"] = data[offset + i * size : offset + (i + 1) * size].hex()
            row["line"] = lines.pop(0) if flags[i // 8] >> (i % 8) & 1 else None
        assert not lines
        assert len(data) == offset + count * size


def test_every_case_can_be_read_back() -> None:
    records = report_data.some_faulty()
    read = Read(embed({"one": kept(records)}, PLENTY))
    wanted = {record.case[:12]: record for record in records}
    assert len(read.rows) == len(records)
    for row in read.rows:
        record = wanted[row["digest"]]
        assert {name: row[name] for name in TRAITS} == {name: str(getattr(record, name)) for name in TRAITS}
        case, outcome = row["line"].split(b"\t")
        content = json.loads(case)
        assert content == {name: record.case_json[name] for name in content}
        assert {"type", "desc", "level"} <= set(content)
        reason, count, differences, reproduce = json.loads(outcome)
        assert (reason, count, reproduce) == (record.reason, record.difference_count, record.reproduce)
        assert [Difference(tuple(where), *texts) for where, *texts in differences] == list(record.differences)


def test_rules_are_carried_in_words() -> None:
    read = Read(embed({"one": kept([plain()])}, PLENTY))
    for rule in report_data.campaign().rules:
        assert read.head["rules"][rule["id"]] == [rule["statement"], rule["source"], rule["erratum"]]
    assert read.head["differing"] == [str(v) for v in Verdict if v in DIFFERING]


def test_what_differs_comes_before_the_rest_where_room_is_short() -> None:
    records = list(report_data.faulty(6000))
    embedded = embed({"one": kept(records)}, 300_000)
    told = embedded.carried
    assert 0.8 * 300_000 < sum(map(len, [embedded.rows, embedded.flags, *embedded.blocks])) <= 300_000
    assert (told.rows, told.total) == (6000, 6000)
    assert told.differing == told.differing_rows == told.differing_whole
    assert told.differing < told.whole < told.rows
    read = Read(embedded)
    assert sum(row["line"] is not None for row in read.rows) == told.whole
    assert not [row for row in read.rows if row["line"] is None and row["verdict"] in read.head["differing"]]


def test_with_little_room_there_are_rows_and_with_less_fewer_and_with_none_nothing() -> None:
    cases = {"one": kept(report_data.some_faulty())}
    differing = cases["one"].differing.seen
    for budget in (33_000, 20_000, 0, -100):
        embedded = embed(cases, budget)
        assert len(Read(embedded).rows) == embedded.carried.rows == max(0, min(1500, budget // 40))
        assert embedded.carried.differing_rows == (differing if budget > 0 else 0)
        assert embedded.carried.whole <= 100


def test_no_cases_at_all_can_be_packed() -> None:
    assert Read(embed({"one": kept([])}, PLENTY)).rows == []


def test_campaigns_keep_their_labels_and_their_order() -> None:
    records = report_data.some_faulty()[:50]
    read = Read(embed({"b": kept(records), "a": kept(records)}, PLENTY))
    assert read.head["columns"][0]["labels"] == ["b", "a"]
    assert sorted(row["campaign"] for row in read.rows) == ["a"] * 50 + ["b"] * 50


def test_changes_are_a_trait() -> None:
    embedded = embed({"a": kept([plain(case="1" * 64), plain(case="2" * 64)])}, PLENTY, {("a", "2" * 12): "repair"})
    assert {row["digest"][0]: row["change"] for row in Read(embedded).rows} == {"1": "", "2": "repair"}


# Bounds.


def digests(count: int) -> list[str]:
    """Far apart, and none in order."""
    return [f"{i * 0x9E3779B97F4A7C15 % 2**64:016x}" * 4 for i in range(1, count + 1)]


def listed(sample: CaseSample) -> list[str]:
    """The first digits of the digests of its cases, those that are always kept last."""
    parts = sorted(sample.parts.items(), key=lambda part: part[0] == ALWAYS)
    return [f"{key:016x}" for _, part in parts for key in part.keys]


def test_rows_are_bounded_and_the_sample_is_the_smallest_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_module, "MAX_ROWS", 100)
    names = digests(5000)
    sample = kept(plain(case=name) for name in names).others
    assert sample.seen == 5000
    assert 100 <= row_count(sample) <= 200 + FIRST_KEPT
    sampled = sorted(listed(sample)[:-FIRST_KEPT])
    assert sampled == sorted(name[:16] for name in names[FIRST_KEPT:])[: len(sampled)]
    assert embed({"a": kept(plain(case=name) for name in names)}, PLENTY).carried.rows == 100


def test_the_first_of_each_kind_are_kept_whatever_their_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_module, "MAX_ROWS", 50)
    common = [plain(case=name) for name in digests(3000)]
    rare = [plain(case="f" * 12 + f"{i:04x}" + "0" * 48, rule="TENSOR.sizes") for i in range(FIRST_KEPT)]
    cases = kept([*common, *rare])
    assert sum(name.startswith("f" * 12) for name in listed(cases.others)) == FIRST_KEPT
    rows = Read(embed({"a": cases}, PLENTY)).rows
    assert sum(row["rule"] == "TENSOR.sizes" for row in rows) == FIRST_KEPT


def test_wanted_cases_are_kept_however_many_others_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_module, "MAX_ROWS", 50)
    records = [*(plain(case=name) for name in digests(3000)), plain(case="f" * 64)]
    assert "f" * 16 not in listed(kept(records).others)
    assert "f" * 16 in listed(kept(records, wanted=("f" * 64,)).others)


def test_memory_for_whole_cases_is_bounded_and_goes_to_the_smallest_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_module, "MAX_HELD", 20_000)
    sample = kept(plain(case=name, reproduce=name * 4) for name in digests(4000)).others
    assert row_count(sample) == 4000
    assert 8_000 < sample.held <= 20_000
    assert sample.held == sum(part.held for part in sample.parts.values())
    having = {bits for bits, part in sample.parts.items() if any(part.lengths) and bits != ALWAYS}
    without = set(sample.parts) - having - {ALWAYS}
    assert max(having) < min(without)
    for bits in having:
        part = sample.parts[bits]
        texts = list(part.texts())
        assert [len(text) for text in texts] == list(part.lengths)
        assert all(f"{key:016x}".encode() in text for key, text in zip(part.keys, texts, strict=True))


def test_texts_of_cases_that_are_always_kept_do_not_grow_without_bound() -> None:
    sample = CaseSample(10, 1000)
    for key in range(100):
        sample.add_always(key, [0], lambda: b"x" * 50)
    assert row_count(sample) == 100
    assert sample.held <= 1050


def test_differences_beyond_the_first_are_told_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = tuple(Difference((n,), "1", "0x01", "2", "0x02") for n in range(100))
    records = [plain(Verdict.FAIL, case=name, differences=differences, difference_count=120) for name in digests(40)]
    monkeypatch.setattr(cases_module, "MAX_TOLD_IN_FULL", 20_000)
    told = [len(json.loads(row["line"].split(b"\t")[1])[2]) for row in Read(embed({"a": kept(records)}, PLENTY)).rows]
    assert set(told) == {FEW_DIFFERENCES, 100}
    assert told.count(100) * 2000 < 30_000


def test_a_case_too_long_for_a_page_has_its_row_alone() -> None:
    long = plain(Verdict.FAIL, case="1" * 64, case_json={"type": "x" * cases_module.MAX_CASE})
    told = embed({"a": kept([long, plain(case="2" * 64)])}, PLENTY).carried
    assert (told.differing_rows, told.differing_whole, told.whole) == (1, 0, 1)


def test_many_labels_take_wider_numbers() -> None:
    records = [plain(rule=f"R{i:04}", case=name) for i, name in enumerate(digests(700))]
    read = Read(embed({"a": kept(records)}, PLENTY))
    column = next(column for column in read.head["columns"] if column["name"] == "rule")
    assert column["width"] == 2
    assert {row["rule"] for row in read.rows} == {f"R{i:04}" for i in range(700)}


def test_of_what_differs_the_cases_that_are_wanted_most_come_first() -> None:
    cases = Cases()
    failing = [plain(Verdict.FAIL, case=f"{n:02x}" * 32) for n in range(20)]
    report_data.feed(cases, failing)
    wanted = {record.case[:SHOWN_DIGITS] for record in (failing[7], failing[19])}
    rows = _Rows({"one": cases}, {}, wanted, 2)
    assert rows.digests(np.arange(2)).hex() == failing[7].case[:SHOWN_DIGITS] + failing[19].case[:SHOWN_DIGITS]
