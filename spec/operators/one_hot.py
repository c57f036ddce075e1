"""DML_OPERATOR_ONE_HOT: sequences along one axis, all off but for the element that an index names."""

from __future__ import annotations

from math import prod
from typing import Any

from dml_conformance.spec.constraints import axis_of, size_within
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    Misfit,
    Shapes,
    ids,
    is_whole,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_one_hot_operator_desc"


def axis_limit(desc: Any) -> tuple[int, ...]:
    """The size of the output along Axis, which the indices run over."""
    return (desc.output_tensor.sizes[desc.axis],)


def shape(desc: Any) -> Shapes | Misfit:
    """The sizes of the indices, along Axis whatever size the output is given."""
    sizes, given, axis = desc.indices_tensor.sizes, desc.output_tensor.sizes, desc.axis
    if axis >= min(len(sizes), len(given)):
        return Misfit("Axis", f"{axis}, the tensors have {len(sizes)} and {len(given)} dimensions")
    return {"output_tensor": (*sizes[:axis], given[axis], *sizes[axis + 1 :])}


def _values_count(desc: Any, level: Level) -> Breach | None:
    count = prod(desc.values_tensor.sizes)
    return None if count >= 2 else Breach("ValuesTensor.Sizes", f"{count} element")


_COMPARABLE = shapes_comparable("ONE_HOT")

ONE_HOT = operator_spec(
    "ONE_HOT",
    shape=shape,
    groups={"IndicesTensor": INDICES},
    own_rules=(
        axis_of("Axis", "IndicesTensor"),
        size_within(
            "IndicesTensor",
            "Axis",
            1,
            1,
            name="indices-along-axis",
            remedy="give one index for each sequence",
            after=("axis-range",),
        ),
        Rule(
            "ONE_HOT.values-count",
            Category.SHAPE,
            "ValuesTensor has at least two elements",
            Source(PAGE, "ValuesTensor"),
            "give the value for off, then the one for on",
            check=_values_count,
            needs=_COMPARABLE,
        ),
        output_sizes_rule(
            "ONE_HOT", Source(PAGE, "OutputTensor"), _COMPARABLE | ids("ONE_HOT", "axis-range", "indices-along-axis")
        ),
    ),
    execution_rules=(
        Rule(
            "ONE_HOT.values",
            Category.EXECUTION,
            "in each sequence along Axis the element that the index names is the second one of ValuesTensor, the last "
            "dimension running fastest, and all others are the first one, bit for bit",
            Source(PAGE, "Description"),
            settles=("ONE_HOT-4",),
        ),
        Rule(
            "ONE_HOT.negative-indices",
            Category.EXECUTION,
            "a negative index of a signed type counts from the end of the sequence: -1 is the last element",
            Source(PAGE, "IndicesTensor"),
            since=Level.L3_0,
        ),
        Rule(
            "ONE_HOT.out-of-range-indices",
            Category.EXECUTION,
            "an index of at least the size along Axis names no element; what one does that is negative beyond that "
            "size is left open, but for every element being one of ValuesTensor",
            Source(PAGE, "IndicesTensor"),
            settles=("ONE_HOT-1", "ONE_HOT-2"),
        ),
    ),
    summary="makes sequences along Axis that are off everywhere but at an index",
    pseudocode="output[..., i, ...] = i == indices[..., 0, ...] ? on : off",
    index=IndexRule("indices_tensor", "output_tensor", axis_limit),
)

SPECS = (ONE_HOT,)


def values_of_another_dimension_count(desc: Any) -> bool:
    """Whether ValuesTensor alone has a DimensionCount of its own."""
    if not is_whole(desc):
        return False
    count = len(desc.output_tensor.sizes)
    return len(desc.indices_tensor.sizes) == count != len(desc.values_tensor.sizes)


DIVERGENCES = {"DIV-one-hot-values-of-another-dimension-count": values_of_another_dimension_count}
