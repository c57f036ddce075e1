"""A run may be interrupted at any moment, and `--resume` completes it as if it had not been."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from click.testing import Result
from commands import PROGRAM, invoke, records_of, without_times
from places import SUPPORT

from dml_conformance.reports.output.folder import CERTIFICATE, RESULTS
from dml_conformance.reports.output.locking import LockedFile
from dml_conformance.reports.store.results import Store
from dml_conformance.reports.views.certificate import Certificate

SCOPE = ("--in-process", "--operator", "TILE", "--level", "1_0", "--budget", "quick", "--out", "out")
SOUND = ("certify", "--backend", "reference", *SCOPE)
WRONG = ("certify", "--backend", "wrong.py:Wrong", *SCOPE, "--waivers", "waivers.toml", "--package")
RECORD, SQL, FILE = "record", "sql", "file"
# Wrong in what the boundaries find, so that the search has something to make smaller; a part of it is waived.
BACKEND = """\
from dml_conformance.backends.base import Answer
from dml_conformance.backends.reference import ReferenceBackend

class Wrong(ReferenceBackend):
    def validate(self, desc, level):
        if desc.output_tensor is None:
            raise RuntimeError("there is no output")
        answer = super().validate(desc, level)
        return Answer(True) if desc.output_tensor.guaranteed_base_offset_alignment == 3 else answer
"""
WAIVERS = """\
[[waiver]]
rules = ["TILE.required-tensors"]
reason = "Falls over where there is no output"
link = "https://example.com/issues/17"
owner = "kernels@example.com"
expires = 2999-12-31
"""
# In the folder of a run, beside what it leaves.
GIVEN = {"corpus.jsonl.zst", "wrong.py", "waivers.toml", "__pycache__", ".hypothesis"}


class Ran(NamedTuple):
    """The commands of a scenario: where they ran, and the exit code, moments and output of each."""

    here: Path
    outcomes: list[dict[str, Any]]

    @property
    def code(self) -> int:
        """Of the last one."""
        return int(self.outcomes[-1]["code"])


@pytest.fixture(scope="module")
def shared() -> dict[Any, Any]:
    """What runs come to that several tests ask for."""
    return {}


@pytest.fixture
def runs(tmp_path_factory: pytest.TempPathFactory, shared: dict[Any, Any]) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"), shared)


class Runs:
    """Runs scenarios, each a row of commands in a folder of its own."""

    def __init__(self, folder: Path, shared: dict[Any, Any]) -> None:
        self._folder = folder
        self.shared = shared
        self._count = 0
        self.given: list[Path] = []  # files that every folder has

    def __call__(self, scenarios: Sequence[Sequence[dict[str, Any]]]) -> list[Ran]:
        folders, lines = [], []
        for attempts in scenarios:
            here = self.next_folder()
            here.mkdir()
            (here / "wrong.py").write_text(BACKEND)
            (here / "waivers.toml").write_text(WAIVERS)
            for file in self.given:
                shutil.copy(file, here)
            folders.append(here)
            lines.append(json.dumps([str(here), attempts]))
        return [Ran(here, outcomes) for here, outcomes in zip(folders, self._run(lines), strict=True)]

    def next_folder(self) -> Path:
        """A place for one more folder."""
        self._count += 1
        return self._folder / f"{self._count}"

    def go_on(self, ran: Ran, attempt: dict[str, Any]) -> dict[str, Any]:
        """Run one more command where others ran."""
        ((outcome,),) = self._run([json.dumps([str(ran.here), [attempt]])])
        return outcome

    def _run(self, lines: Sequence[str]) -> list[list[dict[str, Any]]]:
        script = SUPPORT / "interrupted_runs.py"
        done = subprocess.run([sys.executable, script], input="\n".join(lines), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def attempt(*arguments: str, **more: Any) -> dict[str, Any]:
    return {"arguments": arguments, **more}


def told(out: Path) -> dict[str, Any]:
    """All that a finished run says but times and measurements; its certificate is held against its records."""
    with Store(out / RESULTS) as store:
        assert (out / CERTIFICATE).read_bytes() == Certificate.of(store.summary()).to_json()
        rows = [(row.operator, row.data_type, row.shape) for row in store.throughputs()]
        labels = list(store._connection.execute("SELECT * FROM label ORDER BY id"))
        schema = sorted(store._connection.execute("SELECT name FROM sqlite_master"))
    found = {
        "names": sorted(str(path.relative_to(out)) for path in out.rglob("*")),
        "beside": left_in(out.parent),
        "records": [msgspec.structs.replace(record, seconds=0.0) for record in records_of(out)],
        "throughput": rows,
        "labels": labels,
        "schema": schema,
    }
    for path in out.rglob("*.json"):
        if path.name not in ("manifest.json", "ctrf.json"):  # digests of files with times, and times
            found[path.name] = without_times(json.loads(path.read_bytes()))
    return found


def left_in(here: Path) -> list[str]:
    """What runs have left in their folder."""
    return sorted(path.name for path in here.iterdir() if path.name not in GIVEN)


def undisturbed(runs: Runs, *arguments: str) -> tuple[Ran, dict[str, Any]]:
    """A run that nothing interrupts, and what it tells."""
    if arguments not in runs.shared:
        (ran,) = runs([[attempt(*arguments)]])
        runs.shared[arguments] = ran, told(ran.here / "out")
    found: tuple[Ran, dict[str, Any]] = runs.shared[arguments]
    return found


def moments_of(runs: Runs, *arguments: str, kinds: Sequence[str]) -> int:
    """How many moments it has."""
    if (arguments, *kinds) not in runs.shared:
        (ran,) = runs([[attempt(*arguments, kinds=kinds)]])
        runs.shared[arguments, *kinds] = ran.outcomes[0]["moments"]
    count: int = runs.shared[arguments, *kinds]
    return count


def interrupted(runs: Runs, *arguments: str) -> Ran:
    """A run that was told to stop when it had judged some cases."""
    key = ("interrupted", arguments)
    if key not in runs.shared:
        more = {"moment": 300, "signal": signal.SIGTERM, "kinds": [RECORD, FILE]}
        (runs.shared[key],) = runs([[attempt(*(arguments or SOUND), **more)]])
    ran: Ran = runs.shared[key]
    assert ran.code == 3
    return Ran(shutil.copytree(ran.here, runs.next_folder()), ran.outcomes)


def assert_completed(ran: Ran, whole: Ran, expected: dict[str, Any]) -> None:
    assert ran.code == whole.code, ran.outcomes
    assert told(ran.here / "out") == expected, ran.outcomes


def completed(runs: Runs, arguments: Sequence[str], broken_off: Iterable[dict[str, Any]]) -> list[Ran]:
    """Runs that are broken off in ways of their own and resumed; each comes to what an undisturbed one comes to."""
    whole, expected = undisturbed(runs, *arguments)
    found = runs([[attempt(*arguments, **how), attempt(*arguments, resumes=True)] for how in broken_off])
    for ran in found:
        assert_completed(ran, whole, expected)
    return found


# Every moment.

WAYS = [
    (signal.SIGKILL, (RECORD, SQL, FILE), 10),
    (signal.SIGTERM, (RECORD, FILE), 4),
    (signal.SIGINT, (RECORD, FILE), 4),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("how", "kinds", "times"), WAYS)
def test_killed_at_any_moment_a_run_is_completed(runs: Runs, how: int, kinds: Sequence[str], times: int) -> None:
    moments = random.Random(how).sample(range(10, moments_of(runs, *SOUND, kinds=kinds)), times)
    found = completed(runs, SOUND, ({"moment": moment, "signal": how, "kinds": kinds} for moment in moments))
    for moment, ran in zip(moments, found, strict=True):
        killed = ran.outcomes[0]
        assert killed["moments"] == moment
        assert killed["code"] == (-how if how == signal.SIGKILL else 3)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "step"), [(signal.SIGKILL, 2), (signal.SIGINT, 5)])
def test_killed_at_any_step_in_its_files_a_run_is_completed(runs: Runs, how: int, step: int) -> None:
    last = moments_of(runs, *SOUND, kinds=[FILE])
    assert last > 10
    moments = range(1, last + 1, step)
    completed(runs, SOUND, ({"moment": moment, "signal": how, "kinds": [FILE]} for moment in moments))


@pytest.mark.slow
def test_killed_again_and_again_a_failing_package_is_completed_and_verifies(runs: Runs) -> None:
    whole, expected = undisturbed(runs, *WRONG)
    assert {str(record.verdict) for record in expected["records"]} >= {"pass", "fail", "waived"}
    last = whole.outcomes[0]["moments"]
    chance = random.Random(7)
    scenarios = []
    for _ in range(2):
        # A resumed run has fewer moments left, so that only some of the later kills come in time.
        kills = [attempt(*WRONG, moment=chance.randrange(20, last), signal=signal.SIGKILL)]
        kills += [
            attempt(*WRONG, resumes=True, moment=chance.randrange(20, last), signal=signal.SIGKILL) for _ in range(3)
        ]
        scenarios.append([*kills, attempt(*WRONG, resumes=True)])
    for ran in runs(scenarios):
        assert_completed(ran, whole, expected)
    package = ran.here / "out.tar.zst"
    result = invoke("verify", str(package))
    assert result.exit_code == 1, result.output  # it verifies, and its backend fails
    assert "out.tar.zst: verifies." in result.output


@pytest.mark.slow
def test_killed_between_folder_and_archive_a_package_gets_its_archive(runs: Runs) -> None:
    last = moments_of(runs, *WRONG, kinds=[FILE])
    moments = range(last - 7, last + 1)
    found = completed(runs, WRONG, ({"moment": n, "signal": signal.SIGKILL, "kinds": [FILE]} for n in moments))
    # Some of them were killed when the folder was there already.
    assert any("is finished" in each.outcomes[-1]["stderr"] for each in found)
    assert any("Resuming after" in each.outcomes[-1]["stderr"] for each in found)


# As it is in earnest: processes of their own, a backend in another one, moments that nobody chose.


@pytest.mark.slow
def test_interrupted_whenever_it_happens_a_run_is_completed(tmp_path: Path, runs: Runs) -> None:
    arguments = [word for word in SOUND if word != "--in-process"]
    _, expected = undisturbed(runs, *SOUND)
    command = [sys.executable, "-c", PROGRAM, *arguments]
    chance = random.Random(11)
    here = tmp_path / "here"
    here.mkdir()
    for how in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        resume = ["--resume"] if left_in(here) or (here / "out").exists() else []
        process = subprocess.Popen([*command, *resume], cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=chance.uniform(0.3, 0.9))
        except subprocess.TimeoutExpired:
            process.send_signal(how)
            process.communicate()
        if process.returncode == 0:  # it came to its end before that
            break
        # Before it has begun, a signal ends it as it ends any program.
        assert process.returncode in (-how, 3)
    # A signal may come when all is finished, and --resume is fine then, too.
    resume = ["--resume"] if left_in(here) or (here / "out").exists() else []
    done = subprocess.run([*command, *resume], cwd=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # also where it is finished already
    assert told(here / "out") == expected


# What an interrupted run says, and what may follow it.


Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in a folder, in this process."""

    def run(here: Path, *arguments: str) -> Result:
        monkeypatch.chdir(here)
        return invoke(*arguments)

    return run


def refused(result: Result) -> str:
    """What is told of what is refused."""
    assert result.exit_code == 2, result.output
    return result.stderr


def test_an_interrupted_run_says_in_one_line_how_to_go_on(runs: Runs) -> None:
    ran = interrupted(runs)
    assert ran.outcomes[0]["stderr"].splitlines()[-1] == (
        "dml-conformance: interrupted; the run is incomplete; what was judged is kept, and the same command with "
        "--resume goes on from there"
    )
    assert not (ran.here / "out").exists()


def test_a_finished_run_is_finished_also_where_a_process_that_looked_was_killed(runs: Runs, command: Command) -> None:
    """It leaves a lock in which nothing is said."""
    ran, _ = undisturbed(runs, *SOUND)
    before = (ran.here / "out" / CERTIFICATE).read_bytes()
    (ran.here / ".out.partial.json").touch()
    result = command(ran.here, *SOUND, "--resume")
    assert result.exit_code == 0, result.output
    assert "is finished" in result.stderr
    assert (ran.here / "out" / CERTIFICATE).read_bytes() == before
    assert not (ran.here / ".out.partial.json").exists()


def test_nothing_is_judged_twice(runs: Runs) -> None:
    ran = interrupted(runs)
    (results,) = ran.here.glob(".*/results.sqlite")
    kept = len(records_of(results.parent))
    assert kept > 200
    with Store(results) as store:
        finished = store.marks()[-1].records
    seconds = [record.seconds for record in records_of(results.parent)][:finished]
    again = runs.go_on(ran, attempt(*SOUND, "--resume"))
    assert f"Resuming after {finished} cases of the run that began at" in again["stderr"]
    assert [record.seconds for record in records_of(ran.here / "out")][:finished] == seconds


def test_a_new_run_does_not_take_the_place_of_an_interrupted_one_unasked(runs: Runs, command: Command) -> None:
    ran = interrupted(runs)
    assert refused(command(ran.here, *SOUND)) == (
        "dml-conformance: out: a run that was interrupted is there; --resume completes it, --replace discards it and "
        "starts anew\n"
    )
    anew = command(ran.here, *SOUND, "--replace")
    assert anew.exit_code == 0
    assert "Resuming" not in anew.stderr
    assert left_in(ran.here) == ["out"]


ANEW = "out: no run has left anything to be resumed; this one starts anew\n"


def test_where_there_is_nothing_to_resume_the_run_starts(tmp_path: Path, command: Command) -> None:
    """So that the same line can stand in a loop, from the first time on."""
    result = command(tmp_path, *SOUND, "--resume")
    assert result.exit_code == 0
    assert result.stderr.startswith(ANEW)
    assert left_in(tmp_path) == ["out"]
    again = command(tmp_path, *SOUND, "--resume")
    assert again.exit_code == 0
    assert "nothing was left to be resumed" in again.stderr


def test_a_package_is_begun_anew_with_its_archive(tmp_path: Path, command: Command) -> None:
    result = command(tmp_path, *SOUND, "--package", "--resume")
    assert result.exit_code == 0
    assert ANEW in result.stderr
    assert left_in(tmp_path) == ["out", "out.tar.zst"]


def test_a_folder_of_something_else_is_not_begun_anew(tmp_path: Path, command: Command) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert "out: holds mine.txt, which is no report" in refused(command(tmp_path, *SOUND, "--resume"))
    assert left_in(tmp_path) == ["out"]


def test_a_sweep_that_has_left_nothing_starts(tmp_path: Path, corpus: Path, command: Command) -> None:
    """Of two backends one is finished; the other one was stopped before it had anything."""
    arguments = ("run", str(corpus), "--backend", "reference", "--backend", "reference:", "--out", "out", "--resume")
    result = command(tmp_path, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("this one starts anew") == 2
    shutil.rmtree(tmp_path / "out" / "reference")
    again = command(tmp_path, *arguments)
    assert again.exit_code == 0
    assert again.stderr.count("this one starts anew") == 1
    assert again.stderr.count("nothing was left to be resumed") == 1


def test_a_finished_run_is_told_of_once_more(runs: Runs, command: Command) -> None:
    (ran,) = runs([[attempt(*WRONG)]])
    before = {path: path.read_bytes() for path in ran.here.rglob("*") if path.is_file()}
    result = command(ran.here, *WRONG, "--resume")
    assert result.exit_code == ran.code == 1
    assert "out: is finished; nothing was left to be resumed" in result.stderr
    assert "not conformant" in result.stdout
    assert {path: path.read_bytes() for path in ran.here.rglob("*") if path.is_file()} == before
    other = refused(command(ran.here, *WRONG, "--seed", "1", "--resume"))
    assert "seed was 0 when the run was interrupted, and is 1" in other


def test_a_finished_run_that_made_no_package_makes_none_later(runs: Runs, command: Command) -> None:
    (ran,) = runs([[attempt(*SOUND)]])
    assert "out: is finished, and no package" in refused(command(ran.here, *SOUND, "--package", "--resume"))
    assert left_in(ran.here) == ["out"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--seed", "5"), "--seed was 0 when the run was interrupted, and is 5"),
        (("--budget", "standard"), "--budget was quick when the run was interrupted, and is standard"),
        (("--cases", "7"), "--cases was null when the run was interrupted, and is 7"),
        (("--level", "2_0"), '--level was ["1_0"] when the run was interrupted, and is ["1_0","2_0"]'),
        (("--spec", "observed"), "--spec was documented when the run was interrupted, and is observed"),
        (("--profile", "decisions"), "--profile was null when the run was interrupted, and is decisions"),
        (("--package",), "--package was false when the run was interrupted, and is true"),
        (("--waivers", "waivers.toml"), "--waivers was null when the run was interrupted, and is SHA-256 "),
        (
            ("--backend", "wrong.py:Wrong"),
            "--backend was reference when the run was interrupted, and is wrong.py:Wrong",
        ),
    ],
)
def test_only_the_same_run_is_resumed(runs: Runs, command: Command, more: tuple[str, ...], message: str) -> None:
    ran = interrupted(runs)
    told_of = refused(command(ran.here, *SOUND, *more, "--resume"))
    assert f"out: {message}" in told_of
    assert told_of.count("\n") == 1
    assert left_in(ran.here) == [".out.partial", ".out.partial.json"]


def test_a_backend_that_was_edited_is_another(runs: Runs, command: Command) -> None:
    ran = interrupted(runs, *WRONG)
    (ran.here / "wrong.py").write_text(BACKEND + "\n# better\n")
    assert "the code of wrong.py was SHA-256 " in refused(command(ran.here, *WRONG, "--resume"))


def test_another_device_or_release_is_another_run(
    runs: Runs, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = interrupted(runs)
    monkeypatch.setattr("dml_conformance.conformance.campaign.driver.suite_version", lambda: "99.0")
    assert re.search(r"suite_version was .*and is 99\.0", refused(command(ran.here, *SOUND, "--resume")))


def test_two_processes_do_not_write_to_the_same_place(runs: Runs, command: Command) -> None:
    ran = interrupted(runs)
    lock = LockedFile(ran.here / ".out.partial.json")
    for more in ((), ("--resume",), ("--replace",)):
        assert "out: another process is writing there" in refused(command(ran.here, *SOUND, *more))
    lock.release(remove=False)
    assert command(ran.here, *SOUND, "--resume").exit_code == 0


def test_an_interrupted_run_keeps_the_result_that_it_was_to_replace(runs: Runs, command: Command) -> None:
    (ran,) = runs([[attempt(*SOUND), attempt(*SOUND, "--replace", moment=300, signal=9, kinds=[RECORD])]])
    before = (ran.here / "out" / CERTIFICATE).read_bytes()
    assert "is not empty" in refused(command(ran.here, *SOUND, "--resume"))
    assert (ran.here / "out" / CERTIFICATE).read_bytes() == before
    assert command(ran.here, *SOUND, "--resume", "--replace").exit_code == 0
    assert left_in(ran.here) == ["out"]


@pytest.mark.parametrize("damage", ["header", "middle", "conditions", "depth"])
def test_what_is_damaged_is_told(runs: Runs, command: Command, damage: str) -> None:
    ran = interrupted(runs)
    (results,) = ran.here.glob(".*/results.sqlite")
    with sqlite3.connect(results) as connection:  # all of it in one file
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    content = bytearray(results.read_bytes())
    if damage == "header":
        content[:100] = bytes(100)
    elif damage == "middle":
        content[8192:-8192] = b"\x55" * (len(content) - 2 * 8192)
    elif damage == "conditions":
        (ran.here / ".out.partial.json").write_bytes(b'{"--seed":')
    else:
        (ran.here / ".out.partial.json").write_bytes(b'{"--seed":' + b"[" * 20_000 + b"]" * 20_000 + b"}")
    results.write_bytes(content)
    told_of = refused(command(ran.here, *SOUND, "--resume"))
    assert "out: the interrupted run that is there cannot be resumed: " in told_of
    assert "--replace discards it and starts anew" in told_of
    assert told_of.count("\n") <= 2
    assert refused(command(ran.here, *SOUND))
    assert command(ran.here, *SOUND, "--replace").exit_code == 0


# Full disks.


@pytest.mark.slow
def test_on_a_full_disk_a_run_stops_and_is_completed_when_there_is_room(runs: Runs) -> None:
    whole, _ = undisturbed(runs, *WRONG)
    sizes = sorted({path.stat().st_size for path in whole.here.rglob("*") if path.is_file()})
    limits = [20_000, *(size - 1 for size in sizes if size > 20_000)]
    assert len(limits) >= 3
    for ran in completed(runs, WRONG, ({"file_bytes": limit} for limit in limits)):
        full = ran.outcomes[0]
        assert full["code"] == 3, full
        assert "cannot be written: " in full["stderr"].splitlines()[-1]


@pytest.mark.slow
def test_no_file_at_all_needs_room_without_that_being_told(runs: Runs) -> None:
    """From one file on the disk is full, whichever it is."""
    last = moments_of(runs, *WRONG, kinds=[FILE])
    moments = range(1, last + 1, 2)
    found = completed(runs, WRONG, ({"moment": moment, "kinds": [FILE]} for moment in moments))
    for moment, ran in zip(moments, found, strict=True):
        full = ran.outcomes[0]
        told_of = full["stderr"].splitlines()[-1]
        assert full["code"] in (2, 3), (moment, full)
        assert "cannot be written: " in told_of, (moment, full)
        assert "No space left on device" in told_of, (moment, full)


@pytest.mark.slow
def test_results_for_which_there_is_no_room_are_told(runs: Runs) -> None:
    for ran in completed(runs, SOUND, ({"pages": pages} for pages in (9, 13, 17))):
        assert ran.outcomes[0]["code"] == 3
        assert "results.sqlite: cannot be written: database or disk is full" in ran.outcomes[0]["stderr"]


# Sweeps.

RUN = ("run", "corpus.jsonl.zst", "--in-process", "--backend", "wrong.py:Wrong", "--out", "out")
TWO = (*RUN, "--backend", "reference")
CASES = 500


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("corpus") / "corpus.jsonl.zst"
    arguments = ["generate", "--cases", str(CASES), "--operator", "TILE", "--level", "3_0", "-o", str(file)]
    assert invoke(*arguments).exit_code == 0
    return file


@pytest.mark.few(1)
@pytest.mark.parametrize(("arguments", "folders"), [(RUN, ["out"]), (TWO, ["out/wrong.py-Wrong", "out/reference"])])
def test_a_sweep_is_completed(runs: Runs, corpus: Path, arguments: Sequence[str], folders: Sequence[str]) -> None:
    runs.given.append(corpus)
    (whole,) = runs([[attempt(*arguments)]])
    expected = [told(whole.here / folder) for folder in folders]
    assert len(expected[0]["records"]) == CASES
    last, files = whole.outcomes[0]["moments"], moments_of(runs, *arguments, kinds=[FILE])
    chance = random.Random(5)
    scenarios = [
        [
            attempt(*arguments, moment=chance.randrange(last), signal=signal.SIGKILL),
            attempt(*arguments, resumes=True, moment=chance.randrange(last), signal=signal.SIGKILL),
            attempt(*arguments, resumes=True),
        ]
        for _ in range(3)
    ]
    scenarios += [
        [attempt(*arguments, moment=moment, signal=signal.SIGKILL, kinds=[FILE]), attempt(*arguments, resumes=True)]
        for moment in range(files, files // 3, -5)
    ]
    for ran in runs(scenarios):
        assert ran.code == whole.code == 1, ran.outcomes
        assert [told(ran.here / folder) for folder in folders] == expected
        assert left_in(ran.here) == ["out"]


@pytest.mark.slow
def test_a_sweep_by_several_processes_is_completed_by_any_number_of_them(runs: Runs, corpus: Path) -> None:
    runs.given.append(corpus)
    (whole,) = runs([[attempt(*RUN)]])
    workers = [word for word in RUN if word != "--in-process"]
    (ran,) = runs(
        [
            [
                attempt(*workers, "-n", "2", moment=150, signal=signal.SIGKILL, kinds=[RECORD]),
                attempt(*workers, "-n", "3", resumes=True, moment=400, signal=signal.SIGTERM, kinds=[RECORD]),
                attempt(*RUN, resumes=True),
            ]
        ]
    )
    killed, stopped, completed = ran.outcomes
    assert killed["code"] == -signal.SIGKILL
    assert stopped["code"] == 3
    assert "--resume goes on from there" in stopped["stderr"]
    assert "Resuming after" in completed["stderr"]
    assert told(ran.here / "out") == told(whole.here / "out")


def test_another_corpus_is_another_sweep(runs: Runs, corpus: Path, command: Command) -> None:
    runs.given.append(corpus)
    ran = interrupted(runs, *RUN)
    arguments = ["--cases", str(CASES), "--seed", "1", "--operator", "TILE", "--level", "3_0"]
    made = command(ran.here, "generate", *arguments, "-o", corpus.name, "--replace")
    assert made.exit_code == 0, made.output
    assert re.search("CORPUS .*when the run was interrupted, and is", refused(command(ran.here, *RUN, "--resume")))
    part = command(ran.here, *RUN, "--shard", "1/2", "--resume")
    assert "--shard was null when the run was interrupted, and is 1/2" in part.stderr


def test_what_leaves_no_reports_is_not_resumed(corpus: Path) -> None:
    result = invoke("run", str(corpus), "--backend", "reference", "--resume")
    assert result.exit_code == 2
    assert "--resume is about a run with --out" in result.stderr
