"""What commands make of their options, and that they say how far they are; docs' tests run them whole."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
import report_data
from backend_files import write_backend
from click.testing import CliRunner
from commands import certificate, invoke
from five_operators import TileDesc

from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.cli import main
from dml_conformance.conformance.cli.errors import CommandState
from dml_conformance.reports.store.results import Store, StoreWriter
from dml_conformance.reports.views import console
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.tensor import TensorDesc


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backend", "reference", "--level", "3_0", "--all-levels"), "exclude each other"),
        (("--backend", "refernce"), "did you mean reference?"),
        (("--backend", "reference", "--level", "9_9"), "there is no feature level '9_9'"),
        (("--backend", "reference", "--operator", "GATHR"), "unknown operator"),
        (("--backend", "reference", "--cases", "-1"), "--cases"),
        (("--backend", "reference", "-n", "2", "--in-process"), "--workers and --in-process exclude each other"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    out = tmp_path / "out"
    result = invoke("certify", *arguments, "--out", str(out))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = invoke("certify", "--backend", "reference", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "exists and is not empty" in result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.txt"]


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
CASE = Case.of(
    TileDesc(SOURCE, TARGET, (2,)), Level.L6_4, {"input_tensor": Recipe("ramp", 1)}, rule="TILE.values", origin="mine"
)
OUTCOMES = [((), 1), (("--repeat", "2"), 1), (("--repeat", "3"), 1), (("--repeat", "1"), 0)]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_backend(tmp_path_factory.mktemp("backend"), ONCE)


@pytest.mark.parametrize(("option", "exit_code"), OUTCOMES)
def test_replay(once: str, option: tuple[str, ...], exit_code: int) -> None:
    arguments = ["replay", "--backend", once, *option, json.dumps(CASE.to_json())]
    result = invoke(*arguments)
    assert result.exit_code == exit_code, result.output
    assert ("in execution 2 on the same inputs; it passed before" in result.output) == bool(exit_code)


@pytest.mark.parametrize(("option", "exit_code"), [OUTCOMES[0], OUTCOMES[3]])
def test_certify(once: str, option: tuple[str, ...], exit_code: int, tmp_path: Path) -> None:
    """A campaign says how often it executed each case."""
    out = tmp_path / "out"
    arguments = ["certify", "--backend", once, "--operator", "TILE", "--level", "6_4", "--budget", "quick"]
    arguments += ["--cases", "4"]  # more of them have descriptors that came before
    result = invoke(*arguments, *option, "--out", str(out))
    assert result.exit_code == exit_code, result.output
    with Store(out / "results.sqlite") as store:
        assert store.campaign.repeat == (1 if option else 2)
    assert certificate(out)["run"]["repeat"] == (1 if option else 2)


@pytest.mark.parametrize(("option", "is_timed"), [((), True), (("--no-throughput",), False)])
def test_throughput_can_be_left_out(option: tuple[str, ...], is_timed: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--in-process", "--backend", "reference", "--operator", "TILE", "--level", "6_4", "--budget", "quick"]
    result = invoke("certify", *arguments, "--cases", "1", *option, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert bool(certificate(out)["throughput"]) is is_timed
    assert ("Nothing was timed" in (out / "report.html").read_text(encoding="utf-8")) is not is_timed


@pytest.mark.parametrize(("option", "exit_code"), [OUTCOMES[0], OUTCOMES[3]])
def test_run(once: str, option: tuple[str, ...], exit_code: int, tmp_path: Path) -> None:
    corpus = str(tmp_path / "corpus.jsonl")
    runner = CliRunner()
    made = runner.invoke(main, ["generate", "--cases", "40", "--operator", "TILE", "-o", corpus])
    assert made.exit_code == 0, made.output
    result = runner.invoke(main, ["run", corpus, "--backend", once, *option])
    assert result.exit_code == exit_code, result.output


# --- commands that take long with many cases say how far they are -----------------------------------------------------


COMMANDS = {
    "report": ["report", "{results}", "-o", "{folder}/report.html"],
    "export": ["export", "{results}", "--format", "csv", "-o", "{folder}/results.csv"],
    "export-model": ["export-model", "{folder}/cases.json", "--out", "{folder}/models"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "results.sqlite"
    report_data.feed(StoreWriter(path), report_data.some_faulty()[:300])
    return path


def arguments_of(command: str, results: Path, folder: Path) -> list[str]:
    cases = [case.to_json() for case in example_cases("GATHER", HIGHEST).values()]
    (folder / "cases.json").write_text(json.dumps(cases))
    return [argument.format(results=results, folder=folder) for argument in COMMANDS[command]]


@pytest.mark.parametrize("command", COMMANDS)
def test_lines_tell_how_far_it_is(command: str, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "LINE_INTERVAL", 0.0)
    outcome = CliRunner().invoke(main, arguments_of(command, results, tmp_path), obj=CommandState(debug=True))
    assert outcome.exit_code == 0, outcome.output
    assert ("Exporting: 2 of" if command == "export-model" else "300 of 300 cases") in outcome.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_said_where_it_is_soon_done(command: str, results: Path, tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, arguments_of(command, results, tmp_path), obj=CommandState(debug=True))
    assert (outcome.exit_code, outcome.stderr) == (0, "")


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
    assert "at every operator and level asked for. Operators left out: 175, which are not claimed." in result.output
    asked = invoke(*command, "--budget", "quick", "--operator", "TILE", "--operator", "GEMM", "--out", "asked")
    assert "left out" not in asked.output
    assert "at 1 of 2 combinations of operator and level" in asked.output
