"""The gate: the conformance suite as pytest tests.

On the command line

    pytest --pyargs dml_conformance.conformance.gate --dml-backend torch:cpu --dml-level 3_0

or in a backend's own repository, as a class of its own:

    from dml_conformance import ConformanceSuite

    class TestMyBackend(ConformanceSuite):
        backend = MyBackend
        levels = ("3_0", "4_1")

The plugin is loaded in every run of pytest, so nothing is imported here.
"""
