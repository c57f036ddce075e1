"""The two kinds of exceptions whose message is for the user; every other one is a fault of this project.

The message is one line: FILE: FIELD: expected this, found that. A command prints it and ends with `exit_code`.
"""

from __future__ import annotations

from typing import ClassVar


class BadInputError(Exception):
    """What the user gave cannot be used: a file, a name, an option."""

    exit_code: ClassVar[int] = 2


class BrokenRunError(Exception):
    """What was asked for could not be done to its end: a disk is full, a process or a cluster is gone."""

    exit_code: ClassVar[int] = 3
