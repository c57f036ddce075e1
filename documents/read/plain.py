"""Reads a page scraped as plain text: headings, lists, tables and code lost their markup, some of it its lines.

Every line gets a role, the surest first: the structure, the fields and their types, the tables of the levels, code;
then the headings, by their words or by what stands below them. What is left is prose, in which a line that ends no
sentence goes on in the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from dml_conformance.documents.read import words
from dml_conformance.documents.read.markdown import split_row
from dml_conformance.documents.read.pieces import (
    Block,
    Code,
    Contents,
    FieldHeading,
    Grid,
    Heading,
    Paragraph,
    Piece,
    PlacedText,
    PlacedTextBuilder,
    placed_lines,
    shown,
)
from dml_conformance.documents.read.source import PageText
from dml_conformance.documents.read.syntax import STRUCTURE, is_structure, read_structure

_LONGEST_LINE = 20_000
_LONGEST_HEADING = 100
_LONGEST_ROW_HEAD = 80
_LONGEST_STRUCTURE = 200

_ITEM = re.compile(r"\s*[•·‣◦*\-–]\s+")
_NAME = re.compile(r"[A-Za-z]\w*")
_TYPE = re.compile(r"[^:]{1,30}:\s*(?:const\s+)?[A-Za-z][A-Za-z0-9_]*\s*\*{0,2}")
_COMMENT = re.compile(r"//.*")
_ENTRY = re.compile(r"([^\W\d]\w*(?:\.\w+)?)\s*[:=]\s*(?:[\[({]|[+-]?\.?\d|[A-Z]+[_0-9][A-Z0-9_]*$|(?:true|false)$)")
_FORMULA = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\]]*\])*\s*=\s*[\x20-\x7e]+")
_VALUES = re.compile(r"[\s\[\]{}(),.\d+\-eE]+")
_PROSE = re.compile(r"[a-z]{2,} [a-z]{2,}")
_SEPARATOR = re.compile(r"[\s|:]*-[\s|:-]*")
_DIGIT = re.compile(r"(?<![A-Za-z0-9_])\d")
_BRACKETS = {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}


class _Role(Enum):
    STRUCTURE = auto()
    TITLE = auto()
    FIELD = auto()
    TYPE = auto()
    LEVEL = auto()
    TABLE = auto()
    CODE = auto()
    HEADING = auto()
    EXAMPLE_TITLE = auto()


def read_plain(document: PageText) -> Contents:
    """The blocks of a page in plain text."""
    what = f"a line of more than {_LONGEST_LINE} characters; the rest of it is not read"
    for line, start in zip(document.lines, document.starts, strict=True):
        if len(line) > _LONGEST_LINE:
            document.problem("text-too-long", what, line, start)
    return Contents({}, (), tuple(_PlainReader(document).blocks()))


class _PlainReader:
    def __init__(self, document: PageText) -> None:
        self.document = document
        self.lines = [line[:_LONGEST_LINE] for line in document.lines]
        self.roles: list[_Role | None] = [None] * len(self.lines)
        # What follows and precedes a line, blank lines left out; the number of lines where nothing does.
        self.following = self._neighbours(range(len(self.lines) - 1, -1, -1))
        self.preceding = self._neighbours(range(len(self.lines)))
        # The line after the last one of each, by its first line.
        self.code_regions: dict[int, int] = {}
        self.table_regions: dict[int, int] = {}
        self._find_structure()
        self._find_fields()
        self._find_tables()
        self._find_code()
        self._find_headings()

    def _neighbours(self, order: Iterable[int]) -> list[int]:
        found, last = [len(self.lines)] * len(self.lines), len(self.lines)
        for number in order:
            found[number] = last
            if self.lines[number].strip():
                last = number
        return found

    def _line(self, number: int) -> str:
        return self.lines[number].strip() if number < len(self.lines) else ""

    def _role(self, number: int) -> _Role | None:
        return self.roles[number] if number < len(self.lines) else None

    def _is_free(self, number: int) -> bool:
        return number < len(self.lines) and self.roles[number] is None and bool(self.lines[number].strip())

    # Roles

    def _find_structure(self) -> None:
        self.structure_start = self.structure_end = -1
        self.names: frozenset[str] = frozenset()
        for number, line in enumerate(self.lines):
            if is_structure(line):
                self.structure_start = number
                self.structure_end = self._end_of_structure(number)
                content = self._code_of(number, self.structure_end)
                self.names = frozenset(d.name for d in read_structure(content, self.document).declarations)
                self.roles[number : self.structure_end + 1] = [_Role.STRUCTURE] * (self.structure_end + 1 - number)
                break
        titles = (n for n, line in enumerate(self.lines) if self.roles[n] is None and STRUCTURE.search(line))
        title = next(titles, len(self.lines))
        line = self._line(title)
        if line and len(line) <= _LONGEST_HEADING and not words.ends_sentence(line):
            self.roles[title] = _Role.TITLE

    def _end_of_structure(self, start: int) -> int:
        end = start
        for number in range(start, min(start + _LONGEST_STRUCTURE, len(self.lines))):
            line = self.lines[number]
            if "}" in line:
                return number
            if line.rstrip().endswith((";", "{")) or number == start:
                end = number
        return end

    def _find_fields(self) -> None:
        seen: set[str] = set()
        for number in range(self.structure_end + 1, len(self.lines)):
            name = self._line(number)
            if self.roles[number] is not None or not _NAME.fullmatch(name):
                continue
            following = self.following[number]
            is_typed = bool(_TYPE.fullmatch(words.half_width(self._line(following))))
            if (name in self.names and name not in seen) or (is_typed and not words.by_heading(name)):
                seen.add(name)
                self.roles[number] = _Role.FIELD
                if is_typed:
                    self.roles[following] = _Role.TYPE
        fields = [number for number, role in enumerate(self.roles) if role is _Role.FIELD]
        self.first_field = min(fields, default=-1)
        # Examples and what follows them stand after all this.
        self.end_of_fields = max(fields, default=self.structure_end)

    def _find_tables(self) -> None:
        for number in range(len(self.lines)):
            if self._is_level_heading(number):
                self.roles[number] = _Role.LEVEL
        number = 0
        while number < len(self.lines):
            starts = self.roles[number] is _Role.LEVEL
            first = self.following[number] if starts else number
            if starts or (self._is_free(number) and self._starts_table(number)):
                end = self.table_regions[first] = self._end_of_table(first)
                self.roles[first:end] = [_Role.TABLE] * (end - first)
                number = max(end, number + 1)
            else:
                number += 1

    def _is_level_heading(self, number: int) -> bool:
        line = self._line(number)
        if not self._is_free(number) or len(line) > _LONGEST_HEADING or not words.LEVEL.search(line):
            return False
        if words.ends_sentence(line) or _is_row(line):
            return False
        first, second, third = self._lines_after(number)
        if words.LEVEL.search(first):
            return False
        below_header = _is_row(second) or ("|" in second and _is_row(third))
        return _is_row(first) or (below_header and not words.ends_sentence(first))

    def _lines_after(self, number: int) -> Iterator[str]:
        """The next three lines, blank ones left out; "" for what is after the last one."""
        for _ in range(3):
            number = self.following[number] if number < len(self.lines) else number
            yield self._line(number)

    def _starts_table(self, number: int) -> bool:
        """Whether a table of no level starts here: with a row, or with a header above one."""
        line = self._line(number)
        if _is_row(line):
            return True
        is_header = line.count("|") > 1 or len(words.columns_in(line)) > 1
        return is_header and any(_is_row(self._line(n)) for n in (number + 1, number + 2) if self._is_free(n))

    def _end_of_table(self, first: int) -> int:
        number, rows = first, 0
        has_bars = any("|" in self._line(n) for n in (first, first + 1))
        while number < len(self.lines) and self._is_free(number) and not words.by_heading(self._line(number)):
            line = self._line(number)
            if rows and not ("|" in line if has_bars else _DIGIT.search(line) or words.data_types_in(line)):
                break
            rows += _is_row(line)
            number += 1
        return number

    def _find_code(self) -> None:
        starts = self._code_starts()
        number = 0
        while number < len(self.lines):
            if not starts[number]:
                number += 1
                continue
            end = self._end_of_code(number)
            if self._is_code(number, end):
                self.code_regions.update(self._calls(number, end))
                self.roles[number:end] = [_Role.CODE] * (end - number)
            number = end

    def _code_starts(self) -> list[bool]:
        """Whether code can start at each line: with an entry or an assignment, or with comments above one."""
        starts = [False] * (len(self.lines) + 1)
        for number in range(len(self.lines) - 1, -1, -1):
            if not self._is_free(number):
                continue
            line = words.half_width(self._line(number))
            if line.startswith("//"):
                starts[number] = starts[self.following[number]]
            else:
                starts[number] = bool(_ENTRY.match(line) or _FORMULA.fullmatch(_COMMENT.sub("", line).strip()))
        return starts

    def _end_of_code(self, start: int) -> int:
        """The line after the last one of the code that starts here; blank lines within it belong to it."""
        number = end = start
        depth = 0
        while number < len(self.lines):
            if not self.lines[number].strip():
                number = self.following[number]
                continue
            line = words.half_width(self._line(number))
            bare = _COMMENT.sub("", line).strip()
            is_entry = bool(_ENTRY.match(line) or _FORMULA.fullmatch(bare))
            goes_on = depth > 0 and bare.isascii() and not _PROSE.search(bare) and not words.by_heading(bare)
            is_code = is_entry or goes_on or not bare or bool(_VALUES.fullmatch(bare))
            if not self._is_free(number) or not is_code or _ITEM.match(line):
                break
            depth = (0 if is_entry else depth) + sum(_BRACKETS.get(character, 0) for character in bare)
            number, end = number + 1, number + 1
        return max(end, start + 1)

    def _is_code(self, start: int, end: int) -> bool:
        """A lone `name: number` is prose; code holds a list, a tensor or an assignment."""
        return any(
            "=" in line or any(bracket in line for bracket in "[{(")
            for line in map(words.half_width, self.lines[start:end])
        )

    def _calls(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The code cut where a second call starts: a name that stood before the tensors of the first comes again."""
        seen: set[str] = set()
        has_tensors = False
        for number in range(start, end):
            line = words.half_width(self._line(number))
            entry = _ENTRY.match(line)
            if entry is None:
                continue
            if "(" in line[: entry.end()]:
                has_tensors = True
            elif has_tensors and entry.group(1) in seen:
                yield start, number
                start, seen, has_tensors = number, {entry.group(1)}, False
            else:
                seen.add(entry.group(1))
        yield start, end

    def _find_headings(self) -> None:
        """Headings by their words; without known ones what stands before the structure, fields, examples and tables.

        Which section such a heading starts is told by what follows it, as in Markdown.
        """
        for number in range(len(self.lines)):
            if self._could_be_heading(number) and words.by_heading(self._line(number)):
                self.roles[number] = _Role.HEADING
        self._heading_before(self.structure_start)
        self._heading_before(self.first_field)
        after = self.end_of_fields
        calls = [start for start in self.code_regions if start > after and self._has_tensors(start)]
        titles = [self.preceding[start] for start in calls if self._could_be_heading(self.preceding[start], after)]
        for title in titles:
            self.roles[title] = _Role.EXAMPLE_TITLE
        if titles and titles[0] == self.preceding[calls[0]]:
            is_found = any(words.by_heading(self._line(n)) == "examples" for n in self._headings())
            if is_found or words.example_number(self._line(titles[0])) is not None:
                self._heading_before(titles[0], after)
            else:
                self.roles[titles[0]] = _Role.HEADING
        if self.table_regions:
            first_table = next(iter(self.table_regions))
            level = self.preceding[first_table]
            self._heading_before(level if self._role(level) is _Role.LEVEL else first_table, after)

    def _headings(self) -> Iterator[int]:
        return (number for number, role in enumerate(self.roles) if role is _Role.HEADING)

    def _has_tensors(self, start: int) -> bool:
        lines = self.lines[start : self.code_regions[start]]
        return any(re.search(r":\s*\(", words.half_width(line)) for line in lines)

    def _could_be_heading(self, number: int, after: int = -1) -> bool:
        if number <= after or not self._is_free(number):
            return False
        line = self._line(number)
        return (
            len(line) <= _LONGEST_HEADING
            and not words.ends_sentence(line)
            and "|" not in line
            and not _ITEM.match(line)
            and any(character.isalpha() for character in line)
        )

    def _heading_before(self, number: int, after: int = -1) -> None:
        """What stands before this line is a heading, where it can be one."""
        if number >= 0 and self._could_be_heading(self.preceding[number], after):
            self.roles[self.preceding[number]] = _Role.HEADING

    # Blocks

    def blocks(self) -> Iterator[Block]:
        ends = {**self.code_regions, **self.table_regions, self.structure_start: self.structure_end + 1}
        number = 0
        while number < len(self.lines):
            end = max(ends.get(number, 0), number + 1)
            if self._is_free(number):
                end = self._end_of_prose(number)
                yield self._paragraph(number, end)
            elif self.roles[number] is not None:
                yield self._block(number, end)
            number = end

    def _block(self, number: int, end: int) -> Block:
        """What starts at a line that has a role."""
        match self.roles[number]:
            case _Role.STRUCTURE | _Role.CODE:
                return self._code_block(number, end)
            case _Role.TABLE:
                return self._grid(number, end)
            case _Role.TYPE:
                return Paragraph((self._piece(number),))
            case _Role.FIELD:
                return FieldHeading(self._piece(number))
            case _Role.TITLE:
                return Heading(1, self._piece(number))
            case _Role.HEADING:
                return Heading(2, self._piece(number))
            case _:
                return Heading(3, self._piece(number))

    def _end_of_prose(self, start: int) -> int:
        end = start + 1
        while self._is_free(end) and not words.ends_sentence(self.lines[end - 1]) and not _ITEM.match(self.lines[end]):
            end += 1
        return end

    def _paragraph(self, start: int, end: int) -> Paragraph:
        item = _ITEM.match(self.lines[start])
        builder = PlacedTextBuilder()
        for number in range(start, end):
            skipped = item.end() if item is not None and number == start else 0
            builder.add(self.lines[number][skipped:] + "\n", self.document.starts[number] + skipped)
        return Paragraph((Piece(builder.built()),), is_item=item is not None)

    def _piece(self, number: int, start: int = 0, end: int | None = None) -> Piece:
        return Piece(shown(self.lines[number][start:end], self.document.starts[number] + start))

    def _code_of(self, start: int, last: int) -> PlacedText:
        return placed_lines([(self.lines[n], self.document.starts[n]) for n in range(start, last + 1)])

    def _code_block(self, start: int, end: int) -> Code:
        while not self.lines[end - 1].strip():
            end -= 1
        return Code(self._code_of(start, end - 1), start + 1, end)

    def _grid(self, start: int, end: int) -> Grid:
        header: tuple[Piece, ...] = ()
        rows: list[tuple[Piece, ...]] = []
        for number in range(start, end):
            line = self.lines[number]
            if _SEPARATOR.fullmatch(line):
                continue
            is_header = not rows and not header and not _is_row(line) and not _DIGIT.search(line)
            if "|" in line:
                spans = [(at, at + len(text)) for text, at in split_row(line)]
            else:
                spans = _header_spans(line.rstrip()) if is_header else _row_spans(line.rstrip())
            cells = tuple(self._piece(number, *span) for span in spans)
            if is_header:
                header = cells
            else:
                rows.append(cells)
        return Grid(header, tuple(rows))


def _header_spans(line: str) -> list[tuple[int, int]]:
    """Where the headers stand that run together in a line; the whole line where they cannot be told apart."""
    lead = len(line) - len(line.lstrip())
    spans = [(lead + start, lead + end) for start, end, _ in words.columns_in(line[lead:])]
    if spans:
        return spans
    spans = [match.span() for match in re.finditer(r"\S+", line)]
    return spans if 3 <= len(spans) <= 4 else [(lead, len(line))]


def _row_spans(line: str) -> list[tuple[int, int]]:
    """Where the cells stand that run together in a line, told apart by what they hold; a lost one has no text."""
    first = len(line) - len(line.lstrip())
    name_end = next((i for i in range(first, len(line)) if line[i].isspace()), len(line))
    types = next((start for start, _ in words.data_types_in(line) if start >= name_end), None)
    end = len(line) if types is None else types
    digit = _DIGIT.search(words.half_width(line), name_end, end)
    counts = end if digit is None else name_end + words.numbers_start(line[name_end : digit.start()])
    if types is None and digit is not None:  # they end with the last word that they can be read to, if any
        ends = [digit.start() + word.end() for word in re.finditer(r"\S+", line[digit.start() :])]
        readable = [end for end in ends if words.numbers(line[digit.start() : end]) is not None]
        end = max(readable, default=ends[0])
    kind = words.kind_at_end(line[first:counts])
    name_end = name_end if kind is None else first + kind
    return [(first, name_end), (name_end, counts), (counts, end), (end, len(line))]


def _is_row(line: str) -> bool:
    """Whether a line is a row of a level's table: it ends in a list of data types, or has cells and one of them."""
    spans = words.data_types_in(line)
    if not spans:
        return False
    if line.count("|") > 1:
        return True
    tail = words.names(line[spans[0][0] :])
    head = line[: spans[0][0]].strip()
    if words.ends_sentence(line) and not _DIGIT.search(words.half_width(head)) and words.kind_at_end(head) is None:
        return False
    is_list = len(tail) == len(spans) and words.half_width(line).rstrip(" ,.").endswith(tail[-1])
    return is_list and 0 < len(head) <= _LONGEST_ROW_HEAD and not words.ends_sentence(head) and ":" not in head
