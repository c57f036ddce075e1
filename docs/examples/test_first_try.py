from first_try import TileBackend

from dml_conformance.conformance.suite import ConformanceSuite


class TestFirstTry(ConformanceSuite):
    backend = TileBackend
    operators = ("TILE",)
    levels = ("4_1",)
