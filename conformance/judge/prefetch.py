"""Having a backend in another process decide on many cases in one go, before they are judged one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc


@runtime_checkable
class DecisionPrefetcher(Protocol):
    """What a backend has that gains by it."""

    def prefetch_decisions(self, questions: Sequence[tuple[OperatorDesc, Level]]) -> None:
        """Decide on what `validate` will be asked for next, in this order."""


def prefetch_decisions(judge: Judge, cases: Iterable[Case]) -> None:
    """Ask a judge's backend for all that it will be asked when these cases are judged in order; where that saves time.

    Raises:
        GivenUp: the backend is not asked any more.
    """
    if isinstance(judge.backend, DecisionPrefetcher):
        claims = judge.capabilities
        judge.backend.prefetch_decisions(
            [
                (case.desc, case.level)
                for case in cases
                if case.operator in claims.operators and case.level in claims.levels
            ]
        )
