"""Operators whose results are truth values, 1 and 0: ELEMENT_WISE_LOGICAL_*, ELEMENT_WISE_IS_NAN and _IS_INFINITY.

LOGICAL_AND, _OR, _XOR and _NOT work on truth values, of which every number but 0 is a true one. The comparisons compare
floating-point numbers as Direct3D does, whose rules leave open whether a subnormal FLOAT32 is 0.
"""

from __future__ import annotations

from dml_conformance.spec.operators._element_wise import element_wise

OF_TRUTHS = tuple(f"LOGICAL_{name}" for name in ("AND", "OR", "XOR", "NOT"))
COMPARISONS = tuple(
    f"LOGICAL_{name}" for name in ("EQUALS", "GREATER_THAN", "LESS_THAN", "GREATER_THAN_OR_EQUAL", "LESS_THAN_OR_EQUAL")
)
SPECS = tuple(element_wise(f"ELEMENT_WISE_{name}") for name in (*OF_TRUTHS, *COMPARISONS, "IS_NAN", "IS_INFINITY"))
