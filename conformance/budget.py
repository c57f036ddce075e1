"""How much a campaign does."""

from __future__ import annotations

from dataclasses import dataclass

from backends.base import Capabilities

MIB = 2**20


@dataclass(frozen=True)
class Budget:
    """What is spent on one operator at one level.

    Attributes:
        name: quick, standard or full.
        search: examples that Hypothesis tries for each rule.
        sweep: seeded cases.
        sweep_total: seeded cases in all, spread evenly, in place of `sweep`; None = not set.
        large_bytes: size of the outputs that throughput is measured with, on the host.
        large_device_bytes: the same on an accelerator.
        repeats: timed runs for each row of the throughput table.
    """

    name: str
    search: int
    sweep: int
    large_bytes: int
    large_device_bytes: int
    repeats: int
    sweep_total: int | None = None

    def sweep_shares(self, cells: int) -> list[int]:
        """Seeded cases for each of `cells` combinations of operator and level."""
        if self.sweep_total is None or cells == 0:
            return [self.sweep] * cells
        share, rest = divmod(self.sweep_total, cells)
        return [share + (n < rest) for n in range(cells)]

    def throughput_bytes(self, capabilities: Capabilities) -> int:
        """The output size for a backend: accelerators need more to be busy."""
        return self.large_device_bytes if "cuda" in capabilities.versions else self.large_bytes


BUDGETS = {
    budget.name: budget
    for budget in (
        Budget("quick", search=2, sweep=20, large_bytes=1 * MIB, large_device_bytes=16 * MIB, repeats=3),
        Budget("standard", search=6, sweep=600, large_bytes=16 * MIB, large_device_bytes=256 * MIB, repeats=7),
        Budget("full", search=50, sweep=10_000, large_bytes=64 * MIB, large_device_bytes=256 * MIB, repeats=20),
    )
}
