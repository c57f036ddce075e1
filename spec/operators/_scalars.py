"""What operators share that take a number as DML_SCALAR_UNION."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import ids
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source


def value_data_type_rule(operator: str, page: str, member: str = "ValueDataType") -> Rule:
    """ValueDataType, or the member of another name that says what the numbers are, is the data type of OutputTensor."""
    attribute = attribute_of(member)

    def check(desc: Any, level: Level) -> Breach | None:
        wanted, found = desc.output_tensor.data_type, getattr(desc, attribute)
        if found == wanted:
            return None
        return Breach(member, f"{DataType(found).name}, OutputTensor has {wanted.name}")

    return Rule(
        f"{operator}.{attribute.replace('_', '-')}",
        Category.AGREEMENT,
        f"{member} is the data type of OutputTensor",
        Source(page, member),
        "give both the same data type",
        check=check,
        needs=ids(operator, "introduced-in", "required-tensors", "enumerators", "data-types", "same-data-type")
        | {"TENSOR.type", "TENSOR.data-type"},
    )
