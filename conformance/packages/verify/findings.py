"""What a verification finds: each finding says where it is, what was expected there, and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

SHOWN_OF_A_CHECK = 20  # findings kept of each check; all are counted
MOST_TEXT = 400  # characters


class VerificationFinding(msgspec.Struct, frozen=True):
    """One thing that is wrong with a package.

    Attributes:
        check: which check found it.
        file: of the package, "" for the package as a whole.
        where: the record, case or field; "" for the file as a whole.
        problem: what was expected, and what was found.
    """

    check: str
    file: str
    where: str
    problem: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.file, self.where, self.problem)))


class VerificationCheck(msgspec.Struct, frozen=True):
    """What one check came to.

    Attributes:
        name: of the check.
        findings: how many.
        detail: what was checked, in a few words; or why it was not.
        done: whether it was carried out.
    """

    name: str
    findings: int
    detail: str
    done: bool = True


class Findings:
    """Collects the findings of all checks."""

    def __init__(self) -> None:
        self.shown: list[VerificationFinding] = []
        self.checks: list[VerificationCheck] = []
        self._counts: Counter[str] = Counter()

    def add(self, check: str, file: str, where: str, problem: str) -> None:
        """Take one finding."""
        self._counts[check] += 1
        if self._counts[check] <= SHOWN_OF_A_CHECK:
            self.shown.append(VerificationFinding(check, file, where, problem[:MOST_TEXT]))

    def end(self, check: str, detail: str, *, done: bool = True) -> None:
        """A check has come to its end."""
        self.checks.append(VerificationCheck(check, self._counts[check], detail, done))

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self._counts.values())

    def hidden(self) -> Mapping[str, int]:
        """How many findings of each check are counted and not kept."""
        return {check: count - SHOWN_OF_A_CHECK for check, count in self._counts.items() if count > SHOWN_OF_A_CHECK}


def expected(wanted: Any, found: Any) -> str:
    """`expected X, found Y`, each cut to a readable length."""
    return f"expected {_value_text(wanted)}, found {_value_text(found)}"


def _value_text(value: Any) -> str:
    text = ascii(str(value)) if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= 120 else text[:117] + "..."
