"""Pages with one fault more: single cells, rows, columns and lines changed in the file, as an author or a translator
could have done it. Every fault in a table, a declaration, a section, an interval or an example is reported.

Every mutation is made on the bytes of the page at a place that the page model names, so the places are tested too. In a
page that carries its English original a cell can be changed in two ways: only the text that is shown, or the original
with it. A mutation is reported if the checks of the page yield a finding that they did not yield before, or if the file
is refused as no page.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from pages_support import OWN_PAGES
from places import SHARED

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.read import Page, PageError, parse_page
from dml_conformance.documents.read.model import LevelRow, LevelTable, Place, Quoted
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators

# The published pages are not this project's to ship; where they lie beside the checkout they are mutated too.
PUBLISHED = sorted(path for path in (SHARED / "spec-pages").glob("*.*") if path.name != "README.md")
WORDS = {"ru-RU": "ЗНАЧЕНИЕМ", "zh-TW": "數值", "zh-CN": "数值", "ja-JP": "値", "it-IT": "valore"}
TYPES = [data_type.name for data_type in DataType if data_type is not DataType.UNKNOWN]
SEPARATOR = re.compile(r"\s*[,，、]\s*")
INTERVAL = re.compile(r"[\[(][`*\s]*(\d+)[`*]*,[^\[\](),]*[\])]")
HIDDEN = re.compile(r'(<span class="sxs-lookup"><span[^>]*>)(.*?)(</span></span>)')

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
    """The file of a page, changed a piece at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        self.page = parse_page(self.data, path.name)
        self.lines = self.data.decode().split("\n")
        self.word = WORDS.get(self.page.language or "", "value")

    def with_lines(self, start: int, end: int, *lines: str) -> bytes:
        """The file with the lines from `start` to before `end`, counted from 0, replaced."""
        return "\n".join([*self.lines[:start], *lines, *self.lines[end:]]).encode()

    def with_line(self, place: Place, line: str) -> bytes:
        return self.with_lines(place.line - 1, place.line, line)

    def with_text(self, place: Place, old: str, new: str) -> bytes:
        """The file with `old`, which must stand at the place, replaced by `new`."""
        line, start = self.line(place), place.column - 1
        assert line.startswith(old, start), f"{old!r} does not stand at {place}: {line[start : start + 80]!r}"
        return self.with_line(place, line[:start] + new + line[start + len(old) :])

    def with_both(self, cell: Quoted, shown: str, original: str) -> bytes:
        """The shown text and the hidden original right behind it replaced."""
        line, start = self.line(cell.place), cell.place.column - 1
        rest = line[start + len(cell.text) :]
        hidden = HIDDEN.search(rest)
        assert hidden[2] == cell.original, f"no original {cell.original!r} at {cell.place}"
        rest = rest[: hidden.start(2)] + original + rest[hidden.end(2) :]
        return self.with_line(cell.place, line[:start] + shown + rest)

    def line(self, place: Place) -> str:
        return self.lines[place.line - 1]

    def replaced(self, kind: str, where: str, place: Place, *pairs: tuple[str, str]) -> Iterator[Mutation]:
        """The line of a place with each of these texts replaced, where it is there."""
        for old, new in pairs:
            if old in self.line(place):
                yield Mutation(kind, where, self.with_line(place, self.line(place).replace(old, new, 1)))

    def without_and_twice(self, what: str, where: str, start: int, end: int) -> Iterator[Mutation]:
        yield Mutation(f"{what} dropped", where, self.with_lines(start, end))
        yield Mutation(f"{what} doubled", where, self.with_lines(end, end, "", *self.lines[start:end]))


# --- Tables -------------------------------------------------------------------------------------------------------


def table_mutations(source: Source) -> Iterator[Mutation]:
    """Every mutation of a meaningful cell of the level tables, and of their rows, columns and headings."""
    for table in source.page.tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                yield from cell_mutations(source, table, row, column, cell)
            yield from raw_cell_mutations(source, table, row)
            where, at = f"{table.level}/row", row.place.line - 1
            yield Mutation("row dropped", where, source.with_lines(at, at + 1))
            yield Mutation("row doubled", where, source.with_lines(at, at, source.lines[at]))
        for row, following in pairwise(table.rows):
            lines = (source.line(following.place), source.line(row.place))
            yield Mutation("rows swapped", where, source.with_lines(row.place.line - 1, following.place.line, *lines))
        yield from column_mutations(source, table)
        yield from heading_mutations(source, table)


def cell_mutations(source: Source, table: LevelTable, row: LevelRow, column: str, cell: Quoted) -> Iterator[Mutation]:
    where = f"{table.level}/{row.cells[0].english}/{column}"
    changes = [("emptied", "", None), ("by a word", source.word, "Value")]
    others = (other.cells[table.columns.index(column)] for other in table.rows)
    if column in ("tensor", "kind"):
        changes += [("of another row", other.text, other.original) for other in others if other.english != cell.english]
    edits = {"tensor": tensor_edits, "dimension_counts": count_edits, "data_types": type_edits}.get(column)
    for kind, edit in edits(cell.text, source.word) if edits else ():
        changes.append((kind, edit(cell.text), None if cell.original is None else edit(cell.original)))
    for kind, shown, original in changes:
        yield Mutation(f"{column} {kind}", where, source.with_text(cell.place, cell.text, shown))
        if cell.original is not None and original is not None:
            yield Mutation(f"{column} {kind}, with the original", where, source.with_both(cell, shown, original))


Edits = Iterator[tuple[str, Callable[[str], str]]]


def tensor_edits(text: str, word: str) -> Edits:
    yield "misspelled", lambda text: text[1:]


def count_edits(text: str, word: str) -> Edits:
    for nth in range(len(re.findall(r"\d+", text))):
        for delta in (1, -1):
            yield "changed", lambda text, nth=nth, delta=delta: with_number(text, nth, delta)
    if text.isdigit():
        yield "made a range", lambda text: f"1-{text}"
    else:
        yield "made a count", lambda text: re.findall(r"\d+", text)[-1]


def with_number(text: str, nth: int, delta: int) -> str:
    """The text with one of its numbers changed; the original has the same ones, though not in this order."""
    numbers = list(re.finditer(r"\d+", text))
    number = sorted(numbers, key=lambda match: int(match[0]))[nth]
    return text[: number.start()] + str(int(number[0]) + delta) + text[number.end() :]


def type_edits(text: str, word: str) -> Edits:
    names = SEPARATOR.split(text)
    absent = [name for name in TYPES if name not in names]
    for number, name in enumerate(names):
        named = re.compile(rf"(?<![A-Z]){name}\b")
        new = {
            "replaced": absent[number % len(absent)],
            "a word": word,
            "misspelled": f"{name[:-1]}1",
            "in small letters": name.lower(),
            "doubled": f"{name}, {name}",
            **{f"with {other}": f"{name}, {other}" for other in absent[:1] if number == 0},
        }
        for kind, other in new.items():
            yield kind, lambda text, named=named, other=other: named.sub(other, text, count=1)
        if len(names) > 1:
            dropped = re.compile(rf"(?<![A-Z]){name}\b({SEPARATOR.pattern})?")
            yield "dropped", lambda text, dropped=dropped: dropped.sub("", text, count=1)
    if len(names) > 1:
        yield "separator dropped", lambda text: SEPARATOR.sub("", text, count=1)


def raw_cell_mutations(source: Source, table: LevelTable, row: LevelRow) -> Iterator[Mutation]:
    """Cells dropped and swapped: what stands between the pipes of a Markdown row, or the texts of a row without."""
    where, line = f"{table.level}/{row.cells[0].english}/cells", source.line(row.place)
    first = 1 if line.startswith("|") else 0
    separator = "|" if "|" in line else " "
    cells = line.split("|") if "|" in line else [cell.text for cell in row.cells]
    columns = range(first, first + len(table.columns))
    for at in columns:
        new = separator.join([*cells[:at], *cells[at + 1 :]])
        yield Mutation("cell dropped", where, source.with_line(row.place, new))
    for one, other in combinations(columns, 2):
        swapped = list(cells)
        swapped[one], swapped[other] = cells[other], cells[one]
        yield Mutation("cells swapped", where, source.with_line(row.place, separator.join(swapped)))


def column_mutations(source: Source, table: LevelTable) -> Iterator[Mutation]:
    if not table.header or "|" not in source.line(table.header[0].place):
        return
    first, last = table.header[0].place.line - 1, table.rows[-1].place.line
    lines = [line.split("|") for line in source.lines[first:last]]
    for at, column in enumerate(table.columns):
        new = ("|".join(cell for n, cell in enumerate(cells) if n != at + (not cells[0])) for cells in lines)
        yield Mutation("column dropped", f"{table.level}/{column}", source.with_lines(first, last, *new))


def heading_mutations(source: Source, table: LevelTable) -> Iterator[Mutation]:
    where, place, line = f"{table.level}/heading", table.heading.place, source.line(table.heading.place)
    taken = {other.level for other in source.page.tables}
    free = next(level.label for level in Level if level.label not in taken)
    old = f"LEVEL_{table.level}"
    for kind, label in (("level changed", free), ("level unknown", "9_9")):
        yield Mutation(kind, where, source.with_line(place, line.replace(old, f"LEVEL_{label}", 1)))
        if table.heading.original is not None:
            every = line.replace(old, f"LEVEL_{label}")
            yield Mutation(f"{kind}, with the original", where, source.with_line(place, every))
    yield Mutation("heading dropped", where, source.with_lines(place.line - 1, place.line))
    yield from source.without_and_twice("table", where, place.line - 1, table.rows[-1].place.line)


# --- Declarations, sections, intervals, introduction and examples -------------------------------------------------


def syntax_mutations(source: Source) -> Iterator[Mutation]:
    page = source.page
    for declaration in page.declarations:
        where, place = f"syntax/{declaration.name}", declaration.place
        yield from source.without_and_twice("field", where, place.line - 1, place.line)
        yield from source.replaced(
            "field changed", where, place, (declaration.name, "Other"), ("const ", ""), ("*", "")
        )
        yield from source.replaced("type of a field", where, place, ("UINT ", "INT "))
    for first, second in pairwise(page.declarations):
        lines = (source.line(second.place), *source.lines[first.place.line : second.place.line - 1])
        new = source.with_lines(first.place.line - 1, second.place.line, *lines, source.line(first.place))
        yield Mutation("fields swapped", f"syntax/{first.name}", new)
    for member in page.members:
        where, place = f"members/{member.name.english}", member.name.place
        yield Mutation("section renamed", where, source.with_text(place, member.name.text, "Other"))
        yield Mutation("section's heading dropped", where, source.with_lines(place.line - 1, place.line))
        if member.type_line is not None:
            place = member.type_line.place
            yield Mutation("type line dropped", where, source.with_lines(place.line - 1, place.line))
            types = (("UINT", "INT"),) if "UINT" in source.line(place) else (("DML_TENSOR_DESC", "DML_BUFFER_DESC"),)
            yield from source.replaced("type of a section", where, place, *types)
        yield from range_mutations(source, f"{where}/range", {interval.place.line for interval in member.ranges})
    label = f"DML_FEATURE_LEVEL_{page.introduced_in}"
    start = page.availability[0].place.line
    place = next(Place(line, 1) for line in range(start, start + 3) if label in source.lines[line - 1])
    yield from source.replaced("introduction", "availability", place, (label, "DML_FEATURE_LEVEL_6_4"), (label, ""))


def range_mutations(source: Source, where: str, lines: set[int]) -> Iterator[Mutation]:
    """Intervals as shown and in the original, which stand in one line."""
    other = {"]": ")", ")": "]", "[": "(", "(": "["}
    for number in sorted(lines):
        line = source.lines[number - 1]
        for match in INTERVAL.finditer(line):
            changes = [(at, other[line[at]]) for at in (match.start(), match.end() - 1)]
            for at, new in (*changes, (match.start(1), str(int(match[1][0]) + 1))):
                data = source.with_lines(number - 1, number, line[:at] + new + line[at + 1 :])
                yield Mutation("interval changed", where, data)


def example_mutations(source: Source) -> Iterator[Mutation]:
    """Every number and type of the worked examples; a figure in the text need not be whole."""
    for example in source.page.examples:
        for number in range(example.place.line, example.last_line + 1) if example.number else ():
            line = source.lines[number - 1]
            for match in re.finditer(r"(?<![A-Za-z\d])\d+|\b(?:FLOAT|U?INT)\d+", line.partition("//")[0]):
                types = "INT8" if match[0] != "INT8" else "FLOAT16"
                new = str(int(match[0]) + 1) if match[0].isdigit() else types
                data = source.with_lines(number - 1, number, line[: match.start()] + new + line[match.end() :])
                yield Mutation("example changed", f"example {example.number}, line {number}", data)


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
    page's only table needs no heading: it holds from the operator's introduction. An interval in a tensor's section
    runs over the dimensions of a formula: only an English original tells of a change. A type in a section is held
    against the syntax block, which the source form of a page does not have.
    """
    match mutation.kind:
        case "kind of another row, with the original" | "heading dropped":
            return page.operator in operators() or len(page.tables) > 1
        case "interval changed":
            return page.has_original or "Tensor" not in mutation.where
        case "type of a section":
            return bool(page.declarations)
    return True


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


@pytest.mark.few(2, 6)
@all_pages
def test_mutations_of_fields_sections_intervals_and_levels_are_reported(path: Path) -> None:
    source, _ = original(path)
    mutations = [mutation for mutation in syntax_mutations(source) if can_be_known(mutation, source.page)]
    assert len(mutations) > 20
    assert list(map(str, unreported(path, mutations))) == []


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
