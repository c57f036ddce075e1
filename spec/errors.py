"""The two kinds of exceptions whose message is for the user; every other one is a fault of this project.

The message is one line: FILE: FIELD: expected this, found that. A command prints it and ends with `exit_code`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class BadInputError(Exception):
    """What the user gave cannot be used: a file, a name, an option."""

    exit_code: ClassVar[int] = 2


class BrokenRunError(Exception):
    """What was asked for could not be done to its end: a disk is full, a process or a cluster is gone."""

    exit_code: ClassVar[int] = 3


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that may be meant by one that is not; "" where there is none.

    It has the other as whole words, as ACTIVATION_SOFTMAX has SOFTMAX, or is written nearly like it.
    """
    by_letters = {each.casefold(): each for each in known}
    letters = name.casefold()
    having = sorted((each for each in by_letters if letters and f"_{letters}_" in f"_{each}_"), key=len)
    found = having or difflib.get_close_matches(letters, by_letters, n=1)
    return by_letters[found[0]] if found else ""
