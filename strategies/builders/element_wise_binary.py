"""Descriptors of arithmetic on two numbers."""

from __future__ import annotations

from dml_conformance.spec.operators.element_wise_binary import SPECS
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder

BUILDERS = {spec.name: ElementWiseBuilder(spec.name) for spec in SPECS}
