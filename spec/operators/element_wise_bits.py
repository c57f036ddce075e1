"""Operators on the bits of elements: ELEMENT_WISE_BIT_AND, _OR, _XOR, _NOT, _COUNT, _SHIFT_LEFT and _SHIFT_RIGHT.

Their pages apply them to the elements in their own encoding: of a data type only the width counts.
"""

from __future__ import annotations

from dml_conformance.spec.operators._element_wise import element_wise

OPERATIONS = ("SHIFT_LEFT", "SHIFT_RIGHT", "AND", "OR", "XOR", "NOT", "COUNT")
SPECS = tuple(element_wise(f"ELEMENT_WISE_BIT_{name}") for name in OPERATIONS)
