"""Descriptors of operators whose results are truth values."""

from __future__ import annotations

from dml_conformance.spec.structures import ElementWiseLogic
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder

COMPARISONS = ("EQUALS", "GREATER_THAN", "LESS_THAN", "GREATER_THAN_OR_EQUAL", "LESS_THAN_OR_EQUAL")
NAMES = (*(f"LOGICAL_{name}" for name in ("AND", "OR", "XOR", "NOT", *COMPARISONS)), "IS_NAN", "IS_INFINITY")
BUILDERS = {name: ElementWiseBuilder[ElementWiseLogic](name) for name in (f"ELEMENT_WISE_{name}" for name in NAMES)}
