"""What the samples come to: rates, ratios, and the table of them.

Two works are timed in turn, round by round, so that whatever else a machine does slows both alike. A ratio is the
median of the rounds' ratios, not the ratio of two medians: a machine that gets slower half way through changes both
rates, and no ratio.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Clock(StrEnum):
    """Which seconds a rate is a rate of."""

    # Those that the process spent on a core. The same as the wall's on a machine that does nothing else, and hardly
    # different on one that does.
    CORE = "core"
    # Those on the wall, for what waits for something other than a core: a disk, another process.
    WALL = "wall"


class Sample(msgspec.Struct, frozen=True):
    """One round of one work.

    Attributes:
        count: units of work done.
        wall: seconds by the wall clock.
        core: seconds of processor time, all threads together.
    """

    count: int
    wall: float
    core: float

    def rate(self, clock: Clock) -> float:
        """Units a second."""
        return self.count / (self.core if clock is Clock.CORE else self.wall)


class Row(msgspec.Struct, frozen=True):
    """One line of the table: a work beside a peer that was timed in the same rounds, or beside a fixed rate.

    Attributes:
        suite: which benchmarks it is from.
        work: what was timed.
        unit: what the rates count.
        clock: whose seconds they are.
        rate: of the work, units a second, median of the rounds.
        peer: what it is compared with.
        peer_rate: units a second, median of the rounds.
        ratio: times as fast as the peer, median of the rounds; `low` and `high` are the quartiles.
        needed: the ratio to reach, None where none is asked for.
    """

    suite: str
    work: str
    unit: str
    clock: Clock
    rate: float
    peer: str
    peer_rate: float
    ratio: float
    low: float
    high: float
    needed: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether the ratio is reached; None where none is asked for."""
        return None if self.needed is None else self.ratio >= self.needed


class Heading(msgspec.Struct, frozen=True):
    """Where and when a table was measured.

    Attributes:
        date: ISO 8601.
        machine: processor and cores, in words.
        versions: of what was measured and what it was measured with.
        sizes: name of the preset.
    """

    date: str
    machine: str
    versions: dict[str, str]
    sizes: str


def row(
    suite: str,
    work: str,
    unit: str,
    samples: Sequence[Sample],
    peer: str,
    peer_rates: Sequence[float],
    needed: float | None,
    clock: Clock,
) -> Row:
    """Compare a work's samples with the peer's rates in the same rounds.

    Args:
        samples: one a round.
        peer_rates: as many, units a second by the same clock.
        needed: the ratio to reach.
    """
    rates = [sample.rate(clock) for sample in samples]
    ratios = [rate / peer_rate for rate, peer_rate in zip(rates, peer_rates, strict=True)]
    low, ratio, high = quartiles(ratios)
    return Row(
        suite,
        work,
        unit,
        clock,
        statistics.median(rates),
        peer,
        statistics.median(peer_rates),
        ratio,
        low,
        high,
        needed,
    )


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median, third quartile; of a single value, that value."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def core_share(samples: Sequence[Sample]) -> float:
    """Processor time over wall time: how much of a core the work had. Above 1, it had more than one."""
    return sum(sample.core for sample in samples) / sum(sample.wall for sample in samples)


def table(rows: Sequence[Row], shares: Sequence[float], heading: Heading) -> str:
    """The rows as Markdown that reads as well in a terminal, under a line that says where they are from.

    Args:
        rows: of one run; at least one.
        shares: the core share of each benchmark in it.
        heading: where and when.
    """
    head = ("suite", "work", "a second", "compared with", "a second", "times as fast (quartiles)", "needed", "met")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    with_goal = [row.is_met for row in rows if row.is_met is not None]
    versions = ", ".join(f"{name} {version}" for name, version in heading.versions.items())
    had = f"{min(shares):.2f} to {max(shares):.2f} of a core (median {statistics.median(shares):.2f})"
    return "\n".join(
        (
            f"{heading.date}, {heading.machine}; sizes: {heading.sizes}.",
            f"{versions}.",
            f"While timed, the process had {had}. {sum(with_goal)} of {len(with_goal)} goals met.",
            "",
            *shown,
        )
    )


def _cells(row: Row) -> tuple[str, ...]:
    clock = "" if row.clock is Clock.CORE else " (wall)"
    spread = "" if row.low == row.high else f" ({_three(row.low)} to {_three(row.high)})"
    return (
        row.suite,
        row.work,
        f"{rate_text(row.rate)} {row.unit}{clock}",
        row.peer,
        rate_text(row.peer_rate),
        _three(row.ratio) + spread,
        "" if row.needed is None else _three(row.needed),
        {None: "", True: "yes", False: "no"}[row.is_met],
    )


def rate_text(rate: float) -> str:
    """Three figures and a metric prefix: `20.5 k`."""
    for factor, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= factor * 0.9995:
            return f"{_three(rate / factor)}{prefix}"
    return _three(rate)


def _three(number: float) -> str:
    return f"{number:.0f}" if number >= 99.95 else f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


_BLOCK = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)


def with_table(page: str, text: str) -> str:
    """The page with the table between its marks replaced.

    Raises:
        ValueError: it has no such marks, or several.
    """
    if len(_BLOCK.findall(page)) != 1:
        raise ValueError("expected one pair of the marks <!-- measured --> and <!-- end -->")
    return _BLOCK.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)
