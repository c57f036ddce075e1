"""How much a campaign does."""

from __future__ import annotations

from dataclasses import dataclass

from dml_conformance.backends.base import Capabilities
from dml_conformance.strategies.scale import Reach

KIB, MIB = 2**10, 2**20
# Sizes of the outputs that throughput is measured with, up to the budget's own: the least that every operator's tensors
# come to, which takes as long as a launch does, and a series that shows from where on caches and memory set the pace.
LEAST_THROUGHPUT_BYTES = 16 * KIB
SIZE_RATIO = 4


@dataclass(frozen=True)
class Budget:
    """What is spent on one operator at one level.

    Attributes:
        name: quick, standard or full.
        search: examples that Hypothesis tries for each rule.
        sweep: seeded cases.
        sweep_total: seeded cases in all, spread evenly, in place of `sweep`; None = not set.
        reach: how far the cases of scale go, at the newest level of a campaign.
        large_bytes: size of the largest outputs that throughput is measured with, on the host.
        large_device_bytes: the same on an accelerator.
        repeats: timed runs for each operator, data type and size.
    """

    name: str
    search: int
    sweep: int
    large_bytes: int
    large_device_bytes: int
    repeats: int
    sweep_total: int | None = None
    reach: Reach = Reach.BITS_16

    def sweep_shares(self, cells: int) -> list[int]:
        """Seeded cases for each of `cells` combinations of operator and level."""
        if self.sweep_total is None or cells == 0:
            return [self.sweep] * cells
        share, rest = divmod(self.sweep_total, cells)
        return [share + (n < rest) for n in range(cells)]

    def throughput_bytes(self, capabilities: Capabilities) -> int:
        """The largest output size for a backend: accelerators need more to be busy."""
        return self.large_device_bytes if capabilities.accelerated else self.large_bytes

    def reach_on(self, capabilities: Capabilities) -> Reach:
        """How far the cases of scale go for a backend: accelerators have the memory to go all the way."""
        goes_on = self.reach is Reach.BITS_24 and capabilities.accelerated
        return Reach.BITS_32 if goes_on else self.reach

    def throughput_sizes(self, capabilities: Capabilities) -> tuple[int, ...]:
        """The output sizes for a backend, ascending; all but the largest together take a third of its time."""
        sizes = [self.throughput_bytes(capabilities)]
        while sizes[-1] >= SIZE_RATIO * LEAST_THROUGHPUT_BYTES:
            sizes.append(sizes[-1] // SIZE_RATIO)
        return tuple(reversed(sizes))


_QUICK = Budget("quick", search=2, sweep=20, large_bytes=1 * MIB, large_device_bytes=16 * MIB, repeats=3)
_STANDARD = Budget(
    "standard",
    search=6,
    sweep=600,
    large_bytes=16 * MIB,
    large_device_bytes=256 * MIB,
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
)
BUDGETS = {budget.name: budget for budget in (_QUICK, _STANDARD, _FULL)}
