"""What a backend's process may use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dml_conformance.backends.processes.walls import FileWall

_UNITS = {unit: 1024**n for n, unit in enumerate(("", "KIB", "MIB", "GIB", "TIB"))}


@dataclass(frozen=True)
class Limits:
    """Limits of a backend's process; one that goes beyond them is ended.

    Attributes:
        seconds: for each decision and each execution; a batch counts as one. An execution has as much again for each
            16 MiB of its tensors.
        bytes: of memory, of the process and all that it started; None = no limit. The memory that it shares with the
            harness, where the tensors are, does not count.
        files: what of the file system it sees otherwise; None = nothing.
    """

    seconds: float = 60.0
    bytes: int | None = None
    files: FileWall | None = None


def parse_size(text: str) -> int:
    """An amount of memory in bytes: `4GiB`, `1.5 GiB`, `300MiB`, `1000000`.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Z]*)", text.strip().upper())
    size = int(float(match[1]) * _UNITS[match[2]]) if match and match[2] in _UNITS else 0
    if size < 1:
        raise ValueError(f"expected an amount of memory such as 4GiB or 300MiB, found {text!r}")
    return size
