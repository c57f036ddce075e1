"""DML_OPERATOR_REDUCE: a sum, an extreme or its place, or another of twelve functions of the elements along some axes.

Each function has its own tables, so all of a descriptor's types depend on Function.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, checked, types_comparable
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import operator_spec, output_sizes
from dml_conformance.spec.operators.arg_reduce import shape
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.structures import Reduce

FUNCTION = enumeration("DML_REDUCE_FUNCTION")
PLACES = frozenset({FUNCTION.ARGMAX, FUNCTION.ARGMIN})


def _same_data_type(desc: Reduce, level: Level) -> Breach | None:
    of, to = desc.input_tensor.data_type, desc.output_tensor.data_type
    if desc.function in PLACES or of is to:
        return None
    return Breach("OutputTensor.DataType", f"{to.name}, InputTensor is {of.name}")


REDUCE = operator_spec(
    "REDUCE",
    shape=shape,
    own_rules=(
        checked("same-data-type", _same_data_type, Category.AGREEMENT, types_comparable),
        axis_of("Axes"),
        output_sizes("axes-range"),
    ),
)
SPECS = (REDUCE,)


def negative_function(desc: Reduce) -> bool:
    """Whether Function is negative as an INT, and the tensors are of floating-point numbers."""
    return desc.function >= 2**31 and desc.input_tensor is not None and desc.input_tensor.data_type.is_float


DIVERGENCES = {"DIV-reduce-function-beyond-int": negative_function}
