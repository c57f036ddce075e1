"""Output of the commands: JSON, and tables that wrap on a terminal and stay greppable in a file.

On a terminal rich draws them, in its width and with its colours (NO_COLOR and COLUMNS are honoured). Elsewhere a row
is a line, without colours, wrapping or anything cut off, unless COLUMNS asks for a width.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import click

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.text import indented_json

_UNLIMITED = 100_000
_NARROWEST = 12


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, whole: int = 1) -> None:
    """Print a table.

    Args:
        headers: of the columns.
        rows: texts, as many each.
        whole: how many of the first columns are identifiers, which are never wrapped: where the terminal is too narrow
            for them the table is wider than it.
    """
    for line in table_lines(headers, rows, whole=whole):
        click.echo(line)


def table_lines(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, whole: int = 1, is_file: bool = False
) -> list[str]:
    """The lines of a table: as `print_table` prints it, or for a file, where a row is a line, without colours."""
    from rich.console import Console  # which most commands never need
    from rich.table import Table
    from rich.text import Text

    terminal = Console(highlight=False, markup=False, emoji=False, color_system=None if is_file else "auto")
    if is_file or (not terminal.is_terminal and "COLUMNS" not in os.environ):
        terminal.width = _UNLIMITED
        whole = len(headers) if is_file else whole
    rows = [tuple(map(one_line, row)) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold")
    taken = 0
    for i, header in enumerate(headers):
        if i < whole:
            width = max(len(text) for text in (header, *(row[i] for row in rows)))
            table.add_column(header, no_wrap=True, min_width=width, style="cyan")
            taken += width + 2
        else:
            table.add_column(header, overflow="fold", min_width=min(len(header), _NARROWEST))
            taken += _NARROWEST + 2
    for row in rows:
        table.add_row(*(Text(text) for text in row))
    terminal.width = max(terminal.width, taken)
    with terminal.capture() as capture:
        terminal.print(table)
    # Rich leaves a line empty where a word ends with the column's width.
    return [text for line in capture.get().splitlines() if (text := line.rstrip())]


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(indented_json(value))
