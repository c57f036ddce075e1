"""Which release of the suite this is, and whether its files stay what they were."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PARTS = ("spec", "strategies", "backends", "reports", "documents", "conformance")


@cache
def suite_version() -> str:
    """The version of the installed package."""
    return version("dml-conformance")


@cache
def suite_files() -> Mapping[str, str]:
    """The SHA-256 of each of the package's own files, by its name there, as they were when this was first called.

    That is before a backend is loaded, as its code may write to them. What Python compiles of them is left out.
    """
    return _digests()


def changed_file(known: Mapping[str, str]) -> str:
    """The first of the package's own files that is not what it was, is gone or is new; "" where there is none."""
    now = _digests()
    return min((name for name in known.keys() | now.keys() if known.get(name) != now.get(name)), default="")


def suite_folders() -> list[Path]:
    """The folders that the package's own files are in."""
    whole = find_spec("dml_conformance")
    return [*_folders().values(), *(map(Path, whole.submodule_search_locations or ()) if whole is not None else ())]


def _digests() -> dict[str, str]:
    files = [
        (f"{part}/{path.relative_to(folder).as_posix()}", path)
        for part, folder in _folders().items()
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts and path.is_file()
    ]
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files}


@cache
def _folders() -> dict[str, Path]:
    """The folder of each part of the package; installed for development they lie in different places."""
    found = {part: find_spec(f"dml_conformance.{part}") for part in PARTS}
    return {part: Path(spec.origin).parent for part, spec in found.items() if spec is not None and spec.origin}
