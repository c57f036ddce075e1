"""Data types that are taken for others, or refused."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import slots, with_tensors
from dml_conformance.spec.registry import rules_of, spec_of
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide
from strength.mutants.base import (
    GATHERS,
    RejectsValid,
    WrongDecision,
    least_total,
    plants,
    rows_of,
    with_named_type,
)


class AcceptsUint4(WrongDecision):
    """Takes a 4-bit type, whose size it does not know, for UINT8."""

    rules = ("data-types",)
    also = ("value-data-type", "min-max-data-type")  # where the type beside a number is another than the tensors'

    @staticmethod
    def where(operator: str, level: Level) -> bool:
        rows = rows_of(operator, level).values()
        return any({DataType.UINT8, DataType.UINT4} & set(row.data_types) == {DataType.UINT8} for row in rows)

    def seen(self, desc: Any) -> Any:
        return super().seen(with_named_type(desc, DataType.UINT4, DataType.UINT8))

    def tensor_seen(self, tensor: TensorDesc) -> TensorDesc:
        if tensor.data_type is not DataType.UINT4:
            return tensor
        wider = replace(tensor, data_type=DataType.UINT8)
        return replace(wider, total_tensor_size_in_bytes=least_total(wider))


@plants("seen", WrongDecision, since="3_0", families=GATHERS, rules=("data-types",))
def AcceptsInt16Indices(desc: Any) -> Any:
    indices = desc.indices_tensor
    if indices is None or indices.data_type is not DataType.INT16:
        return desc
    total = 2 * indices.total_tensor_size_in_bytes
    return replace(desc, indices_tensor=replace(indices, data_type=DataType.INT32, total_tensor_size_in_bytes=total))


@plants("seen", WrongDecision, rules=("same-data-type",))
def ConvertsDataTypes(desc: Any) -> Any:
    """Accepts an output of another data type, as if it were a cast."""
    by_group: dict[str, DataType] = {}
    changed, spec = {}, spec_of(desc)
    (rule,) = (rule for rule in rules_of(spec.name) if rule.id == f"{spec.name}.same-data-type")
    if rule.id not in decide(desc, HIGHEST).rules:  # the data types may differ, as those of ARGMAX in REDUCE
        return desc
    for slot in slots(desc):
        group = spec.group(slot.field) if rule.constraint else ""  # a rule of an operator's own knows no groups
        tensor, data_type = slot.tensor, by_group.setdefault(group, slot.tensor.data_type)
        if tensor.data_type.size and data_type.size:
            total = tensor.total_tensor_size_in_bytes * data_type.size // tensor.data_type.size
            changed[slot.key] = replace(tensor, data_type=data_type, total_tensor_size_in_bytes=total)
    return with_tensors(desc, changed)


def _has_int8(operator: str, level: Level) -> bool:
    return any(DataType.INT8 in row.data_types for row in rows_of(operator, level).values())


@plants("tensor_refused", RejectsValid, where=_has_int8)
def RejectsInt8(tensor: TensorDesc) -> bool:
    """Has no 8-bit integers of a sign."""
    return tensor.data_type is DataType.INT8


@plants("refused", RejectsValid, since="3_0", families=GATHERS)
def RejectsUint64Indices(desc: Any) -> bool:
    return desc.indices_tensor.data_type is DataType.UINT64
