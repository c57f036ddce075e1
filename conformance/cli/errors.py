"""The one place where exceptions become exit codes and one line on standard error.

dml-conformance: FILE: FIELD: expected ...
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import click

from dml_conformance.spec.errors import BadInputError, BrokenRunError


class Exit(IntEnum):
    """The exit codes of every command."""

    CONFORMANT = 0
    NOT_CONFORMANT = 1
    BAD_INPUT = 2
    BROKEN = 3


@dataclass
class CommandState:
    """What the root command knows, for its subcommands as `context.obj`.

    Attributes:
        debug: whether tracebacks are wanted.
        owns_process: whether this process is there for the command alone.
        has_backend: whether backends are loaded into this process.
    """

    debug: bool = False
    owns_process: bool = False
    has_backend: bool = False


class Interruption(Exception):
    """The run was ended from outside; the cause is KeyboardInterrupt or BrokenPipeError."""


def run(command: Callable[[], Any], state: CommandState) -> int:
    """Run a command to its end.

    Args:
        command: runs without click's own error handling; returns an exit code or None.
        state: says whether tracebacks are wanted.

    Returns:
        The exit code. Whatever went wrong has been told in one line on standard error.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name may have characters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        code = command()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return Exit.BAD_INPUT
    except Exception as error:
        if state.debug:
            traceback.print_exc()
        message, code = explain(error)
        if message:
            from dml_conformance.conformance.cli.lines import (
                complain,  # with what makes text fit, which most runs do not need
            )

            complain("; ".join([message, *_notes(error)]))
        return code
    return code if isinstance(code, int) else Exit.CONFORMANT


def explain(error: BaseException) -> tuple[str, Exit]:
    """What to tell of an exception ("" for nothing), and the exit code."""
    if isinstance(error, Interruption) and error.__cause__ is not None:
        return explain(error.__cause__)
    if isinstance(error, BrokenPipeError):  # the reader has gone; it has seen all that it wanted
        _discard_output()
        return "", Exit.BROKEN
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted; the run is incomplete", Exit.BROKEN
    if isinstance(error, click.ClickException):
        return _usage(error), Exit.BAD_INPUT
    if isinstance(error, BadInputError | BrokenRunError):
        return str(error), Exit(error.exit_code)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{click.format_filename(error.filename)}: {error.strerror}", Exit.BAD_INPUT
    if isinstance(error, MemoryError):
        return "out of memory; the run is incomplete", Exit.BROKEN
    about = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error: {about}; 'dml-conformance --debug ...' shows where", Exit.BROKEN


def _notes(error: BaseException) -> Iterator[str]:
    """What was added to an exception on its way, each once: what became of the files that were being written."""
    cause = error.__cause__ if isinstance(error, Interruption) else None
    yield from dict.fromkeys(getattr(cause or error, "__notes__", ()))


def _usage(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    command = context.command_path
    return f"{command.partition(' ')[2] or 'usage'}: {message}; see '{command} --help'"


def _discard_output() -> None:
    """Send the rest of standard output nowhere, so that the interpreter's last flush does not complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
