"""The tables of the levels: which column holds what, and the rows read accordingly."""

from __future__ import annotations

from collections import Counter

from dml_conformance.documents.read import words
from dml_conformance.documents.read.blocks import Grid, Piece
from dml_conformance.documents.read.model import LevelRow, LevelTable, Quoted
from dml_conformance.documents.read.source import PageText

COLUMNS = ("tensor", "kind", "dimension_counts", "data_types")


def is_level_table(grid: Grid) -> bool:
    """Whether a table tells what tensors may be: by a header, else by names of data types in its rows."""
    headers = {_column(piece) for piece in grid.header}
    if "dimension_counts" in headers or "data_types" in headers:
        return True
    return any(words.data_types_in(piece.english) for row in grid.rows for piece in row)


def read_table(heading: Piece, variant: Piece | None, grid: Grid, document: PageText) -> LevelTable:
    """A level's table under its heading and that of its variant."""
    columns = _columns(grid)
    labels = words.levels_in(heading.text) or words.levels_in(heading.english)
    rows = (_row(cells, columns, document) for cells in grid.rows)
    return LevelTable(
        heading=heading.quoted(document),
        level=labels[0] if labels else None,
        header=tuple(piece.quoted(document) for piece in grid.header),
        columns=columns,
        rows=tuple(row for row in rows if row is not None),
        variant=None if variant is None else variant.quoted(document),
    )


def _column(piece: Piece) -> str | None:
    return (piece.original and words.column(piece.original.text)) or words.column(piece.text)


def _columns(grid: Grid) -> tuple[str, ...]:
    """What the columns hold: by headers where there is one for each and no two say the same, else in the usual order.

    A header that is not known holds what no other does, at its usual place where that is free. Cells that a row has
    more than most are of no column.
    """
    widths = Counter(len(row) for row in grid.rows)
    width = widths.most_common(1)[0][0] if widths else len(grid.header)
    extra = ("other",) * max(0, max(widths, default=0) - width)
    named = [_column(piece) for piece in grid.header]
    known = [name for name in named if name is not None]
    usual = (*COLUMNS, *("other",) * max(0, width - len(COLUMNS)))[:width]
    if len(named) != width or len(set(known)) != len(known):
        return usual + extra
    left = [name for name in usual if name not in known]
    return tuple(left.pop(0) if name is None else name for name in named) + extra


def _row(cells: tuple[Piece, ...], columns: tuple[str, ...], document: PageText) -> LevelRow | None:
    while cells and not cells[-1].text and cells[-1].original is None:
        cells = cells[:-1]
    if not cells:
        return None
    row = level_row(tuple(piece.quoted(document) for piece in cells), columns)
    counts = dict(zip(columns, cells, strict=False)).get("dimension_counts")
    if counts is not None and row.dimension_counts is None:
        what = "this cell does not read as dimension counts: one number, a range or a list of numbers"
        document.problem("unreadable-dimension-counts", what, counts.text, counts.offset)
    return row


def level_row(cells: tuple[Quoted, ...], columns: tuple[str, ...], *, as_shown: bool = False) -> LevelRow:
    """What the cells of a row say by their originals, where they have one; or as shown."""
    pairs = zip(columns, cells, strict=False)
    texts = {column: cell.text if as_shown else cell.english for column, cell in pairs}
    kind, is_optional, is_array = words.kind(texts.get("kind", ""))
    return LevelRow(
        cells=cells,
        tensor=texts.get("tensor", ""),
        kind=kind,
        dimension_counts=words.numbers(texts["dimension_counts"]) if "dimension_counts" in texts else None,
        data_types=words.names(texts["data_types"]) if "data_types" in texts else None,
        optional=is_optional,
        array=is_array,
    )
