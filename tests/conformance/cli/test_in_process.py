"""A backend in the command's own process: reports say so, and no way to end the process makes it a success."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from backend_files import write_backend
from commands import PROGRAM, certificate, invoke

from dml_conformance.reports.output.folder import REPORT
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.boundaries import boundary_cases

SCOPE = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput")
TOLD = "It was in the process that judged it (--in-process), and could have changed what it was judged by."

ENDS = {
    "capabilities": ("def capabilities(self): raise SystemExit(0)", 2),
    "init": ("def __init__(self): raise SystemExit(0)", 2),
    "validate": ("def validate(self, desc, level): raise SystemExit(0)", 1),
    "execute": ("def execute(self, *arguments): raise SystemExit(0)", 1),
    "answer": (
        """\
def validate(self, desc, level):
    class Shown:
        def __repr__(self): raise SystemExit(0)
    return Shown()""",
        3,
    ),
    "Ctrl-C": ("def validate(self, desc, level): raise KeyboardInterrupt", 3),
    "its own": ("def validate(self, desc, level): raise type('Stop', (BaseException,), {})()", 3),
    "generator": ("def execute(self, *arguments): raise GeneratorExit", 3),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As a command of its own."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def a_case() -> str:
    """One that is valid and executed."""
    case = next(case for case in boundary_cases("TILE", Level.L1_0) if case.data)
    Path("case.json").write_text(json.dumps(case.to_json()))
    return "case.json"


def test_the_certificate_the_page_and_the_terminal_say_so() -> None:
    for more in ((), ("--in-process",)):
        result = invoke("certify", "--backend", "reference", *SCOPE, "--out", "out", "--replace", *more)
        assert result.exit_code == 0, result.output
        page = Path("out", REPORT).read_text(encoding="utf-8")
        for text in (" ".join(result.stdout.split()), certificate(Path("out"))["headline"], page):
            assert (TOLD in text) is bool(more)


@pytest.mark.parametrize(("body", "code"), ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("command", ["certify", "replay", "run"])
def test_no_backend_ends_its_run_with_a_code_of_its_choice(command: str, body: str, code: int) -> None:
    name = write_backend(Path(), body)
    if command == "certify":
        result = invoke("certify", "--backend", name, *SCOPE, "--out", "out", "--in-process")
    elif command == "replay":
        result = invoke("replay", a_case(), "--backend", name, "--in-process")
    else:
        invoke("generate", "--operator", "TILE", "--cases", 20, "-o", "c.jsonl")
        result = invoke("run", "c.jsonl", "--backend", name, "--in-process")
    assert result.exit_code == code, result.output
    assert "conformant" not in result.output or code == 1


@pytest.mark.parametrize("how", ["os._exit(0)", "sys.exit(0)"])
@pytest.mark.parametrize("command", ["certify", "replay"])
def test_what_is_done_at_the_end_of_the_process_does_not_change_its_code(command: str, how: str) -> None:
    """Also where it is registered late, and output is whole."""
    body = (
        "def execute(self, *arguments):\n"
        f"    import atexit, os, sys\n    atexit.register(lambda: {how})\n    raise RuntimeError('wrong')"
    )
    name = write_backend(Path(), body)
    what = ("certify", *SCOPE, "--out", "out") if command == "certify" else ("replay", a_case())
    result = run(*what, "--backend", name, "--in-process")
    assert result.returncode == 1, result
    assert "wrong" in result.stdout
