"""What the free parts of a stored stream have to hold, so that reports can be made; damaged files hold anything."""

from __future__ import annotations

import math

import msgspec

from reports.records import Campaign, Record, Throughput, Verdict
from spec.levels import Level
from spec.validator import Reading


class _Backend(msgspec.Struct):
    name: str
    device: str
    levels: list[str]
    operators: list[str]
    enforces: list[str]
    executes: bool
    versions: dict[str, str]
    decides_at: str | None = None


class _Rule(msgspec.Struct):
    id: str
    category: str
    statement: str
    source: str
    since: str
    until: str
    erratum: str
    kind: str
    operators: list[str]


class _Strength(msgspec.Struct):
    suite_version: str
    budget: str
    is_current: bool
    mutants: int
    plantings: int
    killed: int


def check_campaign(campaign: Campaign) -> None:
    """Raises ValueError where the backend's claims, rules or strength are not of their form, or levels or the reading
    are none."""
    msgspec.convert(campaign.backend, _Backend)
    rules = msgspec.convert(campaign.rules, tuple[_Rule, ...])
    for label in {*campaign.levels, *(rule.since for rule in rules), *(rule.until for rule in rules if rule.until)}:
        Level.parse(label)
    if campaign.strength:
        msgspec.convert(campaign.strength, _Strength)
    Reading(campaign.spec)


def check_record(record: Record) -> None:
    """Raises ValueError where numbers and texts are not of their type."""
    if not (
        type(record.rank) is int
        and type(record.difference_count) is int
        and type(record.seconds) is float
        and 0 <= record.seconds < math.inf
        and type(record.reason) is str
        and len(record.case) == 64
        and record.waived in ("", *Verdict)
    ):
        raise ValueError(f"not of the form of a record: case {record.case[:64]}")


def check_throughput(row: Throughput) -> None:
    """Raises ValueError where a measurement is none: of no run, of no time, or of no speed."""
    msgspec.convert(msgspec.structs.asdict(row), Throughput)
    if not row.seconds or not all(0 < number < math.inf for number in (*row.seconds, row.copy_bytes_per_second)):
        raise ValueError(f"not of the form of a measurement: {row.operator}, {row.data_type}")
    if row.useful_bytes <= 0 or row.output_bytes < 0:
        raise ValueError(f"a measurement of {row.useful_bytes} bytes")
