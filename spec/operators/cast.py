"""DML_OPERATOR_CAST: every element as a value of the output's data type."""

from __future__ import annotations

from dml_conformance.spec.operator import operator_spec, output_sizes
from dml_conformance.spec.operators._element_wise import first_sizes

SPECS = (operator_spec("CAST", shape=first_sizes, own_rules=(output_sizes(section="Tensor constraints"),)),)
