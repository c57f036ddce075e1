"""The lines that commands print: whatever a text says, whoever it is from, it is one line with nothing that acts."""

from __future__ import annotations

import click

from dml_conformance.backends.foreign_text import one_line

LONGEST_MESSAGE = 2000


def echo(text: str = "", *, err: bool = False, indent: int = 0) -> None:
    """Print a text on one line, on standard output or standard error."""
    click.echo(" " * indent + one_line(text), err=err)


def complain(message: str) -> None:
    """Say on standard error what went wrong; of a message beyond all measure the middle is left out."""
    line = one_line(message)
    if len(line) > LONGEST_MESSAGE:
        line = f"{line[: LONGEST_MESSAGE // 2]} ... {line[-LONGEST_MESSAGE // 2 :]}"
    echo(f"dml-conformance: {line}", err=True)
