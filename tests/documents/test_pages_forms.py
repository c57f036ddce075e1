"""Pages in forms and states that the tests' own pages do not have: other languages, other layouts, parts lost."""

from __future__ import annotations

import pytest
from pages_support import FRONT, OWN, STRUCT, parsed

from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import Form, Page

TABLE = """| Tensor | Kind | Supported dimension counts | Supported data types |
| ------ | ---- | -------------------------- | -------------------- |
| InputTensor | Input | 1 to 8 | FLOAT32, FLOAT16 |
| OutputTensor | Output | 1 to 8 | FLOAT32, FLOAT16 |
"""


def own(name: str) -> str:
    return (OWN / name).read_text(encoding="utf-8")


def facts(page: Page) -> object:
    """What a page states, without its words and places."""
    return (
        [(member.name.text, member.type) for member in page.members],
        [
            (table.level, [(row.tensor, row.dimension_counts, row.data_types) for row in table.rows])
            for table in page.tables
        ],
        [
            (
                example.number,
                {name: value.value for name, value in example.attributes.items()},
                [(t.label.text, t.sizes and t.sizes.value, t.values and t.values.value) for t in example.tensors],
            )
            for example in page.examples
        ],
        page.introduced_in,
        len(page.constraints),
    )


def sections(page: Page) -> list[str]:
    return [passage.section for passage in page.passages if passage.role == "heading"]


HEADINGS = {
    "語法": "Saadan",
    "成員": "Deer",
    "範例": "Misaal",
    "Tensor 支援": "Taageero",
}
DENSE_HEADINGS = {
    "構文": "Saadan",
    "メンバー": "Deer",
    "例": "Misaal",
    "Tensor のサポート": "Taageero",
}


@pytest.mark.parametrize(
    ("name", "headings"), [("gather.zh-TW.txt", HEADINGS), ("tile.ja-JP.txt", DENSE_HEADINGS)], ids=["wide", "dense"]
)
def test_text_whose_headings_are_in_no_table_is_read_by_position(name: str, headings: dict[str, str]) -> None:
    text = own(name)
    lines = [headings.get(line, line) for line in text.split("\n")]
    assert lines != text.split("\n")
    page, expected = parsed("\n".join(lines)), read_page(OWN / name)
    assert sections(page) == sections(expected)
    assert facts(page) == facts(expected)
    assert page.problems == ()


@pytest.mark.parametrize("name", ["gather_nd.ru-RU.md", "gather_elements.zh-TW.md", "row_blend.de-DE.md"])
def test_markdown_without_anchors_and_originals_is_read_by_words(name: str) -> None:
    import re

    text = re.sub(r'<span class="sxs-lookup">.*?</span></span>|</?span[^>]*>|<a name=[^>]*></a>', "", own(name))
    assert "span" not in text
    page, expected = parsed(text), read_page(OWN / name)
    assert not page.has_original
    assert facts(page) == facts(expected)
    assert sections(page) == sections(expected)


def test_markdown_of_a_language_in_no_table_is_read_by_position() -> None:
    text = own("tile.en-US.md")
    words = ["Syntax", "Members", "Examples", "Availability", "Tensor constraints", "Tensor support", "Requirements"]
    for number, word in enumerate(words):
        text = text.replace(f"## {word}\n", f"## Qaybta {'abcdefg'[number]}\n")
    page, expected = parsed(text), read_page(OWN / "tile.en-US.md")
    assert facts(page) == facts(expected)
    assert sections(page)[:-1] == sections(expected)[:-1]


def test_the_source_form_has_no_syntax_block() -> None:
    page = read_page(OWN / "gather.en-US.md")
    assert (page.structure, page.declarations, page.title) == (None, (), None)
    assert page.operator == "GATHER"
    assert [member.name.text for member in page.members][-1] == "IndexDimensions"
    assert page.members[2].text[0].marked == ("DataType", "InputTensor", "OutputTensor.Sizes")


def test_a_table_of_no_level_in_text() -> None:
    text = own("gather.zh-TW.txt").split("\n")
    first = text.index("DML_FEATURE_LEVEL_4_1和更新版本")
    second = text.index("DML_FEATURE_LEVEL_3_0和更新版本")
    page = parsed("\n".join([*text[:first], *text[first + 2 : second], *text[-4:]]))
    (table,) = page.tables
    assert (table.level, table.heading.text) == (None, "Tensor 支援")
    assert len(table.rows) == 3


def test_a_column_more() -> None:
    rows = """### DML_FEATURE_LEVEL_4_0 and above
| Tensor | Kind | Dimensions | Supported dimension counts | Supported data types |
| ------ | ---- | ---------- | -------------------------- | -------------------- |
| ATensor | Input | { [BatchCount], M, K } | 2 to 4 | FLOAT32 |
| CTensor | Optional input | { [BatchCount], M, N } | 2 to 4 | FLOAT32 |
"""
    page = parsed(f"{FRONT}## Tensor support\n{rows}")
    (table,) = page.tables
    assert table.columns == ("tensor", "kind", "dimensions", "dimension_counts", "data_types")
    assert [(row.tensor, row.kind, row.dimension_counts, row.data_types) for row in table.rows] == [
        ("ATensor", "Input", (2, 3, 4), ("FLOAT32",)),
        ("CTensor", "Input", (2, 3, 4), ("FLOAT32",)),
    ]
    assert page.problems == ()


def test_columns_whose_headers_are_in_no_table_are_told_by_their_originals() -> None:
    originals = ["Kind", "Tensor", "Supported data types", "Supported dimension counts"]
    header = "|".join(
        f'<span data-ttu-id="1">Q{i}</span><span class="sxs-lookup"><span data-stu-id="1">{original}</span></span>'
        for i, original in enumerate(originals)
    )
    (table,) = parsed(f"{FRONT}## Tensor support\n|{header}|\n|-|-|-|-|\n| Input | A | FLOAT32 | 4 |\n").tables
    assert [cell.text for cell in table.header] == ["Q0", "Q1", "Q2", "Q3"]
    assert table.columns == ("kind", "tensor", "data_types", "dimension_counts")


def test_another_table_after_those_of_the_levels_is_none_of_them() -> None:
    text = own("tile.en-US.md")
    page = parsed(text.replace("## Requirements\n", ""))
    assert facts(page) == facts(read_page(OWN / "tile.en-US.md"))
    assert page.passages[-1].quoted.text == "directml.h"


def test_a_cell_too_many_belongs_to_no_column() -> None:
    rows = """| Kind | Tensor | Supported data types | Supported dimension counts |
|-|-|-|-|
| Input | A | FLOAT32 | 4 |
| Output | B | FLOAT32 | 4 | 5 |
| Output | C | FLOAT32 | 4 |
"""
    (table,) = parsed(f"{FRONT}## Tensor support\n{rows}").tables
    assert table.columns == ("kind", "tensor", "data_types", "dimension_counts", "other")
    assert [(row.tensor, row.dimension_counts, len(row.cells)) for row in table.rows] == [
        ("A", (4,), 4),
        ("B", (4,), 5),
        ("C", (4,), 4),
    ]


def test_lost_cells() -> None:
    rows = TABLE.replace("| InputTensor | Input | 1 to 8 ", "| InputTensor | Input ").replace(
        "| FLOAT32, FLOAT16 |\n| Out", "|\n| Out"
    )
    page = parsed(f"{FRONT}## Tensor support\n{rows}")
    short = page.tables[0].rows[0]
    assert [cell.text for cell in short.cells] == ["InputTensor", "Input"]
    assert (short.dimension_counts, short.data_types) == (None, None)
    shifted = TABLE.replace("| Input | 1 to 8 ", "| 1 to 8 ")
    page = parsed(f"{FRONT}## Tensor support\n{shifted}")
    assert page.tables[0].rows[0].dimension_counts is None
    assert [problem.id for problem in page.problems] == ["unreadable-dimension-counts"]
    assert page.problems[0].fragment == "FLOAT32, FLOAT16"


@pytest.mark.parametrize("lost", [1, 0], ids=["dashes", "header"])
def test_a_table_that_lost_a_line(lost: int) -> None:
    lines = TABLE.split("\n")
    del lines[lost]
    page = parsed(f"{FRONT}## Tensor support\n### DML_FEATURE_LEVEL_2_1\n" + "\n".join(lines))
    (table,) = page.tables
    assert [row.data_types for row in table.rows][-2:] == [("FLOAT32", "FLOAT16")] * 2
    assert [problem.id for problem in page.problems if problem.id == "broken-table"] == ["broken-table"]


@pytest.mark.parametrize(
    ("row", "tensor", "kind", "counts", "types"),
    [
        ("OutputTensor 輸出 4 FLOAT32、FLOAT16", "OutputTensor", "Output", (4,), ("FLOAT32", "FLOAT16")),
        (
            "  OutputTensor 輸出 1至8 FLOAT32、FLOAT16",
            "OutputTensor",
            "Output",
            tuple(range(1, 9)),
            ("FLOAT32", "FLOAT16"),
        ),
        ("OutputTensor 輸出 從 1 到 8 FLOAT32", "OutputTensor", "Output", tuple(range(1, 9)), ("FLOAT32",)),
        ("OutputTensor FLOAT32、FLOAT16", "OutputTensor", None, None, ("FLOAT32", "FLOAT16")),
        ("OutputTensor 4 FLOAT32", "OutputTensor", None, (4,), ("FLOAT32",)),
        ("OutputTensor 輸出 FLOAT32", "OutputTensor", "Output", None, ("FLOAT32",)),
        ("OutputTensor 輸出 4", "OutputTensor", "Output", (4,), None),
        ("OutputTensor 輸出 4 浮點數", "OutputTensor", "Output", (4,), ("浮點數",)),
        ("輸出張量 輸出 4 FLOAT32", "輸出張量", "Output", (4,), ("FLOAT32",)),
        ("Out Tensor 輸出 4 FLOAT32", "Out Tensor", "Output", (4,), ("FLOAT32",)),
    ],
)
def test_rows_run_together(
    row: str, tensor: str, kind: str | None, counts: tuple[int, ...] | None, types: tuple[str, ...] | None
) -> None:
    text = own("gather.zh-TW.txt")
    old = "OutputTensor 輸出 4 FLOAT32、FLOAT16\n"
    assert text.count(old) == 1
    found = parsed(text.replace(old, row + "\n")).tables[-1].rows[-1]
    assert (found.tensor, found.kind, found.dimension_counts, found.data_types) == (tensor, kind, counts, types)


def test_fields_as_headings_and_annotated_types() -> None:
    members = """## Members

### `Axes`

Type: \\_Field\\_size\\_(AxisCount) **const [UINT](https://example.org)\\***

Within `[0, InputTensor.DimensionCount - 1]`, or ［0， 1）.

### `Fused`

Type: \\_Maybenull\\_ <b>const <a href="x">DML_OPERATOR_DESC</a>*</b>

Words.
"""
    page = parsed(f"{FRONT}{members}")
    assert [(member.name.text, member.type) for member in page.members] == [
        ("Axes", "const UINT *"),
        ("Fused", "const DML_OPERATOR_DESC *"),
    ]
    assert [(r.low, r.high, r.low_closed, r.high_closed) for r in page.members[0].ranges] == [
        ("0", "InputTensor.DimensionCount - 1", True, True),
        ("0", "1", True, False),
    ]


def test_spans_that_are_broken() -> None:
    start = f"{FRONT}## Remarks\n\n"
    shown, original = '<span data-ttu-id="1">Uno *due*.', '<span class="sxs-lookup"><span data-stu-id="1">One *two*.'
    whole = f"{shown}</span>{original}</span></span>"
    for text in (
        whole,
        f"{shown}{original}</span></span>",
        f"{shown}</span>{original}",
        f"{shown}</span>{original}</span>",
    ):
        (quoted,) = parsed(f"{start}{text}\n").remarks
        assert (quoted.text, quoted.original) == ("Uno due.", "One two.")
        assert (quoted.marked, quoted.original_marked) == (("due",), ("two",))
    (quoted,) = parsed(f"{start}{original}</span></span>\n").remarks
    assert (quoted.text, quoted.original) == ("", "One two.")
    assert quoted.place.column == len('<span class="sxs-lookup"><span data-stu-id="1">') + 1
    (quoted,) = parsed(f"{start}{shown}</span>\n").remarks
    assert (quoted.text, quoted.original) == ("Uno due.", None)
    found = parsed(f"{start}Before {whole} between {whole} after.\n").remarks
    assert [(quoted.text, quoted.original) for quoted in found] == [
        ("Before", None),
        ("Uno due.", "One two."),
        ("between", None),
        ("Uno due.", "One two."),
        ("after.", None),
    ]


def test_dense_text_with_two_examples() -> None:
    text = own("tile.ja-JP.txt")
    code = text[text.index("RepeatsCount: 4\n") : text.index("可用性")]
    page = parsed(text.replace(code, code + code.replace("FLOAT32", "INT32")))
    assert [example.number for example in page.examples] == [1, 2]
    types = [example.tensors[0].data_type for example in page.examples]
    assert [value and value.value for value in types] == ["FLOAT32", "INT32"]
    assert page.form is Form.TEXT


def test_full_width_punctuation_in_text() -> None:
    text = own("tile.ja-JP.txt")
    wide = str.maketrans({":": "：", ",": "，", "(": "（", ")": "）", "{": "｛", "}": "｝", "[": "［", "]": "］"})
    start, end = text.index("RepeatsCount: 4"), text.index("可用性")
    page = parsed(text[:start] + text[start:end].translate(wide) + text[end:])
    assert facts(page) == facts(read_page(OWN / "tile.ja-JP.txt"))
    assert page.problems == ()


def test_a_line_that_ends_no_sentence_goes_on_in_the_next() -> None:
    page = read_page(OWN / "tile.ja-JP.txt")
    (text,) = page.members[1].text
    assert "各次元 i の大きさは" in text.text
    assert len(page.availability) == 1
    assert page.availability[0].text.endswith("DML_FEATURE_LEVEL_1_0 からあります。")


def test_members_without_their_heading_and_a_name_that_is_not_declared() -> None:
    text = own("tile.en-US.md").replace("## Members\n", "")
    assert [member.name.text for member in parsed(text).members] == [
        "InputTensor",
        "OutputTensor",
        "RepeatsCount",
        "Repeats",
    ]
    renamed = own("tile.en-US.md").replace("`Repeats`\n", "`Repetitions`\n")
    assert [member.name.text for member in parsed(renamed).members][-1] == "Repetitions"
    lines = own("tile.ja-JP.txt").split("\n")
    lines[lines.index("Repeats")] = "Repetitions"
    assert [member.name.text for member in parsed("\n".join(lines)).members][-1] == "Repetitions"


def test_a_structure_without_its_end_and_a_page_without_one() -> None:
    page = parsed(f"DML_X_OPERATOR_DESC\n\n{STRUCT.removesuffix('};')}\n\nAxis\n\nType: UINT\n\nWords.\n")
    assert len(page.declarations) == 3
    assert [member.name.text for member in page.members] == ["Axis"]
    page = parsed("DML_X_OPERATOR_DESC\n\nAxis\n\nType: UINT\n\nWords.\n")
    assert (page.operator, page.structure, page.declarations) == ("X", None, ())
    assert [(member.name.text, member.type) for member in page.members] == [("Axis", "UINT")]
