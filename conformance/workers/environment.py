"""The machine and the libraries that the harness itself runs on, as a certificate names them."""

from __future__ import annotations

import platform
import sys
import zlib
from importlib.metadata import version

import numpy as np

from dml_conformance.backends.processes.walls import is_memory_closed

# What makes the cases of the search, and what compresses the report's page.
PYTHON, HYPOTHESIS, ZLIB = "python", "hypothesis", "zlib"


def environment() -> dict[str, str]:
    """The versions by what they are of, and whether processes of backends see this one's memory."""
    return {
        PYTHON: platform.python_version(),
        "numpy": np.__version__,
        HYPOTHESIS: version("hypothesis"),
        ZLIB: zlib.ZLIB_RUNTIME_VERSION,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "byte order": sys.byteorder,
        "walls": "memory" if is_memory_closed() else "none",
    }
