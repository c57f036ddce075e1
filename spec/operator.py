"""What an operator is to this project: its facts, and what a page says of it in words.

Structure, fields and tables come from the facts, words from the statements (`spec.statements`). A module in
`spec/operators/` states what is left, for the operators of one family: how their shapes follow, and what the rules of
their own check. The rules that every operator has (introduced-in, required tensors, level tables, enumerators,
agreement between tensors) follow from fields and tables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.constraints import (
    RANKS_COMPARABLE,
    TYPES_COMPARABLE,
    Constraint,
    enumerators,
    exists,
    from_level,
    given,
    ids,
    same_ranks,
    same_types,
    shapes_comparable,
)
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import (
    Field,
    OperatorDesc,
    Role,
    Slot,
    descriptor_classes,
    inputs,
    outputs,
    slots,
    split_key,
    tensor_at,
    with_tensors,
)
from dml_conformance.spec.field_kinds import TENSORS, ArrayKind, EnumKind
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator_facts import OperatorFacts, Support, operator_facts
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.rules import Breach, Category, Check, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.statements import accuracy_rule, statements
from dml_conformance.spec.tensor import braces
from dml_conformance.spec.tensor_rules import (
    DESCRIPTOR_RULES,
    EXECUTION_RULES,
    IN_PLACE,
    INPUTS_UNCHANGED,
    TENSOR_RULES,
    max_dimension_count,
)

__all__ = [
    "DATA",
    "EACH",
    "INDICES",
    "Field",
    "IndexRule",
    "Misfit",
    "OperatorDesc",
    "OperatorSpec",
    "Role",
    "Shapes",
    "Slot",
    "Support",
    "Table",
    "ids",
    "inputs",
    "is_whole",
    "outputs",
    "shapes_comparable",
    "slots",
    "split_key",
    "tensor_at",
    "with_tensors",
]

DATA, INDICES = "data", "indices"
EACH = "each"  # a group each of whose tensors has a data type of its own
# A level's table: the support of each tensor field, by DirectML's name of it.
Table = Mapping[str, Support]
Sizes = tuple[int, ...]
Shapes = Mapping[str, Sizes]  # of every output slot that the operator has, by key


class Misfit(NamedTuple):
    """Why no shapes follow from a descriptor: the field that does not fit, and what stands there."""

    where: str
    found: str


# From a descriptor whose required tensors are there, the shapes of its outputs. It is total: it never raises, whatever
# sizes (0 among them) and attributes are.
ShapeFunction = Callable[[Any], Shapes | Misfit]


@dataclass(frozen=True)
class IndexRule:
    """How one input tensor indexes another, or an output.

    Attributes:
        indices: attribute of the index tensor.
        indexed: attribute of the tensor that is addressed through it.
        limits: from a descriptor, the sizes that indices run over: one for all, or one for each coordinate along the
            last dimension of the index tensor.
        has_duplicates: whether one place may be named twice; where it may not, values are made without.
    """

    indices: str
    indexed: str
    limits: Callable[[Any], tuple[int, ...]]
    has_duplicates: bool = True


@dataclass(frozen=True)
class OperatorSpec:
    """Everything that the specification says about one operator.

    Attributes:
        name: `GATHER`.
        facts: its structure and tables.
        source: its page.
        shape: how the sizes of its outputs follow.
        own_rules: of its descriptors, besides those that every operator has.
        execution_rules: of its values.
        summary: what it does, in a few words that go on after its name.
        pseudocode: the same as a formula.
        groups: by tensor field (`IndicesTensor`), the group whose data type it shares; "" is a group of its own, EACH
            one whose tensors share none, and those that are not named are `data`.
        ranks: by tensor field, the group whose DimensionCount it shares; all tensors make one unless named.
        index: how one of its tensors indexes another.
        domains: by input field, which values it takes where any bits will not do; a name of `strategies.values`.
        lengths: by input field that counts elements of another tensor, the most that it may count.
        overwrites: input fields whose memory an output may be bound to where it is not that of any.
        primitives: names of the operations that its results are made of, in the order of its formula; each has a bound
            of its own, see `spec.primitives`. Empty where no result is rounded.
        in_own_type: whether these may be computed in FLOAT16, if that is the tensors' type, and not in FLOAT32 alone.
    """

    name: str
    facts: OperatorFacts
    source: Source
    shape: ShapeFunction
    own_rules: tuple[Rule, ...] = ()
    execution_rules: tuple[Rule, ...] = ()
    summary: str = ""
    pseudocode: str = ""
    groups: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ranks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    index: IndexRule | None = None
    domains: Mapping[str, str] = dataclasses.field(default_factory=dict)
    lengths: Mapping[str, Callable[[Any], int]] = dataclasses.field(default_factory=dict)
    overwrites: tuple[str, ...] = ()
    primitives: tuple[str, ...] = ()
    in_own_type: bool = False

    def bound(self, tolerance: Tolerance, data_type: DataType) -> str:
        """How far from the exact value the operations may be that results of a type are made of: "exact" for none."""
        is_rounded_after = data_type is DataType.FLOAT16 and not self.in_own_type
        computed_in = DataType.FLOAT32 if is_rounded_after else data_type
        formulas = {name: PRIMITIVES[name].bound(tolerance, computed_in).formula for name in self.primitives}
        one = len(formulas) == 1
        text = "; ".join(formula if one else f"{name} {formula}" for name, formula in formulas.items()) or "exact"
        return f"{text}; then rounded" if is_rounded_after and formulas else text

    @property
    def dml_name(self) -> str:
        return f"DML_OPERATOR_{self.name}"

    @property
    def type_value(self) -> int:
        """Of its enumerator in DML_OPERATOR_TYPE."""
        return self.facts.value

    @property
    def introduced_in(self) -> Level:
        return self.facts.level

    @cached_property
    def desc(self) -> type[OperatorDesc]:
        """The class of its descriptors."""
        return descriptor_classes()[self.name]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.desc.fields

    @cached_property
    def tensor_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.is_tensor)

    @cached_property
    def output_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.role is Role.OUTPUT)

    @cached_property
    def input_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.role is Role.INPUT)

    def group(self, field: Field) -> str:
        """The group of tensors that share their data type which a field belongs to."""
        return self.groups.get(field.name, DATA) or field.name

    def may_overwrite(self, field: Field) -> bool:
        """Whether an output may be bound to the memory of an input."""
        return self.facts.in_place and (not self.overwrites or field.name in self.overwrites)

    @cached_property
    def type_groups(self) -> Mapping[str, tuple[Field, ...]]:
        """The tensor fields of each group, in the order of the structure."""
        return _grouped(self.tensor_fields, self.group)

    @cached_property
    def rank_groups(self) -> Mapping[str, tuple[Field, ...]]:
        """The tensor fields that share a DimensionCount."""
        return _grouped(self.tensor_fields, lambda field: self.ranks.get(field.name, ""))

    def shapes(self, desc: OperatorDesc) -> Shapes | Misfit:
        """The sizes of every output slot that follow from a descriptor, or why none do; never raises."""
        missing = next((field for field in self.tensor_fields if _is_missing(desc, field)), None)
        return self.shape(desc) if missing is None else Misfit(missing.name, "null")

    @cached_property
    def own_descriptor_rules(self) -> tuple[Rule, ...]:
        """The rules with this operator's id that a descriptor can break, the generic ones first.

        A rule that can be broken at no level (an operator of level 1_0 exists everywhere) is left out, here and where
        others need it. The operator's own rules start at its level.
        """
        introduced_in, *others = (*_generic_rules(self), *self.own_rules)
        stated = (introduced_in, *(replace(rule, since=max(rule.since, self.introduced_in)) for rule in others))
        breakable = [rule for rule in stated if rule.until is None or rule.since < rule.until]
        known = {rule.id for rule in (*TENSOR_RULES, *breakable)}
        return tuple(replace(rule, needs=rule.needs & known) for rule in breakable)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules with this operator's id."""
        return (*self.own_descriptor_rules, *self.execution_rules)

    @cached_property
    def common_execution_rules(self) -> tuple[Rule, ...]:
        """Those of the rules for every execution that it can break: one without inputs writes to none."""
        breakable = {INPUTS_UNCHANGED: bool(self.input_fields), IN_PLACE: self.facts.in_place}
        return tuple(rule for rule in EXECUTION_RULES if breakable.get(rule.id, True))

    @cached_property
    def variants(self) -> Mapping[str, Mapping[Level, Table]]:
        """The tables by variant: of REDUCE by the name of its Function, of every other operator "" alone."""
        found: dict[str, dict[Level, Table]] = {}
        for table in self.facts.support_tables:
            for variant in table.functions or ("",):
                found.setdefault(variant, {})[table.level] = table.rows
        return found

    @cached_property
    def tables(self) -> Mapping[Level, Table]:
        """The tables of the operator; of one with variants what any of them has."""
        levels = sorted({level for tables in self.variants.values() for level in tables})
        return {level: _union(self.table_at(level, variant) for variant in self.variants) for level in levels}

    def variant(self, desc: OperatorDesc) -> str:
        """The variant whose tables hold for a descriptor; "" where there is none, or none known."""
        if "" in self.variants:
            return ""
        function = next(field for field in self.fields if field.name == "Function")
        return str(function.kind.to_json(getattr(desc, function.attribute)))

    def table_at(self, level: Level, variant: str | None = None) -> Table | None:
        """The newest table at or below `level`; None below the operator's introduction.

        Args:
            level: asked for.
            variant: see `variant`; None for what any of them has.
        """
        tables = self.tables if variant is None else self.variants.get(variant, {})
        at_or_below = [table_level for table_level in tables if table_level <= level]
        return tables[max(at_or_below)] if at_or_below else None

    @cached_property
    def epochs(self) -> tuple[Level, ...]:
        """The levels from the introduction on at which something changes for this operator: its tables, its rules, the
        limits of tensors; between two of them nothing does."""
        changes = {level for tables in self.variants.values() for level in tables}
        for rule in (*TENSOR_RULES, *DESCRIPTOR_RULES, *EXECUTION_RULES, *self.rules):
            changes |= {rule.since} if rule.until is None else {rule.since, rule.until}
        changes |= {
            level for field in self.fields if isinstance(field.kind, EnumKind) for level in field.kind.levels.values()
        }
        changes |= {level for level in Level if level > Level.L1_0 and _limits_change_at(level)}
        return tuple(sorted({self.introduced_in, *(level for level in changes if level > self.introduced_in)}))

    def epoch_of(self, level: Level) -> Level | None:
        """The epoch that a level is of; None below the operator's introduction."""
        return max((epoch for epoch in self.epochs if epoch <= level), default=None)


def _union(tables: Iterable[Table | None]) -> Table:
    """What one of several tables allows at least."""
    found: dict[str, Support] = {}
    for name, support in (row for table in tables for row in (table or {}).items()):
        before = found.get(name, Support(frozenset(), frozenset()))
        found[name] = Support(
            before.dimension_counts | support.dimension_counts, before.data_types | support.data_types
        )
    return found


def _limits_change_at(level: Level) -> bool:
    below = max(lower for lower in Level if lower < level)
    return max_dimension_count(level) != max_dimension_count(below)


def _grouped(fields: Iterable[Field], name: Callable[[Field], str]) -> dict[str, tuple[Field, ...]]:
    found: dict[str, tuple[Field, ...]] = {}
    for field in fields:
        found[name(field)] = (*found.get(name(field), ()), field)
    return found


def is_whole(desc: OperatorDesc) -> bool:
    """Whether a descriptor has every tensor that is not optional."""
    return not any(_is_missing(desc, field) for field in desc.fields)


def _is_missing(desc: OperatorDesc, field: Field) -> bool:
    if not field.is_tensor or field.optional:
        return False
    value = getattr(desc, field.attribute)
    return value is None or (isinstance(value, tuple) and (not value or None in value))


def operator_spec(name: str, **stated: Any) -> OperatorSpec:
    """What is stated of one operator, with its facts; see `OperatorSpec`. Its own rules may be constraints.

    What is not stated here is what `spec.statements` has in words, the rules on values among it; the rule on accuracy
    follows from the primitives.

    Raises:
        KeyError: DirectML.h has no such operator.
    """
    facts, words = operator_facts()[name], statements(name)
    source = Source(words.page or f"ns-directml-{facts.structure.lower()}")
    stated = {"source": source, "execution_rules": words.execution_rules(name, source.page), **words.stated(), **stated}
    page, primitives = stated["source"].page, stated.get("primitives", ())
    own = (rule.rule(name, page) if isinstance(rule, Constraint) else rule for rule in stated.pop("own_rules", ()))
    executed = stated.pop("execution_rules")
    if primitives:
        executed += (accuracy_rule(name, page, primitives, stated.get("in_own_type", False)),)
    since = (replace(rule, since=max(rule.since, facts.level)) for rule in executed)
    return OperatorSpec(name, facts, own_rules=tuple(own), execution_rules=tuple(since), **stated)


def output_sizes(*after: str, is_any: bool = False, **stated: Any) -> Constraint:
    """The rule that every output has the sizes that the operator's shape function gives.

    Where `is_any`, other sizes of any tensor break it. `after` has the names of rules without which it means nothing.
    """

    def check(desc: OperatorDesc, level: Level) -> Breach | list[Breach] | None:
        expected = spec_of(desc).shapes(desc)
        if isinstance(expected, Misfit):
            return Breach(*expected)
        return [
            Breach(f"{slot.name}.Sizes", f"{braces(slot.tensor.sizes)}, the inputs give {braces(expected[slot.key])}")
            for slot in outputs(desc)
            if slot.tensor.sizes != expected[slot.key]
        ]

    statement = "the output has the sizes that follow from the inputs and attributes"
    words = "output-sizes", statement, "give the output the sizes named"
    stated = {"section": "OutputTensor", "after": after, **stated}
    return Constraint("output_sizes", (), is_any, check, words, shapes_comparable, Category.SHAPE, stated)


def no_misfit(of: Callable[[Any], Any]) -> Check:
    """The check that a function gives something else than a Misfit."""

    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        found = of(desc)
        return Breach(*found) if isinstance(found, Misfit) else None

    return check


def spec_of(desc: OperatorDesc) -> OperatorSpec:
    """The registered operator of a descriptor (bound by `spec.registry` when it loads the modules)."""
    return SPEC_OF_NAME[desc.operator]


SPEC_OF_NAME: dict[str, OperatorSpec] = {}


def _generic_rules(spec: OperatorSpec) -> tuple[Rule, ...]:
    """The rules that every operator has, from its fields and tables."""
    enums = {field.name: field.kind for field in spec.fields if isinstance(field.kind, EnumKind)}
    of_one_type = {name: fields for name, fields in spec.type_groups.items() if name != EACH and _is_several(fields)}
    of_one_rank = {name: fields for name, fields in spec.rank_groups.items() if _is_several(fields)}
    required = [field.name for field in spec.tensor_fields if not field.optional or field.kind is TENSORS]
    never = spec.introduced_in
    constraints = (
        from_level(spec.introduced_in),
        given(
            *required,
            name="required-tensors",
            statement="every tensor of the operator is given: " + ", ".join(required),
            remedy="give the missing tensor",
            section="Syntax",
        ),
        enumerators(enums, until=None if enums else never),
        *_table_rules(spec),
        same_ranks(
            *of_one_rank.values(),
            name="same-dimension-count",
            statement=_each_of_one("the same DimensionCount", of_one_rank, len(spec.rank_groups) == 1),
            remedy="pad the shorter ones with leading dimensions of size 1",
            until=None if of_one_rank and _allows_several_counts(spec, of_one_rank) else never,
            section="Tensor constraints",
        ),
        same_types(
            *of_one_type.values(),
            name="same-data-type",
            statement=_each_of_one("the same DataType", of_one_type, False),
            remedy="give the output the data type of the input",
            until=None if of_one_type else never,
            section="Tensor constraints",
        ),
    )
    return tuple(constraint.rule(spec.name, spec.source.page) for constraint in constraints)


def _table_rules(spec: OperatorSpec) -> tuple[Constraint, Constraint]:
    """The rules that the tables state: data types and dimension counts."""

    table_at = cache(spec.table_at)

    def rows(desc: OperatorDesc, level: Level) -> list[tuple[Slot, Support]]:
        table = table_at(level, spec.variant(desc))
        return [] if table is None else [(slot, table[slot.field.name]) for slot in slots(desc)]

    def data_types(desc: OperatorDesc, level: Level) -> list[Breach] | None:
        variant = spec.variant(desc)
        of_variant = f" for {variant}" if variant else ""
        return [
            Breach(
                f"{slot.name}.DataType",
                f"{slot.tensor.data_type.name}, level {level} has {_names(row.data_types)}{of_variant}",
            )
            for slot, row in rows(desc, level)
            if row.data_types and slot.tensor.data_type not in row.data_types
        ]

    def dimension_counts(desc: OperatorDesc, level: Level) -> list[Breach] | None:
        return [
            Breach(f"{slot.name}.DimensionCount", f"{len(slot.tensor.sizes)}, level {level} has {_counts(row)}")
            for slot, row in rows(desc, level)
            if row.dimension_counts and len(slot.tensor.sizes) not in row.dimension_counts
        ]

    def listed(
        kind: str, data: Any, check: Check, remedy: str, needs: frozenset[str], until: Level | None
    ) -> Constraint:
        """In the tables; `kind` is what of a tensor: `data-types`."""
        statement = f"each tensor has a {kind[:-1].replace('-', ' ')} of the newest table at or below the level"
        words = kind, statement, f"{remedy}, or ask for a higher level"
        stated = {"section": "Tensor support", "until": until}
        return Constraint(
            kind, (), data, check, words, lambda name: exists(name) | needs, Category.LEVEL_SUPPORT, stated
        )

    has_types = any(row.data_types for table in spec.tables.values() for row in table.values())
    return (
        listed(
            "data-types",
            spec.type_groups,
            data_types,
            "use a listed data type",
            TYPES_COMPARABLE,
            None if has_types else spec.introduced_in,
        ),
        listed(
            "dimension-counts",
            next(iter(spec.rank_groups.values())),
            dimension_counts,
            "add or drop leading dimensions of size 1",
            RANKS_COMPARABLE,
            _level_of_all_counts(spec),
        ),
    )


def _is_several(fields: Sequence[Field]) -> bool:
    return len(fields) > 1 or isinstance(fields[0].kind, ArrayKind)


def _each_of_one(what: str, groups: Mapping[str, Sequence[Field]], is_all: bool) -> str:
    """`A and B have the same DataType`, for each group."""
    if is_all:
        return f"all tensors have {what}"
    return "; ".join(" and ".join(field.name for field in fields) + f" have {what}" for fields in groups.values())


def _level_of_all_counts(spec: OperatorSpec) -> Level | None:
    """The level from which on the tables allow every dimension count that a tensor can have at all."""
    for level, table in sorted(spec.tables.items()):
        every = set(range(1, max_dimension_count(level) + 1))
        if all(every <= support.dimension_counts for support in table.values()):
            return level
    return None


def _allows_several_counts(spec: OperatorSpec, groups: Mapping[str, Sequence[Field]]) -> bool:
    """Whether some table allows more than one dimension count of tensors that share theirs; else a wrong count breaks
    the table's rule first."""
    names = {field.name for fields in groups.values() for field in fields}
    tables = spec.tables.values()
    return any(len(table[name].dimension_counts) > 1 for table in tables for name in names & table.keys())


def _names(data_types: frozenset[DataType]) -> str:
    return ", ".join(data_type.name for data_type in sorted(data_types))


def _counts(support: Support) -> str:
    counts = sorted(support.dimension_counts)
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
