"""Commands that take long with many cases say how far they are: plain lines where there is no terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import report_data
from click.testing import CliRunner

from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.cli import main
from dml_conformance.conformance.cli.errors import CommandState
from dml_conformance.reports import console
from dml_conformance.reports.store import StoreWriter
from dml_conformance.spec.levels import HIGHEST

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
