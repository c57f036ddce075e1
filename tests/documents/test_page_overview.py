"""Many pages together: what they are, what they do not say alike, and the report of all checks."""

from __future__ import annotations

import msgspec
import pytest
from page_factories import gather, quoted
from places import TESTS

from dml_conformance.documents.check import check_pages, checks
from dml_conformance.documents.check.differences import differences
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.report import MOST_FINDINGS
from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import FieldSection, Page, Passage

ONE, TWO, THREE = gather("1.md"), gather("2.md"), gather("3.md")
TILE = gather("tile.md", operator="TILE")


def with_axis_type(path: str, kind: str) -> Page:
    members = tuple(
        msgspec.structs.replace(member, type=kind) if member.name.text == "Axis" else member for member in ONE.members
    )
    return gather(path, members=members)


def subjects(*pages: Page) -> list[str]:
    return [difference.subject for difference in differences(pages)]


def test_pages_are_compared_with_those_on_their_operator_in_the_order_given() -> None:
    odd = msgspec.structs.replace(TILE, path="odd.md", introduced_in="2_0", availability=())
    found = list(differences([TILE, with_axis_type("a.md", "INT"), odd, ONE]))
    assert [(one.operator, one.subject) for one in found] == [("TILE", "introduced-in"), ("GATHER", "member/Axis/type")]


def test_what_was_found_on_a_page_says_what_it_is() -> None:
    (page,) = check_pages([gather("1.md", edition="10/30/2020")]).pages
    shown = page.language, page.edition, page.levels, page.introduced_in, page.examples, page.digest
    assert shown == ("en-US", "10/30/2020", ("3_0", "1_0"), "1_0", 1, ONE.digest)


@pytest.mark.parametrize("pages", [[ONE], [ONE, TWO], [ONE, TWO, THREE]])
def test_pages_that_agree_have_no_differences(pages: list[Page]) -> None:
    assert subjects(*pages) == []


def test_what_most_pages_say_comes_first() -> None:
    (difference,) = differences([with_axis_type("odd.md", "INT"), ONE, TWO])
    assert difference.subject == "member/Axis/type"
    assert [(version.value, version.paths) for version in difference.versions] == [
        ("UINT", ("1.md", "2.md")),
        ("INT", ("odd.md",)),
    ]


def test_a_page_without_a_table_is_one_difference_and_the_others_are_still_compared() -> None:
    older = gather("older.md", tables=ONE.tables[1:])
    rows = ONE.tables[0].rows
    other_row = msgspec.structs.replace(rows[0], dimension_counts=(4,))
    odd = gather("odd.md", tables=(msgspec.structs.replace(ONE.tables[0], rows=(other_row, *rows[1:])), ONE.tables[1]))
    lacking, other = differences([older, ONE, TWO, odd])
    assert (lacking.subject, other.subject) == ("table/3_0", "table/3_0/InputTensor/dimension-counts")
    assert (lacking.versions[1].value, lacking.versions[1].paths) == ("not there", ("older.md",))
    assert [version.paths for version in other.versions] == [("1.md", "2.md"), ("odd.md",)]


def test_the_report_counts_the_findings_of_all_pages() -> None:
    broken = with_axis_type("broken.md", "INT")
    report = check_pages([ONE, broken])
    assert not report.ok
    assert report.counts[str(Severity.ERROR)] == sum(f.severity is Severity.ERROR for f in report.findings) > 0
    assert [page.path for page in report.pages] == ["1.md", "broken.md"]
    assert {f.path for f in report.findings} <= {"1.md", "broken.md"}


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
    assert subjects(scraped, source) == ["syntax"]


def test_every_check_is_stated_once() -> None:
    stated = [statement.name for statement in checks().values()]
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
