"""The level tables of a page against each other, the fields and the constraint list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from dml_conformance.documents.check.checks import CheckList, Remark, Spot, listed, misplaced, repeated
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.subject import DATA_TYPE, DIMENSION_COUNT, PageSubject, Table, TableRow
from dml_conformance.spec.datatypes import DataType

_SUPERSET = "every level is a superset of the lower ones"
COLUMN_WORDS = {
    "tensor": "the tensor",
    "kind": "Input or Output",
    "dimension_counts": "dimension counts",
    "data_types": "data types",
}

CHECKS = CheckList()


def counts_text(counts: Iterable[int]) -> str:
    """`1 to 8`, `4`, `2, 4`."""
    listed = sorted(counts)
    if len(listed) > 1 and listed == list(range(listed[0], listed[-1] + 1)):
        return f"{listed[0]} to {listed[-1]}"
    return ", ".join(map(str, listed)) or "none"


def types_text(names: Iterable[str]) -> str:
    """Data types in the order of the enumeration, unknown ones last."""
    known = list(DataType.__members__)
    return (
        ", ".join(sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))) or "none"
    )


def _pairs(subject: PageSubject) -> Iterator[tuple[Table, Table]]:
    """Each table with the next higher one."""
    yield from pairwise(subject.table_at.values())


@CHECKS.add("tables-missing", Severity.ERROR, "the form of a page on an operator")
def _no_tables(subject: PageSubject) -> Iterator[Remark]:
    """The page has tables of what tensors may be."""
    if not subject.page.tables:
        yield Remark(
            "tables",
            Spot(subject.top, subject.page.operator),
            "no table that could be read",
            "a table for each level that changed something",
        )


@CHECKS.add("table-level", Severity.ERROR, "the form of a page on an operator")
def _no_level(subject: PageSubject) -> Iterator[Remark]:
    """Every table stands under a level."""
    labelled = {id(table.table) for table in subject.tables}
    for number, table in enumerate(subject.page.tables, 1):
        if id(table) not in labelled:
            yield Remark(
                str(number),
                Spot(table.heading.place, table.heading.text or subject.page.operator),
                "a table under no level",
                "a heading with the level that it starts at",
            )


@CHECKS.add("table-twice", Severity.ERROR, "the headings of the tables")
def _level_twice(subject: PageSubject) -> Iterator[Remark]:
    """Every level has one table."""
    for table in repeated(subject.tables, lambda table: table.label):
        yield Remark(table.label, table.table.heading, f"a second table of {table.label}", "one table a level")


@CHECKS.add("table-order", Severity.WARNING, "the order of the other tables")
def _order(subject: PageSubject) -> Iterator[Remark]:
    """The tables stand in the order of the levels.

    From the highest to the lowest, or the other way round.
    """
    levels = [table for table in subject.tables if table.level is not None]
    rising = Counter(lower.level < higher.level for lower, higher in pairwise(levels) if lower.level != higher.level)  # type: ignore[operator]
    if len(rising) < 2:
        return
    expected = sorted({table.level for table in levels if table.level is not None}, reverse=True)
    usual = rising[True] > rising[False]
    if usual:
        expected.reverse()
    first = {table.level: table for table in reversed(levels)}
    standing = sorted(expected, key=lambda level: first[level].place)
    wrong = misplaced(standing, expected)
    if wrong is not None:
        table, due = first[wrong[0]], wrong[1]
        found = f"the table of {table.label} where that of {due} is due"
        yield Remark(table.label, table.table.heading, found, listed(map(str, expected)))


@CHECKS.add("table-header", Severity.WARNING, "the rows below it")
def _header(subject: PageSubject) -> Iterator[Remark]:
    """The header of a table names every column."""
    for table in subject.tables:
        columns = [column for column in table.table.columns if column in COLUMN_WORDS]
        cells = min(max((len(row.row.cells) for row in table.every_row), default=0), len(columns))
        if len(table.table.header) < cells:
            header = table.table.header
            yield Remark(
                table.label,
                Spot(
                    header[0].place if header else table.place,
                    " | ".join(cell.text for cell in header) or table.table.heading.text,
                ),
                f"{len(header)} header cells over {cells} columns",
                ", ".join(COLUMN_WORDS[column] for column in columns),
            )


def _rows(subject: PageSubject) -> Iterator[tuple[Table, TableRow]]:
    for table in subject.tables:
        for row in table.every_row:
            yield table, row


@CHECKS.add("row-unknown", Severity.ERROR, "the tensors of the structure")
def _unknown_row(subject: PageSubject) -> Iterator[Remark]:
    """Every row is on a tensor of the structure."""
    for table, row in _rows(subject):
        if subject.tensors and row.tensor not in subject.tensors:
            yield Remark(
                f"{table.label}/{row.tensor}",
                row.row.cells[0],
                f"a row for {row.tensor}",
                f"one of {listed(subject.tensors)}",
            )


@CHECKS.add("row-missing", Severity.ERROR, "the tensors of the structure")
def _missing_row(subject: PageSubject) -> Iterator[Remark]:
    """Every tensor has a row in every table."""
    for table in subject.tables:
        for tensor in subject.tensors:
            if tensor not in table.rows:
                yield Remark(
                    f"{table.label}/{tensor}",
                    table.table.heading,
                    f"no row for {tensor}",
                    f"a row for each of {listed(subject.tensors)}",
                )


@CHECKS.add("row-twice", Severity.ERROR, "the rows above it")
def _row_twice(subject: PageSubject) -> Iterator[Remark]:
    """No tensor has two rows in one table."""
    for table in subject.tables:
        for row in repeated(table.every_row, lambda row: row.tensor):
            subject_of_row = f"{table.label}/{row.tensor}"
            yield Remark(subject_of_row, row.row.cells[0], f"a second row for {row.tensor}", "one row a tensor")


@CHECKS.add("row-order", Severity.WARNING, "the order of the structure")
def _row_order(subject: PageSubject) -> Iterator[Remark]:
    """The rows stand in the order of the structure."""
    for table in subject.tables:
        expected = [tensor for tensor in subject.tensors if tensor in table.rows]
        wrong = misplaced(sorted(expected, key=lambda tensor: table.rows[tensor].place), expected)
        if wrong is not None:
            tensor, due = wrong
            found = f"the row for {tensor} where that for {due} is due"
            yield Remark(f"{table.label}/{tensor}", table.rows[tensor].row.cells[0], found, listed(expected))


@CHECKS.add("cell-unreadable", Severity.ERROR, "the columns of the table")
def _cells(subject: PageSubject) -> Iterator[Remark]:
    """Every cell of a table can be read."""
    for table in subject.tables:
        width = _usual_width(table)
        for row in table.every_row:
            yield from _unreadable_cells(table, row)
            for cell in row.row.cells[width:]:
                yield Remark(
                    f"{table.label}/{row.tensor}/more", cell, f"{len(row.row.cells)} cells in a row", f"{width} cells"
                )


def _unreadable_cells(table: Table, row: TableRow) -> Iterator[Remark]:
    read = {
        "kind": row.kind is not None,
        "dimension_counts": bool(row.dimension_counts),
        "data_types": bool(row.data_types),
    }
    for column, is_read in read.items():
        if not is_read:
            cell = row.cell(column)
            yield Remark(
                f"{table.label}/{row.tensor}/{column}",
                Spot(
                    row.place if cell is None else cell.place,
                    " | ".join(c.text for c in row.row.cells) if cell is None else cell.text,
                ),
                "a lost cell" if cell is None else "a cell that cannot be read",
                COLUMN_WORDS[column],
                "the column",
            )


def _usual_width(table: Table) -> int:
    """Cells of a row of the table: those of its header, or as many as most rows have, if more."""
    widths = Counter(len(row.row.cells) for row in table.every_row)
    usual = widths.most_common(1)[0][0] if widths else 0
    return max(usual, len(table.table.header), len(COLUMN_WORDS))


@CHECKS.add("type-unknown", Severity.ERROR, "the enumeration in DirectML.h")
def _unknown_types(subject: PageSubject) -> Iterator[Remark]:
    """Every data type in the tables exists."""
    for table, row in _rows(subject):
        for name in row.data_types or ():
            if name not in DataType.__members__ or name == DataType.UNKNOWN.name:
                cell = row.quoted("data_types")
                yield Remark(f"{table.label}/{row.tensor}/{name}", cell, name, "names of DML_TENSOR_DATA_TYPE")


@CHECKS.add("type-twice", Severity.WARNING, "the other names in the cell")
def _type_twice(subject: PageSubject) -> Iterator[Remark]:
    """No cell names a data type twice."""
    for table, row in _rows(subject):
        for name, count in Counter(row.data_types or ()).items():
            if count > 1:
                cell = row.quoted("data_types")
                yield Remark(
                    f"{table.label}/{row.tensor}/{name}",
                    cell,
                    f"{name}, {count} times",
                    "every type once; another one may be meant",
                )


@CHECKS.add("kind-changes", Severity.ERROR, "the other tables")
def _kinds(subject: PageSubject) -> Iterator[Remark]:
    """A tensor is input or output in all tables."""
    kinds: dict[str, Counter[str]] = {}
    for _, row in _rows(subject):
        if row.kind is not None:
            kinds.setdefault(row.tensor, Counter())[row.kind] += 1
    for table, row in _rows(subject):
        if row.kind is None or len(kinds[row.tensor]) < 2:
            continue
        (usual, most), *_ = kinds[row.tensor].most_common()
        if row.kind != usual or list(kinds[row.tensor].values()).count(most) > 1:
            cell = row.quoted("kind")
            yield Remark(
                f"{table.label}/{row.tensor}",
                cell,
                f"{row.tensor} is {row.kind} here",
                f"the same in every table; {usual} in {most} of them",
            )


def _row_pairs(subject: PageSubject) -> Iterator[tuple[Table, TableRow, Table, TableRow]]:
    """Each row with that of the same tensor in the next higher table, and both tables."""
    for lower, higher in _pairs(subject):
        for tensor, row in higher.rows.items():
            if tensor in lower.rows:
                yield lower, lower.rows[tensor], higher, row


@CHECKS.add("superset-rows", Severity.ERROR, _SUPERSET)
def _lost_rows(subject: PageSubject) -> Iterator[Remark]:
    """No level loses a row of a lower one."""
    for lower, higher in _pairs(subject):
        for tensor in lower.rows:
            if tensor not in higher.rows and tensor not in subject.tensors:  # for fields `row-missing` says it
                yield Remark(
                    f"{higher.label}/{tensor}",
                    higher.table.heading,
                    f"no row for {tensor}, which {lower.label} has",
                    f"a row for {tensor}",
                )


@CHECKS.add("superset-dimension-counts", Severity.ERROR, _SUPERSET)
def _lost_counts(subject: PageSubject) -> Iterator[Remark]:
    """No level loses a dimension count."""
    for lower, below, higher, row in _row_pairs(subject):
        lost = (below.dimension_counts or frozenset()) - (row.dimension_counts or frozenset())
        if lost and row.dimension_counts:
            yield Remark(
                f"{higher.label}/{row.tensor}",
                row.quoted("dimension_counts"),
                f"{counts_text(row.dimension_counts)} without {counts_text(lost)}, which {lower.label} has",
                counts_text(row.dimension_counts | lost),
            )


@CHECKS.add("superset-data-types", Severity.ERROR, _SUPERSET)
def _lost_types(subject: PageSubject) -> Iterator[Remark]:
    """No level loses a data type."""
    for lower, below, higher, row in _row_pairs(subject):
        lost = (set(below.data_types or ()) & set(DataType.__members__)) - set(row.data_types or ())
        if lost and row.data_types:
            yield Remark(
                f"{higher.label}/{row.tensor}",
                row.quoted("data_types"),
                f"no {types_text(lost)}, which {lower.label} has",
                types_text({*row.data_types, *lost}),
            )


@CHECKS.add("table-idle", Severity.WARNING, "a level has a table of its own where it changed something")
def _same_tables(subject: PageSubject) -> Iterator[Remark]:
    """Every table adds something to the one below."""
    for lower, higher in _pairs(subject):
        if _content(lower) == _content(higher):
            yield Remark(
                higher.label,
                higher.table.heading,
                f"the table of {higher.label} says what that of {lower.label} does",
                "what the level changed, or no table",
            )


def _content(table: Table) -> dict[str, tuple[frozenset[int] | None, frozenset[str] | None]]:
    return {
        name: (row.dimension_counts, None if row.data_types is None else frozenset(row.data_types))
        for name, row in table.rows.items()
    }


@CHECKS.add("row-agreement", Severity.ERROR)
def _agreement(subject: PageSubject) -> Iterator[Remark]:
    """Tensors that must agree may be the same at every level."""
    for agreement in subject.agreements:
        for table in subject.tables:
            rows = [table.rows[tensor] for tensor in agreement.tensors if tensor in table.rows]
            for row in rows[1:]:
                if agreement.property == DATA_TYPE:
                    first, own = set(rows[0].data_types or ()), set(row.data_types or ())
                    said, due, column = types_text(own ^ first), types_text(first), "data_types"
                elif agreement.property == DIMENSION_COUNT:
                    counts, others = set(rows[0].dimension_counts or ()), set(row.dimension_counts or ())
                    first, own = set(map(str, counts)), set(map(str, others))
                    said, due, column = counts_text(counts ^ others), counts_text(counts), "dimension_counts"
                else:
                    continue
                if first and own and first != own:
                    cell = row.quoted(column)
                    yield Remark(
                        f"{table.label}/{row.tensor}/{agreement.property}",
                        cell,
                        f"{said} in the row of {row.tensor} or of {rows[0].tensor}, not in both",
                        f"as for {rows[0].tensor}: {due}",
                        f"they must have the same {agreement.property}: {agreement.quoted.english}",
                    )
