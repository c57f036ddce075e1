"""Rules that the operators which read through an index tensor share."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import ids, shapes_comparable
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source


def axis_limit(desc: Any) -> tuple[int, ...]:
    """The size of the input along Axis, which the indices run over."""
    return (desc.input_tensor.sizes[desc.axis],)


def axis_range_rule(operator: str, page: str, tensor: str = "InputTensor", **more: Any) -> Rule:
    """`0 <= Axis < InputTensor.DimensionCount`, or that of another tensor."""

    def check(desc: Any, level: Level) -> Breach | None:
        count = len(getattr(desc, attribute_of(tensor)).sizes)
        return None if desc.axis < count else Breach("Axis", f"{desc.axis}, {tensor} has {count} dimensions")

    return Rule(
        f"{operator}.axis-range",
        Category.ATTRIBUTES,
        f"Axis is below {tensor}.DimensionCount",
        Source(page, "Axis"),
        "count axes from 0, over all dimensions, leading ones included",
        check=check,
        needs=shapes_comparable(operator),
        **more,
    )


def sizes_off_axis_rule(operator: str, page: str) -> Rule:
    """IndicesTensor has the sizes of InputTensor but along Axis."""

    def check(desc: Any, level: Level) -> list[Breach]:
        pairs = zip(desc.input_tensor.sizes, desc.indices_tensor.sizes, strict=True)
        return [
            Breach(f"IndicesTensor.Sizes[{d}]", f"{index_size}, InputTensor has {input_size}")
            for d, (input_size, index_size) in enumerate(pairs)
            if d != desc.axis and input_size != index_size
        ]

    return Rule(
        f"{operator}.sizes-off-axis",
        Category.SHAPE,
        "IndicesTensor has the sizes of InputTensor in every dimension but Axis",
        Source(page, "IndicesTensor"),
        "give both the same sizes off the axis",
        check=check,
        needs=shapes_comparable(operator) | ids(operator, "axis-range"),
    )


def dimension_count_range_rule(operator: str, page: str, tensor: str, field: str, **more: Any) -> Rule:
    """`1 <= InputDimensionCount <= InputTensor.DimensionCount`, and the same for the indices."""
    attribute = {"InputDimensionCount": "input_dimension_count", "IndicesDimensionCount": "indices_dimension_count"}
    tensor_attribute = {"InputTensor": "input_tensor", "IndicesTensor": "indices_tensor"}[tensor]

    def check(desc: Any, level: Level) -> Breach | None:
        value, count = getattr(desc, attribute[field]), len(getattr(desc, tensor_attribute).sizes)
        return None if 1 <= value <= count else Breach(field, f"{value}, {tensor} has {count} dimensions")

    name = "input" if tensor == "InputTensor" else "indices"
    return Rule(
        f"{operator}.{name}-dimension-count",
        Category.ATTRIBUTES,
        f"{field} is from 1 to {tensor}.DimensionCount",
        Source(page, field),
        f"count the meaningful dimensions of {tensor}, without its leading ones",
        check=check,
        needs=shapes_comparable(operator),
        **more,
    )


def indexing_execution_rules(
    operator: str, page: str, dimension: str, *, silent: tuple[str, ...] = ()
) -> tuple[Rule, ...]:
    """What executing an indexing operator has to do with its values and indices.

    Args:
        operator: name of the operator.
        page: its page.
        dimension: what an index runs over, in words.
        silent: the erratum which says that the page has no word on indices out of range; GATHER's page has.
    """
    return (
        Rule(
            f"{operator}.values",
            Category.EXECUTION,
            "every output element is the input element that the indices name, bit for bit",
            Source(page),
        ),
        Rule(
            f"{operator}.negative-indices",
            Category.EXECUTION,
            f"a negative index of a signed type counts from the end of {dimension}: -1 is the last element",
            Source(page, "IndicesTensor"),
            since=Level.L3_0,
        ),
        Rule(
            f"{operator}.out-of-range-indices",
            Category.EXECUTION,
            "an index out of range does not fail; what it reads is some element of the input tensor's memory",
            Source(page, "IndicesTensor"),
            settles=silent,
        ),
    )
