"""`dml-conformance merge`: shards of a corpus, run anywhere, give the certificate of an undivided run."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backend_files import write_backend
from commands import certificate, invoke, without_times

from dml_conformance.conformance.exchange.corpus import Header, Shard, corpus_lines
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
    corpus(here / "whole.jsonl")
    judged(here, "whole", "whole.jsonl")
    for number in (1, 2, 3):
        judged(here, f"run-{number}", "whole.jsonl", "--shard", f"{number}/3")
        corpus(here / f"{number}.jsonl", shard=Shard(number, 3))
        judged(here, f"made-{number}", f"{number}.jsonl")
    return here


def corpus(path: Path, cases: int = CASES, seed: int = 0, **more: Any) -> None:
    write_corpus(path, corpus_lines(Header.of(cases, seed, ["TILE"], [Level.L6_4], **more)))


def judged(here: Path, out: str, file: str, *more: str, backend: str = "") -> None:
    name = backend or f"{here / 'wrong.py'}:Mine"
    result = invoke("run", here / file, "--in-process", "--backend", name, "--out", here / out, *more)
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


def test_a_shard_that_is_missing_or_there_twice_is_told(folder: Path) -> None:
    assert told(folder, "run-1", "run-3") == "run-1: expected all 3 shards with it; there is no 2/3"
    assert told(folder, "run-1", "run-2", "made-1").startswith("made-1: expected each shard once; 1/3 is in run-1 too")
    assert told(folder, "run-1", "whole") == "whole: expected a shard of 3, as run-1 is one; found 1/1"


def of_another_seed(here: Path) -> None:
    corpus(here / "seed.jsonl", seed=1, shard=Shard(2, 3))
    judged(here, "other", "seed.jsonl")


def of_another_backend(here: Path) -> None:
    judged(here, "other", "2.jsonl", backend="torch:cpu")


def of_another_repeat(here: Path) -> None:
    judged(here, "other", "2.jsonl", "--repeat", "3")


def of_another_length(here: Path) -> None:
    corpus(here / "short.jsonl", CASES - 3, shard=Shard(2, 3))
    judged(here, "other", "short.jsonl")


def of_a_shard_of_a_shard(here: Path) -> None:
    judged(here, "other", "2.jsonl", "--shard", "1/2")


def of_two_corpora(here: Path) -> None:
    corpus(here / "second.jsonl", 20, seed=3, shard=Shard(2, 3))
    judged(here, "other", "2.jsonl", str(here / "second.jsonl"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (of_another_seed, "other: seed: expected 0, as made-1 has it; found 1"),
        (of_another_backend, "other: backend.name: expected 'reference', as made-1 has it; found 'torch:cpu'"),
        (of_another_repeat, "other: repeat: expected 2, as made-1 has it; found 3"),
        (of_another_length, "made-1: expected 20 of 60 cases, as shard 1/3 has; found 21"),
        (of_a_shard_of_a_shard, "other: expected a shard of 3, as made-1 is one; found 1/2"),
        (of_two_corpora, "made-1: expected 23 of 68 cases, as shard 1/3 has; found 21"),
    ],
)
def test_a_shard_of_something_else_is_told(folder: Path, make: Callable[[Path], None], words: str) -> None:
    shutil.rmtree(folder / "other", ignore_errors=True)
    make(folder)
    assert told(folder, "made-1", "other", "made-3") == words


def test_cases_that_are_not_the_shards_own_are_told(folder: Path) -> None:
    """As many as there should be, and others."""
    shutil.copytree(folder / "made-2", folder / "forged")
    with sqlite3.connect(folder / "forged" / "results.sqlite") as connection:
        connection.execute("UPDATE record SET digest = zeroblob(32) WHERE id = (SELECT min(id) FROM record)")
    connection.close()
    words = told(folder, "made-1", "forged", "made-3")
    assert re.fullmatch(
        r"forged: expected case \w{64} first, as shard 2/3 of one corpus of seed 0 has it; found 0{64}", words
    )


def test_results_of_certify_are_no_shard(folder: Path) -> None:
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--in-process")
    result = invoke("certify", "--backend", "reference", *scope, "--out", folder / "certified")
    assert result.exit_code == 0, result.output
    assert told(folder, "certified") == (
        "certified: expected results of 'dml-conformance run'; found those of a campaign of budget 'quick'"
    )


def test_what_is_no_results_file_is_told(folder: Path) -> None:
    assert told(folder, "wrong.py", "run-1").startswith("wrong.py: ")
