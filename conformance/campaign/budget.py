"""How much a campaign does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from dml_conformance.backends.base import Capabilities
from dml_conformance.conformance.campaign.plan import Share
from dml_conformance.spec.datatypes import DataType
from dml_conformance.strategies.scale import Reach

KIB, MIB = 2**10, 2**20
# Sizes of the outputs that throughput is measured with, up to the budget's own: the least that every operator's tensors
# come to, which takes as long as a launch does, and a series that shows from where on caches and memory set the pace.
LEAST_THROUGHPUT_BYTES = 16 * KIB
SIZE_RATIO = 4  # of sizes that follow each other in the closest series


@dataclass(frozen=True)
class Budget:
    """What is spent on one operator.

    Attributes:
        name: quick, standard or full.
        search: examples that Hypothesis tries for each rule.
        sweep: seeded cases at the newest level that is executed; others have their `plan.Share` of as many.
        sweep_total: seeded cases in all, in the same proportions, in place of `sweep`; None = not set.
        reach: how far the cases of scale go, at the newest level of a campaign.
        large_bytes: size of the largest outputs that throughput is measured with, on the host.
        large_device_bytes: the same on an accelerator.
        repeats: timed runs for each operator, data type and size.
        size_ratio: of the sizes of a series that follow each other; where it is above that of the largest and the
            least, it has these two.
        timed_types: data types that the first operator of a family is timed with, its first one with a series of sizes,
            the others with the largest.
        timed_types_of_siblings: data types that the other operators of a family are timed with, with the largest size.
        every_series: whether all of these are timed with a series of sizes.
        cold_series: whether a series is timed with cold caches at every size, not at the largest alone.
    """

    name: str
    search: int
    sweep: int
    large_bytes: int
    large_device_bytes: int
    repeats: int
    sweep_total: int | None = None
    reach: Reach = Reach.BITS_16
    size_ratio: int = SIZE_RATIO**2
    timed_types: int = 3
    timed_types_of_siblings: int = 1
    every_series: bool = False
    cold_series: bool = False

    def sweep_shares(self, weights: Sequence[int]) -> list[int]:
        """Seeded cases for each combination of operator and level.

        Args:
            weights: of each beside the others (`plan.Share`); 0 where there are no cases.
        """
        if self.sweep_total is None:
            return [-(-self.sweep * weight // Share.NEWEST) for weight in weights]
        ends = [self.sweep_total * upto // (sum(weights) or 1) for upto in accumulate(weights, initial=0)]
        return [end - start for start, end in pairwise(ends)]

    def throughput_bytes(self, capabilities: Capabilities) -> int:
        """The largest output size for a backend: accelerators need more to be busy."""
        return self.large_device_bytes if capabilities.accelerated else self.large_bytes

    def reach_on(self, capabilities: Capabilities) -> Reach:
        """How far the cases of scale go for a backend: accelerators have the memory to go all the way."""
        goes_on = self.reach is Reach.BITS_24 and capabilities.accelerated
        return Reach.BITS_32 if goes_on else self.reach

    def timings(
        self, data_types: Mapping[str, Sequence[DataType]], families: Mapping[str, str], capabilities: Capabilities
    ) -> list[Timing]:
        """What is timed of a backend.

        Args:
            data_types: of each operator that can be timed.
            families: of each operator; the first one of a family represents it.
            capabilities: of the backend.
        """
        representatives = {families[operator]: operator for operator in reversed(list(data_types))}.values()
        series = self.throughput_sizes(capabilities)
        found = []
        for operator, types in data_types.items():
            is_first = operator in representatives
            most = self.timed_types if is_first else self.timed_types_of_siblings
            for n, data_type in enumerate(_as_timed(types)[:most]):
                has_series = self.every_series or (is_first and n == 0)
                found.append(Timing(operator, data_type, series if has_series else series[-1:]))
        return found

    def is_timed_cold(self, size: int, sizes: Sequence[int]) -> bool:
        """Whether an output of a size of a series is timed with cold caches, too.

        What has one size alone stands beside a copy of as many bytes, which caches help alike.
        """
        return len(sizes) > 1 and (self.cold_series or size == sizes[-1])

    def throughput_sizes(self, capabilities: Capabilities) -> tuple[int, ...]:
        """The output sizes of a series, ascending; all but the largest together take a third of its time at most."""
        sizes = [self.throughput_bytes(capabilities)]
        while sizes[-1] >= SIZE_RATIO * LEAST_THROUGHPUT_BYTES:
            sizes.append(max(sizes[-1] // self.size_ratio, LEAST_THROUGHPUT_BYTES))
        return tuple(reversed(sizes))


class Timing(NamedTuple):
    """An operator that is timed with a data type, and the sizes of its outputs in bytes, ascending."""

    operator: str
    data_type: DataType
    sizes: tuple[int, ...]


# What is timed first: how fast data moves depends on the width of its elements, hardly on what they are.
_TIMED_FIRST = (DataType.FLOAT32, DataType.FLOAT16, DataType.UINT8, DataType.FLOAT64, DataType.INT64)


def _as_timed(data_types: Sequence[DataType]) -> list[DataType]:
    """Data types in the order in which they are timed: one of each width, then the rest."""
    order = sorted(data_types, key=lambda t: _TIMED_FIRST.index(t) if t in _TIMED_FIRST else len(_TIMED_FIRST))
    of_width = {data_type.size: data_type for data_type in reversed(order)}
    return sorted(order, key=lambda data_type: of_width[data_type.size] is not data_type)


_QUICK = Budget(
    "quick",
    search=2,
    sweep=20,
    large_bytes=1 * MIB,
    large_device_bytes=16 * MIB,
    repeats=3,
    size_ratio=2**20,
    timed_types_of_siblings=0,
)
_STANDARD = Budget(
    "standard",
    search=6,
    sweep=600,
    large_bytes=4 * MIB,
    large_device_bytes=16 * MIB,
    repeats=7,
    reach=Reach.BITS_24,
)
_FULL = Budget(
    "full",
    search=50,
    sweep=10_000,
    large_bytes=64 * MIB,
    large_device_bytes=256 * MIB,
    repeats=20,
    reach=Reach.BITS_32,
    timed_types=len(DataType),
    timed_types_of_siblings=3,
    every_series=True,
    size_ratio=SIZE_RATIO,
    cold_series=True,
)
BUDGETS = {budget.name: budget for budget in (_QUICK, _STANDARD, _FULL)}
