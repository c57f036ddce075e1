"""Pages in forms and states that the tests' own pages do not have: other languages, other layouts, parts lost."""

from __future__ import annotations

import re

import pytest
from pages_support import FRONT, OWN, parsed

from dml_conformance.documents.check.differences import differences
from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import Page

TABLE = """| Tensor | Kind | Supported dimension counts | Supported data types |
| ------ | ---- | -------------------------- | -------------------- |
| InputTensor | Input | 1 to 8 | FLOAT32, FLOAT16 |
| OutputTensor | Output | 1 to 8 | FLOAT32, FLOAT16 |
"""


def own(name: str) -> str:
    return (OWN / name).read_text(encoding="utf-8")


def sections(page: Page) -> list[str]:
    return [passage.section for passage in page.passages if passage.role == "heading"]


HEADINGS = {
    "gather.zh-TW.txt": {"語法": "Saadan", "成員": "Deer", "範例": "Misaal", "Tensor 支援": "Taageero"},
    "tile.ja-JP.txt": {"構文": "Saadan", "メンバー": "Deer", "例": "Misaal", "Tensor のサポート": "Taageero"},
}


@pytest.mark.parametrize("name", HEADINGS)
def test_text_whose_headings_are_in_no_table_is_read_by_position(name: str) -> None:
    lines = [HEADINGS[name].get(line, line) for line in own(name).split("\n")]
    page, expected = parsed("\n".join(lines)), read_page(OWN / name)
    assert page.passages != expected.passages
    assert sections(page) == sections(expected)
    assert list(differences([page, expected])) == []
    assert page.problems == ()


@pytest.mark.parametrize("name", ["gather_nd.ru-RU.md", "gather_elements.zh-TW.md", "row_blend.de-DE.md"])
def test_markdown_without_anchors_and_originals_is_read_by_words(name: str) -> None:
    text = re.sub(r'<span class="sxs-lookup">.*?</span></span>|</?span[^>]*>|<a name=[^>]*></a>', "", own(name))
    assert "span" not in text
    page, expected = parsed(text), read_page(OWN / name)
    assert not page.has_original
    assert list(differences([page, expected])) == []
    assert sections(page) == sections(expected)


def test_markdown_of_a_language_in_no_table_is_read_by_position() -> None:
    text = own("tile.en-US.md")
    words = ["Syntax", "Members", "Examples", "Availability", "Tensor constraints", "Tensor support", "Requirements"]
    for number, word in enumerate(words):
        text = text.replace(f"## {word}\n", f"## Qaybta {'abcdefg'[number]}\n")
    page, expected = parsed(text), read_page(OWN / "tile.en-US.md")
    assert list(differences([page, expected])) == []
    assert sections(page)[:-1] == sections(expected)[:-1]


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
    assert list(differences([page, read_page(OWN / "tile.en-US.md")])) == []
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
        ("  OutputTensor 輸出 1至3 FLOAT32、FLOAT16", "OutputTensor", "Output", (1, 2, 3), ("FLOAT32", "FLOAT16")),
        ("OutputTensor 輸出 從 1 到 3 FLOAT32", "OutputTensor", "Output", (1, 2, 3), ("FLOAT32",)),
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
    text = own("gather.zh-TW.txt").replace("OutputTensor 輸出 4 FLOAT32、FLOAT16\n", row + "\n")
    found = parsed(text).tables[-1].rows[-1]
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


def test_full_width_punctuation_in_text() -> None:
    text = own("tile.ja-JP.txt")
    wide = str.maketrans({":": "：", ",": "，", "(": "（", ")": "）", "{": "｛", "}": "｝", "[": "［", "]": "］"})
    start, end = text.index("RepeatsCount: 4"), text.index("可用性")
    page = parsed(text[:start] + text[start:end].translate(wide) + text[end:])
    assert list(differences([page, read_page(OWN / "tile.ja-JP.txt")])) == []
    assert page.problems == ()
