"""A file that one process has locked at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dml_conformance.reports.output.locking import LockedError, LockedFile

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
    assert lock.was_there
    assert lock.read() == b"mine"
    lock.release(remove=True)
    assert not path.exists()


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    lock = LockedFile(tmp_path / "lock")
    assert (lock.was_there, lock.read()) == (False, b"")
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
    from dml_conformance.reports.output import locking

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
