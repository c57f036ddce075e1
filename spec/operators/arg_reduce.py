"""DML_OPERATOR_ARGMIN and ARGMAX: where the least or largest element lies among those along some axes."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    OperatorSpec,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source


def shape(desc: Any) -> Shapes:
    """The input's sizes with 1 along each of Axes."""
    return {"output_tensor": tuple([1 if d in desc.axes else n for d, n in enumerate(desc.input_tensor.sizes)])}


def _axes_range(desc: Any, level: Level) -> list[Breach]:
    count = len(desc.input_tensor.sizes)
    return [
        Breach(f"Axes[{n}]", f"{axis}, InputTensor has {count} dimensions")
        for n, axis in enumerate(desc.axes)
        if axis >= count
    ]


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
            Rule(
                f"{name}.axes-range",
                Category.ATTRIBUTES,
                "every one of Axes is below InputTensor.DimensionCount",
                Source(page, "Axes"),
                "count axes from 0, over all dimensions, leading ones included",
                check=_axes_range,
                needs=shapes_comparable(name),
            ),
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
