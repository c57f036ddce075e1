"""Networks that a campaign judges layer by layer and as chains: whether they are right, how accurate, how fast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from dml_conformance.reports.model.errors import Errors
from dml_conformance.reports.model.records import (
    NOT_CONFORMANT,
    ChainedNetwork,
    Network,
    NetworkLayer,
    Record,
    Throughput,
    Verdict,
)


class NetworkVerdict(StrEnum):
    """What the layers of a network come to."""

    RIGHT = "right"
    WRONG = "wrong"
    INCOMPLETE = "incomplete"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    NetworkVerdict.RIGHT: "every layer passed, alone and in the chain",
    NetworkVerdict.WRONG: "a layer failed, crashed or timed out, alone or in the chain",
    NetworkVerdict.INCOMPLETE: "no layer failed, and not every one was judged",
}


class LayerOutcome(msgspec.Struct, frozen=True):
    """What the judge and the clock said of a layer's case.

    Attributes:
        verdict: of its record.
        reason: of the verdict.
        errors: of results of arithmetic; null where there are none.
    """

    verdict: Verdict
    reason: str = ""
    errors: Errors | None = None

    @classmethod
    def of(cls, record: Record) -> LayerOutcome:
        """What a record says."""
        return cls(record.judged, record.reason, record.errors)


@dataclass(frozen=True)
class LayerResult:
    """A layer of a network with what came of it.

    Attributes:
        layer: of the campaign's network.
        outcome: None where its case has no record.
        timing: None where it was not timed.
    """

    layer: NetworkLayer
    outcome: LayerOutcome | None
    timing: Throughput | None

    @property
    def node(self) -> str:
        """Name of the first node that it is, with how many more there are."""
        first, *more = self.layer.nodes
        return f"{first} and {len(more)} more" if more else first

    @property
    def count(self) -> int:
        return len(self.layer.nodes)

    @property
    def is_wrong(self) -> bool:
        return self.outcome is not None and self.outcome.verdict in NOT_CONFORMANT

    @property
    def used(self) -> float | None:
        """The largest part of what the bound allows; None where nothing is rounded or nothing was judged."""
        return None if self.outcome is None or self.outcome.errors is None else self.outcome.errors.used

    @property
    def seconds(self) -> float | None:
        """Of all its executions in the network."""
        return None if self.timing is None else self.count * self.timing.median_seconds

    @property
    def least_seconds(self) -> float | None:
        """What the device's best copy of as many bytes takes, as often."""
        timing = self.timing
        return None if timing is None else self.count * timing.useful_bytes / timing.copy_bytes_per_second


@dataclass(frozen=True)
class NetworkResult:
    """A network with what came of its layers, in the order of the network."""

    network: Network
    layers: Sequence[LayerResult]
    chain: ChainedNetwork | None = None  # None where it was not executed as a chain

    @classmethod
    def of(
        cls,
        network: Network,
        outcomes: Mapping[str, LayerOutcome],
        timings: Mapping[str, Throughput],
        chains: Iterable[ChainedNetwork] = (),
    ) -> NetworkResult:
        """The result, of what is known of cases by their digests."""
        found = [LayerResult(layer, outcomes.get(layer.case), timings.get(layer.case)) for layer in network.layers]
        return cls(network, found, next((chain for chain in chains if chain.network == network.name), None))

    @property
    def name(self) -> str:
        return self.network.name

    @property
    def executions(self) -> int:
        """How many layers the network has, equal ones counted as often as they are there."""
        return sum(layer.count for layer in self.layers)

    @property
    def wrong(self) -> list[LayerResult]:
        return [layer for layer in self.layers if layer.is_wrong]

    @property
    def not_judged(self) -> list[LayerResult]:
        """Layers that neither passed nor failed."""
        return [each for each in self.layers if not each.is_wrong and not _passed(each)]

    @property
    def verdict(self) -> NetworkVerdict:
        chain = self.chain
        if self.wrong or (chain is not None and chain.failed):
            return NetworkVerdict.WRONG
        is_incomplete = self.not_judged or self.network.unmapped or (chain is not None and not chain.is_whole)
        return NetworkVerdict.INCOMPLETE if is_incomplete else NetworkVerdict.RIGHT

    @property
    def seconds(self) -> float | None:
        """The sum over the layers; None where one was not timed."""
        return _sum([layer.seconds for layer in self.layers])

    @property
    def least_seconds(self) -> float | None:
        """What the device's best copies of as many bytes take together; None where a layer was not timed."""
        return _sum([layer.least_seconds for layer in self.layers])

    def slowest(self, most: int) -> list[LayerResult]:
        """The layers that take most of the time."""
        timed = [layer for layer in self.layers if layer.seconds is not None]
        return sorted(timed, key=lambda layer: -(layer.seconds or 0.0))[:most]

    def least_accurate(self, most: int) -> list[LayerResult]:
        """The layers that need most of what their bounds allow."""
        known = [layer for layer in self.layers if layer.used is not None]
        return sorted(known, key=lambda layer: -(layer.used or 0.0))[:most]


def _passed(layer: LayerResult) -> bool:
    return layer.outcome is not None and layer.outcome.verdict is Verdict.PASS


def _sum(seconds: Sequence[float | None]) -> float | None:
    known = [each for each in seconds if each is not None]
    return sum(known) if known and len(known) == len(seconds) else None
