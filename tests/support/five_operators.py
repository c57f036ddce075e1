"""The operators that tests of mechanisms take, and their descriptor classes as the registry makes them."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.registry import families, operators

# The first one of each family.
FIRST_OF_FAMILIES = tuple({families()[name]: name for name in reversed(operators())}.values())
FIVE = ("GATHER", "TILE", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")

_CLASSES = descriptor_classes()
GatherDesc: Any = _CLASSES["GATHER"]
GatherElementsDesc: Any = _CLASSES["GATHER_ELEMENTS"]
GatherNdDesc: Any = _CLASSES["GATHER_ND"]
GatherNd1Desc: Any = _CLASSES["GATHER_ND1"]
TileDesc: Any = _CLASSES["TILE"]
