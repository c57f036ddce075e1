"""A backend that decides or computes with the suite's own code: its certificate, page and terminal say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import certificate, invoke

from dml_conformance.backends.loading import SHARED_CODE
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.reports.output.folder import REPORT

Isolated = Callable[[str], IsolatedBackend]

BACKEND = """\
{imports}
from dml_conformance import Answer, Capabilities, Category, Level

class Mine:
    def capabilities(self):
        {asked}
        return Capabilities("mine", "none", {{}}, ("1_0",), ("TILE",), frozenset(Category))
    def validate(self, desc, level):
        return Answer(decide(desc, level).is_valid) if "decide" in globals() else Answer(True)
    def execute(self, *arguments):
        REFERENCE.execute(*arguments)
"""
VALIDATOR, REFERENCE, CONFORMANCE = (
    f"dml_conformance.{name}" for name in ("spec.validator", "backends.reference", "conformance")
)
DELEGATES = "from dml_conformance.backends.reference import ReferenceBackend\nREFERENCE = ReferenceBackend()"


def write(folder: Path, imports: str = "", asked: str = "") -> str:
    path = folder / "mine.py"
    path.write_text(BACKEND.format(imports=imports, asked=asked))
    return f"{path}:Mine"


@pytest.mark.parametrize(
    ("imports", "asked", "told"),
    [
        ("", "", []),
        ("from dml_conformance.spec.registry import operators", "", []),  # which the suite's own process needs
        ("from dml_conformance.spec.validator import decide", "", [VALIDATOR]),
        ("from dml_conformance import decide", "", [VALIDATOR]),
        (DELEGATES, "", [VALIDATOR, REFERENCE]),
        ("", "import dml_conformance.conformance", [CONFORMANCE]),
    ],
)
def test_what_is_imported_with_a_backend_is_said(
    imports: str, asked: str, told: list[str], tmp_path: Path, isolated: Isolated
) -> None:
    paths = isolated(write(tmp_path, imports, asked)).capabilities().paths
    assert paths == ({SHARED_CODE: ", ".join(told)} if told else {})


@pytest.mark.parametrize("name", ["reference", "torch:cpu"])
def test_backends_of_the_suite_have_nothing_to_add(name: str, isolated: Isolated) -> None:
    if name != "reference":
        pytest.importorskip("torch")
    assert SHARED_CODE not in isolated(name).capabilities().paths


def test_the_certificate_the_page_and_the_terminal_say_so(tmp_path: Path) -> None:
    """With all of its walls; in the process of the judge it is not known, and that is said."""
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput", "--out", tmp_path / "out")
    told = f"It imports code of the suite ({VALIDATOR}, {REFERENCE}): what that decides or computes is no evidence"
    name = write(tmp_path, DELEGATES)
    for more, is_told in (((), True), (("--in-process", "--replace"), False)):
        result = invoke("certify", "--backend", name, *scope, *more)
        found = certificate(tmp_path / "out")
        page = (tmp_path / "out" / REPORT).read_text(encoding="utf-8")
        for text in (" ".join(result.stdout.split()), found["headline"], page):
            assert (told in text) is is_told
            assert ("in the process that judged it" in text) is not is_told
        assert (SHARED_CODE in found["backend"]["paths"]) is is_told
