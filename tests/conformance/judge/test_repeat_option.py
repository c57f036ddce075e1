"""`--repeat` of the commands that judge: a backend that does not do the same twice is found out, or not, as asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from backend_files import write_backend
from click.testing import CliRunner

from dml_conformance.conformance.cli import main
from dml_conformance.reports.store import Store
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.tile import TileDesc
from dml_conformance.spec.tensor import TensorDesc

# Does nothing when a case is executed again.
ONCE = """
    last = None

    def execute(self, desc, level, inputs, outputs):
        call = desc, [binding.view.tobytes() for binding in inputs.values()]
        if call != self.last:
            super().execute(desc, level, inputs, outputs)
        self.last = call
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
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == exit_code, result.output
    assert ("in execution 2 on the same inputs; it passed before" in result.output) == bool(exit_code)


@pytest.mark.parametrize(("option", "exit_code"), [OUTCOMES[0], OUTCOMES[3]])
def test_certify(once: str, option: tuple[str, ...], exit_code: int, tmp_path: Path) -> None:
    """A campaign says how often it executed each case."""
    out = tmp_path / "out"
    arguments = ["certify", "--backend", once, "--operator", "TILE", "--level", "6_4", "--budget", "quick"]
    arguments += ["--cases", "4"]  # more of them have descriptors that came before
    result = CliRunner().invoke(main, [*arguments, *option, "--out", str(out)])
    assert result.exit_code == exit_code, result.output
    with Store(out / "results.sqlite") as store:
        assert store.campaign.repeat == (1 if option else 2)
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["run"]["repeat"] == (1 if option else 2)


@pytest.mark.parametrize(("option", "exit_code"), [OUTCOMES[0], OUTCOMES[3]])
def test_run(once: str, option: tuple[str, ...], exit_code: int, tmp_path: Path) -> None:
    corpus = str(tmp_path / "corpus.jsonl")
    runner = CliRunner()
    made = runner.invoke(main, ["generate", "--cases", "40", "--operator", "TILE", "-o", corpus])
    assert made.exit_code == 0, made.output
    result = runner.invoke(main, ["run", corpus, "--backend", once, *option])
    assert result.exit_code == exit_code, result.output
