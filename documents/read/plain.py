"""Reads a page scraped as plain text: headings, lists, tables and code lost their markup, some of it its lines.

Every line gets a role, the surest first: the structure, the fields and their types, the tables of the levels, code;
then the headings, by their words or by what stands below them. What is left is prose, in which a line that ends no
sentence goes on in the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto

from dml_conformance.documents.read import blocks, words
from dml_conformance.documents.read.markdown import split_row
from dml_conformance.documents.read.source import PageText
from dml_conformance.documents.read.syntax import STRUCTURE, is_structure, read_structure, type_named

_LONGEST_LINE = 20_000
_LONGEST_HEADING = 100
_LONGEST_ROW_HEAD = 80
_LONGEST_STRUCTURE = 200

_ITEM = re.compile(r"\s*[•·‣◦*\-–]\s+")
_NAME = re.compile(r"[A-Za-z]\w*")
_COMMENT = re.compile(r"//.*")
_ENTRY = re.compile(r"([^\W\d]\w*(?:\.\w+)?)\s*[:=]\s*(?:[\[({]|[+-]?\.?\d|[A-Z]+[_0-9][A-Z0-9_]*$|(?:true|false)$)")
_FORMULA = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\]]*\])*\s*=\s*[\x20-\x7e]+")
_VALUES = re.compile(r"[\s\[\]{}(),.\d+\-eE]+")
_PROSE = re.compile(r"[a-z]{2,} [a-z]{2,}")
_SEPARATOR = re.compile(r"[\s|:]*-[\s|:-]*")
_DIGIT = re.compile(r"(?<![A-Za-z0-9_])\d")
_OPENING = re.compile(r"[=\[{(]")
_BRACKETS = {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}


class _Role(Enum):
    CODE = auto()  # or the structure
    TABLE = auto()
    FIELD = auto()
    TYPE = auto()
    TITLE = auto()
    HEADING = auto()
    LEVEL = auto()
    EXAMPLE_TITLE = auto()


# How deep a heading is; those that are not here stand within a section.
_DEPTHS = {_Role.TITLE: 1, _Role.HEADING: 2}


def read_plain(document: PageText) -> blocks.Contents:
    """The blocks of a page in plain text."""
    what = f"a line of more than {_LONGEST_LINE} characters; the rest of it is not read"
    for line, start in zip(document.lines, document.starts, strict=True):
        if len(line) > _LONGEST_LINE:
            document.problem("text-too-long", what, line, start)
    return blocks.Contents({}, (), tuple(_PlainReader(document).read()))


class _PlainReader:
    def __init__(self, document: PageText) -> None:
        self.document = document
        self.lines = [line[:_LONGEST_LINE] for line in document.lines]
        self.roles: list[_Role | None] = [None] * len(self.lines)
        # What follows and precedes a line, blank lines left out; the number of lines where nothing does.
        filled = [number for number, line in enumerate(self.lines) if line.strip()]
        self.following = dict(zip(filled, [*filled[1:], len(self.lines)], strict=True))
        self.preceding = dict(zip(filled, [len(self.lines), *filled], strict=False))
        # The line after the last one of each piece of code and each table, by its first line.
        self.ends: dict[int, int] = {}
        self._find_structure()
        self._find_fields()
        self._find_tables()
        self._find_code()
        self._find_headings()

    def _line(self, number: int) -> str:
        return self.lines[number].strip() if number < len(self.lines) else ""

    def _role(self, number: int) -> _Role | None:
        return self.roles[number] if number < len(self.lines) else None

    def _is_free(self, number: int) -> bool:
        return number < len(self.lines) and self.roles[number] is None and bool(self.lines[number].strip())

    # Roles

    def _find_structure(self) -> None:
        self.structure = next((n for n, line in enumerate(self.lines) if is_structure(line)), -1)
        self.names: frozenset[str] = frozenset()
        if self.structure >= 0:
            end = self._region(self.structure, self._end_of_structure(self.structure), _Role.CODE)
            content = self._code_of(self.structure, end)
            self.names = frozenset(d.name for d in read_structure(content, self.document)[1])
        titles = (n for n, line in enumerate(self.lines) if self.roles[n] is None and STRUCTURE.search(line))
        title = next(titles, len(self.lines))
        line = self._line(title)
        if line and len(line) <= _LONGEST_HEADING and not words.ends_sentence(line):
            self.roles[title] = _Role.TITLE

    def _region(self, start: int, end: int, role: _Role) -> int:
        """These lines have a role together; the line after the last one."""
        self.ends[start] = end
        self.roles[start:end] = [role] * (end - start)
        return end

    def _end_of_structure(self, start: int) -> int:
        end = start + 1
        for number in range(start, min(start + _LONGEST_STRUCTURE, len(self.lines))):
            line = self.lines[number]
            if "}" in line:
                return number + 1
            if line.rstrip().endswith((";", "{")):
                end = number + 1
        return end

    def _find_fields(self) -> None:
        seen: set[str] = set()
        first = self.ends.get(self.structure, 0)
        for number in range(first, len(self.lines)):
            name = self._line(number)
            if self.roles[number] is not None or not _NAME.fullmatch(name):
                continue
            following = self.following[number]
            is_typed = type_named(self._line(following)) is not None
            if (name in self.names and name not in seen) or (is_typed and not words.by_heading(name)):
                seen.add(name)
                self.roles[number] = _Role.FIELD
                if is_typed:
                    self.roles[following] = _Role.TYPE
        fields = [number for number, role in enumerate(self.roles) if role is _Role.FIELD]
        self.first_field = min(fields, default=-1)
        # Examples and what follows them stand after all this.
        self.end_of_fields = max(fields, default=first - 1)

    def _find_tables(self) -> None:
        for number in range(len(self.lines)):
            if self._is_level_heading(number):
                self.roles[number] = _Role.LEVEL
        number = 0
        while number < len(self.lines):
            starts = self.roles[number] is _Role.LEVEL
            first = self.following[number] if starts else number
            if starts or (self._is_free(number) and self._starts_table(number)):
                number = max(self._region(first, self._end_of_table(first), _Role.TABLE), number + 1)
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
        number = 0
        while number < len(self.lines):
            start, line = number, words.half_width(self._line(number))
            number += 1
            if self._is_free(start) and (_is_entry(line) or line.startswith("//")):
                number = self._end_of_code(start)
                lines = [words.half_width(line) for line in self.lines[start:number]]
                # A lone `name: number` is prose; code holds a list, a tensor or an assignment.
                if any(map(_is_entry, lines)) and any(map(_OPENING.search, lines)):
                    for first, end in self._calls(start, number):
                        self._region(first, end, _Role.CODE)

    def _end_of_code(self, start: int) -> int:
        """The line after the last one of the code that starts here; blank lines within it belong to it."""
        number = end = start
        depth = 0
        while number < len(self.lines):
            if not self.lines[number].strip():
                number += 1
                continue
            line = words.half_width(self._line(number))
            bare = _COMMENT.sub("", line).strip()
            is_entry = _is_entry(line)
            goes_on = depth > 0 and bare.isascii() and not _PROSE.search(bare) and not words.by_heading(bare)
            is_code = is_entry or goes_on or not bare or bool(_VALUES.fullmatch(bare))
            if not self._is_free(number) or not is_code or _ITEM.match(line):
                break
            depth = (0 if is_entry else depth) + sum(_BRACKETS.get(character, 0) for character in bare)
            number, end = number + 1, number + 1
        return max(end, start + 1)

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
        self._heading_before(self.structure)
        self._heading_before(self.first_field)
        after = self.end_of_fields
        calls = [start for start in self.ends if start > after and self._has_tensors(start)]
        titles = [self.preceding[start] for start in calls if self._could_be_heading(self.preceding[start], after)]
        for title in titles:
            self.roles[title] = _Role.EXAMPLE_TITLE
        if titles and titles[0] == self.preceding[calls[0]]:
            headings = [self._line(n) for n, role in enumerate(self.roles) if role is _Role.HEADING]
            is_numbered = words.example_number(self._line(titles[0])) is not None
            if is_numbered or "examples" in map(words.by_heading, headings):
                self._heading_before(titles[0], after)
            else:
                self.roles[titles[0]] = _Role.HEADING
        first_table = next((start for start in self.ends if self.roles[start] is _Role.TABLE), -1)
        level = self.preceding[first_table] if first_table >= 0 else -1
        is_level = level >= 0 and self._role(level) is _Role.LEVEL
        self._heading_before(level if is_level else first_table, after)

    def _has_tensors(self, start: int) -> bool:
        lines = self.lines[start : self.ends[start]]
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

    def read(self) -> Iterator[blocks.Block]:
        number = 0
        while number < len(self.lines):
            start, role = number, self.roles[number]
            number = max(self.ends.get(start, 0), start + 1)
            if self._is_free(start):
                number = self._end_of_prose(start)
                yield self._paragraph(start, number)
            elif role is _Role.CODE:
                yield self._code_block(start, number)
            elif role is _Role.TABLE:
                yield self._grid(start, number)
            elif role is not None:
                yield _heading(role, self._piece(start))

    def _end_of_prose(self, start: int) -> int:
        end = start + 1
        while self._is_free(end) and not words.ends_sentence(self.lines[end - 1]) and not _ITEM.match(self.lines[end]):
            end += 1
        return end

    def _paragraph(self, start: int, end: int) -> blocks.Paragraph:
        item = _ITEM.match(self.lines[start])
        builder = blocks.PlacedTextBuilder()
        for number in range(start, end):
            skipped = item.end() if item is not None and number == start else 0
            builder.add(self.lines[number][skipped:] + "\n", self.document.starts[number] + skipped)
        return blocks.Paragraph((blocks.Piece(builder.built()),), is_item=item is not None)

    def _piece(self, number: int, start: int = 0, end: int | None = None) -> blocks.Piece:
        return blocks.Piece(blocks.shown(self.lines[number][start:end], self.document.starts[number] + start))

    def _code_of(self, start: int, end: int) -> blocks.PlacedText:
        return blocks.placed_lines([(self.lines[n], self.document.starts[n]) for n in range(start, end)])

    def _code_block(self, start: int, end: int) -> blocks.Code:
        while not self.lines[end - 1].strip():
            end -= 1
        return blocks.Code(self._code_of(start, end), start + 1, end)

    def _grid(self, start: int, end: int) -> blocks.Grid:
        header: tuple[blocks.Piece, ...] = ()
        rows: list[tuple[blocks.Piece, ...]] = []
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
        return blocks.Grid(header, tuple(rows))


def _heading(role: _Role, piece: blocks.Piece) -> blocks.Block:
    """What a line alone is."""
    if role is _Role.TYPE:
        return blocks.Paragraph((piece,))
    return blocks.FieldHeading(piece) if role is _Role.FIELD else blocks.Heading(_DEPTHS.get(role, 3), piece)


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


def _is_entry(line: str) -> bool:
    """Whether a line is an entry of an example or an assignment, which only code holds."""
    line = words.half_width(line).strip()
    return bool(_ENTRY.match(line) or _FORMULA.fullmatch(_COMMENT.sub("", line).strip()))
