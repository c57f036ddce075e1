"""The judge of a campaign, with the answers that are on record in place of a backend."""

from __future__ import annotations

from dml_conformance.backends.base import Answer, Bindings, Capabilities, Unsupported
from dml_conformance.conformance.judge.judge import DECLINED, Judge
from dml_conformance.reports.model.records import Verdict
from dml_conformance.spec.accuracy import DIRECTML, Tolerance
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.validator import Reading


class _AnswersOnRecord:
    """A backend that gives the answer that it is told to give; it is never executed."""

    def __init__(self, claims: Capabilities) -> None:
        self._claims = claims
        self.answer: Answer | Exception = Answer(accepted=True)

    def capabilities(self) -> Capabilities:
        return self._claims

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        raise Unsupported("answers on record are not executed")


class ReplayedJudge(Judge):
    """Judges as in the campaign, from the answers on record.

    Args:
        claims: what the backend was held to.
        reading: what counted as the specification.
        tolerance: the bounds that results of arithmetic were held to.
    """

    def __init__(self, claims: Capabilities, reading: Reading, tolerance: Tolerance = DIRECTML) -> None:
        self._replayed = _AnswersOnRecord(claims)
        super().__init__(self._replayed, claims.name, reading, tolerance=tolerance)

    def take(self, answered: str, verdict: Verdict, reason: str) -> None:
        """Have the backend answer as a record has it.

        Args:
            answered: accept, reject, or "" where there was no answer.
            verdict: the record's; tells a crash from what was not claimed where there was no answer.
            reason: of the record.
        """
        if answered:
            self._replayed.answer = Answer(accepted=answered == "accept")
        elif reason.startswith(DECLINED):
            self._replayed.answer = Unsupported(reason.removeprefix(f"{DECLINED}: "))
        else:
            self._replayed.answer = RuntimeError(reason)
