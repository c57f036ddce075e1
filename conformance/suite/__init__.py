"""The gate: the conformance suite as pytest tests.

On the command line

    pytest --pyargs dml_conformance.conformance.suite --dml-backend torch:cpu --dml-level 3_0

or in a backend's own repository, as a class of its own:

    from dml_conformance.conformance.suite import ConformanceSuite

    class TestMyBackend(ConformanceSuite):
        backend = MyBackend
        levels = ("3_0", "4_1")
"""

from __future__ import annotations

from dml_conformance.conformance.suite.base import ConformanceSuite

__all__ = ["ConformanceSuite"]
