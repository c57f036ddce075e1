"""Backends in processes of their own: whatever they do there, the harness goes on, and the right case is blamed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import numpy as np
import psutil
import pytest
from awful_backends import GUILTY
from click.testing import Result
from commands import certificate, invoke
from five_operators import TileDesc
from places import SUPPORT

from dml_conformance.backends.base import (
    LARGE_RESOURCE,
    NEAR,
    Binding,
    BoundTensor,
    Execution,
    Unsupported,
    looked_at,
    takes_batches,
)
from dml_conformance.backends.loading import BackendError, load_backend
from dml_conformance.backends.processes import arena as arenas
from dml_conformance.backends.processes import backend as isolated_backend
from dml_conformance.backends.processes.arena import Arena, ArenaView
from dml_conformance.backends.processes.backend import ALONE, IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp, ProcessLost
from dml_conformance.backends.processes.limits import Limits, parse_size
from dml_conformance.backends.processes.losses import Loss, LossCause
from dml_conformance.backends.processes.watchdog import WATCHDOG
from dml_conformance.conformance.judge import judge as judges
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import MOST_LOST, MOST_TIMED_OUT, search
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.cases import numbered_case

pytestmark = pytest.mark.skipif(os.name != "posix", reason="what is done to processes here is done on POSIX")

AWFUL = SUPPORT / "awful_backends.py"
LEVEL = Level.L6_4
INNOCENT = (2, 3, 4, 5)
GONE_SECONDS = 30.0

Isolated = Callable[..., IsolatedBackend]


def awful(name: str) -> str:
    return f"{AWFUL}:{name}"


def case_of(width: int) -> Case:
    desc = TileDesc(TensorDesc.of(DataType.FLOAT32, (1, 1)), TensorDesc.of(DataType.FLOAT32, (1, width)), (1, width))
    return Case.of(desc, LEVEL, {"input_tensor": Recipe("random-bits", width)}, rule="TILE.values")


# The guilty one stands in the middle.
CASES = [case_of(width) for width in (*INNOCENT[:2], GUILTY, *INNOCENT[2:])]


def judged(backend: Any, cases: Sequence[Case] = CASES) -> list[Record]:
    return list(BatchJudge(Judge(backend, "some")).records(cases, Phase.SWEEP))


Marked = Callable[[], list[psutil.Process]]


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Marked:
    """Finds the processes that were started since, by what they have inherited, wherever they have gone."""
    mark = os.urandom(8).hex()
    monkeypatch.setenv("TEST_OF_ISOLATION", mark)

    def found() -> list[psutil.Process]:
        processes = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                is_other = process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
                if is_other and process.environ().get("TEST_OF_ISOLATION") == mark:
                    processes.append(process)
        return processes

    return found


def wait_until(holds: Callable[[], object]) -> None:
    until = time.monotonic() + GONE_SECONDS
    while not holds():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.02)


# --- the guilty case and its neighbours -------------------------------------------------------------------------------


HUNG, TIGHT = Limits(2.0), Limits(60, 300 << 20)


def died(how: str, where: str = "execute") -> tuple[Verdict, str]:
    return Verdict.CRASH, f"the backend's process died of {how} in {where}"


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("name", "verdict", "reason", "limits"),
    [
        ("Segfaults", *died("SIGSEGV", "execute: its last output: about to read"), Limits()),
        ("Segfaults", Verdict.CRASH, "(segfault) < ", Limits()),
        ("Aborts", *died("SIGABRT", "execute: its stack: "), Limits()),
        ("Exits", Verdict.CRASH, "execute raised SystemExit: no more", Limits()),
        ("ExitsAtOnce", Verdict.CRASH, "the backend's process ended with code 0 in execute", Limits()),
        ("Interrupts", Verdict.CRASH, "execute raised KeyboardInterrupt", Limits()),
        ("Loops", Verdict.TIMEOUT, "took more than 2 s in execute and was ended: its stack: ", HUNG),
        ("Sleeps", Verdict.TIMEOUT, "took more than 2 s in execute and was ended: its stack: ", HUNG),
        ("Stops", Verdict.TIMEOUT, "took more than 2 s in execute and was ended", HUNG),
        ("Hangs", Verdict.TIMEOUT, "these were its last words; its stack: ", HUNG),
        ("Hogs", Verdict.CRASH, "beyond the memory limit of 300 MiB in execute and was ended", TIGHT),
        ("HogsInAChild", Verdict.CRASH, "beyond the memory limit of 300 MiB in execute", TIGHT),
        ("Babbles", Verdict.PASS, "", Limits()),
        ("ClosesPipes", Verdict.CRASH, "closed its connection in execute and was ended", Limits()),
        ("WritesRubbish", Verdict.CRASH, "sent what is no answer in execute and was ended", Limits()),
        ("Forges", Verdict.CRASH, "sent what is no answer in execute and was ended", Limits()),
        ("WritesToInput", Verdict.FAIL, "the input's memory was written to", Limits()),
        ("WritesStray", Verdict.FAIL, "1 bytes changed outside of every resource, ", Limits()),
        ("WritesStray", Verdict.FAIL, " bytes after the end of that of output_tensor", Limits()),
        ("WritesBefore", Verdict.FAIL, " bytes before the start of that of output_tensor", Limits()),
        ("WritesAPageAfter", Verdict.FAIL, " bytes after the end of that of output_tensor", Limits()),
        ("WritesBeforeItsInput", Verdict.FAIL, "300 bytes before the start of that of input_tensor", Limits()),
        ("WritesStrayInABatch", Verdict.FAIL, "200 bytes after the end of the only one, on a batch of this", Limits()),
        ("WritesStrayWithOthers", Verdict.FAIL, "200 bytes after the end of that of output_tensor", Limits()),
        ("Talks", Verdict.CRASH, "execute raised ValueError: why not why not", Limits()),
        ("RaisesUnspeakable", Verdict.CRASH, "execute raised Unspeakable: <Unspeakable, which", Limits()),
        ("Declines", Verdict.FAIL, "not thirteen", Limits()),
        ("RunsOut", Verdict.CRASH, "execute raised MemoryError: none left", Limits()),
        ("LeavesAChild", *died("SIGABRT"), Limits()),
        ("LeavesACopy", *died("SIGABRT"), Limits()),
        ("SilencesItself", *died("SIGSEGV"), Limits()),
        ("DiesDeciding", *died("SIGABRT", "validate"), Limits()),
        ("AnswersRubbish", Verdict.CRASH, "validate returned ['yes'], not an Answer", Limits()),
        ("DiesInABatch", *died("SIGABRT", "execute_batch"), Limits()),
        ("DiesWithOthers", *died("SIGABRT"), Limits()),
        ("NeedsValidation", *died("SIGABRT"), Limits()),
    ],
)
def test_the_guilty_case_is_blamed_and_its_neighbours_pass(
    name: str, verdict: Verdict, reason: str, limits: Limits, isolated: Isolated, marked: Marked
) -> None:
    backend = isolated(awful(name), limits)
    records = judged(backend)
    assert [record.verdict for record in records] == [
        verdict if case is CASES[2] else Verdict.PASS for case in CASES
    ], [record.reason for record in records]
    assert reason in records[2].reason
    assert len(records[2].reason) < 4000
    if "outside of every resource" in reason:
        assert records[2].rule == "EXECUTION.output-bounds"
    backend.close()
    wait_until(lambda: not marked())


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "verdict", "reason"),
    [
        ("Segfaults", *died("SIGSEGV", "execute: its last output: about to read")),
        ("Babbles", Verdict.PASS, ""),
        ("WritesToInput", Verdict.FAIL, "the input's memory was written to"),
        ("WritesStray", Verdict.FAIL, " bytes after the end of that of output_tensor"),
        ("WritesBefore", Verdict.FAIL, " bytes before the start of that of output_tensor"),
        ("WritesAPageAfter", Verdict.FAIL, " bytes after the end of that of output_tensor"),
        ("WritesBeforeItsInput", Verdict.FAIL, "300 bytes before the start of that of input_tensor"),
        ("DiesWithOthers", *died("SIGABRT")),
    ],
)
def test_the_same_is_blamed_where_tensors_lie_in_the_memory_of_both(
    name: str, verdict: Verdict, reason: str, isolated: Isolated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of very large cases do; whose process is lost has its memory copied to the next one."""
    monkeypatch.setattr(judges, "SAMPLED", 0)
    backend, lent = isolated(awful(name)), []
    lend = backend._lend
    monkeypatch.setattr(backend, "_lend", lambda size: lent.append(lend(size)) or lent[-1])
    records = judged(backend)
    assert [record.verdict for record in records] == [
        verdict if case is CASES[2] else Verdict.PASS for case in CASES
    ], [record.reason for record in records]
    assert reason in records[2].reason
    assert len(lent) >= len(CASES)
    assert None not in lent


def test_what_only_earlier_cases_explain_is_told_apart(isolated: Isolated) -> None:
    backend = isolated(awful("DiesInTheNinthExecution"))
    records = judged(backend)
    assert [record.verdict for record in records].count(Verdict.PASS) == len(CASES) - 1
    blamed = next(record for record in records if record.verdict is Verdict.CRASH)
    assert blamed.reason.endswith(ALONE)
    assert backend.tally.lost == 1
    assert backend.take_losses() == (Loss(LossCause.SIGNAL, "died of SIGABRT in execute"),)
    assert backend.take_losses() == ()


def test_of_decisions_asked_for_ahead_the_one_that_costs_the_process_is_to_blame(isolated: Isolated) -> None:
    backend = isolated(awful("DiesLater"))
    records = judged(backend)
    assert [record.verdict for record in records[:4]] == [Verdict.PASS] * 3 + [Verdict.CRASH]
    assert records[3].reason.endswith(ALONE)
    # Who is blamed and never asked loses no loss.
    backend = isolated(awful("DiesLater"))
    questions = [(case.desc, case.level) for case in CASES]
    backend.prefetch_decisions(questions)
    backend.prefetch_decisions(questions[:1])
    assert [loss.count for loss in backend.take_losses()] == [1]


@pytest.mark.parametrize("name", ["DiesInThe300thDecision", "IsKilledInThe300thDecision"])
def test_a_decision_that_costs_the_process_is_told_of_when_its_turn_comes(name: str, isolated: Isolated) -> None:
    """What was killed, maybe from outside, is asked again, and is not to blame where that goes well."""
    backend = isolated(awful(name))
    case = case_of(2)
    before = [(case.desc, case.level)] * 30
    for _ in range(9):
        backend.prefetch_decisions(before)
        assert all(backend.validate(*each).accepted for each in before)
    questions = [(case_of(width).desc, LEVEL) for width in range(1, 60)]
    backend.prefetch_decisions(questions)
    assert backend.tally.lost == 1
    assert backend.take_losses() == ()  # it is told of with the case that is to blame
    for question in questions[:29]:
        assert backend.validate(*question).accepted
    if name == "IsKilledInThe300thDecision":
        assert backend.validate(*questions[29]).accepted
    else:
        with pytest.raises(ProcessLost, match=ALONE):
            backend.validate(*questions[29])
    assert sum(loss.count for loss in backend.take_losses()) == 1
    assert backend.validate(*questions[30]).accepted


@pytest.mark.parametrize(("name", "what"), [("IsKilledOnce", "execute"), ("IsKilledOnceInABatch", "execute_batch")])
def test_what_was_killed_from_outside_is_asked_again(
    name: str, what: str, isolated: Isolated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "once").touch()
    monkeypatch.setenv("DML_TEST_ONCE", str(tmp_path))
    backend = isolated(awful(name))
    assert {record.verdict for record in judged(backend)} == {Verdict.PASS}
    assert backend.tally.lost == 1
    assert backend.take_losses() == (Loss(LossCause.KILLED, f"died of SIGKILL in {what}"),)


def test_each_decision_asked_for_ahead_may_take_its_time(isolated: Isolated) -> None:
    backend = isolated(awful("DecidesSlowly"), Limits(1.0))
    backend.prefetch_decisions([(case.desc, case.level) for case in CASES])
    assert all(backend.validate(case.desc, case.level).accepted for case in CASES)
    assert backend.take_losses() == ()


GOOD = [numbered_case(7, operator, LEVEL, n) for operator in operators() for n in range(4)]
BAD = [awful(name) for name in ("Talks", "Declines", "RunsOut", "AnswersRubbish", "WritesToInput")]


@pytest.mark.parametrize(
    ("name", "cases"),
    [*((name, CASES) for name in (*BAD, awful("Batches"))), ("reference", GOOD), (awful("Batches"), GOOD)],
)
def test_records_are_the_same_as_in_process(name: str, cases: list[Case], isolated: Isolated) -> None:
    here, there = (
        [msgspec.structs.replace(record, seconds=0.0) for record in judged(backend, cases)]
        for backend in (load_backend(name), isolated(name))
    )
    assert here == there
    assert name in BAD or {record.verdict for record in here} <= {Verdict.PASS, Verdict.OBSERVED}


# --- what a backend says ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [awful("CannotBeMade"), awful("NoSuchClass"), "nowhere.py:Backend", "refernce", awful("Batches") + ":1"]
)
def test_a_backend_that_cannot_be_had_says_the_same(name: str) -> None:
    errors = []
    for load in (load_backend, IsolatedBackend):
        with pytest.raises(BackendError) as caught:
            load(name)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_a_backend_that_ends_its_process_when_it_is_made() -> None:
    with pytest.raises(BackendError, match="the backend's process died of SIGABRT in start-up"):
        IsolatedBackend(awful("DiesWhenMade"))
    with pytest.raises(BackendError, match="cannot be made: SystemExit: 3"):
        IsolatedBackend(awful("ExitsWhenMade"))


def test_capabilities_and_methods_are_the_backends(isolated: Isolated) -> None:
    assert isolated("reference").capabilities() == load_backend("reference").capabilities()
    assert takes_batches(isolated(awful("Batches")))
    assert not takes_batches(isolated("reference"))


def bound(source: Any, target: Any, offset: int = 0, size: int = 8) -> tuple[dict[str, Binding], dict[str, Binding]]:
    """Memory for an input of one element, and for an output."""
    return {"input_tensor": Binding(source, 0, 4)}, {"output_tensor": Binding(target, offset, size)}


def execute(backend: Any, case: Case) -> None:
    size = 4 * case.desc.output_tensor.element_count  # type: ignore[attr-defined]
    backend.execute(case.desc, case.level, *bound(np.full(68, 7, np.uint8), np.full(size + 64, 7, np.uint8), 16, size))


def test_inputs_stay_in_the_shared_memory_while_the_same_is_timed(isolated: Isolated) -> None:
    backend, desc = isolated("reference"), case_of(2).desc
    source, target = np.full(4, 7, np.uint8), np.zeros(8, np.uint8)
    memory = bound(source, target)
    backend.time_execution(desc, LEVEL, *memory, 1)
    source[:] = 9  # which is not looked at any more
    target[:] = 1
    backend.time_execution(desc, LEVEL, *memory, 1)
    backend.fetch_timed()
    assert (source.tolist(), target.tolist()) == ([7] * 4, [7] * 8)
    target[:] = 1  # outputs are put there each time
    backend.time_execution(case_of(1).desc, LEVEL, *bound(source, np.zeros(4, np.uint8), size=4), 1)
    source[:] = 9
    backend.time_execution(desc, LEVEL, *memory, 1)
    backend.fetch_timed()
    assert (source.tolist(), target.tolist()) == ([9] * 4, [9] * 8)


def test_outputs_of_timed_runs_are_poisoned_each_time(isolated: Isolated) -> None:
    """Or a run that does nothing would find what the one before left."""
    backend, desc = isolated(awful("WritesOnce")), case_of(2).desc
    memory = bound(np.full(4, 7, np.uint8), np.zeros(8, np.uint8))
    for expected in ([7] * 8, [0] * 8):
        memory[1]["output_tensor"].buffer[:] = 0
        backend.time_execution(desc, LEVEL, *memory, 1)
        backend.fetch_timed()
        assert memory[1]["output_tensor"].buffer.tolist() == expected


def test_timing_is_done_where_the_backend_is(isolated: Isolated) -> None:
    backend = isolated("reference")
    memory = bound(np.zeros(4, np.uint8), np.zeros(8, np.uint8))
    seconds = backend.time_execution(case_of(2).desc, LEVEL, *memory, 3)
    assert len(seconds) == 3
    assert all(0 < each < 60 for each in seconds)
    assert len(backend.time_copy(1000, 4)) == 4
    with pytest.raises(Unsupported):
        backend.time_copy_cold(1000, 4)


# --- asking ahead -----------------------------------------------------------------------------------------------------


def test_what_was_asked_ahead_is_not_asked_again(isolated: Isolated) -> None:
    backend = isolated(awful("DiesLater"))
    questions = [(case.desc, case.level) for case in CASES[:2]]
    backend.prefetch_decisions(questions)
    assert all(backend.validate(*question).accepted for question in questions)
    assert backend.tally.lost == 0
    backend.validate(*questions[0])
    with pytest.raises(ProcessLost):
        backend.validate(*questions[0])  # the fourth decision


def test_a_judge_asks_ahead_for_what_it_will_ask_itself(isolated: Isolated) -> None:
    backend = isolated(awful("DiesLater"))
    below = Case.of(CASES[0].desc, LEVEL, rule="TILE.values")
    judge = Judge(backend, "some", claims=msgspec.structs.replace(backend.capabilities(), operators=("TILE",)))
    cases = [below, numbered_case(0, "GATHER", LEVEL, 0), CASES[0], CASES[1]]
    judge.prefetch(cases)
    assert [judge.record(case, Phase.SWEEP).verdict for case in cases].count(Verdict.NOT_SUPPORTED) == 1
    assert backend.tally.lost == 0  # or a decision was asked for twice
    Judge(load_backend("reference"), "reference").prefetch(cases)


def test_another_question_than_the_one_asked_ahead_gets_its_own_answer(isolated: Isolated) -> None:
    backend = isolated(awful("AnswersRubbish"))
    backend.prefetch_decisions([(CASES[2].desc, LEVEL), (CASES[0].desc, LEVEL)])
    assert backend.validate(CASES[0].desc, LEVEL).accepted
    assert repr(backend.validate(CASES[2].desc, LEVEL)) == "['yes']"


# --- going on ---------------------------------------------------------------------------------------------------------


def test_an_interrupt_in_the_midst_leaves_a_backend_that_can_be_asked(isolated: Isolated) -> None:
    backend = isolated(awful("HangsAlways"))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR2, interrupt)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR2)).start()
        with pytest.raises(KeyboardInterrupt):
            execute(backend, CASES[2])
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert {record.verdict for record in judged(backend, [case_of(2)])} == {Verdict.PASS}


@pytest.mark.parametrize("how", ["alone", "in a batch", "asked ahead"])
def test_a_new_process_decides_before_it_executes(how: str, isolated: Isolated) -> None:
    """Also on what one decided that is gone."""
    backend = isolated(awful("NeedsValidation"))
    asked_ahead = how == "asked ahead"
    if asked_ahead:
        backend.prefetch_decisions([(CASES[0].desc, LEVEL)])
    else:
        backend.validate(CASES[0].desc, LEVEL)
    with pytest.raises(ProcessLost):
        execute(backend, CASES[2])
    if asked_ahead:
        assert backend.validate(CASES[0].desc, LEVEL).accepted
    output = np.zeros(8, np.uint8)
    arguments = Execution(CASES[0].desc, LEVEL, *bound(np.ones(4, np.uint8), output))
    if how == "in a batch":
        backend.execute_batch([arguments])
    else:
        backend.execute(*arguments)
    assert output.tolist() == [1] * 8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("DiesAlways", MOST_LOST), ("HangsAlways", MOST_TIMED_OUT)])
def test_shrinking_what_costs_the_process_ends(name: str, most: int, isolated: Isolated) -> None:
    backend = isolated(awful(name), Limits(1.0))
    *tried, found = search(Judge(backend, "awful"), "TILE", LEVEL, "TILE.values", 300, 1)
    assert found.verdict in NOT_CONFORMANT
    assert all(record.verdict is Verdict.PASS for record in tried)
    assert backend.tally.lost <= most + 1


def test_a_backend_is_given_up_in_the_end(isolated: Isolated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(isolated_backend, "MOST_LOST", 3)
    backend = isolated(awful("DiesAlways"))
    for _ in range(3):
        with pytest.raises(ProcessLost):
            execute(backend, CASES[2])
    with pytest.raises(GivenUp, match="was lost 3 times"):
        execute(backend, case_of(2))
    out = tmp_path / "out"
    arguments = ["--backend", awful("DiesAlways"), "--operator", "TILE", "--level", "1_0", "--budget", "quick"]
    result = invoke("certify", *arguments, "--out", str(out))
    assert result.exit_code == 1, result.output
    assert "was lost 3 times" in json.dumps(certificate(out))


def test_what_cannot_be_started_again_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "once.py"
    file.write_text(AWFUL.read_text())
    backend = IsolatedBackend(f"{file}:DiesAlways")
    file.unlink()
    with pytest.raises(ProcessLost):
        execute(backend, CASES[2])
    with pytest.raises(GivenUp, match=r"no other one starts: .*there is no file"):
        execute(backend, CASES[2])


# --- nothing is left behind -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # that there are threads is the point of no test here
def test_a_copy_of_the_harness_ends_nothing_of_it(isolated: Isolated) -> None:
    backend = isolated("reference")
    execute(backend, CASES[0])  # both have the shared memory now
    copy = os.fork()
    if copy == 0:
        assert backend._process is not None
        backend._process.end()
        os._exit(0)
    assert os.waitpid(copy, 0)[1] == 0
    execute(backend, CASES[0])
    assert backend.tally.lost == 0


HARNESS = """
import sys
sys.path[:0] = sys.argv[2:]
from dml_conformance.backends.processes.backend import IsolatedBackend
from test_isolation import CASES, awful, execute
backend = IsolatedBackend(awful(sys.argv[1]))
print("ready", flush=True)
execute(backend, CASES[2])
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["Sleeps", "Stops", "HogsInAChild", "IgnoresItsEnd"])
def test_no_process_survives_a_killed_harness(name: str, marked: Marked) -> None:
    folders = (str(SUPPORT), str(Path(__file__).parent))
    harness = subprocess.Popen([sys.executable, "-c", HARNESS, name, *folders], stdout=subprocess.PIPE)
    assert harness.stdout is not None
    with harness, harness.stdout:
        assert harness.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        assert len(marked()) >= 3  # itself, the backend's process, and its guard
        harness.kill()
    wait_until(lambda: not marked())


def test_the_watchdog_goes_on_where_a_file_is_closed_before_its_eyes() -> None:
    closed = Mock(**{"look.side_effect": ValueError("I/O operation on closed file")})
    other = Mock()
    for subject in (closed, other):
        WATCHDOG.watch(subject)
    wait_until(lambda: closed.look.call_count > 3 and other.look.call_count > 3)


# --- memory -----------------------------------------------------------------------------------------------------------


def test_shared_memory_grows_and_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arenas, "KEPT", 2**20)
    arena = Arena()
    arena.reserve(1000)
    arena.memory[:3] = 1, 2, 3
    size = arena.reserve(5 * 2**20)
    other = ArenaView(f"file:{os.dup(int(arena.place.removeprefix('file:')))}")
    assert other.memory(size)[:3].tolist() == [1, 2, 3]
    arena.memory[: 5 * 2**20] = 9
    assert (other.memory(size)[: 5 * 2**20] == 9).all()
    file = int(arena.place.removeprefix("file:"))
    assert os.fstat(file).st_blocks * 512 >= 5 * 2**20
    arena.release(5 * 2**20)
    assert os.fstat(file).st_blocks * 512 <= 2**20 + 4096
    arena.close()


@pytest.mark.parametrize("start", [0, 2**20 + 3])
def test_much_memory_arrives_whole_however_much_the_system_takes_at_once(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arenas, "KEPT", 2**20)
    written, write = [], os.pwrite

    def write_some(file: int, content: memoryview, at: int) -> int:
        written.append(write(file, content[: 2**19 + 1], at))
        return written[-1]

    monkeypatch.setattr(os, "pwrite", write_some)
    content = np.arange(2**20 + 5, dtype=np.uint32).view(np.uint8)
    arena = Arena()
    size = arena.reserve(start + content.size + 1)
    other = ArenaView(f"file:{os.dup(int(arena.place.removeprefix('file:')))}").memory(size)
    arena.put(start, content)
    for memory in (arena.memory, other):
        np.testing.assert_array_equal(memory[start : start + content.size], content)
        assert not memory[:start].any()
        assert not memory[start + content.size :].any()
    assert sum(written) == (content.size if start else 0)  # the first bytes stay allocated, and are there
    arena.close()


def test_lent_memory_is_not_copied_and_is_given_back(isolated: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_backend, "KEPT", 2**20)
    monkeypatch.setattr(arenas, "KEPT", 2**20)
    backend, desc = isolated("reference"), case_of(2).desc
    timed = bound(np.full(2**21, 5, np.uint8), np.full(2**21, 5, np.uint8))
    backend.time_execution(desc, LEVEL, *timed, 1)  # which stays there for a while
    with backend.lending() as lend:
        lent = lend(2**21)
        assert lent is not None
        assert lend(1) is None  # one at a time
        memory = lent.memory
        assert memory.size == 2**21
        assert not memory.any()
        lent.put(0, np.full(2**20, 7, np.uint8))
        arena = lent.arena
        with monkeypatch.context() as patched:
            patched.delattr(Arena, "put")
            backend.execute(desc, LEVEL, *bound(memory[:4096], memory[2**20 :]))
        assert memory[2**20 : 2**20 + 9].tolist() == [7] * 8 + [0]
        # What lies elsewhere is executed beside it.
        target = np.zeros(2**21, np.uint8)
        backend.execute(desc, LEVEL, *bound(np.full(2**21, 9, np.uint8), target))
        assert target[:9].tolist() == [9] * 8 + [0]
        assert memory[:4].tolist() == [7] * 4
        # What was lent by a process that is gone is still there, and is copied to the next one and back.
        backend._end()
        lent.put(0, np.full(2**20, 8, np.uint8))
        backend.execute(desc, LEVEL, *bound(memory[:4096], memory[2**20 :]))
        assert memory[2**20 : 2**20 + 8].tolist() == [8] * 8
    with backend.lending() as lend:
        again = lend(2**21)
        assert again is not None
        assert again.arena is not arena
        again.memory[:] = 1
        file = int(again.arena.place.removeprefix("file:"))
        assert os.fstat(file).st_blocks * 512 >= 2**21
    assert os.fstat(file).st_blocks * 512 <= 2**20 + 4096
    monkeypatch.setattr(isolated_backend, "GIVES_BACK", False)
    with backend.lending() as lend:
        assert lend(1) is None


def test_a_resource_that_is_bound_twice_or_read_only_arrives_so(isolated: Isolated) -> None:
    backend = isolated(awful("WritesToInput"))
    shared = np.zeros(256, np.uint8)
    shared[:4] = 1, 2, 3, 4
    desc = case_of(2).desc
    backend.execute(desc, LEVEL, *bound(shared, shared, 128))
    assert shared[128:136].tolist() == [1, 2, 3, 4] * 2
    shared.flags.writeable = False
    with pytest.raises(Exception, match="read-only"):
        backend.execute(CASES[2].desc, LEVEL, *bound(shared, np.zeros(52, np.uint8), 0, 52))


def test_of_a_large_resource_what_is_near_its_tensors_travels(isolated: Isolated) -> None:
    backend, far = isolated("reference"), 3 * LARGE_RESOURCE
    memory = np.zeros(2 * far, np.uint8)
    memory[:4] = 1, 2, 3, 4
    memory[far + 8 + NEAR :] = 9
    reserved: list[int] = []

    def release(used: int) -> None:
        file = int(arena.place.removeprefix("file:"))
        reserved.append(os.fstat(file).st_blocks * 512)
        Arena.release(arena, used)

    arena = backend._process.arena
    arena.release = release  # type: ignore[method-assign]
    backend.execute(case_of(2).desc, LEVEL, *bound(memory, memory, far))
    assert memory[far : far + 12].tolist() == [1, 2, 3, 4] * 2 + [0] * 4
    assert (memory[far + 8 + NEAR :] == 9).all()
    assert max(reserved) < 2**20


def test_parts_that_meet_are_one() -> None:
    tensor, length = TensorDesc.of(DataType.UINT32, (2,)), LARGE_RESOURCE + 1
    first, near, far = (BoundTensor(start, 8, tensor) for start in (0, 2 * NEAR, LARGE_RESOURCE - 8))
    assert looked_at(LARGE_RESOURCE, [first]) == [slice(0, LARGE_RESOURCE)]
    assert looked_at(length, [far, near, first]) == [
        slice(0, 3 * NEAR + 8),
        slice(LARGE_RESOURCE - 8 - NEAR, length),
    ]


def test_of_a_large_tensor_what_is_near_elements_and_ends_is_looked_at() -> None:
    apart, end = TensorDesc.of(DataType.UINT8, (2, 3), (LARGE_RESOURCE + 3, 1)), 2 * LARGE_RESOURCE
    assert looked_at(2 * end, [BoundTensor(0, end, apart)]) == [
        slice(0, 3 + NEAR),
        slice(LARGE_RESOURCE + 3 - NEAR, LARGE_RESOURCE + 6 + NEAR),
        slice(end - NEAR, end + NEAR),
    ]


def test_in_a_batch_all_is_one_resource(isolated: Isolated) -> None:
    backend = isolated(awful("Batches"))
    memory = np.zeros(4096, np.uint8)
    memory[:4] = 1, 2, 3, 4
    backend.execute_batch(
        [Execution(case_of(width).desc, LEVEL, *bound(memory, memory, 256 * width, 4 * width)) for width in INNOCENT]
    )
    assert all(memory[256 * w :][: 4 * w].tolist() == [1, 2, 3, 4] * w for w in INNOCENT)
    assert memory.sum() == 10 * (1 + sum(INNOCENT))


# --- the commands and the gate ----------------------------------------------------------------------------------------


def test_replay_survives_a_crash_and_takes_limits() -> None:
    def replay(name: str, *more: str) -> Result:
        return invoke("replay", "--backend", name, *more)

    cases = [json.dumps(case.to_json()) for case in CASES]
    result = replay(awful("Declines"), "--time-limit", "30", "--memory-limit", "4GiB", cases[2])
    assert (result.exit_code, "not thirteen" in result.output) == (1, True), result.output
    result = replay(awful("Segfaults"), *cases)
    assert result.exit_code == 1
    assert result.output.count("SIGSEGV") == 1
    for more, told in (
        (["--time-limit", "0"], "--time-limit"),
        (["--memory-limit", "4GB"], "expected an amount of memory such as 4GiB"),
        (["--in-process", "--time-limit", "3"], "--in-process excludes"),
    ):
        result = replay("reference", *more, cases[0])
        assert (result.exit_code, told in result.output) == (2, True)
    sizes = {"1.5 gib": 3 * 2**29, "300MiB": 300 * 2**20, "1000": 1000, "1KiB": 1024}
    assert {text: parse_size(text) for text in sizes} == sizes
    for text in ("", "-1", "0", "GiB", "1e9", "nan", "4GiB and more"):
        with pytest.raises(ValueError, match="such as 4GiB"):
            parse_size(text)


def test_a_large_execution_may_take_longer(monkeypatch: pytest.MonkeyPatch, isolated: Isolated) -> None:
    """For each so many bytes of its memory as long again as any may take."""
    allowed: list[float | None] = []
    whole = IsolatedBackend._ask
    monkeypatch.setattr(
        IsolatedBackend, "_ask", lambda self, inquiry: allowed.append(inquiry.seconds) or whole(self, inquiry)
    )
    monkeypatch.setattr("dml_conformance.backends.processes.backend.UNHURRIED_BYTES", 2**16)
    backend = isolated("reference", Limits(seconds=7))
    for size in (10, 2**17):
        one = TensorDesc.of(DataType.UINT8, (1,))
        desc = TileDesc(one, TensorDesc.of(DataType.UINT8, (size,)), (size,))
        assert Judge(backend, "").judge(Case.of(desc, LEVEL, {"input_tensor": Recipe("ramp")})).verdict == "pass"
    assert {7.0, 21.0} <= set(allowed)
