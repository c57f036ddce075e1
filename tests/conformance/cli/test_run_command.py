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
from click.testing import CliRunner, Result
from commands import PROGRAM, certificate, invoke, records_of

from dml_conformance.conformance.cli import main
from dml_conformance.conformance.exchange.corpus import Header, Shard, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import write_corpus
from dml_conformance.reports.model.release import suite_version
from dml_conformance.reports.output.folder import FILES
from dml_conformance.reports.store.results import Store
from dml_conformance.spec.levels import Level

LEVEL = [Level.L6_4]
CASES = 60


def run(*arguments: str | Path) -> Result:
    return invoke("run", *arguments)


def piped(content: bytes, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A run of its own, with something at its standard input."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run", *map(str, arguments)],
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
    out = tmp_path / "out"
    result = run(tile, "--backend", "reference", "--out", out)
    assert result.exit_code == 0
    assert "conformant: reference agrees with the specification" in result.stdout
    assert f"Reports: {out}" in result.stdout
    assert "sweep: 60 of 60 cases" in result.stderr
    assert sorted(entry.name for entry in out.iterdir()) == sorted(FILES)
    with Store(out / "results.sqlite") as store:
        records = list(store.records())
        assert store.campaign.operators == ("TILE",)
        assert store.ending is not None
        assert store.ending.complete
    header = Header.of(CASES, 0, ["TILE"], LEVEL)
    assert [record.case for record in records] == [case.digest for case in header.numbered_cases()]
    assert {record.phase for record in records} == {"sweep"}


def test_other_outcomes(tmp_path: Path, tile: Path) -> None:
    result = run(tile, "--backend", backend(tmp_path, "pass"))
    assert result.exit_code == 1
    assert "not conformant" in result.stdout
    assert "dml-conformance replay" in result.stdout
    assert run(corpus(tmp_path / "none.jsonl", 0), "--backend", "reference").exit_code == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_several_backends_in_one_go(tmp_path: Path, tile: Path, workers: str) -> None:
    """Each is judged on every case and has a folder of its own; the worst outcome is the exit code."""
    wrong, out = backend(tmp_path, "pass"), tmp_path / "out"
    names = ("--backend", "reference", "--backend", wrong, "--backend", "torch:cpu")
    result = run(tile, *names, "--out", out, "--workers", workers)
    assert result.exit_code == 1
    assert "sweep: 180 of 180 cases" in result.stderr
    folders = sorted(entry.name for entry in out.iterdir())
    assert len(folders) == 3
    assert {"reference", "torch-cpu"} < set(folders)
    (third,) = set(folders) - {"reference", "torch-cpu"}
    assert third.endswith("mine.py-Mine")
    reference, torch, mine = (results(out / name) for name in ("reference", "torch-cpu", third))
    assert reference == torch != mine
    assert [case for case, _ in mine] == [case for case, _ in reference]
    order = [result.stdout.index(f"\n{name}\n") for name in ("reference", wrong, "torch:cpu")]
    assert order == sorted(order)


def test_several_corpora_in_one_go(tmp_path: Path, tile: Path) -> None:
    gather = corpus(tmp_path / "gather.jsonl", 30, 5, operators=["GATHER"])
    out = tmp_path / "out"
    assert run(tile, gather, "--backend", "reference", "--out", out).exit_code == 0
    with Store(out / "results.sqlite") as store:
        assert [record.operator for record in store.records()] == ["TILE"] * 60 + ["GATHER"] * 30
        assert store.campaign.operators == ("GATHER", "TILE")
        digests = store.campaign.environment["corpus"].split(", ")
    assert [len(digest) for digest in digests] == [64, 64]


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers(tmp_path: Path, tile: Path) -> None:
    found = []
    for n, more in enumerate(([], ["--workers", "2"], ["--one-by-one"])):
        out = tmp_path / f"out{n}"
        assert run(tile, "--backend", "torch:cpu", "--out", out, *more).exit_code == 0
        found.append((certificate(out)["digests"]["results"], results(out)))
    assert found[0] == found[1] == found[2]


def test_shards_are_parts_of_the_run(tmp_path: Path, tile: Path) -> None:
    everything = tmp_path / "all"
    run(tile, "--backend", "reference", "--out", everything)
    for n in (1, 2, 3):
        out = tmp_path / str(n)
        result = run(tile, "--backend", "reference", "--shard", f"{n}/3", "--out", out)
        assert result.exit_code == 0
        assert results(out) == results(everything)[n - 1 :: 3]
    shard = corpus(tmp_path / "shard.zst", shard=Shard(2, 3))
    assert run(shard, "--backend", "reference", "--out", tmp_path / "4").exit_code == 0
    assert results(tmp_path / "4") == results(everything)[1::3]


def test_a_corpus_from_standard_input(tmp_path: Path, tile: Path) -> None:
    for n, content in enumerate((tile.read_bytes(), b"".join(corpus_lines(Header.of(CASES, 0, ["TILE"], LEVEL))))):
        out = tmp_path / str(n)
        assert piped(content, "-", "--backend", "reference", "--out", out).returncode == 0
        assert len(results(out)) == CASES


def test_an_observed_reading(tmp_path: Path) -> None:
    path = corpus(tmp_path / "all.zst", 300, operators=["GATHER_ND1"])
    told = [run(path, "--backend", "reference", "--spec", spec).stdout for spec in ("documented", "observed")]
    assert "observed" in told[0].rpartition("pass")[2]
    assert told[0] != told[1]


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
    path = corpus(tmp_path / "a.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:9], lines[9].replace(b"TILE", b"TYLE", 1), *lines[10:]]))
    line = refused(tmp_path, path, "--backend", "reference")
    assert line.startswith(f"dml-conformance: {path}: line 10: the case is not the one that was written: expected")
    path.write_bytes(b"".join(lines).replace(suite_version().encode(), b"99.0", 1))
    assert "found one made by 99.0" in refused(tmp_path, path, "--backend", "reference")
    assert "none: cannot be read" in refused(tmp_path, tmp_path / "none", "--backend", "reference")


def test_standard_input_is_read_to_its_end_before_anything_is_left(tmp_path: Path) -> None:
    """It cannot be looked through beforehand: what is wrong at its end shows when it has been judged."""
    content = b"".join([*corpus_lines(Header.of(CASES, 0, ["TILE"], LEVEL))][:-1])
    done = piped(content, "-", "--backend", "reference", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    told = "\ndml-conformance: standard input: line 62: the file ends before its last line, which has the digest; "
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage(tmp_path: Path, tile: Path) -> None:
    assert "Missing option '--backend'" in refused(tmp_path, tile)
    assert "did you mean reference?" in refused(tmp_path, tile, "--backend", "refernce")
    assert "--backend reference is given twice" in refused(
        tmp_path, tile, "--backend", "reference", "--backend", "reference"
    )
    assert "is given twice" in refused(tmp_path, tile, tile, "--backend", "reference")
    assert "--workers" in refused(tmp_path, tile, "--backend", "reference", "--workers", "0")
    assert "expected a shard" in refused(tmp_path, tile, "--backend", "reference", "--shard", "0/2")


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path, tile: Path) -> None:
    out = tmp_path / "out"
    assert run(tile, "--backend", "reference", "--out", out).exit_code == 0
    before = results(out)
    result = run(tile, "--backend", "reference", "--out", out)
    assert result.exit_code == 2
    assert "exists and is not empty" in result.stderr
    assert run(tile, "--backend", "reference", "--out", out, "--replace", "--shard", "1/2").exit_code == 0
    assert results(out) == before[::2]


def test_a_backend_that_ends_its_process(tmp_path: Path, tile: Path) -> None:
    """It is the case that crashes, and not the run, nor a worker."""
    does = "desc.output_tensor.element_count % 720 or __import__('os')._exit(3); "
    name = backend(tmp_path, does + "super().execute(desc, level, inputs, outputs)")
    found = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        result = run(tile, "--backend", name, "-n", workers, "--out", out)
        assert result.exit_code == 1
        assert "ended with code 3" in result.stdout
        assert "worker process" not in result.stderr, "what was lost is the backend's own"
        found.append((certificate(out)["digests"]["results"], results(out)))
    assert found[0] == found[1]
    verdicts = [verdict for _, verdict in found[0][1]]
    assert len(verdicts) == CASES
    assert set(verdicts) == {"pass", "crash"}
    assert verdicts.count("crash") < 5


def test_a_backend_that_dies_while_it_is_loaded(tmp_path: Path, tile: Path) -> None:
    path = tmp_path / "dead.py"
    path.write_text("__import__('os')._exit(9)")
    assert f"backend '{path}:Dead': the backend's process ended with code 9 in start-up" in refused(
        tmp_path, tile, "--backend", f"{path}:Dead"
    )


def test_in_process(tmp_path: Path, tile: Path) -> None:
    """The backend is where a debugger finds it."""
    name = backend(tmp_path, f"assert __import__('os').getpid() == {os.getpid()}")
    assert "execute raised AssertionError" in run(tile, "--backend", name).stdout
    assert "execute raised AssertionError" not in run(tile, "--backend", name, "--in-process").stdout
    for more in (["-n", "2"], ["--devices", "all"]):
        assert "--in-process exclude each other" in refused(
            tmp_path, tile, "--backend", "reference", "--in-process", *more
        )


@pytest.mark.slow
def test_several_devices(tmp_path: Path, tile: Path) -> None:
    """The campaign is about the backend that was asked for, and about the hardware of all its devices."""
    methods = """
        def __init__(self, device=""):
            self.device = device

        def capabilities(self):
            return replace(super().capabilities(), name=f"many:{self.device}", device=f"chip {self.device[-1]}")

        @staticmethod
        def devices(device):
            return ["npu:0", "npu:1"] if device == "npu" else []
    """
    name = f"{write_backend(tmp_path, methods)}:npu"
    digests = []
    for n, devices in enumerate(("all", "1", "0, 1")):
        out = tmp_path / f"on{n}"
        assert run(tile, "--backend", name, "--devices", devices, "--out", out).exit_code == 0
        certified = certificate(out)
        digests.append(certified["digests"]["results"])
        assert certified["backend"]["name"] == name
        assert certified["backend"]["device"] == ("chip 1" if devices == "1" else "chip 0, chip 1")
    assert digests[0] == digests[1] == digests[2]
    told = refused(tmp_path, tile, "--backend", name, "--devices", "0,2")
    assert "--devices: there is no device 2; there are 0 = npu:0, 1 = npu:1" in told
    assert "expected all, or numbers of devices" in refused(tmp_path, tile, "--backend", name, "--devices", "0,x")
    told = refused(tmp_path, tile, "--backend", f"{name}:0", "--devices", "all")
    assert f"--devices: {name}:0 leaves no choice of devices on this machine" in told


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


def test_a_case_that_the_first_line_leaves_out_is_bad_input(tmp_path: Path) -> None:
    """The last line vouches for all of them, so only the case itself is wrong."""
    lines = []
    for operator in ("TILE", "GATHER"):
        path = tmp_path / operator
        generate = ["generate", "--operator", operator, "--level", "3_0", "--cases", "2", "--output", str(path)]
        assert CliRunner().invoke(main, generate).exit_code == 0
        lines.append(path.read_bytes().splitlines(keepends=True))
    begun = [lines[0][0], *lines[1][1:-1]]
    end = {"end": {"cases": 2, "sha256": hashlib.sha256(b"".join(begun)).hexdigest()}}
    corpus = tmp_path / "corpus"
    corpus.write_bytes(b"".join(begun) + json.dumps(end, separators=(",", ":")).encode() + b"\n")
    found = CliRunner().invoke(main, ["run", str(corpus), "--backend", "reference", "--in-process"])
    assert found.exit_code == 2, found.output
    assert f"{corpus}: a record of GATHER at 3_0" in found.output
