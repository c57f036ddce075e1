"""What an operator is to this project: its descriptor, fields, level tables, shape rule and rules.

A module in `spec/operators/` states one operator with the pieces here; `spec.registry` finds it. The rules that
every operator has (introduced-in, required tensors, level tables, agreement between tensors) come from its fields
and tables, so the module states only what is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import TensorDesc, braces
from dml_conformance.spec.tensor_rules import TENSOR_RULES, max_dimension_count

ONE_TO_EIGHT = frozenset(range(1, 9))
FOUR_ONLY = frozenset({4})


class OperatorDesc(msgspec.Struct, frozen=True):
    """Base of the `DML_*_OPERATOR_DESC` values; fields are the header's, in snake_case and in its order."""

    operator: ClassVar[str]


class FieldKind(StrEnum):
    """What a field of a descriptor holds."""

    INPUT = "input tensor"
    OUTPUT = "output tensor"
    UINT = "UINT"
    UINT_ARRAY = "UINT array"


@dataclass(frozen=True)
class Field:
    """One member of the `DML_*_OPERATOR_DESC` struct.

    Attributes:
        name: DirectML's name.
        attribute: the same in snake_case, the Python attribute.
        optional: whether a tensor may be null.
        count_field: for an array, the member that holds its length; it has no Python attribute of its own.
        group: tensors of the same group share the data types of a level's table.
    """

    name: str
    attribute: str
    kind: FieldKind
    optional: bool = False
    count_field: str = ""
    group: str = ""

    @cached_property
    def is_tensor(self) -> bool:
        return self.kind in (FieldKind.INPUT, FieldKind.OUTPUT)


@dataclass(frozen=True)
class Support:
    """One row of a level's table: what a tensor may be."""

    dimension_counts: frozenset[int]
    data_types: frozenset[DataType]


DATA, INDICES = "data", "indices"
# A level's table: the support of each group of tensors.
Table = Mapping[str, Support]


@dataclass(frozen=True)
class IndexRule:
    """How one input tensor indexes another.

    Attributes:
        indices: attribute of the index tensor.
        indexed: attribute of the tensor read through it.
        limits: from a descriptor, the sizes that indices run over: one for all, or one for each coordinate along the
            last dimension of the index tensor.
    """

    indices: str
    indexed: str
    limits: Callable[[Any], tuple[int, ...]]


@dataclass(frozen=True)
class OperatorSpec:
    """Everything that the specification says about one operator."""

    name: str
    type_value: int
    desc: type[OperatorDesc]
    introduced_in: Level
    fields: tuple[Field, ...]
    tables: Mapping[Level, Table]
    output_sizes: Callable[[Any], tuple[int, ...] | None]
    own_rules: tuple[Rule, ...]
    execution_rules: tuple[Rule, ...]
    source: Source
    summary: str
    pseudocode: str
    index: IndexRule | None = None

    @property
    def dml_name(self) -> str:
        return f"DML_OPERATOR_{self.name}"

    @cached_property
    def tensor_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.is_tensor)

    @cached_property
    def output_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.kind is FieldKind.OUTPUT)

    @cached_property
    def input_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.kind is FieldKind.INPUT)

    @cached_property
    def own_descriptor_rules(self) -> tuple[Rule, ...]:
        """The rules with this operator's id that a descriptor can break, the generic ones first.

        A rule that can be broken at no level (an operator of level 1_0 exists everywhere) is left out, here and where
        others need it. The operator's own rules start at its level.
        """
        own = (replace(rule, since=max(rule.since, self.introduced_in)) for rule in self.own_rules)
        stated = (*_generic_rules(self), *own)
        breakable = [rule for rule in stated if rule.until is None or rule.since < rule.until]
        known = {rule.id for rule in (*TENSOR_RULES, *breakable)}
        return tuple(replace(rule, needs=rule.needs & known) for rule in breakable)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules with this operator's id."""
        return (*self.own_descriptor_rules, *self.execution_rules)

    def table_at(self, level: Level) -> Table | None:
        """The newest table at or below `level`; None below the operator's introduction."""
        return self._table_at[level]

    @cached_property
    def _table_at(self) -> Mapping[Level, Table | None]:
        def newest(level: Level) -> Table | None:
            at_or_below = [table_level for table_level in self.tables if table_level <= level]
            return self.tables[max(at_or_below)] if at_or_below else None

        return {level: newest(level) for level in Level}


def tensor_input(name: str, attribute: str, group: str = DATA) -> Field:
    return Field(name, attribute, FieldKind.INPUT, group=group)


def tensor_output(name: str, attribute: str, group: str = DATA) -> Field:
    return Field(name, attribute, FieldKind.OUTPUT, group=group)


def uint(name: str, attribute: str) -> Field:
    return Field(name, attribute, FieldKind.UINT)


def uint_array(name: str, attribute: str, count_field: str) -> Field:
    return Field(name, attribute, FieldKind.UINT_ARRAY, count_field=count_field)


def ids(operator: str, *names: str) -> frozenset[str]:
    """Rule ids of one operator."""
    return frozenset(f"{operator}.{name}" for name in names)


# What must hold before the sizes of an operator's tensors can be compared with each other at all.
COMPARABLE = frozenset({"TENSOR.type", "TENSOR.dimension-count", "TENSOR.sizes", "TENSOR.element-count"})


def shapes_comparable(operator: str) -> frozenset[str]:
    return COMPARABLE | ids(operator, "introduced-in", "required-tensors", "same-dimension-count")


def output_sizes_rule(operator: str, source: Source, needs: frozenset[str], **more: Any) -> Rule:
    """The rule that the output's sizes are those that the operator's shape rule gives."""

    def check(desc: Any, level: Level) -> Breach | None:
        spec = desc_spec(desc)
        expected = spec.output_sizes(desc)
        assert expected is not None, "a rule that this one needs forbids it"
        output = getattr(desc, spec.output_fields[0].attribute)
        if expected == output.sizes:
            return None
        name = spec.output_fields[0].name
        return Breach(f"{name}.Sizes", f"{braces(output.sizes)}, the inputs give {braces(expected)}")

    return Rule(
        f"{operator}.output-sizes",
        Category.SHAPE,
        "the output has the sizes that follow from the inputs and attributes",
        source,
        "give the output the sizes named",
        check=check,
        needs=needs,
        **more,
    )


def desc_spec(desc: OperatorDesc) -> OperatorSpec:
    """The registered operator of a descriptor (bound by `spec.registry` when it loads the modules)."""
    return SPEC_OF_DESC[type(desc)]


SPEC_OF_DESC: dict[type[OperatorDesc], OperatorSpec] = {}


def _generic_rules(spec: OperatorSpec) -> tuple[Rule, ...]:
    """The rules that every operator has, from its fields and tables."""
    tensors = spec.tensor_fields
    data = [field for field in tensors if field.group == DATA]

    def introduced_in(desc: Any, level: Level) -> Breach | None:
        return Breach("", f"level {level}") if level < spec.introduced_in else None

    def required_tensors(desc: Any, level: Level) -> list[Breach]:
        return [Breach(f.name, "null") for f in tensors if not f.optional and getattr(desc, f.attribute) is None]

    def present(desc: Any, fields: Sequence[Field]) -> list[tuple[Field, TensorDesc]]:
        return [(f, tensor) for f in fields if (tensor := getattr(desc, f.attribute)) is not None]

    def data_types(desc: Any, level: Level) -> list[Breach] | None:
        table = spec.table_at(level)
        assert table is not None
        return [
            Breach(f"{f.name}.DataType", f"{t.data_type.name}, level {level} has {_names(table[f.group].data_types)}")
            for f, t in present(desc, tensors)
            if t.data_type not in table[f.group].data_types
        ]

    def dimension_counts(desc: Any, level: Level) -> list[Breach] | None:
        table = spec.table_at(level)
        assert table is not None
        return [
            Breach(f"{f.name}.DimensionCount", f"{len(t.sizes)}, level {level} has {_counts(table[f.group])}")
            for f, t in present(desc, tensors)
            if len(t.sizes) not in table[f.group].dimension_counts
        ]

    def same_dimension_count(desc: Any, level: Level) -> Breach | None:
        found = present(desc, tensors)
        if len({len(tensor.sizes) for _, tensor in found}) <= 1:
            return None
        return Breach("", ", ".join(f"{f.name} has {len(t.sizes)}" for f, t in found))

    def same_data_type(desc: Any, level: Level) -> Breach | None:
        found = present(desc, data)
        if len({tensor.data_type for _, tensor in found}) <= 1:
            return None
        return Breach("", ", ".join(f"{f.name} is {t.data_type.name}" for f, t in found))

    exists = ids(spec.name, "introduced-in")
    complete = exists | ids(spec.name, "required-tensors")
    tables_from = spec.introduced_in
    return (
        Rule(
            f"{spec.name}.introduced-in",
            Category.LEVEL_SUPPORT,
            f"the operator exists from level {spec.introduced_in} on",
            Source(spec.source.page, "Availability"),
            f"ask for level {spec.introduced_in} or above",
            until=spec.introduced_in,
            check=introduced_in,
        ),
        Rule(
            f"{spec.name}.required-tensors",
            Category.AGREEMENT,
            "every tensor of the operator is given: " + ", ".join(f.name for f in tensors if not f.optional),
            Source(spec.source.page, "Syntax"),
            "give the missing tensor",
            since=tables_from,
            check=required_tensors,
            needs=exists,
        ),
        Rule(
            f"{spec.name}.data-types",
            Category.LEVEL_SUPPORT,
            "each tensor has a data type of the newest table at or below the level",
            Source(spec.source.page, "Tensor support"),
            "use a listed data type, or ask for a higher level",
            since=tables_from,
            check=data_types,
            needs=exists | {"TENSOR.type", "TENSOR.data-type"},
        ),
        Rule(
            f"{spec.name}.dimension-counts",
            Category.LEVEL_SUPPORT,
            "each tensor has a dimension count of the newest table at or below the level",
            Source(spec.source.page, "Tensor support"),
            "add or drop leading dimensions of size 1, or ask for a higher level",
            since=tables_from,
            until=_level_of_all_counts(spec),
            check=dimension_counts,
            needs=exists | {"TENSOR.type", "TENSOR.dimension-count"},
        ),
        Rule(
            f"{spec.name}.same-dimension-count",
            Category.AGREEMENT,
            "all tensors have the same DimensionCount",
            Source(spec.source.page, "Tensor constraints"),
            "pad the shorter ones with leading dimensions of size 1",
            since=tables_from,
            until=None if _allows_several_counts(spec) else tables_from,
            check=same_dimension_count,
            needs=complete | {"TENSOR.type", "TENSOR.dimension-count"} | ids(spec.name, "dimension-counts"),
        ),
        Rule(
            f"{spec.name}.same-data-type",
            Category.AGREEMENT,
            " and ".join(f.name for f in data) + " have the same DataType",
            Source(spec.source.page, "Tensor constraints"),
            "give the output the data type of the input",
            since=tables_from,
            check=same_data_type,
            needs=complete | {"TENSOR.type", "TENSOR.data-type"} | ids(spec.name, "data-types"),
        ),
    )


def _level_of_all_counts(spec: OperatorSpec) -> Level | None:
    """The level from which on the tables allow every dimension count that a tensor can have at all."""
    for level, table in sorted(spec.tables.items()):
        every = set(range(1, max_dimension_count(level) + 1))
        if all(every <= support.dimension_counts for support in table.values()):
            return level
    return None


def _allows_several_counts(spec: OperatorSpec) -> bool:
    """Whether some table allows more than one dimension count; else a wrong count breaks the table's rule first."""
    return any(len(support.dimension_counts) > 1 for table in spec.tables.values() for support in table.values())


def _names(data_types: frozenset[DataType]) -> str:
    return ", ".join(data_type.name for data_type in sorted(data_types))


def _counts(support: Support) -> str:
    counts = sorted(support.dimension_counts)
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
