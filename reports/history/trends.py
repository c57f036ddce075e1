"""What changed from run to run of a backend on a device: verdicts, and where throughput took a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from dml_conformance.reports.history.database import HistoryRun
from dml_conformance.reports.history.steps import Step, steps
from dml_conformance.reports.model.records import Room, Timing


class VerdictChange(NamedTuple):
    """A run in which other cases of an operator failed than in the run before, or as many in another setup."""

    run: int
    operator: str
    before: int
    after: int
    same_setup: bool


class Rates(NamedTuple):
    """The throughput of what was timed: by the runs that measured it, and its steps among those."""

    timing: Timing
    runs: tuple[int, ...]
    values: tuple[float, ...]
    steps: tuple[Step, ...]


class SteppedTogether(NamedTuple):
    """The measurements of an operator that took a step in the same run and the same direction, each as sure.

    Attributes:
        run: its number.
        operator: `GATHER`.
        steps: each with what was timed.
        timed: how many measurements of the operator there are.
    """

    run: int
    operator: str
    steps: tuple[tuple[Rates, Step], ...]
    timed: int

    @property
    def is_confirmed(self) -> bool:
        return self.steps[0][1].confirmed

    @property
    def least(self) -> float:
        """The change that is nearest to none."""
        return min((step.change for _, step in self.steps), key=abs)

    @property
    def largest(self) -> tuple[Rates, Step]:
        return max(self.steps, key=lambda found: abs(found[1].change))


class Trend(NamedTuple):
    """One series and what changed in it; runs are numbered from 1."""

    runs: Sequence[HistoryRun]
    changes: tuple[VerdictChange, ...]
    rates: tuple[Rates, ...]
    left_out: int  # of what was timed: there is no room for it

    @classmethod
    def of(cls, runs: Sequence[HistoryRun]) -> Trend:
        room = Room()
        return cls(runs, tuple(_changes(runs)), tuple(_rates(runs, room)), room.left_out)

    def stepped_together(self) -> list[SteppedTogether]:
        """The steps by run, the latest first; of a run the operator that changed most first."""
        groups: dict[tuple[int, str, bool, bool], list[tuple[Rates, Step]]] = {}
        for rates in self.rates:
            for step in rates.steps:
                key = rates.runs[step.at], rates.timing.operator, step.change > 0, step.confirmed
                groups.setdefault(key, []).append((rates, step))
        timed = Counter(rates.timing.operator for rates in self.rates)
        found = [
            SteppedTogether(run, operator, tuple(group), timed[operator])
            for (run, operator, _, _), group in groups.items()
        ]
        return sorted(found, key=lambda group: (-group.run, -abs(group.largest[1].change), group.operator))


def merged(series: Iterable[Mapping[tuple[str, str], Sequence[HistoryRun]]]) -> dict[tuple[str, str], list[HistoryRun]]:
    """The series of several histories as one: a run that several have counts once."""
    found: dict[tuple[str, str], dict[str, HistoryRun]] = {}
    for of_history in series:
        for key, runs in of_history.items():
            found.setdefault(key, {}).update((run.digest, run) for run in runs)
    return {key: sorted(runs.values(), key=lambda run: run.started) for key, runs in sorted(found.items())}


def _changes(runs: Sequence[HistoryRun]) -> Iterator[VerdictChange]:
    for number, (before, after) in enumerate(pairwise(runs), 2):
        for operator in dict.fromkeys((*before.counts, *after.counts)):
            if operator in before.counts and operator in after.counts:
                counts = before.failed(operator), after.failed(operator)
                if counts[0] != counts[1]:
                    yield VerdictChange(number, operator, *counts, before.setup == after.setup)


def _rates(runs: Sequence[HistoryRun], room: Room) -> Iterator[Rates]:
    for timing in dict.fromkeys(timing for run in runs for timing in run.throughput):
        if not room.takes(timing):
            continue
        measured = [
            (number, run.throughput[timing]) for number, run in enumerate(runs, 1) if run.throughput.get(timing)
        ]
        if measured:
            numbers, values = zip(*measured, strict=True)
            yield Rates(timing, numbers, values, tuple(steps(values)))
