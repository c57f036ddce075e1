"""Pages scraped as plain text, with parts lost, cut off or glued together: which part of the page each line is."""

from __future__ import annotations

import re

import pytest
from pages_support import OWN, STRUCT, parsed

from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import Page

TITLE = "DML_X_OPERATOR_DESC structure"
FIELDS = """InputTensor
Type: const DML_TENSOR_DESC*
What is read.
OutputTensor
Type: const DML_TENSOR_DESC*
What is written.
Axis
Type: UINT
Along which dimension."""
WHOLE = f"{TITLE}\nWhat it does.\nSyntax\n{STRUCT}\nMembers\n{FIELDS}\n"
SUPPORT = "Tensor support\n"


def outline(page: Page) -> list[tuple[str, str, str]]:
    """What a page consists of, in its order: the part that it stands in, what it is, and its text."""
    items = [(p.quoted.place, p.section, p.role, p.quoted.text) for p in page.passages]
    items += [(block.place, block.section, block.role, block.text) for block in page.code_blocks]
    return [item[1:] for item in sorted(items, key=lambda item: (item[0].line, item[0].column))]


def after_members(text: str) -> list[tuple[str, str, str]]:
    """What of a page stands after the text on its last field, where `text` follows that."""
    items = outline(parsed(WHOLE + text))
    return items[items.index(("members/Axis", "sentence", "Along which dimension.")) + 1 :]


# Title, structure and fields


def test_the_title_is_the_line_that_names_the_structure() -> None:
    page = read_page(OWN / "gather.zh-TW.txt")
    assert page.title is not None
    assert page.title.text == "DML_GATHER_OPERATOR_DESC結構 (directml.h)"


def test_a_structure_that_is_printed_again_further_down_is_not_the_declaration() -> None:
    older = STRUCT.replace("Axis", "Dimension")
    page = parsed(f"{WHOLE}Remarks\nIt was once declared so:\n{older}\n")
    assert [declaration.name for declaration in page.declarations] == ["InputTensor", "OutputTensor", "Axis"]
    assert [member.name.text for member in page.members] == ["InputTensor", "OutputTensor", "Axis"]


def test_a_structure_that_is_cut_off_after_its_brace() -> None:
    page = parsed(f"{TITLE}\nSyntax\nstruct DML_X_OPERATOR_DESC\n{{\nMembers\n{FIELDS}\n")
    assert [block.text for block in page.code_blocks] == ["struct DML_X_OPERATOR_DESC\n{"]
    assert len(page.members) == 3


def test_fields_that_follow_the_structure_at_once() -> None:
    page = parsed(f"{TITLE}\n{STRUCT}\n{FIELDS}\n")
    assert [(member.name.text, member.type) for member in page.members] == [
        ("InputTensor", "const DML_TENSOR_DESC *"),
        ("OutputTensor", "const DML_TENSOR_DESC *"),
        ("Axis", "UINT"),
    ]


def test_a_declared_field_without_a_type_line() -> None:
    page = parsed(WHOLE.replace("Type: UINT\n", ""))
    assert [(member.name.text, member.type) for member in page.members] == [
        ("InputTensor", "const DML_TENSOR_DESC *"),
        ("OutputTensor", "const DML_TENSOR_DESC *"),
        ("Axis", None),
    ]
    assert [text.text for text in page.members[-1].text] == ["Along which dimension."]


@pytest.mark.parametrize("start", ["", f"{TITLE}\n"], ids=["cut", "whole"])
def test_a_name_that_comes_again_does_not_start_its_field_anew(start: str) -> None:
    page = parsed(f"{start}struct DML_X_OPERATOR_DESC {{ UINT Axis; }};\nMembers\nAxis\nType: UINT\nWords.\nAxis")
    assert [member.name.text for member in page.members] == ["Axis"]
    assert [text.text for text in page.members[0].text] == ["Words.", "Axis"]


def test_a_page_without_fields_has_no_section_on_them() -> None:
    page = parsed(f"Documentation\n{TITLE}\nWhat it does.\n")
    assert outline(page) == [
        ("other", "sentence", "Documentation"),
        ("title", "heading", TITLE),
        ("description", "sentence", "What it does."),
    ]


def test_a_line_with_bars_above_the_title_is_no_table() -> None:
    """Not even above a title that could be a row, as it ends in a data type."""
    found = outline(parsed(f"Learn | Windows | DirectML\n{TITLE} for FLOAT32\nWhat it does.\n"))
    assert found[:2] == [
        ("other", "sentence", "Learn | Windows | DirectML"),
        ("title", "heading", f"{TITLE} for FLOAT32"),
    ]


# A page that begins or ends in the middle


@pytest.mark.parametrize("lead", ["", "\n"], ids=["first line", "second line"])
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Axis\nType: UINT\nWords.\n", ("other", "sentence", "Axis")),
        ("InputTensor Input 4 FLOAT32\n", ("other", "cell", "InputTensor")),
        ("x = {1}\n\nWords.\n", ("other", "other", "x = {1}")),
        ("// a list\nx = {1}\n\nWords.\n", ("other", "other", "// a list\nx = {1}")),
    ],
    ids=["field", "row", "code", "comment"],
)
def test_a_page_whose_start_is_lost(text: str, first: tuple[str, str, str], lead: str) -> None:
    assert outline(parsed(f"{lead}{text}\n{TITLE}\n"))[0] == first


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_page_that_ends_with_the_row_of_a_table(end: str) -> None:
    (table,) = parsed(f"{WHOLE}{SUPPORT}InputTensor Input 4 FLOAT32\nOutputTensor Output 4 FLOAT32{end}").tables
    assert [row.tensor for row in table.rows] == ["InputTensor", "OutputTensor"]


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_page_that_ends_with_code(end: str) -> None:
    assert after_members(f"Remarks\nx = {{1}}{end}") == [
        ("remarks", "heading", "Remarks"),
        ("remarks", "other", "x = {1}"),
    ]


def test_a_line_at_the_end_of_a_page_is_a_heading_of_nothing() -> None:
    text = f"Read in English\n{WHOLE}{SUPPORT}InputTensor Input 4 FLOAT32\n\nTop of page"
    assert outline(parsed(text))[-1] == ("support", "sentence", "Top of page")


# Tables

ROW = "InputTensor Input 4 FLOAT32"
CELLS = ["InputTensor", "Input", "4", "FLOAT32"]
LEVEL = "DML_FEATURE_LEVEL_2_1 and above"


@pytest.mark.parametrize(
    ("text", "before", "cells"),
    [
        (f"{ROW}\n", [], CELLS),
        (f"Tensor Kind Supported data types\n{ROW}\n", [], ["Tensor", "Kind", "Supported data types", *CELLS]),
        (f"Kind Type\n{ROW}\n", [], ["Kind", "Type", *CELLS]),
        (f"A | B | C\n{ROW}\n", [], ["A", "B", "C", *CELLS]),
        ("A | B | C\n---|---|---\nX | Input | INT8\n", [], ["A", "B", "C", "X", "Input", "INT8"]),
        (f"Some words\n{ROW}\n", [("heading", "Some words")], CELLS),
        (f"Some words.\n{ROW}\n", [("sentence", "Some words.")], CELLS),
        (f"Tensor\n{ROW}\n", [("heading", "Tensor")], CELLS),
        (f"Some | words\n{ROW}\n", [("sentence", "Some | words")], CELLS),
        (f"A | B | C\n\n\n{ROW}\n", [("sentence", "A | B | C")], CELLS),
    ],
)
def test_where_a_table_of_no_level_starts(text: str, before: list[tuple[str, str]], cells: list[str]) -> None:
    """With a row, or with two headers or more which it follows at once or after the line that separates them."""
    found = after_members(SUPPORT + text)
    assert {section for section, _, _ in found} == {"support"}
    assert [item[1:] for item in found] == [("heading", "Tensor support"), *before, *(("cell", text) for text in cells)]


BARRED = "InputTensor | Input | 4 | FLOAT32"


@pytest.mark.parametrize("rows", [f"{BARRED}\n", f"Tensor Kind\n{BARRED}\n"], ids=["no header", "header"])
def test_a_table_with_bars_ends_where_they_do(rows: str) -> None:
    found = after_members(f"{SUPPORT}{rows}It needs Windows 10.\n")
    assert found[-2:] == [("support", "cell", "FLOAT32"), ("support", "sentence", "It needs Windows 10.")]


def test_a_row_that_lost_its_bars() -> None:
    tables = parsed(f"{WHOLE}{SUPPORT}{BARRED}\nOutputTensor Output 4 INT8\n").tables
    rows = [(row.tensor, row.kind, row.data_types) for table in tables for row in table.rows]
    assert rows == [("InputTensor", "Input", ("FLOAT32",)), ("OutputTensor", "Output", ("INT8",))]


def test_the_heading_of_the_next_level_ends_a_table() -> None:
    page = parsed(f"{WHOLE}{SUPPORT}DML_FEATURE_LEVEL_3_0 and above\n{ROW}\n{LEVEL} (Windows 10)\n{ROW}\n")
    assert [(table.level, len(table.rows)) for table in page.tables] == [("3_0", 1), ("2_1", 1)]


@pytest.mark.parametrize(
    "line",
    [
        "This table holds for every device that has DML_FEATURE_LEVEL_2_1 and for all the later levels it may have",
        "These hold from DML_FEATURE_LEVEL_2_1 on.",
        "InputTensor (since DML_FEATURE_LEVEL_2_1) Input 4 FLOAT16",
    ],
    ids=["too long", "sentence", "row"],
)
def test_a_line_that_names_a_level_and_is_no_heading_of_a_table(line: str) -> None:
    (table,) = parsed(f"{WHOLE}{SUPPORT}{line}\n{ROW}\n").tables
    assert (table.level, table.heading.text) == (None, "Tensor support")
    assert table.rows[-1].tensor == "InputTensor"


def test_a_line_that_names_a_level_far_above_a_table_is_no_heading_of_it() -> None:
    text = f"Availability\nIntroduced in DML_FEATURE_LEVEL_2_1\n{SUPPORT}Tensor Kind Supported data types\n{ROW}\n"
    page = parsed(WHOLE + text)
    assert page.introduced_in == "2_1"
    assert [(table.level, table.heading.text) for table in page.tables] == [(None, "Tensor support")]


def test_of_two_lines_that_name_a_level_the_one_above_the_table_is_its_heading() -> None:
    found = after_members(f"Tensor constraints\n• Negative ones from DML_FEATURE_LEVEL_3_0 on\n{LEVEL}\n{ROW}\n")
    assert found[:3] == [
        ("constraints", "heading", "Tensor constraints"),
        ("constraints", "item", "Negative ones from DML_FEATURE_LEVEL_3_0 on"),
        ("support/2_1", "heading", LEVEL),
    ]


def test_there_are_no_constraints_before_the_availability() -> None:
    """A line whose words are unknown can be the heading of the constraints only where the availability came first."""
    text = f"{TITLE}\nWhat it does.\nNotes here\nMore words\n{SUPPORT}{LEVEL}\n{ROW}\n\nAvailability"
    found = outline(parsed(text))
    assert ("description", "sentence", "Notes here More words") in found
    assert parsed(text).constraints == ()


# Code


@pytest.mark.parametrize(
    ("text", "code", "prose"),
    [
        ("x = {\n    {a[0], b[1]},\n    c[2]\n}\nMore words.", "x = {\n    {a[0], b[1]},\n    c[2]\n}", "More words."),
        ("x = {1}}\nNote 2", "x = {1}}", "Note 2"),
        ("x = {1}\nMore words.", "x = {1}", "More words."),
        ("x = {1}\nx = {2}\ny = {3}", "x = {1}\nx = {2}\ny = {3}", None),
        ("x: 2", None, "x: 2"),
    ],
    ids=["nested", "a bracket too many", "one line", "a name again", "a number"],
)
def test_code_in_the_text_on_a_field(text: str, code: str | None, prose: str | None) -> None:
    page = parsed(WHOLE + text)
    member = page.members[-1]
    assert [block.text for block in page.code_blocks[1:]] == ([] if code is None else [code])
    assert [quoted.text for quoted in member.text] == ["Along which dimension.", *([] if prose is None else [prose])]


def call(axis: int, size: int) -> str:
    return f"Axis: {axis}\nInputTensor: (Sizes:{{{size}}})\nOutputTensor: (Sizes:{{{size}}})\n"


def values(page: Page) -> list[tuple[int, dict[str, object], list[object]]]:
    return [
        (
            example.number,
            {name: value.value for name, value in example.attributes.items()},
            [tensor.sizes and tensor.sizes.value for tensor in example.tensors],
        )
        for example in page.examples
    ]


def test_calls_without_a_line_between_them() -> None:
    page = parsed(f"{WHOLE}Examples\n{call(0, 5)}{call(1, 6)}{call(2, 7)}")
    assert values(page) == [
        (1, {"Axis": 0}, [[5], [5]]),
        (2, {"Axis": 1}, [[6], [6]]),
        (3, {"Axis": 2}, [[7], [7]]),
    ]


def test_attributes_after_the_tensors_of_a_call() -> None:
    code = "InputTensor: (Sizes:{5})\nAxis: 0\nOutputTensor: (Sizes:{5})\nMode: 1\n"
    page = parsed(f"{WHOLE}Examples\n{code}")
    assert values(page) == [(1, {"Axis": 0, "Mode": 1}, [[5], [5]])]


def test_an_attribute_that_comes_twice_before_the_tensors_starts_no_call() -> None:
    page = parsed(f"{WHOLE}Examples\n{call(0, 5)}Axis: 1\n{call(2, 6)}")
    assert values(page) == [(1, {"Axis": 0}, [[5], [5]]), (2, {"Axis": 2}, [[6], [6]])]


def test_a_figure_in_the_text_on_a_field_is_no_example() -> None:
    figure = "With three rows\nInputTensor: (Sizes:{3})\n"
    page = parsed(WHOLE.replace("Axis\nType", f"{figure}Axis\nType"))
    assert values(page) == [(0, {}, [[3]])]
    assert [text.text for text in page.members[1].text] == ["What is written.", "With three rows"]


# What is too long


def test_the_longest_line_that_is_read_whole() -> None:
    """The limit is the one that the message states."""
    (problem,) = parsed(WHOLE + "x" * 100_000).problems
    match = re.search(r"more than (\d+) characters", problem.what)
    assert match is not None
    longest = int(match.group(1))
    whole = parsed(WHOLE + "x" * longest)
    assert whole.problems == ()
    assert whole.members[-1].text[-1].text == "x" * longest
    longer = parsed(WHOLE + "x" * (longest + 1))
    assert [problem.id for problem in longer.problems] == ["text-too-long"]
    assert longer.members[-1].text == whole.members[-1].text


def test_a_structure_that_does_not_end_does_not_take_the_whole_page() -> None:
    lines = "\n".join(f"UINT Field{n};" for n in range(1_000))
    page = parsed(f"{TITLE}\nstruct DML_X_OPERATOR_DESC {{\n{lines}\n")
    assert 100 <= len(page.declarations) < 1_000


def test_a_long_line_that_ends_in_a_data_type_is_no_row() -> None:
    line = "The elements of the tensor that is read and of the one that is written are all of the same type, FLOAT32"
    assert after_members(f"{SUPPORT}{line}\nin any case.\n") == [
        ("support", "heading", "Tensor support"),
        ("support", "sentence", f"{line} in any case."),
    ]
