"""Pieces of text and their places: where each character stands, what is set as code, parts of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages_support import FRONT, OWN, OWN_PAGES, STRUCT, at, beside, first_word, parsed, placed

from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.blocks import Piece, PlacedText, PlacedTextBuilder, joined, shown
from dml_conformance.documents.read.model import Place, Quoted

MEMBER = f"{FRONT}## Members\n\n`Axis`\n\nType: UINT\n\n"


def remark(markup: str) -> Quoted:
    (quoted,) = parsed(f"{FRONT}## Remarks\n\n{markup}\n").remarks
    return quoted


def built(*parts: tuple[str, int]) -> PlacedText:
    builder = PlacedTextBuilder()
    for text, offset in parts:
        builder.add(text, offset)
    return builder.built()


# Places


@pytest.mark.parametrize(
    ("parts", "text", "offsets"),
    [
        ([("ab  cd", 5)], "ab cd", [5, 6, 7, 9, 10]),
        ([("  ab", 5)], "ab", [7, 8]),
        ([("ab ", 10), ("  cd", 30)], "ab cd", [10, 11, 12, 32, 33]),
        ([("ab ", 10), (" ", 30), ("cd", 40)], "ab cd", [10, 11, 12, 40, 41]),
        ([("ab", 10), (" ", 0), (" cd", 30)], "ab cd", [10, 11, 0, 31, 32]),
        ([("ab", 10), (" ", 0), (" ", 20), ("cd", 30)], "ab cd", [10, 11, 0, 30, 31]),
        ([("ab", 10), ("cd", 30)], "abcd", [10, 11, 30, 31]),
        ([("ab", 10), (" ", 12)], "ab", [10, 11]),
    ],
)
def test_each_character_has_its_offset_and_white_space_that_of_its_start(
    parts: list[tuple[str, int]], text: str, offsets: list[int]
) -> None:
    found = built(*parts)
    assert found.text == text
    assert [found.offset(index) for index in range(len(text))] == offsets


def test_a_line_break_at_the_very_start_of_a_file_is_a_space() -> None:
    page = parsed("One<br>two.\n\n# DML_X_OPERATOR_DESC\n")
    assert page.passages[0].quoted == Quoted("One two.", Place(1, 1))


def test_a_lost_cell_stands_behind_the_one_before_it() -> None:
    own = (OWN / "gather.zh-TW.txt").read_text(encoding="utf-8")
    text = own.replace("OutputTensor 輸出 4 FLOAT32、FLOAT16\n", "OutputTensor 4 FLOAT32\n")
    cells = parsed(text).tables[-1].rows[-1].cells
    assert [cell.text for cell in cells] == ["OutputTensor", "", "4", "FLOAT32"]
    assert at(text, cells[1].place) == " 4 FLOAT32"


# Parts


def test_the_text_after_an_alert_keeps_its_places_and_marks() -> None:
    text = f"{MEMBER}> [!NOTE]\n> The  value of `Axis`\n> is **in** [0, 4).\n"
    (member,) = parsed(text).members
    (quoted,) = member.text
    assert (quoted.text, quoted.marked) == ("The value of Axis is in [0, 4).", ("Axis", "in"))
    assert at(text, quoted.place) == "The  value of `Axis`"
    (interval,) = member.ranges
    assert at(text, interval.place) == "[0, 4)."


@pytest.mark.parametrize(
    ("markup", "text", "marked"),
    [
        ("**[!NOTE]** Take care.", "Take care.", ()),
        ("<b>[!NOTE]</b>Take care.", "Take care.", ()),
        ("**[!NOTE] Take** care.", "Take care.", ("Take",)),
        ("**[!NOTE] Take care.**", "Take care.", ("Take care.",)),
        ("[!NOTE] **Take** care.", "Take care.", ("Take",)),
        ("**[!NOTE]** Take `care`", "Take care", ("care",)),
    ],
)
def test_marks_that_an_alert_shares_with_its_text(markup: str, text: str, marked: tuple[str, ...]) -> None:
    quoted = remark(markup)
    assert (quoted.text, quoted.marked) == (text, marked)


OFFSETS = (40, 41, 42, 43, 50, 51, 52, 60, 61, 70, 71, 72, 73, 74)
WHOLE = PlacedText("one two- three", OFFSETS, marks=((0, 3), (4, 7), (7, 8), (9, 14)))


@pytest.mark.parametrize(
    ("start", "end", "text", "marked"),
    [
        (0, 3, "one", ("one",)),
        (4, 7, "two", ("two",)),
        (3, 9, "two-", ("two", "-")),
        (1, 6, "ne tw", ("ne", "tw")),
        (5, 7, "wo", ("wo",)),
        (4, 14, "two- three", ("two", "-", "three")),
        (8, 14, "three", ("three",)),
        (9, 11, "th", ("th",)),
    ],
)
def test_a_part_has_the_characters_and_marks_within_it(
    start: int, end: int, text: str, marked: tuple[str, ...]
) -> None:
    part = WHOLE.part(start, end)
    assert (part.text, part.marked) == (text, marked)
    first = WHOLE.text.index(text)
    assert [part.offset(n) for n in range(len(text))] == [WHOLE.offset(first + n) for n in range(len(text))]


def test_a_part_says_nothing_of_what_stood_behind_it() -> None:
    both = joined([Piece(WHOLE.part(4, 7)), Piece(shown("x", 90))]).shown
    assert both.text == "two x"
    assert [both.offset(n) for n in range(5)] == [50, 51, 52, 53, 90]


# Marks


@pytest.mark.parametrize(
    ("markup", "text", "marked"),
    [
        ("Words <b></b>are here.", "Words are here.", ()),
        ("Words are here<b></b>", "Words are here", ()),
        ("Words <b> </b> are here.", "Words are here.", ()),
        ("A <b>one <i>two</i> three</b> z.", "A one two three z.", ("one two three",)),
        ("A **one `two`** z.", "A one two z.", ("one two",)),
        ("A<b> one</b> z.", "A one z.", ("one",)),
        ("A <b>one z.", "A one z.", ("one z.",)),
        ("A one</b> z.", "A one z.", ()),
    ],
)
def test_what_is_marked(markup: str, text: str, marked: tuple[str, ...]) -> None:
    quoted = remark(markup)
    assert (quoted.text, quoted.marked) == (text, marked)


# Several as one


def test_the_sentences_of_a_heading_or_cell_are_one_text() -> None:
    markup = f"{beside('Uno *due*.', 'One *two*.')} Tre `q`. {beside('*Cinque* sei.', '*Five* six.')}"
    text = f"{FRONT}## Remarks\n\n## {markup}\n\nWords.\n\n| {markup} | B |\n|-|-|\n| C | D |\n"
    page = parsed(text)
    found = [passage for passage in page.passages if passage.quoted.text.startswith("Uno")]
    assert [passage.role for passage in found] == ["heading", "cell"]
    for passage in found:
        quoted = passage.quoted
        assert (quoted.text, quoted.marked) == ("Uno due. Tre q. Cinque sei.", ("due", "q", "Cinque"))
        assert (quoted.original, quoted.original_marked) == ("One two. Five six.", ("two", "Five"))
        assert at(text, quoted.place).startswith("Uno *due*")


# Paragraphs


@pytest.mark.parametrize("markup", ["`Axis`", "<p>Words.</p>", "Words.", "A `name` here."])
def test_what_stands_in_no_list_is_a_sentence(markup: str) -> None:
    page = parsed(f"{FRONT}## Remarks\n\n{markup}\n\n* Item.\n")
    roles = [passage.role for passage in page.passages if passage.section == "remarks"]
    assert roles == ["heading", "sentence", "item"]
    page = parsed("DML_X_OPERATOR_DESC\n\nAxis\n\nType: UINT\n\nWords.\n")
    assert "item" not in {passage.role for passage in page.passages}


# --- Every item of a page says where it stands: what is in the file there is how its text starts


@pytest.mark.parametrize("path", OWN_PAGES, ids=lambda path: path.name)
def test_every_item_stands_where_its_place_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    items = [item for item in placed(read_page(path)) if item[1]]
    assert [item for item in items if not at(text, item[2]).startswith(first_word(item[1]))] == []


def test_the_own_pages_have_every_kind_of_item() -> None:
    kinds = {kind for path in OWN_PAGES for kind, _, _ in placed(read_page(path))}
    assert kinds == {"Quoted", "Declaration", "PrintedInterval", "Value", "CodeBlock"}


def test_a_place_counts_characters_after_a_byte_order_mark_and_any_line_end() -> None:
    text = f"{FRONT}# DML_X_OPERATOR_DESC é張\n\n```\n{STRUCT}\n```\n"
    plain = list(placed(parsed(text)))
    assert list(placed(parsed("\ufeff" + text.replace("\n", "\r\n")))) == plain
    assert list(placed(parsed(text.replace("\n", "\r")))) == plain


def test_places_within_a_paragraph_of_several_lines() -> None:
    page = parsed(f"{FRONT}# DML_X_OPERATOR_DESC\n## Members\n\n`A`\n\nOne\n  `two\n three` and [0,\n1] **four**.\n")
    (text,) = page.members[0].text
    assert text.text == "One two three and [0, 1] four."
    assert text.marked == ("two three", "four")
    (interval,) = page.members[0].ranges
    assert (interval.place.line, interval.place.column) == (12, 13)
