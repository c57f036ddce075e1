"""Corpora judged by this process, and what a run of them is about; `test_workers` has them judged by others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from backend_files import write_backend
from judged_tasks import judge_tasks
from sweep_support import WITH_OPEN, blocks, damaged_block, reader, untimed

from dml_conformance.conformance.campaign.driver import BLOCK_LINES, blocks_of, describe_sweep, planned_cases
from dml_conformance.conformance.exchange.corpus import WHOLE, CorpusError, Header, Shard
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import CaseBlock
from dml_conformance.reports.model.encoded import decode_records, encode_records
from dml_conformance.reports.model.records import Verdict
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Reading

REFERENCE = JudgeSetup(("reference",), limits=None)


# --- what is judged ---------------------------------------------------------------------------------------------------


def test_each_backend_has_a_record_of_each_case() -> None:
    judged = untimed(
        judge_tasks(InProcess(JudgeSetup(("reference", "torch:cpu"), limits=None).judges()), blocks(seed=WITH_OPEN))
    )
    assert [len(records) for records in judged] == [60, 60]
    assert {record.verdict for records in judged for record in records} == {Verdict.PASS, Verdict.OBSERVED}


def test_the_order_is_that_of_the_corpus() -> None:
    (records,) = untimed(judge_tasks(InProcess(REFERENCE.judges()), blocks()))
    assert [record.case for record in records] == [case.digest for case in reader().header.numbered_cases()]


def test_blocks_are_taken_as_they_are_needed() -> None:
    """However long a corpus is, no more than one block of it is in memory."""
    taken = []

    def watched() -> Iterator[CaseBlock]:
        for block in blocks():
            taken.append(block)
            yield block

    next(judge_tasks(InProcess(REFERENCE.judges()), watched()))
    assert len(taken) == 1


def test_cases_are_judged_in_the_reading_asked_for() -> None:
    one, other = (
        untimed(judge_tasks(InProcess(JudgeSetup(("reference",), reading, limits=None).judges()), blocks(60, 300)))[0]
        for reading in Reading
    )
    assert {record.verdict for record in one} != {record.verdict for record in other}


def test_cases_are_executed_as_often_as_asked_for(tmp_path: Path) -> None:
    methods = """
        count = 0

        def execute(self, *arguments):
            self.count += 1
            super().execute(*arguments)
    """
    name, counts = write_backend(tmp_path, methods), []
    for repeat in (1, 3):
        (judge,) = JudgeSetup((name,), repeat=repeat, limits=None).judges()
        list(judge_tasks(InProcess([judge]), blocks()))
        counts.append(judge.backend.count)  # type: ignore[attr-defined]
    assert counts[1] >= 3 * counts[0] > 0


def test_a_damaged_line_is_told() -> None:
    with pytest.raises(CorpusError, match=r"^a\.jsonl: line 11: expected a case with its check: Object missing"):
        list(judge_tasks(InProcess(REFERENCE.judges()), [damaged_block()]))


def test_records_travel_as_they_are() -> None:
    (records,) = untimed(judge_tasks(InProcess(REFERENCE.judges()), blocks(60)))
    assert [written.whole() for written in decode_records(encode_records(records))] == records


# --- what is run ------------------------------------------------------------------------------------------------------


def test_corpora_come_one_after_the_other() -> None:
    found = list(blocks_of([reader(BLOCK_LINES + 3), reader(5, seed=1, name="b.jsonl")], WHOLE))
    assert [(block.name, len(block.numbers)) for block in found] == [
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
    setup = JudgeSetup(("reference",), Reading.OBSERVED, repeat=5, limits=None)
    claims = InProcess(setup.judges()).capabilities()[0]
    one, other = Header.of(3, 4, ["TILE"], [Level.L6_4]), Header.of(3, 5, ["GATHER"], [Level.L2_1])
    campaign = describe_sweep(claims, setup, [one, other], ["aa", "bb"], Shard(3, 16))
    assert (campaign.operators, campaign.levels) == (("GATHER", "TILE"), ("2_1", "6_4"))
    assert (campaign.budget, campaign.seed, campaign.spec, campaign.repeat) == ("corpus", 4, "observed", 5)
    assert (campaign.environment["corpus"], campaign.environment["shard"]) == ("aa, bb", "3/16")
    assert describe_sweep(claims, setup, [one], [], WHOLE).environment["corpus"] == "standard input"
    assert {name for rule in campaign.rules for name in rule["operators"]} == {"GATHER", "TILE"}


# --- where it is judged -----------------------------------------------------------------------------------------------


def test_processes_take_places_in_turn() -> None:
    setup = JudgeSetup(("a", "b"), places=(("a:0", "b"), ("a:1", "b")))
    assert [setup.at(n).loaded_names for n in range(3)] == [("a:0", "b"), ("a:1", "b"), ("a:0", "b")]
    assert JudgeSetup(("a", "b")).at(3).loaded_names == ("a", "b")
