"""The machine and the libraries that the harness itself runs on, as a certificate names them."""

from __future__ import annotations

import platform
import sys
import zlib
from importlib.metadata import version

import numpy as np

from dml_conformance.backends.processes.walls import is_memory_closed
from dml_conformance.reports.model.records import NO_WALLS, WALLS

# What makes the cases of the search, and what compresses the report's page.
PYTHON, HYPOTHESIS, ZLIB = "python", "hypothesis", "zlib"


def environment(*, isolated: bool = False) -> dict[str, str]:
    """The versions by what they are of, and what keeps backends from this process.

    Args:
        isolated: whether they are in processes of their own.
    """
    return {
        PYTHON: platform.python_version(),
        "numpy": np.__version__,
        HYPOTHESIS: version("hypothesis"),
        ZLIB: zlib.ZLIB_RUNTIME_VERSION,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "byte order": sys.byteorder,
        WALLS: "memory" if isolated and is_memory_closed() else NO_WALLS,
    }
