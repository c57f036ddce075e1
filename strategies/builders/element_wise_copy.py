"""Descriptors of ELEMENT_WISE_IDENTITY, ACTIVATION_IDENTITY and ELEMENT_WISE_IF."""

from __future__ import annotations

from dml_conformance.spec.structures import ElementWiseCopy
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder

NAMES = ("ELEMENT_WISE_IDENTITY", "ACTIVATION_IDENTITY", "ELEMENT_WISE_IF")
BUILDERS = {name: ElementWiseBuilder[ElementWiseCopy](name) for name in NAMES}
