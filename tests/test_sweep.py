"""Corpora judged by this process and by workers: the same records in the same order, and what becomes of a worker that
dies."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from conformance.corpus import WHOLE, CorpusError, CorpusReader, Header, Shard, corpus_lines, in_blocks
from conformance.judge import Judge
from conformance.sweep import (
    BLOCK_LINES,
    Block,
    InProcess,
    Setup,
    WorkerError,
    Workers,
    blocks_of,
    describe_sweep,
    planned_cases,
)
from reports.digests import Digests
from reports.records import Record, Verdict
from spec.levels import Level
from spec.validator import Reading

REFERENCE = Setup(("reference",))


def reader(cases: int = 60, *, seed: int = 0, shard: Shard = WHOLE, name: str = "a.jsonl") -> CorpusReader:
    return CorpusReader(name, io.BytesIO(b"".join(corpus_lines(Header.of(cases, seed, shard=shard)))))


def blocks(size: int = 7, cases: int = 60) -> list[Block]:
    return [Block.of("a.jsonl", lines) for lines in in_blocks(reader(cases).lines(), size)]


def untimed(judged: Iterator[list[list[Record]]]) -> list[list[Record]]:
    """The records of each backend, as a store gives them back."""
    by_backend = zip(*judged, strict=True)
    found = [
        [msgspec.structs.replace(record, seconds=0.0) for block in each for record in block] for each in by_backend
    ]
    return msgspec.json.decode(msgspec.json.encode(found), type=list[list[Record]])


def digest_of(records: Sequence[Record]) -> str:
    digests = Digests()
    for record in records:
        digests.record(record)
    return digests.results


# --- one process and several ------------------------------------------------------------------------------------------


def test_workers_give_what_one_process_gives() -> None:
    setup = Setup(("reference", "torch:cpu"))
    alone = untimed(InProcess(setup.judges()).judged(blocks()))
    assert [len(records) for records in alone] == [60, 60]
    assert {record.verdict for records in alone for record in records} == {Verdict.PASS, Verdict.OBSERVED}
    for count in (1, 2):
        with closing(Workers(setup, count)) as workers:
            together = untimed(workers.judged(blocks()))
            assert together == alone
            assert untimed(workers.judged(blocks(60))) == alone  # once more, in one block
    assert digest_of(alone[0]) == digest_of(together[0]) == digest_of(alone[1])


def test_the_order_is_that_of_the_corpus() -> None:
    (records,) = untimed(InProcess(REFERENCE.judges()).judged(blocks()))
    assert [record.case for record in records] == [case.digest for case in reader().header.numbered_cases()]


def test_blocks_are_taken_as_they_are_needed() -> None:
    """However long a corpus is, no more than a few blocks of it are in memory."""
    taken = []

    def watched() -> Iterator[Block]:
        for block in blocks():
            taken.append(block)
            yield block

    judged = InProcess(REFERENCE.judges()).judged(watched())
    next(judged)
    assert len(taken) == 1
    taken.clear()
    with closing(Workers(REFERENCE, 1)) as workers:
        next(workers.judged(watched()))
        assert len(taken) == 4


def test_a_reading_is_the_workers_too() -> None:
    setup = Setup(("reference",), Reading.OBSERVED)
    with closing(Workers(setup, 1)) as workers:
        (records,) = untimed(workers.judged(blocks(60, 300)))
    assert records == untimed(InProcess(setup.judges()).judged(blocks(60, 300)))[0]
    assert records != untimed(InProcess(REFERENCE.judges()).judged(blocks(60, 300)))[0]


BACKEND = """
    import os

    from backends.reference import ReferenceBackend


    class Mine(ReferenceBackend):
        def execute(self, desc, level, inputs, outputs):
            {does}

        def execute_batch(self, executions):
            raise ValueError("batches are not to be used")
"""


def backend(folder: Path, does: str) -> str:
    path = folder / "mine.py"
    path.write_text(textwrap.dedent(BACKEND).format(does=does))
    return f"{path}:Mine"


def test_one_by_one_is_asked_of_workers_too(tmp_path: Path) -> None:
    name = backend(tmp_path, "super().execute(desc, level, inputs, outputs)")
    for one_by_one, found in ((True, False), (False, True)):
        setup = Setup((name,), one_by_one=one_by_one)
        with closing(Workers(setup, 1)) as workers:
            for judging in (workers, InProcess(setup.judges(), one_by_one=one_by_one)):
                (records,) = untimed(judging.judged(blocks()))
                assert (Verdict.CRASH in {record.verdict for record in records}) == found


def test_a_worker_that_dies_is_told(tmp_path: Path) -> None:
    setup = Setup((backend(tmp_path, "os._exit(7)"),), one_by_one=True)
    with (
        closing(Workers(setup, 2)) as workers,
        pytest.raises(WorkerError, match="a worker process ended unexpectedly, so the run is incomplete"),
    ):
        list(workers.judged(blocks()))


def test_a_damaged_line_is_told_by_whoever_reads_it() -> None:
    damaged = blocks(60)[0]
    damaged = damaged._replace(contents=(*damaged.contents[:9], b"{}\n", *damaged.contents[10:]))
    with closing(Workers(REFERENCE, 1)) as workers:
        for judging in (workers, InProcess(REFERENCE.judges())):
            with pytest.raises(
                CorpusError, match=r"^a\.jsonl: line 11: expected a case with its check: Object missing"
            ):
                list(judging.judged([damaged]))


# --- what is run ------------------------------------------------------------------------------------------------------


def test_corpora_come_one_after_the_other() -> None:
    found = list(blocks_of([reader(BLOCK_LINES + 3), reader(5, seed=1, name="b.jsonl")], WHOLE))
    assert [(block.file, len(block.numbers)) for block in found] == [
        ("a.jsonl", BLOCK_LINES),
        ("a.jsonl", 3),
        ("b.jsonl", 5),
    ]
    assert [block.numbers[0] for block in found] == [2, 2 + BLOCK_LINES, 2]


@pytest.mark.parametrize("own", [WHOLE, Shard(2, 3)])
@pytest.mark.parametrize("part", [WHOLE, Shard(1, 2), Shard(3, 3)])
def test_the_number_of_cases_is_known_beforehand(own: Shard, part: Shard) -> None:
    header = reader(shard=own).header
    taken = sum(len(block.numbers) for block in blocks_of([reader(shard=own)], part))
    assert planned_cases([header], part) == taken
    assert planned_cases([header, header], part) == 2 * taken


def test_a_campaign_names_its_corpora() -> None:
    judge = Judge(REFERENCE.judges()[0].backend, "reference", Reading.OBSERVED)
    one, other = Header.of(3, 4, ["TILE"], [Level.L6_4]), Header.of(3, 5, ["GATHER"], [Level.L2_1])
    campaign = describe_sweep(judge, [one, other], ["aa", "bb"], Shard(3, 16))
    assert (campaign.operators, campaign.levels) == (("GATHER", "TILE"), ("2_1", "6_4"))
    assert (campaign.budget, campaign.seed, campaign.spec) == ("corpus", 4, "observed")
    assert (campaign.environment["corpus"], campaign.environment["shard"]) == ("aa, bb", "3/16")
    assert describe_sweep(judge, [one], [], WHOLE).environment["corpus"] == "standard input"
    assert {name for rule in campaign.rules for name in rule["operators"]} == {"GATHER", "TILE"}
