"""DML_OPERATOR_TOP_K and TOP_K1: the K largest elements of each sequence along one axis, in order, and their indices.

TOP_K1 can take the smallest instead; TOP_K is TOP_K1 with an AxisDirection of DECREASING.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of, below, size_along, within
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

ALONG = size_along("InputTensor", "Axis")


def shape(desc: Any) -> Shapes | Misfit:
    """Of both outputs: the input's sizes with K along Axis."""
    sizes = desc.input_tensor.sizes
    if desc.axis >= len(sizes):
        return Misfit("Axis", f"{desc.axis}, InputTensor has {len(sizes)} dimensions")
    selected = (*sizes[: desc.axis], desc.k, *sizes[desc.axis + 1 :])
    return {"output_value_tensor": selected, "output_index_tensor": selected}


def _operator(name: str, all_of_them: str, boundary: str, unordered: str, **stated: Any) -> OperatorSpec:
    """One of the two, with the errata on a K of all elements, on ties at the last place and on what has no order."""
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    in_range = shapes_comparable(name) | ids(name, "axis-range")
    return operator_spec(
        name,
        shape=shape,
        groups={"OutputIndexTensor": ""},
        domains={"InputTensor": "comparable"},
        own_rules=(
            axis_of("Axis"),
            within(
                "K",
                1,
                ALONG,
                statement="K is above 0 and not above the size of InputTensor along Axis",
                remedy="select at least one element, and no more than there are",
                after=("axis-range",),
            ),
            below(
                "K",
                ALONG._replace(told="all elements along Axis"),
                name="k-of-all",
                statement="the page has K below the size of InputTensor along Axis, so that no axis of size 1 could be "
                "selected from and no sequence be sorted whole",
                remedy="select fewer elements than there are along Axis",
                after=("axis-range", "k-range"),
                erratum=all_of_them,
            ),
            output_sizes_rule(name, Source(page, "OutputValueTensor"), in_range | ids(name, "k-range")),
        ),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                "OutputValueTensor has the selected elements of each sequence in order, OutputIndexTensor their places "
                "along Axis; of equal elements those of lower index are selected, and come, first",
                Source(page, "OutputIndexTensor"),
                settles=(boundary, unordered),
            ),
        ),
        **stated,
    )


SPECS = (
    _operator(
        "TOP_K",
        "TOP_K-2",
        "TOP_K-3",
        "TOP_K-4",
        summary="selects the K largest elements of each sequence along Axis, and their indices",
        pseudocode="index[..., :, ...] = argsort(-input along Axis, stable)[:K]; value = input[index]",
    ),
    _operator(
        "TOP_K1",
        "TOP_K1-1",
        "TOP_K1-2",
        "TOP_K1-3",
        summary="selects the K largest or smallest elements of each sequence along Axis, and their indices",
        pseudocode="index[..., :, ...] = argsort(input, or -input, along Axis, stable)[:K]; value = input[index]",
    ),
)
