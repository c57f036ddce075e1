"""The level tables of a page against each other, the fields and the constraint list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise, product
from typing import Any

from dml_conformance.documents.check.model import Remarks, listed, misplaced, remark, repeated
from dml_conformance.documents.check.subject import DATA_TYPE, DIMENSION_COUNT, PageSubject, Spot, sentences
from dml_conformance.documents.read.model import LevelRow, LevelTable, Quoted
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


def table_remarks(subject: PageSubject) -> Remarks:
    """What the tables of a page contradict."""
    if not subject.page.tables:
        yield remark("tables-missing", "tables", subject.top)
    for number, table in enumerate(subject.every_table, 1):
        if table.level is None:
            spot = Spot(table.heading.place, table.heading.text or subject.page.operator)
            yield remark("table-level", str(number), spot)
    for again in repeated(subject.tables, lambda table: table.label):
        yield remark("table-twice", again.label, again.heading, label=again.label)
    for each in subject.tables:
        yield from _header(each)
        yield from _rows(subject, each)
    yield from _idle_tables(subject)
    yield from _agreement(subject)
    yield from _texts(subject)


def _header(table: LevelTable) -> Remarks:
    header = table.header
    columns = [column for column in table.columns if column in COLUMN_WORDS]
    cells = min(max((len(row.cells) for row in table.rows), default=0), len(columns))
    if len(header) < cells:
        spot = Spot((header or (table.heading,))[0].place, cells_text(header) or table.heading.text)
        expected = ", ".join(COLUMN_WORDS[column] for column in columns)
        yield remark("table-header", table.label, spot, headers=len(header), cells=cells, expected=expected)


def _rows(subject: PageSubject, table: LevelTable) -> Remarks:
    """The rows of one table against the tensors of the structure, and each other."""
    tensors, width = listed(subject.tensors), _usual_width(table)
    for row in table.rows:
        if subject.tensors and row.tensor not in subject.tensors:
            yield remark("row-unknown", table.path(row), row.cells[0], tensor=row.tensor, tensors=tensors)
        for name, count in Counter(row.data_types or ()).items():
            if count > 1:
                cell = table.cell(row, "data_types")
                yield remark("type-twice", f"{table.path(row)}/{name}", cell, name=name, count=count)
        yield from _unreadable_cells(table, row)
        for cell in row.cells[width:]:
            found = f"{len(row.cells)} cells in a row"
            yield remark("cell-unreadable", f"{table.path(row)}/more", cell, found=found, expected=f"{width} cells")
    for again in repeated(table.rows, lambda row: row.tensor):
        yield remark("row-twice", table.path(again), again.cells[0], tensor=again.tensor)
    for tensor in subject.tensors:
        if tensor not in table.row_of:
            yield remark("row-missing", f"{table.label}/{tensor}", table.heading, tensor=tensor, tensors=tensors)
    first_cells = {tensor: row.cells[0] for tensor, row in table.row_of.items()}
    yield from misplaced("row-order", subject.tensors, first_cells, f"{table.label}/")


def _unreadable_cells(table: LevelTable, row: LevelRow) -> Remarks:
    read = {"kind": row.kind, "dimension_counts": row.dimension_counts, "data_types": row.data_types}
    for column, value in read.items():
        if not value:
            cell = table.cells(row).get(column)
            spot = cell or Spot(row.place, cells_text(row.cells))
            found = "a lost cell" if cell is None else "a cell that cannot be read" if cell.text else "an empty cell"
            where = f"{table.path(row)}/{column}"
            yield remark("cell-unreadable", where, spot, found=found, expected=COLUMN_WORDS[column])


def _usual_width(table: LevelTable) -> int:
    """Cells of a row of the table: those of its header, or as many as most rows have, if more."""
    widths = Counter(len(row.cells) for row in table.rows)
    usual = widths.most_common(1)[0][0] if widths else 0
    return max(usual, len(table.header), len(COLUMN_WORDS))


def _idle_tables(subject: PageSubject) -> Remarks:
    """Tables that add nothing to the next lower one of their variant, where no rule of the operator starts or ends."""
    rules = () if subject.spec is None else subject.spec.own_rules
    for (_, lower), (level, higher) in (pair for tables in subject.series for pair in pairwise(tables.items())):
        has_rule = any(level in (rule.since, rule.until) for rule in rules)
        if _content(lower) == _content(higher) and not has_rule:
            yield remark("table-idle", higher.label, higher.heading, higher=higher.label, lower=lower.label)


def _content(table: LevelTable) -> dict[str, tuple[frozenset[int], frozenset[str]]]:
    return {
        name: (frozenset(row.dimension_counts or ()), frozenset(row.data_types or ()))
        for name, row in table.row_of.items()
    }


# What a table says of a property that tensors agree in: the column, and how its entries are told.
_AGREEING: dict[str, tuple[str, Callable[[Iterable[Any]], str]]] = {
    DATA_TYPE: ("data_types", types_text),
    DIMENSION_COUNT: ("dimension_counts", counts_text),
}


def _agreement(subject: PageSubject) -> Remarks:
    """Tensors that must agree may be the same at every level."""
    for agreement, table in product(subject.agreements, subject.tables):
        rows = [table.row_of[tensor] for tensor in agreement.tensors if tensor in table.row_of]
        column, told = _AGREEING.get(agreement.property, ("", listed))
        for row in rows[1:] if column else ():
            first, own = (set(getattr(one, column) or ()) for one in (rows[0], row))
            if first and own and first != own:
                yield remark(
                    "row-agreement",
                    f"{table.path(row)}/{agreement.property}",
                    table.cell(row, column),
                    tensor=row.tensor,
                    first=rows[0].tensor,
                    unlike=told(own ^ first),
                    like=told(first),
                    agreement=agreement,
                )


def _texts(subject: PageSubject) -> Remarks:
    """Sentences that demand data types of their tensor alone, at every level and in every case, and the rows."""
    for member in subject.page.members:
        name = member.name.english
        of_all = (row for table in subject.tables for row in table.rows if row.tensor == name)
        rows = [row for row in of_all if any(map(is_data_type, row.data_types or ()))]
        for quoted in member.text:
            demanded = _demanded_types(subject, name, quoted)
            row = next((row for row in rows if demanded and demanded.isdisjoint(row.data_types or ())), None)
            if row is not None:
                types = {"demanded": types_text(demanded), "types": types_text(row.data_types or ())}
                yield remark("row-text", name, quoted, tensor=name, line=row.place.line, **types)


def _demanded_types(subject: PageSubject, tensor: str, quoted: Quoted) -> set[str]:
    """The data types that a text demands of the tensor that it is on; none where it says when, or names others."""
    demanded: set[str] = set()
    for sentence in sentences(quoted.english):
        others = {mention.field for mention in subject.mentions(sentence)} - {tensor, ""}
        if _DEMAND.search(sentence) and not _CONDITION.search(sentence) and not others and not levels_in(sentence):
            demanded.update(name for name in _TYPE_NAME.findall(sentence) if is_data_type(name))
    return demanded
