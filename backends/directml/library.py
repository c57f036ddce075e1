"""Which builds of the DirectML library are known, where they lie, and which one is used."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.spec.levels import Level

OVERRIDE = "DML_CONFORMANCE_DIRECTML"
FILE_NAME = "libdirectml.so"
DISTRIBUTION = "torch-directml"
INSTALL = "dml-conformance directml install"


@dataclass(frozen=True)
class Release:
    """One build of the library for Linux x86-64, as the distribution torch-directml carries it (MIT licence).

    Attributes:
        level: the feature level that the library speaks.
        version: of the distribution.
        python: tag of the wheel that is fetched; the library in it is the same for every Python.
        platforms: tags under which the distribution has published it.
        wheel_sha256: of that wheel.
        library_sha256: of `libdirectml.so` in it.
    """

    level: Level
    version: str
    python: str
    platforms: tuple[str, ...]
    wheel_sha256: str
    library_sha256: str


RELEASES = {
    release.level: release
    for release in (
        Release(
            Level.L6_2,
            "0.2.5.dev240914",
            "310",
            ("manylinux2010_x86_64",),
            "30e29872f4d6059dd784897fa2df0cddb80f3874ed4f0860758790286e95a823",
            "fd54a8c578630f62a31d6d971d1f7e758e8497df8afccefe5efb1517d791692c",
        ),
        Release(
            Level.L5_2,
            "0.2.0.dev230426",
            "310",
            ("manylinux2010_x86_64",),
            "8976b6ae4c1b7bb6f770109106692cfc9ac9643808b0569ebee70e889bcfb8a7",
            "d717b5da5d37ae6016dff98ea2632380222d4dfbf6aafd76d7cb02e4e2bd8eec",
        ),
        Release(
            Level.L5_0,
            "0.1.13.dev221206",
            "310",
            ("manylinux2014_x86_64",),
            "cd2709f7d7cbcbc156b940c5395e36575c3a7f269311bfe115e7f6148b893fb0",
            "ef8da1084e3203b09804ba4c581cc0c91f031ca91f95c06a9cc700545ab1c669",
        ),
    )
}


@dataclass(frozen=True)
class LibraryFile:
    """A library to load.

    Attributes:
        path: of the file.
        sha256: of its content.
        release: the known build that it is, None for any other.
    """

    path: Path
    sha256: str
    release: Release | None

    @property
    def version(self) -> str:
        """What it is, in words."""
        return f"{DISTRIBUTION} {self.release.version}" if self.release else "a build not known here"


def cache_folder() -> Path:
    """Where installed libraries and compiled stubs are kept: below XDG_CACHE_HOME, or ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    root = base if base.is_absolute() else Path.home() / ".cache"
    return root / "dml-conformance" / "directml"


def installed_path(release: Release) -> Path:
    """Where a release's library lies once it is installed."""
    return cache_folder() / release.version / FILE_NAME


def installed() -> tuple[Release, ...]:
    """The releases in the cache, the highest level first."""
    return tuple(release for _, release in sorted(RELEASES.items(), reverse=True) if installed_path(release).is_file())


def settings_files() -> tuple[Path, ...]:
    """The files that the library reads settings from, as far as they exist.

    It opens them as it is loaded. No page says what can stand in them.
    """
    try:
        import pwd
    except ImportError:  # on Windows, where the library has other ways
        return ()

    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    return tuple(path for path in (Path("/etc/directml.conf"), home / ".directml.conf") if path.is_file())


def find_library(level: Level | None = None) -> LibraryFile:
    """The library to use.

    Args:
        level: of the release wanted; None takes what `DML_CONFORMANCE_DIRECTML` names, else the highest installed.

    Raises:
        DirectmlError: there is none, or the file is not what was installed.
    """
    check_platform()
    override = os.environ.get(OVERRIDE)
    if override and level is None:
        return _named(Path(override))
    if level is None:
        there = installed()
        if not there:
            raise DirectmlError(f"no DirectML library is installed; run '{INSTALL}', or name one in {OVERRIDE}")
        return verified(there[0])
    release = release_of(level)
    if not installed_path(release).is_file():
        raise DirectmlError(f"the DirectML library of level {level} is not installed; run '{INSTALL} --level {level}'")
    return verified(release)


def release_of(level: Level) -> Release:
    """The release that speaks a level.

    Raises:
        DirectmlError: none is known.
    """
    if level not in RELEASES:
        known = ", ".join(known_level.label for known_level in sorted(RELEASES))
        raise DirectmlError(f"no DirectML library of level {level} is known; there are {known}")
    return RELEASES[level]


def verified(release: Release) -> LibraryFile:
    """An installed release, its content checked.

    Raises:
        DirectmlError: the file has changed since it was installed.
    """
    path = installed_path(release)
    digest = sha256_of(path)
    if digest != release.library_sha256:
        raise DirectmlError(
            f"{path} is not the library of {DISTRIBUTION} {release.version}: its SHA-256 is {digest}, "
            f"expected {release.library_sha256}; run '{INSTALL} --level {release.level}' again"
        )
    return LibraryFile(path, digest, release)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_platform() -> None:
    """Raise where the library cannot run at all.

    Raises:
        DirectmlError: this is not Linux on x86-64.
    """
    machine = platform.machine().lower()
    if sys.platform != "linux" or machine not in ("x86_64", "amd64"):
        raise DirectmlError(f"the DirectML library is there for Linux on x86-64, this is {sys.platform} on {machine}")


def _named(path: Path) -> LibraryFile:
    if path.is_dir():
        path = path / FILE_NAME
    if not path.is_file():
        raise DirectmlError(f"{OVERRIDE} names {str(path)!r}, and there is no such file")
    digest = sha256_of(path)
    known = next((release for release in RELEASES.values() if release.library_sha256 == digest), None)
    return LibraryFile(path.resolve(), digest, known)
