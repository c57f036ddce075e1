"""How cases are made: Hypothesis strategies for descriptors and cases, valid ones and ones that break one rule.

from dml_conformance.strategies import cases, descriptors, invalid_descriptors

@given(descriptors("GATHER", "3_0"))
def test_my_validator(desc): ...
"""

from __future__ import annotations

from dml_conformance.strategies.hypothesis_strategies import cases, descriptors, invalid_descriptors

__all__ = ["cases", "descriptors", "invalid_descriptors"]
