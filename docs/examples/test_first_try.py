from first_try import TileBackend

from dml_conformance import ConformanceSuite


class TestFirstTry(ConformanceSuite):
    backend = TileBackend
    operators = ("TILE",)
    levels = ("4_1",)
