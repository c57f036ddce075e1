"""DML_OPERATOR_CAST: every element as a value of the output's data type."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_cast_operator_desc"


def shape(desc: Any) -> Shapes | Misfit:
    """The input's sizes."""
    return {"output_tensor": desc.input_tensor.sizes}


CAST = operator_spec(
    "CAST",
    shape=shape,
    groups={"OutputTensor": ""},
    own_rules=(output_sizes_rule("CAST", Source(PAGE, "Tensor constraints"), shapes_comparable("CAST")),),
    execution_rules=(
        Rule(
            "CAST.values",
            Category.EXECUTION,
            "a value that the output's type has stays what it is; of one between two values of that type comes one of "
            "the two, infinity among those of a floating-point type; a subnormal one may become zero; a NaN stays a "
            "NaN; what an integer type does not reach, and a NaN cast to one, is left open",
            Source(PAGE, "Description"),
            settles=("CAST-3",),
        ),
    ),
    domains={"InputTensor": "numbers"},
    summary="converts every element to the data type of the output",
    pseudocode="output[c...] = (type of the output) input[c...]",
)

SPECS = (CAST,)
