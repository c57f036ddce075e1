"""Pages with one fault more: single cells, rows, columns and lines changed in the file, as an author or a translator
could have done it.

Every mutation is made on the bytes of the page at a place that the page model names, so the places are tested too. In a
page that carries its English original a cell can be changed in two ways: only the text that is shown, or the original
with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from dml_conformance.documents.read.model import LevelRow, LevelTable, Page, Place, Quoted
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level

WORDS = {"ru-RU": "ЗНАЧЕНИЕМ", "zh-TW": "數值", "zh-CN": "数值", "ja-JP": "値", "it-IT": "valore"}
_TYPES = [data_type.name for data_type in DataType if data_type is not DataType.UNKNOWN]
_SEPARATOR = re.compile(r"\s*[,，、]\s*")
_INTERVAL = re.compile(r"[\[(][`*\s]*(\d+)[`*]*,[^\[\](),]*[\])]")
_HIDDEN = re.compile(r'(<span class="sxs-lookup"><span[^>]*>)(.*?)(</span></span>)')


@dataclass(frozen=True)
class Mutation:
    """One change of a page.

    Attributes:
        kind: what was done: `type dropped`.
        where: to what: `4_1/InputTensor/data_types`.
        data: the file afterwards.
    """

    kind: str
    where: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.kind} at {self.where}"


class Source:
    """The file of a page, changed a piece at a time."""

    def __init__(self, data: bytes, page: Page) -> None:
        self.page = page
        self.lines = data.decode().split("\n")
        self.word = WORDS.get(page.language or "", "value")

    def with_lines(self, start: int, end: int, *lines: str) -> bytes:
        """The file with the lines from `start` to before `end`, counted from 0, replaced."""
        return "\n".join([*self.lines[:start], *lines, *self.lines[end:]]).encode()

    def with_text(self, place: Place, old: str, new: str) -> bytes:
        """The file with `old`, which must stand at the place, replaced by `new`."""
        line, start = self.lines[place.line - 1], place.column - 1
        assert line.startswith(old, start), f"{old!r} does not stand at {place}: {line[start : start + 80]!r}"
        return self.with_lines(place.line - 1, place.line, line[:start] + new + line[start + len(old) :])

    def line(self, place: Place) -> str:
        return self.lines[place.line - 1]


class Change(NamedTuple):
    """New texts of a cell: as shown, and of its original."""

    kind: str
    shown: str
    original: str | None


def table_mutations(data: bytes, page: Page) -> Iterator[Mutation]:
    """Every mutation of a meaningful cell of the level tables, and of their rows, columns and headings."""
    source = Source(data, page)
    for table in page.tables:
        for row in table.rows:
            yield from _cell_mutations(source, table, row)
        yield from _row_mutations(source, table)
        yield from _column_mutations(source, table)
        yield from _heading_mutations(source, table)


def _name(table: LevelTable, row: LevelRow, column: str = "") -> str:
    return f"{table.level}/{row.cells[0].english}" + (f"/{column}" if column else "")


def _cell_mutations(source: Source, table: LevelTable, row: LevelRow) -> Iterator[Mutation]:
    changes: dict[str, Callable[[Source, LevelTable, Quoted], Iterator[Change]]] = {
        "tensor": _tensor_changes,
        "kind": _kind_changes,
        "dimension_counts": _count_changes,
        "data_types": _type_changes,
    }
    for column, cell in zip(table.columns, row.cells, strict=True):
        where = _name(table, row, column)
        for change in changes[column](source, table, cell):
            yield Mutation(change.kind, where, source.with_text(cell.place, cell.text, change.shown))
            if cell.original is not None and change.original is not None:
                yield Mutation(f"{change.kind}, with the original", where, _both(source, cell, change))
        yield Mutation("cell emptied", where, source.with_text(cell.place, cell.text, ""))
        yield Mutation(
            "cell dropped", where, _with_cells(source, row, lambda cells, c=column: _without(cells, table, c))
        )
    for (column, _), (other, _) in _pairs_of_cells(table, row):
        where = _name(table, row, f"{column} and {other}")
        yield Mutation(
            "cells swapped", where, _with_cells(source, row, lambda cells, a=column, b=other: _swap(cells, table, a, b))
        )


def _pairs_of_cells(table: LevelTable, row: LevelRow) -> Iterator[tuple[tuple[str, Quoted], tuple[str, Quoted]]]:
    cells = list(zip(table.columns, row.cells, strict=True))
    for number, first in enumerate(cells):
        for second in cells[number + 1 :]:
            yield first, second


def _both(source: Source, cell: Quoted, change: Change) -> bytes:
    """The shown text and the hidden original right behind it replaced."""
    line, start = source.line(cell.place), cell.place.column - 1
    rest = line[start + len(cell.text) :]
    hidden = _HIDDEN.search(rest)
    assert hidden[2] == cell.original, f"no original {cell.original!r} at {cell.place}"
    rest = rest[: hidden.start(2)] + (change.original or "") + rest[hidden.end(2) :]
    return source.with_lines(cell.place.line - 1, cell.place.line, line[:start] + change.shown + rest)


def _tensor_changes(source: Source, table: LevelTable, cell: Quoted) -> Iterator[Change]:
    others = [row.cells[0] for row in table.rows if row.cells[0].english != cell.english]
    for other in others:
        yield Change("tensor renamed", other.text, other.original)
    yield Change("tensor by a word", source.word, "Value")
    yield Change("tensor misspelled", cell.text[1:], None if cell.original is None else cell.original[1:])


def _kind_changes(source: Source, table: LevelTable, cell: Quoted) -> Iterator[Change]:
    at = table.columns.index("kind")
    other = next((row.cells[at] for row in table.rows if row.cells[at].english != cell.english), None)
    if other is not None:
        yield Change("input for output", other.text, other.original)
    yield Change("kind by a word", source.word, "Value")


def _count_changes(source: Source, table: LevelTable, cell: Quoted) -> Iterator[Change]:
    for number in re.finditer(r"\d+", cell.text):
        for delta in (1, -1):
            shown, original = (
                None
                if text is None
                else _nth_number(text, cell.text[: number.start()].count(number[0]), number[0], delta)
                for text in (cell.text, cell.original)
            )
            assert shown is not None
            yield Change("count changed", shown, original)
    yield Change("counts by a word", source.word, "some")
    if cell.text.isdigit():
        yield Change("count made a range", f"1-{cell.text}", None if cell.original is None else f"1 to {cell.original}")
    else:
        yield Change("range made a count", re.findall(r"\d+", cell.text)[-1], re.findall(r"\d+", cell.english)[-1])


def _nth_number(text: str, nth: int, number: str, delta: int) -> str:
    found = [match for match in re.finditer(r"\d+", text) if match[0] == number][nth]
    return text[: found.start()] + str(int(number) + delta) + text[found.end() :]


def _type_changes(source: Source, table: LevelTable, cell: Quoted) -> Iterator[Change]:
    separator = _SEPARATOR.search(cell.text)
    between = "、" if separator is None and source.page.language in ("zh-TW", "ja-JP") else ", "
    between = between if separator is None else separator[0]
    names = _SEPARATOR.split(cell.text)
    hidden = None if cell.original is None else _SEPARATOR.split(cell.original)
    absent = [name for name in _TYPES if name not in names]

    def change(kind: str, edit: Callable[[list[str]], list[str]]) -> Change:
        return Change(kind, between.join(edit(names)), None if hidden is None else ", ".join(edit(hidden)))

    for number, name in enumerate(names):
        if len(names) > 1:
            yield change("type dropped", lambda of, n=number: [*of[:n], *of[n + 1 :]])
        new = absent[number % len(absent)]
        yield change("type replaced", lambda of, n=number, t=new: [*of[:n], t, *of[n + 1 :]])
        yield change("type by a word", lambda of, n=number: [*of[:n], source.word, *of[n + 1 :]])
        yield change("type misspelled", lambda of, n=number, t=name: [*of[:n], t[:-1] + "1", *of[n + 1 :]])
        yield change("type in small letters", lambda of, n=number, t=name: [*of[:n], t.lower(), *of[n + 1 :]])
        yield change("type doubled", lambda of, t=name: [*of, t])
    for name in absent:
        yield change("type added", lambda of, t=name: [*of, t])
    if len(names) > 1:
        yield Change("separator dropped", cell.text.replace(separator[0] if separator else "", "", 1), None)


# Rows and columns: the raw cells between the pipes of a Markdown row, or the texts of a row that has none.


def _with_cells(source: Source, row: LevelRow, edit: Callable[[list[str]], list[str]]) -> bytes:
    line = source.line(row.place)
    if "|" in line:
        head, *cells, tail = [""] * (not line.startswith("|")) + line.split("|")
        if tail.strip():
            cells, tail = [*cells, tail], ""
        new = "|".join([head, *edit(cells), tail]) if line.startswith("|") else "|".join([*edit(cells), tail])
    else:
        new = " ".join(edit([cell.text for cell in row.cells]))
    return source.with_lines(row.place.line - 1, row.place.line, new)


def _without(cells: list[str], table: LevelTable, column: str) -> list[str]:
    at = table.columns.index(column)
    return [*cells[:at], *cells[at + 1 :]]


def _swap(cells: list[str], table: LevelTable, first: str, second: str) -> list[str]:
    a, b = table.columns.index(first), table.columns.index(second)
    swapped = list(cells)
    swapped[a], swapped[b] = cells[b], cells[a]
    return swapped


def _row_mutations(source: Source, table: LevelTable) -> Iterator[Mutation]:
    for row in table.rows:
        at = row.place.line - 1
        yield Mutation("row dropped", _name(table, row), source.with_lines(at, at + 1))
        yield Mutation("row doubled", _name(table, row), source.with_lines(at, at, source.lines[at]))
    for row, following in pairwise(table.rows):
        at = row.place.line - 1
        assert following.place.line == at + 2
        lines = (source.lines[at + 1], source.lines[at])
        yield Mutation("rows swapped", _name(table, row), source.with_lines(at, at + 2, *lines))


def _column_mutations(source: Source, table: LevelTable) -> Iterator[Mutation]:
    if not table.header or "|" not in source.line(table.header[0].place):
        return
    first, last = table.header[0].place.line - 1, table.rows[-1].place.line
    for at, column in enumerate(table.columns):
        lines = []
        for line in source.lines[first:last]:
            offset = 1 if line.startswith("|") else 0
            cells = line.split("|")
            lines.append("|".join([*cells[: at + offset], *cells[at + offset + 1 :]]))
        yield Mutation("column dropped", f"{table.level}/{column}", source.with_lines(first, last, *lines))


def _heading_mutations(source: Source, table: LevelTable) -> Iterator[Mutation]:
    heading, where = table.heading, f"{table.level}/heading"
    assert table.level is not None
    taken = {other.level for other in source.page.tables}
    free = next(level.label for level in Level if level.label not in taken)
    at = heading.place.line - 1
    line = source.lines[at]
    for kind, label in (("level changed", free), ("level unknown", "9_9")):
        new = line.replace(f"LEVEL_{table.level}", f"LEVEL_{label}", 1)
        assert new != line
        yield Mutation(kind, where, source.with_lines(at, at + 1, new))
        if heading.original is not None:
            every = line.replace(f"LEVEL_{table.level}", f"LEVEL_{label}")
            yield Mutation(f"{kind}, with the original", where, source.with_lines(at, at + 1, every))
    yield Mutation("heading dropped", where, source.with_lines(at, at + 1))
    end = table.rows[-1].place.line
    yield Mutation("table dropped", where, source.with_lines(at, end))
    yield Mutation("table doubled", where, source.with_lines(end, end, "", *source.lines[at:end]))


def syntax_mutations(data: bytes, page: Page) -> Iterator[Mutation]:
    """Declarations, headings of sections and type lines, examples, intervals, introduction."""
    source = Source(data, page)
    yield from _declaration_mutations(source)
    yield from _member_mutations(source)
    yield from _range_mutations(source)
    yield from _availability_mutations(source)


def _declaration_mutations(source: Source) -> Iterator[Mutation]:
    declarations = source.page.declarations
    for declaration in declarations:
        where, at = f"syntax/{declaration.name}", declaration.place.line - 1
        line = source.lines[at]
        yield Mutation("field renamed", where, source.with_lines(at, at + 1, line.replace(declaration.name, "Other")))
        yield Mutation("field dropped", where, source.with_lines(at, at + 1))
        yield Mutation("field doubled", where, source.with_lines(at, at, line))
        if declaration.type == "UINT":
            yield Mutation("type of a field", where, source.with_lines(at, at + 1, line.replace("UINT", "INT")))
        else:
            yield Mutation("star dropped", where, source.with_lines(at, at + 1, line.replace("*", "")))
            yield Mutation("const dropped", where, source.with_lines(at, at + 1, line.replace("const ", "")))
    for first, second in pairwise(declarations):
        at, other = first.place.line - 1, second.place.line - 1
        lines = (source.lines[other], *source.lines[at + 1 : other], source.lines[at])
        yield Mutation("fields swapped", f"syntax/{first.name}", source.with_lines(at, other + 1, *lines))


def _member_mutations(source: Source) -> Iterator[Mutation]:
    for member in source.page.members:
        where, place = f"members/{member.name.english}", member.name.place
        yield Mutation("section renamed", where, source.with_text(place, member.name.text, "Other"))
        yield Mutation("section's heading dropped", where, source.with_lines(place.line - 1, place.line))
        if member.type_line is None:
            continue
        at = member.type_line.place.line - 1
        line = source.lines[at]
        old, new = ("UINT", "INT") if "UINT" in line else ("DML_TENSOR_DESC", "DML_BUFFER_DESC")
        yield Mutation("type of a section", where, source.with_lines(at, at + 1, line.replace(old, new, 1)))
        yield Mutation("type line dropped", where, source.with_lines(at, at + 1))


def _range_mutations(source: Source) -> Iterator[Mutation]:
    """Intervals as shown and in the original, which stand in one line."""
    for member in source.page.members:
        where = f"members/{member.name.english}/range"
        for at in dict.fromkeys(interval.place.line for interval in member.ranges):
            line = source.lines[at - 1]

            def edited(position: int, new: str, line: str = line, at: int = at) -> bytes:
                return source.with_lines(at - 1, at, line[:position] + new + line[position + 1 :])

            for match in _INTERVAL.finditer(line):
                opening, closing = match.start(), match.end() - 1
                yield Mutation("bracket opened or closed", where, edited(closing, {"]": ")", ")": "]"}[line[closing]]))
                yield Mutation("bracket opened or closed", where, edited(opening, {"[": "(", "(": "["}[line[opening]]))
                yield Mutation("bound changed", where, edited(match.start(1), str(int(match[1][0]) + 1)))


def _availability_mutations(source: Source) -> Iterator[Mutation]:
    label = f"DML_FEATURE_LEVEL_{source.page.introduced_in}"
    for quoted in source.page.availability:
        for at in range(quoted.place.line - 1, min(quoted.place.line + 2, len(source.lines))):
            line = source.lines[at]
            if label in line:
                for kind, new in (("introduction changed", "DML_FEATURE_LEVEL_6_4"), ("introduction dropped", "")):
                    yield Mutation(kind, "availability", source.with_lines(at, at + 1, line.replace(label, new, 1)))
                return


def example_mutations(data: bytes, page: Page) -> Iterator[Mutation]:
    """Every number and type of the worked examples."""
    source = Source(data, page)
    for example in page.examples:
        if example.number == 0:
            continue  # a figure in the text: it need not be whole
        for number in range(example.place.line - 1, example.last_line):
            line = source.lines[number]
            code = line.partition("//")[0]
            where = f"example {example.number}, line {number + 1}"
            for match in re.finditer(r"(?<![A-Za-z\d])\d+", code):
                new = f"{line[: match.start()]}{int(match[0]) + 1}{line[match.end() :]}"
                yield Mutation(
                    f"number in {_part(code, match.start())}", where, source.with_lines(number, number + 1, new)
                )
            for match in re.finditer(r"\b(?:FLOAT|U?INT)\d+", code):
                other = "INT8" if match[0] != "INT8" else "FLOAT16"
                new = line[: match.start()] + other + line[match.end() :]
                yield Mutation("type in an example", where, source.with_lines(number, number + 1, new))


def _part(code: str, at: int) -> str:
    before = code[:at]
    if "Sizes" in before and before.count("{") > before.count("}"):
        return "sizes"
    return "an attribute" if re.match(r"\s*\w+\s*[:=]", code) else "values"


def line_mutations(data: bytes) -> Iterator[Mutation]:
    """Every line dropped, doubled, and swapped with the next."""
    lines = data.decode().split("\n")
    for at, line in enumerate(lines):
        where = f"line {at + 1}"
        yield Mutation("line dropped", where, "\n".join([*lines[:at], *lines[at + 1 :]]).encode())
        yield Mutation("line doubled", where, "\n".join([*lines[:at], line, *lines[at:]]).encode())
        if at + 1 < len(lines):
            new = [*lines[:at], lines[at + 1], line, *lines[at + 2 :]]
            yield Mutation("lines swapped", where, "\n".join(new).encode())
