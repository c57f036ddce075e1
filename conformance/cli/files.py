"""A file that a command writes: whole or not at all, and never in the place of something else."""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import click

from dml_conformance.reports.writing import OutputError

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
        self._replace = replace
        self._signature = signature
        self._target = self._checked()

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
        target = self._target
        try:
            if target is None:
                with self.path.open("w", encoding="utf-8", newline="") as stream:
                    writing(stream)
                return
            partial = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with partial.open("x", encoding="utf-8", newline="") as stream:
                    writing(stream)
                self._checked()
                partial.replace(target)
            finally:
                with suppress(FileNotFoundError):
                    partial.unlink()
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def _checked(self) -> Path | None:
        """The file itself, behind links; None where it is no file."""
        if self.is_stdout:
            return None
        try:
            if self.path.exists() and not self.path.is_file() and not self.path.is_dir():
                return None
            target = self.path.resolve()
            if not target.exists():
                return target
            if target.is_dir():
                raise OutputError(f"{self.path}: is a folder; name a file in it")
            if not self._replace:
                raise OutputError(f"{self.path}: exists; name another file, or replace it (--replace)")
            with target.open("rb") as file:
                begins = file.read(len(self._signature)).lower()
        except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
            raise OutputError(f"{self.path}: cannot be read: {error}") from error
        if begins != self._signature.lower():
            what = _NAMES.get(self._signature, "file that this command wrote")
            raise OutputError(f"{self.path}: is no {what}; it is not replaced")
        return target


class _Standard(io.TextIOBase):
    """Standard output as `click.echo` writes to it, which tests and pipes have in their hands."""

    def write(self, text: str) -> int:
        click.echo(text, nl=False)
        return len(text)


def output_options(metavar: str, *, required: bool = False) -> Callable[[_F], _F]:
    """`-o` and `--replace`."""

    def decorate(command: _F) -> _F:
        where = "" if required else " instead of standard output"
        command = click.option("--replace", is_flag=True, help="Replace the file if it exists.")(command)
        return click.option(
            "-o",
            "--output",
            required=required,
            metavar=metavar,
            type=click.Path(path_type=Path),
            help=f"The file to write{where}; it must not exist yet.",
        )(command)

    return decorate
