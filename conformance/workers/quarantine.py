"""Judging the cases of a block once more, after the process that judged them was lost: each alone, on a backend in a
process of its own, so that the one that is to blame is found and the others are not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dml_conformance.backends.processes.backend import MOST_LOST, MOST_TIMED_OUT, IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import LossTally
from dml_conformance.conformance.judge.blame import Repetition
from dml_conformance.conformance.judge.judge import Judge, Judgement
from dml_conformance.conformance.workers.messages import Suspicion, TaskOutcome
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.encoded import encode_records
from dml_conformance.reports.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.case import Case


def judge_in_quarantine(
    setup: JudgeSetup, number: int, cases: Sequence[Case], suspicions: Sequence[Suspicion]
) -> TaskOutcome:
    """Judge cases one by one on a backend in a process of its own.

    Args:
        setup: says what is judged by.
        number: of the backend.
        cases: of a block.
        suspicions: why.

    Returns:
        The records, up to where the backend was given up, and how often its own process was lost.

    Raises:
        BackendError: the backend cannot be had.
    """
    records: list[Record] = []
    given_up = ""
    isolated = IsolatedBackend(setup.loaded_names[number], setup.limits)
    try:
        judge = setup.judge(number, isolated)
        repetition = Repetition(judge)
        for case in cases:
            record = repetition.repeated(judge.record(case, Phase.SWEEP))
            records.append(msgspec.structs.replace(record, lost=(*record.lost, *isolated.take_losses())))
            if given_up := too_many(setup.backends[number], isolated.tally):
                break
    except GivenUp as reason:
        given_up = str(reason)
    finally:
        isolated.close()
    if suspicions and not any(record.verdict in NOT_CONFORMANT for record in records):
        _blame_first(records, judge, cases, suspicions[-1])
    return TaskOutcome((encode_records(records),), (isolated.tally,), given_up)


def too_many(backend: str, losses: LossTally) -> str:
    """Why a backend is not worth going on with, to follow a colon; "" if it is."""
    if losses.timed_out >= MOST_TIMED_OUT:
        return f"{backend} took too long {losses.timed_out} times"
    if losses.lost >= MOST_LOST:
        return f"{backend} took its process down {losses.lost} times"
    return ""


def _blame_first(records: list[Record], judge: Judge, cases: Sequence[Case], suspicion: Suspicion) -> None:
    """Give the first case that passed the verdict on the process that was lost. None fails alone, so none has a better
    claim to it; but a backend that takes its process down does not conform, however it came to that."""
    for n, record in enumerate(records):
        if record.verdict is Verdict.PASS:
            verdict = Verdict.TIMEOUT if suspicion.timed_out else Verdict.CRASH
            if suspicion.backend is None:  # one of several backends, or the harness
                verdict = Verdict.ERROR
            over = f"{len(cases)} cases about this one"
            reason = f"the process that judged {over} {suspicion.how}; alone: {record.verdict}"
            judged = Judgement(verdict, record.rule, record.answered, reason, record.seconds)
            blamed = judge.describe(cases[n].read(judge.reading), Phase.SWEEP, judged)
            records[n] = msgspec.structs.replace(blamed, lost=record.lost)
            return
