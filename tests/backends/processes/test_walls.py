"""The process of a backend does not get at the memory of those that judge it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from backend_files import write_backend

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


PROGRAM = "from dml_conformance.conformance.cli import main; main()"
# Whoever runs the command may have no such capability, as any user but root.
WITHOUT = f"from dml_conformance.backends.processes.walls import give_up_tracing; give_up_tracing(); {PROGRAM}"
SCOPE = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput", "--cases", "0")


def environment_of(out: Path, program: str, *options: str) -> dict[str, str]:
    """What a certificate says of the machine."""
    subprocess.run(
        [sys.executable, "-c", program, "certify", *SCOPE, *options, "--out", out],
        check=True,
        capture_output=True,
        timeout=300,
    )
    found: dict[str, str] = json.loads((out / "certificate.json").read_text())["environment"]
    return found


@pytest.mark.parametrize("program", [PROGRAM, WITHOUT], ids=["as it is", "without the capability"])
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_no_memory_of_a_process_that_judges_can_be_opened(
    workers: tuple[str, ...], program: str, tmp_path: Path
) -> None:
    name = write_backend(tmp_path, PATCHES)
    found = environment_of(tmp_path / "out", program, "--backend", name, *workers)
    assert (tmp_path / "found").read_text() == "nothing"
    assert found["walls"] == "memory"


def test_a_run_without_walls_says_so(tmp_path: Path) -> None:
    assert environment_of(tmp_path / "out", PROGRAM, "--backend", "reference", "--in-process")["walls"] == "none"
