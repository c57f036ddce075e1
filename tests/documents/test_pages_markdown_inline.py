"""Inline markup of a page in Markdown: which text is shown, what of it is marked, and where each word of it stands."""

from __future__ import annotations

import re

import pytest
from markdown_it.parser_inline import ParserInline
from pages_support import FRONT, at, parsed

from dml_conformance.documents.read.markdown import MAX_INLINE, read_markdown
from dml_conformance.documents.read.model import Quoted
from dml_conformance.documents.read.pieces import Paragraph, Piece
from dml_conformance.documents.read.source import PageText


def pieces(text: str) -> tuple[Piece, ...]:
    """The pieces of a page that is one paragraph and nothing else."""
    (block,) = read_markdown(PageText(text)).blocks
    assert isinstance(block, Paragraph)
    return block.pieces


def remarks(line: str) -> tuple[Quoted, ...]:
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
    "line",
    [
        "See **this** and [that](/that/this) in",
        r"With \_Maybenull\_ and &lt; and ![it](/it.png) in",
        "From <https://example.org/> and `Axis`\nin",
        "<b>Axis</b> \n<i>is</i> in",
    ],
)
def test_an_interval_behind_markup_is_placed(line: str) -> None:
    text = f"{FRONT}## Members\n\n`A`\n\nType: UINT\n\n{line} [0, InputTensor.DimensionCount).\n"
    (interval,) = parsed(text).members[0].ranges
    assert at(text, interval.place) == "[0, InputTensor.DimensionCount)."


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
        ('<a href="/x">Axis</a> is <abbr>small</abbr>.', ()),
    ],
)
def test_marks_are_those_of_markdown_and_of_html(line: str, marked: tuple[str, ...]) -> None:
    (quoted,) = remarks(f"So {line}")
    assert (quoted.text, quoted.marked) == ("So Axis is small.", marked)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("One<br>two", "One two"),
        ("One<br/>two<br />three", "One two three"),
        ("On<b>e</b>, t<a href='/x'>w</a>o", "One, two"),
        ("On<!-- not shown -->e, t<?php?>wo", "One, two"),
        ("One</span> two</b>.", "One two."),
    ],
)
def test_a_tag_is_a_space_only_where_it_ends_a_line(line: str, text: str) -> None:
    assert [quoted.text for quoted in remarks(line)] == [text]
    assert [piece.text for piece in pieces(line)] == [text]


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
        # An original alone stands between the texts around it.
        (f"Uno. {ORIGINAL}Two.</span> Tre.", [("Uno.", None), ("", "Two."), ("Tre.", None)]),
        # An empty span holds nothing, least of all what follows it.
        ('<span data-stu-id="1"/>Uno.', [("Uno.", None)]),
        ('Uno <span data-ttu-id="1"/>due.', [("Uno due.", None)]),
    ],
)
def test_shown_text_and_originals_are_told_by_their_spans(line: str, expected: list[tuple[str, str | None]]) -> None:
    assert [(quoted.text, quoted.original) for quoted in remarks(line)] == expected


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


def test_a_span_that_closes_itself_closes_no_other() -> None:
    original = '<span class="sxs-lookup"><span data-stu-id="1">One two.</span></span>'
    (remark,) = remarks(f'<span data-ttu-id="1">Uno<span/> due.</span>{original}')
    assert (remark.text, remark.original) == ("Uno due.", "One two.")
