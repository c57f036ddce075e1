"""Descriptors of functions of one number."""

from __future__ import annotations

from dml_conformance.spec.operators.element_wise_unary import SPECS
from dml_conformance.spec.structures import ElementWiseUnary
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder

BUILDERS = {spec.name: ElementWiseBuilder[ElementWiseUnary](spec.name) for spec in SPECS}
