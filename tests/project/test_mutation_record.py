"""What is mutated, by what, and why some mutants survive."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from places import ROOT

TOOL = ROOT / "tests" / "mutation"
CONFIG = tomllib.loads((TOOL / "config.toml").read_text("utf-8"))


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports the tool's modules by name; they are no package, and are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(TOOL))
    before = set(sys.modules)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield load
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(TOOL)):
            del sys.modules[name]


def test_a_record_tells_what_no_explanation_fits_and_what_fits_nothing(tool: Any) -> None:
    record = tool("record")
    mutants = [record.Mutant("spec/tensor.py", "f", "NumberReplacer", f"a = {n}", "a = 5", n) for n in range(3)]
    known = [record.Explanation("spec/*", "Why.", was=was) for was in ("= 0", "= 1", "= 7")]
    found = record.Record(30.0, {"spec/tensor.py": 9}, mutants, 1)
    assert found.unexplained(known) == mutants[2:]
    assert found.unused(known) == known[2:]
    assert "| `spec/tensor.py` | 12 | 9 | 2 | 1 |\n| all | 12 | 9 | 2 | 1 |" in found.figures(known)


def test_every_explanation_is_a_sentence_about_modules_that_exist(tool: Any) -> None:
    for entry in tool("record").explanations():
        assert entry.reason[0].isupper()
        assert entry.reason.endswith(".")
        assert entry.modules == "*" or [*ROOT.glob(entry.modules)], entry.modules


def test_every_module_of_the_specification_is_mutated() -> None:
    """In one group, with tests that exist; what reads pages, compares, judges and guards memory is too."""
    groups = CONFIG["groups"].values()
    mutated = [str(path.relative_to(ROOT)) for group in groups for name in group["modules"] for path in ROOT.glob(name)]
    assert len(mutated) == len(set(mutated))
    folders = (ROOT / "spec", ROOT / "documents" / "read")
    expected = {str(path.relative_to(ROOT)) for folder in folders for path in folder.rglob("*.py")}
    expected |= {f"conformance/judge/{name}.py" for name in ("compare", "judge", "memory", "output_digest")}
    assert {name for name in mutated if not name.endswith("__init__.py")} == {
        name for name in expected if not name.endswith("__init__.py")
    }
    for group in groups:
        for name in group["tests"]:
            file, _, test = name.partition("::")
            (path,) = (ROOT / "tests").rglob(f"test_{file}.py")
            assert f"def {test}" in path.read_text("utf-8"), name


@pytest.mark.parametrize(
    ("diff", "was", "becomes"),
    [
        ("--- a\n+++ b\n@@ -1 +1 @@\n x\n-    a = 1\n+    a = 2\n", "a = 1", "a = 2"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-    f(\n-        a,\n+    f(\n", "f( a,", "f("),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-@cache\n+\n", "@cache", ""),
    ],
)
def test_a_mutant_is_told_by_the_lines_that_it_changes(tool: Any, diff: str, was: str, becomes: str) -> None:
    assert tool("record").changed_lines(diff) == (was, becomes)


def test_an_explanation_fits_where_all_of_it_does(tool: Any) -> None:
    record = tool("record")
    mutant = record.Mutant("spec/tensor.py", "product", "NumberReplacer", "a = 1", "a = 2", 5)
    fits: list[dict[str, Any]] = [
        {"modules": "spec/*"},
        {"modules": "*", "was": "= 1", "becomes": ("a = 3", "a = 2")},
        {"modules": "*", "pattern": r"\d => .*2$", "operators": "Number*"},
    ]
    for entry in fits:
        assert record.Explanation(reason="", **entry).fits(mutant)
    other: list[dict[str, Any]] = [
        {"modules": "conformance/*"},
        {"modules": "*", "was": "= 2"},
        {"modules": "*", "becomes": ("a = ",)},
        {"modules": "*", "pattern": "^2"},
        {"modules": "*", "operators": "Drop*"},
    ]
    for entry in other:
        assert not record.Explanation(reason="", **entry).fits(mutant)
