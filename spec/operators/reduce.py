"""DML_OPERATOR_REDUCE: a sum, an extreme or its place, or another of twelve functions of the elements along some axes.

Each function has its own tables, so all of a descriptor's types depend on Function.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import ids, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.operators._element_wise import formula_rule
from dml_conformance.spec.operators.arg_reduce import shape
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source

NAME = "REDUCE"
PAGE = "ns-directml-dml_reduce_operator_desc"
FUNCTION = enumeration("DML_REDUCE_FUNCTION")
PLACES = frozenset({FUNCTION.ARGMAX, FUNCTION.ARGMIN})
PRIMITIVES = ("add", "multiply", "divide", "sqrt", "exp", "log")


def _same_data_type(desc: Any, level: Level) -> Breach | None:
    of, to = desc.input_tensor.data_type, desc.output_tensor.data_type
    if desc.function in PLACES or of is to:
        return None
    return Breach("OutputTensor.DataType", f"{to.name}, InputTensor is {of.name}")


REDUCE = operator_spec(
    NAME,
    shape=shape,
    groups={"OutputTensor": ""},
    own_rules=(
        Rule(
            f"{NAME}.same-data-type",
            Category.AGREEMENT,
            "InputTensor and OutputTensor have the same DataType, unless Function is ARGMAX or ARGMIN",
            Source(PAGE, "Tensor constraints"),
            "give the output the data type of the input",
            check=_same_data_type,
            needs=ids(NAME, "introduced-in", "required-tensors", "enumerators", "data-types")
            | {"TENSOR.type", "TENSOR.data-type"},
            settles=("REDUCE-2", "REDUCE-3"),
        ),
        axis_of("Axes"),
        output_sizes_rule(NAME, Source(PAGE, "OutputTensor"), shapes_comparable(NAME) | ids(NAME, "axes-range")),
    ),
    execution_rules=(
        Rule(
            f"{NAME}.values",
            Category.EXECUTION,
            "every output element is Function of the elements along Axes: AVERAGE their mean, L1 the sum of their "
            "magnitudes, L2 the root of that of their squares, LOG_SUM the logarithm of their sum, LOG_SUM_EXP that of "
            "the sum of their exponentials, as if none overflowed, MAX and MIN one of them, beside a NaN it or another "
            "one, MULTIPLY their product, SUM their sum, SUM_SQUARE that of their squares; ARGMAX and ARGMIN the index "
            "of the first of the largest or least, in row-major order, left open beside a NaN, of zeros and "
            "subnormals; integers lose the bits that their type does not have; left open where an axis is named twice",
            Source(PAGE, "Function"),
            settles=("REDUCE-4", "REDUCE-5"),
            also=(Source("ne-directml-dml_reduce_function", "Constants"),),
        ),
        formula_rule(NAME, PRIMITIVES),
    ),
    primitives=PRIMITIVES,
    domains={"InputTensor": "sums"},
    summary="reduces the elements along some axes to one, such as their sum",
    pseudocode="output[c] = Function(input[c with every coordinate along Axes])",
)
SPECS = (REDUCE,)


def negative_function(desc: Any) -> bool:
    """Whether Function is negative as an INT, and the tensors are of floating-point numbers."""
    return desc.function >= 2**31 and desc.input_tensor is not None and desc.input_tensor.data_type.is_float


DIVERGENCES = {"DIV-reduce-function-beyond-int": negative_function}
