"""Judging small cases: decide, execute, compare with the reference; the cases at hand, or made on the way.

The reference judged by itself is the peer: it shows what the harness and the expectation cost without PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from corpus import case, corpus
from racing import Goal, Peer, Race, Work
from sizes import Sizes

from backends.base import Backend
from backends.reference import ReferenceBackend
from backends.torch import TorchBackend
from conformance.judge import Judge
from reports.records import NOT_CONFORMANT, Phase
from spec.case import Case

GOAL = Goal(5_000)


@pytest.fixture(scope="module")
def made(sizes: Sizes) -> list[Case]:
    """The cases, which both backends pass."""
    cases = corpus(sizes.judged)
    for judge in (judge_of(ReferenceBackend()), judge_of(TorchBackend("cpu"))):
        assert not [each for each in cases if judge.judge(each).verdict in NOT_CONFORMANT]
    return cases


def bench_judge(race: Race, made: list[Case]) -> None:
    """The cases are there already."""

    def judged(judge: Judge) -> Callable[[], int]:
        def run() -> int:
            for each in made:
                judge.judge(each)
            return len(made)

        return run

    _race(race, "judge", judged)


def bench_make_and_judge(race: Race, made: list[Case]) -> None:
    """Each case is made, judged and forgotten."""

    def judged(judge: Judge) -> Callable[[], int]:
        def run() -> int:
            for n in range(len(made)):
                judge.judge(case(n))
            return len(made)

        return run

    _race(race, "make, judge", judged)


def bench_make_judge_and_record(race: Race, made: list[Case]) -> None:
    """What a campaign does in its sweep: the record with the case's digest and JSON on top."""

    def judged(judge: Judge) -> Callable[[], int]:
        def run() -> int:
            for n in range(len(made)):
                judge.record(case(n), Phase.SWEEP)
            return len(made)

        return run

    _race(race, "make, judge, record", judged)


def judge_of(backend: Backend) -> Judge:
    return Judge(backend, backend.capabilities().name)


def _race(race: Race, what: str, judged: Callable[[Judge], Callable[[], int]]) -> None:
    race(
        "cases",
        Work(f"torch:cpu: {what}", judged(judge_of(TorchBackend("cpu")))),
        GOAL,
        Peer(Work("reference: the same", judged(judge_of(ReferenceBackend())))),
    )
