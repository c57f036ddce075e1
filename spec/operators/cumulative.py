"""DML_OPERATOR_CUMULATIVE_SUMMATION and _PRODUCT: the running sum, or product, of the elements along an axis."""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.structures import Cumulative

DIRECTION = enumeration("DML_AXIS_DIRECTION")


def is_exclusive(desc: Cumulative) -> bool:
    """Whether an element is left out of its own sum, or product."""
    return bool(getattr(desc, "has_exclusive_sum", False) or getattr(desc, "has_exclusive_product", False))


SPECS = tuple(element_wise(name, axis_of("Axis")) for name in ("CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT"))
