"""Finding, fetching and checking the library, and the commands that do, with wheels and compilers made up here."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from directml_fakes import fake_worker

from dml_conformance.backends.directml import library as library_module
from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.feature_sets import FEATURE_SETS, FeatureSet
from dml_conformance.backends.directml.install import download_command, install
from dml_conformance.backends.directml.library import (
    OVERRIDE,
    RELEASES,
    LibraryFile,
    Release,
    find_library,
    installed,
    installed_path,
)
from dml_conformance.backends.directml.process import DecisionProcess
from dml_conformance.conformance.cli.directml import directml
from dml_conformance.spec.levels import Level

CONTENT = b"not a library at all"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a platform that has the library."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(OVERRIDE, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("dml_conformance.backends.directml.library.platform.machine", lambda: "x86_64")
    return tmp_path / "cache"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "torch_directml-1.0-cp310-cp310-manylinux2010_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch_directml/libdirectml.so", CONTENT)
        archive.writestr("torch_directml-1.0.dist-info/LICENSE", "MIT License")
        archive.writestr("torch_directml-1.0.dist-info/NOTICE", "notice")
        archive.writestr("torch_directml/device.py", "raise SystemExit")
    return path


@pytest.fixture
def release(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    made = Release(Level.L4_1, "1.0", "310", ("manylinux2010_x86_64",), digest(wheel.read_bytes()), digest(CONTENT))
    monkeypatch.setitem(RELEASES, Level.L4_1, made)
    return made


class FakePip:
    """Stands in for the process that runs pip; leaves `wheel` where it was told to."""

    def __init__(self, wheel: Path | None, stderr: str = "", code: int = 0) -> None:
        self.wheel = wheel
        self.code = code
        self.stderr = stderr
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if self.wheel is not None:
            Path(command[command.index("--dest") + 1], self.wheel.name).write_bytes(self.wheel.read_bytes())
        return subprocess.CompletedProcess(command, self.code, "", self.stderr)


def use_pip(monkeypatch: pytest.MonkeyPatch, pip: FakePip) -> FakePip:
    monkeypatch.setattr("dml_conformance.backends.directml.install.subprocess.run", pip)
    return pip


def test_the_releases_are_pinned() -> None:
    assert sorted(RELEASES) == [Level.L5_0, Level.L5_2, Level.L6_2]
    for level, release in RELEASES.items():
        assert release.level is level
        assert re.fullmatch("[0-9a-f]{64}", release.wheel_sha256)
        assert re.fullmatch("[0-9a-f]{64}", release.library_sha256)


def test_pip_is_asked_for_one_wheel_with_its_tags_and_no_index_is_named(release: Release, tmp_path: Path) -> None:
    command = download_command(release, tmp_path)
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert command[-1] == "torch-directml==1.0"
    assert {"--no-deps", "--only-binary=:all:"} <= set(command)
    tags = {"--python-version": "310", "--abi": "cp310", "--platform": "manylinux2010_x86_64"}
    assert {name: command[command.index(name) + 1] for name in tags} == tags
    assert not any("index" in argument or "//" in argument for argument in command)


def test_install_keeps_the_library_and_its_licence(
    release: Release, wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = use_pip(monkeypatch, FakePip(wheel))
    library = install(release)
    assert library.path.is_relative_to(cache)
    assert library.path.read_bytes() == CONTENT
    assert library.release is release
    assert sorted(file.name for file in library.path.parent.iterdir()) == ["LICENSE", "NOTICE", "libdirectml.so"]
    assert install(release) == library
    assert len(pip.commands) == 1, "what is there was fetched again"
    assert installed() == (release,)
    assert find_library() == library == find_library(Level.L4_1)


def test_a_damaged_library_is_refused_and_install_mends_it(
    release: Release, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_pip(monkeypatch, FakePip(wheel))
    path = install(release).path
    path.write_bytes(b"changed")
    with pytest.raises(DirectmlError, match=f"its SHA-256 is {digest(b'changed')}, expected {digest(CONTENT)}"):
        find_library()
    assert install(release).path.read_bytes() == CONTENT


def test_a_wheel_at_hand_is_used_without_pip(release: Release, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = use_pip(monkeypatch, FakePip(None))
    assert install(release, wheel).path.read_bytes() == CONTENT
    assert pip.commands == []
    with pytest.raises(DirectmlError, match="there is no file"):
        install(RELEASES[Level.L5_0], wheel.with_name("missing.whl"))


def test_another_wheel_is_refused(release: Release, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("more", "")
    use_pip(monkeypatch, FakePip(wheel))
    with pytest.raises(DirectmlError, match=r"is not the wheel expected for torch-directml 1\.0"):
        install(release)
    assert not installed_path(release).exists()


def test_pips_reason_is_told(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    for pip, told in (
        (FakePip(None, "WARNING: slow\nERROR: No matching distribution found\nmore", code=1), "ERROR: No matching .*"),
        (FakePip(None, code=0), "no wheel came"),
        (FakePip(None, code=1), "no wheel came"),
    ):
        use_pip(monkeypatch, pip)
        with pytest.raises(DirectmlError, match=rf"torch-directml 1\.0: {told}$"):
            install(release)
    monkeypatch.setattr("dml_conformance.backends.directml.install.importlib.util.find_spec", lambda name: None)
    with pytest.raises(DirectmlError, match=r"needs pip in this environment; .* name it with --wheel"):
        install(release)


def test_nothing_installed_says_what_to_do() -> None:
    with pytest.raises(DirectmlError, match="run 'dml-conformance directml install', or name one in " + OVERRIDE):
        find_library()
    with pytest.raises(DirectmlError, match="run 'dml-conformance directml install --level 5_2'"):
        find_library(Level.L5_2)
    with pytest.raises(DirectmlError, match="no DirectML library of level 1_0 is known; there are 5_0, 5_2, 6_2"):
        find_library(Level.L1_0)


def test_the_newest_installed_library_is_used() -> None:
    for level in (Level.L5_0, Level.L6_2):
        path = installed_path(RELEASES[level])
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
    assert [release.level for release in installed()] == [Level.L6_2, Level.L5_0]
    with pytest.raises(DirectmlError, match=re.escape(str(installed_path(RELEASES[Level.L6_2])))):
        find_library()


def test_a_library_can_be_named(tmp_path: Path, release: Release, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "libdirectml.so"
    path.write_bytes(b"other")
    for named in (path, tmp_path):
        monkeypatch.setenv(OVERRIDE, str(named))
        library = find_library()
        assert (library.path, library.sha256, library.release) == (path, digest(b"other"), None)
    assert library.version == "a build not known here"
    path.write_bytes(CONTENT)
    assert find_library().release is release
    # A level that is asked for outweighs it.
    installed_library = install(release, wheel)
    assert find_library(Level.L4_1) == installed_library
    assert find_library().path == path
    monkeypatch.setenv(OVERRIDE, str(tmp_path / "missing.so"))
    with pytest.raises(DirectmlError, match=f"{OVERRIDE} names .*missing.so', and there is no such file"):
        find_library()


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("linux", "aarch64"), ("darwin", "x86_64")])
def test_other_platforms_are_told_so(system: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("dml_conformance.backends.directml.library.platform.machine", lambda: machine)
    with pytest.raises(DirectmlError, match=f"Linux on x86-64, this is {system} on {machine.lower()}"):
        find_library()


def test_without_a_cache_folder_of_its_own_the_home_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert library_module.cache_folder() == tmp_path / ".cache" / "dml-conformance" / "directml"


# --- the system libraries that are compiled ---------------------------------------------------------------------


def needs_compiler() -> None:
    if stubs.find_compiler() is None:
        pytest.skip("there is no C compiler")


def test_without_a_compiler_the_error_names_the_ones_that_would_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(DirectmlError, match="there is no C compiler: install one as cc, gcc, clang, or name one in CC"):
        stubs.build(cache)


def test_the_compiler_may_be_named_with_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"'{sys.executable}' -m64")
    assert stubs.find_compiler() == [sys.executable, "-m64"]
    monkeypatch.setenv("CC", "no-such-compiler")
    assert stubs.find_compiler() is None


def test_a_compiler_that_fails_is_quoted(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"'{sys.executable}' -c 'raise SystemExit(\"out of luck\")'")
    with pytest.raises(DirectmlError, match="failed: out of luck"):
        stubs.build(cache)
    assert list(cache.iterdir()) == [], "something half made was left"


def test_the_stubs_are_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_compiler()
    folder = stubs.build(cache)
    assert sorted(file.name for file in folder.iterdir()) == ["libd3d12.so", "libdxcore.so"]
    monkeypatch.setattr(stubs, "find_compiler", lambda: None)
    assert stubs.build(cache) == folder


def test_the_stubs_forward_and_are_found_by_name_and_version(cache: Path) -> None:
    needs_compiler()
    script = """
import ctypes, sys
from pathlib import Path
from dml_conformance.backends.directml import stubs
calls = []
kept = stubs.load(Path(sys.argv[1]), lambda iid, out: calls.append((iid, out)) or 5, lambda *a: calls.append(a) or 7)
versioned = ctypes.CDLL(None).dlvsym
versioned.restype = ctypes.c_void_p
versioned.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
d3d12 = ctypes.CDLL("libd3d12.so")  # by its name alone: it is loaded already
address = versioned(d3d12._handle, b"D3D12SerializeVersionedRootSignature", b"VER_1")
pointers = [ctypes.c_void_p] * 3
assert ctypes.CFUNCTYPE(ctypes.c_int32, *pointers)(address)(1, 2, 3) == 7
dxcore = ctypes.CDLL("libdxcore.so")
dxcore.DXCoreCreateAdapterFactory.argtypes = pointers[:2]
assert dxcore.DXCoreCreateAdapterFactory(8, 9) == 5
assert calls == [(1, 2, 3), (8, 9)], calls
"""
    command = [sys.executable, "-c", script, str(stubs.build(cache))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stub_that_nobody_answers_for_says_that_it_does_nothing(cache: Path) -> None:
    needs_compiler()
    library = ctypes.CDLL(str(stubs.build(cache) / "libdxcore.so"))
    assert library.DXCoreCreateAdapterFactory(None, None) == -2147467263


# --- `directml install` and `directml info` ---------------------------------------------------------------------------


def run(*arguments: str) -> str:
    result = CliRunner().invoke(directml, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_install_takes_the_release_of_the_level(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[Level, Path | None]] = []

    def install(release: Release, wheel: Path | None) -> LibraryFile:
        asked.append((release.level, wheel))
        return LibraryFile(Path("cache/libdirectml.so"), release.library_sha256, release)

    monkeypatch.setattr("dml_conformance.backends.directml.install.install", install)
    wheel = tmp_path / "some.whl"
    wheel.touch()
    assert run("install").startswith("torch-directml 0.2.5.dev240914, level 6_2, SHA-256 fd54a8c5")
    run("install", "--level", "5.0", "--wheel", str(wheel))
    assert asked == [(Level.L6_2, None), (Level.L5_0, wheel)]
    with pytest.raises(DirectmlError, match="no DirectML library of level 4_1 is known"):
        run("install", "--level", "4_1")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Feature sets that workers were started with; on `least` FLOAT64 is missing and a call is not provided for."""
    feature_sets: list[str] = []

    def start(library: LibraryFile, feature_set: FeatureSet) -> DecisionProcess:
        feature_sets.append(feature_set.name)
        types = "tuple(t for t in range(1, 12) if t != 9)" if feature_set.name == "least" else "tuple(range(1, 12))"
        calls = "('ID3D12Device5::CreateFence',)" if feature_set.name == "least" else "()"
        return fake_worker("reply(0)", hello=f"level=0x5200, data_types={types}, unexpected={calls}")

    library = LibraryFile(Path("some/libdirectml.so"), "0" * 64, None)
    monkeypatch.setattr("dml_conformance.backends.directml.library.find_library", lambda level: library)
    monkeypatch.setattr("dml_conformance.backends.directml.library.settings_files", lambda: (Path("settings.conf"),))
    monkeypatch.setattr("dml_conformance.backends.directml.process.start", start)
    return feature_sets


def test_info_tells_what_the_library_says_on_each_feature_set(started: list[str]) -> None:
    value = json.loads(run("info", "--format", "json"))
    assert started == list(FEATURE_SETS)
    assert value["library"] == {
        "path": "some/libdirectml.so",
        "version": "a build not known here",
        "sha256": "0" * 64,
        "level": "5_2",
        "settings": ["settings.conf"],
    }
    lacking = {row["feature_set"]: (row["not_supported"], row["unexpected"]) for row in value["feature_sets"]}
    assert lacking.pop("least") == (["FLOAT64"], ["ID3D12Device5::CreateFence"])
    assert set(map(str, lacking.values())) == {"([], [])"}
    assert {row["level"]: row["path"] for row in value["releases"]} == {level.label: None for level in RELEASES}


def test_info_in_words(started: list[str]) -> None:
    lines = [" ".join(line.split()) for line in run("info").splitlines()]
    assert lines[0].startswith("a build not known here, level 5_2, SHA-256 000")
    assert "it reads settings from settings.conf" in lines
    assert "least FLOAT64 ID3D12Device5::CreateFence" in lines
    assert "full none none" in lines
    assert "6_2 0.2.5.dev240914 no" in lines
