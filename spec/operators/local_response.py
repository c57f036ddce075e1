"""DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION and its gradient: elements over a power of the squares around them."""

from __future__ import annotations

from dml_conformance.spec.constraints import within
from dml_conformance.spec.operators._element_wise import element_wise

FORWARD, GRADIENT = "LOCAL_RESPONSE_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION_GRAD"
SPECS = tuple(element_wise(name, within("LocalSize", 1, None)) for name in (FORWARD, GRADIENT))
