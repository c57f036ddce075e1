"""A file that a command writes: whole or not at all, and never in the place of something else."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import click

from dml_conformance.conformance.cli.options import PATH, replace_option
from dml_conformance.reports.output.folder import OutputError, writes_to
from dml_conformance.reports.output.whole_file import checked_target, whole_file

_F = TypeVar("_F", bound=Callable[..., Any])

STDOUT = Path("-")
HTML, JSON = b"<!doctype html>", b"{"
_NAMES = {HTML: "HTML page", JSON: "JSON object"}


class OutputFile:
    """Where a command writes, checked before anything is done.

    Args:
        path: the file asked for; its parents are made. `-` is standard output; a device or pipe is written to as it is.
        replace: whether a file that is there may be replaced.
        signature: how a file begins that may be; b"" for any. A path mistyped must not cost anyone their files.

    Raises:
        OutputError: something is there that is not to be replaced.
    """

    def __init__(self, path: Path, *, replace: bool = False, signature: bytes = b"") -> None:
        self.path = path
        self.is_stdout = path == STDOUT
        self._is_device = not self.is_stdout and path.exists() and not path.is_file() and not path.is_dir()
        kind = _NAMES.get(signature, "file that this command wrote")
        self._conditions: dict[str, Any] = {"replace": replace, "signatures": (signature,), "kind": kind}
        if not (self.is_stdout or self._is_device):
            checked_target(path, **self._conditions)

    def write(self, text: str) -> None:
        """Write it into a hidden sibling, which is then given its name.

        Raises:
            OutputError: it cannot be written, or something has come there in the meantime.
        """
        self.write_with(lambda stream: stream.write(text))

    def write_with(self, writing: Callable[[TextIO], object]) -> None:
        """The same for what is written part by part, to a text stream that translates no line ends."""
        if self.is_stdout:
            writing(cast(TextIO, _Standard()))
            return
        with writes_to(self.path, OutputError):
            if self._is_device:
                with self.path.open("w", encoding="utf-8", newline="") as stream:
                    writing(stream)
                return
            with (
                whole_file(self.path, **self._conditions) as file,
                io.TextIOWrapper(file, encoding="utf-8", newline="") as text,
            ):
                writing(text)


class _Standard(io.TextIOBase):
    """Standard output as `click.echo` writes to it, which tests and pipes have in their hands."""

    def write(self, text: str) -> int:
        click.echo(text, nl=False)
        return len(text)


def output_options(metavar: str, *, what: str = "file", required: bool = False) -> Callable[[_F], _F]:
    """`-o` and `--replace`; without the first, standard output."""

    def decorate(command: _F) -> _F:
        where = "" if required else " instead of standard output"
        command = replace_option(f"the {what} if it exists and holds the same form")(command)
        return click.option(
            "-o",
            "--output",
            required=required,
            default=None if required else STDOUT,
            metavar=metavar,
            type=PATH,
            help=f"The {what} to write{where}; it must not exist yet.",
        )(command)

    return decorate
