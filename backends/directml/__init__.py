"""The real DirectML library as a backend: live decisions on Linux x86-64, without a GPU."""

from __future__ import annotations

from dml_conformance.backends.directml.backend import DirectmlBackend
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash

__all__ = ["DirectmlBackend", "DirectmlError", "LibraryCrash"]
