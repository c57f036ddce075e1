"""Records in the form in which the process that judged gives them to the one that collects."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dml_conformance.reports.digests import content_line
from dml_conformance.reports.records import Record
from dml_conformance.reports.stream import Body, Written, encodable_record

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[Written])
_BODY_ENCODER = msgspec.json.Encoder()


def encoded_records(records: Iterable[Record]) -> bytes:
    """Records as one process gives them to another."""
    return _ENCODER.encode([write_down(record) for record in records])


def decoded_records(content: bytes) -> list[Written]:
    """What `encoded_records` made; raises msgspec.MsgspecError where it was not that."""
    return _DECODER.decode(content)


def write_down(record: Record) -> Written:
    """A record in the form that consumers take from another process."""
    record = encodable_record(record)
    traits = msgspec.structs.replace(record, case_json={}, differences=(), reproduce="")
    return Written(traits, content_line(record), _BODY_ENCODER.encode(Body.of(record)))
