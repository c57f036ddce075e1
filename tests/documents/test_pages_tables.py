"""The tables of the levels: which tables are such, which column holds what, and cells and rows that are lost."""

from __future__ import annotations

import pytest
from pages_support import FRONT, at, parsed

from dml_conformance.documents.read.model import LevelTable

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


def test_the_level_of_a_table_is_the_first_that_its_heading_names() -> None:
    text = f"### DML_FEATURE_LEVEL_4_1 (DML_FEATURE_LEVEL_3_0)\n{lines_of(HEADER, ('A', 'Input', '4', 'INT8'))}"
    page = parsed(f"{FRONT}## Tensor support\n{text}")
    assert [table.level for table in page.tables] == ["4_1"]


def test_a_table_without_rows() -> None:
    table = table_of(HEADER)
    assert (table.columns, table.rows) == (USUAL, ())


@pytest.mark.parametrize("number", [1, 4, 5])
def test_further_columns_are_of_another_kind(number: int) -> None:
    further = tuple(f"Q{n}" for n in range(number))
    table = table_of((*HEADER, *further), ("A", "Input", "4", "INT8", *further))
    assert table.columns == (*USUAL, *("other",) * number)
    (row,) = table.rows
    assert (row.tensor, row.kind, row.dimension_counts, row.data_types) == ("A", "Input", (4,), ("INT8",))


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (("Supported data types", "Q", "R", "Supported dimension counts"), ("data_types", *USUAL[:3])),
        (("Q", "Tensor", "R", "Supported data types"), ("kind", "tensor", "dimension_counts", "data_types")),
        (("Q", "Kind", "R", "S"), USUAL),
        (("Q", "Tensor", "R", "S"), ("kind", "tensor", "dimension_counts", "data_types")),
        (("Q", "R", "S", "T"), USUAL),
    ],
)
def test_columns_without_a_known_header_hold_what_the_others_do_not(
    header: tuple[str, ...], columns: tuple[str, ...]
) -> None:
    cells = {"tensor": "A", "kind": "Output", "dimension_counts": "2 to 3", "data_types": "INT8"}
    table = table_of(header, tuple(cells[name] for name in columns))
    assert table.columns == columns
    (row,) = table.rows
    assert (row.tensor, row.kind, row.dimension_counts, row.data_types) == ("A", "Output", (2, 3), ("INT8",))


@pytest.mark.parametrize(
    "header",
    [
        ("Tensor", "Tensor", *HEADER[2:]),
        ("Kind", "Kind", *HEADER[2:]),
        ("Supported data types", "Kind", "Supported dimension counts", "Supported data types"),
    ],
)
def test_headers_of_which_two_say_the_same_are_not_believed(header: tuple[str, ...]) -> None:
    table = table_of(header, ("A", "Output", "4", "INT8"))
    assert table.columns == USUAL
    (row,) = table.rows
    assert (row.tensor, row.kind, row.dimension_counts, row.data_types) == ("A", "Output", (4,), ("INT8",))


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
