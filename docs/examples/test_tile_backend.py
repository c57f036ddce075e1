from tile_backend import TileBackend

from dml_conformance import ConformanceSuite


class TestTile(ConformanceSuite):
    backend = TileBackend
    operators = ("TILE",)
    levels = ("1_0", "4_1")
