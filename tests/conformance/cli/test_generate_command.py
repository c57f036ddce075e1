"""`dml-conformance generate`: what it writes, and what it refuses."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import Result
from commands import PROGRAM, invoke

from dml_conformance.conformance.exchange.corpus import Header, Shard, check_corpus, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import open_corpus
from dml_conformance.spec.levels import Level


def generate(*arguments: str) -> Result:
    return invoke("generate", *arguments)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_corpus_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    result = generate("--cases", "2500", "--seed", "3", "-o", str(path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"Corpus: {path}, 2,500 cases\n"
    with open_corpus(path) as reader:
        assert reader.header == Header.of(2500, 3)
        check_corpus(reader)
    assert names(tmp_path) == ["a.jsonl.zst"]


def test_options_choose_its_cases(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    chosen = ("--operator", "tile", "--operator", "GATHER", "--level", "3.0", "--level", "6_4")
    result = generate("--cases", "30", *chosen, "--shard", "2/4", "-o", str(path))
    assert result.stdout == f"Corpus: {path}, 8 cases\n"
    header = Header.of(30, 0, ["GATHER", "TILE"], [Level.L3_0, Level.L6_4], Shard(2, 4))
    assert path.read_bytes() == b"".join(corpus_lines(header))


def test_standard_output_gets_the_lines_and_nothing_else(tmp_path: Path) -> None:
    result = generate("--cases", "5", "-o", "-")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == b"".join(corpus_lines(Header.of(5, 0)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cases", "-1"), "--cases"),
        ((), "Missing option '--cases'"),
        (("--cases", "3", "--seed", "-1"), "--seed"),
        (("--cases", "3", "--shard", "4/3"), "expected a shard such as 3/16, from 1/16 to 16/16; found '4/3'"),
        (("--cases", "3", "--operator", "TYLE"), "unknown operator"),
        (("--cases", "3", "--level", "9_9"), "there is no feature level '9_9'"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = generate(*arguments, "-o", str(tmp_path / "a.zst"))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert names(tmp_path) == []


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    assert generate("--cases", "3", "-o", str(path)).exit_code == 0
    before = path.read_bytes()
    result = generate("--cases", "4", "-o", str(path))
    assert result.exit_code == 2
    assert result.stderr == f"dml-conformance: {path}: exists; name another file, or replace it (--replace)\n"
    assert path.read_bytes() == before
    assert generate("--cases", "4", "-o", str(path), "--replace").exit_code == 0
    path.write_text("mine")
    result = generate("--cases", "4", "-o", str(path), "--replace")
    assert (result.exit_code, path.read_text()) == (2, "mine")
    assert "is no corpus; it is not replaced" in result.stderr


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    result = generate("--cases", "3", "-o", str(tmp_path / "file" / "a.zst"))
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_being_stopped_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "generate", "--cases", "10000000", "-o", str(tmp_path / "a.zst")],
        stderr=subprocess.PIPE,
    ) as process:
        while not names(tmp_path):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 3
    assert error == b"dml-conformance: interrupted; the run is incomplete\n"
    assert names(tmp_path) == []
