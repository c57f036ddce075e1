"""Reads a page in Markdown: the published form, with or without hidden originals, and the source form.

markdown-it-py parses, after the CommonMark specification with its tables. It places blocks by line only, so the text of
its inline tokens is looked for in the source, each behind the one before it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dml_conformance.documents.read import blocks
from dml_conformance.documents.read.model import Form
from dml_conformance.documents.read.source import PageText
from dml_conformance.documents.read.syntax import STRUCTURE

# Inline markup can take time that grows with the square of its length; no real paragraph has 2 000 characters.
MAX_INLINE = 8_000
# Cells of a row of a table; real ones have five.
_MOST_CELLS = 64
# Lines of front matter; real pages have some fifty.
_MAX_FRONT_MATTER = 400

_FRONT_VALUE = re.compile(r"^([\w.-]+):[ \t]*(?=[^\s\[])([\"']?)(|\S.*?)\2[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_ATX = re.compile(r" {0,3}#{1,6} +\S")
_NAME_ALONE = re.compile(r"`\w+`\s*")
_ALERT = re.compile(r"\[!\w+\]")
_SEPARATOR_CELL = re.compile(r":?-+:?")
_FIELD = re.compile(r"-field\s+")
_QUOTED = re.compile(r"(?:[ \t]*>[ \t]?)*")
_INLINE_MARKUP = re.compile(r"[*_`<\[&\\!\n]")
_MARKUP = re.compile(r"\A---[ \t]*$|^ {0,3}#{1,6} |<span data-|<a name=", re.MULTILINE)

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*)(?P<attributes>[^>]*?)(?P<empty>/?)>", re.DOTALL)
_ATTRIBUTE = re.compile(r"([\w-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_LINK_TARGET = re.compile(r"\]\([^)]*\)|\]\[[^\]]*\]")


def form_of(text: str) -> Form:
    """Whether a page is Markdown or text scraped from a page."""
    return Form.MARKDOWN if _MARKUP.search(text) else Form.TEXT


def read_markdown(document: PageText) -> blocks.Contents:
    """The blocks of a page in Markdown."""
    return _MarkdownReader(document).read()


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    # The first two join texts that stand apart in the source; inline markup is parsed run by run, within its bound.
    parser.disable(["fragments_join", "text_join", "inline"])
    return parser


class _Inline:
    """Turns the tokens of one run of text into pieces: what is shown, and the original that is hidden beside it."""

    _MARKS = frozenset({"b", "i", "em", "strong", "code"})

    def __init__(self, run: blocks.PlacedText, document: PageText) -> None:
        self._document = document
        self._source, self._offset, self._at = run.text, run.offset, 0
        self._pieces: list[blocks.Piece] = []
        self._spans: list[str] = []
        # What is read of a text with an original, of that, and of a text without one.
        self._texts = defaultdict[str, blocks.PlacedTextBuilder](blocks.PlacedTextBuilder)
        self._link = "", 0
        self.anchor = ""

    def read(self, tokens: list[Token]) -> tuple[blocks.Piece, ...]:
        for token in tokens:
            self._token(token)
        self._finish()
        self._flush_bare()
        return tuple(self._pieces)

    def _token(self, token: Token) -> None:
        target = self._target
        match token.type:
            case "html_inline":
                self._next(token.content)
                self._tag(token.content)
            case "em_open" | "strong_open":
                target.open_mark()
            case "em_close" | "strong_close":
                target.close_mark()
            case "link_open":
                self._link = str(token.attrs.get("href", "")), self._at
            case "link_close":
                self._end_of_link()
                behind = _LINK_TARGET.match(self._source, self._at)
                self._at = self._at if behind is None else behind.end()
            case "code_inline":
                target.open_mark()
                self._next(token.markup)
                self._at += self._source[self._at : self._at + 1].isspace() and token.content[:1] != " "
                target.add(token.content, self._offset(self._at))
                self._at += len(token.content)
                self._next(token.markup)
                target.close_mark()
            case "softbreak" | "hardbreak":
                target.add(" ", self._offset(self._next("\n")))
            case "image":
                target.add(token.content, self._offset(self._next("![")))
            case "text" | "text_special":
                target.add(token.content, self._offset(self._next(token.markup or token.content)))

    def _end_of_link(self) -> None:
        """A link whose text names a structure leads to that structure."""
        address, start = self._link
        text = self._source[start : self._at]
        named, target = STRUCTURE.search(text), STRUCTURE.search(address.upper())
        if named is not None and target is not None and named[1] != target[1]:
            what = f"a link that leads to {target[0]}"
            self._document.problem("link-elsewhere", what, named[0], self._offset(start + named.start()))

    def _next(self, text: str) -> int:
        """Where a text comes next in the source; the reader goes on behind it."""
        found = self._source.find(text, self._at)
        start = self._at if found < 0 else found
        self._at = start if found < 0 else start + len(text)
        return start

    @property
    def _target(self) -> blocks.PlacedTextBuilder:
        return self._texts[next((kind for kind in ("original", "shown") if kind in self._spans), "bare")]

    def _tag(self, text: str) -> None:
        tag = _TAG.fullmatch(text)
        if tag is None:
            return
        name, opens = tag["name"].lower(), not tag["end"]
        attributes = {key.lower(): "".join(values) for key, *values in _ATTRIBUTE.findall(tag["attributes"])}
        if name == "span":
            self._span(attributes, opens=opens, is_empty=bool(tag["empty"]))
        elif name == "a" and opens:
            self.anchor = self.anchor or attributes.get("name", attributes.get("id", ""))
        elif name == "br":
            self._target.add(" ", self._offset(0))
        elif name in self._MARKS:
            if not opens:
                self._target.close_mark()
            elif not tag["empty"]:
                self._target.open_mark()

    def _span(self, attributes: dict[str, str], *, opens: bool, is_empty: bool) -> None:
        if opens and not is_empty:
            if "data-ttu-id" in attributes:
                # They never nest: an open one was not closed.
                self._finish()
                self._flush_bare()
                self._spans = ["shown"]
            elif "data-stu-id" in attributes or "sxs-lookup" in attributes.get("class", "").split():
                self._spans.append("original")
            else:
                self._spans.append("other")
        elif not opens and self._spans:
            closed = self._spans.pop()
            if closed == "original" and not self._spans:
                self._finish()

    def _finish(self) -> None:
        """The shown text and its original are complete, or what is there of them."""
        text, original = (self._texts.pop(kind, blocks.PlacedTextBuilder()).built() for kind in ("shown", "original"))
        if original.text:
            self._flush_bare()
        if text.text or original.text:
            self._pieces.append(blocks.Piece(text, original if original.text else None))

    def _flush_bare(self) -> None:
        bare = self._texts.pop("bare", blocks.PlacedTextBuilder()).built()
        if any(character.isalnum() for character in bare.text):
            self._pieces.append(blocks.Piece(bare))


# The pieces of a run of text and the anchor among them.
_InlineText = tuple[tuple[blocks.Piece, ...], str]


class _MarkdownReader:
    def __init__(self, document: PageText) -> None:
        self.document = document
        self.blocks: list[blocks.Block] = []
        # The lines that markdown-it sees; as many as the page has, so that numbers agree.
        self.lines = list(document.lines)

    def read(self) -> blocks.Contents:
        values, front = self._front_matter()
        self._close_fences()
        tokens = _parser().parse("\n".join(self.lines))
        for index, token in enumerate(tokens):
            self._block(token, tokens, index)
        return blocks.Contents(values, tuple(front), tuple(self.blocks))

    def _front_matter(self) -> tuple[dict[str, str], list[blocks.Piece]]:
        """The plain values between the first two lines of dashes; the lines are blanked."""
        values: dict[str, str] = {}
        front: list[blocks.Piece] = []
        if self.lines[0].rstrip() != "---":
            return values, front
        end = next((i for i, line in enumerate(self.lines[1:_MAX_FRONT_MATTER], 1) if line.rstrip() == "---"), None)
        if end is None:
            what = "the front matter has no second line of dashes"
            self.document.problem("unclosed-front-matter", what, self.lines[0], 0)
            return values, front
        for match in _FRONT_VALUE.finditer(self.document.text, 0, self.document.starts[end]):
            values[match[1]] = match[3]
            if match[3] and match[1] in ("title", "description"):
                front.append(blocks.Piece(blocks.shown(match[3], match.start(3))))
        self.lines[: end + 1] = [""] * (end + 1)
        return values, front

    def _close_fences(self) -> None:
        """A block of code whose end is lost ends before what cannot be code, not at the end of the page.

        That is, below a blank line, a heading, a name set as code or the start of a block in a named language.
        """
        fence: tuple[str, int] | None = None
        for number, line in enumerate(self.lines):
            match = _FENCE.match(line)
            if fence is None:
                if match is not None:
                    fence = match.group(1), number
            elif match is not None and match.group(1).startswith(fence[0]) and not match.group(2).strip():
                fence = None
            elif not self.lines[number - 1].strip() and (match or _ATX.match(line) or _NAME_ALONE.fullmatch(line)):
                self._unclosed(fence[1])
                self.lines[number - 1] = fence[0]
                fence = (match.group(1), number) if match is not None else None
        if fence is not None:
            self._unclosed(fence[1])

    def _unclosed(self, number: int) -> None:
        what = "this block of code has no end"
        self.document.problem("unclosed-code-block", what, self.lines[number], self.document.starts[number])

    def _block(self, token: Token, tokens: list[Token], index: int) -> None:
        match token.type:
            case "heading_open":
                self._heading(token, tokens[index + 1])
            case "paragraph_open":
                is_item = tokens[index - 1].type == "list_item_open"
                self._paragraph(tokens[index + 1], is_item)
            case "fence" | "code_block":
                self._code(token)
            case "table_open" if token.map is not None:
                self._grid(*token.map)
            case "html_block" if token.map is not None:
                pieces, _ = self._pieces(self._placed(token.content.split("\n"), token.map[0]))
                if pieces:
                    self.blocks.append(blocks.Paragraph(pieces))

    def _pieces(self, run: blocks.PlacedText) -> _InlineText:
        content, start = run.text, run.offset(0)
        if len(content) > MAX_INLINE:
            what = f"a run of text of more than {MAX_INLINE} characters; its markup is not read"
            self.document.problem("text-too-long", what, content, start)
            return (blocks.Piece(blocks.shown(content[:MAX_INLINE], start)),), ""
        if not _INLINE_MARKUP.search(content):
            return (blocks.Piece(blocks.shown(content, start)),) if content.strip() else (), ""
        inline, parser = _Inline(run, self.document), _parser()
        return inline.read(parser.inline.parse(content, parser, {}, [])), inline.anchor

    def _inline(self, token: Token) -> _InlineText:
        """The pieces of the inline token of a heading or paragraph."""
        assert token.map is not None
        first, end = token.map
        lines = token.content.split("\n")
        # White space that is none to CommonMark (a line separator) is a line of a paragraph, and stripped from it.
        while first + 1 < end and not self.lines[first].rstrip().endswith(lines[0].rstrip()):
            first += 1
        return self._pieces(self._placed(lines, first))

    def _placed(self, lines: list[str], first: int) -> blocks.PlacedText:
        """Lines whose markers markdown-it has taken off, from a line of the file on."""
        placed = ((line, self._offset_in_line(line, number)) for number, line in enumerate(lines, first))
        return blocks.placed_lines([*placed])

    def _offset_in_line(self, content: str, number: int) -> int:
        """Where in the file the content of a line starts whose markers markdown-it has taken off."""
        line = self.lines[number] if number < len(self.lines) else ""
        whole, wanted = line.rstrip(), content.rstrip()
        # What a list's mark leaves of a tab is spaces in the content, which may so start before the line.
        at = len(whole) - len(wanted) if whole.endswith(wanted.lstrip()) else line.find(wanted)
        return self.document.starts[min(number, len(self.lines) - 1)] + at

    def _heading(self, token: Token, inline: Token) -> None:
        pieces, anchor = self._inline(inline)
        if not pieces:
            return
        piece = blocks.joined(pieces)
        field = _FIELD.match(piece.text)
        if field is not None:
            self.blocks.append(blocks.FieldHeading(blocks.Piece(piece.shown.part(field.end(), len(piece.text)))))
            return
        if token.tag > "h2" and _is_name(piece):
            self.blocks.append(blocks.FieldHeading(piece))
            return
        if not anchor and token.level == 0:
            anchor = "-".join(piece.english.casefold().split())
        self.blocks.append(blocks.Heading(int(token.tag[1:]), piece, anchor.casefold()))

    def _paragraph(self, inline: Token, is_item: bool) -> None:
        assert inline.map is not None
        first, end = inline.map
        if all(line.lstrip().startswith("|") for line in self.lines[first:end]):
            what = "a table without the row of dashes under its header, or with another number of columns in it"
            self.document.problem("broken-table", what, self.lines[first], self.document.starts[first])
            self._grid(first, end)
            return
        pieces = tuple(self._without_alert(piece) for piece in self._inline(inline)[0])
        pieces = tuple(piece for piece in pieces if piece.text or piece.original is not None)
        if not pieces:
            return
        if len(pieces) == 1 and _is_name(pieces[0]) and not is_item:
            self.blocks.append(blocks.FieldHeading(pieces[0]))
        else:
            self.blocks.append(blocks.Paragraph(pieces, is_item))

    @staticmethod
    def _without_alert(piece: blocks.Piece) -> blocks.Piece:
        match = _ALERT.match(piece.text)
        return piece if match is None else blocks.Piece(piece.shown.part(match.end(), len(piece.text)), piece.original)

    def _code(self, token: Token) -> None:
        assert token.map is not None
        lines = token.content.removesuffix("\n").split("\n")
        first = token.map[0] + (token.type == "fence")
        self.blocks.append(blocks.Code(self._placed(lines, first), first + 1, first + len(lines)))

    def _grid(self, first: int, end: int) -> None:
        rows: list[tuple[blocks.Piece, ...]] = []
        header: tuple[blocks.Piece, ...] = ()
        for number in range(first, end):
            cells = list(self._cells(number))
            if cells and all(_SEPARATOR_CELL.fullmatch(cell.text) for cell in cells):
                if len(rows) == 1 and not header:
                    header = rows.pop()
                continue
            rows.append(tuple(cells))
        self.blocks.append(blocks.Grid(header, tuple(rows)))

    def _cells(self, number: int) -> Iterator[blocks.Piece]:
        """The cells of a row; a cell without text is a piece without text."""
        line, start = self.lines[number], self.document.starts[number]
        quoted = _QUOTED.match(line)
        assert quoted is not None
        start += quoted.end()
        for text, at in split_row(line[quoted.end() :])[:_MOST_CELLS]:
            # A bar that is escaped loses its backslash before inline markup is read.
            kept = [n for n, character in enumerate(text) if character != "\\" or text[n + 1 : n + 2] != "|"]
            offsets = tuple(start + at + n for n in kept) or (start + at,)
            pieces, _ = self._pieces(blocks.PlacedText("".join(text[n] for n in kept), offsets))
            yield blocks.joined(pieces) if pieces else blocks.Piece(blocks.shown(text, start + at))


def _is_name(piece: blocks.Piece) -> bool:
    """Whether a piece is one word set as code."""
    return piece.shown.marks == ((0, len(piece.text)),) and not re.search(r"\s", piece.text)


def split_row(line: str) -> list[tuple[str, int]]:
    """The cells of a table's row with their columns, from 0; bars at both ends are left out, escaped ones kept."""
    cells, start = [], 0
    for match in re.finditer(r"\\.|\|", line):
        if match.group() == "|":
            cells.append((start, match.start()))
            start = match.end()
    cells.append((start, len(line)))
    if len(cells) > 1 and not line[slice(*cells[0])].strip():
        cells = cells[1:]
    if len(cells) > 1 and not line[slice(*cells[-1])].strip():
        cells = cells[:-1]
    trimmed = []
    for start, end in cells:
        text = line[start:end]
        trimmed.append((text.strip(), start + len(text) - len(text.lstrip())))
    return trimmed
