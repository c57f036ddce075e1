"""The page against the registry: fields, levels, tables, intervals and agreements.

A page that ends below the registry's newest tables and agrees with all older ones is an older edition, which is no
fault; a table that is missing below or between is one. Where the registry differs from the published pages because an
erratum corrects them, the finding links to the erratum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from dml_conformance.documents.check.checks import REGISTRY, CheckList, Remark, listed, misplaced
from dml_conformance.documents.check.example_checks import named
from dml_conformance.documents.check.formulas import Environment, FormulaError, contains, number_of
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.subject import (
    DATA_TYPE,
    DIMENSION_COUNT,
    PageSubject,
    Spot,
    Table,
    TableRow,
    constant,
    level_of,
    registered_types,
    same_type,
)
from dml_conformance.documents.check.table_checks import counts_text, types_text
from dml_conformance.documents.read.model import Interval
from dml_conformance.spec.examples import Example, examples, flattened, nesting
from dml_conformance.spec.field_kinds import UINT, FormError
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import Field, OperatorSpec, Role, Support
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import decide

_WHY = "the registry"
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]+")
_MOST_SLIPS = 2  # things in which an example may differ from the registry's and still be meant to be the same
_MOST_ELEMENTS = 6  # of differing values that a finding names one by one
_KINDS = {Role.INPUT: "Input", Role.OUTPUT: "Output"}

CHECKS = CheckList(REGISTRY, needs_registry=True, why=_WHY)


def _spec(subject: PageSubject) -> OperatorSpec:
    assert subject.spec is not None, "these checks are made of known operators only"
    return subject.spec


@CHECKS.add("unknown-operator", Severity.NOTE, needs_registry=False)
def _unknown_operator(subject: PageSubject) -> Iterator[Remark]:
    """The registry knows the operator."""
    if subject.spec is None:
        expected = "nothing; fields, levels, tables, intervals, and the rules and values of examples were not compared"
        why = "the page was held against itself alone"
        yield Remark("operator", subject.top, "an operator that the registry does not have", expected, why)


@CHECKS.add("registry-field", Severity.ERROR)
def _fields(subject: PageSubject) -> Iterator[Remark]:
    """The structure has the registry's fields.

    All of them, and no others.
    """
    if not subject.declared:
        return
    declared = {declaration.name: declaration for declaration in subject.declared}
    known = dict(registered_types(_spec(subject)))
    syntax = subject.declared[0].place
    for name in known.keys() - declared.keys():
        yield Remark(name, Spot(syntax, listed(declared)), f"no field {name}", f"{known[name]} {name}")
    for name, declaration in declared.items():
        if name not in known:
            yield Remark(name, declaration, f"a field {name}", ", ".join(known))


@CHECKS.add("registry-field-order", Severity.ERROR)
def _field_order(subject: PageSubject) -> Iterator[Remark]:
    """The fields stand in the registry's order."""
    known = [name for name, _ in registered_types(_spec(subject))]
    first = {declaration.name: declaration for declaration in reversed(subject.declared)}
    expected = [name for name in known if name in first]
    for name, due in misplaced(expected, lambda name: first[name].place):
        yield Remark(name, first[name], f"{name} where {due} is due", ", ".join(expected))


@CHECKS.add("registry-field-type", Severity.ERROR)
def _field_types(subject: PageSubject) -> Iterator[Remark]:
    """The fields have the registry's types."""
    known = dict(registered_types(_spec(subject)))
    for declaration in subject.declared:
        expected = known.get(declaration.name)
        if expected is not None and not same_type(expected, declaration.type):
            yield Remark(declaration.name, declaration, declaration.type, expected)


@CHECKS.add("registry-annotation", Severity.ERROR)
def _annotations(subject: PageSubject) -> Iterator[Remark]:
    """The annotations of the syntax block are the registry's.

    That a field may be null, and which field has the length of an array, as far as one is named.
    """
    fields = {field.name: field for field in _spec(subject).fields}
    for declaration in subject.page.declarations:
        field, name = fields.get(declaration.name), declaration.name
        if field is None:
            continue
        if field.optional and not declaration.optional:
            yield Remark(name, declaration, f"{name} without an annotation", f"_Maybenull_ {declaration.text}")
        if declaration.count_field and field.count_field and declaration.count_field != field.count_field:
            found, expected = (f"_Field_size_({count})" for count in (declaration.count_field, field.count_field))
            yield Remark(f"{name}/count", declaration, found, expected)


@CHECKS.add("registry-introduction", Severity.ERROR)
def _introduced_in(subject: PageSubject) -> Iterator[Remark]:
    """The operator came with the registry's level."""
    if subject.introduced_in is None:
        return
    (label, quoted), expected = subject.introduced_in, _spec(subject).introduced_in
    if level_of(label) not in (None, expected):
        yield Remark("level", quoted, f"introduced in {label}", expected.label)


def _missing_levels(subject: PageSubject) -> tuple[list[Level], list[Level]]:
    """The levels of the registry's tables that the page has none for: those above its newest, and the others."""
    has = set(subject.table_at)
    readable = [table for table in subject.tables if table.level is not None]
    if not has or len(readable) < len(subject.page.tables):
        return [], []  # the one that is missing may be one whose level cannot be read
    missing = sorted(set(_spec(subject).tables) - has)
    return [level for level in missing if level > max(has)], [level for level in missing if level < max(has)]


def _older_agrees(subject: PageSubject) -> bool:
    """Whether the page agrees with the registry up to its own newest table."""
    checks = (_introduced_in, _extra_table, _kinds, _dimension_counts, _data_types, _rows)
    return not _missing_levels(subject)[1] and not any(True for check in checks for _ in check(subject))


@CHECKS.add("registry-table-missing", Severity.ERROR)
def _missing_table(subject: PageSubject) -> Iterator[Remark]:
    """The page has the registry's tables.

    Up to its own newest; an older edition lacks those above.
    """
    newer, others = _missing_levels(subject)
    for level in others:
        yield _no_table(subject, level, f"{_WHY}; an older edition would have it, since it has newer ones")
    yield from _missing_in_variants(subject)
    if not _older_agrees(subject):
        for level in newer:
            yield _no_table(subject, level, f"{_WHY}; an older edition would agree in everything older")


def _missing_in_variants(subject: PageSubject) -> Iterator[Remark]:
    """Of the levels that other variants have on the page, and the functions that the variant is for in the registry."""
    variants = _spec(subject).variants
    has = {level for tables in subject.series for level in tables}
    for tables in subject.series if len(subject.series) > 1 else ():
        first = next(iter(tables.values()))
        variant = first.label.partition(" ")[2]
        functions = {name.rpartition("FUNCTION_")[2] for name in _CAPITALS.findall(variant)}
        known = [set(of) for function, of in variants.items() if function in functions]
        for level in sorted(set.union(set(), *known) & has - tables.keys()):
            found, expected = f"no table of {level} {variant}", f"a table of {level}, which its functions have"
            yield Remark(f"{level} {variant}", first.heading, found, expected)


def _no_table(subject: PageSubject, level: Level, why: str) -> Remark:
    heading = subject.page.tables[0].heading
    return Remark(level.label, heading, f"no table of {level}", f"a table of {level}", why)


@CHECKS.add("registry-table-unknown", Severity.ERROR)
def _extra_table(subject: PageSubject) -> Iterator[Remark]:
    """The page has no other tables.

    Below its newest; see `newer-edition`.
    """
    known = _spec(subject).tables
    for level, table in subject.table_at.items():
        if level not in known and level < max(known):
            expected = f"tables of {', '.join(map(str, known))}"
            yield Remark(level.label, table.heading, f"a table of {level}", expected)


@CHECKS.add("older-edition", Severity.NOTE)
def _older_edition(subject: PageSubject) -> Iterator[Remark]:
    """The page has the registry's newest tables."""
    if _older_agrees(subject):
        newest = max(subject.table_at, default=None)
        for level in _missing_levels(subject)[0]:
            yield _no_table(subject, level, f"all that it has up to {newest} agrees: an older edition")


@CHECKS.add("newer-edition", Severity.WARNING)
def _newer_edition(subject: PageSubject) -> Iterator[Remark]:
    """The page has no table above the registry's newest."""
    newest = max(_spec(subject).tables)
    for level, table in subject.table_at.items():
        if level > newest:
            why = f"{_WHY}, which may be older than the page"
            yield Remark(level.label, table.heading, f"a table of {level}", f"{newest} as the newest", why)


def _known_rows(subject: PageSubject) -> Iterator[tuple[Table, Field, Support, TableRow | None]]:
    """Each tensor in each table of a level that page and registry both have, with its row on the page."""
    spec = _spec(subject)
    for level, table in (of_level for tables in subject.series for of_level in tables.items()):
        known = _nearest(table, (tables[level] for tables in spec.variants.values() if level in tables))
        for field in spec.tensor_fields if known else ():
            yield table, field, known[field.name], table.rows.get(field.name)


def _nearest(table: Table, known: Iterable[Mapping[str, Support]]) -> Mapping[str, Support]:
    """Of what is known of a page's table, that which is most like it: a level may have several, each for functions."""

    def differing(rows: Mapping[str, Support]) -> int:
        pairs = [(row, rows[name]) for name, row in table.rows.items() if name in rows]
        return sum(_other_counts(*pair) + _other_types(*pair) for pair in pairs)

    return min(known, key=differing, default={})


def _other_counts(row: TableRow, known: Support) -> bool:
    """Whether a row has dimension counts, and others than are known."""
    return bool(row.dimension_counts) and known.dimension_counts != set(row.dimension_counts or ())


def _other_types(row: TableRow, known: Support) -> bool:
    """Whether a row has data types, and others than are known."""
    return bool(row.data_types) and {data_type.name for data_type in known.data_types} != set(row.data_types or ())


@CHECKS.add("registry-row", Severity.ERROR)
def _rows(subject: PageSubject) -> Iterator[Remark]:
    """The tables have the registry's tensors."""
    for table, field, _, row in _known_rows(subject):
        if row is None and field.name not in subject.tensors:  # for fields of the page `row-missing` says it
            yield Remark(f"{table.label}/{field.name}", table.heading, f"no row for {field.name}", "a row for it")


@CHECKS.add("registry-kind", Severity.ERROR)
def _kinds(subject: PageSubject) -> Iterator[Remark]:
    """Inputs and outputs are the registry's."""
    for table, field, _, row in _known_rows(subject):
        if row is None or row.kind is None:
            continue
        cell, kind = row.quoted("kind"), _KINDS[field.role]
        is_english = cell.original is not None or (subject.page.language or "").startswith("en")
        if row.kind != kind:
            yield Remark(f"{table.label}/{field.name}", cell, row.kind, kind)
        elif is_english and field.optional and not row.optional:
            yield Remark(f"{table.label}/{field.name}", cell, row.kind, f"Optional {kind.lower()}")


@CHECKS.add("registry-dimension-counts", Severity.ERROR)
def _dimension_counts(subject: PageSubject) -> Iterator[Remark]:
    """The tables have the registry's dimension counts."""
    for table, field, support, row in _known_rows(subject):
        if row is not None and _other_counts(row, support):
            found, expected = map(counts_text, (row.dimension_counts or (), support.dimension_counts))
            yield Remark(f"{table.label}/{field.name}", row.quoted("dimension_counts"), found, expected)


@CHECKS.add("registry-data-types", Severity.ERROR)
def _data_types(subject: PageSubject) -> Iterator[Remark]:
    """The tables have the registry's data types."""
    for table, field, support, row in _known_rows(subject):
        if row is None or not _other_types(row, support):
            continue
        has, expected = set(row.data_types or ()), {data_type.name for data_type in support.data_types}
        differing = (("no", expected - has), ("has", has - expected))
        found = "; ".join(f"{word} {types_text(names)}" for word, names in differing if names)
        yield Remark(f"{table.label}/{field.name}", row.quoted("data_types"), found, types_text(expected))


@CHECKS.add("registry-range", Severity.ERROR)
def _ranges(subject: PageSubject) -> Iterator[Remark]:
    """Intervals allow what the registry allows."""
    spec = _spec(subject)
    attributes = {field.name: field for field in spec.fields if field.kind is UINT}
    for member in subject.page.members:
        field, intervals = attributes.get(member.name.english), subject.ranges(member)
        if field is None or len(intervals) != 1 or not _readable(subject, intervals[0]):
            continue
        differing = _first_difference(intervals[0], spec, field)
        if differing is not None:
            value, environment, refused = differing
            shown = ", ".join(f"{n}.DimensionCount {len(sizes)}" for n, sizes in environment.sizes.items())
            bounding = (rule for rule in spec.own_rules if rule.category is Category.ATTRIBUTES)
            rules = [rule.id for rule in bounding if rule.source.section == field.name]
            words = ("allowed", "refused") if refused else ("refused", "allowed")
            why = f"{_WHY}: rule {' and '.join(rules)}" if rules else _WHY
            yield Remark(field.name, intervals[0], f"{value} is {words[0]} with {shown}", f"{value} {words[1]}", why)


def _readable(subject: PageSubject, interval: Interval) -> bool:
    try:
        names = number_of(interval.low)[1] | number_of(interval.high)[1]
    except FormulaError:
        return False
    return names <= set(subject.fields)


def _first_difference(interval: Interval, spec: OperatorSpec, field: Field) -> tuple[int, Environment, bool] | None:
    """A value that the printed interval and the rules on a field decide differently on.

    Tried on the worked examples of the specification, in the place of the field's own value: every value up to two
    above the dimension counts. Only rules on attributes that name the field count, and none that the pages leave open.

    Returns:
        The value, the example's other values, and whether the rules refuse it.
    """
    for example in examples().values():
        if example.operator != spec.name:
            continue
        desc: Any = example.with_types()
        environment = Environment.of(desc)
        most = max(len(sizes) for sizes in environment.sizes.values()) + 2
        for value in range(most + 1):
            decision = decide(msgspec.structs.replace(desc, **{field.attribute: value}), HIGHEST)
            refused = any(
                violation.rule.category is Category.ATTRIBUTES
                and violation.rule.erratum is None
                and violation.where.startswith(field.name)
                for violation in decision.violations
            )
            allowed = contains(interval, value, environment.with_number(field.name, value))
            if allowed is not None and allowed is refused:
                return value, environment, refused
    return None


@CHECKS.add("registry-example", Severity.WARNING)
def _examples(subject: PageSubject) -> Iterator[Remark]:
    """The examples are those of the registry.

    One that differs in more than one or two things is another example, which a page may well have.
    """
    for example in subject.examples:
        spec = _spec(subject)
        known = examples().get(f"{spec.name}/{example.number}")
        if known is None:
            continue
        recorded = {name: _meant(spec, name, content) for name, content in _recorded(known)}
        printed = {name: value for name, value in example.values if name in recorded}
        differing = [name for name, value in printed.items() if _meant(spec, name, value.value) != recorded[name]]
        if not 0 < len(differing) <= _MOST_SLIPS or 2 * len(differing) >= len(printed):
            continue
        for name in differing:
            found, expected = _differences(printed[name].value, recorded[name])
            why = f"example {known.id} as the registry has recorded it from the published page"
            yield Remark(f"{example.number}/{name}", named(name, printed[name]), found, expected, why)


def _meant(spec: OperatorSpec, name: str, content: Any) -> Any:
    """A printed value, those that are spelt in several ways in one: enumerators, limits, a missing tensor."""
    field = next((field for field in spec.fields if field.name == name), None)
    if field is None or field.is_tensor:
        return None if content == "none" else content
    try:
        return field.kind.to_json(field.kind.from_json(constant(content), name))
    except FormError:
        return content


def _recorded(known: Example) -> Iterator[tuple[str, Any]]:
    """What the registry has recorded of an example, by the names of `WorkedExample.values`."""
    for name, value in known.desc.items():
        if isinstance(value, dict):
            for part, content in value.items():
                yield f"{name}.{part}", content
        else:
            yield name, value
    for name, values in known.values.items():
        yield f"{name}.values", values


def _differences(found: Any, recorded: Any) -> tuple[str, str]:
    """What differs between two printed values, on both sides: the first elements that do, where the shapes agree."""
    if not isinstance(found, list) or nesting(found) is None or nesting(found) != nesting(recorded):
        return str(found), str(recorded)
    pairs = enumerate(zip(flattened(found), flattened(recorded), strict=True))
    differing = [(n, *pair) for n, pair in pairs if pair[0] != pair[1]][:_MOST_ELEMENTS]
    mine = ", ".join(f"element {n} is {value}" for n, value, _ in differing)
    return mine, ", ".join(f"element {n} is {value}" for n, _, value in differing)


@CHECKS.add("registry-agreement", Severity.ERROR)
def _agreements(subject: PageSubject) -> Iterator[Remark]:
    """The constraint list has the registry's agreements."""
    spec = _spec(subject)
    for prop, groups in ((DIMENSION_COUNT, spec.rank_groups), (DATA_TYPE, spec.type_groups)):
        stated = [agreement for agreement in subject.agreements if agreement.property == prop]
        known = [tuple(field.name for field in fields) for fields in groups.values()]
        for tensors in _joined(set(agreement.tensors) for agreement in stated):
            nearest = max(known, key=lambda names: len(tensors.intersection(names)))
            if tensors != set(nearest):
                first = next(agreement for agreement in stated if tensors.issuperset(agreement.tensors))
                found = f"the same {prop} for {listed(first.tensors)}"
                yield Remark(prop, first.quoted, found, f"for {listed(nearest)}")


def _joined(sets: Iterable[set[str]]) -> list[set[str]]:
    """Sets that have a member in common made one: what agrees with the same agrees."""
    joined: list[set[str]] = []
    for one in sets:
        apart = [other for other in joined if other.isdisjoint(one)]
        joined = [*apart, one.union(*(other for other in joined if not other.isdisjoint(one)))]
    return joined


@CHECKS.add("registry-agreement-unlisted", Severity.NOTE)
def _unlisted(subject: PageSubject) -> Iterator[Remark]:
    """The constraint list is whole; an agreement on some condition stands in the text."""
    spec = _spec(subject)
    listed = {agreement.property for agreement in subject.agreements}
    rules = {rule.id.partition(".")[2]: rule for rule in spec.own_descriptor_rules}
    for name, prop, groups in (
        ("same-dimension-count", DIMENSION_COUNT, spec.rank_groups),
        ("same-data-type", DATA_TYPE, spec.type_groups),
    ):
        if prop not in listed and name in rules and max(map(len, groups.values())) > 1:
            at = subject.page.constraints[0] if subject.page.constraints else subject.top
            found, why = f"nothing that is read as the same {prop}", f"{_WHY}; it may stand in the text of a field"
            yield Remark(prop, at, found, rules[name].statement, why)
