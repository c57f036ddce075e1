"""What a builder is told: where its decisions come from, and what it may build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, INDICES, OperatorSpec, Table
from dml_conformance.spec.registry import operators
from dml_conformance.strategies.chooser import Chooser, Impossible

__all__ = ["SIMPLEST_FIRST", "Context", "Impossible"]


# Data types from the simplest, so that a shrunk descriptor is FLOAT32 and its indices UINT32.
SIMPLEST_FIRST = (
    DataType.FLOAT32,
    DataType.UINT32,
    DataType.INT32,
    DataType.FLOAT16,
    DataType.UINT16,
    DataType.INT16,
    DataType.UINT8,
    DataType.INT8,
    DataType.INT64,
    DataType.UINT64,
    DataType.FLOAT64,
    DataType.UINT4,
    DataType.INT4,
)


class Context(msgspec.Struct, frozen=True):
    """The frame of one descriptor.

    Attributes:
        chooser: makes the decisions.
        level: the feature level the descriptor is for.
        ranks: dimension counts to choose from, ascending, of the tensors that share theirs with the first one.
        types: data types to choose from for each group of tensors that share theirs.
        table: the level's table, of a variant where there are several.
        spread: the output has more than one element.
        complete: every optional tensor is given.
        layout: `any` of the memory layouts, `packed` only, or `strided` only (strides given, not the packed ones
            where a tensor is large enough to have others).
    """

    chooser: Chooser
    level: Level
    ranks: tuple[int, ...]
    types: Mapping[str, tuple[DataType, ...]]
    table: Table
    spread: bool = False
    complete: bool = False
    layout: str = "any"

    @classmethod
    def at(cls, chooser: Chooser, spec: OperatorSpec, level: Level) -> Context:
        """What the operator's table allows at a level, or the oldest table below its introduction."""
        return cls(chooser, level, *_allowed(spec.name, level))

    @property
    def data_types(self) -> tuple[DataType, ...]:
        """For the tensors of the group `data`."""
        return self.types.get(DATA, ())

    @property
    def index_types(self) -> tuple[DataType, ...]:
        """For the index tensor; empty where there is none."""
        return self.types.get(INDICES, ())

    @property
    def least(self) -> int:
        """The least size of a dimension: 2 where the output has more than one element, whatever it is made of."""
        return 2 if self.spread else 1

    def driven_by(self, chooser: Chooser) -> Context:
        """The same choices, made by another chooser."""
        return Context(chooser, self.level, self.ranks, self.types, self.table, self.spread, self.complete, self.layout)

    def but(self, **changes: Any) -> Context:
        """The same with other choices; `data_types` and `index_types` change those of their groups.

        Raises:
            Impossible: nothing is left to choose from.
        """
        for name, group in (("data_types", DATA), ("index_types", INDICES)):
            if name in changes:
                changes["types"] = {**changes.get("types", self.types), group: changes.pop(name)}
        changed = msgspec.structs.replace(self, **changes)
        if not changed.ranks or not all(changed.types.values()):
            raise Impossible
        return changed

    def of_types(self, group: str, types: Iterable[DataType]) -> Context:
        """Only these data types for a group; raises Impossible if there is none."""
        return self.but(types={**self.types, group: tuple(types)})

    def of_rank(self, least: int, most: int = 8) -> Context:
        """Only dimension counts from `least` to `most`; raises Impossible if there is none."""
        return self.but(ranks=tuple(rank for rank in self.ranks if least <= rank <= most))


@cache
def _allowed(operator: str, level: Level) -> tuple[tuple[int, ...], Mapping[str, tuple[DataType, ...]], Table]:
    """Dimension counts, data types by group, and the table they are from; FLOAT32 where that leaves the types open."""
    spec = operators()[operator]
    table = spec.table_at(max(level, spec.introduced_in))
    assert table is not None
    alike = next(iter(spec.rank_groups.values()))
    ranks = frozenset.intersection(*(table[field.name].dimension_counts for field in alike))
    types = {
        group: frozenset.intersection(*(table[field.name].data_types for field in fields))
        for group, fields in spec.type_groups.items()
    }
    ordered = {
        group: tuple(t for t in SIMPLEST_FIRST if t in (found or SIMPLEST_FIRST[:1])) for group, found in types.items()
    }
    return tuple(sorted(ranks)), ordered, table
