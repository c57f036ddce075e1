"""The rule of operators whose DimensionCount counts arrays, besides the dimensions of their tensors."""

from __future__ import annotations

from dml_conformance.spec.constraints import Constraint, count, rank
from dml_conformance.spec.descriptor import OperatorDesc, Role, descriptor_classes
from dml_conformance.spec.operator import Misfit, inputs, no_misfit


def uneven_array(desc: OperatorDesc) -> Misfit | None:
    """An array without one entry for each dimension of the input."""
    rank = len(inputs(desc)[0].tensor.sizes)
    for field in desc.fields:
        if field.count_field == "DimensionCount" and len(getattr(desc, field.attribute)) != rank:
            found = f"{len(getattr(desc, field.attribute))} {field.name}, the tensors have {rank} dimensions"
            return Misfit(field.count_field, found)
    return None


def array_lengths(operator: str) -> Constraint:
    """`DimensionCount` is that of the tensors."""
    fields = descriptor_classes()[operator].fields
    return count(
        tuple(field.name for field in fields if field.count_field == "DimensionCount"),
        rank(next(field.name for field in fields if field.role is Role.INPUT)),
        name="array-lengths",
        statement="DimensionCount is that of the tensors, so every array has one entry for each dimension",
        section="DimensionCount",
        remedy="give each array one entry for each dimension",
        check=no_misfit(uneven_array),
    )
