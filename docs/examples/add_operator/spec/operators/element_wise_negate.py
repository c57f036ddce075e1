"""The operator that negates: ELEMENT_WISE_NEGATE."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import Shapes, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_element_wise_negate_operator_desc"


def shape(desc: Any) -> Shapes:
    """The output has the input's sizes."""
    return {"output_tensor": desc.input_tensor.sizes}


SPECS = (
    operator_spec(
        "ELEMENT_WISE_NEGATE",
        shape=shape,
        own_rules=(
            output_sizes_rule(
                "ELEMENT_WISE_NEGATE", Source(PAGE, "Tensor constraints"), shapes_comparable("ELEMENT_WISE_NEGATE")
            ),
        ),
        execution_rules=(
            Rule(
                "ELEMENT_WISE_NEGATE.values",
                Category.EXECUTION,
                "an output element is the input's with the opposite sign; left open are NaN, zeros and subnormals, and "
                "the least integer of the type",
                Source(PAGE, "Description"),
            ),
        ),
        domains={"InputTensor": "numbers"},
        summary="negates every element",
        pseudocode="output[c...] = -input[c...]",
    ),
)
