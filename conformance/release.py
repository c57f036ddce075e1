"""Which release of the suite this is."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def suite_version() -> str:
    """The version of this package; where it runs from a folder without being installed, that of the folder."""
    try:
        return version("dml-conformance")
    except PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
