"""Judging a case again, and what has become of it since it was recorded."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec.structs import replace

from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import with_losses
from dml_conformance.reports.model.records import NEVER_WRITTEN, NOT_CONFORMANT, Difference, Phase, Record, Verdict
from dml_conformance.spec.case import Case


class ReplayChange(StrEnum):
    """What a case does now, against what is on record of it."""

    FIXED = "FIXED"
    STILL_FAILS = "STILL FAILS"
    DIFFERENT = "DIFFERENT"
    AS_RECORDED = "AS RECORDED"


class ReplayOutcome(NamedTuple):
    """A case that was judged again.

    Attributes:
        record: what it comes to now.
        change: against the recorded outcome; None where there is none.
        told: the change in a sentence, "" where there is none to tell of.
    """

    record: Record
    change: ReplayChange | None = None
    told: str = ""


_FAILED = (*NOT_CONFORMANT, Verdict.ERROR)


def replay(judge: Judge, case: Case, recorded: Record | None = None) -> ReplayOutcome:
    """Judge a case again.

    It is FIXED where it failed and passes, STILL FAILS where it fails in the same way: verdict, rule, answer, kind of
    reason and differing elements. It is DIFFERENT where it fails in another way, is not judged any more, or did not
    fail before. A waiver is no part of the outcome: a waived failure counts as the failure that it is.
    """
    (record,) = with_losses(iter([judge.record(case, Phase.SEARCH)]), judge.backend)
    if recorded is None:
        return ReplayOutcome(record)
    before = Verdict(recorded.waived) if recorded.waived else recorded.verdict
    if before in _FAILED and record.verdict is Verdict.PASS:
        return ReplayOutcome(record, ReplayChange.FIXED, f"it was {before}, and passes now")
    difference = _difference(before, recorded, record)
    if difference:
        return ReplayOutcome(record, ReplayChange.DIFFERENT, difference)
    if before in _FAILED:
        return ReplayOutcome(record, ReplayChange.STILL_FAILS, f"{before}, in the same way")
    return ReplayOutcome(record, ReplayChange.AS_RECORDED, f"{before}, as before")


def _difference(before: Verdict, recorded: Record, record: Record) -> str:
    """In what a case does otherwise than recorded, "" if in nothing."""
    if record.verdict is not before:
        return f"it was {before}, and is {record.verdict} now"
    if record.answered != recorded.answered:
        return f"{before} as before, but the backend answered {recorded.answered or 'nothing'}, now {record.answered}"
    if before not in _FAILED:
        return ""
    if record.rule != recorded.rule:
        return f"{before} as before, but about {record.rule or 'no rule'}, not {recorded.rule or 'no rule'}"
    if _kind(record) != _kind(recorded):
        return f"{before} as before, but for another reason: it was: {recorded.reason}"
    if record.case_json.get("timed"):
        return ""  # which elements of a large output are looked at is drawn each time
    if record.difference_count != recorded.difference_count:
        return f"{before} as before, but {recorded.difference_count} elements differed, now {record.difference_count}"
    both = min(len(record.differences), len(recorded.differences))  # not every release records as many
    if _as_told(record)[:both] != _as_told(recorded)[:both]:
        return f"{before} as before, but other values or elements differ"
    return ""


def _as_told(record: Record) -> list[Difference]:
    """The differences without what an element held that was never written, which is other bytes each time."""
    return [replace(each, actual_bits="") if each.actual == NEVER_WRITTEN else each for each in record.differences]


def _kind(record: Record) -> str:
    """A reason without the backend's own words, in which there may be an address or a time."""
    return record.reason.partition(":")[0]
