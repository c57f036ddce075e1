"""Which release of the suite this is."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version


@cache
def suite_version() -> str:
    """The version of the installed package."""
    return version("dml-conformance")
