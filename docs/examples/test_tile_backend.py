from conformance.suite import ConformanceSuite
from tile_backend import TileBackend


class TestTile(ConformanceSuite):
    backend = TileBackend
    operators = ("TILE",)
    levels = ("1_0", "4_1")
