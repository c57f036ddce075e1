"""The suite on the backend named on the command line."""

from __future__ import annotations

from dml_conformance.conformance.gate.suite import ConformanceSuite


class TestBackend(ConformanceSuite):
    """`pytest --pyargs dml_conformance.conformance.gate --dml-backend NAME` runs this class."""
