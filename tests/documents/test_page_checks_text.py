"""Faults put into the text of this project's own pages, one at a time: each is reported."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from places import TESTS

from dml_conformance.documents.check.alone import check_page
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.read import parse_page, read_page

PAGES = TESTS / "pages"
EVERY = sorted(path.name for path in PAGES.iterdir() if path.name != "README.md")
# Pages without hidden originals: on the others a change of the shown text alone is a fault of the translation.
PLAIN = ("gather.en-US.md", "gather.zh-TW.txt", "tile.en-US.md", "tile.ja-JP.txt")

_ROW = re.compile(r"(?:Input|Indices|Output)Tensor\W")
_TYPE = re.compile(r"\b(?:FLOAT|U?INT)\d+")
_COUNT = re.compile(r"(?<![\w])[1-9](?![\w])")
_CELL = re.compile(r"(?<=\|)[^|]*(?=\|)")


def findings(text: str) -> set[tuple[str, str, str]]:
    page = parse_page(text.encode(), "page")
    return {(f.id, f.found, f.severity) for f in check_page(page)}


def table_lines(lines: list[str]) -> Iterator[int]:
    """The rows of the level tables."""
    in_tables = False
    for n, line in enumerate(lines):
        in_tables = in_tables or "DML_FEATURE_LEVEL_4_1" in line
        if in_tables and _ROW.search(line):
            yield n


def changed_cells(line: str) -> Iterator[str]:
    """A row with one thing in one cell changed."""
    for match in _TYPE.finditer(line):
        yield line[: match.start()] + "FLOAT23" + line[match.end() :]
        yield line[: match.start()] + line[match.end() :]
    for match in _COUNT.finditer(line):
        yield line[: match.start()] + "7" + line[match.end() :]
    for match in _CELL.finditer(line):
        yield line[: match.start()] + " " + line[match.end() :]
    yield line.replace("Tensor", "Tenser", 1)
    yield line.replace("Input", "Kernel", 1) if "Input" in line else line.replace("Output", "Kernel", 1)


@pytest.mark.parametrize("name", EVERY)
def test_own_pages_have_no_error(name: str) -> None:
    assert [f for f in check_page(read_page(PAGES / name)) if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize("name", PLAIN)
def test_every_changed_cell_is_reported(name: str) -> None:
    lines = (PAGES / name).read_text().splitlines()
    before = findings("\n".join(lines))
    rows = list(table_lines(lines))
    assert len(rows) >= 8
    for n in rows[::3]:
        for changed in changed_cells(lines[n]):
            if changed != lines[n]:
                after = findings("\n".join([*lines[:n], changed, *lines[n + 1 :]]))
                assert any(found[2] == Severity.ERROR for found in after - before), changed


@pytest.mark.parametrize("name", PLAIN)
def test_a_lost_row_is_reported(name: str) -> None:
    lines = (PAGES / name).read_text().splitlines()
    before = findings("\n".join(lines))
    for n in table_lines(lines):
        after = findings("\n".join([*lines[:n], *lines[n + 1 :]]))
        assert any(found[0].startswith("row-missing") for found in after - before), lines[n]
