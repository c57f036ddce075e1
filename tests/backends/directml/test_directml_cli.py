"""`directml install` and `directml info`, with stand-ins for what they call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from directml_fakes import fake_worker

from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.library import RELEASES, LibraryFile, Release
from dml_conformance.backends.directml.process import DecisionProcess
from dml_conformance.backends.directml.profiles import PROFILES, Profile
from dml_conformance.conformance.cli.directml import directml
from dml_conformance.spec.levels import Level


def run(*arguments: str) -> str:
    result = CliRunner().invoke(directml, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


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
def started(no_cache: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Profiles that workers were started with; on `least` FLOAT64 is missing and a call is not provided for."""
    profiles: list[str] = []

    def start(library: LibraryFile, profile: Profile) -> DecisionProcess:
        profiles.append(profile.name)
        types = "tuple(t for t in range(1, 12) if t != 9)" if profile.name == "least" else "tuple(range(1, 12))"
        calls = "('ID3D12Device5::CreateFence',)" if profile.name == "least" else "()"
        return fake_worker("reply(0)", hello=f"level=0x5200, data_types={types}, unexpected={calls}")

    library = LibraryFile(Path("some/libdirectml.so"), "0" * 64, None)
    monkeypatch.setattr("dml_conformance.backends.directml.library.find_library", lambda level: library)
    monkeypatch.setattr("dml_conformance.backends.directml.library.settings_files", lambda: (Path("settings.conf"),))
    monkeypatch.setattr("dml_conformance.backends.directml.process.start", start)
    return profiles


def test_info_tells_what_the_library_says_on_each_profile(started: list[str]) -> None:
    value = json.loads(run("info", "--format", "json"))
    assert started == list(PROFILES)
    assert value["library"] == {
        "path": "some/libdirectml.so",
        "version": "a build not known here",
        "sha256": "0" * 64,
        "level": "5_2",
        "settings": ["settings.conf"],
    }
    lacking = {row["profile"]: (row["not_supported"], row["unexpected"]) for row in value["profiles"]}
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
