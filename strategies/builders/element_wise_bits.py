"""Descriptors of operators on the bits of elements."""

from __future__ import annotations

from dml_conformance.spec.structures import ElementWiseBits
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder

NAMES = ("AND", "OR", "XOR", "NOT", "COUNT", "SHIFT_LEFT", "SHIFT_RIGHT")
BUILDERS = {name: ElementWiseBuilder[ElementWiseBits](name) for name in (f"ELEMENT_WISE_BIT_{name}" for name in NAMES)}
