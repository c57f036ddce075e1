"""The level tables of a page against each other, the fields and the constraint list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, product
from typing import Any

from dml_conformance.documents.check.checks import CheckList, Remark, listed, misplaced, repeated
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.subject import (
    DATA_TYPE,
    DIMENSION_COUNT,
    PageSubject,
    Spot,
    Table,
    TableRow,
    sentences,
)
from dml_conformance.documents.read.model import Quoted
from dml_conformance.documents.read.words import levels_in
from dml_conformance.spec.datatypes import DataType

COLUMN_WORDS = {
    "tensor": "the tensor",
    "kind": "Input or Output",
    "dimension_counts": "dimension counts",
    "data_types": "data types",
}
_DEMAND = re.compile(r"\bmust\b.*\b(?:data ?type|type|DataType)\b|\b(?:data ?type|type|DataType)\b.*\bmust be\b")
_CONDITION = re.compile(r"\b(?:if|when|unless|where|otherwise|not|mustn't)\b", re.IGNORECASE)
_TYPE_NAME = re.compile(r"\b(?:DML_TENSOR_DATA_TYPE_)?((?:FLOAT|U?INT)\d+)\b")

CHECKS = CheckList()


def counts_text(counts: Iterable[int]) -> str:
    """`1 to 8`, `4`, `2, 4`."""
    listed = sorted(counts)
    if len(listed) > 1 and listed == list(range(listed[0], listed[-1] + 1)):
        return f"{listed[0]} to {listed[-1]}"
    return ", ".join(map(str, listed)) or "none"


def types_text(names: Iterable[str]) -> str:
    """Data types in the order of the enumeration, unknown ones last."""
    places = {name: n for n, name in enumerate(DataType.__members__)}
    return ", ".join(sorted(names, key=lambda name: (places.get(name, len(places)), name))) or "none"


def is_data_type(name: str | None) -> bool:
    """Whether a tensor's elements may be of a type of this name."""
    return name in DataType.__members__ and name != DataType.UNKNOWN.name


def cells_text(cells: Iterable[Quoted]) -> str:
    return " | ".join(cell.text for cell in cells)


@CHECKS.add("tables-missing", Severity.ERROR, "the form of a page on an operator")
def _no_tables(subject: PageSubject) -> Iterator[Remark]:
    """The page has tables of what tensors may be."""
    if not subject.page.tables:
        expected = "a table for each level that changed something"
        yield Remark("tables", subject.top, "no table that could be read", expected)


@CHECKS.add("table-level", Severity.ERROR, "the form of a page on an operator")
def _no_level(subject: PageSubject) -> Iterator[Remark]:
    """Every table stands under a level."""
    labelled = {id(table.table) for table in subject.tables}
    for number, table in enumerate(subject.page.tables, 1):
        if id(table) not in labelled:
            spot = Spot(table.heading.place, table.heading.text or subject.page.operator)
            yield Remark(str(number), spot, "a table under no level", "a heading with the level that it starts at")


@CHECKS.add("table-twice", Severity.ERROR, "the headings of the tables")
def _level_twice(subject: PageSubject) -> Iterator[Remark]:
    """Every level has one table."""
    for table in repeated(subject.tables, lambda table: table.label):
        yield Remark(table.label, table.heading, f"a second table of {table.label}", "one table a level")


@CHECKS.add("table-header", Severity.WARNING, "the rows below it")
def _header(subject: PageSubject) -> Iterator[Remark]:
    """The header of a table names every column."""
    for table in subject.tables:
        header = table.table.header
        columns = [column for column in table.table.columns if column in COLUMN_WORDS]
        cells = min(max((len(row.cells) for row in table.every_row), default=0), len(columns))
        if len(header) < cells:
            at = header[0] if header else table.heading
            spot = Spot(at.place, cells_text(header) or table.heading.text)
            expected = ", ".join(COLUMN_WORDS[column] for column in columns)
            yield Remark(table.label, spot, f"{len(header)} header cells over {cells} columns", expected)


@CHECKS.add("row-unknown", Severity.ERROR, "the tensors of the structure")
def _unknown_row(subject: PageSubject) -> Iterator[Remark]:
    """Every row is on a tensor of the structure."""
    for row in subject.rows:
        if subject.tensors and row.tensor not in subject.tensors:
            yield Remark(row.name, row.cells[0], f"a row for {row.tensor}", f"one of {listed(subject.tensors)}")


@CHECKS.add("row-missing", Severity.ERROR, "the tensors of the structure")
def _missing_row(subject: PageSubject) -> Iterator[Remark]:
    """Every tensor has a row in every table."""
    expected = f"a row for each of {listed(subject.tensors)}"
    for table in subject.tables:
        for tensor in subject.tensors:
            if tensor not in table.rows:
                yield Remark(f"{table.label}/{tensor}", table.heading, f"no row for {tensor}", expected)


@CHECKS.add("row-twice", Severity.ERROR, "the rows above it")
def _row_twice(subject: PageSubject) -> Iterator[Remark]:
    """No tensor has two rows in one table."""
    for table in subject.tables:
        for row in repeated(table.every_row, lambda row: row.tensor):
            yield Remark(row.name, row.cells[0], f"a second row for {row.tensor}", "one row a tensor")


@CHECKS.add("row-order", Severity.WARNING, "the order of the structure")
def _row_order(subject: PageSubject) -> Iterator[Remark]:
    """The rows stand in the order of the structure."""
    for table in subject.tables:
        expected = [table.rows[tensor] for tensor in subject.tensors if tensor in table.rows]
        for row, due in misplaced(expected, lambda row: row.place):
            found = f"the row for {row.tensor} where that for {due.tensor} is due"
            yield Remark(row.name, row.cells[0], found, listed(row.tensor for row in expected))


@CHECKS.add("cell-unreadable", Severity.ERROR, "the columns of the table")
def _cells(subject: PageSubject) -> Iterator[Remark]:
    """Every cell of a table can be read."""
    for table in subject.tables:
        width = _usual_width(table)
        for row in table.every_row:
            yield from _unreadable_cells(row)
            for cell in row.cells[width:]:
                yield Remark(f"{row.name}/more", cell, f"{len(row.cells)} cells in a row", f"{width} cells")


def _unreadable_cells(row: TableRow) -> Iterator[Remark]:
    read = {"kind": row.kind, "dimension_counts": row.dimension_counts, "data_types": row.data_types}
    for column, value in read.items():
        if not value:
            cell = row.by_column.get(column)
            spot = cell or Spot(row.place, cells_text(row.cells))
            found = "a lost cell" if cell is None else "a cell that cannot be read" if cell.text else "an empty cell"
            yield Remark(f"{row.name}/{column}", spot, found, COLUMN_WORDS[column], "the column")


def _usual_width(table: Table) -> int:
    """Cells of a row of the table: those of its header, or as many as most rows have, if more."""
    widths = Counter(len(row.cells) for row in table.every_row)
    usual = widths.most_common(1)[0][0] if widths else 0
    return max(usual, len(table.table.header), len(COLUMN_WORDS))


@CHECKS.add("type-twice", Severity.WARNING, "the other names in the cell")
def _type_twice(subject: PageSubject) -> Iterator[Remark]:
    """No cell names a data type twice."""
    expected = "every type once; another one may be meant"
    for row in subject.rows:
        for name, count in Counter(row.data_types or ()).items():
            if count > 1:
                yield Remark(f"{row.name}/{name}", row.quoted("data_types"), f"{name}, {count} times", expected)


def _pairs(subject: PageSubject) -> Iterator[tuple[Table, Table]]:
    """Each table with the next higher one of its variant."""
    for tables in subject.series:
        yield from pairwise(tables.values())


@CHECKS.add("table-idle", Severity.WARNING, "a level has a table of its own where it changed something")
def _same_tables(subject: PageSubject) -> Iterator[Remark]:
    """Every table adds something to the one below, if no rule of the operator's own starts or ends with it."""
    rules = () if subject.spec is None else subject.spec.own_rules
    for lower, higher in _pairs(subject):
        has_rule = any(higher.level in (rule.since, rule.until) for rule in rules)
        if _content(lower) == _content(higher) and not has_rule:
            found = f"the table of {higher.label} says what that of {lower.label} does"
            yield Remark(higher.label, higher.heading, found, "what the level changed, or no table")


def _content(table: Table) -> dict[str, tuple[frozenset[int], frozenset[str]]]:
    return {
        name: (frozenset(row.dimension_counts or ()), frozenset(row.data_types or ()))
        for name, row in table.rows.items()
    }


# What a table says of a property that tensors agree in: the column, and how its entries are told.
_AGREEING: dict[str, tuple[str, Callable[[Iterable[Any]], str]]] = {
    DATA_TYPE: ("data_types", types_text),
    DIMENSION_COUNT: ("dimension_counts", counts_text),
}


@CHECKS.add("row-agreement", Severity.ERROR)
def _agreement(subject: PageSubject) -> Iterator[Remark]:
    """Tensors that must agree may be the same at every level."""
    for agreement, table in product(subject.agreements, subject.tables):
        rows = [table.rows[tensor] for tensor in agreement.tensors if tensor in table.rows]
        column, told = _AGREEING.get(agreement.property, ("", listed))
        for row in rows[1:] if column else ():
            first, own = (set(getattr(one, column) or ()) for one in (rows[0], row))
            if first and own and first != own:
                yield Remark(
                    f"{row.name}/{agreement.property}",
                    row.quoted(column),
                    f"{told(own ^ first)} in the row of {row.tensor} or of {rows[0].tensor}, not in both",
                    f"as for {rows[0].tensor}: {told(first)}",
                    f"they must have the same {agreement.property}: {agreement.quoted.english}",
                )


@CHECKS.add("row-text", Severity.ERROR)
def _texts(subject: PageSubject) -> Iterator[Remark]:
    """The data types that a tensor's section demands are in its rows.

    Looked at are sentences that demand data types of this tensor alone, at every level and in every case.
    """
    for member in subject.page.members:
        name = member.name.english
        rows = [row for row in subject.rows if row.tensor == name and any(map(is_data_type, row.data_types or ()))]
        for quoted in member.text:
            demanded = _demanded_types(subject, name, quoted)
            row = next((row for row in rows if demanded and demanded.isdisjoint(row.data_types or ())), None)
            if row is not None:
                expected = f"the same as in the table: {types_text(row.data_types or ())}"
                why = f"the row of {name} in line {row.place.line}"
                yield Remark(name, quoted, f"{types_text(demanded)} in the section", expected, why)


def _demanded_types(subject: PageSubject, tensor: str, quoted: Quoted) -> set[str]:
    """The data types that a text demands of the tensor that it is on; none where it says when, or names others."""
    demanded: set[str] = set()
    for sentence in sentences(quoted.english):
        others = {mention.field for mention in subject.mentions(sentence)} - {tensor, ""}
        if _DEMAND.search(sentence) and not _CONDITION.search(sentence) and not others and not levels_in(sentence):
            demanded.update(name for name in _TYPE_NAME.findall(sentence) if is_data_type(name))
    return demanded
