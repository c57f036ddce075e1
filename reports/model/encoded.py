"""Records in the form in which the process that judged gives them to the one that collects.

Decoding a case into Python objects and writing it out again costs the collecting process several times as much as all
else that it does with a record, and hardly any record has its case looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from dml_conformance.backends.foreign_text import encodable
from dml_conformance.reports.model.records import Body, Campaign, Record

LONGEST_REASON = 20_000  # characters; twice what the process of a backend passes on of its words


class EncodedRecord(msgspec.Struct, frozen=True, array_like=True):
    """A record as the process that judged the case encoded it, so that the one that collects records need not.

    Attributes:
        traits: the record without what is long: its case, differences and reproducing line.
        line: the record as `Digests` takes it.
        body: JSON of its `Body`, as `StoreWriter` takes it.
    """

    traits: Record
    line: bytes
    body: bytes

    def whole(self) -> Record:
        """The record, decoded anew each time."""
        body = _BODY_DECODER.decode(self.body)
        return replace(self.traits, case_json=body.case_json, differences=body.differences, reproduce=body.reproduce)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[EncodedRecord])
_BODY_DECODER = msgspec.json.Decoder(Body)


def encode_records(records: Iterable[Record]) -> bytes:
    """Records as one process gives them to another."""
    return _ENCODER.encode([encode_record(record) for record in records])


def decode_records(content: bytes) -> list[EncodedRecord]:
    """What `encode_records` made; raises msgspec.MsgspecError where it was not that."""
    return _DECODER.decode(content)


def encode_record(record: Record) -> EncodedRecord:
    """A record in the form that consumers take from another process."""
    record = encodable_record(record)
    traits = replace(record, case_json={}, differences=(), reproduce="")
    return EncodedRecord(traits, record.line, record.body)


# A backend's own words and a path on the command line may be no Unicode (a lone surrogate out of a file name), and no
# consumer could write them down.


def encodable_campaign(campaign: Campaign) -> Campaign:
    """The campaign with what a backend or a command line put into it made Unicode."""
    return replace(campaign, backend=encodable(campaign.backend), environment=encodable(campaign.environment))


def encodable_record(record: Record) -> Record:
    """The record with what a backend or a command line put into it made Unicode, its reason cut where it is long."""
    if record.reason.isascii() and record.reproduce.isascii() and len(record.reason) <= LONGEST_REASON:
        return record
    return replace(record, reason=encodable_reason(record.reason), reproduce=encodable(record.reproduce))


def encodable_reason(reason: str) -> str:
    """A reason made Unicode, and cut where it is long."""
    reason = encodable(reason)
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 3]}..."
