"""Which libraries are chosen, on systems that are made up: none of them is loaded."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import platform
from pathlib import Path

import pytest

from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.execution import loader
from dml_conformance.backends.directml.execution.loader import Setup, choose, names_device
from dml_conformance.backends.directml.library import LibraryFile
from dml_conformance.spec.levels import Level

LINUX_LIBRARY = LibraryFile(Path("/cache/libdirectml.so"), "0" * 64, None)


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DML_CONFORMANCE_DIRECTML", "DML_CONFORMANCE_D3D12", "DML_CONFORMANCE_D3D12_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(loader, "WSL_FOLDER", tmp_path / "no-wsl")


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> list[Level | None]:
    """Linux with libdirectml.so installed. Returns the levels that it was looked for with."""
    asked: list[Level | None] = []

    def find_library(level: Level | None) -> LibraryFile:
        asked.append(level)
        return LINUX_LIBRARY

    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(loader, "find_library", find_library)
    return asked


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Windows without onnxruntime. Returns the folder of the system's libraries."""
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path / "Windows"))
    folder = tmp_path / "Windows" / "System32"
    folder.mkdir(parents=True)
    return folder


def made(path: Path, content: bytes = b"library") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("word", "expected"),
    [("d3d12", True), ("d3d12=/lib/x.so", True), ("warp", True), ("full", False), ("6_2", False), ("d3d", False)],
)
def test_words_that_ask_for_execution(word: str, expected: bool) -> None:
    assert names_device(word) is expected


# --- Linux with a library that the user names --------------------------------------------------------------------


def test_the_library_named_in_the_environment(
    linux: list[Level | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    native = made(tmp_path / "native.so")
    monkeypatch.setenv("DML_CONFORMANCE_D3D12", str(native))
    setup, library = choose("d3d12", Level.L5_2)
    assert setup == Setup("/cache/libdirectml.so", str(native), device_name="the device of native.so")
    assert (library, linux) == (LINUX_LIBRARY, [Level.L5_2])


def test_the_library_named_in_the_word_comes_first(
    linux: list[Level | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DML_CONFORMANCE_D3D12", str(made(tmp_path / "other.so")))
    monkeypatch.setenv("DML_CONFORMANCE_D3D12_NAME", "a GPU")
    setup, _ = choose(f"d3d12={made(tmp_path / 'native.so')}")
    assert (setup.d3d12, setup.device_name) == (str(tmp_path / "native.so"), "a GPU")


def test_a_library_that_is_not_there_is_told_with_who_named_it(
    linux: list[Level | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DML_CONFORMANCE_D3D12", "/not/there.so")
    with pytest.raises(DirectmlError, match=r"DML_CONFORMANCE_D3D12 names '/not/there\.so'"):
        choose("d3d12")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("d3d12", "name it in DML_CONFORMANCE_D3D12, or as in directml:d3d12=/path"),
        ("warp", "WARP is Windows' own software adapter"),
        ("warp=/lib/x.so", "'warp=/lib/x.so' is no device"),
        ("gpu", "'gpu' is no device"),
        ("d3d12=/no/such.so", r"the device names '/no/such\.so', and there is no such file"),
    ],
)
def test_words_that_name_nothing_are_told(linux: list[Level | None], word: str, told: str) -> None:
    with pytest.raises(DirectmlError, match=told):
        choose(word)


# --- WSL ---------------------------------------------------------------------------------------------------------


def test_wsl_has_libraries_of_its_own(
    linux: list[Level | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(loader, "WSL_FOLDER", tmp_path)
    made(tmp_path / "libd3d12.so")
    setup, library = choose("d3d12")
    assert setup == Setup("/cache/libdirectml.so", str(tmp_path / "libd3d12.so"), str(tmp_path / "libdxcore.so"))
    assert library == LINUX_LIBRARY
    native = made(tmp_path / "native.so")
    monkeypatch.setenv("DML_CONFORMANCE_D3D12", str(native))
    assert choose("d3d12")[0].d3d12 == str(native), "a library that the user names comes first"


# --- Windows -----------------------------------------------------------------------------------------------------


def test_windows_own_libraries(windows: Path, tmp_path: Path) -> None:
    with pytest.raises(DirectmlError, match=r"no DirectML\.dll is found; install onnxruntime-directml, or name one"):
        choose("d3d12")
    directml = made(windows / "DirectML.dll")
    setup, library = choose("d3d12")
    assert setup == Setup(str(directml), "d3d12.dll", "dxcore.dll")
    assert library == LibraryFile(directml, hashlib.sha256(b"library").hexdigest(), None)
    assert choose("warp")[0] == Setup(str(directml), "d3d12.dll", "dxcore.dll", "dxgi.dll")
    assert choose(f"d3d12={made(tmp_path / 'own.dll')}")[0].d3d12 == str(tmp_path / "own.dll")
    with pytest.raises(DirectmlError, match="not chosen by level"):
        choose("d3d12", Level.L6_2)


def test_the_library_of_onnxruntime_comes_before_the_systems(
    windows: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made(windows / "DirectML.dll")
    package = made(tmp_path / "site" / "onnxruntime" / "__init__.py")
    spec = importlib.machinery.ModuleSpec("onnxruntime", None, origin=str(package))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "onnxruntime" else None)
    # The package for CPUs alone has no such library.
    assert choose("d3d12")[0].directml == str(windows / "DirectML.dll")
    own = made(package.parent / "capi" / "DirectML.dll")
    assert choose("d3d12")[0].directml == str(own)


@pytest.mark.parametrize("name", ["folder/other.dll", "folder"])
def test_on_windows_the_users_library_comes_first(
    windows: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    made(windows / "DirectML.dll")
    other, in_folder = made(tmp_path / "folder" / "other.dll"), made(tmp_path / "folder" / "DirectML.dll")
    monkeypatch.setenv("DML_CONFORMANCE_DIRECTML", str(tmp_path / name))
    assert choose("d3d12")[0].directml == str(in_folder if name == "folder" else other)
    monkeypatch.setenv("DML_CONFORMANCE_DIRECTML", str(tmp_path / "missing.dll"))
    with pytest.raises(DirectmlError, match=r"DML_CONFORMANCE_DIRECTML names '.*missing\.dll', and there is no such"):
        choose("d3d12")
