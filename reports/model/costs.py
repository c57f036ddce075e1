"""Where the time of a campaign goes: seconds by phase, operator and part of the work, by the clock of who does it."""

from __future__ import annotations

import csv
import io
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Self, TypeVar

from dml_conformance.reports.model.records import Phase
from dml_conformance.spec.registry import families

COLUMNS = ("phase", "family", "operator", "part", "seconds")
_T = TypeVar("_T")


class Part(StrEnum):
    """A part of the work on a case, in the order in which it is done."""

    START = "start"  # until the process that judges begins
    MAKE = "make"  # the case and its data
    DECIDE = "decide"  # the backend's answer is waited for
    EXPECT = "expect"  # what is right, and memory that is wrong everywhere
    EXECUTE = "execute"  # the backend's outputs are waited for
    COMPARE = "compare"  # and how large errors are
    MEASURE = "measure"  # throughput
    RECORD = "record"
    REPORT = "report"  # records are put into the results
    OTHER = "other"  # whatever else: Hypothesis, batches, failures


class Stopwatch:
    """Adds up the seconds of parts, which do not lie in each other: `with watch(Part.MAKE): ...`.

    Attributes:
        seconds: of each part.
    """

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)
        self._part, self._begin = Part.OTHER, 0.0

    def __call__(self, part: Part) -> Self:
        self._part = part
        return self

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self._part.value] += time.perf_counter() - self._begin

    def taken(self) -> dict[str, float]:
        """The seconds of each part, which count anew from now on."""
        seconds = dict(self.seconds)
        self.seconds.clear()
        return seconds

    def each(self, part: Part, items: Iterable[_T]) -> Iterator[_T]:
        """The items, each of which is made in a part."""
        items = iter(items)
        while True:
            with self(part):
                item = next(items, None)
            if item is None:
                return
            yield item


class Costs:
    """Seconds of a campaign."""

    def __init__(self) -> None:
        self._seconds = defaultdict[tuple[str, str, str], float](float)

    def add(self, phase: Phase | None, operator: str, seconds: Mapping[str, float]) -> None:
        """Add the seconds of parts; of no phase and no operator what belongs to all."""
        for part, spent in seconds.items():
            self._seconds[phase.value if phase else "", operator, part] += spent

    def as_csv(self) -> bytes:
        """A row for each phase, operator and part, those that take longest first."""
        text, family = io.StringIO(), families()
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        longest_first = sorted(self._seconds.items(), key=lambda item: -item[1])
        for (phase, operator, part), seconds in longest_first:
            writer.writerow((phase, family.get(operator, ""), operator, part, f"{seconds:.6f}"))
        return text.getvalue().encode()
