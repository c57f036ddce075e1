"""`dml-conformance merge`: shards of a corpus, run anywhere, give the certificate of an undivided run."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import pytest
import report_data
from backend_files import write_backend
from commands import certificate, invoke, without_times

from dml_conformance.conformance.campaign import driver
from dml_conformance.conformance.exchange.corpus import WHOLE, Header, Shard, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import write_corpus
from dml_conformance.reports.store.results import Store
from dml_conformance.spec.levels import Level

CASES = 61  # no multiple of the number of shards

# Accepts what it should not, so that there are failures to be put in order.
LAX = """
    def validate(self, desc, level):
        answer = super().validate(desc, level)
        return Answer(True) if len(desc.output_tensor.sizes) % 2 else answer
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where results are: `whole`, and of each shard `run-1` or `made-1`, by who divided the corpus."""
    here = tmp_path_factory.mktemp("shards")
    write_backend(here, LAX, file="wrong.py")
    for name, shard in (("whole", WHOLE), *((str(n), Shard(n, 3)) for n in (1, 2, 3))):
        write_corpus(here / f"{name}.jsonl", corpus_lines(Header.of(CASES, 0, ["TILE"], [Level.L6_4], shard)))
    judged(here, "whole", here / "whole.jsonl")
    for number in (1, 2, 3):
        judged(here, f"run-{number}", here / "whole.jsonl", "--shard", f"{number}/3")
        judged(here, f"made-{number}", here / f"{number}.jsonl")
    return here


def judged(here: Path, out: str, *arguments: object) -> None:
    backend = () if "--backend" in arguments else ("--backend", f"{here / 'wrong.py'}:Mine")
    result = invoke("run", "--in-process", *backend, "--out", here / out, *arguments)
    assert result.exit_code in (0, 1), result.output


def told(folder: Path, *results: str) -> str:
    """What is wrong with results, in the one line that the command says."""
    result = invoke("merge", *(folder / name for name in results), "--out", folder / "refused")
    assert result.exit_code == 2, result.output
    assert not (folder / "refused").exists()
    (line,) = result.stderr.splitlines()
    return line.removeprefix("dml-conformance: ").replace(f"{folder}/", "").replace("/results.sqlite", "")


@pytest.mark.parametrize("kind", ["run", "made"])
def test_shards_give_the_certificate_of_an_undivided_run(folder: Path, kind: str, tmp_path: Path) -> None:
    given = [folder / f"{kind}-2" / "results.sqlite", folder / f"{kind}-3", folder / f"{kind}-1"]  # in any order
    result = invoke("merge", *given, "--out", tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert f"Reports: {tmp_path / 'out'}" in result.stdout
    whole, merged = certificate(folder / "whole"), certificate(tmp_path / "out")
    assert merged["digests"]["results"] == whole["digests"]["results"]
    assert whole["counts"]["fail"] > 0
    if kind == "run":
        assert without_times(merged) == without_times(whole)
    assert merged["environment"]["shard"] == "1/1"
    assert len(merged["environment"]["corpus"].split(", ")) == (1 if kind == "run" else 3)
    found = []
    for out in (folder / "whole", tmp_path / "out"):
        with Store(out / "results.sqlite") as store:
            found.append([(record.case, record.verdict, record.reason) for record in store.records()])
            assert store.ending is not None
            assert store.ending.complete
    assert found[0] == found[1]
    assert len(found[0]) == CASES


def test_of_the_walls_of_shards_those_of_all_are_the_walls_of_the_whole(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_files = {"walls": "memory, descendants", "walls missing": "files (not here)"}
    for number, walls in enumerate(({"walls": "memory, descendants, files"}, no_files, no_files), 1):
        monkeypatch.setattr(driver, "environment", lambda limits, walls=walls: walls)
        judged(tmp_path, str(number), folder / f"{number}.jsonl", "--backend", "reference")
    assert invoke("merge", *(tmp_path / str(number) for number in (1, 2, 3)), "--out", tmp_path / "out").exit_code == 0
    assert certificate(tmp_path / "out")["environment"].items() >= no_files.items()


def test_a_shard_that_is_missing_or_there_twice_is_told(folder: Path) -> None:
    assert told(folder, "run-1", "run-3") == "run-1: expected all 3 shards with it; there is no 2/3"
    assert told(folder, "run-1", "run-2", "made-1").startswith("made-1: expected each shard once; 1/3 is in run-1 too")
    assert told(folder, "run-1", "whole") == "whole: expected a shard of 3, as run-1 is one; found 1/1"


@pytest.mark.parametrize(
    ("corpora", "more", "words"),
    [
        ([(CASES, 1)], (), "other: seed: expected 0, as made-1 has it; found 1"),
        (
            [],
            ("--backend", "torch:cpu"),
            "other: backend.name: expected 'reference', as made-1 has it; found 'torch:cpu'",
        ),
        ([], ("--repeat", "3"), "other: repeat: expected 2, as made-1 has it; found 3"),
        ([(CASES - 3, 0)], (), "made-1: expected 20 of 60 cases, as shard 1/3 has; found 21"),
        ([], ("--shard", "1/2"), "other: expected a shard of 3, as made-1 is one; found 1/2"),
        ([(CASES, 0), (20, 3)], (), "made-1: expected 23 of 68 cases, as shard 1/3 has; found 21"),
    ],
)
def test_a_shard_of_something_else_is_told(
    folder: Path, corpora: list[tuple[int, int]], more: tuple[str, ...], words: str
) -> None:
    shutil.rmtree(folder / "other", ignore_errors=True)
    files = []
    for cases, seed in corpora or [(CASES, 0)]:
        files.append(folder / f"other-{cases}-{seed}.jsonl")
        write_corpus(files[-1], corpus_lines(Header.of(cases, seed, ["TILE"], [Level.L6_4], Shard(2, 3))), replace=True)
    judged(folder, "other", *files, *more)
    assert told(folder, "made-1", "other", "made-3") == words


def test_what_is_no_shard_is_told(folder: Path) -> None:
    """Cases that are not the shard's own, though as many as there should be; a campaign; no results at all."""
    shutil.copytree(folder / "made-3", folder / "forged")
    with sqlite3.connect(folder / "forged" / "results.sqlite") as connection:
        connection.execute("""UPDATE stream SET json = replace(json, '"shard":"3/3"', '"shard":"2/3"')""")
        report_data.seal(connection)
    connection.close()
    first = r"forged: expected case \w{64} first, as shard 2/3 of one corpus of seed 0 has it; found \w{64}"
    assert re.fullmatch(first, told(folder, "made-1", "forged", "made-3"))
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--in-process")
    result = invoke("certify", "--backend", "reference", *scope, "--out", folder / "certified")
    assert result.exit_code == 0, result.output
    words = "certified: expected results of 'dml-conformance run'; found those of a campaign of budget 'quick'"
    assert told(folder, "certified") == words
    assert told(folder, "wrong.py", "run-1").startswith("wrong.py: ")
