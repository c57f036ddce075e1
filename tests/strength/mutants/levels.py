"""Feature levels: what a level lacks is accepted, what it has is refused."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from dml_conformance.backends.base import Answer
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import slots
from dml_conformance.spec.levels import HIGHEST, LOWEST, Level
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.registry import operators
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import max_dimension_count
from strength.mutants.base import (
    GATHERS,
    REFERENCE,
    RejectsValid,
    WrongDecision,
    breaks_alone,
    plants,
    tensors,
    with_named_type,
)


class DecidesByTheHighestLevel(WrongDecision):
    """Goes by the newest tables, whatever level it is asked for."""

    rules = ("introduced-in", "data-types", "dimension-counts", "zero-point", "TENSOR.dimension-count")

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        return level < max(operators()[operator].tables)

    def level_seen(self, desc: Any, level: Level) -> Level:
        return HIGHEST


class DecidesByTheLevelBefore(WrongDecision):
    """Has a level begin one level too late."""

    rules = (ACCEPTANCE,)

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        return level > LOWEST and level in operators()[operator].tables

    def level_seen(self, desc: Any, level: Level) -> Level:
        return max((lower for lower in Level if lower < level), default=level)


class AcceptsLaterOperators(WrongDecision):
    """Has an operator at levels before the one that introduced it."""

    rules = ("introduced-in",)

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        return level < operators()[operator].introduced_in

    def level_seen(self, desc: Any, level: Level) -> Level:
        return max(level, operators()[desc.operator].introduced_in)


class AcceptsLaterFloat64(WrongDecision):
    """Accepts FLOAT64 where only a later table has it."""

    rules = ("data-types",)

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        return super().shows_at(operator, level) and not _has(operator, level) and _has(operator, HIGHEST)

    def level_seen(self, desc: Any, level: Level) -> Level:
        return HIGHEST if any(tensor.data_type is DataType.FLOAT64 for _, tensor in tensors(desc)) else level


class AcceptsFloat64AsInt64(WrongDecision):
    """Takes FLOAT64 for another type of 64 bits, where only integers may be as wide."""

    rules = ("data-types",)

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        integers = _has(operator, level, DataType.INT64)
        return super().shows_at(operator, level) and integers and not _has(operator, level)

    def seen(self, desc: Any) -> Any:
        return super().seen(with_named_type(desc, DataType.FLOAT64, DataType.INT64))

    def tensor_seen(self, tensor: TensorDesc) -> TensorDesc:
        return replace(tensor, data_type=DataType.INT64) if tensor.data_type is DataType.FLOAT64 else tensor


def _has(operator: str, level: Level, data_type: DataType = DataType.FLOAT64) -> bool:
    table = operators()[operator].table_at(level)
    return table is not None and data_type in table[operators()[operator].output_fields[0].name].data_types


@plants("seen", WrongDecision, until="3_0", families=GATHERS, rules=("data-types",))
def AcceptsLaterIndexTypes(desc: Any) -> Any:
    """Accepts INT32 indices where they have to be UINT32."""
    indices = desc.indices_tensor
    if indices is None or indices.data_type is not DataType.INT32:
        return desc
    return replace(desc, indices_tensor=replace(indices, data_type=DataType.UINT32))


class AcceptsLaterRank3(WrongDecision):
    """Accepts 3 dimensions where only 4 are."""

    rules = ("dimension-counts",)
    count: ClassVar[int] = 3

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        later = _first_of_rank(operator, cls.count)
        return super().shows_at(operator, level) and later is not None and level < later

    def level_seen(self, desc: Any, level: Level) -> Level:
        if any(len(tensor.sizes) != self.count for _, tensor in tensors(desc)):
            return level
        return max(level, _first_of_rank(desc.operator, self.count) or level)


def _first_of_rank(operator: str, count: int) -> Level | None:
    """The first level whose table allows this dimension count of every tensor."""
    tables = sorted(operators()[operator].tables.items())
    return next((at for at, table in tables if all(count in row.dimension_counts for row in table.values())), None)


class AcceptsLaterRank5(AcceptsLaterRank3):
    """The same of 5 dimensions."""

    count = 5


class ChecksRanksOfTheFirstGroup(WrongDecision):
    """Looks for the dimension count of data tensors alone, and at no scale's, zero point's or state's."""

    rules = ("dimension-counts",)

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        spec, most = operators()[operator], max_dimension_count(level)
        table = spec.table_at(level) or {}
        counts = [table[name].dimension_counts for name in table if name not in _first_group(spec)]
        return super().shows_at(operator, level) and any(row and row < set(range(1, most + 1)) for row in counts)

    def validate(self, desc: Any, level: Level) -> Answer:
        if breaks_alone(desc, level, f"{desc.operator}.dimension-counts"):
            spec = operators()[desc.operator]
            table, first = spec.table_at(level, spec.variant(desc)) or {}, _first_group(spec)
            looked_at = [slot for slot in slots(desc) if slot.field.name in first]
            return Answer(all(len(slot.tensor.sizes) in table[slot.field.name].dimension_counts for slot in looked_at))
        return REFERENCE.validate(desc, level)


def _first_group(spec: OperatorSpec) -> set[str]:
    """The tensors that share their dimension count with the first one."""
    return {field.name for field in next(iter(spec.rank_groups.values()))}


@plants("validate", WrongDecision, since="3_0", rules=("TENSOR.dimension-count",))
def AcceptsNineDimensions(desc: Any, level: Level) -> Answer:
    """Has room for a dimension more than any level has."""
    if breaks_alone(desc, level, "TENSOR.dimension-count"):
        return Answer(all(len(tensor.sizes) <= 9 for _, tensor in tensors(desc)))
    return REFERENCE.validate(desc, level)


class RejectsEightDimensions(RejectsValid):
    """Has room for a dimension less than the levels from 3_0 on have."""

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        later = _first_of_rank(operator, 8)
        return super().shows_at(operator, level) and later is not None and level >= later

    def refused(self, desc: Any) -> bool:
        return any(len(tensor.sizes) == 8 for _, tensor in tensors(desc))
