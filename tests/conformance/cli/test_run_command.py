"""`dml-conformance run`: corpora on backends, as a user runs it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend_files import write_backend
from click.testing import Result
from commands import PROGRAM, certificate, invoke, records_of

from dml_conformance.conformance.exchange.corpus import Header, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import write_corpus
from dml_conformance.reports.output.folder import FILES
from dml_conformance.reports.store.results import Store
from dml_conformance.spec.levels import Level

LEVEL = [Level.L6_4]
CASES = 60
DEVICES = """
    def __init__(self, device=""):
        self.device = device

    def capabilities(self):
        return replace(super().capabilities(), name=f"many:{self.device}", device=f"chip {self.device[-1:]}")

    @staticmethod
    def devices(device):
        return ["npu:0", "npu:1"] if device == "npu" else []
"""


def run(*arguments: str | Path) -> Result:
    return invoke("run", *arguments)


def piped(content: bytes, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A run of its own, with something at its standard input."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run", "--in-process", *map(str, arguments)],
        input=content,
        capture_output=True,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def corpus(path: Path, cases: int = CASES, seed: int = 0, **more: Any) -> Path:
    write_corpus(path, corpus_lines(Header.of(cases, seed, more.pop("operators", ["TILE"]), LEVEL, **more)))
    return path


@pytest.fixture
def tile(tmp_path: Path) -> Path:
    return corpus(tmp_path / "tile.jsonl.zst")


def backend(folder: Path, does: str) -> str:
    return write_backend(folder, f"def execute(self, desc, level, inputs, outputs):\n    {does}")


def results(folder: Path) -> list[tuple[str, str]]:
    return [(record.case, str(record.verdict)) for record in records_of(folder)]


# --- outcomes ---------------------------------------------------------------------------------------------------------


def test_a_conformant_backend(tmp_path: Path, tile: Path) -> None:
    """On several corpora, one after the other."""
    out, gather = tmp_path / "out", corpus(tmp_path / "gather.jsonl", 30, 5, operators=["GATHER"])
    result = run(tile, gather, "--backend", "reference", "--out", out)
    assert result.exit_code == 0
    assert "conformant: reference agrees with the specification" in result.stdout
    assert f"Reports: {out}" in result.stdout
    assert "sweep: 90 of 90 cases" in result.stderr
    assert sorted(entry.name for entry in out.iterdir()) == sorted(FILES)
    with Store(out / "results.sqlite") as store:
        records = list(store.records())
        assert store.campaign.operators == ("GATHER", "TILE")
        assert [len(digest) for digest in store.campaign.environment["corpus"].split(", ")] == [64, 64]
        assert store.ending is not None
        assert store.ending.complete
    headers = Header.of(CASES, 0, ["TILE"], LEVEL), Header.of(30, 5, ["GATHER"], LEVEL)
    assert [record.case for record in records] == [case.digest for h in headers for case in h.numbered_cases()]
    assert {record.phase for record in records} == {"sweep"}
    again = run(tile, "--backend", "reference", "--out", out)
    assert (again.exit_code, "exists and is not empty" in again.stderr) == (2, True)
    nothing = run(corpus(tmp_path / "none.jsonl", 0), "--backend", "reference", "--out", out, "--replace")
    assert nothing.exit_code == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("how", [("-n", "1"), ("-n", "2"), ("--one-by-one",)])
def test_several_backends_in_one_go(tmp_path: Path, tile: Path, how: tuple[str, ...]) -> None:
    """Each is judged on every case and has a folder of its own; the worst outcome is the exit code."""
    wrong, out = backend(tmp_path, "pass"), tmp_path / "out"
    names = ("--backend", "reference", "--backend", wrong, "--backend", "torch:cpu")
    result = run(tile, *names, "--out", out, *how)
    assert result.exit_code == 1
    assert "not conformant" in result.stdout
    assert "dml-conformance replay" in result.stdout
    assert "sweep: 180 of 180 cases" in result.stderr
    (third,) = {entry.name for entry in out.iterdir()} - {"reference", "torch-cpu"}
    assert third.endswith("mine.py-Mine")
    reference, torch, mine = (results(out / name) for name in ("reference", "torch-cpu", third))
    assert reference == torch != mine
    assert [case for case, _ in mine] == [case for case, _ in reference]
    order = [result.stdout.index(f"\n{name}\n") for name in ("reference", wrong, "torch:cpu")]
    assert order == sorted(order)


def test_a_corpus_from_standard_input(tmp_path: Path, tile: Path) -> None:
    lines = [*corpus_lines(Header.of(CASES, 0, ["TILE"], LEVEL))]
    for n, content in enumerate((tile.read_bytes(), b"".join(lines))):
        out = tmp_path / str(n)
        assert piped(content, "-", "--backend", "reference", "--out", out).returncode == 0
        assert len(results(out)) == CASES
    # It cannot be looked through beforehand: what is wrong at its end shows before anything is left.
    done = piped(b"".join(lines[:-1]), "-", "--backend", "reference", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    told = "\ndml-conformance: standard input: line 62: the file ends before its last line, which has the digest; "
    assert told in done.stderr
    assert not (tmp_path / "out").exists()


# --- what is refused --------------------------------------------------------------------------------------------------


def refused(tmp_path: Path, *arguments: str | Path) -> str:
    """The one line that is told; nothing has been written."""
    out = tmp_path / "out"
    result = run(*arguments, "--out", out)
    lines = [line for line in result.stderr.splitlines() if line.startswith("dml-conformance: ")]
    assert result.exit_code == 2, result.output
    assert len(lines) == 1
    assert result.stdout == ""
    assert [entry.name for entry in tmp_path.iterdir() if "out" in entry.name] == []
    return lines[0]


def test_what_is_no_corpus(tmp_path: Path, tile: Path) -> None:
    """As `test_corpus` has it, and before anything is judged."""
    tile.write_bytes(tile.read_bytes()[:-200])
    assert f"{tile}: line " in refused(tmp_path, tile, "--backend", "reference")
    assert "none: cannot be read" in refused(tmp_path, tmp_path / "none", "--backend", "reference")
    # One case is of another operator than the first line has; the last line vouches for it.
    of_tile, of_gather = ([*corpus_lines(Header.of(2, 0, [name], LEVEL))] for name in ("TILE", "GATHER"))
    begun = [of_tile[0], *of_gather[1:-1]]
    end = {"end": {"cases": 2, "sha256": hashlib.sha256(b"".join(begun)).hexdigest()}}
    tile.write_bytes(b"".join(begun) + json.dumps(end, separators=(",", ":")).encode() + b"\n")
    found = run(tile, "--backend", "reference", "--in-process")
    assert (found.exit_code, f"{tile}: a record of GATHER at 6_4" in found.output) == (2, True)


def test_wrong_usage(tmp_path: Path, tile: Path) -> None:
    dead, chips = tmp_path / "dead.py", write_backend(tmp_path, DEVICES)
    dead.write_text("__import__('os')._exit(9)")
    reference = ("--backend", "reference")
    for more, told in (
        ((), "Missing option '--backend'"),
        (("--backend", "refernce"), "did you mean reference?"),
        ((*reference, *reference), "--backend reference is given twice"),
        ((tile, *reference), "is given twice"),
        ((*reference, "--workers", "0"), "--workers"),
        ((*reference, "--shard", "0/2"), "expected a shard"),
        ((*reference, "--in-process", "-n", "2"), "--in-process exclude each other"),
        ((*reference, "--in-process", "--devices", "all"), "--in-process exclude each other"),
        (("--backend", f"{dead}:Dead"), f"backend '{dead}:Dead': the backend's process ended with code 9 in start-up"),
        (("--backend", f"{chips}:npu", "--devices", "0,2"), "there is no device 2; there are 0 = npu:0, 1 = npu:1"),
        (("--backend", f"{chips}:npu", "--devices", "0,x"), "expected all, or numbers of devices"),
        (("--backend", f"{chips}:npu:0", "--devices", "all"), "npu:0 leaves no choice of devices on this machine"),
    ):
        assert told in refused(tmp_path, tile, *more)


def test_in_process(tmp_path: Path, tile: Path) -> None:
    """The backend is where a debugger finds it."""
    name = backend(tmp_path, f"assert __import__('os').getpid() == {os.getpid()}")
    assert "execute raised AssertionError" in run(tile, "--backend", name).stdout
    assert "execute raised AssertionError" not in run(tile, "--backend", name, "--in-process").stdout


@pytest.mark.slow
def test_several_devices(tmp_path: Path, tile: Path) -> None:
    """The campaign is about the backend that was asked for, and about the hardware of all its devices."""
    name = f"{write_backend(tmp_path, DEVICES)}:npu"
    for devices, told in (("all", "chip 0, chip 1"), ("1", "chip 1"), ("0, 1", "chip 0, chip 1")):
        assert run(tile, "--backend", name, "--devices", devices, "--out", tmp_path / devices).exit_code == 0
        certified = certificate(tmp_path / devices)["backend"]
        assert (certified["name"], certified["device"]) == (name, told)


def test_an_interrupt(tmp_path: Path, tile: Path) -> None:
    """It reaches this process alone, which ends the others, whatever they are doing."""
    begun = tmp_path / "begun"
    name = backend(tmp_path, f"__import__('pathlib').Path({str(begun)!r}).touch(); __import__('time').sleep(1000)")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", tile, "--backend", name, "-n", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.01)
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 2
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "dml-conformance: interrupted; the run is incomplete" in told.decode()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]
