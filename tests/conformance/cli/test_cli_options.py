"""What commands make of their options, what `generate` writes, and that they say how far they are."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest
import report_data
from backend_files import write_backend
from click.testing import CliRunner, Result
from commands import PROGRAM, certificate, invoke
from five_operators import TileDesc

from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.cli import main
from dml_conformance.conformance.cli.errors import CommandState
from dml_conformance.conformance.exchange.corpus import Header, Shard, check_corpus, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import open_corpus
from dml_conformance.reports.store.results import StoreWriter
from dml_conformance.reports.views import console
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.tensor import TensorDesc


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("certify --backend reference --level 3_0 --all-levels --out out", "exclude each other"),
        ("certify --backend refernce --out out", "did you mean reference?"),
        ("certify --backend reference --level 9_9 --out out", "there is no feature level '9_9'"),
        ("certify --backend reference --operator GATHR --out out", "unknown operator"),
        ("certify --backend reference --cases -1 --out out", "--cases"),
        ("certify --backend reference -n 2 --in-process --out out", "--workers and --in-process exclude each other"),
        ("certify --backend reference --out .", "exists and is not empty"),
        ("generate --cases -1 -o a.zst", "--cases"),
        ("generate -o a.zst", "Missing option '--cases'"),
        ("generate --cases 3 --seed -1 -o a.zst", "--seed"),
        ("generate --cases 3 --shard 4/3 -o a.zst", "expected a shard such as 3/16, from 1/16 to 16/16; found '4/3'"),
        ("generate --cases 3 -o mine.txt/a.zst", "cannot be written"),
        ("verify x --rerun 1%", "--rerun and --backend go together"),
        ("verify x --backend reference", "--rerun and --backend go together"),
        ("verify x --rerun 1 --backend reference", "expected a share such as 1%"),
        ("verify x --rerun-seed 1", "--rerun-seed is about --rerun"),
        ("verify x --as-of monday", "expected a day such as 2027-01-31"),
        ("verify x --public-key none", "none: cannot be read"),
        ("verify .", "no package: there is no manifest.json"),
        ("certify --backend reference --out o --package --cases 3", "exclude each other"),
        ("certify --backend reference --out o --package --no-throughput", "exclude each other"),
        ("certify --backend reference --out o --sign-key k", "give --package too"),
        ("certify --backend reference --out o --statement k", "give --package too"),
        ("certify --backend reference --operator TILE --out o --package --statement k", "k: cannot be read"),
        ("certify --backend reference --operator TILE --out o --package --sign-key k", "k: cannot be read"),
        ("certify --backend reference --operator TILE --out o --waivers k", "k: cannot be read"),
        (
            "certify --backend reference --out o --package --in-process",
            "--in-process and --package exclude each other; leave out",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(
    tmp_path: Path, arguments: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("mine")
    result = invoke(*arguments.split())
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# --- `--repeat` -------------------------------------------------------------------------------------------------------


# Does nothing when a case is executed again, unless it is timed.
ONCE = """
    last = None

    def execute(self, desc, level, inputs, outputs):
        bound = [*inputs.values(), *outputs.values()]
        call = desc, [binding.view.tobytes() for binding in inputs.values()], [binding.offset for binding in bound]
        if call != self.last:
            super().execute(desc, level, inputs, outputs)
        self.last = call

    def time_execution(self, *arguments):
        self.last = None
        return super().time_execution(*arguments)
"""
SOURCE, TARGET = (TensorDesc.of(DataType.FLOAT32, (n,)) for n in (2, 4))


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_backend(tmp_path_factory.mktemp("backend"), ONCE)


@pytest.mark.parametrize(("option", "exit_code"), [((), 1), (("--repeat", "1"), 0)])
def test_every_command_that_judges_repeats(once: str, option: tuple[str, ...], exit_code: int, tmp_path: Path) -> None:
    """A campaign says how often it executed each case."""
    data = {"input_tensor": Recipe("ramp", 1)}
    case = Case.of(TileDesc(SOURCE, TARGET, (2,)), Level.L6_4, data, rule="TILE.values", origin="mine")
    result = invoke("replay", "--backend", once, *option, json.dumps(case.to_json()))
    assert result.exit_code == exit_code, result.output
    assert ("in execution 2 on the same inputs; it passed before" in result.output) == bool(exit_code)
    corpus, out, scope = tmp_path / "corpus.jsonl", tmp_path / "out", ("--operator", "TILE", "--level", "6_4")
    # With the last of these more cases have descriptors that came before.
    more = (*scope, "--budget", "quick", "--cases", "4")
    result = invoke("certify", "--backend", once, *option, *more, "--out", out)
    assert result.exit_code == exit_code, result.output
    assert certificate(out)["run"]["repeat"] == int(option[1] if option else 2)
    assert invoke("generate", "--cases", "40", *scope, "-o", corpus).exit_code == 0
    assert invoke("run", corpus, "--backend", once, *option).exit_code == exit_code


@pytest.mark.parametrize(("option", "is_timed"), [((), True), (("--no-throughput",), False)])
def test_throughput_can_be_left_out(option: tuple[str, ...], is_timed: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--in-process", "--backend", "reference", "--operator", "TILE", "--level", "6_4", "--budget", "quick"]
    result = invoke("certify", *arguments, "--cases", "1", *option, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert bool(certificate(out)["throughput"]) is is_timed
    assert ("Nothing was timed" in (out / "report.html").read_text(encoding="utf-8")) is not is_timed


@pytest.mark.parametrize(
    "command",
    [
        ("report", "{results}", "-o", "{folder}/report.html"),
        ("export", "{results}", "--format", "csv", "-o", "{folder}/results.csv"),
        ("export-model", "{folder}/cases.json", "--out", "{folder}/models"),
    ],
    ids=lambda command: command[0],
)
def test_lines_tell_how_far_it_is_where_it_takes_long(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, soon, long = (tmp_path / name for name in ("results.sqlite", "soon", "long"))
    report_data.feed(StoreWriter(results), report_data.some_faulty()[:300])
    cases = [case.to_json() for case in example_cases("GATHER", HIGHEST).values()]
    for folder in (soon, long):
        folder.mkdir()
        (folder / "cases.json").write_text(json.dumps(cases))
        arguments = [argument.format(results=results, folder=folder) for argument in command]
        outcome = CliRunner().invoke(main, arguments, obj=CommandState(debug=True))
        assert outcome.exit_code == 0, outcome.output
        if folder == soon:
            assert outcome.stderr == ""
        else:
            assert ("Exporting: 2 of" if command[0] == "export-model" else "300 of 300 cases") in outcome.stderr
        monkeypatch.setattr(console, "LINE_INTERVAL", 0.0)


def test_operators_that_nobody_asked_for_and_that_are_not_claimed_are_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        dedent("""
            from msgspec.structs import replace
            from dml_conformance.backends.reference import ReferenceBackend

            class Mine(ReferenceBackend):
                def capabilities(self):
                    return replace(super().capabilities(), operators=("TILE", "CAST"))
            """)
    )
    command = ("certify", "--in-process", "--backend", "mine.py:Mine", "--level", "2_1", "--cases", "0")
    result = invoke(*command, "--budget", "quick", "--out", "out")
    assert result.exit_code == 0
    assert {cell["operator"] for cell in certificate(tmp_path / "out")["matrix"]} == {"CAST", "TILE"}
    assert "at every operator and level asked for. Its claims cover 100 % of " in result.output
    assert "rules. It was in the process that judged it" in result.output
    assert "Operators left out: 175, which are not claimed." in result.output
    asked = invoke(*command, "--budget", "quick", "--operator", "TILE", "--operator", "GEMM", "--out", "asked")
    assert "left out" not in asked.output
    assert "at 1 of 2 combinations of operator and level" in asked.output


# --- `generate`: what it writes ---------------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def generate(*arguments: object) -> Result:
    return invoke("generate", *arguments)


def test_a_corpus_is_written(tmp_path: Path) -> None:
    """Or goes to standard output, and nothing else does."""
    path = tmp_path / "a.jsonl.zst"
    result = generate("--cases", "2500", "--seed", "3", "-o", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"Corpus: {path}, 2,500 cases\n"
    with open_corpus(path) as reader:
        assert reader.header == Header.of(2500, 3)
        check_corpus(reader)
    assert names(tmp_path) == ["a.jsonl.zst"]
    result = generate("--cases", "5", "-o", "-")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == b"".join(corpus_lines(Header.of(5, 0)))


def test_options_choose_its_cases(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    chosen = ("--operator", "tile", "--operator", "GATHER", "--level", "3.0", "--level", "6_4")
    result = generate("--cases", "30", *chosen, "--shard", "2/4", "-o", str(path))
    assert result.stdout == f"Corpus: {path}, 8 cases\n"
    header = Header.of(30, 0, ["GATHER", "TILE"], [Level.L3_0, Level.L6_4], Shard(2, 4))
    assert path.read_bytes() == b"".join(corpus_lines(header))


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    assert generate("--cases", "3", "-o", path).exit_code == 0
    before = path.read_bytes()
    result = generate("--cases", "4", "-o", path)
    assert result.exit_code == 2
    assert result.stderr == f"dml-conformance: {path}: exists; name another file, or replace it (--replace)\n"
    assert path.read_bytes() == before
    assert generate("--cases", "4", "-o", path, "--replace").exit_code == 0
    assert path.read_bytes() != before


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
