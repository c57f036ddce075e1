"""The consumers of the stream: what each one answers to, and how one stream feeds several of them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

from dml_conformance.backends.foreign_text import encodable
from dml_conformance.backends.processes.losses import Loss
from dml_conformance.reports.records import Campaign, Difference, Ending, Record, Repeated, Throughput

LONGEST_REASON = 20_000  # characters; twice what the process of a backend passes on of its words


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


class Body(msgspec.Struct, array_like=True, frozen=True):
    """What only single records are asked for, as a results file holds it; older files lack the last ones."""

    case_json: dict[str, Any]
    differences: tuple[Difference, ...]
    reproduce: str
    output: str = ""
    waived: str = ""
    lost: tuple[Loss, ...] = ()
    repeated: Repeated = Repeated.NONE

    @classmethod
    def of(cls, record: Record) -> Body:
        return cls(*[getattr(record, name) for name in cls.__struct_fields__])


class Written(msgspec.Struct, frozen=True, array_like=True):
    """A record as the process that judged the case wrote it down, so that the one that collects records need not.

    Decoding a case into Python objects and writing it out again costs the collecting process several times as much as
    all else that it does with a record, and hardly any record has its case looked at.

    Attributes:
        traits: the record without what is long: its case, differences and reproducing line.
        line: the record as a line of JSON with sorted keys, as `Digests` takes it.
        body: JSON of its `Body`, as `StoreWriter` takes it.
    """

    traits: Record
    line: bytes
    body: bytes

    def whole(self) -> Record:
        """The record, decoded anew each time."""
        body = _BODY_DECODER.decode(self.body)
        return replace(self.traits, case_json=body.case_json, differences=body.differences, reproduce=body.reproduce)


_BODY_DECODER = msgspec.json.Decoder(Body)


@runtime_checkable
class TakesWritten(Protocol):
    """A consumer that takes written records as they are; the others get them whole."""

    def written(self, written: Written) -> None:
        """Take one judged case; the same as `record` with the whole record."""


# Marks the end of the last unit of a stream; what was given by then is kept at once.
ALL = "all"


@runtime_checkable
class TakesMarks(Protocol):
    """A consumer that is told how far the run is."""

    def mark(self, unit: str) -> None:
        """A unit of work is finished: all its records and measurements have been given, and none of the next."""


class Stream(Consumer, TakesWritten, TakesMarks, Protocol):
    """A consumer that takes records in either form, and marks."""


class FanOut:
    """One stream to several consumers, in the order given.

    A backend's own words and a path on the command line may be no Unicode (a lone surrogate out of a file name); no
    consumer could write them down, so here they are made to be. An exception of a consumer is not held back: a run
    whose results cannot be kept should stop.
    """

    def __init__(self, *consumers: Consumer) -> None:
        self._consumers = consumers
        self._record_methods = tuple(consumer.record for consumer in consumers)
        takers = [consumer for consumer in consumers if isinstance(consumer, TakesWritten)]
        self._written_methods = tuple(consumer.written for consumer in takers)
        self._whole_methods = tuple(consumer.record for consumer in consumers if consumer not in takers)
        self._mark_methods = tuple(consumer.mark for consumer in consumers if isinstance(consumer, TakesMarks))

    def start(self, campaign: Campaign) -> None:
        campaign = encodable_campaign(campaign)
        for consumer in self._consumers:
            consumer.start(campaign)

    def record(self, record: Record) -> None:
        record = encodable_record(record)
        for take in self._record_methods:
            take(record)

    def written(self, written: Written) -> None:
        for take in self._written_methods:
            take(written)
        if self._whole_methods:
            record = written.whole()
            for take_whole in self._whole_methods:
                take_whole(record)

    def mark(self, unit: str) -> None:
        for take in self._mark_methods:
            take(unit)

    def throughput(self, row: Throughput) -> None:
        for consumer in self._consumers:
            consumer.throughput(row)

    def finish(self, ending: Ending) -> None:
        ending = replace(ending, reason=_cut(encodable(ending.reason)))
        for consumer in self._consumers:
            consumer.finish(ending)


def encodable_campaign(campaign: Campaign) -> Campaign:
    """The campaign with what a backend or a command line put into it made Unicode."""
    return replace(campaign, backend=encodable(campaign.backend), environment=encodable(campaign.environment))


def encodable_record(record: Record) -> Record:
    """The record with what a backend or a command line put into it made Unicode, its reason cut where it is long."""
    if record.reason.isascii() and record.reproduce.isascii() and len(record.reason) <= LONGEST_REASON:
        return record
    return replace(record, reason=_cut(encodable(record.reason)), reproduce=encodable(record.reproduce))


def _cut(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 3]}..."
