"""Every item of a page says where it stands: what is in the file there is how its text starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages_support import FRONT, OWN_PAGES, STRUCT, at, first_word, parsed, placed

from dml_conformance.documents.read import read_page


@pytest.mark.parametrize("path", OWN_PAGES, ids=lambda path: path.name)
def test_every_item_stands_where_its_place_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    items = [item for item in placed(read_page(path)) if item[1]]
    assert [item for item in items if not at(text, item[2]).startswith(first_word(item[1]))] == []


def test_the_own_pages_have_every_kind_of_item() -> None:
    kinds = {kind for path in OWN_PAGES for kind, _, _ in placed(read_page(path))}
    assert kinds >= {"title", "declaration", "member", "type line", "range", "range of the original", "level heading"}
    assert kinds >= {"cell", "row", "example's title", "attribute Axis", "label", "sizes", "type", "values", "Strides"}
    assert kinds >= {"syntax block", "formula block", "pseudocode block", "example block", "sentence"}


def test_a_place_counts_characters_after_a_byte_order_mark_and_any_line_end() -> None:
    text = f"{FRONT}# DML_X_OPERATOR_DESC é張\n\n```\n{STRUCT}\n```\n"
    plain = list(placed(parsed(text)))
    assert list(placed(parsed("\ufeff" + text.replace("\n", "\r\n")))) == plain
    assert list(placed(parsed(text.replace("\n", "\r")))) == plain


@pytest.mark.parametrize(
    ("line", "word", "column"),
    [
        ("*Axis* is small.", "Axis", 2),
        ("  `Axis` is small.", "Axis", 4),
        ("` Axis ` is small.", "Axis", 3),
        ("[Axis](/a/Axis) is small.", "Axis", 2),
        ("&lt;Axis is small.", "<Axis", 1),
        ("\\*Axis is small.", "*Axis", 1),
        ("<b><i>Axis</i></b> is small.", "Axis", 7),
        ("> * Axis is small.", "Axis", 5),
        ('<span data-ttu-id="1">Axis is small.</span>', "Axis", 23),
    ],
)
def test_a_place_points_behind_markup(line: str, word: str, column: int) -> None:
    page = parsed(f"{FRONT}## remarks\n\nWords.\n\n{line}\n")
    quoted = page.remarks[-1]
    assert quoted.text.startswith(word)
    assert (quoted.place.line, quoted.place.column) == (9, column)


def test_places_within_a_paragraph_of_several_lines() -> None:
    page = parsed(f"{FRONT}# DML_X_OPERATOR_DESC\n## Members\n\n`A`\n\nOne\n  `two\n three` and [0,\n1] **four**.\n")
    (text,) = page.members[0].text
    assert text.text == "One two three and [0, 1] four."
    assert text.marked == ("two three", "four")
    (interval,) = page.members[0].ranges
    assert (interval.place.line, interval.place.column) == (12, 13)


def test_a_bar_that_is_escaped_stays_in_its_cell() -> None:
    header = "| Tensor | Kind | Supported dimension counts | Supported data types |\n|-|-|-|-|\n"
    page = parsed(f"{FRONT}## Tensor support\n{header}| a\\|b\\|c | `Input` | 4 | INT8 |\n")
    cells = page.tables[0].rows[0].cells
    assert [cell.text for cell in cells] == ["a|b|c", "Input", "4", "INT8"]
    assert [cell.place.column for cell in cells] == [3, 14, 23, 27]
