"""Every process that a backend loses is counted, wherever that is, and too many of them are a verdict."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from commands import invoke, records_of
from gate_runs import run_gate
from package_support import changed, edit, forge, make, told, verified
from report_data import campaign, plain
from test_isolation import CASES, Isolated, awful, case_of

from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp, ProcessLost
from dml_conformance.backends.processes.losses import MOST_FORGIVEN, Loss, LossCause
from dml_conformance.backends.processes.oom import OomKills, cause_of
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.judge.blame import MOST_REPEATED, Blame
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import with_losses
from dml_conformance.conformance.workers.tasks import TaskJudge
from dml_conformance.reports.model.records import Ending, Phase, Record, Repeated, Verdict
from dml_conformance.reports.model.summary import Conformance, Summary
from dml_conformance.reports.output.folder import CERTIFICATE, REPORT, RESULTS
from dml_conformance.reports.store.results import Store
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.spec.accuracy import PRECISE
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Reading

pytestmark = pytest.mark.skipif(os.name != "posix", reason="what is done to processes here is done on POSIX")

QUICK = ("--operator", "TILE", "--level", "1_0", "--budget", "quick")
KILLED = Loss(LossCause.KILLED, "died of SIGKILL in execute")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how often `is_first` of the awful backends holds from now on."""
    folder = tmp_path / "times"
    folder.mkdir()
    monkeypatch.setenv("DML_TEST_ONCE", str(folder))

    def set_times(count: int) -> None:
        for _ in range(count):
            (folder / uuid4().hex).touch()

    return set_times


def certified(code: int, name: str, *more: str, scope: tuple[str, ...] = QUICK) -> tuple[str, dict[str, Any]]:
    """What a run that ends with an exit code prints, and its certificate."""
    result = invoke("certify", "--backend", awful(name), *scope, "--out", "out", *more)
    assert result.exit_code == code, result.output
    return result.output, certificate()


def certificate() -> dict[str, Any]:
    """Of the run, held against its records and the page."""
    with Store(Path("out") / RESULTS) as store:
        assert Path("out", CERTIFICATE).read_bytes() == Certificate.of(store.summary()).to_json()
        counted = sum(loss.count for record in store.records() for loss in record.lost)
        counted += sum(loss.count for loss in store.ending.lost) if store.ending else 0
    found: dict[str, Any] = json.loads(Path("out", CERTIFICATE).read_text())
    assert counted == found["lost"]["count"] == sum(way["count"] for way in found["lost"]["ways"])
    page = Path("out", REPORT).read_text(encoding="utf-8")
    assert ("Processes of the backend that were lost" in page) is (counted > 0)
    return found


# --- campaigns --------------------------------------------------------------------------------------------------------

LEVELS = ("--operator", "TILE", "--level", "1_0", "--level", "4_1", "--budget", "quick")
WAYS = [
    ("DiesInThe300thDecision", "signal", "SIGSEGV in validate", LEVELS),
    ("IsKilledInThe300thDecision", "killed", "SIGKILL in validate", LEVELS),
    ("KillsInThe40thExecution", "killed", "SIGKILL in execute", QUICK),
    ("KillsItsGroupInThe40thExecution", "killed", "SIGKILL in execute", QUICK),
    ("LeaksDeciding", "memory limit", "memory limit of 300 MiB in validate", LEVELS),
]
each_number = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])


@pytest.mark.few(2, 5)
@each_number
@pytest.mark.parametrize(("name", "cause", "how", "scope"), WAYS, ids=[way[0] for way in WAYS])
def test_a_backend_that_keeps_losing_its_process_is_not_certified(
    name: str, cause: str, how: str, scope: tuple[str, ...], workers: tuple[str, ...], here: Path
) -> None:
    limit = ("--memory-limit", "300MiB") if cause == "memory limit" else ()
    output, found = certified(1, name, *workers, *limit, scope=scope)
    assert found["counts"]["crash"] >= 1
    assert {way["cause"] for way in found["lost"]["ways"]} == {cause}
    assert any(how in way["how"] for way in found["lost"]["ways"])
    assert sum(record.losses_forgiven for record in records_of(Path("out"))) <= MOST_FORGIVEN
    assert f"({found['lost']['count']} {cause})" in output.splitlines()[-3]


@each_number
def test_a_few_that_are_killed_are_forgiven_and_told(
    workers: tuple[str, ...], here: Path, times: Callable[[int], None]
) -> None:
    """More than a few are a crash of the case at hand."""
    times(MOST_FORGIVEN)
    output, found = certified(0, "IsKilledOnce", *workers)
    assert (found["outcome"], found["counts"]["crash"]) == ("conformant", 0)
    assert (found["lost"]["count"], found["lost"]["forgiven"]) == (MOST_FORGIVEN, MOST_FORGIVEN)
    told = "3 of its processes were lost (3 killed): no case is blamed for 3."
    assert output.splitlines()[-3].endswith(told)
    times(MOST_FORGIVEN + 2)
    _, found = certified(1, "IsKilledOnce", *workers, "--replace")
    assert found["counts"]["crash"] >= 1
    first = next(record for record in records_of(Path("out")) if record.verdict is Verdict.CRASH)
    assert "no more than 3 are put down to the machine" in first.reason


# --- packages and runs that are resumed -------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "scope"), [("DiesInThe300thDecision", LEVELS), ("KillsInThe40thExecution", QUICK)])
def test_a_package_with_losses_verifies_and_without_them_does_not(
    name: str, scope: tuple[str, ...], here: Path
) -> None:
    certified(1, name, "--package", scope=scope)
    good = invoke("verify", "out")
    assert "out: verifies" in good.output, good.output
    assert "of its processes were lost" in good.output

    def without(content: bytes) -> bytes:
        nothing = {"lost": {"count": 0, "forgiven": 0, "ways": []}}
        return Certificate.from_json(json.dumps(json.loads(content) | nothing)).to_json()

    forged = verified(changed(Path("out"), Path("forged"), CERTIFICATE, without))
    assert not forged.verifies
    assert "does not follow from the records" in told(forged)


def test_a_pass_in_place_of_the_blame_is_found(tmp_path: Path, times: Callable[[int], None]) -> None:
    """Whoever takes the verdict back has to take the losses back too, and then says something else than was signed."""
    times(MOST_FORGIVEN + 1)
    with closing(IsolatedBackend(awful("IsKilledOnce"))) as backend:
        package = make(tmp_path / "package", backend)
    assert verified(package).verifies, told(verified(package))
    records = records_of(package)
    (n,) = (n for n, record in enumerate(records) if record.verdict is Verdict.CRASH)
    reference = make(tmp_path / "reference", ReferenceBackend())
    fine = msgspec.structs.asdict(records_of(reference)[n])
    assert fine["case"] == records[n].case
    forged = forge(package, tmp_path / "forged", records=edit(n, **fine | {"lost": records[n].lost}))

    found = verified(forged)
    assert not found.verifies
    assert "are put down to the machine" in told(found)
    assert found.outcome == "not conformant"  # by the count alone


def test_a_run_that_is_resumed_keeps_what_was_lost_before(
    here: Path, times: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first part is forgiven so many that the second is blamed."""
    times(MOST_FORGIVEN)
    whole, units = TaskJudge.records, itertools.count(1)

    def interrupted(self: TaskJudge, unit: Any) -> Iterator[Record]:
        if next(units) == 14:
            raise KeyboardInterrupt
        return whole(self, unit)

    with monkeypatch.context() as patch:
        patch.setattr(TaskJudge, "records", interrupted)
        patch.setattr("dml_conformance.reports.store.results.COMMIT_SECONDS", 0.0)
        result = invoke("certify", "--backend", awful("IsKilledOnce"), *QUICK, "--out", "out")
    assert result.exit_code == 3
    assert not list((here / "times").iterdir())
    times(1)
    _, found = certified(1, "IsKilledOnce", "--resume")
    assert found["lost"]["count"] == MOST_FORGIVEN + 1
    assert (found["counts"]["crash"], found["lost"]["forgiven"]) == (1, MOST_FORGIVEN)


# --- failures that are repeated ---------------------------------------------------------------------------------------


@pytest.mark.few(1)
@each_number
def test_what_fails_again_and_what_does_not_are_told_apart(
    workers: tuple[str, ...], here: Path, times: Callable[[int], None]
) -> None:
    times(1)
    output, found = certified(1, "IsWrongOnce", *workers)
    assert found["repeated"] == {"failed_again": 0, "did_not_fail": 1, "not_repeated": 0}
    assert output.splitlines()[-3].endswith("Of its wrong outputs, repeated in a new process, 1 did not fail again.")
    (failure,) = found["failures"]
    assert failure["samples"][0]["reason"].endswith("; repeated in a new process it did not fail again")
    assert "did not fail again" in Path("out", REPORT).read_text(encoding="utf-8")


@pytest.mark.slow
def test_only_so_many_of_a_rule_are_repeated(here: Path) -> None:
    """And in this process none."""
    _, found = certified(1, "IsWrong")
    rules = {failure["rule"] for failure in found["failures"]}
    failed = [record for record in records_of(Path("out")) if record.verdict is Verdict.FAIL]
    repeated = MOST_REPEATED * len(rules) + sum(record.phase is Phase.SEARCH for record in failed)
    others = len(failed) - repeated
    assert repeated > MOST_REPEATED * len(rules)
    assert others > 0
    assert found["repeated"] == {"failed_again": repeated, "did_not_fail": 0, "not_repeated": others}
    assert found["lost"]["count"] == 0
    assert [record.repeated for record in failed[:MOST_REPEATED]] == [Repeated.FAILED_AGAIN] * MOST_REPEATED
    _, found = certified(1, "IsWrong", "--in-process", "--replace")
    assert not any(found["repeated"].values())


def test_a_repetition_has_a_process_of_its_own(isolated: Isolated) -> None:
    backend = isolated(awful("KillsInThe40thExecution"))
    judge = Judge(backend, "mine")
    for _ in range(30):
        judge.backend.validate(case_of(2).desc, case_of(2).level)
    with backend.in_a_new_process():
        assert judge.judge(CASES[0]).verdict is Verdict.PASS
        own = backend._process
    assert backend._process is not own
    assert backend.take_losses() == ()
    assert judge.judge(CASES[0]).verdict is Verdict.PASS


# --- the gate and sweeps ----------------------------------------------------------------------------------------------

GATE = ("--dml-level", "1_0", "--dml-operator", "TILE", "--dml-backend")


@pytest.mark.few(0, 2)
@pytest.mark.parametrize(
    ("name", "limit"), [("DiesInThe300thDecision", ()), ("LeaksDeciding", ("--dml-memory-limit", "300MiB"))]
)
def test_the_gate_fails_a_backend_that_keeps_losing_its_process(
    name: str, limit: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    result = run_gate(pytester, *GATE, awful(name), *limit, "--dml-examples", "20")
    assert result.ret is pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*processes of the backend were lost*", "*no case is blamed for*"])


@pytest.mark.few(1)
@pytest.mark.parametrize("more", [("-n", "2"), ()], ids=["xdist", "alone"])
def test_the_gate_forgives_a_few_and_tells_of_them(
    more: tuple[str, ...], pytester: pytest.Pytester, times: Callable[[int], None]
) -> None:
    """Those of all processes of the tests count together."""
    for count, code in ((MOST_FORGIVEN, pytest.ExitCode.OK), (MOST_FORGIVEN + 1, pytest.ExitCode.TESTS_FAILED)):
        times(count)
        result = run_gate(pytester, *GATE, awful("IsKilledOnce"), *more, "--dml-examples", "2")
        assert result.ret is code
        result.stdout.fnmatch_lines([f"*{count} processes of the backend were lost*", "*no case is blamed for *"])


def test_a_failure_at_the_gate_is_repeated(pytester: pytest.Pytester, times: Callable[[int], None]) -> None:
    times(1)
    result = run_gate(pytester, *GATE, awful("IsWrongOnce"), "--dml-examples", "0", "-k", "TILE.values")
    result.stdout.fnmatch_lines(["*; repeated in a new process it did not fail again"])


# --- whose doing it was -----------------------------------------------------------------------------------------------


def record_with(
    count: int, verdict: Verdict = Verdict.PASS, cause: LossCause = LossCause.KILLED, **more: Any
) -> Record:
    return plain(verdict, lost=(Loss(cause, "died", count),), case_json=case_of(2).to_json(), **more)


def summary_of(*records: Record, ending: Ending | None = None) -> Summary:
    summary = Summary()
    everything = {**campaign().backend, "enforces": [str(category) for category in Category]}
    summary.start(campaign(levels=("3_0",), operators=("GATHER",), backend=everything))
    for record in (plain(), *records):
        summary.record(record)
    summary.finish(ending or Ending("2025-03-04T09:31:12Z"))
    return summary


CONFORMANT, NOT = Conformance.CONFORMANT, Conformance.NOT_CONFORMANT
ENDED = Ending("2025-03-04T09:31:12Z", lost=(Loss(LossCause.SIGNAL, "died of SIGSEGV in time_execution", 4),))


@pytest.mark.parametrize(
    ("summary", "conformance", "told"),
    [
        (summary_of(record_with(3)), CONFORMANT, "3 of its processes were lost (3 killed): no case is blamed for 3."),
        (summary_of(record_with(4)), NOT, "does not keep its process alive"),
        (summary_of(ending=ENDED), NOT, ""),
        # What a verdict accounts for is not counted against the backend twice.
        (summary_of(record_with(9, Verdict.WAIVED, waived="crash")), CONFORMANT, ""),
        (summary_of(record_with(9, Verdict.WAIVED, waived="timeout")), CONFORMANT, ""),
        (summary_of(record_with(9, Verdict.WAIVED, waived="fail")), NOT, ""),
        # What the machine does is no fault of the backend.
        (
            summary_of(record_with(9, cause=LossCause.TIME_LIMIT_TOGETHER)),
            CONFORMANT,
            "9 of its processes were lost (9 time limit of many together)",
        ),
        (summary_of(record_with(3, cause=LossCause.OOM_KILLER)), CONFORMANT, ""),
        (summary_of(record_with(4, cause=LossCause.OOM_KILLER)), Conformance.INCOMPLETE, ""),
    ],
)
def test_the_count_alone_makes_a_backend_not_conformant(summary: Summary, conformance: Conformance, told: str) -> None:
    assert summary.conformance is conformance
    assert told in summary.headline()
    if conformance is Conformance.INCOMPLETE:
        assert "OOM killer ended 4 processes" in summary.why_incomplete()[0]


def test_a_machine_kills_not_twice_at_the_same_decision() -> None:
    for cause, is_regular, from_outside in (
        (LossCause.KILLED, False, True),
        (LossCause.KILLED, True, False),
        (LossCause.OOM_KILLER, True, True),
        (LossCause.SIGNAL, False, False),
    ):
        lost = ProcessLost("it died", cause)
        lost.is_regular = is_regular
        assert lost.from_outside is from_outside


def test_blame_is_the_same_where_a_run_is_given_again() -> None:
    records = [record_with(2), record_with(2), plain(), record_with(1), record_with(1), record_with(5, Verdict.FAIL)]
    blame = Blame("mine", Reading.DOCUMENTED, PRECISE)
    once = [blame.settled(record) for record in records]
    assert [record.verdict for record in once] == ["pass", "crash", "pass", "pass", "crash", "fail"]
    assert "--accuracy precise" in once[1].reproduce
    assert once[1].answered == "accept"  # it was executed
    again = Blame("mine", Reading.DOCUMENTED, PRECISE)
    assert [again.settled(record) for record in once] == once


def test_losses_wait_for_a_case_that_was_asked(isolated: Isolated) -> None:
    backend = isolated(awful("Batches"))
    unasked = plain(Verdict.NOT_SUPPORTED, answered="")
    for records, in_the_end, expected in (
        ([unasked, plain(), plain()], False, [0, 1, 0]),
        ([unasked], False, [1]),
        ([plain(), plain()], True, [0, 1]),
    ):
        backend._lost.append(KILLED)
        given = with_losses(iter(records), backend, in_the_end=in_the_end)
        assert [record.lost for record in given] == [(KILLED,) * count for count in expected]

    def given_up() -> Iterator[Record]:
        yield plain()
        backend._lost.append(KILLED)
        raise GivenUp("it is too much")

    given = with_losses(given_up(), backend)
    assert next(given) == plain()
    with pytest.raises(GivenUp) as caught:
        next(given)
    assert caught.value.lost == (KILLED,)
    # What was timed in a process that is gone is let go of with it.
    for _ in range(2):
        assert len(backend.time_copy(64, 2)) == 2
        backend.close()


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        ("0::/a/b\n", "sys/fs/cgroup/a/b/memory.events"),
        ("4:memory:/a/b\n0::/\n", "sys/fs/cgroup/memory/a/b/memory.oom_control"),
        ("0::/elsewhere\n", "proc/vmstat"),
    ],
)
def test_what_the_oom_killer_did_is_told_apart(groups: str, file: str, tmp_path: Path) -> None:
    counting = tmp_path / file
    for path, content in ((tmp_path / "proc/7/cgroup", groups), (counting, "low 1\noom 3\noom_kill 2\n")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    kills = OomKills(7, tmp_path)
    for _ in range(3):
        kills.look()
    assert cause_of(-9, kills) is LossCause.KILLED
    counting.write_text("oom_kill 3\n")
    assert cause_of(-9, kills) is LossCause.OOM_KILLER
    assert [cause_of(code, kills) for code in (-15, -11, 7)] == [LossCause.KILLED, LossCause.SIGNAL, LossCause.ENDED]
    kills.look()
    assert cause_of(-9, kills) is LossCause.OOM_KILLER  # it may have been looked at between death and discovery
    kills.look()
    assert cause_of(-9, kills) is LossCause.KILLED
    counting.unlink()
    assert cause_of(-9, kills) is LossCause.KILLED
    assert cause_of(-9, OomKills(7, tmp_path / "nowhere")) is LossCause.KILLED
