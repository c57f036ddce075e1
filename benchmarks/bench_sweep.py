"""Judging small cases: decide, execute, compare with the reference; the cases at hand, or made on the way.

The reference judged by itself is the peer: it shows what the harness and the expectation cost without PyTorch. Corpora
are judged as `dml-conformance run` does, from lines in memory to records, by this process and by workers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from corpus import case, corpus, corpus_blocks, judged_by
from racing import Goal, Peer, Race, Work
from ratios import Clock
from sizes import Sizes

from dml_conformance.backends.base import Backend
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.exchange.corpus import Header, corpus_lines
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase
from dml_conformance.spec.case import Case

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


def bench_corpus(race: Race, sizes: Sizes) -> None:
    """From the lines of a corpus to records, in batches and one by one."""
    judge = judge_of(TorchBackend("cpu"))
    blocks = corpus_blocks(sizes.judged)
    race(
        "cases",
        Work("torch:cpu: corpus, in batches", judged_by(InProcess([judge]), blocks)),
        GOAL,
        Peer(Work("torch:cpu: one by one", judged_by(InProcess([judge], one_by_one=True), blocks))),
    )


def bench_workers(race: Race, sizes: Sizes) -> None:
    """The same by two processes and by one, beside the process that hands out lines and takes records."""
    blocks = corpus_blocks(2 * sizes.swept)
    setup = JudgeSetup(("torch:cpu",))
    with closing(Workers(setup, 1)) as one, closing(Workers(setup, 2)) as two:
        race(
            "cases",
            Work("torch:cpu: corpus, two workers", judged_by(two, blocks)),
            Peer(Work("torch:cpu: one worker", judged_by(one, blocks)), 1.8),
            heavy=True,
            clock=Clock.WALL,
        )


def bench_generate(race: Race, sizes: Sizes) -> None:
    """The lines of a corpus, from its first to its last, beside making the cases alone."""
    header = Header.of(sizes.cases, 0)

    def lines() -> int:
        return sum(1 for _ in corpus_lines(header)) - 2

    def cases() -> int:
        return sum(1 for _ in header.numbered_cases())

    race("cases", Work("corpus: lines", lines), Peer(Work("corpus: cases alone", cases)))


def judge_of(backend: Backend) -> Judge:
    return Judge(backend, backend.capabilities().name)


def _race(race: Race, what: str, judged: Callable[[Judge], Callable[[], int]]) -> None:
    race(
        "cases",
        Work(f"torch:cpu: {what}", judged(judge_of(TorchBackend("cpu")))),
        GOAL,
        Peer(Work("reference: the same", judged(judge_of(ReferenceBackend())))),
    )
