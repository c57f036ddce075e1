from first_try import TileBackend

from conformance.suite import ConformanceSuite


class TestFirstTry(ConformanceSuite):
    backend = TileBackend
    operators = ("TILE",)
    levels = ("4_1",)
