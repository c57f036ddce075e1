"""Corpora in memory, and what was judged of them, for the tests of whatever judges corpora."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import msgspec
from five_operators import FIVE
from msgspec.structs import replace

from dml_conformance.conformance.exchange.corpus import (
    WHOLE,
    CorpusLine,
    CorpusReader,
    Header,
    Shard,
    corpus_lines,
    in_blocks,
)
from dml_conformance.conformance.workers.tasks import CaseBlock
from dml_conformance.reports.model.digests import Digests
from dml_conformance.reports.model.records import Record
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.cases import applicable_rules, numbered_case


def reader(
    cases: int = 60,
    *,
    seed: int = 0,
    shard: Shard = WHOLE,
    name: str = "a.jsonl",
    operators: Sequence[str] = (),
    levels: Sequence[Level] = (),
) -> CorpusReader:
    return CorpusReader(name, io.BytesIO(b"".join(corpus_lines(Header.of(cases, seed, operators, levels, shard)))))


WITH_OPEN = 4  # a seed with which the pages leave some of the first 60 cases open


def blocks(
    size: int = 7, cases: int = 60, operators: Sequence[str] = (), levels: Sequence[Level] = (), seed: int = 0
) -> list[CaseBlock]:
    lines = reader(cases, seed=seed, operators=operators, levels=levels).lines()
    return [CaseBlock.of_lines("a.jsonl", each) for each in in_blocks(lines, size)]


def damaged_block() -> CaseBlock:
    """Sixty lines, of which the tenth, on line 11 of its file, is not as it was written."""
    lines = list(reader(60).lines())
    lines[9] = CorpusLine(lines[9].number, b"{}\n")
    return CaseBlock.of_lines("a.jsonl", lines)


def sweep(count: int, seed: int = 0, names: Sequence[str] = FIVE) -> list[Case]:
    """Cases as a sweep has them, of operators at every level in turn."""
    cells = [(name, level) for name in names for level in Level if applicable_rules(name, level)]
    return [numbered_case(seed, *cells[n % len(cells)], n) for n in range(count)]


def untimed(judged: Iterator[list[list[Record]]]) -> list[list[Record]]:
    """The records of each backend, as a store gives them back, without what is another in each run: times, what became
    of processes, and what an element held that was not written."""
    by_backend = zip(*judged, strict=True)
    found = [[_same_each_time(record) for block in each for record in block] for each in by_backend]
    return msgspec.json.decode(msgspec.json.encode(found), type=list[list[Record]])


def _same_each_time(record: Record) -> Record:
    if record.differences:
        record = replace(record, reason="", differences=(), difference_count=0, output="", errors=None)
    return replace(record, seconds=0.0, lost=())


def digest_of(records: Sequence[Record]) -> str:
    digests = Digests()
    for record in records:
        digests.record(record)
    return digests.results
