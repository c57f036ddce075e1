"""What a builder is told: where its decisions come from, and what it may build."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, INDICES, OperatorSpec
from dml_conformance.spec.registry import operators
from dml_conformance.strategies.chooser import Chooser


class Impossible(Exception):
    """What was asked for does not exist at this level: a rule that no descriptor can break there, for example."""


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
        ranks: dimension counts to choose from, ascending.
        data_types: for the data tensors.
        index_types: for the index tensor; empty where there is none.
        spread: the output has more than one element.
        layout: `any` of the memory layouts, `packed` only, or `strided` only (strides given, not the packed ones
            where a tensor is large enough to have others).
    """

    chooser: Chooser
    level: Level
    ranks: tuple[int, ...]
    data_types: tuple[DataType, ...]
    index_types: tuple[DataType, ...]
    spread: bool = False
    layout: str = "any"

    @classmethod
    def at(cls, chooser: Chooser, spec: OperatorSpec, level: Level) -> Context:
        """What the operator's table allows at a level, or the oldest table below its introduction."""
        return cls(chooser, level, *_allowed(spec.name, level))

    def driven_by(self, chooser: Chooser) -> Context:
        """The same choices, made by another chooser."""
        return Context(chooser, self.level, self.ranks, self.data_types, self.index_types, self.spread, self.layout)

    def but(self, **changes: Any) -> Context:
        """The same with other choices.

        Raises:
            Impossible: nothing is left to choose from.
        """
        changed = msgspec.structs.replace(self, **changes)
        if not changed.ranks or not changed.data_types or (self.index_types and not changed.index_types):
            raise Impossible
        return changed

    def of_rank(self, least: int, most: int = 8) -> Context:
        """Only dimension counts from `least` to `most`; raises Impossible if there is none."""
        return self.but(ranks=tuple(rank for rank in self.ranks if least <= rank <= most))


@cache
def _allowed(operator: str, level: Level) -> tuple[tuple[int, ...], tuple[DataType, ...], tuple[DataType, ...]]:
    """Dimension counts, data types and index types of an operator's table."""
    spec = operators()[operator]
    table = spec.table_at(max(level, spec.introduced_in))
    assert table is not None
    data, indices = table[DATA], table.get(INDICES)
    return (
        tuple(sorted(data.dimension_counts)),
        tuple(t for t in SIMPLEST_FIRST if t in data.data_types),
        tuple(t for t in SIMPLEST_FIRST if indices and t in indices.data_types),
    )
