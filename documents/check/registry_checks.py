"""The page against the registry: fields, levels, tables, intervals and agreements.

A page that ends below the registry's newest tables and agrees with all older ones is an older edition, which is no
fault; a table that is missing below or between is one. Where the registry differs from the published pages because an
erratum corrects them, the finding links to the erratum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from dml_conformance.documents.check.formulas import Sizes, contains, given_by
from dml_conformance.documents.check.model import Remarks, listed, misplaced, remark
from dml_conformance.documents.check.subject import (
    DATA_TYPE,
    DIMENSION_COUNT,
    PageSubject,
    Spot,
    level_of,
    registered_types,
    same_type,
)
from dml_conformance.documents.check.table_checks import counts_text, types_text
from dml_conformance.documents.read.model import Interval, LevelRow, LevelTable
from dml_conformance.spec.examples import examples
from dml_conformance.spec.field_kinds import UINT
from dml_conformance.spec.levels import HIGHEST, LOWEST
from dml_conformance.spec.operator import Field, OperatorSpec, Role, Support, slots
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import braces
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.cases import numbered_case

_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]+")
_MOST_CASES = 24  # that a formula is tried on
_KINDS = {Role.INPUT: "Input", Role.OUTPUT: "Output"}


def registry_remarks(subject: PageSubject) -> Remarks:
    """What a page and the registry say otherwise, where the registry knows the operator."""
    spec = subject.spec
    if spec is None:
        yield remark("unknown-operator", "operator", subject.top)
        return
    yield from _fields(subject, spec)
    yield from _tables(subject, spec)
    yield from _ranges(subject, spec)
    yield from _formulas(subject, spec)
    yield from _agreements(subject, spec)


def _fields(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """The declarations: all fields and no others, in order, with their types and annotations.

    Annotations say that a field may be null, and which field has the length of an array, as far as one is named.
    """
    declared = {declaration.name: declaration for declaration in reversed(subject.declared)}
    known = dict(registered_types(spec))
    for name in known.keys() - declared.keys() if declared else ():
        names = listed(dict.fromkeys(declaration.name for declaration in subject.declared))
        spot = Spot(subject.declared[0].place, names)
        yield remark("registry-field", name, spot, found=f"no field {name}", expected=f"{known[name]} {name}")
    for declaration in subject.declared:
        name, kind = declaration.name, known.get(declaration.name)
        if kind is None and declaration is declared[name]:
            yield remark("registry-field", name, declaration, found=f"a field {name}", expected=", ".join(known))
        elif kind is not None and not same_type(kind, declaration.type):
            yield remark("registry-field-type", name, declaration, found=declaration.type, expected=kind)
    yield from misplaced("registry-field-order", known, declared)
    fields = {field.name: field for field in spec.fields}
    for declaration in subject.page.declarations:
        name, field, count = declaration.name, fields.get(declaration.name), declaration.count_field
        if field is not None and field.optional and not declaration.optional:
            found, expected = f"{name} without an annotation", f"_Maybenull_ {declaration.text}"
            yield remark("registry-annotation", name, declaration, found=found, expected=expected)
        if field is not None and count and field.count_field and count != field.count_field:
            found, expected = (f"_Field_size_({counting})" for counting in (count, field.count_field))
            yield remark("registry-annotation", f"{name}/count", declaration, found=found, expected=expected)


def _tables(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """Introduction and tables: those of all levels up to the page's own newest; an older edition lacks those above."""
    differing = [*_known_tables(subject, spec), *_known_rows(subject, spec)]
    yield from differing
    yield from _missing_in_variants(subject, spec)
    has, newest = set(subject.table_at), max(subject.table_at, default=LOWEST)
    # Of a table whose level cannot be read, that may be the one that is missing.
    is_readable = has and all(level_of(table.level) is not None for table in subject.tables)
    is_whole = is_readable and len(subject.tables) == len(subject.page.tables)
    missing = sorted(set(spec.tables) - has) if is_whole else []
    is_older = not differing and all(level > newest for level in missing)
    for level in missing:
        check, heading = "older-edition" if is_older else "registry-table-missing", subject.page.tables[0].heading
        older = "have it, since it has newer ones" if level < newest else "agree in everything older"
        told = {"newest": newest, "more": f"; an older edition would {older}"}
        yield remark(check, level.label, heading, table=level, expected=f"a table of {level}", **told)
    for level, table in subject.table_at.items():
        if level > max(spec.tables):
            yield remark("newer-edition", level.label, table.heading, level=level, newest=max(spec.tables))


def _known_tables(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """The level that introduced the operator, and tables of levels below the newest that the registry has none of."""
    if subject.introduced_in is not None:
        label, quoted = subject.introduced_in
        if level_of(label) not in (None, spec.introduced_in):
            yield remark("registry-introduction", "level", quoted, label=label, expected=spec.introduced_in)
    for level, table in subject.table_at.items():
        if level not in spec.tables and level < max(spec.tables):
            tables = ", ".join(map(str, spec.tables))
            yield remark("registry-table-unknown", level.label, table.heading, level=level, tables=tables)


def _missing_in_variants(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """Of the levels that other variants have on the page, and the functions that the variant is for in the registry."""
    has = {level for tables in subject.series for level in tables}
    for tables in subject.series if len(subject.series) > 1 else ():
        first = next(iter(tables.values()))
        variant = first.label.partition(" ")[2]
        functions = {name.rpartition("FUNCTION_")[2] for name in _CAPITALS.findall(variant)}
        known = [set(of) for function, of in spec.variants.items() if function in functions]
        for level in sorted(set.union(set(), *known) & has - tables.keys()):
            told = {"table": f"{level} {variant}", "expected": f"a table of {level}, which its functions have"}
            yield remark("registry-table-missing", f"{level} {variant}", first.heading, **told, more="")


def _known_rows(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """The rows of each table of a level that page and registry both have."""
    for level, table in (of_level for tables in subject.series for of_level in tables.items()):
        known = _nearest(table, (tables[level] for tables in spec.variants.values() if level in tables))
        for field in spec.tensor_fields if known else ():
            row = table.row_of.get(field.name)
            if row is not None:
                yield from _row(subject, field, known[field.name], table, row)


def _row(subject: PageSubject, field: Field, known: Support, table: LevelTable, row: LevelRow) -> Remarks:
    cell, kind, where = table.cell(row, "kind"), _KINDS[field.role], table.path(row)
    is_english = cell.original is not None or (subject.page.language or "").startswith("en")
    if row.kind not in (None, kind):
        yield remark("registry-kind", where, cell, found=row.kind, expected=kind)
    elif row.kind and is_english and field.optional and not row.optional:
        yield remark("registry-kind", where, cell, found=row.kind, expected=f"Optional {kind.lower()}")
    for column, (found, expected) in _unlike(row, known).items():
        check = f"registry-{column.replace('_', '-')}"
        yield remark(check, where, table.cell(row, column), found=found, expected=expected)


def _unlike(row: LevelRow, known: Support) -> dict[str, tuple[str, str]]:
    """The columns in which a row has something, and something else than is known: what it says, and what is known."""
    counts, types = set(row.dimension_counts or ()), set(row.data_types or ())
    known_types = {data_type.name for data_type in known.data_types}
    unlike = {}
    if counts and counts != known.dimension_counts:
        unlike["dimension_counts"] = counts_text(counts), counts_text(known.dimension_counts)
    if types and types != known_types:
        differing = (("no", known_types - types), ("has", types - known_types))
        found = "; ".join(f"{word} {types_text(names)}" for word, names in differing if names)
        unlike["data_types"] = found, types_text(known_types)
    return unlike


def _nearest(table: LevelTable, known: Iterable[Mapping[str, Support]]) -> Mapping[str, Support]:
    """Of what is known of a page's table, that which is most like it: a level may have several, each for functions."""

    def differing(rows: Mapping[str, Support]) -> int:
        return sum(len(_unlike(row, rows[name])) for name, row in table.row_of.items() if name in rows)

    return min(known, key=differing, default={})


def _ranges(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """Intervals that allow other values than the registry."""
    attributes = {field.name: field for field in spec.fields if field.kind is UINT}
    for member in subject.page.members:
        field, intervals = attributes.get(member.name.english), member.ranges
        if field is None or len(intervals) != 1:
            continue
        differing = _first_difference(intervals[0], spec, field)
        if differing is not None:
            value, tensors, refused = differing
            shown = ", ".join(f"{name}.DimensionCount {len(sizes)}" for name, sizes in tensors.items())
            bounding = (rule for rule in spec.own_rules if rule.category is Category.ATTRIBUTES)
            rules = [rule.id for rule in bounding if rule.source.section == field.name]
            words = ("allowed", "refused") if refused else ("refused", "allowed")
            told = {"value": value, "words": words, "rules": f": rule {' and '.join(rules)}" if rules else ""}
            yield remark("registry-range", field.name, intervals[0], tensors=shown, **told)


def _formulas(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """Formulas that no example of the page has all names for, on descriptors that are made for the operator."""
    for formula, place in subject.formulas:
        if any(formula.names <= e.given.keys() and formula.target in e.sizes for e in subject.examples):
            continue
        cases = (numbered_case(0, spec.name, HIGHEST, number) for number in range(_MOST_CASES))
        for given in (given_by(case.desc) for case in cases if case.outcome is Outcome.ACCEPT):
            sizes = given.get(formula.target)
            if not isinstance(sizes, tuple) or not formula.names <= given.keys():
                continue
            computed, gives = formula.outcome(given, len(sizes))
            if computed != sizes:
                values = {name: given[name] for name in sorted(formula.names)}
                texts = (f"{name} {v if isinstance(v, int) else braces(v)}" for name, v in values.items())
                told = {"gives": gives, "values": ", ".join(texts), "expected": braces(sizes)}
                yield remark("registry-formula", formula.target, Spot(place, formula.text), **told)
                break


def _first_difference(
    interval: Interval, spec: OperatorSpec, field: Field
) -> tuple[int, Mapping[str, Sizes], bool] | None:
    """A value that the printed interval and the rules on a field decide differently on.

    Tried on the worked examples of the specification, in the place of the field's own value: every value up to two
    above the dimension counts. Only rules on attributes that name the field count, and none that the pages leave open.

    Returns:
        The value, the sizes of the example's tensors, and whether the rules refuse it.
    """
    for example in examples().values():
        if example.operator != spec.name:
            continue
        desc = example.with_types()
        tensors = {slot.name: slot.tensor.sizes for slot in slots(desc)}
        most = max(map(len, tensors.values())) + 2
        for value in range(most + 1):
            decision = decide(msgspec.structs.replace(desc, **{field.attribute: value}), HIGHEST)
            refused = any(
                violation.rule.category is Category.ATTRIBUTES
                and violation.rule.erratum is None
                and violation.where.startswith(field.name)
                for violation in decision.violations
            )
            allowed = contains(interval, value, {**given_by(desc), field.name: value})
            if allowed is not None and allowed is refused:
                return value, tensors, refused
    return None


def _agreements(subject: PageSubject, spec: OperatorSpec) -> Remarks:
    """Agreements of the constraint list that are not the registry's, and those that it lacks.

    One on some condition stands in the text, not in the list.
    """
    rules = {rule.id.partition(".")[2]: rule for rule in spec.own_descriptor_rules}
    for name, prop, groups in (
        ("same-dimension-count", DIMENSION_COUNT, spec.rank_groups),
        ("same-data-type", DATA_TYPE, spec.type_groups),
    ):
        stated = [agreement for agreement in subject.agreements if agreement.property == prop]
        known = [tuple(field.name for field in fields) for fields in groups.values()]
        for tensors in _joined(set(agreement.tensors) for agreement in stated):
            nearest = max(known, key=lambda names: len(tensors.intersection(names)))
            if tensors != set(nearest):
                first = next(agreement for agreement in stated if tensors.issuperset(agreement.tensors))
                told = {"tensors": listed(first.tensors), "right": listed(nearest)}
                yield remark("registry-agreement", prop, first.quoted, property=prop, **told)
        if not stated and name in rules and max(map(len, known)) > 1:
            at = subject.page.constraints[0] if subject.page.constraints else subject.top
            yield remark("registry-agreement-unlisted", prop, at, property=prop, expected=rules[name].statement)


def _joined(sets: Iterable[set[str]]) -> list[set[str]]:
    """Sets that have a member in common made one: what agrees with the same agrees."""
    joined: list[set[str]] = []
    for one in sets:
        apart = [other for other in joined if other.isdisjoint(one)]
        joined = [*apart, one.union(*(other for other in joined if not other.isdisjoint(one)))]
    return joined
