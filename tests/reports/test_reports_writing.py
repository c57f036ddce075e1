"""The output folder: complete or not there, never anyone else's files, and refused before a run rather than after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import report_data

from dml_conformance.reports.model.summary import Conformance, Summary
from dml_conformance.reports.output import locking
from dml_conformance.reports.output import reports as writing
from dml_conformance.reports.output.folder import (
    CERTIFICATE,
    CTRF,
    FILES,
    JUNIT,
    MARKDOWN,
    REPORT,
    RESULTS,
    OutputError,
    OutputFolder,
    WriteError,
)
from dml_conformance.reports.output.locking import LockedError, LockedFile
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.results import Store
from dml_conformance.reports.store.resuming import ResumeError, check_same, check_same_campaign
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.reports.views.ctrf import ctrf_json
from dml_conformance.reports.views.failures import FAILURES
from dml_conformance.reports.views.junit import junit_xml
from dml_conformance.reports.views.markdown import markdown

# The records of these tests fail, so there is the folder of failing cases, too.
ALL = (*FILES, FAILURES)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def write_run(path: Path, *, replace: bool = False) -> ReportFolder:
    with OutputFolder(path, replace=replace) as output:
        reports = ReportFolder(output)
        report_data.feed(reports, report_data.some_faulty())
    return reports


def test_a_run_leaves_its_files_and_nothing_else(tmp_path: Path) -> None:
    reports = write_run(tmp_path / "build" / "certification")
    folder = tmp_path / "build" / "certification"
    assert names(folder) == sorted(ALL)
    assert names(tmp_path / "build") == ["certification"]
    assert reports.summary.conformance is Conformance.NOT_CONFORMANT
    with Store(folder / RESULTS) as store:
        stored = store.summary()
    assert (folder / CERTIFICATE).read_bytes() == Certificate.of(stored).to_json()
    assert (folder / JUNIT).read_bytes() == junit_xml(stored)
    assert (folder / REPORT).read_text(encoding="utf-8") == report_html(CampaignReport([stored], [folder / RESULTS]))
    assert (folder / CTRF).read_bytes() == ctrf_json(stored)
    assert (folder / MARKDOWN).read_text(encoding="utf-8") == markdown(stored)


def test_a_run_that_goes_on_or_fails_before_it_begins_has_no_folder(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def fail() -> None:
        with OutputFolder(target) as output:
            ReportFolder(output)
            raise RuntimeError("there is no backend")

    with OutputFolder(target) as output:
        reports = ReportFolder(output)
        reports.start(report_data.campaign())
        assert not target.exists()
        assert output.folder.parent == tmp_path
        reports.close()
    with pytest.raises(RuntimeError, match="there is no backend") as caught:
        fail()
    assert names(tmp_path) == []
    assert not hasattr(caught.value, "__notes__")


def test_what_is_nested_too_deeply_differs_or_is_damaged(tmp_path: Path) -> None:
    deep: list[object] = []
    for _ in range(10**5):
        deep = [deep]
    with pytest.raises(ResumeError, match="seed was more than can be told when the run was interrupted, and is 1;"):
        check_same(tmp_path, {"seed": deep}, {"seed": 1})
    before = msgspec.structs.replace(report_data.campaign(), environment={"python": deep})
    with pytest.raises(ResumeError, match=r"cannot be resumed: .*; --replace discards it"):
        check_same_campaign(tmp_path, before, report_data.campaign())


def test_a_run_that_was_killed_before_it_began_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / ".out.partial").mkdir()
    (tmp_path / ".out.partial" / RESULTS).write_bytes(b"")
    with OutputFolder(tmp_path / "out", resume=True) as output:
        assert not output.is_resumed
        report_data.feed(ReportFolder(output), report_data.some_faulty())
    assert names(tmp_path) == ["out"]


def test_an_earlier_result_is_not_taken_for_that_of_a_run_killed_before_it_began(tmp_path: Path) -> None:
    write_run(tmp_path / "out")
    (tmp_path / ".out.partial.json").write_bytes(b"-")  # what was there is being removed
    with pytest.raises(OutputError, match="is not empty"):
        OutputFolder(tmp_path / "out", resume=True)
    (tmp_path / ".out.partial.json").write_bytes(b"-")
    with OutputFolder(tmp_path / "out", resume=True, replace=True) as output:
        assert (output.is_finished, output.is_resumed) == (False, False)
    # A run that was killed right after its last step did finish.
    (tmp_path / ".out.partial.json").write_bytes(b"{}")
    with OutputFolder(tmp_path / "out", resume=True) as output:
        assert output.is_finished
    assert names(tmp_path) == ["out"]


def test_a_result_that_was_being_replaced_is_put_back_or_removed(tmp_path: Path) -> None:
    """The steps of `commit` at which a process may have been killed."""
    write_run(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / ".out.replaced")
    with pytest.raises(OutputError, match="is not empty"):
        OutputFolder(tmp_path / "out")
    assert names(tmp_path) == ["out"]
    (tmp_path / ".out.replaced").mkdir()
    with pytest.raises(OutputError, match="is not empty"):
        OutputFolder(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    with OutputFolder(tmp_path / "elsewhere", resume=True) as output:
        assert output.is_finished


def test_a_report_that_cannot_be_made_keeps_the_results_and_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "out")
    before = (tmp_path / "out" / CERTIFICATE).read_bytes()

    def broken(summary: Summary) -> bytes:
        raise RuntimeError("no page")

    monkeypatch.setattr(writing, "junit_xml", broken)
    with pytest.raises(RuntimeError, match="no page"):
        write_run(tmp_path / "out", replace=True)
    assert names(tmp_path) == [".out.partial", ".out.partial.json", "out"]
    assert (tmp_path / "out" / CERTIFICATE).read_bytes() == before


def test_an_earlier_result_is_replaced_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()  # an empty one may be there
    write_run(tmp_path / "out")
    assert names(tmp_path / "out") == sorted(ALL)
    (tmp_path / "out" / REPORT).write_text("old", encoding="utf-8")
    with pytest.raises(OutputError, match="is not empty; name another folder, or replace it"):
        OutputFolder(tmp_path / "out")
    assert (tmp_path / "out" / REPORT).read_text(encoding="utf-8") == "old"
    write_run(tmp_path / "out", replace=True)
    assert (tmp_path / "out" / REPORT).read_text(encoding="utf-8") != "old"
    assert names(tmp_path) == ["out"]


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    write_run(tmp_path / "out")
    (tmp_path / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(OutputError, match=r"holds thesis\.tex, which is no report"):
        OutputFolder(tmp_path / "out", replace=True)
    assert names(tmp_path / "out") == sorted([*ALL, "thesis.tex"])


def test_what_comes_there_during_the_run_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with OutputFolder(target) as output:
        target.mkdir()
        (target / "thesis.tex").write_text("years of work", encoding="utf-8")
        with pytest.raises(OutputError, match="is not empty"):
            output.commit()
    assert names(target) == ["thesis.tex"]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("file", r"file: exists and is no folder"),
        ("file/out", r"file.out: cannot be written: "),
        ("/", "mount point"),
        ("x" * 300, "cannot be"),
        ("loop", "loop: cannot be"),
    ],
)
def test_a_place_where_no_folder_can_be_is_refused_before_the_run(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OutputError, match=told):
        OutputFolder(Path(tmp_path.anchor) if name == "/" else tmp_path / name, replace=True)
    assert names(tmp_path) == ["file", "loop"]


@pytest.mark.parametrize("method", ["mkdir", "iterdir"])
def test_a_place_without_permission_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    (tmp_path / "out").mkdir()

    def denied(self: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, method, denied)
    with pytest.raises(OutputError, match=r"out: cannot be (written|read): Permission denied"):
        OutputFolder(tmp_path / "out")


def test_a_link_in_the_place_of_the_hidden_folder_is_refused_and_what_it_leads_to_is_left(tmp_path: Path) -> None:
    write_run(tmp_path / "real")
    (tmp_path / ".out.partial").symlink_to(tmp_path / "real")
    (tmp_path / ".out.partial.json").write_text("{}")
    for how in ({"resume": True}, {"replace": True}):
        with pytest.raises(OutputError, match=r"\.out\.partial: is a link, which no run makes"):
            OutputFolder(tmp_path / "out", **how)
    assert names(tmp_path / "real") == sorted(ALL)


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_run(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == sorted(ALL)


def test_when_the_last_step_fails_the_earlier_result_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "out")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    with OutputFolder(tmp_path / "out", replace=True) as output:
        monkeypatch.setattr(Path, "rename", failing)
        with pytest.raises(OutputError, match="out: cannot be written: Input/output error"):
            output.commit()
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == sorted(ALL)


def test_a_full_disk_is_told_with_the_folder_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with OutputFolder(tmp_path / "out") as output:
        monkeypatch.setattr(os, "fsync", full)
        reports = ReportFolder(output)
        with pytest.raises(WriteError, match="out: cannot be written: No space left on device"):
            reports.start(report_data.campaign())
    assert names(tmp_path) == []  # it was full before there were results


# A file that one process has locked at a time.

HOLDER = """\
import sys
from pathlib import Path
from dml_conformance.reports.output.locking import LockedFile
lock = LockedFile(Path(sys.argv[1]))
lock.write(b"mine")
print("locked", flush=True)
sys.stdin.read()
"""


def test_another_process_does_not_get_it_until_the_first_one_ends_however(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    arguments = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(LockedError):
            LockedFile(path)
        holder.kill()
        holder.wait()
    lock = LockedFile(path)
    assert lock.read() == b"mine"
    lock.release(remove=True)
    assert not path.exists()


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    lock = LockedFile(tmp_path / "lock")
    assert lock.read() == b""
    lock.write(b"a long word")
    lock.write(b"short")
    assert lock.read() == b"short"
    lock.release(remove=False)
    lock.release(remove=True)  # does nothing any more
    assert (tmp_path / "lock").read_bytes() == b"short"
    with pytest.raises(FileNotFoundError):
        LockedFile(tmp_path / "missing" / "lock")


def test_a_file_that_was_removed_meanwhile_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when its holder removes it between another's opening and locking it: that one would be alone with its lock."""
    path, lock_of_system = tmp_path / "lock", locking._lock
    taken: list[int] = []

    def removed_first(descriptor: int) -> None:
        if not taken:
            path.unlink()
        taken.append(descriptor)
        lock_of_system(descriptor)

    monkeypatch.setattr(locking, "_lock", removed_first)
    lock = LockedFile(path)
    assert len(taken) == 2
    lock.write(b"seen")
    assert path.read_bytes() == b"seen"
    lock.release(remove=True)
