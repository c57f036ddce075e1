"""What the readers of Markdown and of plain text hand on: the blocks of a page, each piece of text with its origin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dml_conformance.documents.read.model import Place, Quoted
from dml_conformance.documents.read.source import PageText


@dataclass(frozen=True)
class PlacedText:
    """A text and, for each character, where in the file it comes from.

    Attributes:
        offsets: of the characters; of a text without any, where it would stand, if known.
        marks: (start, end) of what is set as code or emphasised.
    """

    text: str
    offsets: tuple[int, ...]
    marks: tuple[tuple[int, int], ...] = ()

    def offset(self, index: int) -> int:
        """The offset in the file of the character at `index`, of the last one where there is none."""
        return self.offsets[min(index, len(self.offsets) - 1)] if self.offsets else 0

    def part(self, start: int, end: int) -> PlacedText:
        """The characters from `start` to `end`, white space around them left out."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip())
        end = start + len(text.strip())
        marks = ((max(a, start) - start, min(b, end) - start) for a, b in self.marks if a < end and b > start)
        return PlacedText(self.text[start:end], self.offsets[start:end], tuple(marks))

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

    @property
    def offset(self) -> int:
        """Where it starts in the file: the original, where nothing else is left."""
        return (self.shown if self.shown.offsets or self.original is None else self.original).offset(0)

    def quoted(self, document: PageText) -> Quoted:
        return Quoted(
            text=self.shown.text,
            place=document.place(self.offset),
            original=None if self.original is None else self.original.text,
            marked=self.shown.marked,
            original_marked=() if self.original is None else self.original.marked,
        )


class PlacedTextBuilder:
    """Puts a `PlacedText` together, white space collapsed."""

    def __init__(self) -> None:
        self._characters: list[str] = []
        self._offsets: list[int] = []
        self._marks: list[tuple[int, int]] = []
        self._space: int | None = None
        self._open_marks: list[int] = []

    def add(self, text: str, offset: int) -> None:
        """Append a text whose characters stand in the file from `offset` on."""
        for place, character in enumerate(text, offset):
            if character.isspace():
                self._space = place if self._space is None else self._space
                continue
            if self._space is not None and self._characters:
                self._characters.append(" ")
                self._offsets.append(self._space)
            self._space = None
            self._characters.append(character)
            self._offsets.append(place)

    def open_mark(self) -> None:
        self._open_marks.append(len(self._characters))

    def close_mark(self) -> None:
        """End the mark opened last; one within another is part of the outer."""
        if self._open_marks:
            start = self._open_marks.pop()
            if not self._open_marks and start < len(self._characters):
                self._marks.append((start, len(self._characters)))

    def built(self) -> PlacedText:
        while self._open_marks:
            self.close_mark()
        text = "".join(self._characters)
        marks = tuple((start + (text[start] == " "), end) for start, end in self._marks)
        return PlacedText(text, tuple(self._offsets), marks)


def shown(text: str, offset: int) -> PlacedText:
    """A text that stands in the file as it is, white space collapsed."""
    builder = PlacedTextBuilder()
    builder.add(text, offset)
    return builder.built() if text.strip() else PlacedText("", (offset,))


def joined(pieces: Iterable[Piece]) -> Piece:
    """Several pieces as one, a space between them."""
    parts = list(pieces)
    if len(parts) == 1:
        return parts[0]
    originals = [piece.original for piece in parts if piece.original is not None]
    return Piece(_joined([piece.shown for piece in parts]), _joined(originals) if originals else None)


def _joined(parts: list[PlacedText]) -> PlacedText:
    text, offsets, marks = "", list[int](), list[tuple[int, int]]()
    for part in parts:
        if text and part.text:
            text += " "
            offsets.append(offsets[-1] + 1)
        marks += [(len(text) + start, len(text) + end) for start, end in part.marks]
        text += part.text
        offsets += part.offsets[: len(part.text)] if text else ()
    return PlacedText(text, tuple(offsets), tuple(marks))


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
class Contents:
    """A page as its reader hands it on; `front` holds the pieces of text of the front matter."""

    front_matter: dict[str, str]
    front: tuple[Piece, ...]
    blocks: tuple[Block, ...]


def placed_lines(lines: list[tuple[str, int]]) -> PlacedText:
    """Lines as they stand, joined by newlines, each with the offset of its first character."""
    offsets = (place for line, start in lines for place in range(start, start + len(line) + 1))
    return PlacedText("\n".join(line for line, _ in lines), tuple(offsets))


def place_of(document: PageText, content: PlacedText) -> Place:
    """Where the first character stands that is not white space."""
    return document.place(content.offset(len(content.text) - len(content.text.lstrip())))
