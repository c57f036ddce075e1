"""DML_OPERATOR_ARGMIN and ARGMAX: where the least or largest element lies among those along some axes."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of
from dml_conformance.spec.operator import (
    OperatorSpec,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source


def shape(desc: Any) -> Shapes:
    """The input's sizes with 1 along each of Axes."""
    return {"output_tensor": tuple([1 if d in desc.axes else n for d, n in enumerate(desc.input_tensor.sizes)])}


def _operator(name: str, extreme: str, unordered: str, order_of_axes: str) -> OperatorSpec:
    """One of the two, with the errata on elements that have no order and on the order of Axes."""
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    in_range = shapes_comparable(name) | ids(name, "axes-range")
    return operator_spec(
        name,
        shape=shape,
        groups={"OutputTensor": ""},
        domains={"InputTensor": "comparable"},
        own_rules=(
            axis_of("Axes"),
            output_sizes_rule(name, Source(page, "OutputTensor"), in_range),
        ),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                f"every output element is the index of the {extreme} of the elements along Axes, counted in row-major "
                "order; of equal ones the first where AxisDirection is INCREASING, else the last",
                Source(page, "AxisDirection"),
                settles=(unordered, order_of_axes),
            ),
        ),
        summary=f"finds the index of the {extreme} element along some axes",
        pseudocode=f"output[c] = {name.lower()}(input[c with every coordinate along Axes], row-major)",
    )


SPECS = (
    _operator("ARGMIN", "least", "ARGMIN-2", "ARGMIN-3"),
    _operator("ARGMAX", "largest", "ARGMAX-2", "ARGMAX-3"),
)
