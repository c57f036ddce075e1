"""What a record is told of its case after it was judged: whether it fails again in a new process, and whether the
processes that were lost over it are put down to the machine any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace

from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import MOST_FORGIVEN
from dml_conformance.conformance.judge.judge import Judge, reproduce_line
from dml_conformance.conformance.judge.losses import take_losses, was_asked
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Repeated, Verdict
from dml_conformance.reports.model.stream import Consumer, FanOut
from dml_conformance.reports.model.summary import FailureKind, failure_kind
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.case import Case
from dml_conformance.spec.registry import rule
from dml_conformance.spec.validator import Reading

# Failing cases of one operator and rule, beside the search's, that are executed again; each costs a start of a process.
MOST_REPEATED = 3
NOT_AGAIN = "repeated in a new process it did not fail again"


class Blame:
    """Gives a case the verdict on processes that were lost without one to blame, where too many were to be forgiven.

    Args:
        backend_name: how the command line names the backend.
        reading: what counts as the specification.
        tolerance: the bounds that results of arithmetic are held to.
    """

    def __init__(self, backend_name: str, reading: Reading, tolerance: Tolerance) -> None:
        self._backend_name = backend_name
        self._reading = reading
        self._tolerance = tolerance
        self._forgiven = 0

    def settled(self, record: Record) -> Record:
        """The record, a crash where it is to blame. What was settled before, as in a run that is resumed, stays so."""
        lost = record.losses_forgiven
        if not lost:
            return record
        if self._forgiven + lost > MOST_FORGIVEN and was_asked(record) and record.judged not in NOT_CONFORMANT:
            return self._blamed(record)
        self._forgiven += lost
        return record

    def _blamed(self, record: Record) -> Record:
        was_executed = record.rule != "" and not rule(record.rule).is_descriptor_rule
        ways = "; ".join(dict.fromkeys(loss.how for loss in record.lost))
        reason = (
            f"the backend's process {ways}, over this case or those that it was asked for with; alone it came to "
            f"{record.verdict}; {self._forgiven} processes were lost before without a case to blame, and no more than "
            f"{MOST_FORGIVEN} are put down to the machine"
        )
        return replace(
            record,
            verdict=Verdict.CRASH,
            answered=record.answered if was_executed else "",
            reason=reason,
            output="",
            reproduce=reproduce_line(
                Case.from_json(record.case_json), self._backend_name, self._reading, self._tolerance
            ),
        )


class SettledStream(FanOut):
    """A stream that settles records before it passes them on.

    Args:
        settle: what a record becomes; the same one where there is nothing to settle.
        consumers: what they are passed on to.
    """

    def __init__(self, settle: Callable[[Record], Record], *consumers: Consumer) -> None:
        super().__init__(*consumers)
        self._settle = settle

    def record(self, record: Record | EncodedRecord) -> None:
        if record.traits.lost or record.traits.judged in NOT_CONFORMANT:
            whole = record.whole()
            settled = self._settle(whole)
            if settled is not whole:
                record = settled
        super().record(record)


class Repetition:
    """Executes what failed once more in a new process, so that a wrong backend is told from a process gone wrong.

    Args:
        judge: of the cases.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._counts: Counter[tuple[str, str]] = Counter()

    def repeated(self, record: Record) -> Record:
        """The record, with what became of the repetition where its execution failed; it fails all the same."""
        backend = self._judge.backend
        if not is_failed_execution(record) or not isinstance(backend, IsolatedBackend):
            return record
        if not record.repeated:
            found = self._repeat(record, backend)
            now_and_then = f"; {NOT_AGAIN}" if found is Repeated.DID_NOT_FAIL else ""
            lost = (*record.lost, *take_losses(backend))
            record = replace(record, repeated=found, reason=record.reason + now_and_then, lost=lost)
        self._counts[record.operator, record.rule] += record.repeated is not Repeated.NOT_REPEATED
        return record

    def _repeat(self, record: Record, backend: IsolatedBackend) -> Repeated:
        # What a search ends with is the case that is shown.
        if record.phase is not Phase.SEARCH and self._counts[record.operator, record.rule] >= MOST_REPEATED:
            return Repeated.NOT_REPEATED
        try:
            with backend.in_a_new_process():
                again = self._judge.judge(Case.from_json(record.case_json))
        except GivenUp:
            return Repeated.NOT_REPEATED
        return Repeated.FAILED_AGAIN if again.verdict in NOT_CONFORMANT else Repeated.DID_NOT_FAIL


def is_failed_execution(record: Record) -> bool:
    """Whether the case was executed, and what that left in memory is wrong, be it waived or not."""
    if record.judged is not Verdict.FAIL:
        return False
    return failure_kind(replace(record, verdict=Verdict.FAIL)) is FailureKind.OUTPUT
