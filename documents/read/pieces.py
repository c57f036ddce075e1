"""What the readers of Markdown and of plain text hand on: the blocks of a page, each piece of text with its origin."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from dml_conformance.documents.read.model import Place, Quoted
from dml_conformance.documents.read.source import PageText

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class PlacedText:
    """A text and, for each character, where in the file it comes from.

    Attributes:
        spots: (index in `text`, offset in the file) where a run of adjacent characters starts, in order.
        marks: (start, end) of what is set as code or emphasised.
    """

    text: str
    spots: tuple[tuple[int, int], ...]
    marks: tuple[tuple[int, int], ...] = ()

    def offset(self, index: int) -> int:
        """The offset in the file of the character at `index`."""
        if not self.spots:
            return 0
        start, offset = self.spots[bisect_right(self.spots, index, key=lambda spot: spot[0]) - 1]
        return offset + index - start

    def part(self, start: int, end: int) -> PlacedText:
        """The characters from `start` to `end`, white space around them left out."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip())
        end = start + len(text.strip())
        spots = ((0, self.offset(start)), *((at - start, offset) for at, offset in self.spots if start < at < end))
        marks = ((max(a, start) - start, min(b, end) - start) for a, b in self.marks if a < end and b > start)
        return PlacedText(self.text[start:end], spots, tuple(marks))

    @property
    def marked(self) -> tuple[str, ...]:
        return tuple(self.text[start:end] for start, end in self.marks)


@dataclass(frozen=True)
class Piece:
    """A text as shown, with the original that stands beside it; the shown text is empty where only that is left."""

    shown: PlacedText
    original: PlacedText | None = None

    @property
    def text(self) -> str:
        return self.shown.text

    @property
    def english(self) -> str:
        return self.shown.text if self.original is None else self.original.text

    def quoted(self, document: PageText) -> Quoted:
        at_text = self.shown if self.shown.spots or self.original is None else self.original
        return Quoted(
            text=self.shown.text,
            place=document.place(at_text.offset(0)),
            original=None if self.original is None else self.original.text,
            marked=self.shown.marked,
            original_marked=() if self.original is None else self.original.marked,
        )


class PlacedTextBuilder:
    """Puts a `PlacedText` together, white space collapsed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._spots: list[tuple[int, int]] = []
        self._marks: list[tuple[int, int]] = []
        self._space = -1
        self._open_marks: list[int] = []

    def add(self, text: str, offset: int) -> None:
        """Append a text whose characters stand in the file from `offset` on."""
        end = 0
        for word in _WORD.finditer(text):
            if word.start() > end and self._space < 0:
                self._space = offset + end
            self._add_space()
            self._spots.append((self._length, offset + word.start()))
            self._append(word.group())
            end = word.end()
        if end < len(text) and self._space < 0:
            self._space = offset + end

    def open_mark(self) -> None:
        self._open_marks.append(self._length)

    def close_mark(self) -> None:
        """End the mark opened last; one within another is part of the outer."""
        if self._open_marks:
            start = self._open_marks.pop()
            if not self._open_marks and start < self._length:
                self._marks.append((start, self._length))

    def built(self) -> PlacedText:
        while self._open_marks:
            self.close_mark()
        text = "".join(self._parts)
        marks = tuple((start + (text[start] == " "), end) for start, end in self._marks)
        return PlacedText(text, tuple(self._spots), marks)

    def _add_space(self) -> None:
        if self._space >= 0 and self._length:
            self._spots.append((self._length, self._space))
            self._append(" ")
        self._space = -1

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def shown(text: str, offset: int) -> PlacedText:
    """A text that stands in the file as it is, white space collapsed."""
    if not text.strip():
        return PlacedText("", ((0, offset),))
    builder = PlacedTextBuilder()
    builder.add(text, offset)
    return builder.built()


def joined(pieces: Iterable[Piece]) -> Piece:
    """Several pieces as one, a space between them."""
    parts = list(pieces)
    if len(parts) == 1:
        return parts[0]
    originals = [piece.original for piece in parts if piece.original is not None]
    return Piece(_joined([piece.shown for piece in parts]), _joined(originals) if originals else None)


def _joined(parts: list[PlacedText]) -> PlacedText:
    text, spots, marks = "", [], []
    for part in parts:
        if text and part.text:
            text += " "
        spots += [(len(text) + at, offset) for at, offset in part.spots]
        marks += [(len(text) + start, len(text) + end) for start, end in part.marks]
        text += part.text
    return PlacedText(text, tuple(spots), tuple(marks))


@dataclass(frozen=True)
class Heading:
    """A heading; `anchor` is the name that the page gives it for links, in lower case, "" where it gives none."""

    level: int
    piece: Piece
    anchor: str = ""


@dataclass(frozen=True)
class FieldHeading:
    """A line that holds nothing but a name set as code, or the source form's `-field`: starts the text on a field."""

    piece: Piece


@dataclass(frozen=True)
class Paragraph:
    """Sentences; `is_item` for an item of a list."""

    pieces: tuple[Piece, ...]
    is_item: bool = False


@dataclass(frozen=True)
class Code:
    """A block of code, its lines joined by newlines; `line` and `last_line` are those of its content, from 1."""

    content: PlacedText
    line: int
    last_line: int


@dataclass(frozen=True)
class Grid:
    """A table; `header` may be empty."""

    header: tuple[Piece, ...]
    rows: tuple[tuple[Piece, ...], ...]


Block = Heading | FieldHeading | Paragraph | Code | Grid


@dataclass(frozen=True)
class Fault:
    """A problem at an offset in the file."""

    id: str
    what: str
    fragment: str
    offset: int


@dataclass(frozen=True)
class Contents:
    """A page as its reader hands it on; `front` holds the pieces of text of the front matter."""

    front_matter: dict[str, str]
    front: tuple[Piece, ...]
    blocks: tuple[Block, ...]
    faults: tuple[Fault, ...]


def placed_lines(lines: list[tuple[str, int]]) -> PlacedText:
    """Lines as they stand, joined by newlines, each with the offset of its first character."""
    starts = accumulate((len(line) + 1 for line, _ in lines), initial=0)
    spots = tuple((start, offset) for start, (_, offset) in zip(starts, lines, strict=False))
    return PlacedText("\n".join(line for line, _ in lines), spots)


def place_of(document: PageText, content: PlacedText) -> Place:
    """Where the first character stands that is not white space."""
    return document.place(content.offset(len(content.text) - len(content.text.lstrip())))
