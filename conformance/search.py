"""The search phase: Hypothesis looks for cases that fail and shrinks what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import hypothesis
from hypothesis import HealthCheck, given, settings
from hypothesis import Phase as HypothesisPhase
from hypothesis import strategies as st

from conformance.judge import Judge
from reports.records import NOT_CONFORMANT, Phase, Record, Verdict
from spec.case import Case
from spec.levels import Level
from strategies.cases import make_case
from strategies.chooser import HypothesisChooser


def quiet_settings(examples: int) -> settings:
    """Settings for a property that runs inside the harness: no deadline, no database, nothing printed."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(HypothesisPhase.generate, HypothesisPhase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        print_blob=False,
    )


def search(
    judge: Judge, operator: str, level: Level, rules: Sequence[str], examples: int, seed: int | None
) -> Iterator[Record]:
    """Records of the cases tried; a failure is shrunk and given once, in its smallest form.

    After a failure the search goes on without the rule that the failing case was about, so that one bug does not
    hide the next. Without a seed, Hypothesis's own profile and `--hypothesis-seed` decide.
    """
    remaining = list(rules)
    while remaining:
        outcome = _Search(judge, tuple(remaining))
        outcome.run(operator, level, examples, seed)
        yield from outcome.tried
        if outcome.smallest is None:
            return
        yield outcome.smallest[1]
        remaining.remove(outcome.smallest[0].rule)


class _Found(AssertionError):
    """Tells Hypothesis that a case fails."""


class _Search:
    """One run of Hypothesis, up to its first failure and through its shrinking."""

    def __init__(self, judge: Judge, rules: tuple[str, ...]) -> None:
        self.judge = judge
        self.rules = rules
        self.tried: list[Record] = []
        self.smallest: tuple[Case, Record] | None = None

    def run(self, operator: str, level: Level, examples: int, seed: int | None) -> None:
        @st.composite
        def any_of_the_rules(draw: st.DrawFn) -> Case:
            chooser = HypothesisChooser(draw)
            return make_case(chooser, operator, level, chooser.choice(self.rules))

        @quiet_settings(examples)
        @given(any_of_the_rules())
        def holds(case: Case) -> None:
            self.look_at(case)

        try:
            (holds if seed is None else hypothesis.seed(seed)(holds))()
        except _Found:
            pass
        except hypothesis.errors.Flaky:
            # The same case failed once and passed once: the first failure stands, unshrunk.
            assert self.smallest is not None

    def look_at(self, case: Case) -> None:
        record = self.judge.record(case, Phase.SEARCH)
        if self.smallest is None:
            if record.verdict not in NOT_CONFORMANT:
                self.tried.append(record)
                return
        elif not _same_failure(record, self.smallest[1]):
            return
        self.smallest = case, record
        raise _Found


def _same_failure(record: Record, other: Record) -> bool:
    """Shrinking must not slip from one failure to another."""
    return record.verdict is Verdict(other.verdict) and record.rule == other.rule
