"""Deciding on descriptors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from corpus import corpus
from racing import Goal, Race, Work
from sizes import Sizes

from dml_conformance.spec.case import Case
from dml_conformance.spec.validator import Outcome, decide


def bench_decide(race: Race, sizes: Sizes) -> None:
    """Every operator at every level, half of them valid."""
    made = corpus(sizes.corpus)
    assert {case.outcome for case in made} >= {Outcome.ACCEPT, Outcome.REJECT}
    race(
        "decisions",
        Work("decide, mixed corpus", each(made, decide)),
        Goal(50_000),
    )


def each(made: list[Case], decision: Callable[..., Any]) -> Callable[[], int]:
    held = [(case.desc, case.level) for case in made]

    def run() -> int:
        for desc, level in held:
            decision(desc, level)
        return len(held)

    return run
