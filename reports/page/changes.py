"""What became of a suite's cases since an earlier run: regressions, repairs, and what is no longer said.

A case has the same digest in every campaign, so two runs are compared case by case whatever their order. A case that
comes up twice in a run counts with the worse of its verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from msgspec.structs import replace

from dml_conformance.reports.model.records import NOT_CONFORMANT, Record, Verdict
from dml_conformance.reports.store.results import Store

Answers = Mapping[str, tuple[Verdict, str]]  # verdict and answer by the case's digest


class ChangeKind(StrEnum):
    """What became of a case that differs in one of the two runs, the gravest first."""

    REGRESSION = "regression"
    NEW = "new difference"
    WITHDRAWN = "no longer judged"
    GONE = "no longer tried"
    REPAIR = "repair"


CHANGE_MEANINGS = {
    ChangeKind.REGRESSION: "did not differ before and do now",
    ChangeKind.NEW: "differ, and were not among the baseline’s cases",
    ChangeKind.WITHDRAWN: "differed before; now not claimed, waived, or left open, which is no pass",
    ChangeKind.GONE: "differed before, and are not among the new cases",
    ChangeKind.REPAIR: "differed before and pass now",
}


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case that changed; the verdict is "" where a run does not have it."""

    kind: ChangeKind
    case: str
    operator: str
    rule: str
    before: str
    after: str


def differing(store: Store) -> dict[str, Record]:
    """The cases of a campaign that differ, by digest, without what is long: there may be a million.

    Raises:
        StoreError: it cannot be read.
    """
    return {
        record.case: replace(record, reason="", case_json={}, differences=(), reproduce="")
        for record in store.records(verdict=NOT_CONFORMANT)
    }


def changes(
    before: Mapping[str, Record],
    after: Mapping[str, Record],
    seen_before: Answers,
    seen_after: Answers,
) -> list[CaseChange]:
    """What changed, the gravest first, each kind in the order of its run.

    Args:
        before: the baseline's differing cases, by digest.
        after: the new run's.
        seen_before: what the baseline made of those of the new run's differing cases that it has.
        seen_after: what the new run made of those of the baseline's differing cases that it has.
    """
    found = []
    for case, record in {**after, **before}.items():
        if case not in before or case not in after:
            was = record.verdict if case in before else seen_before.get(case, (None, ""))[0]
            now = record.verdict if case in after else seen_after.get(case, (None, ""))[0]
            about = (_kind(was, now), case, record.operator, record.rule)
            found.append(CaseChange(*about, str(was or ""), str(now or "")))
    order = list(ChangeKind).index
    return sorted(found, key=lambda changed: order(changed.kind))


def _kind(was: Verdict | None, now: Verdict | None) -> ChangeKind:
    """What became of a case that differs in one of the runs; None: a run does not have it."""
    if now in NOT_CONFORMANT:
        return ChangeKind.NEW if was is None else ChangeKind.REGRESSION
    if now is None:
        return ChangeKind.GONE
    return ChangeKind.REPAIR if now is Verdict.PASS else ChangeKind.WITHDRAWN
