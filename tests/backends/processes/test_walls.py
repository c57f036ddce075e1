"""The process of a backend gets neither at the memory of those that judge it nor at their files, and nothing that it
starts outlives them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from backend_files import write_backend

from dml_conformance.backends.processes.child_process import tried
from dml_conformance.backends.processes.walls import FileWall

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such calls")

# Notes which processes above its own it can open the memory of for writing, by the path or by process_vm_writev, and
# whether one of its threads may.
PATCHES = """
def execute(self, *given):
    class Part(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    kernel, own = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(1)
    pid, found = os.getppid(), []
    for thread in Path("/proc/self/task").iterdir():
        (line,) = (line for line in (thread / "status").read_text().splitlines() if line.startswith("CapEff"))
        if int(line.split()[1], 16) & 1 << 19:
            found.append("thread")
    while pid > 1:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        try:
            open(f"/proc/{pid}/mem", "r+b").close()
            found.append("mem")
        except PermissionError:
            found.append("")
        here, there = Part(ctypes.addressof(own), 1), Part(1, 1)
        kernel.process_vm_writev(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if ctypes.get_errno() != 1:  # not refused, though there is nothing at that address
            found.append("vm")
        if b"certify" in line:
            break
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    (HERE / "found").write_text("".join(found) or "nothing")
    super().execute(*given)
"""

# Leaves a process that has neither parent, session, group nor environment in common with it, and writes to the output
# folder once that is there.
LEAVES = """
def __init__(self):
    super().__init__()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(3):
                os.close(number)
            os.execve(sys.executable, [sys.executable, "-c", self.CODE, str(HERE)], {})
        os._exit(0)
    os.wait()
    while not list(HERE.glob("left-*")):
        time.sleep(0.01)
"""
CODE = """
import os, pathlib, sys, time
here = pathlib.Path(sys.argv[1])
(here / f"left-{os.getpid()}").touch()
while not (here / "out").exists():
    time.sleep(0.001)
(here / "out" / "planted").touch()
time.sleep(600)
"""
# Ends the process that judges it as well, the first time.
ENDS_WORKER = """
    if b"workers.process" in Path(f"/proc/{os.getppid()}/cmdline").read_bytes() and not (HERE / "once").exists():
        (HERE / "once").touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
"""
# Notes what of a run's files it can get at, and what else it can do.
TOUCHES = """
def __init__(self):
    super().__init__()
    import json, msgspec, dml_conformance.spec
    found, folder = {}, HERE / ".out.partial"

    def unmount():
        kernel = ctypes.CDLL(None)
        kernel.umount2(os.fsencode(folder), 2)
        kernel.unshare(0x10020000)  # in namespaces of its own, where it may have all capabilities
        return kernel.umount2(os.fsencode(folder), 2)

    for name, does in {
        "write results": (folder / "planted").touch,
        "read conditions": (HERE / ".out.partial.json").read_text,
        "move results": lambda: str(folder.rename(HERE / "elsewhere")),
        "write suite": lambda: open(dml_conformance.spec.__file__, "r+b").close(),
        "write library": lambda: open(msgspec.__file__, "r+b").close(),
        "read key": (HERE / "key").read_text,
        "read state": lambda: [file.name for file in (HERE / "state" / "dml-conformance").iterdir()],
        "user": os.getuid,
        "folder": os.getcwd,
        "unmount": unmount,
    }.items():
        try:
            found[name] = does()
        except OSError as error:
            found[name] = type(error).__name__ + str(error.errno)
    (HERE / "touched").write_text(json.dumps(found))
"""


PROGRAM = "from dml_conformance.conformance.cli import main; main()"
# Whoever runs the command may have no such capability, as any user but root.
WITHOUT = f"from dml_conformance.backends.processes.walls import give_up_tracing; give_up_tracing(); {PROGRAM}"
SCOPE = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput", "--cases", "0")


REFUSED = "user namespaces are refused here"
# Where no process can have mounts of its own.
NO_MOUNTS = f"""\
from dml_conformance.conformance.cli import campaigns, main
campaigns.tried = lambda wall: wall._replace(refused={REFUSED!r})
main()
"""


def certified(out: Path, program: str, *options: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [sys.executable, "-c", program, "certify", *options, "--out", out],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=out.parent,
        env={**os.environ, "XDG_STATE_HOME": str(out.parent / "state")},
    )
    assert found.returncode == code, found.stderr
    return found


def environment_of(out: Path, program: str, *options: str) -> dict[str, str]:
    """What a certificate says of the machine."""
    certified(out, program, *SCOPE, *options)
    found: dict[str, str] = json.loads((out / "certificate.json").read_text())["environment"]
    return found


def can_have_mounts() -> str:
    """Why a process cannot have mounts of its own here; "" where it can."""
    return tried(FileWall()).refused if sys.platform == "linux" else "other systems have no such calls"


with_mounts = pytest.mark.skipif(bool(can_have_mounts()), reason=can_have_mounts())


@pytest.mark.parametrize("program", [PROGRAM, WITHOUT], ids=["as it is", "without the capability"])
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_no_memory_of_a_process_that_judges_can_be_opened(
    workers: tuple[str, ...], program: str, tmp_path: Path
) -> None:
    name = write_backend(tmp_path, PATCHES)
    found = environment_of(tmp_path / "out", program, "--backend", name, *workers)
    assert (tmp_path / "found").read_text() == "nothing"
    assert found["walls"].split(", ")[:2] == ["memory", "descendants"]


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
@pytest.mark.parametrize("ends_worker", [False, True], ids=["", "ends the worker"])
def test_what_a_backend_leaves_is_ended_before_reports_are_written(
    workers: tuple[str, ...], ends_worker: bool, tmp_path: Path
) -> None:
    name = write_backend(tmp_path, f"CODE = {CODE!r}\n{LEAVES}{ENDS_WORKER * ends_worker}")
    found = environment_of(tmp_path / "out", PROGRAM, "--backend", name, *workers)
    left = [int(file.name.removeprefix("left-")) for file in tmp_path.glob("left-*")]
    assert left
    assert not [pid for pid in left if psutil.pid_exists(pid)]
    assert not (tmp_path / "out" / "planted").exists()
    assert (tmp_path / "once").exists() == bool(ends_worker and workers)
    assert "descendants" in found["walls"]


@with_mounts
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_files_of_a_run_are_out_of_reach(workers: tuple[str, ...], tmp_path: Path) -> None:
    """What it signs with, too; and everything else is as it was."""
    (tmp_path / "state" / "dml-conformance").mkdir(parents=True)
    (tmp_path / "state" / "dml-conformance" / "mac").write_text("secret")
    keys = [sys.executable, "-c", PROGRAM, "keys", "new", "-o", tmp_path / "key"]
    subprocess.run(keys, check=True, capture_output=True, timeout=60)
    options = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--package", "--sign-key", tmp_path / "key")
    certified(tmp_path / "out", PROGRAM, "--backend", write_backend(tmp_path, TOUCHES), *workers, *options)
    assert json.loads((tmp_path / "touched").read_text()) == {
        "write results": "OSError30",
        "read conditions": "",
        "move results": "OSError16",
        "write suite": "OSError30",
        "write library": "OSError30",
        "read key": "",
        "read state": [],
        "user": os.getuid(),
        "folder": str(tmp_path),
        "unmount": -1,
    }
    assert not (tmp_path / "out" / "planted").exists()
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["environment"]["walls"] == (
        "memory, descendants, files"
    )


def test_where_mounts_are_refused_all_else_stands(tmp_path: Path) -> None:
    name = write_backend(
        tmp_path, "is_plain = (HERE / '.out.partial').stat().st_dev == HERE.stat().st_dev\nassert is_plain"
    )
    found = environment_of(tmp_path / "out", NO_MOUNTS, "--backend", name)
    assert (found["walls"], found["walls missing"]) == ("memory, descendants", f"files ({REFUSED})")


def test_a_wall_that_is_required_and_missing_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    required = ("--backend", write_backend(tmp_path, TOUCHES), "--require-walls", "memory,files")
    said = certified(tmp_path / "out", NO_MOUNTS, *SCOPE, *required, code=3).stderr
    missing = f"required files, found memory, descendants; missing: 'files ({REFUSED})'"
    assert said == f"dml-conformance: --require-walls: {missing}\n"
    assert not (tmp_path / "touched").exists()
    assert not list(tmp_path.glob("*out*"))


def test_a_process_that_has_other_children_ends_none_of_them(tmp_path: Path) -> None:
    program = f"import subprocess; child = subprocess.Popen(['sleep', '60'])\ntry: {PROGRAM}\nfinally: child.kill()"
    found = environment_of(tmp_path / "out", program, "--backend", write_backend(tmp_path, "pass"))
    assert "descendants (this process may have other children)" in found["walls missing"]


def test_a_run_without_walls_says_so(tmp_path: Path) -> None:
    found = environment_of(tmp_path / "out", PROGRAM, "--backend", "reference", "--in-process")
    assert found["walls"] == "none"
    reason = "the backend is in the process that judges"
    assert found["walls missing"] == f"memory ({reason}), descendants ({reason}), files ({reason})"
