"""The operator that the how-to adds: certified, measured and held against the real library with its files in place."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from directml_fakes import library_or_skip
from places import ROOT
from scripts import loaded

from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.cases import any_case
from dml_conformance.strategies.chooser import SeededChooser

NAME = "ACTIVATION_RELU_GRAD"
EXAMPLE = ROOT / "docs" / "examples" / "add_operator"
DECISIONS = """
import json, sys
from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.cases import any_case
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.spec.validator import decide

for level, desc in json.load(open(sys.argv[1])):
    found = decide(desc_from_json(desc), Level.parse(level))
    print(found.outcome.name, *found.rules)
"""
AUDIT = f"""
from dml_conformance.backends.directml import DirectmlBackend
from dml_conformance.conformance.audit import audit

only = ["{NAME}"]
backend = DirectmlBackend("6_2")
level = backend.capabilities().decides_at
found = audit.Audit(backend, backend.capabilities(), level)
for desc in [*audit.boundary_descriptors(level, only), *audit.random_descriptors(level, 3000, 0, only)]:
    found.look_at(desc)
backend.close()
assert found.standings[audit.Standing.AGREES] > 3000, found.standings
assert not found.new, found.new
"""


@pytest.fixture(scope="module")
def try_out() -> ModuleType:
    return loaded(EXAMPLE / "try_out.py")


@pytest.fixture(scope="module")
def tree(try_out: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    try_out.put_in_place(folder)
    return folder


def ran(try_out: ModuleType, tree: Path, *arguments: str) -> str:
    done = subprocess.run(
        try_out.command(*arguments), env=try_out.environment(tree), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_files_stand_in_the_place_of_those_of_the_product(tree: Path) -> None:
    """Each of them; so what is tried out here is what the page adds."""
    files = [path.relative_to(EXAMPLE) for path in EXAMPLE.glob("*/**/*.py") if "__pycache__" not in path.parts]
    assert len(files) == 4
    for path in files:
        added = (tree / "dml_conformance" / path).read_text()
        assert added == (EXAMPLE / path).read_text()
        assert added != (ROOT / path).read_text()
    for name in ("history", "errata"):
        data = tree / "dml_conformance" / "spec" / "data" / f"{name}.json"
        assert len(json.loads(data.read_text())) > 1
        assert f"{NAME}-2" not in data.read_text()
    assert f'"{NAME}": {{"header"' in (ROOT / "spec" / "data" / "history.json").read_text()


def test_it_decides_as_the_product_does(try_out: ModuleType, tree: Path) -> None:
    """On the product's cases, valid and not."""
    cases = [any_case(SeededChooser(f"added/{n}"), NAME, level) for level in list(Level)[4:] for n in range(40)]
    asked = tree / "asked.json"
    asked.write_text(json.dumps([(case.level.label, desc_to_json(case.desc)) for case in cases]))
    script = tree / "decisions.py"
    script.write_text(DECISIONS)
    told = ran(try_out, tree, str(script), str(asked)).splitlines()
    assert told == [" ".join((case.outcome.name, *case.broken)) for case in cases]
    assert len(set(told)) > 8


@pytest.mark.parametrize("backend", ["reference", "torch:cpu"])
def test_it_conforms(try_out: ModuleType, tree: Path, tmp_path: Path, backend: str) -> None:
    if backend.startswith("torch"):
        pytest.importorskip("torch")
    what = ("--operator", NAME, "--level", "6_4", "--budget", "quick")
    told = ran(try_out, tree, "certify", "--backend", backend, *what, "--out", str(tmp_path / "out"))
    assert f"conformant: {backend} agrees with the specification" in told


def test_every_fault_planted_in_it_is_found(try_out: ModuleType, tree: Path) -> None:
    told = ran(try_out, tree, "tests/strength", "--operator", NAME, "--level", "6_4", "--budget", "standard")
    assert "plantings killed (100.0%" in told


@pytest.mark.directml
def test_the_real_library_decides_as_it_does(try_out: ModuleType, tree: Path, tmp_path: Path) -> None:
    library_or_skip(Level.L6_2)
    script = tmp_path / "audit.py"
    script.write_text(AUDIT)
    ran(try_out, tree, str(script))
