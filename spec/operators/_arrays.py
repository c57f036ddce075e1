"""The rule of operators whose DimensionCount counts arrays, besides the dimensions of their tensors."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, inputs, shapes_comparable
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source


def uneven_array(desc: Any) -> Misfit | None:
    """An array without one entry for each dimension of the input."""
    rank = len(inputs(desc)[0].tensor.sizes)
    for field in desc.fields:
        if field.count_field == "DimensionCount" and len(getattr(desc, field.attribute)) != rank:
            found = f"{len(getattr(desc, field.attribute))} {field.name}, the tensors have {rank} dimensions"
            return Misfit(field.count_field, found)
    return None


def array_lengths_rule(operator: str, page: str) -> Rule:
    """`DimensionCount` is that of the tensors."""

    def check(desc: Any, level: Level) -> Breach | None:
        found = uneven_array(desc)
        return None if found is None else Breach(*found)

    return Rule(
        f"{operator}.array-lengths",
        Category.ATTRIBUTES,
        "DimensionCount is that of the tensors, so every array has one entry for each dimension",
        Source(page, "DimensionCount"),
        "give each array one entry for each dimension",
        check=check,
        needs=shapes_comparable(operator),
    )
