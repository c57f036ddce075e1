"""What operators share that take a number as DML_SCALAR_UNION."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import ids
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source


def value_data_type_rule(operator: str, page: str) -> Rule:
    """ValueDataType is the data type of OutputTensor."""

    def check(desc: Any, level: Level) -> Breach | None:
        wanted = desc.output_tensor.data_type
        if desc.value_data_type == wanted:
            return None
        return Breach("ValueDataType", f"{DataType(desc.value_data_type).name}, OutputTensor has {wanted.name}")

    return Rule(
        f"{operator}.value-data-type",
        Category.AGREEMENT,
        "ValueDataType is the data type of OutputTensor",
        Source(page, "ValueDataType"),
        "give both the same data type",
        check=check,
        needs=ids(operator, "introduced-in", "required-tensors", "enumerators", "data-types", "same-data-type")
        | {"TENSOR.type", "TENSOR.data-type"},
    )
