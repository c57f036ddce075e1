"""TOML files that people write, read into types; what is wrong is told with the line where it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dml_conformance.spec.errors import BadInputError

MOST_BYTES = 1 << 18
MOST_LINE = 10_000  # characters; `tomllib` takes minutes for a key of a hundred thousand parts

_T = TypeVar("_T", bound=msgspec.Struct)
_STEP = re.compile(r"\.([\w-]+)|\[(\d+|\.\.\.)\]")
# In a file that is TOML: strings and comments, in which brackets and line feeds mean nothing; brackets, line feeds, and
# other text.
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|\'\'\'.*?\'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]|[^\s\[\]{}'\"#]+",
    re.DOTALL,
)
_HEADER = re.compile(r"\s*\[\[([^\[\]]*)\]\]")
_FIELD = re.compile(r"(?:unknown|required) field `([^`]*)`")


class TomlError(BadInputError, ValueError):
    """A TOML file that is not as it should be; the message names file, line, field, and what was expected."""


class TomlFile:
    """A TOML file that was read.

    Args:
        path: of the file.

    Attributes:
        content: what it holds.

    Raises:
        TomlError: it cannot be read, or is no TOML.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                found = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise TomlError(f"{path}: cannot be read: {error.strerror or error}") from None
        if len(found) > MOST_BYTES:
            raise TomlError(f"{path}: expected at most {MOST_BYTES:,} bytes")
        try:
            self._lines = found.decode("utf-8").replace("\r\n", "\n").split("\n")
            long = next((n for n, line in enumerate(self._lines, 1) if len(line) > MOST_LINE), None)
            if long is not None:
                raise TomlError(f"{path}: line {long}: expected at most {MOST_LINE:,} characters")
            self.content: dict[str, Any] = tomllib.loads("\n".join(self._lines))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
            raise TomlError(f"{path}: expected TOML: {error}") from None

    def read_as(self, kind: type[_T]) -> _T:
        """The file as a value of a type.

        Raises:
            TomlError: a key is unknown or missing, or a value is not what its key takes.
        """
        try:
            return msgspec.convert(self.content, kind)
        except msgspec.ValidationError as error:
            problem, _, where = str(error).partition(" - at ")
            steps = self._steps(where.strip("`"))
            field = _FIELD.search(problem)
            if field and "unknown" in problem:
                steps = [*steps, field[1]]
                problem = "there is no such key"
            elif field:
                problem = f"the key {field[1]} is missing"
            raise self.error(steps, problem[0].lower() + problem[1:]) from None

    def error(self, steps: Sequence[str | int], problem: str) -> TomlError:
        """What to raise of a value.

        Args:
            steps: names and numbers that lead to it.
            problem: what is wrong, and what was expected.
        """
        named = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
        line = self.line_of(steps)
        return TomlError(": ".join(filter(None, (str(self.path), f"line {line}" if line else "", named, problem))))

    def line_of(self, steps: Sequence[str | int]) -> int:
        """The line where a value begins, from 1 on; 0 for the file as a whole.

        Found by reading parts of the file, as `tomllib` keeps no lines: a value begins with the first statement without
        which it is not there.
        """
        if not steps:
            return 0
        starts, (begin, end), inner = self._starts, (0, len(self._starts)), steps
        tables = self._tables.get(str(steps[0]), [])
        if len(steps) > 1 and isinstance(steps[1], int) and steps[1] < len(tables):
            begin, end = tables[steps[1]], next(iter(tables[steps[1] + 1 : steps[1] + 2]), end)
            inner = [steps[0], 0, *steps[2:]]
            if len(inner) == 2:
                return starts[begin] + 1
        first = begin
        while end - begin > 1:
            middle = (begin + end) // 2
            if _has(tomllib.loads("\n".join(self._lines[starts[first] : starts[middle]])), inner):
                end = middle
            else:
                begin = middle
        return starts[begin] + 1

    @cached_property
    def _tables(self) -> dict[str, list[int]]:
        """Which of the statements begin another of several tables, `[[name]]`, by name."""
        tables: dict[str, list[int]] = {}
        for n, at in enumerate(self._starts):
            if match := _HEADER.match(self._lines[at]):
                tables.setdefault(match[1].strip("\"' \t"), []).append(n)
        return tables

    @cached_property
    def _starts(self) -> list[int]:
        """The lines, from 0 on, where statements begin: what no string or bracket that is open goes across."""
        starts, depth, line, fresh = list[int](), 0, 0, True
        for piece in _PIECE.findall("\n".join(self._lines)):
            if fresh and piece != "\n" and not piece.startswith("#"):
                starts.append(line)
                fresh = False
            depth += (piece in ("[", "{")) - (piece in ("]", "}"))
            line += piece.count("\n")
            if piece == "\n" and not depth:
                fresh = True
        return starts

    def _steps(self, where: str) -> list[str | int]:
        """The names and numbers of a path as msgspec writes it: `$.waiver[0].rules[...]`."""
        steps: list[str | int] = []
        for match in _STEP.finditer(where):
            if match[1]:
                steps.append(match[1])
            elif match[2] != "...":
                steps.append(int(match[2]))
        return steps


def _has(value: Any, steps: Sequence[str | int]) -> bool:
    for step in steps:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return False
        elif not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True
