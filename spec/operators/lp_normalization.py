"""DML_OPERATOR_LP_NORMALIZATION: elements over the norm of those along an axis."""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, within
from dml_conformance.spec.operators._element_wise import element_wise

NAME = "LP_NORMALIZATION"
SPECS = (element_wise(NAME, axis_of("Axis"), within("P", 1, 2)),)
