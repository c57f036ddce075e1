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
    rows_of,
    tensors,
    types_of_output,
    variant,
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


FLOAT64, INT64 = DataType.FLOAT64, DataType.INT64


def _has_later_float64(operator: str, level: Level) -> bool:
    return FLOAT64 not in types_of_output(operator, level) and FLOAT64 in types_of_output(operator, HIGHEST)


@plants("level_seen", WrongDecision, where=_has_later_float64, rules=("data-types",))
def AcceptsLaterFloat64(desc: Any, level: Level) -> Level:
    """Accepts FLOAT64 where only a later table has it."""
    return HIGHEST if any(tensor.data_type is FLOAT64 for _, tensor in tensors(desc)) else level


class AcceptsFloat64AsInt64(WrongDecision):
    """Takes FLOAT64 for another type of 64 bits, where only integers may be as wide."""

    rules = ("data-types",)

    @staticmethod
    def where(operator: str, level: Level) -> bool:
        return {INT64, FLOAT64} & types_of_output(operator, level) == {INT64}

    def seen(self, desc: Any) -> Any:
        return super().seen(with_named_type(desc, FLOAT64, INT64))

    def tensor_seen(self, tensor: TensorDesc) -> TensorDesc:
        return replace(tensor, data_type=INT64) if tensor.data_type is FLOAT64 else tensor


@plants("seen", WrongDecision, until="3_0", families=GATHERS, rules=("data-types",))
def AcceptsLaterIndexTypes(desc: Any) -> Any:
    """Accepts INT32 indices where they have to be UINT32."""
    indices = desc.indices_tensor
    if indices is None or indices.data_type is not DataType.INT32:
        return desc
    return replace(desc, indices_tensor=replace(indices, data_type=DataType.UINT32))


def first_of_rank(operator: str, count: int) -> Level | None:
    """The first level whose table allows this dimension count of every tensor."""
    tables = sorted(operators()[operator].tables.items())
    return next((at for at, table in tables if all(count in row.dimension_counts for row in table.values())), None)


class AcceptsLaterRank(WrongDecision, abstract=True):
    """Accepts a dimension count that only later levels have."""

    rules = ("dimension-counts",)
    count: ClassVar[int]

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        later = first_of_rank(operator, cls.count)
        return super().shows_at(operator, level) and later is not None and level < later

    def level_seen(self, desc: Any, level: Level) -> Level:
        if any(len(tensor.sizes) != self.count for _, tensor in tensors(desc)):
            return level
        return max(level, first_of_rank(desc.operator, self.count) or level)


variant("AcceptsLaterRank3", AcceptsLaterRank, count=3, __doc__="Accepts 3 dimensions where only 4 are.")
variant("AcceptsLaterRank5", AcceptsLaterRank, count=5, __doc__="The same of 5 dimensions.")


def _has_fewer_elsewhere(operator: str, level: Level) -> bool:
    every, first = set(range(1, max_dimension_count(level) + 1)), _first_group(operators()[operator])
    counts = [row.dimension_counts for name, row in rows_of(operator, level).items() if name not in first]
    return any(some and some < every for some in counts)


@plants("validate", WrongDecision, where=_has_fewer_elsewhere, rules=("dimension-counts",))
def ChecksRanksOfTheFirstGroup(desc: Any, level: Level) -> Answer:
    """Looks for the dimension count of data tensors alone, and at no scale's, zero point's or state's."""
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


def _has_eight(operator: str, level: Level) -> bool:
    later = first_of_rank(operator, 8)
    return later is not None and level >= later


@plants("tensor_refused", RejectsValid, where=_has_eight)
def RejectsEightDimensions(tensor: TensorDesc) -> bool:
    """Has room for a dimension less than the levels from 3_0 on have."""
    return len(tensor.sizes) == 8
