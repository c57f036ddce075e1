"""DML_OPERATOR_ARGMIN and ARGMAX: where the least or largest element lies among those along some axes."""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of
from dml_conformance.spec.operator import Shapes, operator_spec, output_sizes
from dml_conformance.spec.structures import ArgReduce


def shape(desc: ArgReduce) -> Shapes:
    """The input's sizes with 1 along each of Axes."""
    return {"output_tensor": tuple([1 if d in desc.axes else n for d, n in enumerate(desc.input_tensor.sizes)])}


RULES = (axis_of("Axes"), output_sizes("axes-range"))
SPECS = tuple(operator_spec(name, shape=shape, own_rules=RULES) for name in ("ARGMIN", "ARGMAX"))
