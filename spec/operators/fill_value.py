"""DML_OPERATOR_FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE: tensors made of numbers alone."""

from __future__ import annotations

from dml_conformance.spec.constraints import type_of
from dml_conformance.spec.operator import Shapes, operator_spec
from dml_conformance.spec.structures import FillValue


def shape(desc: FillValue) -> Shapes:
    """Whatever sizes the output is given."""
    return {"output_tensor": desc.output_tensor.sizes}


SPECS = tuple(
    operator_spec(f"FILL_VALUE_{name}", shape=shape, own_rules=(type_of("ValueDataType"),))
    for name in ("CONSTANT", "SEQUENCE")
)
