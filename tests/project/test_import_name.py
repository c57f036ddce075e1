"""One import name: what users call their own folders is theirs, and what they import from here is typed."""

from __future__ import annotations

import ast
import importlib
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from textwrap import dedent

import pytest
from places import ROOT

import dml_conformance

ROOMS = ("spec", "documents", "strategies", "backends", "reports", "conformance")
INSTALLED = (ROOT / "src") not in Path(dml_conformance.__file__).parents  # as wheels are, not as an editable install

GATE = """
    from backends.mine import TileBackend
    from dml_conformance import ConformanceSuite

    class TestMine(ConformanceSuite):
        backend = TileBackend
        operators = ("TILE",)
        levels = ("1_0",)
"""


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's folder, with packages called as our rooms are; all but that of the backend fail when imported."""
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("raise AssertionError('a package of the user')\n")
    (tmp_path / "backends" / "__init__.py").write_text("")
    shutil.copy(ROOT / "docs" / "examples" / "tile_backend.py", tmp_path / "backends" / "mine.py")
    (tmp_path / "test_mine.py").write_text(dedent(GATE))
    return tmp_path


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "command",
    [(sys.executable, "-m", "pytest"), (Path(sysconfig.get_path("scripts"), "pytest"),)],
    ids=["python -m pytest", "pytest"],
)
def test_a_gate_runs_beside_folders_of_the_same_names(theirs: Path, command: tuple[str | Path, ...]) -> None:
    done = run(theirs, *command, "-q", "-p", "no:cacheprovider", "-k", "decision", "test_mine.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_a_backend_is_certified_from_there(theirs: Path) -> None:
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--out", "out")
    backend = ("--backend", "backends/mine.py:TileBackend")
    done = run(theirs, Path(sysconfig.get_path("scripts"), "dml-conformance"), "certify", *backend, *scope)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conformant within narrower claims: numpy-tile agrees" in " ".join(done.stdout.split())


def test_nothing_else_is_put_among_the_packages() -> None:
    """No module of this project is found by another name than below `dml_conformance`."""
    found = distribution("dml-conformance").read_text("top_level.txt")
    assert found.split() == ["dml_conformance"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_of_a_room_is_installed(room: str) -> None:
    """Modules and data; an editable install has them where they are."""
    installed = files(f"dml_conformance.{room}")
    there = [path for path in (ROOT / room).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    missing = [path for path in there if not installed.joinpath(str(path.relative_to(ROOT / room))).is_file()]
    assert there
    assert not missing


def test_the_face_has_what_it_promises() -> None:
    assert len(dml_conformance.__all__) == 17
    for name in dml_conformance.__all__:
        assert getattr(dml_conformance, name).__name__ == name
        assert name in dir(dml_conformance)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = dml_conformance.Nothing


def test_the_face_costs_nothing_until_it_is_used() -> None:
    """pytest imports it, with the plugin, in every run of an environment that has it."""
    code = (
        "import sys, dml_conformance.conformance.gate.plugin; print('numpy' in sys.modules, 'msgspec' in sys.modules)"
    )
    assert run(ROOT, sys.executable, "-c", code).stdout.split() == ["False", "False"]


def test_descriptors_are_checked_without_what_computes_or_draws(tmp_path: Path) -> None:
    """`check` answers in a quarter of a second, of which NumPy and rich would take as much again."""
    code = (
        "import sys; from dml_conformance.conformance.cli import main\n"
        f"try: main(['check', {str(ROOT / 'docs/examples/gather.json')!r}])\n"
        "except SystemExit: print([name for name in ('numpy', 'rich', 'hypothesis') if name in sys.modules])"
    )
    assert run(tmp_path, sys.executable, "-c", code).stdout.splitlines()[-1] == "[]"


def test_the_face_tells_mypy_the_same_names() -> None:
    tree = ast.parse(Path(str(dml_conformance.__file__)).read_text(encoding="utf-8"))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    assert sorted(alias.name for node in imports for alias in node.names) == dml_conformance.__all__
    for node in imports:
        for alias in node.names:
            assert hasattr(importlib.import_module(str(node.module)), alias.name)


TYPED = """
    from dml_conformance import Answer, Backend, Capabilities, Level, TensorDesc, load_backend
    from dml_conformance.spec.structures import DML_GEMM_OPERATOR_DESC, TopK

    def count(tensor: TensorDesc) -> int:
        return len(tensor.sizes)

    def addend(desc: DML_GEMM_OPERATOR_DESC) -> int:
        return count(desc.c_tensor)

    def along(desc: TopK) -> int:
        return desc.axis + desc.axes

    backend: Backend = load_backend("reference")
    answer: Answer = backend.validate(1, Level.L1_0)
    answer.accepted = 5
    reveal_type(backend.capabilities())
"""


@pytest.mark.skipif(not INSTALLED, reason="mypy does not look into editable installs")
def test_a_users_mypy_knows_the_types(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(dedent(TYPED))
    done = run(tmp_path, sys.executable, "-m", "mypy", "--strict", "mine.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'Revealed type is "dml_conformance.backends.base.Capabilities' in done.stdout
    assert 'Argument 1 to "validate" of "Backend" has incompatible type "int"' in done.stdout
    assert 'Argument 1 to "count" has incompatible type "TensorDesc | None"; expected "TensorDesc"' in done.stdout
    assert 'Item "DML_TOP_K1_OPERATOR_DESC" of' in done.stdout
    assert "import-untyped" not in done.stdout
