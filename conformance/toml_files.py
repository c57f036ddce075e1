"""TOML files that people write, read into types; what is wrong is told with the line where it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

MOST_BYTES = 1 << 18

_T = TypeVar("_T", bound=msgspec.Struct)
_STEP = re.compile(r"\.([\w-]+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"(?:unknown|required) field `([^`]*)`")


class TomlError(ValueError):
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
            self._lines = found.decode("utf-8").splitlines(keepends=True)
            self.content: dict[str, Any] = tomllib.loads("".join(self._lines))
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

        Found by reading ever longer parts of the file, as `tomllib` keeps no lines: the value begins on the line after
        the longest part that has it not, blank lines and comments left out.
        """
        if not steps:
            return 0
        begin = 0
        for end in range(len(self._lines) + 1):
            try:
                part = tomllib.loads("".join(self._lines[:end]))
            except tomllib.TOMLDecodeError:  # within a value of several lines
                continue
            if _has(part, steps):
                break
            begin = end
        while begin < len(self._lines) and re.match(r"\s*(#|$)", self._lines[begin]):
            begin += 1
        return begin + 1

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
