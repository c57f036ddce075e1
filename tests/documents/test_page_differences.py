"""Pages beside others: what differs, what is only another way to say the same, and the report of all checks."""

from __future__ import annotations

import re

import msgspec
import pytest
from page_factories import Edit, behind, page_of, table_at
from pages_support import beside
from places import TESTS

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.differences import differences
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.report import MOST_FINDINGS
from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import Page

CODE = ("What it does.\n", "What it does.\n\n```\noutput[i] = input[indices[i]]\n```\n")
AXIS_TYPE = ("`Axis`\n\nType: UINT", "`Axis`\n\nType: INT")
RANGE = "[0, InputTensor.DimensionCount)"
INPUT_ROW = re.compile(r"\| InputTensor .*\n")


def gather(*edits: Edit, path: str = "page.md") -> Page:
    return page_of("GATHER", CODE, *edits, path=path)


ONE, TWO = (gather(path=f"{n}.md") for n in (1, 2))

# What is edited, and the subject of what differs.
CHANGED: dict[str, tuple[Edit, str]] = {
    "structure": (("struct DML_GATHER_", "struct DML_GATHER1_"), "syntax/structure"),
    "a field less": (("  UINT IndexDimensions;\n", ""), "syntax/IndexDimensions"),
    "a field more": (("  UINT Axis;\n", "  UINT Axis;\n  UINT Count;\n"), "syntax/Count"),
    "no syntax block": (("struct DML_GATHER_OPERATOR_DESC", "class Gather"), "syntax"),
    "order of the fields": ((re.compile(r"(  UINT Axis;\n)(.*\n)"), r"\2\1"), "syntax/order"),
    "type in the syntax block": (("UINT Axis;", "UINT64 Axis;"), "syntax/Axis/type"),
    "a section less": (("`Axis`\n\nType: UINT\n", ""), "member/Axis"),
    "a section twice": (("`IndexDimensions`", "`Axis`"), "member/Axis#2"),
    "type in the section": (AXIS_TYPE, "member/Axis/type"),
    "a range opened": ((RANGE, "(0, InputTensor.DimensionCount)"), "member/Axis/range"),
    "a range closed": ((RANGE, "[0, InputTensor.DimensionCount]"), "member/Axis/range"),
    "another bound": ((RANGE, "[1, InputTensor.DimensionCount)"), "member/Axis/range"),
    "a range lost": ((RANGE, "a range"), "member/Axis/range"),
    "a level in a section": (("LEVEL_3_0, negative", "LEVEL_2_1, negative"), "member/IndicesTensor/levels"),
    "introduction": (("introduced in DML_FEATURE_LEVEL_1", "introduced in DML_FEATURE_LEVEL_2"), "introduced-in"),
    "introduction lost": (("introduced in DML_FEATURE_LEVEL_1_0", "there"), "introduced-in"),
    "a row less": ((INPUT_ROW, ""), "table/4_1/InputTensor"),
    "a row twice": ((INPUT_ROW, r"\g<0>\g<0>"), "table/4_1/InputTensor#2"),
    "rows in another order": ((re.compile(r"(\| InputTensor .*\n)(.*\n)"), r"\2\1"), "table/4_1/row-order"),
    "kind": (("InputTensor | Input", "InputTensor | Output"), "table/4_1/InputTensor/kind"),
    "counts": (
        ("IndicesTensor | Input | 1 to 8", "IndicesTensor | Input | 4"),
        "table/4_1/IndicesTensor/dimension-counts",
    ),
    "types": (behind("1_0 and above", "UINT32", "INT32"), "table/1_0/IndicesTensor/data-types"),
    "a cell lost": (behind("1_0 and above", " UINT32 |", ""), "table/1_0/IndicesTensor/data-types"),
    "an example less": ((re.compile(r"### Example .*\Z", re.DOTALL), ""), "example/1"),
    "an example twice": ((re.compile(r"(### Example .*)\Z", re.DOTALL), r"\1\n\1"), "example/1#2"),
    "an attribute": (("Axis: 2", "Axis: 1"), "example/1/Axis"),
    "sizes": (("{1, 1, 3, 2}", "{3}"), "example/1/InputTensor/Sizes"),
    "a type in an example": (("3, 2}, DataType:FLOAT32", "3, 2}, DataType:FLOAT16"), "example/1/InputTensor/DataType"),
    "a value": (("{3, 4}, {5, 6}", "{3, 4}, {5, 7}"), "example/1/InputTensor/values"),
    "strides": (("{1, 1, 3, 2},", "{1, 1, 3, 2}, Strides:{1, 1, 1, 1},"), "example/1/InputTensor/Strides"),
    "pseudocode": (("input[indices[i]]", "input[i]"), "code/description"),
    "pseudocode lost": (("```\noutput[i] = input[indices[i]]\n```\n", ""), "code/description"),
}


def differing(*pages: Page) -> list[str]:
    """The subjects of what pages do not say alike."""
    return [difference.subject for difference in differences(pages)]


@pytest.mark.parametrize(("edit", "subject"), CHANGED.values(), ids=CHANGED)
def test_what_differs_is_told(edit: Edit, subject: str) -> None:
    page = gather(edit)
    assert subject in differing(page, ONE)
    assert sorted(differing(page, ONE)) == sorted(differing(ONE, page))
    assert differing(page, page) == []


@pytest.mark.parametrize(
    "edits",
    [
        (),
        ((RANGE, "[0, InputTensor.DimensionCount-1]"),),
        ((RANGE, "[0 , InputTensor.DimensionCount)"),),
        (("const DML_TENSOR_DESC *Input", "const DML_TENSOR_DESC* Input"),),
        (("output[i] = input[indices[i]]", "output[i]=input[indices[i]] // so"),),
        # Scraped values have lost their nesting.
        (("{{{{1, 2}, {3, 4}, {5, 6}}}}", "{1, 2, 3, 4, 5, 6}"),),
        # Another language.
        (
            ("What it does.", beside("Was er tut.", "What it does.")),
            ("| InputTensor", f"| {beside('инпут', 'InputTensor')}"),
            ("| Input ", f"| {beside('Eingabe', 'Input')} "),
            ("| 1 to 8 |", f"| {beside('von 1 bis 8', '1 to 8')} |"),
            ("UINT32, INT32, UINT64", "INT32, UINT64, UINT32"),
        ),
    ],
)
def test_what_says_the_same_in_other_words_does_not_differ(edits: tuple[Edit, ...]) -> None:
    assert differing(gather(*edits), ONE, TWO) == []


def test_what_is_missing_is_told_once() -> None:
    """A row is no other order, and what stands under a lost table is not told again."""
    assert differing(gather((INPUT_ROW, "")), ONE) == ["table/4_1/InputTensor"]
    assert differing(gather(table_at("1_0")), ONE) == ["table/1_0"]


def test_pages_are_compared_with_those_on_their_operator_in_the_order_given() -> None:
    tile = page_of("TILE", path="tile.md")
    odd = msgspec.structs.replace(tile, path="odd.md", introduced_in="2_0", availability=())
    found = list(differences([tile, gather(AXIS_TYPE, path="a.md"), odd, ONE]))
    assert [(one.operator, one.subject) for one in found] == [("TILE", "introduced-in"), ("GATHER", "member/Axis/type")]


def test_what_most_pages_say_comes_first() -> None:
    (difference,) = differences([gather(AXIS_TYPE, path="odd.md"), ONE, TWO])
    assert [(version.value, version.paths) for version in difference.versions] == [
        ("UINT", ("1.md", "2.md")),
        ("INT", ("odd.md",)),
    ]


def test_a_page_without_a_table_is_one_difference_and_the_others_are_still_compared() -> None:
    older, odd = gather(table_at("4_1"), path="older.md"), gather(("| 1 to 8 |", "| 4 |"), path="odd.md")
    lacking, other = differences([older, ONE, TWO, odd])
    assert (lacking.subject, other.subject) == ("table/4_1", "table/4_1/InputTensor/dimension-counts")
    assert (lacking.versions[1].value, lacking.versions[1].paths) == ("not there", ("older.md",))
    assert [version.paths for version in other.versions] == [("1.md", "2.md"), ("odd.md",)]


def test_two_forms_of_one_page_differ_in_what_a_form_lacks() -> None:
    folder = TESTS / "pages"
    source, scraped = read_page(folder / "gather.en-US.md"), read_page(folder / "gather.zh-TW.txt")
    assert differing(scraped, source) == ["syntax"]


# The report of all checks


def test_the_report_tells_what_each_page_is_and_counts_the_findings_of_all() -> None:
    broken = gather(AXIS_TYPE, ("ms.contentlocale", "ms.date: 10/30/2020\nms.contentlocale"), path="broken.md")
    report = check_pages([ONE, broken])
    assert not report.ok
    assert report.counts[str(Severity.ERROR)] == sum(f.severity is Severity.ERROR for f in report.findings) > 0
    assert {f.path for f in report.findings} == {"broken.md"}
    first, second = report.pages
    assert (first.path, second.path, first.edition, second.edition) == ("1.md", "broken.md", None, "10/30/2020")
    shown = first.language, first.levels, first.introduced_in, first.examples, first.digest
    assert shown == ("en-US", ("4_1", "3_0", "2_1", "1_0"), "1_0", 1, ONE.digest)
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report
    assert check_pages([page_of("PICK")]).ok


def test_of_very_many_findings_the_most_serious_are_listed_and_the_others_counted() -> None:
    notes, errors = "\n\n".join(["TBD."] * MOST_FINDINGS), "\n\n".join(["DML_FEATURE_LEVEL_9_9."] * 20)
    report = check_pages([gather(("## Examples", f"## Remarks\n\n{notes}\n\n{errors}\n\n## Examples"))])
    *_, more = sorted(report.findings, key=lambda one: one.check == "more-findings")
    assert (more.severity, len(report.findings)) == (Severity.NOTE, MOST_FINDINGS + 1)
    assert "more findings, none more serious" in more.found
    assert report.counts["error"] == 20
