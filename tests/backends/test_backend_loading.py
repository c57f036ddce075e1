"""Finding and making backends: every way to name one, and the one line that each failure is told in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.loading import BackendError, known_backends, load_backend
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category

# A complete backend in a vendor's file, which imports this project's modules by their names.
VENDOR = """
from dml_conformance.backends.base import Answer, Backend, Capabilities
from dml_conformance.spec.levels import Level
{imports}

class Vendor:
    def __init__(self, device="none given"):
        self.device = device
    def capabilities(self):
        return Capabilities("vendor", self.device, {{}}, (Level.L1_0,), ("TILE",), frozenset())
    def validate(self, desc, level):
        return Answer(True)
    def execute(self, desc, level, inputs, outputs):
        pass

class NotOne:
    pass
"""


def write(path: Path, text: str = "", *, imports: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or VENDOR.format(imports=imports), encoding="utf-8")
    return path


def refusal(name: str) -> str:
    """The message of the error that loading ends in: one line that names the backend asked for."""
    with pytest.raises(BackendError) as caught:
        load_backend(name)
    message = str(caught.value)
    assert "\n" not in message
    assert repr(name) in message
    return message


@pytest.fixture(autouse=True)
def search_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports from its own files, or adds to the search for modules, is gone after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("_dml_conformance_backend_", "acme_", "vendor_")):
            del sys.modules[name]


# --- names ------------------------------------------------------------------------------------------------------------


def test_the_built_in_names_are_known() -> None:
    assert known_backends()[:2] == ("reference", "torch")


@pytest.mark.parametrize("name", ["torch", "torch:cpu", "torch:cuda:0"])
def test_torch_and_its_devices(name: str) -> None:
    torch = pytest.importorskip("torch")
    if "cuda" in name and not torch.cuda.is_available():
        assert "cannot be made: ValueError: there is no device 'cuda:0'" in refusal(name)
        return
    capabilities = load_backend(name).capabilities()
    expected = "torch:cuda:0" if torch.cuda.is_available() and name != "torch:cpu" else "torch:cpu"
    assert capabilities.name == expected


def test_a_missing_torch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dml_conformance.backends.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    message = refusal("torch:cpu")
    assert "ImportError: the torch backend needs PyTorch; run: pip install 'dml-conformance[torch]'" in message


def test_an_unknown_name_lists_the_known_ones_and_a_misspelt_one_is_guessed() -> None:
    message = refusal("vulkan:0")
    assert "known are reference, torch" in message
    assert "path/to/file.py:Class" in message
    assert "did you mean" not in message
    assert "did you mean torch?" in refusal("trch:cpu")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that registers backends, installed in a folder of its own."""
    write(tmp_path / "acme_backend.py")
    write(tmp_path / "acme-1.0.dist-info" / "METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    write(
        tmp_path / "acme-1.0.dist-info" / "entry_points.txt",
        "[dml_conformance.backends]\n"
        "acme = acme_backend:Vendor\nbroken = acme_backend:Gone\ntorch = acme_backend:Vendor\n",
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])  # last: of equal names the last one would win
    return tmp_path


@pytest.mark.usefixtures("installed")
def test_an_installed_package_registers_backends_but_under_no_built_in_name() -> None:
    assert "acme" in known_backends()
    assert load_backend("acme").capabilities().device == "none given"
    assert load_backend("acme:npu:1").capabilities().device == "npu:1"
    assert "did you mean acme?" in refusal("acne")
    assert "loading acme_backend:Gone failed: AttributeError" in refusal("broken")
    pytest.importorskip("torch")
    assert known_backends().count("torch") == 1
    assert load_backend("torch:cpu").capabilities().name == "torch:cpu"


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_class_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a function, which makes it."""
    path = write(tmp_path / "sub" / "vendor.py")
    path.write_text(path.read_text() + "def make(device='by function'): return Vendor(device)\n")
    capabilities = load_backend(f"{path}:Vendor").capabilities()
    assert isinstance(capabilities, Capabilities)
    assert (capabilities.levels, capabilities.device) == ((Level.L1_0,), "none given")
    assert load_backend(f"{path}:Vendor:npu:1").capabilities().device == "npu:1"
    assert load_backend(f"{path}:make").capabilities().device == "by function"
    monkeypatch.chdir(tmp_path)
    assert load_backend("sub/vendor.py:Vendor").capabilities().name == "vendor"


@pytest.mark.parametrize("place", ["backends/mine.py", "backends/base.py", "spec.py", "backends/torch.py", "torch.py"])
def test_a_file_may_be_called_anything_and_lie_anywhere(tmp_path: Path, place: str) -> None:
    path = write(tmp_path / place)
    write(tmp_path / "backends" / "__init__.py", "raise AssertionError('the vendor folder came before this project')\n")
    before = {name: module for name, module in sys.modules.items() if name.startswith(("dml_conformance.", "torch"))}
    backend = load_backend(f"{path}:Vendor")
    assert backend.capabilities().name == "vendor"
    assert type(backend).__module__.startswith("_dml_conformance_backend_")
    assert {name: sys.modules[name] for name in before} == before


def test_two_files_of_one_name_stay_two(tmp_path: Path) -> None:
    first = load_backend(f"{write(tmp_path / 'a' / 'vendor.py')}:Vendor")
    second = load_backend(f"{write(tmp_path / 'b' / 'vendor.py')}:Vendor")
    assert type(first).__module__ != type(second).__module__
    assert type(first) is getattr(sys.modules[type(first).__module__], "Vendor", None)


def test_a_file_is_loaded_as_it_is_now(tmp_path: Path) -> None:
    path = write(tmp_path / "vendor.py")
    load_backend(f"{path}:Vendor")
    path.write_text(path.read_text().replace('"vendor"', '"newer"'))
    assert load_backend(f"{path}:Vendor").capabilities().name == "newer"


def test_a_file_imports_what_lies_beside_it_after_everything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "vendor_helper.py", "VALUE = 7\n")
    for other in ("dml_conformance", "colorsys"):
        write(tmp_path / f"{other}.py", "raise AssertionError('taken from beside the file')\n")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    path = write(tmp_path / "vendor.py", imports="import colorsys, vendor_helper\nassert vendor_helper.VALUE == 7")
    assert load_backend(f"{path}:Vendor").capabilities().name == "vendor"


def test_a_file_or_a_class_that_is_not_there_lists_those_that_could_be_meant(tmp_path: Path) -> None:
    for name in ("gone.py:Vendor", "gone.py"):
        assert "there is no file" in refusal(f"{tmp_path / name}")
    path = write(tmp_path / "vendor.py", imports="class Other:\n    validate = execute = print")
    message = refusal(f"{path}:Vendro")
    assert "has no class 'Vendro'" in message
    assert message.endswith("classes with validate and execute: Other, Vendor")
    assert "needs a class, as in file.py:Class" in refusal(str(path))
    assert refusal(str(path)).endswith("execute: Other, Vendor")
    assert refusal(str(write(tmp_path / "empty.py", "x = 1\n"))).endswith("execute: none")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\ny = {}['a']\n", "at line 2: KeyError: 'a'"),
        ("def broken(:\n", "SyntaxError"),
        ("import no_such_module\n", "at line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys\n\nsys.exit('done')\n", "at line 3: SystemExit: done"),
    ],
)
def test_a_file_that_does_not_run_says_where_and_why(tmp_path: Path, text: str, told: str) -> None:
    path = write(tmp_path / "vendor.py", text)
    before = set(sys.modules)
    assert told in refusal(f"{path}:Vendor")
    assert set(sys.modules) == before


# --- what is no backend -----------------------------------------------------------------------------------------------


METHODS = ("validate", "execute", "capabilities")
RAISES = "def __init__(self): raise OSError('no driver,\\n try again')"


@pytest.mark.parametrize(
    ("body", "methods", "device", "told"),
    [
        (RAISES, METHODS[:1], "", "Mine is no backend, it lacks execute, capabilities"),
        (RAISES, METHODS, "", "cannot be made: OSError: no driver, try again"),
        ("", METHODS, ":npu:1", "Mine takes no device; leave out ':npu:1'"),
        ("def capabilities(self): raise RuntimeError('no answer')", METHODS[:2], "", "failed: RuntimeError: no answer"),
        ("def capabilities(self): raise SystemExit(0)", METHODS[:2], "", "capabilities() failed: SystemExit: 0"),
        (
            "def capabilities(self): return {}",
            METHODS[:2],
            "",
            "capabilities() gave dict, expected dml_conformance.backends.base.Capabilities",
        ),
    ],
)
def test_a_class_that_is_no_backend(
    body: str, methods: tuple[str, ...], device: str, told: str, tmp_path: Path
) -> None:
    lines = ["class Mine:", f"    {body}", *(f"    def {name}(self, *given): pass" for name in methods)]
    path = write(tmp_path / "mine.py", "\n".join(lines))
    assert refusal(f"{path}:Mine{device}").endswith(told)


def test_something_that_is_no_class(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py", "Mine = 7\ndef make(): return 7\n")
    assert "expected a class, found int" in refusal(f"{path}:Mine")
    assert "int is no backend, it lacks validate" in refusal(f"{path}:make")


# --- what a backend claims --------------------------------------------------------------------------------------------

CLAIMS: dict[str, Any] = {
    "name": "vendor",
    "device": "none",
    "versions": {},
    "levels": (Level.L4_1,),
    "operators": ("TILE",),
    "enforces": frozenset({Category.SHAPE}),
}


def test_levels_and_categories_may_be_text() -> None:
    told: dict[str, Any] = {"levels": ["4_1", "5.0"], "enforces": ["shape"], "decides_at": "DML_FEATURE_LEVEL_5_0"}
    claims = Capabilities(**CLAIMS | told)
    assert claims.levels == (Level.L4_1, Level.L5_0)
    assert claims.enforces == {Category.SHAPE, Category.ACCEPTANCE}
    assert claims.decides_at is Level.L5_0
    assert [type(level) for level in claims.levels] == [Level, Level]


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("name", 3, "expected a text; found 3, of type int"),
        ("device", None, "expected a text; found None, of type NoneType"),
        ("versions", [], "expected a dict of texts; found [], of type list"),
        ("versions", {"driver": 12.8}, "expected a dict of texts; found {'driver': 12.8}, of type dict"),
        ("levels", "4_1", "expected a collection of feature levels such as Level.L4_1 or '4_1'; found '4_1', of type"),
        ("levels", ("9_9",), "expected feature levels such as Level.L4_1 or '4_1'; found '9_9', of type str"),
        ("levels", (None,), "expected feature levels such as Level.L4_1 or '4_1'; found None, of type NoneType"),
        ("operators", "TILE", "expected a collection of names such as 'TILE'; found 'TILE', of type str"),
        ("operators", (b"x" * 200,), "..., of type bytes"),
        ("enforces", {"shapes"}, "expected categories: level-support, "),
        ("enforces", None, "expected a collection of categories: level-support, "),
        ("executes", "no", "expected True or False; found 'no', of type str"),
        ("form", "onnx", "expected '' or one of DirectML.h, ONNX; found 'onnx', of type str"),
        ("decides_at", "new", "expected a feature level; found 'new', of type str"),
    ],
)
def test_what_is_no_claim_is_told_with_its_field(field: str, value: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError) as caught:
        Capabilities(**CLAIMS | {field: value})
    assert str(caught.value).startswith(f"Capabilities.{field}: expected ")
    assert told in str(caught.value)
    values = repr({**CLAIMS, "levels": ["4_1"], "enforces": ["shape"], field: value})
    claims = 'Capabilities("vendor", self.device, {}, (Level.L1_0,), ("TILE",), frozenset())'
    file = write(tmp_path / "mine.py", VENDOR.format(imports="").replace(claims, f"Capabilities(**{values})"))
    assert told in refusal(f"{file}:Vendor")


def test_an_isolated_backend_says_the_same_of_its_claims(tmp_path: Path) -> None:
    good = write(tmp_path / "text.py", VENDOR.format(imports="").replace("Level.L1_0", "'4_1'"))
    backend = IsolatedBackend(f"{good}:Vendor")
    assert backend.capabilities().levels == (Level.L4_1,)
    backend.close()
    bad = write(tmp_path / "bad.py", VENDOR.format(imports="").replace("Level.L1_0", "'none'"))
    with pytest.raises(BackendError) as caught:
        IsolatedBackend(f"{bad}:Vendor")
    assert str(caught.value) == refusal(f"{bad}:Vendor")


@pytest.mark.parametrize(
    ("operator", "told"),
    [
        ("TIEL", "unknown operator 'TIEL'; did you mean TILE?"),
        ("DML_OPERATOR_TILE", "unknown operator 'DML_OPERATOR_TILE'; did you mean TILE?"),
        ("CONVOLVE_3D", "unknown operator 'CONVOLVE_3D'; `dml-conformance operators` lists those of DirectML.h"),
    ],
)
def test_an_operator_that_does_not_exist_is_refused(operator: str, told: str, tmp_path: Path) -> None:
    """Or nothing would be judged, without a word why."""
    text = VENDOR.format(imports="").replace('("TILE",)', f'("TILE", "{operator}")')
    file = write(tmp_path / "mine.py", text)
    assert refusal(f"{file}:Vendor").endswith(f"capabilities().operators[1]: {told}")
