"""Pages in plain text: what is a heading and what is prose, and the items, code and rows within the sections."""

from __future__ import annotations

import pytest
from pages_support import STRUCT, at, parsed

from dml_conformance.documents.read.model import LevelTable
from dml_conformance.documents.read.pieces import Code, Heading
from dml_conformance.documents.read.plain import read_plain
from dml_conformance.documents.read.source import PageText

TITLE = "DML_X_OPERATOR_DESC structure"
FIELD = "Axis\nType: UINT\nThe axis."
EXAMPLE = "Axis: 1\nInputTensor: (Sizes:{3}, DataType:FLOAT32)\n[7, 8, 9]"
SINCE = "It is there since DML_FEATURE_LEVEL_1_0."
LEVEL = "DML_FEATURE_LEVEL_2_0 and above"
HEADER = "Tensor Kind Supported dimension counts Supported data types"
ROW = "InputTensor Input 1 to 8 FLOAT32, FLOAT16"
TABLE = f"{LEVEL}\n{HEADER}\n{ROW}"


def headings(*parts: str) -> list[tuple[str, str]]:
    """The headings of a page put together from these parts: the section of each, and its text."""
    page = parsed("\n".join(parts))
    return [(passage.section, passage.quoted.text) for passage in page.passages if passage.role == "heading"]


def guessed(*parts: str) -> list[tuple[str, str]]:
    """Those headings whose words are in no table: all such words here start with `Qaybta`."""
    return [(section, text) for section, text in headings(*parts) if text.startswith("Qaybta")]


def sentences(*parts: str, role: str = "sentence") -> list[str]:
    page = parsed("\n".join(parts))
    return [passage.quoted.text for passage in page.passages if passage.role == role]


# Headings


def test_headings_are_known_by_their_words_wherever_they_stand() -> None:
    page = parsed("\n".join((TITLE, "Remarks\nA remark.", STRUCT, "See also\nA page.", f"Fields\n{FIELD}", TABLE)))
    assert [remark.text for remark in page.remarks] == ["A remark."]
    assert [(p.section, p.quoted.text) for p in page.passages if p.role == "heading"] == [
        ("title", TITLE),
        ("remarks", "Remarks"),
        ("other", "See also"),
        ("members", "Fields"),
        ("members/Axis", "Axis"),
        ("support/2_0", LEVEL),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "A sentence stands here.",
        "• Qaybta of a list",
        "Qaybta | of | cells",
        "1.2 / 3",
        "Qaybta " + "that goes on and on " * 10,
    ],
    ids=["sentence", "item", "cells", "no-letter", "long"],
)
def test_what_stands_above_the_structure_is_no_heading_where_it_does_not_look_like_one(line: str) -> None:
    assert headings(TITLE, line, STRUCT) == [("title", TITLE)]


def test_what_stands_above_the_structure_is_its_heading_where_it_looks_like_one() -> None:
    assert headings(TITLE, "Qaybta", STRUCT) == [("title", TITLE), ("syntax", "Qaybta")]


@pytest.mark.parametrize("before", [(), ("",)], ids=["first-line", "second-line"])
def test_a_page_can_start_with_the_heading_of_its_structure(before: tuple[str, ...]) -> None:
    assert guessed(*before, "Qaybta", STRUCT) == [("syntax", "Qaybta")]


def test_a_page_can_start_with_the_heading_of_its_members() -> None:
    assert guessed("Qaybta", FIELD, TITLE) == [("members", "Qaybta")]


@pytest.mark.parametrize("end", ["A sentence that\ngoes on.", "A last sentence that\n\ngoes on."])
def test_without_a_structure_nothing_is_its_heading(end: str) -> None:
    assert headings(TITLE, FIELD, end) == [("title", TITLE), ("members/Axis", "Axis")]


# Examples


def test_a_figure_in_the_text_of_a_field_is_not_the_first_example() -> None:
    figure = f"OutputTensor\nType: const DML_TENSOR_DESC*\nIn short\n{EXAMPLE}"
    page = parsed("\n".join((TITLE, STRUCT, figure, FIELD, "Qaybta", f"Example 3. Short\n{EXAMPLE}")))
    assert [(p.section, p.quoted.text) for p in page.passages if p.role == "heading"] == [
        ("title", TITLE),
        ("members/OutputTensor", "OutputTensor"),
        ("members/Axis", "Axis"),
        ("examples", "Qaybta"),
        ("examples", "Example 3. Short"),
    ]
    assert [text.text for text in page.members[0].text] == ["In short"]
    assert [example.number for example in page.examples] == [0, 3]


def test_a_formula_in_the_text_of_the_last_field_is_no_example() -> None:
    page = parsed("\n".join((TITLE, STRUCT, FIELD, "As it is computed", "size = 2 * Axis", "Qaybta", EXAMPLE)))
    assert [text.text for text in page.members[0].text] == ["The axis.", "As it is computed"]
    assert [(block.section, block.role) for block in page.code_blocks[1:]] == [
        ("members/Axis", "formula"),
        ("examples", "example"),
    ]


def test_a_sentence_above_an_example_is_not_its_title() -> None:
    # Without a heading the example belongs to the field whose text it stands in.
    assert headings(TITLE, STRUCT, FIELD, EXAMPLE) == [("title", TITLE), ("members/Axis", "Axis")]
    assert headings(TITLE, STRUCT, FIELD, "Examples", "The first one follows.", EXAMPLE)[2:] == [
        ("examples", "Examples")
    ]


def test_a_page_can_start_with_an_example_or_a_table() -> None:
    page = parsed(f"{EXAMPLE}\n{TITLE}\n")
    assert [block.text for block in page.code_blocks] == [EXAMPLE]
    page = parsed(f"{ROW}\n{TITLE}\n")
    assert [passage.role for passage in page.passages] == ["cell"] * 4 + ["heading"]


def test_the_examples_of_a_page_without_members_start_at_the_only_heading_above() -> None:
    assert guessed(TITLE, STRUCT, "Qaybta", EXAMPLE) == [("examples", "Qaybta")]


def test_a_title_that_has_no_number_is_one_of_an_example_where_the_examples_have_a_heading() -> None:
    page = parsed("\n".join((TITLE, STRUCT, FIELD, "Examples", "Qaybta", EXAMPLE)))
    assert [example.title and example.title.text for example in page.examples] == ["Qaybta"]


def test_levels_of_headings() -> None:
    text = "\n".join((TITLE, "Syntax", STRUCT, FIELD, "Examples", "Example 1. Short", EXAMPLE, "Tensor support", TABLE))
    found = [block for block in read_plain(PageText(text)).blocks if isinstance(block, Heading)]
    assert [(heading.level, heading.piece.text) for heading in found] == [
        (1, TITLE),
        (2, "Syntax"),
        (2, "Examples"),
        (3, "Example 1. Short"),
        (2, "Tensor support"),
        (3, LEVEL),
    ]


def test_a_call_that_follows_another_after_a_blank_line() -> None:
    second = EXAMPLE.replace("7, 8, 9", "1, 2, 3")
    text = "\n".join((TITLE, STRUCT, FIELD, "Examples", "", EXAMPLE, "", second, "", SINCE))
    lines = text.split("\n")
    blocks = [block for block in read_plain(PageText(text)).blocks if isinstance(block, Code)]
    assert [block.content.text for block in blocks] == [STRUCT, EXAMPLE, second]
    assert ["\n".join(lines[block.line - 1 : block.last_line]) for block in blocks] == [STRUCT, EXAMPLE, second]
    assert [at(text, example.place) for example in parsed(text).examples] == ["Axis: 1", "Axis: 1"]


# Availability, constraints, support and requirements, where their words are unknown


@pytest.mark.parametrize("gap", ["\n", "\n\n"], ids=["dense", "wide"])
def test_availability_is_the_heading_above_the_sentence_on_the_first_level(gap: str) -> None:
    parts = (TITLE, STRUCT, f"{FIELD}\nIt counts\nfrom 0 on.", f"Qaybta a{gap}{SINCE}")
    constraints = f"Qaybta b{gap}DML_FEATURE_LEVEL_1_0 has four dimensions alone."
    assert guessed(*parts, constraints, f"Qaybta c{gap}{TABLE}") == [
        ("availability", "Qaybta a"),
        ("constraints", "Qaybta b"),
        ("support", "Qaybta c"),
    ]


def test_a_page_without_members_has_availability_and_constraints_too() -> None:
    support = f"Qaybta c\n{TABLE}"
    assert guessed(TITLE, STRUCT, f"Qaybta a\n{SINCE}", "Qaybta b\nThe same types.", support) == [
        ("availability", "Qaybta a"),
        ("constraints", "Qaybta b"),
        ("support", "Qaybta c"),
    ]
    assert guessed(TITLE, STRUCT, f"Availability\n{SINCE}", "Qaybta b\nThe same types.", support) == [
        ("constraints", "Qaybta b"),
        ("support", "Qaybta c"),
    ]


def test_only_the_first_line_of_the_constraints_can_be_their_heading() -> None:
    constraints = "Qaybta b\nThe types are the same.\nQaybta of a sentence that\ngoes on."
    assert guessed(TITLE, STRUCT, FIELD, f"Availability\n{SINCE}", constraints, TABLE) == [("constraints", "Qaybta b")]


def test_constraints_come_after_availability() -> None:
    field = f"{FIELD}\nIt counts\nfrom 0 on.\nThen it stops."
    constraints = "Qaybta b\nThe types are the same."
    assert guessed(TITLE, STRUCT, field, f"Availability\n{SINCE}", constraints, TABLE) == [("constraints", "Qaybta b")]


@pytest.mark.parametrize("end", [f"Availability\n{SINCE}", "Availability"], ids=["whole", "cut-short"])
def test_availability_below_the_tables_tells_nothing_of_what_stands_above_them(end: str) -> None:
    prose = "A sentence.\nQaybta that goes on\nin a line."
    assert headings(TITLE, prose, f"Tensor support\n{TABLE}", f"Requirements\nA header.\n{end}") == [
        ("title", TITLE),
        ("support", "Tensor support"),
        ("support/2_0", LEVEL),
        ("requirements", "Requirements"),
        ("availability", "Availability"),
    ]


def test_availability_above_the_members_tells_nothing_of_what_stands_below_them() -> None:
    page = (TITLE, STRUCT, "Availability", FIELD, "Qaybta that goes on\nin a line.", "Tensor support", TABLE)
    assert guessed(*page) == []


def test_without_availability_no_heading_of_constraints_is_guessed() -> None:
    assert guessed(TITLE, STRUCT, FIELD, "Qaybta that goes on\nin a line.", TABLE) == []


def test_where_availability_is_known_by_its_word_no_other_line_is_taken_for_it() -> None:
    field = "Axis\nType: UINT\nThe axis.\nQaybta of a sentence since\nDML_FEATURE_LEVEL_2_0 it can be 0."
    constraints = "Tensor constraints\nThe types are the same."
    assert guessed(TITLE, STRUCT, field, f"Availability\n{SINCE}", constraints, TABLE) == []


def test_a_last_line_on_a_level_is_not_availability_in_a_page_without_structure_and_members() -> None:
    end = "Requirements\nA header.\nQaybta that goes on since\nDML_FEATURE_LEVEL_1_0 for all."
    assert guessed(TITLE, "A sentence.", f"Tensor support\n{TABLE}", end) == []


def test_the_heading_of_support_stands_above_the_first_table() -> None:
    assert guessed(TITLE, STRUCT, FIELD, "Qaybta b\nA sentence.", f"Qaybta c\n{TABLE}") == [("support", "Qaybta c")]
    # A table of no level.
    page = (TITLE, STRUCT, FIELD, f"Availability\n{SINCE}\nQaybta of a\nQaybta c\n{HEADER}\n{ROW}")
    assert guessed(*page) == [("support", "Qaybta c")]


def test_a_table_above_the_members_has_no_heading_of_support() -> None:
    assert guessed(TITLE, "Qaybta that goes on", f"{HEADER}\n{ROW}", STRUCT, FIELD) == []


def test_requirements_start_below_the_last_table() -> None:
    page = (TITLE, STRUCT, FIELD, f"Tensor support\n{TABLE}")
    assert guessed(*page, "Qaybta d\nA header.") == [("requirements", "Qaybta d")]
    assert guessed(*page, "Qaybta d") == []
    assert guessed(*page, "A sentence.\nQaybta d\nA header.") == []


def test_requirements_that_are_known_by_their_word_can_stand_above_the_tables() -> None:
    assert guessed(TITLE, "Requirements\nA header.", STRUCT, FIELD, TABLE, "Qaybta d\nA header.") == []
    known = ("Requirements\nA header.", f"Tensor support\n{TABLE}")
    assert headings(TITLE, STRUCT, FIELD, *known)[-1] == ("support/2_0", LEVEL)
    assert sentences(TITLE, STRUCT, FIELD, *known, "A sentence.\nAnother one.")[-2:] == ["A sentence.", "Another one."]


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


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_every_line_is_read_once_whether_or_not_the_last_one_ends(end: str) -> None:
    page = parsed(f"{TITLE}\nA sentence.{end}")
    assert [passage.quoted.text for passage in page.passages] == [TITLE, "A sentence."]


# Tables


def table(*lines: str) -> LevelTable:
    (found,) = parsed("\n".join((TITLE, STRUCT, FIELD, "Tensor support", LEVEL, *lines))).tables
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
    found = table(lead + line, ROW)
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
    ],
)
def test_where_the_counts_end_in_a_row_whose_types_are_no_names_of_types(
    counts: str, types: str, read: tuple[int, ...] | None
) -> None:
    found = table(HEADER, ROW, f"OutputTensor Output {counts} {types}").rows[-1]
    assert [cell.text for cell in found.cells] == ["OutputTensor", "Output", counts, types]
    assert found.dimension_counts == read


def test_numbers_glued_to_a_word_are_the_counts_to_the_end_of_the_row() -> None:
    page = parsed("\n".join((TITLE, LEVEL, HEADER, ROW, "OutputTensor Output 4D Gleitkomma")))
    assert [cell.text for cell in page.tables[0].rows[-1].cells] == ["OutputTensor", "Output", "4D Gleitkomma"]
    assert [problem.id for problem in page.problems] == ["unreadable-dimension-counts"]


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


def test_a_table_of_no_level_can_have_its_types_in_the_middle() -> None:
    header = "Tensor | Supported data types | Supported dimension counts"
    (found,) = parsed(f"{TITLE}\n{STRUCT}\n{FIELD}\nTensor support\n{header}\nA | FLOAT32, FLOAT16 | 4\n").tables
    assert found.columns == ("tensor", "data_types", "dimension_counts")
    assert [(row.data_types, row.dimension_counts) for row in found.rows] == [(("FLOAT32", "FLOAT16"), (4,))]


@pytest.mark.parametrize(
    "sentence",
    [
        "FLOAT32, FLOAT16",
        "One of these: FLOAT32 | FLOAT16",
        "It holds FLOAT32 or FLOAT16",
        "It holds FLOAT32, a real number",
        "It holds " + "what no name of a tensor would be long enough for, " * 3 + "FLOAT32",
    ],
    ids=["starts-with-them", "after-a-colon", "other-words-between", "other-words-after", "long"],
)
def test_prose_that_names_data_types_is_no_row(sentence: str) -> None:
    assert sentences(TITLE, STRUCT, "Axis\nType: UINT", sentence, role="cell") == []
    assert sentences(TITLE, STRUCT, "Axis\nType: UINT", sentence)[-1] == sentence


@pytest.mark.parametrize("sentence", ["It must be UINT32.", "Both take FLOAT32, FLOAT16.", "Принимает INT8."])
def test_a_sentence_that_ends_in_data_types_is_no_row(sentence: str) -> None:
    page = parsed("\n".join((TITLE, "Syntax", STRUCT, "Members", "Axis", "Type: UINT", sentence)))
    assert page.tables == ()
    assert [text.text for text in page.members[0].text] == [sentence]
