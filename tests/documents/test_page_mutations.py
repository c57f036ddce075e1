"""Pages with one fault more: single cells, rows, columns and lines changed in the file, as an author or a translator
could have done it. Every fault in a table or an example is reported.

Every mutation is made on the lines that the page model names. In a page that carries its English original a text can be
changed in two ways: alone, or the original with it. A mutation is reported if the checks of the page yield a finding
that they did not yield before, or if the file is refused as no page.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations, zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from pages_support import OWN_PAGES
from places import SHARED

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.read import Page, PageError, parse_page
from dml_conformance.documents.read.model import LevelRow, LevelTable
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators

# The published pages are not this project's to ship; where they lie beside the checkout they are mutated too.
PUBLISHED = sorted(path for path in (SHARED / "spec-pages").glob("*.*") if path.name != "README.md")
WORDS = {"ru-RU": "ЗНАЧЕНИЕМ", "zh-TW": "數值", "zh-CN": "数值", "ja-JP": "値", "it-IT": "valore"}
TYPES = [data_type.name for data_type in DataType if data_type is not DataType.UNKNOWN]
NUMBER = re.compile(r"(?<![\w.])\d+(?!\d|[._]\d)(?![^<>]*>)")
TYPE = re.compile(r"(?<![A-Z])(?:FLOAT|U?INT)\d+\b(?:\s*[,，、]\s*)?")

own_pages = pytest.mark.parametrize("path", OWN_PAGES, ids=lambda path: path.name)
# The published pages take long, so they come with the slow tests.
all_pages = pytest.mark.parametrize(
    "path",
    [*OWN_PAGES, *(pytest.param(path, marks=pytest.mark.slow, id=f"published {path.name}") for path in PUBLISHED)],
    ids=lambda path: path.name,
)

Findings = Counter[tuple[str, str, str, str]]


class Mutation(NamedTuple):
    """One change of a page: what was done, to what, and the file afterwards."""

    kind: str
    where: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.kind} at {self.where}"


class Source:
    """The file of a page, changed a line at a time."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.page = parse_page(self.data, path.name)
        self.lines = self.data.decode().split("\n")
        self.word = WORDS.get(self.page.language or "", "value")

    def mutation(self, kind: str, where: str, start: int, end: int, *lines: str) -> Mutation:
        """The lines from `start` to `end`, counted from 1, replaced."""
        return Mutation(kind, where, "\n".join([*self.lines[: start - 1], *lines, *self.lines[end:]]).encode())

    def edited(self, where: str, number: int, edits: Iterable[tuple[str, str]]) -> Iterator[Mutation]:
        return (self.mutation(kind, where, number, number, line) for kind, line in edits)

    def moved(self, what: str, where: str, start: int, end: int, following: int | None = None) -> Iterator[Mutation]:
        """Lines dropped, doubled and swapped with another one."""
        lines = self.lines[start - 1 : end]
        yield self.mutation(f"{what} dropped", where, start, end)
        yield self.mutation(f"{what} doubled", where, end + 1, end, "", *lines)
        if following is not None:
            swapped = (self.lines[following - 1], *self.lines[end : following - 1], *lines)
            yield self.mutation(f"{what}s swapped", where, start, following, *swapped)


def substitutions(line: str, pattern: re.Pattern[str], new: Callable[[str], str]) -> Iterator[str]:
    """The line with one match replaced, each in turn, and with all that are the same: text and original together."""
    found = [match for match in pattern.finditer(line) if new(match[0]) != match[0]]
    for match in found:
        yield line[: match.start()] + new(match[0]) + line[match.end() :]
    for text, count in Counter(match[0] for match in found).items():
        if count > 1:
            yield pattern.sub(lambda match, text=text: new(text) if match[0] == text else match[0], line)


def number_edits(line: str) -> Iterator[tuple[str, str]]:
    for delta in (1, -1):
        yield from (("number", new) for new in substitutions(line, NUMBER, lambda text, d=delta: str(int(text) + d)))


def type_edits(line: str, word: str) -> Iterator[tuple[str, str]]:
    """Data types replaced, by a word, misspelled, in small letters, added, doubled and dropped."""
    absent = next(name for name in TYPES if name not in re.findall(r"[A-Z]+\d+", line))
    edits: dict[str, Callable[[str], str]] = {
        "replaced": lambda text: re.sub(r"\w+", absent, text),
        "by a word": lambda text: re.sub(r"\w+", word, text),
        "misspelled": lambda text: re.sub(r"\w\b", "1", text),
        "in small letters": lambda text: text.lower(),
        "added": lambda text: f"{absent}, {text}",
        "doubled": lambda text: f"{text.rstrip(' ,，、')}, {text}",
        "dropped": lambda text: "",
    }
    for kind, edit in edits.items():
        yield from ((f"type {kind}", new) for new in substitutions(line, TYPE, edit))


# --- Tables -------------------------------------------------------------------------------------------------------


def table_mutations(source: Source) -> Iterator[Mutation]:
    """Every mutation of a meaningful cell of the level tables, and of their rows, columns and headings."""
    for table in source.page.tables:
        rows = table.rows
        for row, following in zip_longest(rows, rows[1:]):
            number, line = row.place.line, source.lines[row.place.line - 1]
            where = f"{table.level}/{row.cells[0].english}"
            for edits in (number_edits(line), type_edits(line, source.word), cell_edits(line, table, row, source.word)):
                yield from source.edited(where, number, edits)
            yield from source.moved("row", where, number, number, following and following.place.line)
        yield from column_mutations(source, table)
        yield from heading_mutations(source, table)


def cell_edits(line: str, table: LevelTable, row: LevelRow, word: str) -> Iterator[tuple[str, str]]:
    """Cells emptied, by a word or by another row's, alone or with their originals; cells dropped and swapped."""
    for index, cell in enumerate(row.cells):
        others = {other.cells[index].english: other.cells[index] for other in table.rows}
        others.pop(cell.english, None)
        is_name = table.columns[index] in ("tensor", "kind")
        new = [("emptied", "", None), ("by a word", word, "Value")]
        new += [("of another row", other.text, other.original) for other in others.values() if is_name]
        start, end = cell.place.column - 1, cell.place.column - 1 + len(cell.text)
        for kind, shown, original in new:
            yield f"cell {kind}", line[:start] + shown + line[end:]
            if cell.original is not None and original is not None:
                rest = line[end:].replace(f">{cell.original}<", f">{original}<", 1)
                yield f"cell {kind}, with the original", line[:start] + shown + rest
    separator = "|" if "|" in line else " "
    cells = line.split("|") if "|" in line else [cell.text for cell in row.cells]
    columns = range(int(line.startswith("|")), int(line.startswith("|")) + len(table.columns))
    for at in columns:
        yield "cell dropped", separator.join([*cells[:at], *cells[at + 1 :]])
    for one, other in combinations(columns, 2):
        swapped = list(cells)
        swapped[one], swapped[other] = cells[other], cells[one]
        yield "cells swapped", separator.join(swapped)


def column_mutations(source: Source, table: LevelTable) -> Iterator[Mutation]:
    first, last = table.header[0].place.line if table.header else 0, table.rows[-1].place.line
    lines = [line.split("|") for line in source.lines[first - 1 : last]]
    if not first or len(lines[0]) == 1:
        return
    for at, column in enumerate(table.columns):
        new = ("|".join(cell for n, cell in enumerate(cells) if n != at + (not cells[0])) for cells in lines)
        yield source.mutation("column dropped", f"{table.level}/{column}", first, last, *new)


def heading_mutations(source: Source, table: LevelTable) -> Iterator[Mutation]:
    where, number = f"{table.level}/heading", table.heading.place.line
    taken = {other.level for other in source.page.tables}
    for label in (next(level.label for level in Level if level.label not in taken), "9_9"):
        named = re.compile(rf"(?<=LEVEL_){table.level}")
        lines = list(substitutions(source.lines[number - 1], named, lambda _, label=label: label))
        # As it is shown, and with the original.
        for line in dict.fromkeys((lines[0], lines[-1])):
            yield source.mutation("level changed", where, number, number, line)
    yield source.mutation("heading dropped", where, number, number)
    yield from source.moved("table", where, number, table.rows[-1].place.line)


def example_mutations(source: Source) -> Iterator[Mutation]:
    """Every number and type of the worked examples; a figure in the text need not be whole."""
    for example in source.page.examples:
        for number in range(example.place.line, example.last_line + 1) if example.number else ():
            code, slashes, comment = source.lines[number - 1].partition("//")
            for match in re.finditer(r"(?<![A-Za-z\d])\d+|\b(?:FLOAT|U?INT)\d+", code):
                new = str(int(match[0]) + 1) if match[0].isdigit() else "FLOAT16" if match[0] == "INT8" else "INT8"
                line = code[: match.start()] + new + code[match.end() :] + slashes + comment
                yield source.mutation("example", f"example {example.number}, line {number}", number, number, line)


# --- What is reported ---------------------------------------------------------------------------------------------


def findings(page: Page) -> Findings:
    """What the checks say of a page, wherever on it."""
    return Counter((f.id, str(f.severity), f.found, f.expected) for f in check_pages([page]).findings)


@cache
def original(path: Path) -> tuple[Source, Findings]:
    source = Source(path)
    return source, findings(source.page)


@own_pages
def test_own_pages_have_no_error(path: Path) -> None:
    assert [finding for finding in original(path)[1] if finding[1] == Severity.ERROR] == []


def unreported(path: Path, mutations: Iterable[Mutation]) -> list[Mutation]:
    source, before = original(path)
    found = []
    for mutation in mutations:
        try:
            after = findings(parse_page(mutation.data, path.name))
        except PageError:
            continue
        # A fault that is gone was one before: such a change repairs the page.
        if mutation.data != source.data and not (after - before) and not after < before:
            found.append(mutation)
    return found


def some(mutations: Iterable[Mutation], of_each_kind: int) -> list[Mutation]:
    """The first and last of each kind, evenly in between."""
    by_kind: defaultdict[tuple[str, str], list[Mutation]] = defaultdict(list)
    for mutation in mutations:
        by_kind[mutation.kind, mutation.where.rpartition("/")[2]].append(mutation)
    steps = ((of_kind, max(1, (len(of_kind) - 1) // max(1, of_each_kind - 1))) for of_kind in by_kind.values())
    return [mutation for of_kind, step in steps for mutation in of_kind[::step][:of_each_kind]]


def can_be_known(mutation: Mutation, page: Page) -> bool:
    """Whether anything on the page or in the registry contradicts what was changed.

    That input stands for output, in the text and its original alike, shows in the registry or another table only. A
    page's only table needs no heading: it holds from the operator's introduction.
    """
    known = page.operator in operators() or len(page.tables) > 1
    return known or mutation.kind not in ("cell of another row, with the original", "heading dropped")


@pytest.mark.few(2, 4)
@own_pages
def test_mutations_of_every_kind_in_the_tables_are_reported(path: Path) -> None:
    mutations = [m for m in some(table_mutations(original(path)[0]), 1) if can_be_known(m, original(path)[0].page)]
    assert len(mutations) > 30
    assert list(map(str, unreported(path, mutations))) == []


@pytest.mark.few(0, 3)
@all_pages
def test_many_mutations_of_the_tables_are_reported(path: Path, is_exhaustive: bool) -> None:
    source, _ = original(path)
    mutations = [mutation for mutation in table_mutations(source) if can_be_known(mutation, source.page)]
    assert list(map(str, unreported(path, mutations if is_exhaustive else some(mutations, 5)))) == []


def elements(value: object) -> list[object]:
    """The elements of nested lists."""
    return [element for item in value for element in elements(item)] if isinstance(value, list) else [value]


def changes_nothing(mutation: Mutation, page: Page) -> bool:
    """Whether an example is still right: the element is not read, or a dimension of size 1 is counted now or not."""
    for before, after in zip(page.examples, parse_page(mutation.data, page.path).examples, strict=True):
        changed = [name for name, value in after.attributes.items() if value.value != before.attributes[name].value]
        if changed:
            return all(name.endswith("DimensionCount") for name in changed)
        tensors = {tensor.label.text: tensor for tensor in before.tensors}
        for tensor in after.tensors:
            old, output = tensors[tensor.label.text].values, tensors["OutputTensor"].values
            if tensor.label.text == "InputTensor" and tensor.values and old and output and tensor.values != old:
                pairs = zip(elements(old.value), elements(tensor.values.value), strict=True)
                return not {one for one, other in pairs if one != other} & {*elements(output.value)}
    return False


@pytest.mark.few(2, 6)
@all_pages
def test_mutations_of_examples_are_reported(path: Path) -> None:
    source, _ = original(path)
    if source.page.operator not in operators():
        pytest.skip("an operator that is not in the registry is not run")
    mutations = list(example_mutations(source))
    left = unreported(path, mutations)
    assert [str(mutation) for mutation in left if not changes_nothing(mutation, source.page)] == []
    assert len(mutations) - len(left) > 20
