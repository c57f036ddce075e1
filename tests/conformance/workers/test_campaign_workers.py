"""Campaigns that several processes judge: nothing depends on how many there are, nor on what becomes of them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from commands import certificate
from judged_tasks import records_of, tasks_left

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.processes import backend as isolated_backend
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.cli import certify as certify_module
from dml_conformance.conformance.cli import main
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import SearchTask, Task
from dml_conformance.reports.model.encoded import EncodedRecord, encode_record
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.output.folder import CERTIFICATE, RESULTS
from dml_conformance.reports.store.results import Store
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators as all_operators

pytestmark = pytest.mark.skipif(os.name != "posix", reason="what is done to processes here is done on POSIX")

# Wrong in what the boundaries find, so that the search has something to make smaller; and deadly.
BACKEND = """\
import os
import signal
from dml_conformance.backends.base import Answer
from dml_conformance.backends.reference import ReferenceBackend

class Wrong(ReferenceBackend):
    def validate(self, desc, level):
        answer = super().validate(desc, level)
        if desc.output_tensor is not None and desc.output_tensor.guaranteed_base_offset_alignment == 3:
            return Answer(True)
        return answer

class Dead(ReferenceBackend):
    def execute(self, desc, level, inputs, outputs):
        os.kill(os.getpid(), signal.SIGSEGV)

class Once(ReferenceBackend):
    def __init__(self):
        super().__init__()
        os.mkdir("there")
"""
LEVELS = (Level.L1_0, Level.L2_1)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "wrong.py").write_text(BACKEND)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def engine_of(backend: Any, name: str, levels: tuple[Level, ...] = LEVELS, **how: Any) -> Engine:
    return Engine(Judge(backend, name), ("TILE",), levels, BUDGETS["quick"], 0, **how)


@pytest.fixture
def workers() -> Iterator[Callable[..., tuple[Engine, Workers]]]:
    """Makes campaigns and the workers for them, which are closed in the end."""
    made: list[IsolatedBackend | Workers] = []

    def make(name: str, count: int, levels: tuple[Level, ...] = LEVELS) -> tuple[Engine, Workers]:
        backend = IsolatedBackend(name)
        engine = engine_of(backend, name, levels)
        made.append(backend)
        several = Workers(JudgeSetup.of(engine.judge, Limits()), count)
        made.append(several)
        return engine, several

    yield make
    for each in made:
        each.close()


Making = Callable[..., tuple[Engine, Workers]]


def without_times(records: Iterator[Record]) -> list[Record]:
    """As they are when they have been written down and read."""
    return [msgspec.structs.replace(encode_record(record).whole(), seconds=0.0) for record in records]


def judged(engine: Engine, several: Workers) -> Iterator[tuple[Task, Iterator[Record]]]:
    """Every task that is left, with its records, which are settled as they are asked for."""
    for stage in engine.stages():
        for task, outcome in several.outcomes(filter(engine.wants, stage), engine.wants):
            yield task, (engine.settled(written.whole()) for written in outcome.backends[0].decoded())


def certify(*arguments: str, code: int) -> Result:
    scope = ("--operator", "TILE", "--budget", "quick")
    result = CliRunner().invoke(main, ["certify", *scope, *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def told(out: Path) -> dict[str, Any]:
    """What a run found, without what it measured."""
    found = certificate(out)
    with Store(out / RESULTS) as store:
        records = without_times(store.records())
    names = ("outcome", "headline", "counts", "failures", "why_incomplete")
    return {name: found.get(name) for name in names} | {
        "results": found["digests"]["results"],
        "records": records,
    }


def test_what_a_search_finds_is_not_searched_for_again_though_it_was_begun(workers: Making) -> None:
    """Later levels of the same rule are judged ahead, before it is known that they are not wanted."""

    def names(engine: Engine, units: Iterator[tuple[Task, Iterator[Record]]]) -> list[str]:
        found = []
        for unit, records in units:
            deque(records, maxlen=0)
            found.append(unit.name)
            if isinstance(unit, SearchTask) and unit.level is LEVELS[0]:
                how = Phase.SEARCH, unit.rule, Verdict.FAIL, "REJECT", "accept"
                engine.note(Record("", "TILE", "1_0", *how, case_json={"rule": unit.rule}))
        return found

    made, several = workers("reference", 3)
    engine, plain = (engine_of(made.judge.backend, "reference", every_level=True) for _ in range(2))
    ahead = names(engine, judged(engine, several))
    assert ahead == names(plain, ((unit, records_of(plain, unit)) for unit in tasks_left(plain)))
    searched = [name for name in ahead if name.startswith("search")]
    assert searched
    assert all(" at 1_0, " in name for name in searched)


def test_losses_of_all_processes_count_together(workers: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, several = workers("wrong.py:Dead", 2)
    monkeypatch.setattr(isolated_backend, "MOST_LOST", 5)
    records: list[Record] = []

    class Told(FanOut):
        def record(self, record: Record | EncodedRecord) -> None:
            records.append(record.traits)

    with pytest.raises(GivenUp, match=r"lost \d+ times"):
        several.feed(chain.from_iterable(engine.stages()), [Told()])
    assert 0 < sum(record.verdict is Verdict.CRASH for record in records) < 5 + 32


def test_a_backend_that_cannot_be_had_again_is_told(here: Path) -> None:
    result = certify("--backend", "wrong.py:Once", "-n", "1", "--out", "out", code=2)
    assert "wrong.py:Once" in result.output
    assert "there" in result.output
    assert "Traceback" not in result.output
    assert not (here / "out" / CERTIFICATE).exists()


@pytest.mark.few(1)
@pytest.mark.parametrize(("backend", "code"), [("wrong.py:Wrong", 1), ("reference", 0)])
def test_a_certificate_is_the_same(here: Path, backend: str, code: int) -> None:
    certify("--backend", backend, "--level", "1_0", "--out", "one", code=code)
    certify("--backend", backend, "--level", "1_0", "--out", "two", "-n", "2", code=code)
    assert told(here / "one") == told(here / "two")


@pytest.mark.parametrize(("cores", "operators", "workers"), [(2, 15, 2), (2, 14, 0), (1, 177, 0), (64, 177, 8)])
def test_as_many_processes_judge_as_pay(
    here: Path, monkeypatch: pytest.MonkeyPatch, cores: int, operators: int, workers: int
) -> None:
    """Where there would be one the command itself judges; to what is chosen comes TILE."""
    asked: list[int] = []

    def counted(setup: JudgeSetup, count: int) -> Workers:
        asked.append(count)
        raise WorkerError("enough")

    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    monkeypatch.setattr(certify_module, "Workers", counted)
    monkeypatch.setattr(certify_module, "InProcess", lambda judges: counted(judges, 0))
    chosen = chain.from_iterable(("--operator", name) for name in list(all_operators())[:operators])
    certify("--backend", "reference", "--out", "out", *chosen, code=3)
    assert asked == [workers]


def test_a_judge_in_another_process_is_the_same() -> None:
    backend = IsolatedBackend("reference")
    claims: Capabilities = msgspec.structs.replace(backend.capabilities(), operators=("TILE",))
    judge = Judge(backend, "reference", claims=claims, digests_outputs=True, repeat=5)
    (other,) = JudgeSetup.of(judge, Limits(7.0)).judges()
    assert isinstance(other.backend, IsolatedBackend)
    told = [
        (each.backend_name, each.reading, each.capabilities, each.digests_outputs, each.repeat)
        for each in (judge, other)
    ]
    assert told[0] == told[1]
    assert other.backend.limits == Limits(7.0)
    backend.close()
    other.backend.close()
