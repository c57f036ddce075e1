"""What became of a suite's cases since an earlier run: regressions, repairs, and what is no longer said.

A case has the same digest in every campaign, so two runs are compared case by case whatever their order. A case that
comes up twice in a run counts with the worse of its verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from dml_conformance.reports.records import NOT_CONFORMANT, Record, Verdict
from dml_conformance.reports.store import Store


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
    """The cases of a campaign that differ, by digest.

    Raises:
        StoreError: it cannot be read.
    """
    return {record.case: _light(record) for record in store.records(verdict=NOT_CONFORMANT)}


def _light(record: Record) -> Record:
    """What a comparison needs of it: it may be one of a million."""
    return Record(
        record.case,
        record.operator,
        record.level,
        record.phase,
        record.rule,
        record.verdict,
        record.expected,
        record.answered,
    )


def changes(
    before: Mapping[str, Record],
    after: Mapping[str, Record],
    seen_before: Mapping[str, Verdict],
    seen_after: Mapping[str, Verdict],
) -> list[CaseChange]:
    """What changed, the gravest first, each kind in the order of its run.

    Args:
        before: the baseline's differing cases, by digest.
        after: the new run's.
        seen_before: the baseline's verdicts on those of the new run's differing cases that it has.
        seen_after: the new run's verdicts on those of the baseline's differing cases that it has.
    """
    found = [*_worsened(before, after, seen_before), *_bettered(before, after, seen_after)]
    order = list(ChangeKind).index
    return sorted(found, key=lambda changed: order(changed.kind))


def _worsened(
    before: Mapping[str, Record], after: Mapping[str, Record], seen_before: Mapping[str, Verdict]
) -> Iterable[CaseChange]:
    for case, record in after.items():
        if case not in before:
            earlier = seen_before.get(case)
            kind = ChangeKind.NEW if earlier is None else ChangeKind.REGRESSION
            yield CaseChange(kind, case, record.operator, record.rule, str(earlier or ""), str(record.verdict))


def _bettered(
    before: Mapping[str, Record], after: Mapping[str, Record], seen_after: Mapping[str, Verdict]
) -> Iterable[CaseChange]:
    for case, record in before.items():
        if case not in after:
            later = seen_after.get(case)
            kind = (
                ChangeKind.GONE
                if later is None
                else ChangeKind.REPAIR
                if later is Verdict.PASS
                else ChangeKind.WITHDRAWN
            )
            yield CaseChange(kind, case, record.operator, record.rule, str(record.verdict), str(later or ""))
