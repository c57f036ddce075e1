"""Many pages together: rows, differences, who stands alone, and the report of all checks."""

from __future__ import annotations

import msgspec
import pytest
from page_factories import gather, quoted
from places import TESTS

from dml_conformance.documents.check import check_pages, statements
from dml_conformance.documents.check.model import PageFinding, Severity
from dml_conformance.documents.check.overview import overview
from dml_conformance.documents.check.report import MOST_FINDINGS
from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import FieldSection, Page, Passage, Place


def finding(severity: Severity) -> PageFinding:
    return PageFinding("c:GATHER:s", severity, "page.md", Place(1, 1), "", "", "", "", "itself")


def names(page_overview: object) -> list[tuple[str, tuple[str, ...]]]:
    found = msgspec.to_builtins(page_overview)
    return [
        (operator["operator"], tuple(page["path"] for page in operator["pages"])) for operator in found["operators"]
    ]


ONE, TWO, THREE = gather("1.md"), gather("2.md"), gather("3.md")
TILE = gather("tile.md", operator="TILE")


def with_axis_type(path: str, kind: str) -> Page:
    members = tuple(
        msgspec.structs.replace(member, type=kind) if member.name.text == "Axis" else member for member in ONE.members
    )
    return gather(path, members=members)


def test_pages_stand_by_operator_in_the_order_given() -> None:
    assert names(overview([ONE, TILE, TWO], [[], [], []])) == [("GATHER", ("1.md", "2.md")), ("TILE", ("tile.md",))]


def test_a_row_says_what_the_page_is_and_what_was_found_on_it() -> None:
    found = [finding(Severity.ERROR), finding(Severity.NOTE), finding(Severity.NOTE)]
    ((operator,)) = overview([gather("1.md", edition="10/30/2020")], [found]).operators
    (page,) = operator.pages
    assert (page.language, page.edition, page.levels, page.introduced_in) == (
        "en-US",
        "10/30/2020",
        ("3_0", "1_0"),
        "1_0",
    )
    assert (page.errors, page.warnings, page.notes, page.examples) == (1, 0, 2, 1)


@pytest.mark.parametrize("pages", [[ONE], [ONE, TWO], [ONE, TWO, THREE]])
def test_pages_that_agree_have_no_differences(pages: list[Page]) -> None:
    (operator,) = overview(pages, [[]] * len(pages)).operators
    assert operator.differences == ()


def test_the_page_that_stands_alone_is_named() -> None:
    odd = with_axis_type("odd.md", "INT")
    (operator,) = overview([odd, ONE, TWO], [[], [], []]).operators
    (split,) = operator.differences
    assert split.subject == "member/Axis/type"
    assert split.alone == "odd.md"
    assert [(version.value, version.paths) for version in split.versions] == [
        ("UINT", ("1.md", "2.md")),
        ("INT", ("odd.md",)),
    ]


@pytest.mark.parametrize(
    "pages",
    [
        [with_axis_type("a.md", "INT"), ONE],
        [with_axis_type("a.md", "INT"), with_axis_type("b.md", "INT"), ONE, TWO],
        [with_axis_type("a.md", "INT"), with_axis_type("b.md", "FLOAT"), ONE, TWO],
    ],
    ids=["two pages", "two against two", "three versions"],
)
def test_no_page_stands_alone_where_the_others_do_not_agree_or_are_not_more(pages: list[Page]) -> None:
    (operator,) = overview(pages, [[]] * len(pages)).operators
    (split,) = operator.differences
    assert split.alone is None


def test_a_page_without_a_table_is_one_difference_and_the_others_are_still_compared() -> None:
    older = gather("older.md", tables=ONE.tables[1:])
    rows = ONE.tables[0].rows
    other_row = msgspec.structs.replace(rows[0], dimension_counts=(4,))
    odd = gather("odd.md", tables=(msgspec.structs.replace(ONE.tables[0], rows=(other_row, *rows[1:])), ONE.tables[1]))
    (operator,) = overview([older, ONE, TWO, odd], [[]] * 4).operators
    assert [(split.subject, split.alone) for split in operator.differences] == [
        ("table/3_0", "older.md"),
        ("table/3_0/InputTensor/dimension-counts", "odd.md"),
    ]
    assert operator.differences[0].versions[1].value == "not there"


def test_a_row_that_is_missing_is_no_other_order() -> None:
    rows = ONE.tables[0].rows
    short = gather("short.md", tables=(msgspec.structs.replace(ONE.tables[0], rows=rows[1:]), ONE.tables[1]))
    turned = gather("turned.md", tables=(msgspec.structs.replace(ONE.tables[0], rows=rows[::-1]), ONE.tables[1]))
    (operator,) = overview([ONE, short], [[], []]).operators
    assert [split.subject for split in operator.differences] == ["table/3_0/InputTensor"]
    (operator,) = overview([ONE, TWO, turned], [[], [], []]).operators
    assert [(split.subject, split.alone) for split in operator.differences] == [("table/3_0/row-order", "turned.md")]


def test_the_report_counts_the_findings_of_all_pages() -> None:
    broken = with_axis_type("broken.md", "INT")
    report = check_pages([ONE, broken])
    assert not report.ok
    assert report.counts[str(Severity.ERROR)] == sum(f.severity is Severity.ERROR for f in report.findings) > 0
    assert [page.path for page in report.pages] == ["1.md", "broken.md"]
    assert {f.path for f in report.findings} <= {"1.md", "broken.md"}
    rows = report.overview.operators[0].pages
    assert [row.errors for row in rows] == [
        sum(f.severity is Severity.ERROR for f in page.findings) for page in report.pages
    ]


def test_a_report_without_errors_is_ok_and_reads_back() -> None:
    unknown = gather(
        "new.md",
        operator="NEW",
        structure="DML_NEW_OPERATOR_DESC",
        declarations=ONE.declarations[:1],
        members=(FieldSection(quoted("InputTensor", 20), ONE.declarations[0].type, quoted("Type", 21)),),
        examples=(),
        tables=(),
        code_blocks=(),
    )
    report = check_pages([unknown])
    assert report.ok == (report.counts["error"] == 0)
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report


def test_two_forms_of_one_page_differ_in_what_a_form_lacks() -> None:
    folder = TESTS / "pages"
    source, scraped = read_page(folder / "gather.en-US.md"), read_page(folder / "gather.zh-TW.txt")
    (operator,) = overview([scraped, source], [[], []]).operators
    assert [split.subject for split in operator.differences] == ["syntax"]


def test_every_check_is_stated_once() -> None:
    stated = [statement.name for statement in statements()]
    assert len(set(stated)) == len(stated)
    assert {"translation-name", "registry-kind", "table-twice"} <= set(stated)


def test_of_very_many_findings_the_most_serious_are_listed_and_the_others_counted() -> None:
    note, error = (quoted(text, 33) for text in ("TBD", "DML_FEATURE_LEVEL_9_9"))
    passages = [Passage(f"members/{n}", "sentence", note) for n in range(MOST_FINDINGS)]
    page = gather(passages=(*passages, *(Passage("remarks", "sentence", error) for _ in range(20))))
    report = check_pages([page])
    *_, more = sorted(report.findings, key=lambda one: one.check == "more-findings")
    assert (more.severity, len(report.findings)) == (Severity.NOTE, MOST_FINDINGS + 1)
    assert "more findings, none more serious" in more.found
    assert report.counts["error"] == 20 + check_pages([gather()]).counts["error"]
