"""The consumers of the stream: what each one answers to, and how one stream feeds several of them."""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from reports.records import Campaign, Ending, Record, Throughput
from reports.text import encodable


class StreamError(ValueError):
    """Something that does not belong in the stream, such as a record of an operator that its campaign leaves out."""


class Consumer(Protocol):
    """What a report is to the run: told of the campaign once, of each record and row in order, and of the end once."""

    def start(self, campaign: Campaign) -> None:
        """Take the campaign; nothing comes before it."""

    def record(self, record: Record) -> None:
        """Take one judged case."""

    def throughput(self, row: Throughput) -> None:
        """Take one measurement; these follow the records."""

    def finish(self, ending: Ending) -> None:
        """Take the end, and close what is open; nothing comes after it."""


class FanOut:
    """One stream to several consumers, in the order given.

    A backend's own words and a path on the command line may be no Unicode (a lone surrogate out of a file name); no
    consumer could write them down, so here they are made to be. An exception of a consumer is not held back: a run
    whose results cannot be kept should stop.
    """

    def __init__(self, *consumers: Consumer) -> None:
        self._consumers = consumers
        self._record_methods = tuple(consumer.record for consumer in consumers)

    def start(self, campaign: Campaign) -> None:
        campaign = replace(campaign, backend=encodable(campaign.backend), environment=encodable(campaign.environment))
        for consumer in self._consumers:
            consumer.start(campaign)

    def record(self, record: Record) -> None:
        if not (record.reason.isascii() and record.reproduce.isascii()):
            record = replace(record, reason=encodable(record.reason), reproduce=encodable(record.reproduce))
        for take in self._record_methods:
            take(record)

    def throughput(self, row: Throughput) -> None:
        for consumer in self._consumers:
            consumer.throughput(row)

    def finish(self, ending: Ending) -> None:
        ending = replace(ending, reason=encodable(ending.reason))
        for consumer in self._consumers:
            consumer.finish(ending)
