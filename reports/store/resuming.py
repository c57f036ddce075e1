"""What an interrupted run has left, and whether the run that is to complete it is the same one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from dml_conformance.backends.loading import SHARED_CODE
from dml_conformance.reports.model.encoded import encodable_campaign
from dml_conformance.reports.model.records import (
    MISSING_WALLS,
    RESUMED,
    WALLS,
    Campaign,
    Ending,
    Record,
    Throughput,
    walls_of,
)
from dml_conformance.reports.store.authentication import Authenticity
from dml_conformance.reports.store.results import NOTHING, SCHEMA_VERSION, Mark, Store, StoreError
from dml_conformance.spec.errors import BadInputError

# What of a campaign may be another one when it is resumed: the moment it began, which stays the first.
_OWN = ("started",)
_LONGEST = 80  # characters of a value in a message


class ResumeError(BadInputError):
    """A run that cannot be resumed, or not by this command; the message says why, and what to do."""


@dataclass(frozen=True)
class PartialRun:
    """What an interrupted run has finished; of a new run nothing.

    Attributes:
        results: its results file.
        shown: the output folder, as messages call it.
        campaign: what it is about; None where nothing was begun.
        marks: its finished units of work.
        ending: how it ended, where all was judged and only reports were left to be written.
        is_authentic: whether it is known that a command of this user wrote it.
    """

    results: Path
    shown: Path
    campaign: Campaign | None = None
    marks: tuple[Mark, ...] = ()
    ending: Ending | None = None
    is_authentic: bool = True
    _length: int = field(default=0, kw_only=True)

    @classmethod
    def of(cls, results: Path, shown: Path) -> PartialRun:
        """What the results file of an interrupted run holds.

        Raises:
            ResumeError: it is damaged, something else has changed it, or an earlier release began it, in a form that is
                not written any more.
        """
        with _opened(results, shown) as store:
            ended = store.ending is not None
            if not ended and store.version != SCHEMA_VERSION:
                raise damaged(shown, f"its results are of version {store.version}, which this release only reads")
            is_authentic = check_authentic(store, shown)
            return cls(
                results,
                shown,
                store.campaign,
                store.marks(),
                store.ending,
                is_authentic=is_authentic,
                _length=len(store) * ended,
            )

    @property
    def last(self) -> Mark | None:
        """The mark that the run goes on from; None where it had ended."""
        if self.ending is not None:
            return None
        return self.marks[-1] if self.marks else NOTHING

    @property
    def units(self) -> frozenset[str]:
        """Names of the units of work that are finished."""
        return frozenset(mark.unit for mark in self.marks)

    @property
    def count(self) -> int:
        """How many records are kept."""
        return self._length if self.last is None else self.last.records

    def up_to(self, records: int) -> PartialRun:
        """The same without the units that ended after so many records, if the run had not ended."""
        return replace(self, marks=tuple(mark for mark in self.marks if mark.records <= records))

    def records(self) -> Iterator[Record]:
        """The records that are kept, in order; once the run was started again.

        Raises:
            ResumeError: the file is damaged.
        """
        if self.campaign is not None:
            with _opened(self.results, self.shown) as store:
                yield from store.records()

    def throughputs(self) -> tuple[Throughput, ...]:
        """The measurements that are kept; as `records`."""
        if self.campaign is None:
            return ()
        with _opened(self.results, self.shown) as store:
            return store.throughputs()


@contextmanager
def _opened(results: Path, shown: Path) -> Iterator[Store]:
    """The results file of an interrupted run; what is wrong with it is a ResumeError."""
    try:
        with Store(results, restore=True) as store:  # it is ours, and written to next
            yield store
    except StoreError as error:
        raise damaged(shown, error) from error


def check_authentic(store: Store, shown: Path) -> bool:
    """Whether the results of a run that is to be resumed are known to be what a command of this user wrote.

    Raises:
        ResumeError: they are known not to be, or do not have what every run of this release writes.
    """
    found = store.authenticity()
    if found in (Authenticity.CHANGED, Authenticity.WITHOUT_MAC):
        raise ResumeError(
            f"{shown}: {store.path.name}: {found.value}; it is not resumed, --replace discards it and starts anew"
        )
    return found is Authenticity.SOUND


def is_begun(results: Path) -> bool:
    """Whether a results file has anything in it, be it damaged: a run that was killed early leaves one without."""
    if not results.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{results.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except sqlite3.Error:
        return True


def damaged(shown: Path, error: object) -> ResumeError:
    """That a run cannot be resumed for what is wrong with its files."""
    return ResumeError(
        f"{shown}: the interrupted run that is there cannot be resumed: {error}; --replace discards it and starts anew"
    )


def check_same_campaign(shown: Path, before: Campaign, now: Campaign) -> None:
    """Hold the campaign that is to be resumed against the one that was interrupted.

    Raises:
        ResumeError: they differ; names a field, what it was and what it is.
    """
    try:
        one, other = (msgspec.json.decode(msgspec.json.encode(each)) for each in (before, encodable_campaign(now)))
    except RecursionError as error:
        raise damaged(shown, error) from error
    for own in _OWN:
        del one[own], other[own]
    one["environment"].pop(RESUMED, None)
    for each in (one, other):  # not known with --in-process, which may differ
        each["backend"].get("paths", {}).pop(SHARED_CODE, None)
    if set(walls_of(before.environment)) <= set(walls_of(now.environment)):  # the whole has those of its first part
        for each in (one, other):
            for name in (WALLS, MISSING_WALLS):
                each["environment"].pop(name, None)
    check_same(shown, one, other)


def check_same(shown: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """The same for anything of JSON; raises ResumeError."""
    difference = _difference(before, now, "")
    if difference is not None:
        where, was, found = difference
        raise ResumeError(
            f"{shown}: {where} was {_shown_value(was)} when the run was interrupted, and is {_shown_value(found)}; "
            "--resume completes the same run alone, --replace in its place discards it and starts anew"
        )


_ABSENT = object()


def _difference(before: Any, now: Any, where: str) -> tuple[str, Any, Any] | None:
    """The first place where two values differ, and what stands there in each."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in {**before, **now}:
            place = f"{where}.{key}" if where else str(key)
            found = _difference(before.get(key, _ABSENT), now.get(key, _ABSENT), place)
            if found is not None:
                return found
        return None
    return None if before == now else (where, before, now)


def _shown_value(value: Any) -> str:
    if value is _ABSENT:
        return "not there"
    try:
        text = value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
    except RecursionError:
        text = "more than can be told"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
