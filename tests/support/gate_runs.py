"""The gate, run in this process as its users run it."""

from __future__ import annotations

import pytest


def run_gate(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the suite, on the backend and with whatever else the options say."""
    suite = ("--pyargs", "dml_conformance.conformance.gate", "-p", "no:cacheprovider")
    return pytester.runpytest_inprocess(*suite, *options)
