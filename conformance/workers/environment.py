"""The machine and the libraries that the harness itself runs on, as a certificate names them."""

from __future__ import annotations

import platform
import sys
import zlib
from collections.abc import Collection, Mapping
from importlib.metadata import version

import numpy as np

from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.walls import (
    ALL_WALLS,
    DESCENDANTS,
    FILES,
    LINUX_ONLY,
    MEMORY,
    adopts_orphans,
    is_memory_closed,
)
from dml_conformance.reports.model.records import IN_PROCESS, MISSING_WALLS, WALLS, lacking, named
from dml_conformance.spec.errors import BrokenRunError

# What makes the cases of the search, and what compresses the report's page.
PYTHON, HYPOTHESIS, ZLIB = "python", "hypothesis", "zlib"


class WallError(BrokenRunError):
    """A wall that is required does not stand."""


def environment(limits: Limits | None = None) -> dict[str, str]:
    """The versions by what they are of, and what keeps backends from this process.

    Args:
        limits: of their processes; None where they have none.
    """
    missing = _missing_walls(limits)
    found = {
        PYTHON: platform.python_version(),
        "numpy": np.__version__,
        HYPOTHESIS: version("hypothesis"),
        ZLIB: zlib.ZLIB_RUNTIME_VERSION,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "byte order": sys.byteorder,
        WALLS: named(wall for wall in ALL_WALLS if wall not in missing),
    }
    if missing:
        found[MISSING_WALLS] = ", ".join(f"{wall} ({why})" for wall, why in missing.items())
    return found


def _missing_walls(limits: Limits | None) -> dict[str, str]:
    """Which walls do not stand between backends and this process, and why.

    Args:
        limits: of the backends' processes; None where they have none.
    """
    if limits is None:
        return dict.fromkeys(ALL_WALLS, IN_PROCESS)
    if sys.platform != "linux":
        return dict.fromkeys(ALL_WALLS, LINUX_ONLY)
    found = {}
    if not is_memory_closed():
        found[MEMORY] = "it is open to a debugger"
    if not adopts_orphans():
        found[DESCENDANTS] = "this process may have other children"
    if limits.files is None or limits.files.refused:
        found[FILES] = "none was asked for" if limits.files is None else limits.files.refused
    return found


def check_walls(environment: Mapping[str, str], required: Collection[str]) -> None:
    """Raise WallError where a wall that is required is not in an environment."""
    if problem := lacking(environment, required):
        raise WallError(f"--require-walls: {problem}")
