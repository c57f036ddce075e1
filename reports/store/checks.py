"""What the free parts of a stored stream have to hold, so that reports can be made; damaged files hold anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from dml_conformance.reports.model.encoded import LONGEST_REASON
from dml_conformance.reports.model.errors import LARGEST_POWER, LEAST_BIN, MOST_BIN, Errors
from dml_conformance.reports.model.records import Campaign, Ending, Record, Strength, Throughput, Verdict
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Reading

# Characters and entries that reports have room for. Names are those of backends, devices, operators, rules and types.
LONGEST_NAME, LONGEST_TEXT, LONGEST_FACT = 1_000, 10_000, 100_000
MOST_NAMES, MOST_RULES, MOST_RUNS, MOST_NODES = 1_000, 10_000, 10_000, 100_000


class _Backend(msgspec.Struct):
    name: str
    device: str
    levels: list[str]
    operators: list[str]
    enforces: list[str]
    executes: bool
    versions: dict[str, str]
    decides_at: str | None = None
    accelerated: bool = False
    paths: dict[str, str] = {}


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


def check_lengths(where: str, value: Any, longest: int = LONGEST_NAME, most: int = MOST_NAMES) -> None:
    """Raises ValueError where a text in JSON is longer, or a list or object in it has more entries, than it may."""
    if isinstance(value, str):
        if len(value) > longest:
            raise ValueError(f"{where}: expected at most {longest:,} characters, found {len(value):,}")
    elif isinstance(value, Mapping | list | tuple):
        if len(value) > most:
            raise ValueError(f"{where}: expected at most {most:,} entries, found {len(value):,}")
        if isinstance(value, Mapping):
            for name, each in value.items():
                check_lengths(f"{where}: a name", str(name), longest)
                check_lengths(f"{where}.{name}", each, longest, most)
        else:
            for number, each in enumerate(value):
                check_lengths(f"{where}[{number}]", each, longest, most)


def check_ending(ending: Ending) -> None:
    """Raises ValueError where its texts are too long."""
    check_lengths("ending.finished", ending.finished)
    check_lengths("ending.reason", ending.reason, LONGEST_REASON)
    check_lengths("ending.chains", [(each.network, each.segment_end, *each.outputs) for each in ending.chains])
    for chain in ending.chains:
        check_lengths(f"reason of the chain {chain.network}", chain.reason, LONGEST_REASON)
        if chain.failed and len(chain.failed) != 64:
            raise ValueError(f"the chain {chain.network} failed at no case: {chain.failed}")
        if not all(part is None or 0 <= part < math.inf for part in (chain.error, chain.allowed, chain.segment)):
            raise ValueError(f"figures that no chain has: {chain.network}")


def check_campaign(campaign: Campaign) -> None:
    """Raises ValueError where the backend's claims, rules or strength are not of their form, levels or the reading are
    none, or texts are too long."""
    check_lengths("rules", campaign.rules, LONGEST_TEXT, MOST_RULES)
    check_lengths("environment", campaign.environment, LONGEST_FACT)
    for where in (
        "backend",
        "operators",
        "levels",
        "strength",
        "suite_version",
        "budget",
        "started",
        "spec",
        "accuracy",
        "executed",
    ):
        check_lengths(where, getattr(campaign, where))
    check_lengths("networks", msgspec.to_builtins(campaign.networks), LONGEST_TEXT, MOST_NODES)
    msgspec.convert(campaign.backend, _Backend)
    rules = msgspec.convert(campaign.rules, tuple[_Rule, ...])
    for label in {*campaign.levels, *(rule.since for rule in rules), *(rule.until for rule in rules if rule.until)}:
        Level.parse(label)
    executed = msgspec.convert(campaign.executed, dict[str, tuple[str, ...]])
    if not executed.keys() <= set(campaign.operators):
        raise ValueError(f"executed: expected some of {campaign.operators}, found {list(executed)}")
    if not {level for levels in executed.values() for level in levels} <= set(campaign.levels):
        raise ValueError(f"executed: expected some of {campaign.levels}, found {executed}")
    if campaign.strength:
        msgspec.convert(campaign.strength, Strength)
    Reading(campaign.spec)
    if campaign.accuracy not in TOLERANCES:
        raise ValueError(f"accuracy: expected one of {', '.join(TOLERANCES)}, found {campaign.accuracy!r}")


def check_record(record: Record) -> None:
    """Raises ValueError where numbers and texts are not of their type."""
    if not (
        type(record.rank) is int
        and type(record.difference_count) is int
        and type(record.seconds) is float
        and 0 <= record.seconds < math.inf
        and type(record.reason) is str
        and record.waived in ("", *Verdict)
    ):
        raise ValueError(f"not of the form of a record: case {record.case}")
    if record.errors is not None and not _is_right(record.errors):
        raise ValueError(f"errors that no results have: case {record.case}")


def _is_right(errors: Errors) -> bool:
    sizes = [errors.largest, errors.used, *(largest for _, largest in errors.magnitudes)]
    return (
        all(0 <= size < math.inf for size in sizes)
        and all(LEAST_BIN <= place <= MOST_BIN and count > 0 for place, count in errors.bins)
        and all(abs(power) <= LARGEST_POWER for power, _ in errors.magnitudes)
    )


def check_throughput(row: Throughput) -> None:
    """Raises ValueError where a measurement is none: of no run, of no time, or of no speed."""
    msgspec.convert(msgspec.structs.asdict(row), Throughput)
    for field in ("operator", "data_type", "shape", "layer"):
        check_lengths(f"{field} of a measurement", getattr(row, field))
    if len(row.seconds) > MOST_RUNS:
        raise ValueError(f"seconds of a measurement: expected at most {MOST_RUNS:,}, found {len(row.seconds):,}")
    if not row.seconds or not all(0 < number < math.inf for number in (*row.seconds, row.copy_bytes_per_second)):
        raise ValueError(f"not of the form of a measurement: {row.operator}, {row.data_type}")
    if row.useful_bytes <= 0 or row.output_bytes < 0:
        raise ValueError(f"a measurement of {row.useful_bytes} bytes")
