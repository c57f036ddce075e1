"""The search phase: Hypothesis looks for cases that fail and shrinks what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import hypothesis
from hypothesis import HealthCheck, given, settings
from hypothesis import Phase as HypothesisPhase
from msgspec import convert
from msgspec.structs import replace

from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import tally_of
from dml_conformance.conformance.judge.simplify import simplest
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.case import Case, Placement
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.strategies import cases
from dml_conformance.strategies.boundaries import PLACEMENTS


def quiet_settings(examples: int) -> settings:
    """Settings for a property that runs inside the harness: no deadline, no database, nothing printed.

    Without examples of its own Hypothesis runs the explicit ones alone.
    """
    own = (HypothesisPhase.generate, HypothesisPhase.shrink) if examples else ()
    return settings(
        max_examples=max(examples, 1),
        deadline=None,
        database=None,
        phases=(HypothesisPhase.explicit, *own),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        print_blob=False,
    )


def search(
    judge: Judge,
    operator: str,
    level: Level,
    rule: str,
    examples: int,
    seed: int | str | None,
    explicit: Sequence[Case] = (),
) -> Iterator[Record]:
    """Records of the cases about one rule that were tried; a failure is shrunk and given once, in its smallest form.

    Without a seed, Hypothesis's own profile decides. A seed goes before it, also where it is derandomised, as in CI.
    Explicit cases are Hypothesis's `@example`s: they come first, in order, and of one that fails only whole
    steps are taken to a simpler one.
    """
    outcome = _Search(judge, rule)
    outcome.run(operator, level, examples, seed, explicit)
    yield from outcome.tried
    if outcome.smallest is not None:
        yield _simplified(judge, *outcome.smallest, outcome.patience)


# Descriptors tried in making a shrunk one simpler still.
SIMPLER_TRIES = 300
# Cases tried in shrinking one; of a failure that comes and goes nothing smaller may ever be found.
SHRINK_TRIES = 2000
# Processes of the backend that may be lost over one failure, and how many of them for taking too long: a new process
# takes seconds to start, and one that takes too long is given a minute.
MOST_LOST, MOST_TIMED_OUT = 20, 4


class _Patience:
    """How much longer a failure is looked at, some of which cost the backend's process.

    Args:
        backend: counts the processes that it lost, if it runs in any.
    """

    def __init__(self, backend: object) -> None:
        self._backend = backend
        self._before = tally_of(backend)
        self.tries = 0

    @property
    def is_over(self) -> bool:
        lost = tally_of(self._backend).since(self._before)
        return self.tries > SHRINK_TRIES or lost.reaches(MOST_LOST, MOST_TIMED_OUT)


class _Found(AssertionError):
    """Tells Hypothesis that a case fails."""


class _Search:
    """One run of Hypothesis, up to its first failure and through its shrinking."""

    def __init__(self, judge: Judge, rule: str) -> None:
        self.judge = judge
        self.rule = rule
        self.tried: list[Record] = []
        self.smallest: tuple[Case, Record] | None = None
        self.placement: Placement | None = None  # in which a failure is made smaller
        self.patience = _Patience(judge.backend)
        self._failed: dict[str, Record] = {}  # by digest of the case

    def run(self, operator: str, level: Level, examples: int, seed: int | str | None, explicit: Sequence[Case]) -> None:
        @quiet_settings(examples)
        @given(cases(operator, level, self.rule))
        def holds(case: Case) -> None:
            self.look_at(case)

        for case in reversed(explicit):  # decorators: the last one applied is tried first
            holds = hypothesis.example(case)(holds)
        try:
            (holds if seed is None else hypothesis.seed(seed)(holds))()
        except _Found:
            pass
        except hypothesis.errors.Flaky:
            # The same case failed once and passed once: the first failure stands, unshrunk.
            assert self.smallest is not None

    def look_at(self, case: Case) -> None:
        if self.placement is not None and case.data is not None:
            case = replace(case, placement=self.placement)
        if self.smallest is not None and self.patience.is_over:
            # What is not known to fail passes as far as shrinking goes, which thus ends soon, at a case that is known.
            known = self._failed.get(case.digest)
            if known is None:
                return
            self.smallest = case, known
            raise _Found
        record = self.judge.record(case, Phase.SEARCH)
        self.patience.tries += self.smallest is not None
        if self.smallest is None:
            if record.verdict not in NOT_CONFORMANT:
                self.tried.append(record)
                return
            case, record = self._plainly_bound(case, record)
            self.placement = case.placement
        elif not _same_failure(record, self.smallest[1]):
            return
        self.smallest = case, record
        self._failed[record.case] = record
        raise _Found

    def _plainly_bound(self, case: Case, record: Record) -> tuple[Case, Record]:
        """A failing case, bound in the plainest way in which it fails so, and its record."""
        if "placement" not in record.case_json or self.patience.is_over:
            return case, record
        for placement in (*PLACEMENTS, convert(record.case_json["placement"], Placement)):
            plainer = replace(case, placement=placement)
            again = self.judge.record(plainer, Phase.SEARCH)
            if _same_failure(again, record):
                return plainer, again
        return case, record


def _same_failure(record: Record, other: Record) -> bool:
    """Shrinking must not slip from one failure to another."""
    return record.verdict is Verdict(other.verdict) and record.rule == other.rule


def _simplified(judge: Judge, case: Case, record: Record, patience: _Patience) -> Record:
    """The same failure on a simpler descriptor, where one is a step away.

    Hypothesis makes decisions smaller one by one; to drop a dimension and choose another layout for what is left, say,
    takes two at once, and it stops before. Data recipes stay as they are.
    """
    found = {case.desc: record}

    def still_fails(desc: OperatorDesc) -> bool:
        if patience.is_over:
            return False
        simpler = Case.of(desc, case.level, case.data, rule=case.rule, origin=case.origin, placement=case.placement)
        if simpler.broken != case.broken:
            return False
        found[desc] = judge.record(simpler, Phase.SEARCH)
        return _same_failure(found[desc], record)

    return found[simplest(case.desc, still_fails, SIMPLER_TRIES)]
