"""Fetching the library: pip downloads one wheel, and one file of it is kept, with its licence."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.library import (
    DISTRIBUTION,
    FILE_NAME,
    LibraryFile,
    Release,
    check_platform,
    installed_path,
    sha256_of,
    verified,
)

MEMBER = f"torch_directml/{FILE_NAME}"
LICENCES = ("LICENSE", "NOTICE")


def install(release: Release, wheel: Path | None = None) -> LibraryFile:
    """Put a release's library into the cache, unless it is there.

    Args:
        release: which one.
        wheel: the wheel's file if it is at hand; None has pip download it, from where pip is configured to look.

    Raises:
        DirectmlError: it cannot be had, or what was had is not what is expected.
    """
    check_platform()
    if installed_path(release).is_file():
        try:
            return verified(release)
        except DirectmlError:
            pass  # damaged: fetched again below
    if wheel is not None:
        return _unpack(release, wheel)
    with tempfile.TemporaryDirectory() as folder:
        return _unpack(release, _download(release, Path(folder)))


def download_command(release: Release, folder: Path) -> list[str]:
    """pip's command line for a release's wheel.

    The tags are given, not taken from this Python: the distribution has no build for newer ones, and the library in
    the wheel does not depend on Python at all.
    """
    return [
        *(sys.executable, "-m", "pip", "download"),
        *("--disable-pip-version-check", "--no-input", "--quiet"),
        *("--no-deps", "--only-binary=:all:"),
        *("--implementation", "cp", "--python-version", release.python, "--abi", f"cp{release.python}"),
        *(argument for tag in release.platforms for argument in ("--platform", tag)),
        *("--dest", str(folder)),
        f"{DISTRIBUTION}=={release.version}",
    ]


def _download(release: Release, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise DirectmlError(
            f"fetching {DISTRIBUTION} {release.version} needs pip in this environment; install it, "
            "or download the wheel by other means and name it with --wheel"
        )
    done = subprocess.run(download_command(release, folder), capture_output=True, text=True, check=False)  # noqa: S603
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        told = done.stderr.strip().splitlines()
        reason = next((line for line in told if line.startswith("ERROR")), told[-1] if told else "no wheel came")
        raise DirectmlError(f"pip could not download {DISTRIBUTION} {release.version}: {reason}")
    return wheels[0]


def _unpack(release: Release, wheel: Path) -> LibraryFile:
    if not wheel.is_file():
        raise DirectmlError(f"there is no file {str(wheel)!r}")
    digest = sha256_of(wheel)
    if digest != release.wheel_sha256:
        raise DirectmlError(
            f"{wheel.name} is not the wheel expected for {DISTRIBUTION} {release.version}: "
            f"its SHA-256 is {digest}, expected {release.wheel_sha256}"
        )
    target = installed_path(release).parent
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        metadata = f"torch_directml-{release.version}.dist-info"
        for name in LICENCES:
            _write(target / name, archive.read(f"{metadata}/{name}"))
        _write(target / FILE_NAME, archive.read(MEMBER))  # last: its being there says that all is there
    return verified(release)


def _write(path: Path, content: bytes) -> None:
    """Write a file so that no other process ever sees half of it."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
