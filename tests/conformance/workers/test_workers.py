"""Corpora judged by processes that die, and by this one: who is blamed, and that nothing else changes."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import psutil
import pytest
import zstandard
from backend_files import write_backend, write_harmful_backend
from commands import invoke
from five_operators import TileDesc
from judged_tasks import judge_tasks
from places import SUPPORT
from sweep_support import WITH_OPEN, blocks, damaged_block, digest_of, reader, untimed

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.loading import devices_of as backend_devices
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.losses import LossCause, LossTally
from dml_conformance.conformance.campaign.driver import BLOCK_LINES, blocks_of, describe_sweep, planned_cases
from dml_conformance.conformance.campaign.plan import decision_alone
from dml_conformance.conformance.exchange.corpus import WHOLE, CorpusError, Header, Shard
from dml_conformance.conformance.workers import Workers, devices_of, places_on
from dml_conformance.conformance.workers import executor as executor_module
from dml_conformance.conformance.workers.executor import Executor, InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.conformance.workers.tasks import (
    CaseBlock,
    CaseMaking,
    JudgedTask,
    MadeCases,
    PackedCases,
    TaskOutcome,
    Work,
    WorkOutcome,
)
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Reading

REFERENCE = JudgeSetup(("reference",))
MOST_KILLED = 5  # processes of a run that are killed at random


def tiles(cases: int = 60, size: int = 20) -> list[CaseBlock]:
    """A corpus of one operator at one level: half of it is executed."""
    return blocks(size, cases, ["TILE"], [Level.L6_4])


def judged_here(setup: JudgeSetup, work: list[CaseBlock]) -> list[list[Record]]:
    """The records of each backend, judged by this process."""
    return untimed(judge_tasks(InProcess(replace(setup, limits=None).judges()), work))


def judged_by(setup: JudgeSetup, work: list[CaseBlock], count: int = 1) -> list[Record]:
    with closing(Workers(setup, count)) as workers:
        (records,) = untimed(judge_tasks(workers, work))
    return records


def passed_by_all(work: list[CaseBlock]) -> list[Record]:
    """The records of a backend that does no harm."""
    (records,) = judged_here(REFERENCE, work)
    return records


def guilty(record: Record, every: int) -> bool:
    """Whether `write_harmful_backend` has the backend do harm on the case."""
    if record.verdict is not Verdict.PASS or not record.case_json.get("data"):
        return False
    return prod(record.case_json["desc"]["OutputTensor"]["Sizes"]) % every == 0


# --- without harm -----------------------------------------------------------------------------------------------------


class Slow(Executor):
    """Judges nothing; tasks are through when a test says so."""

    def __init__(self) -> None:
        super().__init__(["mine"])
        self.futures: dict[str, list[Future[WorkOutcome]]] = {}

    def capabilities(self) -> list[Capabilities]:
        return []

    most_open = 3
    most_ahead = 10

    def check(self) -> None:
        """Called where nothing came while an outcome is waited for."""

    def submit(self, task: Work) -> Future[WorkOutcome]:
        future: Future[WorkOutcome] = Future()
        self.futures.setdefault(task.name, []).append(future)
        return future

    def close(self) -> None:
        pass

    def finish(self, name: str, size: int = 0) -> None:
        self.futures[name][-1].set_result(TaskOutcome((JudgedTask(bytes(size), LossTally(), {}),)))

    def lose(self, name: str) -> None:
        self.futures[name][-1].set_exception(ProcessLost("died of SIGKILL", LossCause.KILLED))


def named(count: int = 20) -> list[CaseBlock]:
    return [CaseBlock(str(n), Phase.SWEEP, 1, tuple) for n in range(count)]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Its tasks after the first finish in the order in which they are submitted, the first when all others have."""
    executor = Slow()
    submit = executor.submit

    def submitted(task: Work) -> Future[WorkOutcome]:
        future = submit(task)
        if task.name != "0" and not isinstance(task, CaseMaking):
            executor.finish(task.name, 100)
        return future

    monkeypatch.setattr(executor, "submit", submitted)

    class Watched(SimpleQueue):  # type: ignore[type-arg]
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            try:
                return super().get(block, timeout)
            except Empty:
                executor.check()
                raise

    monkeypatch.setattr(executor_module, "SimpleQueue", Watched)
    monkeypatch.setattr(executor, "check", lambda: executor.finish("0"))  # nothing else comes any more
    monkeypatch.setattr(executor_module, "LONGEST_WAIT", 0.01)
    return executor


def test_a_slow_task_holds_up_no_other_and_is_told_first(slow: Slow) -> None:
    told = [task.name for task, _ in slow.outcomes(named())]
    assert list(slow.futures) == told == [str(n) for n in range(20)]


def test_only_so_much_waits_for_a_slow_task(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "MOST_HELD", 500)
    outcomes = slow.outcomes(named())
    next(outcomes)
    assert len(slow.futures) < 10
    assert [task.name for task, _ in outcomes] == [str(n) for n in range(1, 20)]


def test_what_waits_is_compressed_where_it_is_much(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "MOST_PLAIN", 500)
    monkeypatch.setattr(executor_module, "MOST_HELD", 1_000)
    judged = [outcome.backends[0] for _, outcome in slow.outcomes(named())]
    assert len(slow.futures) == 20  # of plain ones ten would be too many
    assert [each.is_compressed for each in judged] == [True] + [False] * 6 + [True] * 13
    assert {zstandard.decompress(each.records) for each in judged[7:]} == {bytes(100)}


def test_compressed_records_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = judged_here(REFERENCE, tiles())
    monkeypatch.setattr(executor_module, "MOST_PLAIN", -1)
    assert judged_here(REFERENCE, tiles()) == plain


def test_no_more_is_judged_ahead_than_is_told_of_in_time(slow: Slow) -> None:
    """However long a corpus is, and however fast it is judged, no more than a few blocks of it are in memory."""
    outcomes = slow.outcomes(named()[1:])
    for told in range(1, 10):
        next(outcomes)
        assert len(slow.futures) <= told + slow.most_open


def test_a_task_whose_process_is_lost_is_submitted_again_and_in_the_end_reported(slow: Slow) -> None:
    for lost in (1, executor_module.MOST_LOST):
        slow.futures.clear()
        ways = iter([slow.lose] * lost + [slow.finish])
        slow.check = lambda ways=ways: next(ways)("0")  # type: ignore[method-assign]
        outcomes = slow.outcomes(named(3))
        if lost == 1:
            assert [task.name for task, _ in outcomes] == ["0", "1", "2"]
            assert len(slow.futures["0"]) == 2
        else:
            with pytest.raises(WorkerError, match=r"^3 worker processes were lost over '0', the last one died of SIGK"):
                next(outcomes)
    assert slow.losses == {"died of SIGKILL": 1 + executor_module.MOST_LOST}


def test_what_is_not_wanted_any_more_is_not_waited_for(slow: Slow) -> None:
    def wants(task: Work) -> bool:
        return task.name != "0" or "0" not in slow.futures

    assert [task.name for task, _ in slow.outcomes(named(3), wants)] == ["1", "2"]
    assert slow.futures["0"][0].cancelled()


class Making:
    """Cases that are made when a test says so: blocks `1, all but N` to `1`, of so many cases or bytes each."""

    def __init__(self, slow: Slow, sizes: Sequence[int], name: str = "1") -> None:
        self.task = CaseMaking(name, Phase.SWEEP, "TILE", tuple, 1)
        self._future = slow.futures
        packed = tuple(PackedCases(size, pickle.dumps(()), needed=size) for size in sizes)
        self._made = MadeCases(packed, {"make": 2.0})

    def finish(self) -> None:
        self._future[self.task.name][-1].set_result(self._made)


def test_made_blocks_come_in_the_place_of_what_makes_them_however_late_they_are(slow: Slow) -> None:
    making = Making(slow, (2, 3, 1))
    tasks = [named(1)[0], making.task, *named(5)[2:]]
    ways = iter([making.finish, lambda: slow.finish("0")])
    slow.check = lambda: next(ways)()  # type: ignore[method-assign]
    told = [task for task, _ in slow.outcomes(tasks)]
    assert [task.name for task in told] == ["0", "1, all but 4", "1, all but 1", "1", "2", "3", "4"]
    assert [task.size for task in told if isinstance(task, CaseBlock)] == [1, 2, 3, 1, 1, 1, 1]
    assert "SWEEP" not in slow.costs.as_csv().decode()
    assert "sweep,tile,TILE,make,2.000000" in slow.costs.as_csv().decode()


def test_made_blocks_say_what_memory_their_tensors_need() -> None:
    small = TileDesc(TensorDesc.of(DataType.UINT8, (1, 3)), TensorDesc.of(DataType.UINT8, (1, 6)), (1, 2))
    case = Case.of(small, Level.L6_4, {"input_tensor": Recipe("random-bits")}, rule="TILE.values")
    making = CaseMaking("1", Phase.BOUNDARIES, "TILE", partial(iter, [case, case, decision_alone(case)]), 2)
    assert [block.needed for block in making.blocks(making.made())] == [18, 0]


def test_of_made_blocks_those_that_are_not_wanted_are_not_judged(slow: Slow) -> None:
    making = Making(slow, (1, 1, 1))
    slow.check = making.finish  # type: ignore[method-assign]
    told = [task.name for task, _ in slow.outcomes([making.task], lambda task: task.name != "1, all but 1")]
    assert told == ["1, all but 2", "1"]
    assert set(slow.futures) == {"1, all but 2", "1"}


def test_cases_whose_making_is_lost_are_made_again_and_an_error_of_it_is_raised(slow: Slow) -> None:
    making = Making(slow, (1,))
    ways = iter([lambda: slow.lose("1"), making.finish])
    slow.check = lambda: next(ways)()  # type: ignore[method-assign]
    assert [task.name for task, _ in slow.outcomes([making.task])] == ["1"]
    slow.check = lambda: slow.futures["1"][-1].set_exception(WorkerError("a fault"))  # type: ignore[method-assign]
    with pytest.raises(WorkerError, match="a fault"):
        next(slow.outcomes([making.task]))


def test_what_is_begun_ahead_begins_by_size_as_far_as_there_is_room_and_is_told_in_its_place(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, vast = slow.finish, {"last, all but 14", "last, all but 12", "last, all but 5", "last"}
    monkeypatch.setattr(slow, "finish", lambda name, size=0: None if name in vast else finish(name, size))
    making = Making(slow, (20, 2, 7, 5), "last")
    tasks = [*named(2), making.task, *named(4)[2:]]
    began: list[list[str]] = []

    def step() -> None:
        """Have one more of the large ones end when nothing else comes."""
        begun = {name: futures for name, futures in slow.futures.items() if name in vast}
        if len(begun["last"]) == 1:  # the making's, which has the name of its last block
            del begun["last"]
        began.append(sorted(begun))
        running = [name for name, futures in begun.items() if not futures[-1].done()]
        if len(began) == 1:
            making.finish()
        elif running:
            finish(running[0], 100)
        else:
            finish("0")

    monkeypatch.setattr(slow, "check", step)
    told = [task.name for task, _ in slow.outcomes(tasks, ahead=[making.task])]
    assert told == ["0", "1", "last, all but 14", "last, all but 12", "last, all but 5", "last", "2", "3"]
    of_20, of_7, of_5, of_2 = ["last, all but 14", "last, all but 5", "last", "last, all but 12"]
    # There is room for 10: 20 begins alone, beside 7 not 5, and 2 not before 5.
    every = sorted([of_20, of_7, of_5, of_2])
    assert began == [[], [of_20], [of_20, of_7], every, every, every]


def test_workers_that_still_load_are_not_lost_when_nothing_is_left_to_do() -> None:
    workers = Workers(REFERENCE, 3)
    workers.close()
    assert not workers.losses


def test_one_by_one_is_asked_of_workers_too(tmp_path: Path) -> None:
    name = write_harmful_backend(tmp_path, "pass", batches=True, first="raise ValueError('a batch')")
    for one_by_one, found in ((True, False), (False, True)):
        records = judged_by(JudgeSetup((name,), one_by_one=one_by_one), tiles())
        assert (Verdict.CRASH in {record.verdict for record in records}) == found


def test_a_damaged_line_is_told() -> None:
    with closing(Workers(REFERENCE, 2)) as workers:
        judged = judge_tasks(workers, [*blocks(60), damaged_block(), *blocks(60)])
        next(judged)  # what comes before it is not lost
        with pytest.raises(CorpusError, match=r"^a\.jsonl: line 11: expected a case with its check: Object missing"):
            next(judged)


# --- who is blamed ----------------------------------------------------------------------------------------------------


SOON = Limits(0.5, 2**29)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("does", "told", "verdict", "every", "limits"),
    [
        ("ctypes.string_at(0)", "died of SIGSEGV in execute", Verdict.CRASH, 720, Limits()),
        ("os.kill(os.getpid(), signal.SIGKILL)", "died of SIGKILL", Verdict.CRASH, 720, Limits()),
        ("time.sleep(1000)", "took more than 0.5 s", Verdict.TIMEOUT, 27, SOON),  # fewer where each takes its time
    ],
)
@pytest.mark.parametrize("batches", [False, True])
def test_the_guilty_are_blamed_and_nobody_else(
    tmp_path: Path, does: str, told: str, verdict: Verdict, every: int, limits: Limits, batches: bool
) -> None:
    name = write_harmful_backend(tmp_path, does, every=every, batches=batches)
    fine = passed_by_all(tiles())
    found = judged_by(JudgeSetup((name,), limits=limits), tiles())
    assert [record.case for record in found] == [record.case for record in fine]
    blamed = [record for record in found if record.verdict is not Verdict.PASS]
    assert blamed
    assert [record.case for record in blamed] == [record.case for record in fine if guilty(record, every)]
    for record in blamed:
        assert record.verdict is verdict
        assert told in record.reason
        assert record.reproduce


def test_what_a_backend_prints_reaches_nobody_and_what_it_said_last_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    prints = "print('\\x1b[31mgarbage' * 10000); os.write(1, b'\\xff' * 200000); os.write(2, b'garbage' * 90000)"
    setup = JudgeSetup((write_harmful_backend(tmp_path, prints),))
    assert judged_by(setup, tiles()) == passed_by_all(tiles())
    assert capfd.readouterr() == ("", "")
    does = "print('about to', 'crash'); os._exit(5)"
    records = judged_by(JudgeSetup((write_harmful_backend(tmp_path, does),)), tiles(20))
    assert "its last output: about to crash" in next(r.reason for r in records if r.verdict is Verdict.CRASH)


# --- backends that cannot be had --------------------------------------------------------------------------------------


def test_a_backend_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It dies while it is made, or is none; or no process can be started."""
    name = write_harmful_backend(tmp_path, "pass", begins="print('no device', flush=True); os._exit(4)")
    told = r"mine\.py:Mine': the backend's process ended with code 4 in start-up[^~]*no device"
    with closing(Workers(JudgeSetup(("reference", name)), 2)) as workers:
        with pytest.raises(BackendError, match=told):
            workers.capabilities()
        with pytest.raises(BackendError):
            list(judge_tasks(workers, tiles()))
    with closing(Workers(JudgeSetup(("refernce",)), 1)) as workers, pytest.raises(BackendError, match="did you mean"):
        workers.capabilities()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    not_started = pytest.raises(WorkerError, match="no worker process can be started")
    with closing(Workers(REFERENCE, 1)) as workers, not_started:
        workers.capabilities()


# --- killed from outside ----------------------------------------------------------------------------------------------


def kill_one(workers: Workers, chance: random.Random) -> int:
    """Kill one of the processes. Returns how many were."""
    with suppress(ProcessLookupError, IndexError):
        os.kill(chance.choice(workers.pids), signal.SIGKILL)
        return 1
    return 0


@pytest.mark.few(1)
@pytest.mark.parametrize(("count", "seed"), [(1, 1), (2, 2), (4, 3)])
def test_processes_that_are_killed_change_nothing(
    tmp_path: Path, count: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is lost is judged again: failures and exceptions come out the same too."""
    # Chance may kill over one task each time, as tasks are taken ahead of those that are told.
    monkeypatch.setattr(executor_module, "MOST_LOST", MOST_KILLED + 1)
    does = ("outputs['output_tensor'].view[:1] ^= 1; return", "raise ValueError('no')")[seed % 2]
    setup = JudgeSetup((write_harmful_backend(tmp_path, does, every=30),))
    work = blocks(50, 3000)
    (undisturbed,) = judged_here(setup, work)
    chance = random.Random(seed)
    moments = {chance.randrange(len(work) - 10): chance.uniform(0, 0.05) for _ in range(MOST_KILLED)}
    killed = 0
    parts = []
    with closing(Workers(setup, count)) as workers:
        for n, block in enumerate(judge_tasks(workers, work)):
            parts.append(block)
            if n in moments:
                time.sleep(moments[n])
                killed += kill_one(workers, chance)
        assert set(workers.losses) == {"died of SIGKILL"}
    assert killed >= 3
    assert not any(record.lost for (block,) in parts for record in block)  # no backend lost its process
    (found,) = untimed(iter(parts))
    assert digest_of(found) == digest_of(undisturbed)
    assert found == undisturbed


def test_processes_that_are_killed_while_they_start() -> None:
    workers, over = Workers(REFERENCE, 1), threading.Event()

    def kill() -> None:
        while not over.wait(0.01):
            kill_one(workers, random.Random(0))

    thread = threading.Thread(target=kill)
    thread.start()
    with closing(workers), pytest.raises(WorkerError, match=r"3 .* lost while they started"):
        workers.capabilities()
    over.set()
    thread.join()


# --- nothing is left --------------------------------------------------------------------------------------------------

PARENT = """
import sys
from contextlib import closing
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.setup import JudgeSetup
from judged_tasks import judge_tasks
from sweep_support import blocks, damaged_block
if __name__ == "__main__":
    with closing(Workers(JudgeSetup((sys.argv[1],), limits=Limits(1000)), 2)) as workers:
        workers.capabilities()
        judged = judge_tasks(workers, blocks(5, 600, ["TILE"]))
        print(*workers.pids, flush=True)
        list(judged)
"""


def still_there(processes: list[psutil.Process]) -> list[psutil.Process]:
    _, alive = psutil.wait_procs(processes, timeout=60)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.few(1)
@pytest.mark.parametrize("does", ["ctypes.PyDLL(None).sleep(1000)", "pass"])
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path, does: str) -> None:
    """Whatever it is doing, and though the other one had no time to say anything."""
    name = write_harmful_backend(tmp_path, f"HERE.joinpath('hangs').touch(); {does}", every=1)
    (tmp_path / "parent.py").write_text(PARENT)
    with subprocess.Popen(
        [sys.executable, tmp_path / "parent.py", name],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), *filter(None, sys.path)])},
    ) as parent:
        assert parent.stdout is not None
        workers = [psutil.Process(int(word)) for word in parent.stdout.readline().split()]
        assert len(workers) == 2
        until = time.monotonic() + 60
        while not (tmp_path / "hangs").exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        family = [*workers, *(child for worker in workers for child in worker.children(recursive=True))]
        parent.kill()
    assert not still_there(family)


def test_claims_that_differ_from_process_to_process_end_the_run(tmp_path: Path) -> None:
    name = write_backend(
        tmp_path,
        """
        def __init__(self, *given):
            super().__init__(*given)
            try:
                (HERE / "first").touch(exist_ok=False)
                self.operators = ("TILE", "CAST")
            except FileExistsError:
                self.operators = ("TILE",)

        def capabilities(self):
            return replace(super().capabilities(), operators=self.operators)
        """,
    )
    corpus = tmp_path / "corpus.jsonl.zst"
    assert invoke("generate", "--cases", "3000", "--operator", "TILE", "-o", corpus).exit_code == 0
    result = invoke("run", corpus, "--backend", name, "--workers", "2")
    assert result.exit_code == 3, result.output
    assert "claims something else in one process than in another" in result.stderr


def test_closing_ends_what_hangs(tmp_path: Path) -> None:
    """And what it has started, in whatever session."""
    child = [sys.executable, "-c", "import time; time.sleep(600)"]
    starts = f"self.child = __import__('subprocess').Popen({child!r}, start_new_session=True)"
    hangs = f"{starts}; HERE.joinpath('hangs').touch(); time.sleep(1000)"
    setup = JudgeSetup((write_harmful_backend(tmp_path, hangs, every=1),))
    with closing(Workers(setup, 2)) as workers:
        workers.capabilities()
        processes = [psutil.Process(pid) for pid in workers.pids]

        def wait() -> None:
            with suppress(Exception):  # nothing comes any more
                list(judge_tasks(workers, tiles()))

        threading.Thread(target=wait, daemon=True).start()
        while not (tmp_path / "hangs").exists():
            time.sleep(0.01)
        processes += [child for process in processes for child in process.children(recursive=True)]
    assert not still_there(processes)


# --- several devices --------------------------------------------------------------------------------------------------


# Each leaves a file that names it, and waits for as many as `awaited` says.
SEVERAL = """
    @staticmethod
    def devices(device):
        return [f"gpu:{n}" for n in range(3)] if device == "gpu" else []

    def wait_for_the_others(self):
        HERE.joinpath(f"used-{self.device}").touch()
        while len(list(HERE.glob("used-*"))) < int(HERE.joinpath("awaited").read_text()):
            time.sleep(0.01)

    def capabilities(self):
        return replace(super().capabilities(), name=f"mine:{self.device}", device="a chip")
"""


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [(), (0, 2), (1,)])
def test_each_device_has_a_process(tmp_path: Path, chosen: tuple[int, ...]) -> None:
    does, begins, count = "self.wait_for_the_others()", "self.device = device", len(chosen) or 3
    name = f"{write_harmful_backend(tmp_path, does, every=1, begins=begins, more=SEVERAL)}:gpu"
    setup = JudgeSetup((name, "reference"))
    devices = devices_of(setup.backends)
    assert devices == [("gpu:0", "gpu:1", "gpu:2"), ()]
    (tmp_path / "awaited").write_text(str(count))
    places = places_on(setup.backends, devices, chosen)
    with closing(Workers(JudgeSetup(setup.backends, places=places), count)) as workers:
        mine, reference = workers.capabilities()
        assert (mine.name, reference.name) == (name, "reference")
        assert mine.device == (f"{count} x a chip" if count > 1 else "a chip")
        found = untimed(judge_tasks(workers, tiles(240, 10)))
    assert len({digest_of(records) for records in (*found, passed_by_all(tiles(240, 10)))}) == 1
    assert {file.name for file in tmp_path.glob("used-*")} == {f"used-gpu:{n}" for n in (chosen or range(3))}


def test_places() -> None:
    devices = [("cuda:0", "cuda:1"), ()]
    assert places_on(["torch:cuda", "reference"], devices, ()) == (
        ("torch:cuda:0", "reference"),
        ("torch:cuda:1", "reference"),
    )
    assert places_on(["a/b.py:Mine", "torch"], [("x", "y", "z"), ("cuda:0",)], (2, 0)) == (
        ("a/b.py:Mine:z", "torch:cuda:0"),
        ("a/b.py:Mine:x", "torch:cuda:0"),
    )
    with pytest.raises(BackendError, match=r"there is no device 2; there are 0 = cuda:0, 1 = cuda:1"):
        places_on(["torch:cuda", "reference"], devices, (0, 2))
    with pytest.raises(BackendError, match="--devices: reference leaves no choice of devices"):
        places_on(["reference"], [()], ())


def test_the_devices_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    device = pytest.importorskip("dml_conformance.backends.torch.device")
    monkeypatch.setattr(device.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(device.torch.cuda, "device_count", lambda: 3)
    assert backend_devices("torch:cuda") == backend_devices("torch") == ("cuda:0", "cuda:1", "cuda:2")
    assert backend_devices("torch:cuda:1") == backend_devices("torch:cpu") == backend_devices("reference") == ()
    monkeypatch.setattr(device.torch.cuda, "is_available", lambda: False)
    assert backend_devices("torch:cuda") == backend_devices("torch") == ()


# --- corpora judged by this process, and what a run of them is about --------------------------------------------------


# --- what is judged ---------------------------------------------------------------------------------------------------


def test_each_backend_has_a_record_of_each_case_in_order() -> None:
    setup = JudgeSetup(("reference", "torch:cpu"), limits=None)
    judged = untimed(judge_tasks(InProcess(setup.judges()), blocks(seed=WITH_OPEN)))
    digests = [case.digest for case in reader(seed=WITH_OPEN).header.numbered_cases()]
    assert [[record.case for record in records] for records in judged] == [digests, digests]
    assert {record.verdict for records in judged for record in records} == {Verdict.PASS, Verdict.OBSERVED}


def test_blocks_are_taken_as_they_are_needed() -> None:
    """However long a corpus is, no more than one block of it is in memory."""
    taken = []

    def watched() -> Iterator[CaseBlock]:
        for block in blocks():
            taken.append(block)
            yield block

    next(judge_tasks(InProcess(JudgeSetup(("reference",), limits=None).judges()), watched()))
    assert len(taken) == 1


def test_cases_are_judged_in_the_reading_asked_for() -> None:
    one, other = (
        untimed(judge_tasks(InProcess(JudgeSetup(("reference",), reading, limits=None).judges()), blocks(60, 300)))[0]
        for reading in Reading
    )
    assert {record.verdict for record in one} != {record.verdict for record in other}


# --- what is run ------------------------------------------------------------------------------------------------------


def test_corpora_come_one_after_the_other() -> None:
    found = list(blocks_of([reader(BLOCK_LINES + 3), reader(5, seed=1, name="b.jsonl")], WHOLE))
    told = [(block.name, len(block.numbers), block.numbers[0]) for block in found]
    assert told == [("a.jsonl", BLOCK_LINES, 2), ("a.jsonl", 3, 2 + BLOCK_LINES), ("b.jsonl", 5, 2)]


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
