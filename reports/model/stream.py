"""The consumers of the stream: what each one answers to, and how one stream feeds several of them."""

from __future__ import annotations

from msgspec.structs import replace

from dml_conformance.reports.model.costs import Costs
from dml_conformance.reports.model.encoded import EncodedRecord, encodable_campaign, encodable_reason, encodable_record
from dml_conformance.reports.model.records import Campaign, Ending, Record, Throughput

# Marks the end of the last unit of a stream; what was given by then is kept at once.
ALL = "all"


class StreamError(ValueError):
    """Something that does not belong in the stream, such as a record of an operator that its campaign leaves out."""


class Consumer:
    """What a report is to the run: told of the campaign once, of each record and row in order, and of the end once.

    What a consumer has no use for it leaves as it is here, where nothing is done with it.
    """

    def start(self, campaign: Campaign) -> None:
        """Take the campaign; nothing comes before it."""

    def record(self, record: Record | EncodedRecord) -> None:
        """Take one judged case, decoded or not; both have `traits`, `whole`, `line` and `body`."""

    def mark(self, unit: str) -> None:
        """A unit of work is finished: all its records and measurements have been given, and none of the next."""

    def throughput(self, row: Throughput) -> None:
        """Take one measurement; these follow the records."""

    def costs(self, costs: Costs) -> None:
        """Take where the time went; this comes before the end, and of a campaign alone."""

    def finish(self, ending: Ending) -> None:
        """Take the end, and close what is open; nothing comes after it."""


class FanOut(Consumer):
    """One stream to several consumers, in the order given.

    What it gives on is Unicode. An exception of a consumer is not held back: a run whose results cannot be kept should
    stop.
    """

    def __init__(self, *consumers: Consumer) -> None:
        self._consumers = consumers

    def start(self, campaign: Campaign) -> None:
        campaign = encodable_campaign(campaign)
        for consumer in self._consumers:
            consumer.start(campaign)

    def record(self, record: Record | EncodedRecord) -> None:
        if isinstance(record, Record):
            record = encodable_record(record)
        for consumer in self._consumers:
            consumer.record(record)

    def mark(self, unit: str) -> None:
        for consumer in self._consumers:
            consumer.mark(unit)

    def throughput(self, row: Throughput) -> None:
        for consumer in self._consumers:
            consumer.throughput(row)

    def costs(self, costs: Costs) -> None:
        for consumer in self._consumers:
            consumer.costs(costs)

    def finish(self, ending: Ending) -> None:
        chains = tuple(replace(chain, reason=encodable_reason(chain.reason)) for chain in ending.chains)
        ending = replace(ending, reason=encodable_reason(ending.reason), chains=chains)
        for consumer in self._consumers:
            consumer.finish(ending)
