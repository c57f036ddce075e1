"""Waivers: known differences that, until a day, do not count as failures; shown as waived, never as passed.

A waiver covers failures, crashes and timeouts. It cannot cover a fault of the harness, and what a backend does not
claim needs none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from fnmatch import translate
from pathlib import Path
from typing import Annotated

import msgspec

from dml_conformance.conformance.packages.toml import entry_name, read_toml
from dml_conformance.reports.model.records import NOT_CONFORMANT, LevelLabel, Record, Verdict
from dml_conformance.reports.package.forms import Patterns, Text, Waiver
from dml_conformance.spec.errors import BadInputError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators

_ANYTHING = re.compile(r"[*?]*")


class WaiverError(BadInputError, ValueError):
    """Waivers that are not legal; the message names the file and the waiver."""


class FiledWaiver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A known difference that until a day counts as no failure. It says what it covers by `cases`, `rules` or both.

    Attributes:
        reason: why the difference is there.
        link: to where it is tracked; an address that begins with https:// or http://.
        owner: who answers for it.
        expires: the last day on which it holds.
        cases: patterns of case digests, `*` standing for any characters; without it not limited.
        rules: patterns of rule ids, such as `GATHER.*`; without it not limited.
        operators: it is limited to; without it all.
        levels: it is limited to; without it all.
    """

    reason: Text
    link: Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s/]+\S*$", max_length=2000)]
    owner: Text
    expires: date
    cases: Patterns = []
    rules: Patterns = []
    operators: list[str] = []
    levels: list[LevelLabel] = []


class WaiversFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of waivers, TOML.

    Attributes:
        waiver: the tables `[[waiver]]`, in order; the first that covers a failure applies.
    """

    waiver: Annotated[list[FiledWaiver], msgspec.Meta(min_length=1, max_length=10_000)]


def read_waivers(path: Path, today: date) -> Waivers:
    """Read a file of waivers.

    Args:
        path: TOML: tables `[[waiver]]` with the keys of `reports.package.forms.Waiver`; `expires` is a TOML date.
        today: waivers that expired before it are refused.

    Raises:
        TomlError: it is no TOML, a key is unknown or missing, or a value is not what its key takes.
        WaiverError: a waiver covers everything, names what does not exist, or has expired.
    """
    found = [
        Waiver(**{**msgspec.structs.asdict(each), "expires": each.expires.isoformat()})
        for each in read_toml(path, WaiversFile).waiver
    ]
    places = [f"{path}: {entry_name('waiver', n)}" for n in range(len(found))]
    for place, waiver in zip(places, found, strict=True):
        problem = illegal(waiver, today)
        if problem:
            key, text = problem
            raise WaiverError(f"{place}{f'.{key}' if key else ''}: {text}")
    return Waivers(found, places)


def illegal(waiver: Waiver, today: date) -> tuple[str, str] | None:
    """What is wrong with a waiver of the right form: its key ("" for the whole) and the problem; None = nothing."""
    if not waiver.cases and not waiver.rules:
        return "", "a waiver says what it covers: expected cases, rules, or both"
    for key in ("cases", "rules"):
        for pattern in getattr(waiver, key):
            if _ANYTHING.fullmatch(pattern):
                return key, f"{pattern!r} covers everything; expected what is known to differ, such as 'GATHER.*'"
    for name in waiver.operators:
        if name not in operators():
            return "operators", f"there is no operator {name!r}; expected some of {', '.join(operators())}"
    for label in waiver.levels:
        if label not in {level.label for level in Level}:
            return "levels", f"there is no feature level {label!r}; expected one such as 3_0"
    try:
        expires = date.fromisoformat(waiver.expires)
    except ValueError:
        return "expires", f"{waiver.expires!r} is no day; expected one such as 2027-01-31"
    if expires < today:
        return (
            "expires",
            f"expired on {waiver.expires}, before {today}; mend the difference, or agree on a new day",
        )
    return None


class Waivers:
    """Legal waivers, and which of them have been of use.

    Args:
        waivers: in order; the first that covers a failure applies.
        places: where each stands, for messages.
    """

    def __init__(self, waivers: Sequence[Waiver] = (), places: Sequence[str] = ()) -> None:
        self.waivers = tuple(waivers)
        self._places = tuple(places) or tuple(f"waiver {n}" for n in range(1, len(self.waivers) + 1))
        self._patterns = [(_compiled(waiver.cases), _compiled(waiver.rules)) for waiver in waivers]
        self._used: set[int] = set()

    def apply(self, record: Record) -> Record:
        """The record, waived where it failed and a waiver covers it.

        One that an interrupted run has waived already stays as it is; its waiver has been of use.
        """
        if record.waived:
            self.covering(msgspec.structs.replace(record, verdict=Verdict(record.waived)))
            return record
        waiver = self.covering(record)
        if waiver is None:
            return record
        return msgspec.structs.replace(
            record,
            verdict=Verdict.WAIVED,
            waived=str(record.verdict),
            reason=waived_reason(waiver, record.reason),
        )

    def covering(self, record: Record) -> Waiver | None:
        """The waiver that covers a failed record, which with this is of use; None if there is none."""
        if record.verdict in NOT_CONFORMANT:
            for n, (waiver, (cases, rules)) in enumerate(zip(self.waivers, self._patterns, strict=True)):
                if (
                    (cases is None or cases.fullmatch(record.case))
                    and (rules is None or rules.fullmatch(record.rule))
                    and (not waiver.operators or record.operator in waiver.operators)
                    and (not waiver.levels or record.level in waiver.levels)
                ):
                    self._used.add(n)
                    return waiver
        return None

    def unused(self) -> list[str]:
        """Where each waiver stands that has covered nothing so far."""
        return [place for n, place in enumerate(self._places) if n not in self._used]

    def check_used(self) -> None:
        """Raises WaiverError if a waiver has covered nothing."""
        unused = self.unused()
        if unused:
            more = f" (and {len(unused) - 1} more)" if len(unused) > 1 else ""
            raise WaiverError(f"{unused[0]}: this waiver covers no failure of this run{more}; remove it")


def waived_reason(waiver: Waiver, reason: str) -> str:
    """What a waived record says of itself: whose waiver it is, and what was set aside."""
    return f"{waiver.reason} ({waiver.link}, {waiver.owner}, until {waiver.expires}); waived: {reason}"


def _compiled(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{translate(pattern)})" for pattern in patterns)) if patterns else None
