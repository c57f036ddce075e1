"""How the blocks of a page become its parts: sections, members, intervals, examples, tables, problems."""

from __future__ import annotations

import pytest
from pages_support import FRONT, STRUCT, at, beside, parsed

from dml_conformance.documents.read import PageError
from dml_conformance.documents.read.assemble import assemble
from dml_conformance.documents.read.blocks import Contents, Heading, Piece, shown
from dml_conformance.documents.read.model import Form, LevelTable, Page
from dml_conformance.documents.read.source import PageText

START = f"{FRONT}# DML_X_OPERATOR_DESC structure\n\nWords on it.\n\n"
MEMBERS = "## Members\n\n`Axis`\n\nType: UINT\n\nWords.\n\n"
REMARKS = "## Remarks\n\nA remark.\n\n"
EXAMPLES = "## Examples\n\nSome of them.\n\n"
CALL = "```\nAxis: 1\nInputTensor: (Sizes:{2}, DataType:FLOAT32)\n[1, 2]\n```\n\n"
SYNTAX = f"```\n{STRUCT}\n```\n\n"
TABLE = "| Tensor | Supported data types |\n|-|-|\n| InputTensor | INT8 |\n\n"
OTHER_TABLE = "| a | b |\n|-|-|\n| c | d |\n\n"
SUPPORT = f"## Tensor support\n\n### DML_FEATURE_LEVEL_1_0 and above\n\n{TABLE}"
AVAILABILITY = "## Availability\n\nSince `DML_FEATURE_LEVEL_1_0`.\n\n"
SINCE = "Since DML_FEATURE_LEVEL_2_0.\n\n"


def sections_of(page: Page, text: str) -> list[str]:
    """The sections of the passages with this text."""
    return [passage.section for passage in page.passages if passage.quoted.text == text]


# What kind of page it is


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: DML_X_OPERATOR_DESC\n---\n\n## Members\n",
        "---\nUID: NS:directml.DML_X_OPERATOR_DESC\n---\n\n## Members\n",
        "# DML_X_OPERATOR_DESC structure\n",
        f"## Syntax\n\n{SYNTAX}",
        "## What DML_Y_OPERATOR_DESC lacks\n\n# DML_X_OPERATOR_DESC structure\n",
    ],
    ids=["front matter's title", "front matter's UID", "title", "syntax block", "title after a lesser heading"],
)
def test_one_name_of_the_operator_is_enough(text: str) -> None:
    assert parsed(text).operator == "X"


def test_a_lesser_heading_is_no_title_to_refuse_a_page_by() -> None:
    with pytest.raises(PageError, match="it starts with “## Strides”"):
        parsed("## Strides\n\nWords.\n")


def test_a_page_that_declares_two_structures_is_on_the_first() -> None:
    older = STRUCT.replace("DML_X_", "DML_X0_").replace("Axis", "Direction")
    page = parsed(f"{START}## Syntax\n\n{SYNTAX}```\n{older}\n```\n")
    assert page.structure == "DML_X_OPERATOR_DESC"
    assert [declaration.name for declaration in page.declarations] == ["InputTensor", "OutputTensor", "Axis"]
    assert [block.role for block in page.code_blocks] == ["syntax", "syntax"]


@pytest.mark.parametrize(
    ("text", "section"),
    [
        (f"{FRONT}# Tile, an operator\n\nThese.\n", "description"),
        (f"{FRONT}These.\n\n{MEMBERS}", "description"),
        # In text what stands above the title is what the site puts there, unless the page has no title.
        ("These.\nDML_X_OPERATOR_DESC structure\nWords.\n", "other"),
        ("DML_X_OPERATOR_DESC structure\nThese.\n", "description"),
        (f"These.\n\nSyntax\n\n{STRUCT}\n", "description"),
        # A title that comes late ends the text on a field.
        (f"{FRONT}{MEMBERS}# DML_X_OPERATOR_DESC structure\n\nThese.\n", "description"),
        (f"{START}## Members\n\nThese.\n\n`Axis`\n\nType: UINT\n", "members"),
        (f"{START}## Members\n\n`Axis`\n\nType: UINT\n\nThese.\n", "members/Axis"),
    ],
)
def test_the_section_of_text_outside_of_any_other(text: str, section: str) -> None:
    assert sections_of(parsed(text), "These.") == [section]


def test_the_language_is_that_of_the_prose_not_of_the_tables() -> None:
    cells = "".join(f"| Tensor{number} | the Input of this | 1 to 8 | FLOAT32 and INT8 |\n" for number in range(9))
    text = f"""# DML_X_OPERATOR_DESC-Struktur

Der Wert ist die Achse, und das ist der Index des Tensors.

## Tensorunterstützung

| Tensor | Art | Unterstützte Dimensionsanzahl | Unterstützte Datentypen |
|-|-|-|-|
{cells}"""
    assert parsed(text).language == "de-DE"


def test_the_first_level_under_availability_is_that_of_the_introduction() -> None:
    page = parsed(f"{START}## Availability\n\nSince DML_FEATURE_LEVEL_2_0. More from DML_FEATURE_LEVEL_3_0 on.\n")
    assert page.introduced_in == "2_0"


# Sections


@pytest.mark.parametrize(
    ("before", "following", "section"),
    [
        # One paragraph that names one level, in a page whose members are known.
        (MEMBERS, SINCE, "availability"),
        (
            MEMBERS,
            f"{beside('Eray.', 'Words.')} {beside('Laga DML_FEATURE_LEVEL_2_0.', SINCE.strip())}",
            "availability",
        ),
        ("", SINCE, "other"),
        (MEMBERS + AVAILABILITY, SINCE, "other"),
        (MEMBERS, "Words.\n", "other"),
        (MEMBERS, "From DML_FEATURE_LEVEL_2_0 to DML_FEATURE_LEVEL_3_0.\n", "other"),
        (MEMBERS, f"{SINCE}Words.\n", "other"),
        # A list after the availability.
        (AVAILABILITY, "* Same sizes.\n", "constraints"),
        (REMARKS, "* Same sizes.\n", "other"),
        # A call after the members, or an example's title with code below it.
        (MEMBERS, CALL, "examples"),
        (MEMBERS, f"### Qeyb\n\n{CALL}", "examples"),
        (MEMBERS, "```\nB = A * A\n```\n", "other"),
        ("", CALL, "other"),
        ("", f"### Qeyb\n\n{CALL}", "other"),
        (MEMBERS, "### Qeyb\n\nWords.\n", "other"),
        (MEMBERS, f"### Qeyb\n\n{OTHER_TABLE}", "other"),
        (MEMBERS + SUPPORT, f"### Qeyb\n\n{CALL}", "other"),
        (MEMBERS, "### Qeyb\n", "other"),
        # The tables of levels.
        (REMARKS, TABLE, "support"),
        (REMARKS, f"### DML_FEATURE_LEVEL_2_0\n\n{TABLE}", "support"),
        (REMARKS, "### DML_FEATURE_LEVEL_2_0\n\nWords.\n", "other"),
        (REMARKS, OTHER_TABLE, "other"),
        # The structure and the fields.
        ("", SYNTAX, "syntax"),
        ("", "`Axis`\n\nWords.\n", "members"),
        (REMARKS, "", "other"),
    ],
)
@pytest.mark.parametrize("marks", ["#", "##"])
def test_a_heading_in_no_table_of_words_is_told_by_what_follows(
    marks: str, before: str, following: str, section: str
) -> None:
    page = parsed(f"{START}{before}{marks} Qaybta\n\n{following}")
    assert sections_of(page, "Qaybta") == [section]
    assert page.problems == ()


@pytest.mark.parametrize(
    ("before", "marks", "following", "section"),
    [
        (REMARKS, "###", "Words.\n", "remarks"),
        (MEMBERS, "###", "Words.\n", "members"),
        # Within the examples it is an example's title, whatever follows.
        (MEMBERS + EXAMPLES, "###", SINCE, "examples"),
        (MEMBERS + EXAMPLES, "####", SINCE, "examples"),
        (MEMBERS + EXAMPLES, "###", TABLE, "examples"),
        (MEMBERS + EXAMPLES, "#", TABLE, "support"),
        (MEMBERS + EXAMPLES, "##", TABLE, "support"),
        # After a level's table it belongs to all levels, unless it is of the page itself.
        (SUPPORT, "###", "Words.\n", "support"),
        (SUPPORT, "####", "Words.\n", "support"),
        (SUPPORT, "##", "Words.\n", "other"),
        (SUPPORT, "#", "Words.\n", "other"),
        # Elsewhere it starts a section where what follows says so.
        ("", "###", SYNTAX, "syntax"),
        (f"## Syntax\n\n{SYNTAX}", "###", "`Axis`\n\nWords.\n", "members"),
        (REMARKS, "###", TABLE, "support"),
    ],
)
def test_a_heading_in_no_table_of_words_within_a_section(before: str, marks: str, following: str, section: str) -> None:
    page = parsed(f"{START}{before}{marks} Qaybta\n\n{following}")
    assert sections_of(page, "Qaybta") == [section]


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        (beside("Qaybta", "Remarks"), "remarks"),
        (beside("Remarks", "Words"), "remarks"),
        ('<a name="remarks"></a>Qaybta', "remarks"),
        ('<a name="x"></a>' + beside("Qaybta", "Remarks"), "remarks"),
        ('<a name="x"></a>' + beside("Remarks", "Words"), "remarks"),
        ('<a name="x"></a>' + beside("Qaybta", "Words"), "other"),
    ],
)
def test_a_heading_is_told_by_its_anchor_its_original_or_its_words(heading: str, section: str) -> None:
    page = parsed(f"{START}## {heading}\n\nOne.\n")
    assert sections_of(page, "One.") == [section]
    assert [quoted.text for quoted in page.remarks] == ["One."] * (section == "remarks")


@pytest.mark.parametrize(
    "heading",
    [
        "DML_FEATURE_LEVEL_4_1 and above",
        "DML_FEATURE_LEVEL_4_1 (not DML_FEATURE_LEVEL_4_0)",
        '<a name="x"></a>' + beside("Heerka 4.1", "DML_FEATURE_LEVEL_4_1 and above"),
        '<a name="x"></a>' + beside("DML_FEATURE_LEVEL_4_1 ka", "Level 4.1 and above"),
        '<a name="dml_feature_level_4_1-and-above"></a>' + beside("Heerka 4.1", "Level 4.1 and above"),
    ],
)
def test_the_level_of_a_table_stands_in_its_heading_original_or_anchor(heading: str) -> None:
    page = parsed(f"{START}## Tensor support\n\n### {heading}\n\n{TABLE}")
    assert sections_of(page, "INT8") == ["support/4_1"]
    assert [table.level for table in page.tables] == ["4_1" if "DML_FEATURE_LEVEL" in heading else None]


# Members


@pytest.mark.parametrize(
    ("text", "members"),
    [
        *(
            (f"{START}{MEMBERS}## {section}\n\n`Mode`\n\nType: UINT\n", [("Axis", "UINT")])
            for section in ("availability", "tensor constraints", "examples", "remarks", "requirements", "see also")
        ),
        (f"{START}`Axis`\n\nIt is one of the fields.\n", []),
        # A name above its type is a field without the heading of all.
        (f"{START}## Syntax\n\n{SYNTAX}`Axis`\n\nType: UINT\n", [("Axis", "UINT")]),
        (f"{START}{SYNTAX}`Axis`\n\nType: UINT\n\n`Mode`\n", [("Axis", "UINT"), ("Mode", None)]),
        (f"{START}{SYNTAX}`Axis`\n", []),
    ],
)
def test_a_name_set_as_code_is_a_field_only_where_fields_are(text: str, members: list[tuple[str, str | None]]) -> None:
    assert [(member.name.text, member.type) for member in parsed(text).members] == members


@pytest.mark.parametrize(
    ("lines", "kind", "text"),
    [
        ("Type: UINT\n\nWords.", "UINT", ["Words."]),
        ("Words.\n\nType: UINT", None, ["Words.", "Type: UINT"]),
        ("Type: UINT\n\nType: FLOAT", "UINT", ["Type: FLOAT"]),
        (beside("Type: UINT", "Type: UINT") + beside("Eray.", "Words."), None, ["Type: UINT", "Eray."]),
    ],
    ids=["type first", "type after text", "two types", "type with text in one paragraph"],
)
def test_the_type_of_a_field_is_a_line_of_its_own_above_all_text(lines: str, kind: str | None, text: list[str]) -> None:
    (member,) = parsed(f"{START}## Members\n\n`Axis`\n\n{lines}\n").members
    assert member.type == kind
    assert (member.type_line is None) == (kind is None)
    assert [quoted.text for quoted in member.text] == text


# Code


@pytest.mark.parametrize(
    ("section", "code", "role"),
    [
        ("Description", "Axis = 1", "pseudocode"),
        ("Availability", "B = A * A", "other"),
        ("Tensor constraints", "B.Sizes = A.Sizes", "other"),
        ("Examples", "A * A == B", "other"),
        ("Examples", "Axis = 1", "example"),
        ("Members", "B.Sizes = A.Sizes", "formula"),
        ("Members", "B A", "other"),
        ("Remarks", "B = A * A", "other"),
        ("Remarks", "Axis = 1", "other"),
        ("Remarks", "A.Sizes = {1, 2}", "example"),
        ("Availability", "Axis = 1", "other"),
    ],
)
def test_what_a_block_of_code_is_depends_on_its_section(section: str, code: str, role: str) -> None:
    page = parsed(f"{START}## {section}\n\n```\n{code}\n```\n")
    assert [block.role for block in page.code_blocks] == [role]
    assert len(page.examples) == (role == "example")


def test_code_that_is_too_long_to_be_an_example_is_kept_and_its_start_named() -> None:
    more = "A: 1\n" * 15_000
    text = f"{START}## Examples\n\n```\nAxis: 1\n{more}```\n"
    page = parsed(text)
    (block,) = page.code_blocks
    (problem,) = page.problems
    assert block.role == "other"
    assert block.text == f"Axis: 1\n{more}".rstrip()
    assert page.examples == ()
    assert (problem.id, problem.place) == ("code-too-long", block.place)
    assert at(text, problem.place) == "Axis: 1"
    assert problem.fragment.startswith("Axis: 1\n")


def test_code_loses_the_indentation_that_all_its_lines_share() -> None:
    page = parsed(f"{START}```\n    for i:\n\n      x\n    y\n```\n\n```\n  \n   \n```\n")
    assert [block.text for block in page.code_blocks] == ["for i:\n\n  x\ny", "\n"]


# Examples


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # It is that of the next call only.
        (
            f"## Examples\n\n### Example 1. Rows\n\n{CALL}{CALL}### Example 5. Columns\n\n{CALL}",
            [(1, "Example 1. Rows"), (2, None), (5, "Example 5. Columns")],
        ),
        # The heading of all examples is the title of none.
        (f"{AVAILABILITY}## Examples\n\n{CALL}", [(1, None)]),
        # It may be of the same rank as sections, also where there is no heading over them.
        *(
            (
                f"{MEMBERS}{heading}## Example 1. Rows\n\n{CALL}## Example 2. Columns\n\n{CALL}",
                [(1, "Example 1. Rows"), (2, "Example 2. Columns")],
            )
            for heading in ("## Examples\n\n", "")
        ),
        # A call outside the examples has none.
        *(
            (f"## {section}\n\n### Example 7. Rows\n\n{CALL}", [(1, None)])
            for section in ("Tensor constraints", "Remarks", "Availability")
        ),
    ],
)
def test_the_title_of_an_example(text: str, expected: list[tuple[int, str | None]]) -> None:
    examples = parsed(START + text).examples
    assert [(example.number, example.title and example.title.text) for example in examples] == expected


@pytest.mark.parametrize(
    ("title", "number"),
    [
        (beside("Tusaale labaad", "Example 2. Rows"), 2),
        (beside("範例 2. 列", "The second"), 2),
        (beside("範例 2. 列", "Example 2. Rows"), 2),
        (beside("Tusaale", "Rows"), 1),
    ],
)
def test_the_number_of_an_example_stands_in_its_title_or_the_original(title: str, number: int) -> None:
    (example,) = parsed(f"{START}## Examples\n\n### {title}\n\n{CALL}").examples
    assert example.number == number


# Tables


@pytest.mark.parametrize(
    ("section", "table", "is_level_table"),
    [
        # In the section on support, three columns make a table one of a level, whatever its words.
        ("Tensor support", "| a | b | c |\n|-|-|-|\n| d | e | f |\n", True),
        ("Tensor support", "| a | b | c |\n|-|-|-|\n", True),
        ("Tensor support", "| a | b | c |\n|-|-|-|\n| d |\n", True),
        ("Tensor support", "| a | b |\n|-|-|\n| d | e | f |\n", True),
        ("Tensor support", OTHER_TABLE, False),
        ("Tensor support", "| a |\n|-|\n| b |\n", False),
        ("Tensor support", TABLE, True),
        ("Syntax", "| a | b | c |\n|-|-|-|\n| d | e | f |\n", False),
        ("Remarks", "| a | b | c |\n|-|-|-|\n| d | e | f |\n", False),
        ("Examples", "| a | b | c |\n|-|-|-|\n| d | e | f |\n", False),
        ("Remarks", TABLE, True),
        ("Remarks", "| a | b | c |\n|-|-|-|\n| d | e | INT8 |\n", True),
    ],
)
def test_which_tables_are_those_of_levels(section: str, table: str, is_level_table: bool) -> None:
    page = parsed(f"{START}## {section}\n\n{table}")
    assert [(found.level, found.heading.text) for found in page.tables] == [(None, section)] * is_level_table


def test_the_passages_of_a_table_are_its_cells_with_text_or_original() -> None:
    empty = beside("", "Kind")
    page = parsed(f"{START}## Remarks\n\n| A | {empty} | |\n|-|-|-|\n| | b | c |\n")
    cells = [passage.quoted for passage in page.passages if passage.role == "cell"]
    assert [cell.english for cell in cells] == ["A", "Kind", "b", "c"]
    assert [cell.text for cell in cells] == ["A", "", "b", "c"]


# Problems


def test_problems_stand_in_the_order_of_the_page_and_then_of_their_ids() -> None:
    document = PageText("# DML_X_OPERATOR_DESC\n\nabc\n")
    heading = Heading(1, Piece(shown("DML_X_OPERATOR_DESC", 2)))
    faults = [("c", 23), ("b", 25), ("z", 23), ("a", 25), ("d", 24)]
    for id, offset in faults:
        document.problem(id, "what", document.text[offset], offset)
    page = assemble(Contents({}, (), (heading,)), document, Form.MARKDOWN, "page", "0" * 64)
    assert [problem.id for problem in page.problems] == ["c", "z", "d", "a", "b"]
    assert [problem.place.column for problem in page.problems] == [1, 1, 2, 3, 3]


# --- The tables of the levels: which tables are such, which column holds what, and cells and rows that are lost

HEADER = ("Tensor", "Kind", "Supported dimension counts", "Supported data types")
USUAL = ("tensor", "kind", "dimension_counts", "data_types")


def lines_of(header: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    dashes = ("-",) * len(header)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, dashes, *rows))


def hidden(original: str) -> str:
    """An original that stands in a page beside no text."""
    return f'<span class="sxs-lookup"><span data-stu-id="1">{original}</span></span>'


def table_of(header: tuple[str, ...], *rows: tuple[str, ...]) -> LevelTable:
    page = parsed(f"{FRONT}## Tensor support\n{lines_of(header, *rows)}")
    (table,) = page.tables
    return table


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (HEADER, ("A", "Input", "4", "any")),
        (("Tensor", "Supported dimension counts"), ("A", "4")),
        (("Tensor", "Supported data types"), ("A", "any")),
        (("Qaab", "Nooc"), ("A", "FLOAT32")),
        (("Qaab", "Nooc"), ("FLOAT32", "A")),
    ],
)
def test_a_table_is_known_by_one_header_or_by_data_types_under_any_heading(
    header: tuple[str, ...], row: tuple[str, ...]
) -> None:
    page = parsed(f"{FRONT}## Qaybta\n{lines_of(header, row)}")
    (table,) = page.tables
    assert (table.heading.text, [cell.text for cell in table.rows[0].cells]) == ("Qaybta", list(row))
    assert {passage.section for passage in page.passages if passage.role == "cell"} == {"support"}


def test_a_table_of_something_else_is_no_table_of_a_level() -> None:
    page = parsed(f"{FRONT}## Qaybta\n{lines_of(('Qaab', 'Nooc'), ('Header', 'directml.h'))}")
    assert page.tables == ()
    assert [passage.section for passage in page.passages if passage.role == "cell"] == ["other"] * 4


def test_a_table_without_rows() -> None:
    table = table_of(HEADER)
    assert (table.columns, table.rows) == (USUAL, ())


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (("Supported data types", "Q", "R", "Supported dimension counts"), ("data_types", *USUAL[:3])),
        (("Q", "Tensor", "R", "Supported data types"), ("kind", "tensor", "dimension_counts", "data_types")),
        (("Q", "Kind", "R", "S"), USUAL),
        (("Q", "Tensor", "R", "S"), ("kind", "tensor", "dimension_counts", "data_types")),
        (("Q", "R", "S", "T"), USUAL),
        (("Kind", "Tensor", "Supported data types", "Supported dimension counts"), (*USUAL[1::-1], *USUAL[:1:-1])),
        # Of headers of which two say the same none is believed.
        (("Tensor", "Tensor", *HEADER[2:]), USUAL),
        (("Kind", "Kind", *HEADER[2:]), USUAL),
        (("Supported data types", "Kind", "Supported dimension counts", "Supported data types"), USUAL),
        # Further columns are of another kind.
        (("Remark", *HEADER), ("other", *USUAL)),
        *(((*HEADER, *"QRSTU"[:more]), (*USUAL, *("other",) * more)) for more in (1, 4, 5)),
    ],
)
def test_columns_without_a_known_header_hold_what_the_others_do_not(
    header: tuple[str, ...], columns: tuple[str, ...]
) -> None:
    cells = {"tensor": "A", "kind": "Output", "dimension_counts": "2 to 3", "data_types": "INT8", "other": "Q"}
    table = table_of(header, tuple(cells[name] for name in columns))
    assert table.columns == columns
    (row,) = table.rows
    assert (row.tensor, row.kind, row.dimension_counts, row.data_types) == ("A", "Output", (2, 3), ("INT8",))


def test_cells_are_lost_at_the_end_where_neither_text_nor_original_is_left() -> None:
    shown = '<span data-ttu-id="1">A</span>' + hidden("One")
    table = table_of(
        HEADER,
        ("A", "Input", "4", hidden("INT8")),
        (hidden("B"), "", "", ""),
        (shown, hidden("Input"), hidden("4"), ""),
        ("", "", "", ""),
        ("C", "Input", "", "INT8"),
    )
    assert [[cell.english for cell in row.cells] for row in table.rows] == [
        ["A", "Input", "4", "INT8"],
        ["B"],
        ["One", "Input", "4"],
        ["C", "Input", "", "INT8"],
    ]
    assert [cell.text for cell in table.rows[0].cells] == ["A", "Input", "4", ""]


@pytest.mark.parametrize(
    ("cell", "fragment", "stands"),
    [
        ("four", "four", "four | INT8 |"),
        (f'<span data-ttu-id="1">vier</span>{hidden("four")}', "vier", f"vier</span>{hidden('four')} | INT8 |"),
        (hidden("four"), "", "four</span></span> | INT8 |"),
    ],
    ids=["shown", "shown and original", "original"],
)
def test_counts_that_do_not_read_are_told_with_their_place(cell: str, fragment: str, stands: str) -> None:
    text = f"{FRONT}## Tensor support\n{lines_of(HEADER, ('A', 'Input', cell, 'INT8'))}"
    page = parsed(text)
    (problem,) = page.problems
    assert (problem.id, problem.fragment) == ("unreadable-dimension-counts", fragment)
    assert at(text, problem.place) == stands
    assert page.tables[0].rows[0].dimension_counts is None


# --- Intervals in the text on a field: which brackets are one, and what belongs to it


@pytest.mark.parametrize(
    ("text", "intervals"),
    [
        # A bound belongs to an interval where its bracket is square.
        ("It lies in [0, 4].", ["[0, 4]"]),
        ("It lies in [0, 4).", ["[0, 4)"]),
        ("It lies in (0, 4].", ["(0, 4]"]),
        ("It lies in (0, 4).", ["(0, 4)"]),
        # Names between brackets are an interval where one of them is square; in round ones they are an aside.
        ("It lies in [Low, High].", ["[Low, High]"]),
        ("It lies in [Low, High).", ["[Low, High)"]),
        ("It lies in (Low, High].", ["(Low, High]"]),
        ("Both tensors (InputTensor, OutputTensor) are in [0, 4).", ["[0, 4)"]),
        ("It lies in (-1, InputTensor.DimensionCount).", ["(-1, InputTensor.DimensionCount)"]),
        ("It lies in (-inf, 0].", ["(-inf, 0]"]),
        # Wherever it stands in a sentence.
        ("[0, 4) is what it lies in.", ["[0, 4)"]),
        ("It is limited: [0, 4).", ["[0, 4)"]),
        ("It is below 8, [0, 4) if signed, ([4, 8) if not).", ["[0, 4)", "[4, 8)"]),
        ("At level 1 [0, 4), at level 2 - [0, 8).", ["[0, 4)", "[0, 8)"]),
        # Neither a list of two nor indices, and what follows them is read.
        ("With Sizes = [2, 3], it lies in [0, 4).", ["[0, 4)"]),
        ("A mask of shape [1, Count] lies in [0, 4).", ["[0, 4)"]),
        ("Eine Maske der Form „[1, Count]“ mit `[0, 4]` Elementen.", ["[0, 4]"]),
        ("Of Sizes[0, 1], one lies in [0, 4).", ["[0, 4)"]),
        ("Of f(0, 1)[2, 3], one lies in [0, 4) and one in (4, 5).", ["[0, 4)", "(4, 5)"]),
        *((f"Here {text} stands.", []) for text in ("[0, 1, 2]", "[0; 1]", "[, 1]", "{0, 1}", "A = [1, 2]", "x[0, 1]")),
    ],
)
def test_intervals_in_the_text_on_a_field(text: str, intervals: list[str]) -> None:
    page = f"{FRONT}## Members\n\n`Axis`\n\n{text}\n"
    found = parsed(page).members[0].ranges
    assert [interval.text for interval in found] == intervals
    assert [at(page, interval.place)[0] for interval in found] == [interval[0] for interval in intervals]
