"""TOML files that people write, read into types."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec

from dml_conformance.spec.errors import BadInputError

MOST_BYTES = 1 << 18
MOST_LINE = 10_000  # characters; `tomllib` takes minutes for a key of a hundred thousand parts

_T = TypeVar("_T", bound=msgspec.Struct)
_FIELD = re.compile(r"Object (?:contains unknown|missing required) field `([^`]*)`")


class TomlError(BadInputError, ValueError):
    """A TOML file that is not as it should be; the message names file, entry, key, and what was expected."""


def read_toml(path: Path, kind: type[_T]) -> _T:
    """A file as a value of a type.

    Raises:
        TomlError: it cannot be read or is no TOML, a key is unknown or missing, or a value is not what its key takes.
    """
    try:
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise TomlError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(found) > MOST_BYTES:
        raise TomlError(f"{path}: expected at most {MOST_BYTES:,} bytes")
    try:
        text = found.decode("utf-8")
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MOST_LINE:
                raise TomlError(f"{path}: line {number}: expected at most {MOST_LINE:,} characters")
        return msgspec.convert(tomllib.loads(text), kind)
    except msgspec.ValidationError as error:
        raise TomlError(f"{path}: {_in_words(str(error))}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlError(f"{path}: expected TOML: {error}") from None


def entry_name(name: str, index: int) -> str:
    """What messages call an entry of a list, the first of which has index 0: `waiver[1]`."""
    return f"{name}[{index + 1}]"


def _in_words(message: str) -> str:
    """msgspec's message with the entry first: `waiver[2].owner: expected ...`, entries counted from 1."""
    problem, _, path = message.partition(" - at ")
    entry = re.sub(r"(\w+)\[(\d+)\]", lambda match: entry_name(match[1], int(match[2])), path.strip("`$"))
    field = _FIELD.match(problem)
    if field is None:
        problem = problem[0].lower() + problem[1:]
    elif "unknown" in problem:
        entry, problem = f"{entry}.{field[1]}", "there is no such key"
    else:
        problem = f"the key {field[1]} is missing"
    return ": ".join(filter(None, (entry.lstrip("."), problem)))
