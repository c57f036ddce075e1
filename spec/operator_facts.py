"""The facts of every operator that DirectML.h has: structure, fields, and the tables of what its tensors may be.

They reach further than the registry, which has the operators that can be generated, decided and executed.
`spec/data/README.md` says where they come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property

import msgspec

from dml_conformance.spec import datatypes
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.sources import read_data

TENSOR_POINTER = "const DML_TENSOR_DESC *"
# What the data file calls the sets of types that come again and again.
TYPE_SETS = {
    "FLOATS": datatypes.FLOATS,
    "UP_TO_32_BIT": datatypes.UP_TO_32_BIT,
    "UP_TO_64_BIT": datatypes.UP_TO_64_BIT_NO_FLOAT64,
    "ALL": datatypes.ALL,
    "INDEX_TYPES": datatypes.INDEX_TYPES,
}


@dataclass(frozen=True)
class Support:
    """One row of a level's table: what a tensor may be."""

    dimension_counts: frozenset[int]
    data_types: frozenset[DataType]


class Role(StrEnum):
    """What a field is to its operator."""

    INPUT = "input"
    INPUTS = "inputs"  # an array of tensors
    OUTPUT = "output"
    OUTPUTS = "outputs"
    ATTRIBUTE = "attribute"


class TableSource(StrEnum):
    """How the tables of an operator are known."""

    CHECKED = "page, checked"  # read on the page and gone over again
    TRANSCRIBED = "page, transcribed"
    PARSED = "page, parsed"  # by a program
    OLDER = "older page, parsed"  # newer editions of the page may have more tables
    INFERRED = "inferred"  # from a sibling and the level history


class FieldFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One member of a structure, in the data file a list: `["Axis", "attribute", "UINT"]`.

    Attributes:
        name: DirectML's name.
        role: what it is to the operator.
        type: as the header declares it, without annotations.
        optional: whether it may be null.
    """

    name: str
    role: Role
    type: str = TENSOR_POINTER
    optional: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether tables have a row for it."""
        return self.role is not Role.ATTRIBUTE


class TableFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What a level changes, in the data file a list: `["3_0", {"ATensor BTensor": ["1-8", "FLOATS INT32"]}]`.

    Attributes:
        level: label.
        changes: by the names of tensors, their dimension counts (`4` or `1-8`) and data types, or names of `TYPE_SETS`;
            "" where the page leaves them open. A tensor that is not named keeps what it had.
        functions: the reduce functions that the table holds for; empty = all, or the operator has none.
    """

    level: str
    changes: dict[str, tuple[str, str]]
    functions: tuple[str, ...] = ()


@dataclass(frozen=True)
class SupportTable:
    """A level's table, whole.

    Attributes:
        level: the level from which on it holds.
        functions: the reduce functions that it holds for; empty = all, or the operator has none.
        rows: what each tensor may be; an empty set is one that the page leaves open.
    """

    level: Level
    functions: tuple[str, ...]
    rows: dict[str, Support]


class OperatorFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The facts of one operator.

    Attributes:
        structure: the name of its structure.
        value: of its enumerator in DML_OPERATOR_TYPE.
        introduced_in: label of its first level.
        table_source: how the tables are known.
        fields: in the order of the structure.
        tables: what each level changes, from the lowest level on; the functions of REDUCE one after the other.
        in_place: whether the page lets its output be bound to the memory of an input.
    """

    structure: str
    value: int
    introduced_in: str
    table_source: TableSource
    fields: tuple[FieldFacts, ...]
    tables: tuple[TableFacts, ...]
    in_place: bool = False

    @cached_property
    def level(self) -> Level:
        """The level that introduced it."""
        return Level.parse(self.introduced_in)

    @property
    def tensors(self) -> Iterator[FieldFacts]:
        """The fields that tables have rows for."""
        return (field for field in self.fields if field.is_tensor)

    @cached_property
    def support_tables(self) -> tuple[SupportTable, ...]:
        """The tables, each whole, in the order of `tables`."""
        found: list[SupportTable] = []
        for table in self.tables:
            before = found[-1].rows if found and found[-1].functions == table.functions else {}
            rows = {name: _support(*text) for names, text in table.changes.items() for name in names.split()}
            found.append(SupportTable(Level.parse(table.level), table.functions, {**before, **rows}))
        return tuple(found)


def _support(counts: str, types: str) -> Support:
    low, _, high = counts.partition("-")
    numbers = range(int(low), int(high or low) + 1) if counts else ()
    return Support(frozenset(numbers), frozenset().union(*map(_types, types.split())))


def _types(word: str) -> frozenset[DataType]:
    return TYPE_SETS.get(word) or frozenset({DataType[word]})


@cache
def operator_facts() -> dict[str, OperatorFacts]:
    """The facts by the operator's name (`GATHER`), in the order of DML_OPERATOR_TYPE; read at the first call."""
    return read_data("operators", dict[str, OperatorFacts])
