"""A page in Markdown: its blocks, its inline markup, and what stands where."""

from __future__ import annotations

import re

import pytest
from markdown_it.parser_inline import ParserInline
from pages_support import FRONT, at, parsed

from dml_conformance.documents.read.blocks import Code, Paragraph, Piece
from dml_conformance.documents.read.markdown import MAX_INLINE, read_markdown, split_row
from dml_conformance.documents.read.model import Page, Place, Quoted
from dml_conformance.documents.read.source import PageText

TITLE = "# DML_X_OPERATOR_DESC\n"
COLUMNS = "| Tensor | Kind | Supported dimension counts | Supported data types |\n"


def remarks(text: str) -> Page:
    return parsed(f"{FRONT}## Remarks\n\n{text}")


def last_place(page: Page) -> Place:
    return page.passages[-1].quoted.place


# Front matter


@pytest.mark.parametrize("first", ["", "- - -", "# DML_X_OPERATOR_DESC", '<a name="x"></a>', "Words."])
def test_only_dashes_on_the_first_line_start_front_matter(first: str) -> None:
    page = parsed(f"{first}\nms.date: 1/2/2003\n---\n\n{TITLE}")
    assert (page.front_matter, page.edition, page.problems) == ({}, None, ())


def test_front_matter_without_its_end_is_told_of_where_it_starts() -> None:
    page = parsed(f"---  \nms.date: 1/2/2003\n\n{TITLE}\nWords.\n")
    assert page.front_matter == {}
    (problem,) = page.problems
    assert (problem.id, problem.fragment.strip(), problem.place) == ("unclosed-front-matter", "---", Place(1, 1))


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("'A word'", "A word"),
        ('"A word"', "A word"),
        ("''", ""),
        ("'", "'"),
        ("'Tis so", "'Tis so"),
        ("'Tis so!", "'Tis so!"),
        ("'Tis 5\"", "'Tis 5\""),
        ("\"A\" and 'b'", "\"A\" and 'b'"),
        ("Not 'so'", "Not 'so'"),
    ],
)
def test_only_quotes_around_the_whole_of_a_value_are_taken_off(printed: str, value: str) -> None:
    page = parsed(f"---\nkeys:\n- a\nlist: [b]\nms.date: {printed}\n---\n{TITLE}")
    assert page.front_matter == {"ms.date": value}


def test_title_and_description_of_the_front_matter_are_text_of_the_page() -> None:
    text = f'---\nkeys:\n- a\ntitle: "DML_X_OPERATOR_DESC"\ndescription: Adds up.\nms.date: 1/2/2003\n---\n{TITLE}'
    front = [passage.quoted for passage in parsed(text).passages if passage.section == "front"]
    assert [quoted.text for quoted in front] == ["DML_X_OPERATOR_DESC", "Adds up."]
    assert [at(text, quoted.place) for quoted in front] == ['DML_X_OPERATOR_DESC"', "Adds up."]


# Code


@pytest.mark.parametrize("indent", ["", " ", "   "])
def test_the_end_of_a_block_of_code_may_be_indented(indent: str) -> None:
    page = remarks(f"```\na\n{indent}```\n\n## Availability\n\nEverywhere.\n")
    assert page.problems == ()
    assert page.code_blocks[0].text == "a"
    assert [quoted.text for quoted in page.availability] == ["Everywhere."]


@pytest.mark.parametrize("code", ["", "a\n", "a\nb\n", "a\n\nb\n\n"])
@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_block_of_code_without_its_end_ends_at_the_blank_line_before_a_heading(fence: str, code: str) -> None:
    page = parsed(f"{TITLE}\n{fence}\n{code}\n## Remarks\n\nWords.\n")
    assert page.code_blocks[0].text.strip("\n") == code.strip("\n")
    assert [quoted.text for quoted in page.remarks] == ["Words."]
    (problem,) = page.problems
    assert (problem.id, problem.fragment, problem.place) == ("unclosed-code-block", fence, Place(3, 1))


def test_a_block_of_code_without_its_end_ends_before_a_field_and_before_code_in_a_named_language() -> None:
    first, second = "`A`\n\nType: UINT\n\n```\na = 1\n\n", "`B`\n\nType: UINT\n\n```\nb = 2\n\n"
    page = parsed(f"{FRONT}## Members\n\n{first}{second}```cpp\nc = 3\n```\n")
    assert [block.text for block in page.code_blocks] == ["a = 1", "b = 2", "c = 3"]
    assert [member.name.text for member in page.members] == ["A", "B"]
    assert [problem.id for problem in page.problems] == ["unclosed-code-block"] * 2


def test_no_line_of_code_is_given_up_for_the_end_that_is_lost() -> None:
    page = parsed(f"{TITLE}\n```\na\nb\n## Remarks\n\nWords.\n")
    assert page.code_blocks[0].text.split("\n")[:2] == ["a", "b"]
    assert [problem.id for problem in page.problems] == ["unclosed-code-block"]


def test_a_comment_in_code_is_no_heading_that_ends_it() -> None:
    page = remarks("```\na = 1\n# Twice.\nb = 2\n```\n\nWords.\n")
    assert page.problems == ()
    assert page.code_blocks[0].text == "a = 1\n# Twice.\nb = 2"
    assert [quoted.text for quoted in page.remarks] == ["Words."]


@pytest.mark.parametrize(
    ("block", "line", "column", "last_line"),
    [("```cpp\na = 1\nb = 2\n```", 4, 1, 5), ("    a = 1\n    b = 2", 3, 5, 4), ("> ~~~\n>\n> a = 1\n> ~~~", 4, 3, 5)],
    ids=["fence", "indented", "quoted"],
)
def test_a_block_of_code_knows_its_lines(block: str, line: int, column: int, last_line: int) -> None:
    text = f"{TITLE}\n{block}\n\nWords.\n"
    (code,) = (found for found in read_markdown(PageText(text)).blocks if isinstance(found, Code))
    assert (code.line, code.last_line) == (line, last_line)
    (shown,) = parsed(text).code_blocks
    assert shown.text.strip("\n").startswith("a = 1")
    first = Place(line if "~" not in block else line + 1, column)
    assert (shown.place, at(text, shown.place)) == (first, "a = 1")


def test_a_page_may_end_with_the_start_of_a_block_of_code() -> None:
    page = remarks("Words.\n\n```")
    assert (page.code_blocks[0].text, page.code_blocks[0].place) == ("", Place(9, 1))
    assert [(problem.id, problem.place) for problem in page.problems] == [("unclosed-code-block", Place(9, 1))]


# Text


@pytest.mark.parametrize(
    ("lines", "line", "column"),
    [
        ("\u2028\nAxis is small.", 8, 1),
        ("\u2028\nAxis is\nsmall.", 8, 1),
        ("\xa0\n\u2028\n  *Axis* is\nsmall.", 9, 4),
        ("> \u2028\n> Axis is\n> small.", 8, 3),
        ("### Axis ###", 7, 5),
        ("### Axis #####\nis small.\n\n### Axis ##", 10, 5),
        ("Words.\n\nAxis", 9, 1),
        ("Words.\n\n* Axis", 9, 3),
    ],
)
def test_where_text_starts_of_which_white_space_and_markers_are_left_out(lines: str, line: int, column: int) -> None:
    text = f"{FRONT}## Remarks\n\n{lines}"
    place = last_place(parsed(text))
    assert (place, at(text, place)[:4]) == (Place(line, column), "Axis")
    assert last_place(parsed(f"{text}\n\n\n")) == place


def test_a_text_is_read_up_to_a_length_and_beyond_it_quoted_as_it_stands() -> None:
    longest = "*a* " + "b" * (MAX_INLINE - 4)
    page = remarks(f"> * {longest}\n")
    assert page.problems == ()
    assert (page.remarks[0].text[:3], page.remarks[0].marked) == ("a b", ("a",))
    page = remarks(f"> * {longest}b\n")
    assert [(problem.id, problem.place) for problem in page.problems] == [("text-too-long", Place(7, 5))]
    assert page.problems[0].fragment.startswith("*a* bbb")
    (quoted,) = page.remarks
    assert (quoted.text[:7], quoted.place, quoted.marked) == ("*a* bbb", Place(7, 5), ())


# Headings and fields


def test_the_title_and_a_section_may_be_set_as_code() -> None:
    page = parsed("# `DML_X_OPERATOR_DESC`\n\nAdds up.\n\n## `Remarks`\n\nWords.\n")
    assert (page.title.text, page.operator) == ("DML_X_OPERATOR_DESC", "X")
    assert [quoted.text for quoted in page.remarks] == ["Words."]


def test_the_words_of_a_heading_within_a_note_name_no_part_of_the_page() -> None:
    page = parsed(f"{FRONT}## Struct fields\n\nWords.\n")
    assert [passage.section for passage in page.passages] == ["members", "members"]
    page = parsed(f"{FRONT}## Remarks\n\n> ## Struct fields\n>\n> Words.\n")
    assert "members" not in [passage.section for passage in page.passages]


@pytest.mark.parametrize(
    "line",
    [
        "(`Axis`)",
        "`Axis`:",
        "`Axis` `Other`",
        '`Axis` <span data-ttu-id="1">is small.</span>',
        '<span data-ttu-id="1">Small is</span> `Axis`',
        "* `Axis`",
        "1. `Axis`",
    ],
)
def test_only_a_name_that_stands_alone_starts_a_field(line: str) -> None:
    page = parsed(f"{FRONT}## Members\n\n`First`\n\nType: UINT\n\nWords.\n\n{line}\n")
    (member,) = page.members
    assert member.name.text == "First"
    assert "Axis" in " ".join(quoted.text for quoted in member.text)


# Tables


def test_dashes_that_are_not_below_the_first_row_leave_the_rows_without_a_header() -> None:
    rows = "| A | Input | 4 | INT8 |\n| B | Output | 4 | INT8 |\n| - |\n"
    page = parsed(f"{FRONT}## Tensor support\n\n{rows}")
    (table,) = page.tables
    assert (table.header, [row.tensor for row in table.rows]) == ((), ["A", "B"])
    assert [(problem.id, problem.place) for problem in page.problems] == [("broken-table", Place(7, 1))]


@pytest.mark.parametrize(
    ("cell", "text", "before"),
    [
        ("\\|Axis", "|Axis", "\\"),
        ("\\|\\|Axis", "||Axis", "\\"),
        ("\\|Axis\\|c", "|Axis|c", "\\"),
        ('<a name="a\\|b"></a>Axis', "Axis", '<a name="a\\|b"></a>'),
        ('<a name="a\\|b\\|cd"></a>*Axis*', "Axis", '<a name="a\\|b\\|cd"></a>*'),
    ],
)
def test_where_a_cell_starts_in_which_bars_are_escaped(cell: str, text: str, before: str) -> None:
    page = parsed(f"{FRONT}## Tensor support\n\n{COLUMNS}|-|-|-|-|\n| `A` | {cell} | 4 | INT8 |\n")
    (row,) = page.tables[0].rows
    assert [found.text for found in row.cells] == ["A", text, "4", "INT8"]
    assert row.cells[1].place == Place(9, len("| `A` | ") + len(before) + 1)


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | b |", [("a", 2), ("b", 6)]),
        ("a | b", [("a", 0), ("b", 4)]),
        ("  |a|b", [("a", 3), ("b", 5)]),
        ("a|b|  ", [("a", 0), ("b", 2)]),
        ("| a", [("a", 2)]),
        ("a |", [("a", 0)]),
        ("a", [("a", 0)]),
        ("| | a | |", [("", 2), ("a", 4), ("", 8)]),
        ("|", [("", 1)]),
        ("||", [("", 1)]),
        ("", [("", 0)]),
        ("a \\| b | \\c | \\\\| d", [("a \\| b", 0), ("\\c", 9), ("\\\\", 14), ("d", 18)]),
    ],
)
def test_the_cells_of_a_row(line: str, cells: list[tuple[str, int]]) -> None:
    assert split_row(line) == cells


# HTML


@pytest.mark.parametrize("end", ["", "\n", "\n\nWords.\n"])
@pytest.mark.parametrize("before", ["", "Words.\n\n"], ids=["even", "odd"])
def test_the_text_of_a_block_of_html_and_its_place(before: str, end: str) -> None:
    text = f"{FRONT}## Remarks\n\n{before}<div>One &amp;\n  <b>Two</b>  <i>\nThree</i>\n<p>Four</p></div>{end}"
    (found,) = (quoted for quoted in parsed(text).remarks if quoted.text != "Words.")
    assert (found.text, found.marked) == ("One & Two Three Four", ("Two", "Three"))
    assert found.place == Place(7 + before.count("\n"), 6)


@pytest.mark.parametrize("text", ["x < y and z", "a<3 and b", "a <- b"])
def test_a_sign_of_comparison_within_html_begins_no_tag(text: str) -> None:
    page = remarks(f"<p>{text}</p>\n")
    assert [remark.text for remark in page.remarks] == [text]


@pytest.mark.parametrize("code", ["- a\n\t`b c`", "* ```\n \tb c\n  ```", "-\t\tb c", "> \t\tb c", "1. \t \tb c"])
def test_code_behind_a_tab_that_belongs_to_a_mark_in_part_is_placed(code: str) -> None:
    text = f"{TITLE}\n{code}\n"
    blocks = read_markdown(PageText(text)).blocks
    last = blocks[-1]
    shown = last.content if isinstance(last, Code) else last.pieces[-1].shown
    assert text[shown.offset(shown.text.index("c"))] == "c"


@pytest.mark.parametrize("mark", ["", "> ", ">", "> > ", "  > "])
def test_a_table_may_stand_in_a_quotation(mark: str) -> None:
    rows = ("| Tensor | Supported data types |", "|-|-|", "| InputTensor | INT8, INT16 |")
    text = f"{TITLE}\n## Tensor support\n\n### DML_FEATURE_LEVEL_1_0\n\n" + "".join(f"{mark}{row}\n" for row in rows)
    (table,) = parsed(text).tables
    (row,) = table.rows
    assert row.data_types == ("INT8", "INT16")
    assert at(text, row.cells[0].place).startswith("InputTensor |")


# --- Inline markup of a page in Markdown: which text is shown, what of it is marked, and where each word of it stands


def pieces(text: str) -> tuple[Piece, ...]:
    """The pieces of a page that is one paragraph and nothing else."""
    (block,) = read_markdown(PageText(text)).blocks
    assert isinstance(block, Paragraph)
    return block.pieces


def remarks_of(line: str) -> tuple[Quoted, ...]:
    return parsed(f"{FRONT}## Remarks\n\n{line}\n").remarks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Emphasis, and stars and low lines that are none.
        ("a *b* c **d** e __f__ g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("***a** b* c", ["a", "b", "c"]),
        ("a 2**n ** b * c", ["a", "2**n", "**", "b", "*", "c"]),
        ("a `b` c ``d`` e `` f `` g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("a ` b `` c", ["a", "`", "b", "``", "c"]),
        # What is written otherwise stands where that starts; what follows it, behind it.
        (r"a \* b \[c d", ["a", r"\*", "b", r"\[c", "d"]),
        ("&lt;a b&nbsp;&ge; c &#65; d", ["&lt;a", "b", "&ge;", "c", "&#65;", "d"]),
        ("![a](/a.png) b ![c](/c.png) d", ["![a]", "b", "![c]", "d"]),
        # Links, and what is within them.
        ("a [b c](/x/b.c) d", ["a", "b", "c", "d"]),
        ("a [b **c** d](/x) e", ["a", "b", "c", "d", "e"]),
        ("a [`b` c `d`](/x) e", ["a", "b", "c", "d", "e"]),
        (r"a [b \* c](/x) d", ["a", "b", r"\*", "c", "d"]),
        ("a <https://x.test/> b <c@x.test> d", ["a", "https://x.test/", "b", "c@x.test", "d"]),
        ("a [b <https://x.test/> c](/y) d", ["a", "b", "https://x.test/", "c", "d"]),
        # Tags and comments.
        ("a <b>b</b> c <!-- x -->d<i>e</i> f", ["a", "b", "c", "d<i>e", "f"]),
        ("a <a href='/x'>b</a> c", ["a", "b", "c"]),
        # Lines; spaces at both ends of a line are none of its text.
        ("a\nb  \nc\\\n  d", ["a", "b", "c", "d"]),
        ("`a` \nb", ["a", "b"]),
        ("`a`  \nb", ["a", "b"]),
        ("`a`   \n  b c", ["a", "b", "c"]),
        ("`a` \n<b>b</b> c", ["a", "b", "c"]),
        ("`a` \n*b* c", ["a", "b", "c"]),
        ("`a` \n**b** c", ["a", "b", "c"]),
        ("`a` \n*b", ["a", "*b"]),
        ("[`a`  \nb](/x) c", ["a", "b", "c"]),
    ],
)
def test_every_word_stands_where_its_place_says(text: str, words: list[str]) -> None:
    """`words` are what stands in the file where each word starts; one that is shown as it stands is there whole."""
    (piece,) = pieces(text)
    found = list(re.finditer(r"\S+", piece.text))
    assert len(found) == len(words)
    for match, word in zip(found, words, strict=True):
        assert text.startswith(word, piece.shown.offset(match.start()))
        if match.group() == word:
            offsets = [piece.shown.offset(index) for index in range(match.start(), match.end())]
            assert offsets == list(range(offsets[0], offsets[0] + len(word)))


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("*Axis* is _small_.", ("Axis", "small")),
        ("**Axis** is __small__.", ("Axis", "small")),
        ("`Axis` is small.", ("Axis",)),
        ("<b>Axis</b> is small.", ("Axis",)),
        ("<i>Axis</i> is small.", ("Axis",)),
        ("<em>Axis</em> is small.", ("Axis",)),
        ("<strong>Axis</strong> is small.", ("Axis",)),
        ("<code>Axis</code> is small.", ("Axis",)),
        ("<STRONG>Axis</STRONG> is small.", ("Axis",)),
        ("<b>Axis *is* <code>small</code></b>.", ("Axis is small",)),
        ("<u>Axis</u> is <sub>small</sub>.", ()),
        ("<b/>*Axis* is small.", ("Axis",)),
        # A tag is a space only where it ends a line.
        ("Axis<br>is<br />small.", ()),
        ("Ax<b>is</b> is<!-- not shown --> sm<a href='/x'>a</a>ll<?php?>.", ("is",)),
        ('<a href="/x">Axis</a> is <abbr>small</abbr>.', ()),
    ],
)
def test_marks_are_those_of_markdown_and_of_html(line: str, marked: tuple[str, ...]) -> None:
    (quoted,) = remarks_of(f"So {line}")
    assert (quoted.text, quoted.marked) == ("So Axis is small.", marked)


ORIGINAL = '<span class="sxs-lookup">'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # Other spans are neither shown text nor original.
        ('<span class="x">Uno</span> due.', [("Uno due.", None)]),
        ('<span data-ttu-id="1"><span class="x">Uno</span> due.</span>', [("Uno due.", None)]),
        (
            f'<span data-ttu-id="1">Uno <span>due</span>.</span>{ORIGINAL}One <span>two</span>.</span>',
            [("Uno due.", "One two.")],
        ),
        # Either of the two spans around an original says that it is one.
        ('<span data-ttu-id="1">Uno.</span><span data-stu-id="1">One.</span>', [("Uno.", "One.")]),
        (f'<span data-ttu-id="1">Uno.</span>{ORIGINAL}One.</span>', [("Uno.", "One.")]),
        ('<span data-ttu-id="1">Uno.</span><span class="a sxs-lookup b">One.</span>', [("Uno.", "One.")]),
        # The outer one ends it.
        (
            f'<span data-ttu-id="1">Uno due.</span>{ORIGINAL}<span data-stu-id="1">One</span> two.</span>',
            [("Uno due.", "One two.")],
        ),
        (
            f'<span data-ttu-id="1">Uno.</span>{ORIGINAL}One.</span> Due.',
            [("Uno.", "One."), ("Due.", None)],
        ),
        ('<p><span data-ttu-id="1"><span data-stu-id="1">One.</span>Uno.</span></p>', [("Uno.", "One.")]),
        # An original alone stands between the texts around it.
        (f"Uno. {ORIGINAL}Two.</span> Tre.", [("Uno.", None), ("", "Two."), ("Tre.", None)]),
        # An empty span holds nothing, least of all what follows it.
        ('<span data-stu-id="1"/>Uno.', [("Uno.", None)]),
        ('Uno <span data-ttu-id="1"/>due.', [("Uno due.", None)]),
        (f'<span data-ttu-id="1">Uno<span/> due.</span>{ORIGINAL}One two.</span>', [("Uno due.", "One two.")]),
    ],
)
def test_shown_text_and_originals_are_told_by_their_spans(line: str, expected: list[tuple[str, str | None]]) -> None:
    assert [(quoted.text, quoted.original) for quoted in remarks_of(line)] == expected


@pytest.mark.parametrize(
    ("anchors", "section"),
    [
        ('<a name="tensor-support"></a>', "support"),
        ('<a id="tensor-support"></a>', "support"),
        ('<a name="remarks"></a><a name="tensor-support"></a>', "remarks"),
        ('<a href="/x"></a><a id="remarks"></a>', "remarks"),
        ('<a name="remarks" id="tensor-support"></a>', "remarks"),
        ("<a></a>", "other"),
    ],
)
def test_the_first_anchor_of_a_heading_names_its_section(anchors: str, section: str) -> None:
    page = parsed(f"{FRONT}## {anchors}Qaybta\n\nWords.\n")
    assert [passage.section for passage in page.passages] == [section, section]


def test_inline_markup_is_parsed_once_and_only_in_runs_of_bounded_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes time that can grow with the square of the length."""
    parse, runs = ParserInline.parse, list[str]()

    def noted(self: ParserInline, src: str, *others: object) -> object:
        runs.append(src)
        return parse(self, src, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(ParserInline, "parse", noted)
    page = parsed(f"{FRONT}## *Remarks*\n\nOne **two**.\n\n{'a*' * MAX_INLINE}\n\n- `Three`.\n")
    assert runs == ["*Remarks*", "One **two**.", "`Three`."]
    assert [problem.id for problem in page.problems] == ["text-too-long"]


@pytest.mark.parametrize(("address", "found"), [("dml_tile", ["link-elsewhere"]), ("dml_gather", []), ("dml_x", [])])
def test_a_link_leads_to_the_structure_that_its_text_names(address: str, found: list[str]) -> None:
    name = "DML_X_OPERATOR_DESC" if address == "dml_x" else "DML_GATHER_OPERATOR_DESC"
    text = f"{FRONT}# DML_X_OPERATOR_DESC structure\n\nSee [{name}](ns-directml-{address}_operator_desc.md).\n"
    page = parsed(text)
    assert [problem.id for problem in page.problems] == found
    assert [at(text, problem.place)[: len(name)] for problem in page.problems] == [name] * len(found)
