"""The consumers of the stream: what each one answers to, and how one stream feeds several of them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from dml_conformance.reports.encoded import EncodedRecord, encodable_campaign, encodable_reason, encodable_record
from dml_conformance.reports.records import Campaign, Ending, Record, Throughput


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


@runtime_checkable
class EncodedRecordConsumer(Protocol):
    """A consumer that takes encoded records as they are; the others get them whole."""

    def encoded_record(self, record: EncodedRecord) -> None:
        """Take one judged case; the same as `record` with the whole record."""


# Marks the end of the last unit of a stream; what was given by then is kept at once.
ALL = "all"


@runtime_checkable
class MarkConsumer(Protocol):
    """A consumer that is told how far the run is."""

    def mark(self, unit: str) -> None:
        """A unit of work is finished: all its records and measurements have been given, and none of the next."""


class Stream(Consumer, EncodedRecordConsumer, MarkConsumer, Protocol):
    """A consumer that takes records in either form, and marks."""


class FanOut:
    """One stream to several consumers, in the order given.

    What it gives on is Unicode. An exception of a consumer is not held back: a run whose results cannot be kept should
    stop.
    """

    def __init__(self, *consumers: Consumer) -> None:
        self._consumers = consumers
        self._record_methods = tuple(consumer.record for consumer in consumers)
        takers = [consumer for consumer in consumers if isinstance(consumer, EncodedRecordConsumer)]
        self._encoded_methods = tuple(consumer.encoded_record for consumer in takers)
        self._whole_methods = tuple(consumer.record for consumer in consumers if consumer not in takers)
        self._mark_methods = tuple(consumer.mark for consumer in consumers if isinstance(consumer, MarkConsumer))

    def start(self, campaign: Campaign) -> None:
        campaign = encodable_campaign(campaign)
        for consumer in self._consumers:
            consumer.start(campaign)

    def record(self, record: Record) -> None:
        record = encodable_record(record)
        for take in self._record_methods:
            take(record)

    def encoded_record(self, record: EncodedRecord) -> None:
        for take in self._encoded_methods:
            take(record)
        if self._whole_methods:
            whole = record.whole()
            for take_whole in self._whole_methods:
                take_whole(whole)

    def mark(self, unit: str) -> None:
        for take in self._mark_methods:
            take(unit)

    def throughput(self, row: Throughput) -> None:
        for consumer in self._consumers:
            consumer.throughput(row)

    def finish(self, ending: Ending) -> None:
        ending = replace(ending, reason=encodable_reason(ending.reason))
        for consumer in self._consumers:
            consumer.finish(ending)
