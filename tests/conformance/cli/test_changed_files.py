"""Backends that are after the files of their own run: what they change is found, and no report is left that it is in.

They run in the command's own process, where nothing keeps them from these files.
"""

from __future__ import annotations

import hashlib
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from backend_files import write_backend
from click.testing import Result
from commands import PROGRAM, invoke

from dml_conformance.reports.output.folder import CERTIFICATE, JUNIT, REPORT, RESULTS, OutputFolder
from dml_conformance.reports.package import SUFFIX

QUICK = ("--operator", "TILE", "--budget", "quick", "--in-process")
CHEAT = """\
done = False

def execute(self, *arguments):
    import shutil, sqlite3
    if not Mine.done:
        Mine.done = True
        OUT, PARTIAL, LOCK, MINE = (HERE / name for name in ("out", ".out.partial", ".out.partial.json", "mine.json"))
        {does}
    super().execute(*arguments)

def execute_batch(self, executions):
    for execution in executions:
        self.execute(*execution)
"""
EDITS = "UPDATE stream SET json = replace(json, 'quick', 'full') WHERE part = 'campaign'"
EDIT = f"db = sqlite3.connect(PARTIAL / 'results.sqlite'); db.execute({EDITS!r}); db.commit(); db.close()"
# What each does when it is to execute its first case, and what is told of it.
CHEATS = {
    "LinksCertificate": ("(PARTIAL / 'certificate.json').symlink_to(MINE)", "certificate.json: is there, and this run"),
    "LinksReport": ("(PARTIAL / 'report.html').symlink_to(MINE)", "report.html: is there, and this run"),
    "LeavesJunit": ("(PARTIAL / 'junit.xml').write_text('<testsuites/>')", "junit.xml: is there, and this run"),
    "MakesAFolder": ("(PARTIAL / 'ctrf.json').mkdir()", "ctrf.json: is there, and this run"),
    "TakesTheOut": ("OUT.mkdir(); (OUT / 'certificate.json').write_text('{}')", "out: exists and is not empty"),
    "LinksTheOut": ("OUT.symlink_to(HERE / 'mine.py')", "out: exists and is no folder"),
    "TakesThePartial": (
        "PARTIAL.rename(HERE / 'x'); shutil.copytree(HERE / 'x', PARTIAL)",
        ".out.partial",
    ),
    "LinksThePartial": ("PARTIAL.rename(HERE / 'x'); PARTIAL.symlink_to(HERE / 'x')", "is not the folder any more"),
    "TakesTheLock": ("LOCK.unlink(); LOCK.write_text('{}')", ".out.partial.json: is not this run's any more"),
    "LinksTheLock": ("LOCK.unlink(); LOCK.symlink_to(MINE)", ".out.partial.json: is not this run's any more"),
    "TampersStore": (EDIT, "results.sqlite: it is not what a command of this user wrote"),
    "LinksStore": (
        "(PARTIAL / 'results.sqlite').rename(HERE / 'x'); (PARTIAL / 'results.sqlite').symlink_to(HERE / 'x')",
        "results.sqlite: is no file any more",
    ),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def cheating(does: str) -> str:
    return write_backend(Path.cwd(), CHEAT.format(does=does))


def certify(backend: str = "reference", *more: str) -> Result:
    options = QUICK[:-1] if "--package" in more else QUICK
    return invoke("certify", "--backend", backend, *options, "--out", "out", *more)


@pytest.mark.parametrize("name", CHEATS)
def test_what_a_backend_does_to_the_files_of_its_run_is_found(name: str) -> None:
    does, told = CHEATS[name]
    result = certify(cheating(does))
    assert result.exit_code == 3, result.output
    assert told in result.stderr
    assert result.stderr.count("\n") == result.stderr[: result.stderr.rindex("dml-conformance:")].count("\n") + 1
    assert "conformant" not in result.stdout
    assert not Path("out", REPORT).exists()
    assert not Path("mine.json").exists()  # nothing was written through a link
    assert not Path("out", CERTIFICATE).exists() or Path("out", CERTIFICATE).read_text() == "{}"


@pytest.mark.parametrize("name", [CERTIFICATE, REPORT, JUNIT, RESULTS])
@pytest.mark.parametrize("how", ["rewritten", "linked", "removed"])
def test_what_is_changed_once_the_folder_has_its_name_is_found_and_taken_away(
    name: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process does that the backend left behind; what is kept is resumed unless it is the results."""
    commit = OutputFolder._check_written

    def late(output: OutputFolder) -> None:
        path = Path("out", name)
        kept = path.read_bytes()
        path.unlink()
        if how == "rewritten":
            path.write_bytes(kept + b" ")
        elif how == "linked":
            Path("copy").write_bytes(kept)
            path.symlink_to(Path("copy").absolute())
        commit(output)

    with monkeypatch.context() as patch:
        patch.setattr(OutputFolder, "_check_written", late)
        result = certify()
    assert result.exit_code == 3, result.output
    assert f"out/{name}: is not what this run wrote" in result.stderr.replace("\\", "/")
    assert "conformant" not in result.stdout
    assert not Path("out").exists()
    if name != RESULTS:
        assert certify("reference", "--resume").exit_code == 0
        assert_last_line(certify("reference", "--resume"))
    elif how == "linked":
        assert certify("reference", "--resume").exit_code != 0


def assert_last_line(result: Result, folder: str = "out") -> None:
    digest = hashlib.sha256(Path(folder, CERTIFICATE).read_bytes()).hexdigest()
    assert result.stdout.splitlines()[-1] == f"SHA-256 of {Path(folder, CERTIFICATE)}: {digest}"


def test_the_last_line_names_the_certificate_that_was_written() -> None:
    result = certify()
    assert_last_line(result)
    Path("out", CERTIFICATE).write_text("{}")  # as a process that was left behind may do at any time
    assert hashlib.sha256(b"{}").hexdigest() not in result.stdout
    again = certify("reference", "--resume")
    assert again.exit_code == 3
    assert "certificate.json: is not what the results beside it make" in again.stderr
    assert_last_line(certify("reference", "--replace", "--package"))


def test_of_several_backends_each_has_a_line() -> None:
    invoke("generate", "--operator", "TILE", "--cases", 20, "-o", "c.jsonl")
    arguments = ("run", "c.jsonl", "--backend", "reference", "--backend", "reference:", "--in-process", "--out", "out")
    *_, one, other = invoke(*arguments).stdout.splitlines()
    for line, folder in ((one, "reference"), (other, "reference-2")):
        digest = hashlib.sha256(Path("out", folder, CERTIFICATE).read_bytes()).hexdigest()
        assert line == f"SHA-256 of {Path('out', folder, CERTIFICATE)}: {digest}"


def test_an_archive_that_is_changed_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Path.replace

    def late(path: Path, target: Path) -> Path:
        if path.name.endswith(f"{SUFFIX}.partial"):
            path.write_bytes(path.read_bytes() + b" ")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", late)
    result = certify("reference", "--package")
    assert result.exit_code == 3
    assert f"out{SUFFIX}: is not what this run wrote" in result.stderr
    assert not Path(f"out{SUFFIX}").exists()


def test_results_that_a_backend_changed_before_it_ended_the_run_are_not_resumed() -> None:
    backend = cheating(EDIT + "\n        os.kill(os.getpid(), signal.SIGKILL)")
    arguments = ["certify", "--backend", backend, *QUICK, "--out", "out"]
    killed = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    result = certify(backend, "--resume")
    assert result.exit_code == 2, result.output
    assert "out: results.sqlite: it is not what a command of this user wrote" in result.stderr
    assert not Path("out").exists()


def test_finished_results_that_were_changed_are_not_told_again() -> None:
    certify()
    with closing(sqlite3.connect(Path("out", RESULTS))) as connection:
        connection.execute("UPDATE record SET seconds = seconds + 1")
        connection.commit()
    result = certify("reference", "--resume")
    assert result.exit_code == 2, result.output
    assert "out: results.sqlite: it is not what a command of this user wrote" in result.stderr
