"""The suite's own files are what they were when a run began, or it is no evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from backend_files import write_backend
from commands import certificate, invoke

from dml_conformance.conformance.workers.process import JudgeServer
from dml_conformance.conformance.workers.setup import JudgeSetup, WorkerError
from dml_conformance.reports.model import release
from dml_conformance.reports.model.release import PARTS, changed_file, suite_files


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in the place of one of the package's."""
    folder = tmp_path / "spec"
    (folder / "operators").mkdir(parents=True)
    (folder / "validator.py").write_text("strict = True\n")
    (folder / "operators" / "data.json").write_text("{}")
    monkeypatch.setattr(release, "_folders", lambda: {"spec": folder})
    suite_files.cache_clear()
    yield folder
    suite_files.cache_clear()


def test_every_file_of_the_package_is_among_them() -> None:
    known = suite_files()
    assert {name.partition("/")[0] for name in known} == set(PARTS)
    assert {"reports/model/release.py", "spec/validator.py"} <= known.keys()
    assert not any("__pycache__" in name for name in known)
    assert changed_file(known) == ""


def test_what_is_changed_new_or_gone_is_named(suite: Path) -> None:
    known = suite_files()
    assert set(known) == {"spec/validator.py", "spec/operators/data.json"}
    (suite / "__pycache__").mkdir()
    (suite / "__pycache__" / "validator.pyc").write_bytes(b"compiled")
    assert changed_file(known) == ""
    (suite / "validator.py").write_text("strict = False\n")
    assert changed_file(known) == "spec/validator.py"
    (suite / "a.py").touch()
    assert changed_file(known) == "spec/a.py"
    (suite / "a.py").unlink()
    (suite / "operators" / "data.json").unlink()
    assert changed_file(known) == "spec/operators/data.json"


def test_a_backend_that_changes_the_suite_is_not_certified(suite: Path, tmp_path: Path) -> None:
    does = f"Path({str(suite / 'validator.py')!r}).write_text('strict = False'); super().execute(*given)"
    name = write_backend(tmp_path, f"def execute(self, *given):\n    {does}")
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput")
    result = invoke("certify", "--in-process", "--backend", name, *scope, "--out", tmp_path / "out")
    assert result.exit_code == 3, result.output
    told = "spec/validator.py, a file of the suite itself, was changed while it ran"
    assert told in " ".join(result.output.split())
    found = certificate(tmp_path / "out")
    assert found["outcome"] == "incomplete"
    assert told in found["why_incomplete"][0]


def test_a_process_that_would_judge_by_other_files_does_not_judge() -> None:
    setup = JudgeSetup(("reference",))
    other = replace(setup, suite={**setup.suite, "spec/validator.py": "0" * 64})
    with pytest.raises(WorkerError, match=r"spec/validator\.py, a file of the suite itself, was changed"):
        JudgeServer().load(other)
