"""Pages in plain text: which part of the page each line is, also with parts lost or glued together."""

from __future__ import annotations

import re

import pytest
from pages_support import STRUCT, at, parsed

from dml_conformance.documents.read.blocks import Code, Heading
from dml_conformance.documents.read.model import LevelTable, Page
from dml_conformance.documents.read.plain import read_plain
from dml_conformance.documents.read.source import PageText

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


SHORT = "struct DML_X_OPERATOR_DESC { UINT Axis; };\nMembers\nAxis\nType: UINT\nWords.\nAxis"
THREE = [("InputTensor", "const DML_TENSOR_DESC *"), ("OutputTensor", "const DML_TENSOR_DESC *"), ("Axis", "UINT")]


@pytest.mark.parametrize(
    ("text", "members", "last"),
    [
        # A structure that is printed again further down is not the declaration.
        (f"{WHOLE}Remarks\nIt was so:\n{STRUCT.replace('Axis', 'Dimension')}\n", THREE, ["Along which dimension."]),
        # One that is cut off after its brace, and one that lost its end.
        (f"{TITLE}\nstruct DML_X_OPERATOR_DESC\n{{\nMembers\n{FIELDS}\n", THREE, ["Along which dimension."]),
        (f"{TITLE}\n\n{STRUCT.removesuffix('};')}\n\n{FIELDS}\n", THREE, ["Along which dimension."]),
        # A declared field without a type line.
        (WHOLE.replace("Type: UINT\n", ""), [*THREE[:2], ("Axis", None)], ["Along which dimension."]),
        # A name that comes again does not start its field anew.
        (SHORT, THREE[2:], ["Words.", "Axis"]),
        (f"{TITLE}\n{SHORT}", THREE[2:], ["Words.", "Axis"]),
    ],
)
def test_fields_and_the_text_on_the_last(text: str, members: list[tuple[str, str | None]], last: list[str]) -> None:
    page = parsed(text)
    assert [(member.name.text, member.type) for member in page.members] == members
    assert [quoted.text for quoted in page.members[-1].text] == last
    assert [declaration.name for declaration in page.declarations][-1:] in ([], ["Axis"])


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
def test_a_page_that_ends_with_the_row_of_a_table_or_with_code(end: str) -> None:
    assert after_members(f"Remarks\nx = {{1}}{end}")[-1] == ("remarks", "other", "x = {1}")
    (table,) = parsed(f"{WHOLE}{SUPPORT}InputTensor Input 4 FLOAT32\nOutputTensor Output 4 FLOAT32{end}").tables
    assert [row.tensor for row in table.rows] == ["InputTensor", "OutputTensor"]


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A row that lost its bars.
        (f"{BARRED}\nOutputTensor Output 4 INT8\n", [(None, ["InputTensor"]), (None, ["OutputTensor"])]),
        # The heading of the next level ends a table.
        (
            f"DML_FEATURE_LEVEL_3_0 and above\n{ROW}\n{LEVEL} (Windows 10)\n{ROW}\n",
            [("3_0", ["InputTensor"]), ("2_1", ["InputTensor"])],
        ),
    ],
)
def test_where_tables_end(text: str, expected: list[tuple[str | None, list[str]]]) -> None:
    tables = parsed(f"{WHOLE}{SUPPORT}{text}").tables
    assert [(table.level, [row.tensor for row in table.rows]) for table in tables] == expected


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


def test_of_lines_that_name_a_level_the_one_above_the_table_is_its_heading() -> None:
    text = f"Availability\nIntroduced in DML_FEATURE_LEVEL_2_1\n{SUPPORT}Tensor Kind Supported data types\n{ROW}\n"
    page = parsed(WHOLE + text)
    assert page.introduced_in == "2_1"
    assert [(table.level, table.heading.text) for table in page.tables] == [(None, "Tensor support")]
    found = after_members(f"Tensor constraints\n• Negative ones from DML_FEATURE_LEVEL_3_0 on\n{LEVEL}\n{ROW}\n")
    assert found[1:3] == [
        ("constraints", "item", "Negative ones from DML_FEATURE_LEVEL_3_0 on"),
        ("support/2_1", "heading", LEVEL),
    ]


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


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # Calls without a line between them.
        (
            f"{call(0, 5)}{call(1, 6)}{call(2, 7)}",
            [(1, {"Axis": 0}, [[5], [5]]), (2, {"Axis": 1}, [[6], [6]]), (3, {"Axis": 2}, [[7], [7]])],
        ),
        # Attributes after the tensors.
        (
            "InputTensor: (Sizes:{5})\nAxis: 0\nOutputTensor: (Sizes:{5})\nMode: 1\n",
            [(1, {"Axis": 0, "Mode": 1}, [[5], [5]])],
        ),
        # A data type as the value of an attribute.
        (
            "Example 1\nValueDataType: FLOAT32\nInputTensor: (Sizes:{5})\n",
            [(1, {"ValueDataType": "FLOAT32"}, [[5]])],
        ),
        # An attribute that comes twice before the tensors starts no call.
        (
            f"{call(0, 5)}Axis: 1\n{call(2, 6)}",
            [(1, {"Axis": 0}, [[5], [5]]), (2, {"Axis": 2}, [[6], [6]])],
        ),
    ],
)
def test_where_calls_start_and_end(code: str, expected: list[tuple[int, dict[str, object], list[object]]]) -> None:
    assert values(parsed(f"{WHOLE}Examples\n{code}")) == expected


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


# --- Pages in plain text: what is a heading and what is prose, and the items, code and rows within the sections

FIELD = "Axis\nType: UINT\nThe axis."
EXAMPLE = "Axis: 1\nInputTensor: (Sizes:{3}, DataType:FLOAT32)\n[7, 8, 9]"
SINCE = "It is there since DML_FEATURE_LEVEL_1_0."
LEVEL_2_0 = "DML_FEATURE_LEVEL_2_0 and above"
HEADER = "Tensor Kind Supported dimension counts Supported data types"
INPUT_ROW = "InputTensor Input 1 to 8 FLOAT32, FLOAT16"
TABLE = f"{LEVEL_2_0}\n{HEADER}\n{INPUT_ROW}"


def headings(*parts: str) -> list[tuple[str, str]]:
    """The headings of a page put together from these parts, but for the title: the section of each, and its text."""
    page = parsed("\n".join(parts))
    found = [(passage.section, passage.quoted.text) for passage in page.passages if passage.role == "heading"]
    return [heading for heading in found if heading != ("title", TITLE)]


# Headings


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # They are known by their words wherever they stand.
        (
            (TITLE, "Remarks\nA remark.", STRUCT, "See also\nA page.", f"Fields\n{FIELD}", TABLE),
            [
                "remarks Remarks",
                "other See also",
                "members Fields",
                "members/Axis Axis",
                f"support/2_0 {LEVEL_2_0}",
            ],
        ),
        # What stands above the structure is none where it does not look like one.
        ((TITLE, "A sentence stands here.", STRUCT), []),
        ((TITLE, "• Qaybta of a list", STRUCT), []),
        ((TITLE, "Qaybta | of | cells", STRUCT), []),
        ((TITLE, "1.2 / 3", STRUCT), []),
        ((TITLE, "Qaybta " + "that goes on and on " * 10, STRUCT), []),
        # Without a structure nothing is its heading.
        ((TITLE, FIELD, "A sentence that\ngoes on."), ["members/Axis Axis"]),
        ((TITLE, FIELD, "A last sentence that\n\ngoes on."), ["members/Axis Axis"]),
        # A line above a figure in the text of a field, a title of an example, and a sentence above one.
        (
            (
                TITLE,
                STRUCT,
                f"OutputTensor\nType: UINT\nIn short\n{EXAMPLE}",
                FIELD,
                "Qaybta",
                f"Example 3. A\n{EXAMPLE}",
            ),
            ["members/OutputTensor OutputTensor", "members/Axis Axis", "examples Qaybta", "examples Example 3. A"],
        ),
        ((TITLE, STRUCT, FIELD, EXAMPLE), ["members/Axis Axis"]),
        ((TITLE, STRUCT, FIELD, "Examples", "It follows.", EXAMPLE), ["members/Axis Axis", "examples Examples"]),
    ],
)
def test_what_is_a_heading(parts: tuple[str, ...], expected: list[str]) -> None:
    assert [f"{section} {text}" for section, text in headings(*parts)] == expected


# Examples


def test_a_formula_in_the_text_of_the_last_field_is_no_example() -> None:
    page = parsed("\n".join((TITLE, STRUCT, FIELD, "As it is computed", "size = 2 * Axis", "Qaybta", EXAMPLE)))
    assert [text.text for text in page.members[0].text] == ["The axis.", "As it is computed"]
    assert [(block.section, block.role) for block in page.code_blocks[1:]] == [
        ("members/Axis", "formula"),
        ("examples", "example"),
    ]


def test_levels_of_headings() -> None:
    text = "\n".join((TITLE, "Syntax", STRUCT, FIELD, "Examples", "Example 1. Short", EXAMPLE, "Tensor support", TABLE))
    found = [block for block in read_plain(PageText(text)).blocks if isinstance(block, Heading)]
    assert [(heading.level, heading.piece.text) for heading in found] == [
        (1, TITLE),
        (2, "Syntax"),
        (2, "Examples"),
        (3, "Example 1. Short"),
        (2, "Tensor support"),
        (3, LEVEL_2_0),
    ]


def test_a_call_that_follows_another_after_a_blank_line() -> None:
    second = EXAMPLE.replace("7, 8, 9", "1, 2, 3")
    text = "\n".join((TITLE, STRUCT, FIELD, "Examples", "", EXAMPLE, "", second, "", SINCE))
    lines = text.split("\n")
    blocks = [block for block in read_plain(PageText(text)).blocks if isinstance(block, Code)]
    assert [block.content.text for block in blocks] == [STRUCT, EXAMPLE, second]
    assert ["\n".join(lines[block.line - 1 : block.last_line]) for block in blocks] == [STRUCT, EXAMPLE, second]
    assert [at(text, example.place) for example in parsed(text).examples] == ["Axis: 1", "Axis: 1"]


# Headings whose words are unknown


# The parts of a page, and in which sections its headings are whose words are in no table: those called `Qaybta`.
WHOLE_PAGE = (TITLE, STRUCT, FIELD)
GUESSED: dict[str, tuple[tuple[str, ...], str]] = {
    "above the structure": ((TITLE, "Qaybta", STRUCT), "syntax"),
    "a page that starts with the heading of its structure": (("Qaybta", STRUCT), "syntax"),
    "the same on the second line": (("", "Qaybta", STRUCT), "syntax"),
    "a page that starts with the heading of its members": (("Qaybta", FIELD, TITLE), "members"),
    "support stands above the first table": (
        (*WHOLE_PAGE, "Qaybta b\nA sentence.", f"Qaybta c\n{TABLE}"),
        "support c",
    ),
    "support above a table of no level": (
        (*WHOLE_PAGE, f"Availability\n{SINCE}\nQaybta of a\nQaybta c\n{HEADER}\n{INPUT_ROW}"),
        "support c",
    ),
    "no support above the members": ((TITLE, "Qaybta that goes on", f"{HEADER}\n{INPUT_ROW}", STRUCT, FIELD), ""),
    "no availability, constraints and requirements, whose words must be known": (
        (*WHOLE_PAGE, f"Qaybta a\n{SINCE}", "Qaybta b\nThe same.", "Tensor support", TABLE, "Qaybta d\nA header."),
        "",
    ),
}


@pytest.mark.parametrize(("parts", "expected"), GUESSED.values(), ids=GUESSED)
def test_headings_are_guessed_by_what_stands_around_them(parts: tuple[str, ...], expected: str) -> None:
    found = ((section, text) for section, text in headings(*parts) if text.startswith("Qaybta"))
    told = [f"{section} {text.removeprefix('Qaybta')}".strip() for section, text in found]
    assert [" ".join(each.split()) for each in told] == (expected.split(", ") if expected else [])


# Prose


@pytest.mark.parametrize("marker", ["•", "-", "*"])
def test_items_start_after_their_marker_and_go_on_in_the_next_line(marker: str) -> None:
    items = f"  {marker} The types\n  2 - 3 of them\n  {marker} The sizes\nA sentence."
    text = f"{TITLE}\n{STRUCT}\nTensor constraints\n{items}"
    page = parsed(text)
    assert [(p.role, p.quoted.text) for p in page.passages if p.section == "constraints"] == [
        ("heading", "Tensor constraints"),
        ("item", "The types 2 - 3 of them"),
        ("item", "The sizes A sentence."),
    ]
    assert [at(text, quoted.place).split()[1] for quoted in page.constraints] == ["types", "sizes"]


# Tables


def table(*lines: str) -> LevelTable:
    (found,) = parsed("\n".join((TITLE, STRUCT, FIELD, "Tensor support", LEVEL_2_0, *lines))).tables
    return found


KNOWN = ["Tensor", "Kind", "Supported dimension counts", "Supported data types"]


@pytest.mark.parametrize("lead", ["", "   "], ids=["", "indented"])
@pytest.mark.parametrize(
    ("line", "header"),
    [
        (HEADER, KNOWN),
        ("Kind  Supported data types", ["Kind", "Supported data types"]),
        ("Qaybta Nooca", ["Qaybta Nooca"]),
        ("Qaybta Nooca Tirada", ["Qaybta", "Nooca", "Tirada"]),
        ("Qaybta Nooca Tirada Xogta", ["Qaybta", "Nooca", "Tirada", "Xogta"]),
        ("Qaybta Nooca Tirada la taageeray", ["Qaybta Nooca Tirada la taageeray"]),
    ],
)
def test_headers_run_together_are_told_apart_by_their_words_or_as_one_word_each(
    lead: str, line: str, header: list[str]
) -> None:
    found = table(lead + line, INPUT_ROW)
    assert [cell.text for cell in found.header] == header
    assert [cell.place.column for cell in found.header] == [(lead + line).index(word) + 1 for word in header]
    assert [row.tensor for row in found.rows] == ["InputTensor"]


def test_a_row_that_lost_its_numbers_and_types_is_no_second_header() -> None:
    found = table("Tensor | Kind | Counts | Types", "InputTensor | Input | | |", "OutputTensor | Output | 4 | FLOAT32")
    assert [cell.text for cell in found.header] == ["Tensor", "Kind", "Counts", "Types"]
    assert [(row.tensor, row.data_types) for row in found.rows] == [
        ("InputTensor", None),
        ("OutputTensor", ("FLOAT32",)),
    ]


@pytest.mark.parametrize(
    ("counts", "types", "read"),
    [
        ("4", "Gleitkomma", (4,)),
        ("1 to 8", "Gleitkomma", (1, 2, 3, 4, 5, 6, 7, 8)),
        ("1, 2 and 4", "Gleitkomma", (1, 2, 4)),
        ("4", "Gleitkomma 16", (4,)),
        ("12345", "Gleitkomma 16", None),
        ("4D", "Gleitkomma", None),
    ],
)
def test_where_the_counts_end_in_a_row_whose_types_are_no_names_of_types(
    counts: str, types: str, read: tuple[int, ...] | None
) -> None:
    found = table(HEADER, INPUT_ROW, f"OutputTensor Output {counts} {types}").rows[-1]
    assert [cell.text for cell in found.cells] == ["OutputTensor", "Output", counts, types]
    assert found.dimension_counts == read


@pytest.mark.parametrize(
    ("line", "tensor", "types"),
    [
        ("A FLOAT32", "A", ("FLOAT32",)),
        ("A Input 4 FLOAT32, FLOAT16.", "A", ("FLOAT32", "FLOAT16")),
        ("A | Input | 4 | FLOAT32", "A", ("FLOAT32",)),
    ],
)
def test_a_row_of_a_table_of_no_level(line: str, tensor: str, types: tuple[str, ...] | None) -> None:
    (found,) = parsed(f"{TITLE}\n{STRUCT}\n{FIELD}\nTensor support\n{line}\n").tables
    assert [(row.tensor, row.data_types) for row in found.rows] == [(tensor, types)]


@pytest.mark.parametrize(
    "sentence",
    [
        "FLOAT32, FLOAT16",
        "One of these: FLOAT32 | FLOAT16",
        "It holds FLOAT32 or FLOAT16",
        "It holds FLOAT32, a real number",
        "It must be UINT32.",
        "Both take FLOAT32, FLOAT16.",
        "Принимает INT8.",
        "It holds " + "what no name of a tensor would be long enough for, " * 3 + "FLOAT32",
    ],
)
def test_prose_that_names_data_types_is_no_row(sentence: str) -> None:
    page = parsed(f"{TITLE}\n{STRUCT}\nAxis\nType: UINT\n{sentence}\n")
    assert page.tables == ()
    assert (page.passages[-1].role, page.passages[-1].quoted.text) == ("sentence", sentence)
