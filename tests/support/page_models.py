"""Page models made by hand, for tests that need no file."""

from __future__ import annotations

from typing import Any

from page_factories import COLUMNS, bare_page, quoted, value

from dml_conformance.documents.read.model import (
    CodeBlock,
    Declaration,
    ExampleTensor,
    FieldSection,
    LevelRow,
    LevelTable,
    Page,
    PageExample,
    Passage,
    Place,
    PrintedInterval,
    Quoted,
)

TENSOR = "const DML_TENSOR_DESC *"


def place(line: int, column: int = 1) -> Place:
    return Place(line, column)


def row(line: int, *cells: str, counts: tuple[int, ...] = (4,), originals: tuple[str, ...] = ()) -> LevelRow:
    """A row of (tensor, kind, counts, types) as a parser reads it where `Input` and `Output` are the known words."""
    stands = originals or (None,) * len(cells)
    quotes = tuple(
        Quoted(cell, place(line, 20 * number + 1), original)
        for number, (cell, original) in enumerate(zip(cells, stands, strict=True))
    )
    inputs, outputs = ("Input", "Eingabe", "Optionale Eingabe"), ("Output", "Ausgabe")
    kind = "Input" if cells[1] in inputs else "Output" if cells[1] in outputs else None
    return LevelRow(quotes, cells[0], kind, counts, tuple(cells[3].split(", ")))


def table(line: int, level: str, *rows: LevelRow) -> LevelTable:
    header = tuple(Quoted(word, place(line + 1, 20 * number + 1)) for number, word in enumerate(COLUMNS))
    return LevelTable(quoted(f"DML_FEATURE_LEVEL_{level} and above", line), level, header, COLUMNS, rows)


def gather(path: str = "page.md", **changes: Any) -> Page:
    """A small English page on GATHER with two tables and one example; `changes` replace its attributes."""
    whole: dict[str, Any] = {
        "declarations": (
            Declaration("InputTensor", TENSOR, place(10)),
            Declaration("IndicesTensor", TENSOR, place(11)),
            Declaration("OutputTensor", TENSOR, place(12)),
            Declaration("Axis", "UINT", place(13)),
        ),
        "members": (
            FieldSection(quoted("InputTensor", 20), TENSOR),
            FieldSection(
                quoted("IndicesTensor", 22), TENSOR, levels=("3_0",), text=(quoted("Since DML_FEATURE_LEVEL_3_0", 23),)
            ),
            FieldSection(quoted("OutputTensor", 24), TENSOR),
            FieldSection(
                quoted("Axis", 26),
                "UINT",
                ranges=(PrintedInterval("0", "InputTensor.DimensionCount", True, False, place(27)),),
            ),
        ),
        "introduced_in": "1_0",
        "availability": (quoted("Introduced in DML_FEATURE_LEVEL_1_0.", 30),),
        "tables": (
            table(
                40,
                "3_0",
                row(42, "InputTensor", "Input", "4 to 5", "FLOAT32, FLOAT16", counts=(4, 5)),
                row(43, "IndicesTensor", "Input", "4 to 5", "INT64, UINT32", counts=(4, 5)),
                row(44, "OutputTensor", "Output", "4 to 5", "FLOAT32, FLOAT16", counts=(4, 5)),
            ),
            table(
                50,
                "1_0",
                row(52, "InputTensor", "Input", "4", "FLOAT32, FLOAT16"),
                row(53, "IndicesTensor", "Input", "4", "UINT32"),
                row(54, "OutputTensor", "Output", "4", "FLOAT32, FLOAT16"),
            ),
        ),
        "examples": (
            PageExample(
                1,
                quoted("Example 1", 60),
                {"Axis": value(0, 61)},
                (ExampleTensor(quoted("InputTensor", 62), value([2], 62), value("FLOAT32", 62), value([1, 2], 63)),),
                place(61),
                63,
            ),
        ),
        "code_blocks": (CodeBlock("description", "output[i] = input[indices[i]]", "pseudocode", place(5)),),
        "passages": (Passage("description", "sentence", quoted("Gathers elements.", 4)),),
    }
    return bare_page(**{"name": "GATHER", "path": path, **whole, **changes})
