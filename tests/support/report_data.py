"""A stream of results as a campaign gives it, made up: real descriptors and decisions, invented answers.

`sound()` is a backend without a fault; `faulty()` gets decisions and values wrong, crashes, hangs, leaves things out.
Both are the same for the same arguments.
"""

from __future__ import annotations

import io
import random
import shlex
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

import msgspec
from five_operators import FIVE
from rich.console import Console

from dml_conformance.reports.model.records import (
    Caches,
    Campaign,
    Caveat,
    Difference,
    Ending,
    Phase,
    Record,
    Throughput,
    Verdict,
    describe_rules,
)
from dml_conformance.reports.model.stream import Consumer, FanOut
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.authentication import ContentDigest, own_key, put_mac
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.reports.views.console import print_summary
from dml_conformance.spec.case import Case, digest_of
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.cases import any_case
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.tensors import layout_kind

COPY = 2.61e12  # bytes a second
SIZES = (64 << 10, 4 << 20, 256 << 20)  # of outputs that are timed
STARTED, FINISHED = "2025-03-04T09:30:00Z", "2025-03-04T09:31:12Z"
BACKEND = "torch:cuda:0"


class Answered(NamedTuple):
    """What a backend made of a case; `rule` is what the verdict is about, where that is not what the case is about."""

    verdict: Verdict
    answered: str
    reason: str = ""
    difference_count: int = 0
    rule: str = ""


_FOLDER = TemporaryDirectory(prefix="reports-")
Backend = Callable[[Case, random.Random], Answered]


def campaign(**changes: Any) -> Campaign:
    names = FIVE
    return msgspec.structs.replace(
        Campaign(
            backend={
                "name": BACKEND,
                "device": "NVIDIA H100 80GB HBM3",
                "versions": {"cuda": "12.8", "driver": "570.86.15", "torch": "2.8.0"},
                "levels": [level.label for level in Level],
                "operators": list(names),
                "enforces": sorted(str(c) for c in Category if c is not Category.MEMORY_LAYOUT),
                "executes": True,
                "decides_at": None,
                "accelerated": True,
                "paths": {},
            },
            suite_version="0.1.0",
            operators=names,
            levels=tuple(level.label for level in Level),
            budget="standard",
            seed=20250304,
            started=STARTED,
            environment={
                "python": "3.11.9",
                "numpy": "2.2.3",
                "system": "Linux 6.8.0 x86_64",
                "processor": "AMD EPYC 9554 64-Core Processor",
            },
            rules=describe_rules(names),
        ),
        **changes,
    )


def backend(**changes: Any) -> dict[str, Any]:
    """What the campaign's backend says of itself, but for what is said here."""
    return {**campaign().backend, **changes}


def cut_off(reason: str) -> Summary:
    """Of a run with one case that passed, which then broke off."""
    summary = Summary()
    summary.start(campaign())
    summary.record(plain())
    summary.finish(ending(reason))
    return summary


def ending(interrupted: str = "") -> Ending:
    return Ending(FINISHED, not interrupted, interrupted)


def sound(count: int, seed: int = 1) -> Iterator[Record]:
    """`count` records of a backend that does everything it claims."""
    return _records(count, seed, _sound)


def faulty(count: int, seed: int = 1) -> Iterator[Record]:
    """`count` records of a backend with planted faults of every kind; some hundreds show all of them."""
    return _records(count, seed, _faulty)


@cache
def some_sound() -> tuple[Record, ...]:
    return tuple(sound(900))


@cache
def some_faulty() -> tuple[Record, ...]:
    return tuple(faulty(1500))


def righted(record: Record) -> Record:
    """The same case, judged on a backend that does what the specification says."""
    if record.expected not in ("ACCEPT", "REJECT"):
        return record
    changes = {"answered": record.expected.lower(), "reason": "", "differences": (), "difference_count": 0}
    return msgspec.structs.replace(record, verdict=Verdict.PASS, **changes)


def plain(verdict: Verdict = Verdict.PASS, number: int = 0, **changes: Any) -> Record:
    """One record with nothing in it that matters but what is said, of another case for each number."""
    base = Record("", "GATHER", "3_0", Phase.SWEEP, "GATHER.values", verdict, "ACCEPT", "accept")
    content = {"type": "GATHER", "desc": {}, "level": "3_0", "data": None} | changes.pop("case_json", {})
    return msgspec.structs.replace(another(of_case(base, content), number), **changes)


def of_case(record: Record, changes: dict[str, Any]) -> Record:
    """The record of a case in which something is changed, with its digest."""
    content = record.case_json | changes
    return msgspec.structs.replace(record, case=digest_of(content), case_json=content)


def another(record: Record, number: int) -> Record:
    """The record of the same case bound elsewhere, which is another one for each number; of 0 the same."""
    return of_case(record, {"placement": {"offsets": [16 * number]}}) if number else record


def throughputs() -> tuple[Throughput, ...]:
    """A few rows for each operator, all on one device: each type at each size, with warm and with cold caches."""
    rng = random.Random(7)
    rows = []
    for operator in FIVE:
        for data_type, share in (("FLOAT32", 0.72), ("FLOAT16", 0.49), ("INT8", 0.21), ("INT64", 0.88)):
            for size, caches in product(SIZES, Caches):
                useful, launch = 2 * size, 6e-6 if caches is Caches.WARM else 2e-6
                fair = launch + useful / (COPY * share * (0.4 if operator.startswith("GATHER_ND") else 1.0))
                seconds = tuple(fair * rng.uniform(0.98, 1.06) for _ in range(7))
                shape = f"Input{{{size // 1024},256}} Output{{{size // 1024},256}}"
                copy = useful / (launch + useful / COPY)
                row = Throughput(operator, data_type, shape, useful, seconds, copy, size, caches)
                caveats = [Caveat.LAUNCH_BOUND] if launch > useful / COPY else []
                caveats += [Caveat.CACHED] if row.fraction_of_copy > 1 else []
                rows.append(msgspec.structs.replace(row, caveats=tuple(caveats)))
    return tuple(rows)


def feed(consumer: Consumer, records: Iterable[Record], **changes: Any) -> None:
    """The whole stream into one consumer: a complete run with measurements."""
    consumer.start(campaign(**changes))
    for record in records:
        consumer.record(record)
    for row in throughputs():
        consumer.throughput(row)
    consumer.finish(ending())


def summary_of(records: Iterable[Record], **changes: Any) -> Summary:
    """Of a complete run with measurements."""
    summary = Summary()
    feed(FanOut(summary), records, **changes)
    return summary


def run_on(
    day: int = 1, failing: int = 0, speed: float = 1.0, rows: Iterable[Throughput] | None = None, **changes: Any
) -> Summary:
    """Of a run on a day: ten cases, of which some fail, and what was timed."""
    summary = Summary()
    summary.start(campaign(**{"started": f"2025-03-{day:02}T09:30:00Z", **changes}))
    for number in range(10):
        summary.record(plain(Verdict.FAIL if number < failing else Verdict.PASS, case=f"{number:064x}"))
    for row in throughputs() if rows is None else rows:
        summary.throughput(msgspec.structs.replace(row, seconds=tuple(seconds / speed for seconds in row.seconds)))
    summary.finish(ending())
    return summary


def stored(records: Iterable[Record], **changes: Any) -> Path:
    """The results file of the same, in a folder that is removed in the end."""
    path = Path(mkdtemp(dir=_FOLDER.name)) / "results.sqlite"
    feed(StoreWriter(path), records, **changes)
    return path


def seal(connection: sqlite3.Connection) -> None:
    """Give a changed results file the MAC of its content, as if a command had written that."""
    put_mac(connection, own_key(), ContentDigest.of(connection).mac(own_key().secret))
    connection.commit()


def printed(summary: Summary, width: int = 120, *, output: str = "", encoding: str = "utf-8", **options: Any) -> str:
    """What the terminal shows of it."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    print_summary(summary, Console(file=file, width=width, **options), output=output)
    file.flush()
    return raw.getvalue().decode(encoding)


def report_of(records: Iterable[Record], **changes: Any) -> CampaignReport:
    """Of the same, with its cases."""
    with Store(stored(records, **changes)) as store:
        return CampaignReport.of([store])


def _records(count: int, seed: int, backend: Backend) -> Iterator[Record]:
    rng = random.Random(seed)
    examples, boundaries, search = max(1, count // 100), count // 8, count // 4
    phases = [Phase.EXAMPLES] * examples + [Phase.BOUNDARIES] * boundaries + [Phase.SEARCH] * search
    combinations = list(product(FIVE, Level))
    for number in range(count):
        phase = phases[number] if number < len(phases) else Phase.SWEEP
        origin = f"{phase}/{number}"
        case = any_case(SeededChooser(f"{seed}/{origin}"), *combinations[number % len(combinations)], origin)
        yield _record(case, phase, backend(case, rng), rng)


def _record(case: Case, phase: Phase, answer: Answered, rng: random.Random) -> Record:
    desc: Any = case.desc
    index = getattr(desc, "indices_tensor", None)
    output = desc.output_tensor
    content = msgspec.json.decode(msgspec.json.encode(case.to_json()))  # as a record has it that was read
    short = {key: content[key] for key in ("type", "desc", "level", "data")}
    shown = min(answer.difference_count, 8)
    return Record(
        case=case.digest,
        operator=case.operator,
        level=case.level.label,
        phase=phase,
        rule=answer.rule or case.rule,
        verdict=answer.verdict,
        expected=str(case.outcome),
        answered=answer.answered,
        reason=answer.reason,
        data_type=output.data_type.name if output is not None else "",
        index_type=index.data_type.name if index is not None else "",
        rank=len(output.sizes) if output is not None else 0,
        layout=_layout(desc.input_tensor),
        pattern=next((r.pattern for name, r in reversed((case.data or {}).items())), ""),
        seconds=round(rng.uniform(20e-6, 400e-6), 7),
        case_json=content,
        differences=tuple(_difference(output, rng) for _ in range(shown)),
        difference_count=answer.difference_count,
        reproduce=f"dml-conformance run --backend {BACKEND} {shlex.quote(msgspec.json.encode(short).decode())}",
    )


def _layout(tensor: TensorDesc | None) -> str:
    return layout_kind(tensor) if tensor is not None and tensor.element_count else ""


def _difference(output: TensorDesc, rng: random.Random) -> Difference:
    coordinates = tuple(rng.randrange(max(size, 1)) for size in output.sizes)
    if output.data_type is DataType.FLOAT32:
        expected, actual = rng.uniform(-4, 4), float("nan") if rng.random() < 0.2 else rng.uniform(-4, 4)
        return Difference(
            coordinates,
            f"{expected:.9g}",
            f"0x{struct.unpack('<I', struct.pack('<f', expected))[0]:08x}",
            f"{actual:.9g}",
            f"0x{struct.unpack('<I', struct.pack('<f', actual))[0]:08x}",
        )
    width = 2 * max(output.data_type.size, 1)
    a, b = rng.randrange(1 << 7), rng.randrange(1 << 7)
    return Difference(coordinates, str(a), f"0x{a:0{width}x}", str(b), f"0x{b:0{width}x}")


def _sound(case: Case, rng: random.Random) -> Answered:
    if case.outcome is Outcome.UNSPECIFIED:
        return Answered(Verdict.OBSERVED, rng.choice(("accept", "reject")), f"{case.broken[0]} is left open")
    return Answered(Verdict.PASS, "accept" if case.outcome is Outcome.ACCEPT else "reject")


def _faulty(case: Case, rng: random.Random) -> Answered:
    """The planted faults, each on a trait of the case, so that they group as real ones do."""
    desc: Any = case.desc
    output = desc.output_tensor
    patterns = {recipe.pattern for recipe in (case.data or {}).values()}
    if case.outcome is Outcome.REJECT:
        if case.rule in ("TENSOR.total-size", "TENSOR.alignment-power-of-two"):
            return Answered(Verdict.NOT_SUPPORTED, "", "memory-layout is not claimed")
        if case.rule == "GATHER.axis-range" and case.level >= Level.L3_0:
            return Answered(Verdict.FAIL, "accept", "accepted though Axis is not below InputTensor.DimensionCount")
    if case.outcome is Outcome.ACCEPT:
        values = f"{case.operator}.values"
        differing = rng.randrange(1, max(2, output.element_count))
        if case.operator == "TILE" and output.data_type.size == 1 and case.level >= Level.L3_1:
            return Answered(Verdict.FAIL, "reject", "rejected: 'tile_i8 is not implemented'", rule="TILE.data-types")
        if case.operator == "GATHER_ELEMENTS" and patterns & {"negative", "mixed-sign"}:
            rule = "GATHER_ELEMENTS.negative-indices" if case.level >= Level.L3_0 else values
            return Answered(Verdict.FAIL, "accept", "the output differs", differing, rule)
        if (
            case.operator == "GATHER_ND"
            and _layout(desc.input_tensor) in ("padded", "permuted")
            and case.level >= Level.L4_0
        ):
            return Answered(Verdict.FAIL, "accept", "the output differs", differing, "EXECUTION.strides")
        if case.operator == "GATHER_ND1" and len(output.sizes) >= 7 and rng.random() < 0.5:
            return Answered(Verdict.CRASH, "accept", "the worker died with signal 11 (SIGSEGV)", rule=values)
        if case.operator == "GATHER" and output.data_type is DataType.FLOAT64 and rng.random() < 0.5:
            return Answered(Verdict.TIMEOUT, "accept", "no answer within 30 s", rule=values)
        if case.operator == "GATHER_ND1" and output.data_type is DataType.FLOAT64:
            return Answered(Verdict.NOT_SUPPORTED, "", "FLOAT64 is not claimed for GATHER_ND1")
    return _sound(case, rng)
