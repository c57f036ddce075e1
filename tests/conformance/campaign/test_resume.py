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
from commands import invoke, records_of, without_times
from msgspec.structs import replace
from places import SUPPORT

from dml_conformance.reports.model.records import Campaign
from dml_conformance.reports.output.folder import CERTIFICATE, RESULTS
from dml_conformance.reports.output.locking import LockedFile
from dml_conformance.reports.store.results import Store
from dml_conformance.reports.store.resuming import ResumeError, check_same_campaign
from dml_conformance.reports.views.certificate import Certificate

SCOPE = ("--in-process", "--operator", "TILE", "--level", "1_0", "--budget", "quick", "--out", "out")
SOUND = ("certify", "--backend", "reference", *SCOPE)
PARALLEL = ("certify", "--backend", "reference", *SCOPE[1:], "-n", "2")
PACKAGED = ("certify", "--backend", "reference", *SCOPE[1:], "--package")
WRONG = ("certify", "--backend", "wrong.py:Wrong", *SCOPE[1:], "--waivers", "waivers.toml", "--package")
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
        labels, judgements, tensors = (
            list(store._connection.execute(f"SELECT * FROM {table} ORDER BY id"))
            for table in ("label", "judgement", "tensors")
        )
        schema = sorted(store._connection.execute("SELECT name FROM sqlite_master"))
    found = {
        "names": sorted(str(path.relative_to(out)) for path in out.rglob("*")),
        "beside": left_in(out.parent),
        "records": [msgspec.structs.replace(record, seconds=0.0) for record in records_of(out)],
        "throughput": rows,
        "labels": labels,
        "judgements": judgements,
        "tensors": tensors,
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
    (SOUND, signal.SIGKILL, (RECORD, SQL, FILE), 10),
    (SOUND, signal.SIGTERM, (RECORD, FILE), 4),
    (SOUND, signal.SIGINT, (RECORD, FILE), 4),
    (PARALLEL, signal.SIGKILL, (RECORD,), 1),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("arguments", "how", "kinds", "times"), WAYS)
def test_killed_at_any_moment_a_run_is_completed(
    runs: Runs, arguments: Sequence[str], how: int, kinds: Sequence[str], times: int
) -> None:
    moments = random.Random(how).sample(range(10, moments_of(runs, *arguments, kinds=kinds)), times)
    found = completed(runs, arguments, ({"moment": moment, "signal": how, "kinds": kinds} for moment in moments))
    for moment, ran in zip(moments, found, strict=True):
        killed = ran.outcomes[0]
        assert killed["moments"] == moment
        assert killed["code"] == (-how if how == signal.SIGKILL else 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "how", "step"), [(WRONG, signal.SIGKILL, 2), (SOUND, signal.SIGINT, 5), (WRONG, 0, 2)]
)
def test_killed_at_any_step_in_its_files_a_run_is_completed(
    runs: Runs, arguments: Sequence[str], how: int, step: int
) -> None:
    """As where from one file on the disk is full, whichever it is."""
    last = moments_of(runs, *arguments, kinds=[FILE])
    assert last >= 10
    moments = range(1, last + 1, step)
    found = completed(runs, arguments, ({"moment": moment, "signal": how, "kinds": [FILE]} for moment in moments))
    for full in (ran.outcomes[0] for ran in found if not how):
        assert full["code"] in (2, 3), full
        assert re.search("cannot be written: .*No space left on device", full["stderr"].splitlines()[-1]), full


# What an interrupted run says, and what may follow it.


Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in a folder, in this process."""

    def run(here: Path, *arguments: object) -> Result:
        monkeypatch.chdir(here)
        return invoke(*arguments)

    return run


def refused(result: Result) -> str:
    """What is told of what is refused."""
    assert result.exit_code == 2, result.output
    return result.stderr


def test_nothing_is_judged_twice(runs: Runs, command: Command) -> None:
    """Whoever goes on with it: this process, or two of its own."""
    whole, expected = undisturbed(runs, *SOUND)
    for how in (SOUND, PARALLEL):
        ran = interrupted(runs)
        assert ran.outcomes[0]["stderr"].splitlines()[-1] == (
            "dml-conformance: interrupted; the run is incomplete; what was judged is kept, and the same command with "
            "--resume goes on from there"
        )
        assert not (ran.here / "out").exists()
        (results,) = ran.here.glob(".*/results.sqlite")
        with Store(results) as store:
            finished = store.marks()[-1].records
        seconds = [record.seconds for record in records_of(results.parent)]
        assert len(seconds) > 200
        again = command(ran.here, *how, "--resume")
        assert f"Resuming after {finished} cases of the run that began at" in again.stderr
        assert [record.seconds for record in records_of(ran.here / "out")][:finished] == seconds[:finished]
        assert_completed(ran._replace(outcomes=[{"code": again.exit_code}]), whole, expected)


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


def test_where_there_is_nothing_to_resume_the_run_starts(tmp_path: Path, corpus: Path, command: Command) -> None:
    """So that the same line can stand in a loop, from the first time on; but for a folder of something else."""
    anew, finished = "this one starts anew", "nothing was left to be resumed"
    result = command(tmp_path, *PACKAGED, "--resume")
    assert result.exit_code == 0
    assert "out: no run has left anything to be resumed; this one starts anew\n" in result.stderr
    assert left_in(tmp_path) == ["out", "out.tar.zst"]
    assert finished in command(tmp_path, *PACKAGED, "--resume").stderr
    # Of two backends one is finished; the other one was stopped before it had anything.
    two = ("run", corpus, "--backend", "reference", "--backend", "reference:", "--out", "two", "--resume")
    for told_of in ([anew] * 2, [anew, finished]):
        result = command(tmp_path, *two)
        assert result.exit_code == 0, result.output
        assert [result.stderr.count(words) for words in (anew, finished)] == [
            told_of.count(w) for w in (anew, finished)
        ]
        shutil.rmtree(tmp_path / "two" / "reference")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.txt").write_text("mine")
    result = command(tmp_path, *SOUND[:-1], "mine", "--resume")
    assert "mine: holds mine.txt, which is no report" in refused(result)


def test_a_finished_run_is_told_of_once_more(runs: Runs, command: Command) -> None:
    """Also where a process that looked was killed: it leaves a lock in which nothing is said."""
    ran, _ = undisturbed(runs, *WRONG)
    before = {path: path.read_bytes() for path in ran.here.rglob("*") if path.is_file()}
    (ran.here / ".out.partial.json").touch()
    result = command(ran.here, *WRONG, "--resume")
    assert result.exit_code == ran.code == 1
    assert "out: is finished; nothing was left to be resumed" in result.stderr
    assert "not conformant" in result.stdout
    assert {path: path.read_bytes() for path in ran.here.rglob("*") if path.is_file()} == before
    other = refused(command(ran.here, *WRONG, "--seed", "1", "--resume"))
    assert "seed was 0 when the run was interrupted, and is 1" in other
    # One that made no package makes none later.
    ran, _ = undisturbed(runs, *SOUND)
    assert "out: is finished, and no package" in refused(command(ran.here, *PACKAGED, "--resume"))


@pytest.mark.parametrize(
    ("more", "name", "was", "now"),
    [
        (("--seed", "5"), "--seed", "0", "5"),
        (("--budget", "standard"), "--budget", "quick", "standard"),
        (("--cases", "7"), "--cases", "null", "7"),
        (("--level", "2_0"), "--level", '["1_0"]', '["1_0","2_0"]'),
        (("--spec", "observed"), "--spec", "documented", "observed"),
        (("--profile", "decisions"), "--profile", "null", "decisions"),
        (("--package",), "--package", "false", "true"),
        (("--waivers", "waivers.toml"), "--waivers", "null", "SHA-256 "),
        (("--backend", "wrong.py:Wrong"), "--backend", "reference", "wrong.py:Wrong"),
    ],
)
def test_only_the_same_run_is_resumed(
    runs: Runs, command: Command, more: tuple[str, ...], name: str, was: str, now: str
) -> None:
    ran = interrupted(runs)
    told_of = refused(command(ran.here, *PACKAGED[:-1], *more, "--resume"))
    assert f"out: {name} was {was} when the run was interrupted, and is {now}" in told_of
    assert told_of.count("\n") == 1
    assert left_in(ran.here) == [".out.partial", ".out.partial.json"]


def test_a_run_is_resumed_behind_no_fewer_walls(runs: Runs) -> None:
    """And has those of its first part."""
    with Store(undisturbed(runs, *SOUND)[0].here / "out" / "results.sqlite") as store:
        campaign = store.campaign

    def walled(walls: str, missing: str) -> Campaign:
        return replace(campaign, environment={**campaign.environment, "walls": walls, "walls missing": missing})

    few, many = walled("memory", "files (not here)"), walled("memory, files", "descendants (not here)")
    check_same_campaign(Path("out"), few, many)
    with pytest.raises(ResumeError, match=r"environment\.walls was memory, files when .* and is memory"):
        check_same_campaign(Path("out"), many, few)


def test_a_backend_that_was_edited_and_another_release_are_another_run(
    runs: Runs, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = interrupted(runs, *WRONG)
    (ran.here / "wrong.py").write_text(BACKEND + "\n# better\n")
    assert "the code of wrong.py was SHA-256 " in refused(command(ran.here, *WRONG, "--resume"))
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


@pytest.mark.parametrize(
    "damage", ["header", "middle", b'{"--seed":', b'{"--seed":' + b"[" * 20_000 + b"]" * 20_000 + b"}"]
)
def test_what_is_damaged_is_told(runs: Runs, command: Command, damage: str | bytes) -> None:
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
    elif isinstance(damage, bytes):
        (ran.here / ".out.partial.json").write_bytes(damage)
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
    """By the sizes of its files, and by the pages of its results."""
    # In this process, as memory that is shared with a backend's own counts as a file of 1 MiB.
    waiving = ("certify", "--backend", "wrong.py:Wrong", *SCOPE, "--waivers", "waivers.toml")
    whole, _ = undisturbed(runs, *waiving)
    sizes = sorted({path.stat().st_size for path in whole.here.rglob("*") if path.is_file()})
    limits = [20_000, *(size - 1 for size in sizes if size > 20_000)]
    assert len(limits) >= 3
    for arguments, full, told_of in (
        (waiving, [{"file_bytes": limit} for limit in limits], "cannot be written: "),
        (SOUND, [{"pages": n} for n in (9, 13, 17)], "results.sqlite: cannot be written: database or disk is full"),
    ):
        for ran in completed(runs, arguments, full):
            assert ran.outcomes[0]["code"] == 3, ran.outcomes
            assert told_of in ran.outcomes[0]["stderr"].splitlines()[-1]


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

    def killed(moment: int, **how: Any) -> dict[str, Any]:
        return attempt(*arguments, moment=moment, signal=signal.SIGKILL, **how)

    to_the_end = attempt(*arguments, resumes=True)
    scenarios = [
        [killed(chance.randrange(last)), killed(chance.randrange(last), resumes=True), to_the_end] for _ in range(3)
    ]
    scenarios += [[killed(moment, kinds=[FILE]), to_the_end] for moment in range(files, files // 3, -5)]
    for ran in runs(scenarios):
        assert ran.code == whole.code == 1, ran.outcomes
        assert [told(ran.here / folder) for folder in folders] == expected
        assert left_in(ran.here) == ["out"]


def test_another_corpus_is_another_sweep(runs: Runs, corpus: Path, command: Command) -> None:
    runs.given.append(corpus)
    ran = interrupted(runs, *RUN)
    arguments = ["--cases", CASES, "--seed", "1", "--operator", "TILE", "--level", "3_0"]
    made = command(ran.here, "generate", *arguments, "-o", corpus.name, "--replace")
    assert made.exit_code == 0, made.output
    assert re.search("CORPUS .*when the run was interrupted, and is", refused(command(ran.here, *RUN, "--resume")))
    part = command(ran.here, *RUN, "--shard", "1/2", "--resume")
    assert "--shard was null when the run was interrupted, and is 1/2" in part.stderr
    no_reports = refused(command(ran.here, "run", corpus, "--backend", "reference", "--resume"))
    assert "--resume is about a run with --out" in no_reports
