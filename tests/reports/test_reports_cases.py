"""The cases of a page: which are kept, how they are packed, and that they can be read back as they were."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import pytest
import report_data
from report_data import plain

from dml_conformance.reports.model.records import FEW_DIFFERENCES, TRAITS, Difference, Record, Verdict
from dml_conformance.reports.page import cases as cases_module
from dml_conformance.reports.page.cases import BLOCK, DIFFERING, FIRST_KEPT, SHOWN_DIGITS, Embedded, embed
from dml_conformance.reports.store.results import Store

PLENTY = 50_000_000
FAULTY = report_data.some_faulty()


def embedded(campaigns: dict[str, Iterable[Record]], budget: int = PLENTY, *arguments: Any, **options: Any) -> Embedded:
    """What a page has of campaigns, by their labels."""
    paths = {label: report_data.stored(records) for label, records in campaigns.items()}
    summaries = []
    for path in paths.values():
        with Store(path) as store:
            summaries.append(store.summary())
    return embed(paths, summaries, budget, *arguments, **options)


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


def rows_of(records: Iterable[Record], *arguments: Any) -> list[dict[str, Any]]:
    return Read(embedded({"a": records}, *arguments)).rows


def test_every_case_can_be_read_back() -> None:
    wanted = {record.case[:12]: record for record in FAULTY}
    rows = rows_of(FAULTY)
    assert len(rows) == len(FAULTY)
    for row in rows:
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
    read = Read(embedded({"one": [plain()]}))
    for rule in report_data.campaign().rules:
        assert read.head["rules"][rule["id"]] == [rule["statement"], rule["source"], rule["erratum"]]
    assert read.head["differing"] == [str(v) for v in Verdict if v in DIFFERING]


def test_what_differs_comes_before_the_rest_where_room_is_short() -> None:
    found = embedded({"one": report_data.faulty(6000)}, 300_000)
    told = found.carried
    assert 0.8 * 300_000 < sum(map(len, [found.rows, found.flags, *found.blocks])) <= 300_000
    assert (told.rows, told.total) == (6000, 6000)
    assert told.differing == told.differing_rows == told.differing_whole
    assert told.differing < told.whole < told.rows
    read = Read(found)
    assert sum(row["line"] is not None for row in read.rows) == told.whole
    assert not [row for row in read.rows if row["line"] is None and row["verdict"] in read.head["differing"]]


@pytest.mark.parametrize("budget", [33_000, 20_000, 0, -100])
def test_with_little_room_there_are_rows_and_with_less_fewer_and_with_none_nothing(budget: int) -> None:
    found = embedded({"one": FAULTY}, budget)
    assert len(Read(found).rows) == found.carried.rows == max(0, min(1500, budget // 40))
    assert found.carried.differing_rows == (sum(r.verdict in DIFFERING for r in FAULTY) if budget > 0 else 0)
    assert found.carried.whole <= 100


def test_no_cases_at_all_can_be_packed() -> None:
    assert rows_of([]) == []


def test_campaigns_keep_their_labels_and_their_order() -> None:
    read = Read(embedded({"b": FAULTY[:50], "a": FAULTY[:50]}))
    assert read.head["columns"][0]["labels"] == ["b", "a"]
    assert sorted(row["campaign"] for row in read.rows) == ["a"] * 50 + ["b"] * 50


def test_changes_are_a_trait() -> None:
    records = [plain(), plain(number=1)]
    one, other = (record.case[:SHOWN_DIGITS] for record in records)
    rows = rows_of(records, PLENTY, {("a", other): "repair", ("b", one): "repair"})
    assert {row["digest"]: row["change"] for row in rows} == {one: "", other: "repair"}


# Bounds.


def listed(records: Iterable[Record], most: int, *arguments: Any) -> set[str]:
    """The shown digits of the cases that a list of so many rows has."""
    return {row["digest"] for row in rows_of(records, most * cases_module._ROW_CHARACTERS, *arguments)}


def test_rows_are_the_first_of_each_kind_and_those_with_the_smallest_digests() -> None:
    common = [plain(number=n) for n in range(2000)]
    rare = [plain(number=n, rule="TENSOR.sizes") for n in range(2000, 2001 + FIRST_KEPT)]
    found = listed([*common, *rare], 100)
    first = {record.case[:SHOWN_DIGITS] for record in (*common[:FIRST_KEPT], *rare[:FIRST_KEPT])}
    smallest = sorted({record.case[:SHOWN_DIGITS] for record in (*common, *rare)} - first)
    assert found == {*first, *smallest[: 100 - 2 * FIRST_KEPT]}


def test_what_changed_is_listed_however_many_others_there_are() -> None:
    records = [*(plain(Verdict.FAIL, n) for n in range(300)), plain(number=300)]
    name = records[-1].case[:SHOWN_DIGITS]
    assert name not in listed(records, 50)
    assert name in listed(records, 50, {("a", name): "repair"})


def test_of_what_differs_the_cases_that_are_wanted_most_come_first() -> None:
    failing = [plain(Verdict.FAIL, n) for n in range(20)]
    wanted = {record.case[:SHOWN_DIGITS] for record in (failing[7], failing[19])}
    assert listed(failing, 2, {}, wanted) == wanted


def test_differences_beyond_the_first_are_told_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = tuple(Difference((n,), "1", "0x01", "2", "0x02") for n in range(100))
    records = [plain(Verdict.FAIL, n, differences=differences, difference_count=120) for n in range(40)]
    monkeypatch.setattr(cases_module, "MAX_TOLD_IN_FULL", 20_000)
    told = [len(json.loads(row["line"].split(b"\t")[1])[2]) for row in rows_of(records)]
    assert set(told) == {FEW_DIFFERENCES, 100}
    assert told.count(100) * 2000 < 30_000


def test_a_case_too_long_for_a_page_has_its_row_alone() -> None:
    long = plain(Verdict.FAIL, case_json={"type": "x" * cases_module.MAX_CASE})
    told = embedded({"a": [long, plain()]}).carried
    assert (told.differing_rows, told.differing_whole, told.whole) == (1, 0, 1)


def test_many_labels_take_wider_numbers() -> None:
    records = [plain(number=i, rule=f"R{i:04}") for i in range(700)]
    read = Read(embedded({"a": records}))
    column = next(column for column in read.head["columns"] if column["name"] == "rule")
    assert column["width"] == 2
    assert {row["rule"] for row in read.rows} == {f"R{i:04}" for i in range(700)}
