"""The page of an operator that the registry does not have against the facts: fields, introduction and tables.

The facts are of the newest editions that are known. A page may be an older one, so only what it states is compared:
that it has no table of a newer level is no fault. Tables that were only inferred are not compared at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dml_conformance.documents.check.checks import REGISTRY, CheckList, Remark, listed, misplaced
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.check.subject import PageSubject, Spot, Table, TableRow, level_of, same_type
from dml_conformance.documents.check.table_checks import counts_text, types_text
from dml_conformance.spec.operator import Support
from dml_conformance.spec.operator_facts import FieldFacts, OperatorFacts, SupportTable, TableSource, operator_facts

_HEADER = "the header DirectML.h"
_PAGES = "the operator's page in the newest edition that is known"

CHECKS = CheckList(REGISTRY, why=_HEADER)


def _facts(subject: PageSubject) -> OperatorFacts | None:
    """The facts that the page is held against; None where the registry has the operator, or nobody knows it."""
    return operator_facts().get(subject.page.operator) if subject.spec is None else None


def _fields(subject: PageSubject) -> tuple[FieldFacts, ...]:
    facts = _facts(subject)
    return () if facts is None or not subject.declared else facts.fields


@CHECKS.add("fact-field", Severity.ERROR)
def _field_names(subject: PageSubject) -> Iterator[Remark]:
    """The structure has the header's fields.

    All of them, and no others. A page without a syntax block has those that it has sections on.
    """
    known = {field.name: field.type for field in _fields(subject)}
    described = {member.name.english for member in subject.page.members if not subject.page.declarations}
    declared = {declaration.name: declaration for declaration in subject.declared}
    for name in [name for name in known if name not in declared.keys() | described]:
        at = Spot(subject.declared[0].place, listed(declared))
        yield Remark(name, at, f"no field {name}", f"{known[name]} {name}")
    for name, declaration in declared.items():
        if known and name not in known:
            yield Remark(name, declaration, f"a field {name}", listed(known))


@CHECKS.add("fact-field-order", Severity.ERROR)
def _field_order(subject: PageSubject) -> Iterator[Remark]:
    """The fields stand in the header's order."""
    first = {declaration.name: declaration for declaration in reversed(subject.declared)}
    expected = [field.name for field in _fields(subject) if field.name in first]
    for name, due in misplaced(expected, lambda name: first[name].place):
        yield Remark(name, first[name], f"{name} where {due} is due", listed(expected))


@CHECKS.add("fact-field-type", Severity.ERROR)
def _field_types(subject: PageSubject) -> Iterator[Remark]:
    """The fields have the header's types."""
    known = {field.name: field.type for field in _fields(subject)}
    for declaration in subject.declared:
        expected = known.get(declaration.name, declaration.type)
        if not same_type(expected, declaration.type):
            yield Remark(declaration.name, declaration, declaration.type, expected)


@CHECKS.add("fact-introduction", Severity.ERROR, _PAGES)
def _introduced_in(subject: PageSubject) -> Iterator[Remark]:
    """The operator came with the level that its newest page names."""
    facts = _facts(subject)
    if facts is None or subject.introduced_in is None:
        return
    label, quoted = subject.introduced_in
    if level_of(label) not in (None, facts.level):
        yield Remark("level", quoted, f"introduced in {label}", facts.introduced_in)


def _tables(subject: PageSubject) -> tuple[SupportTable, ...]:
    """The tables of the facts, from the lowest level on; none where they were only inferred."""
    facts = _facts(subject)
    return () if facts is None or facts.table_source is TableSource.INFERRED else facts.support_tables


@CHECKS.add("fact-table-missing", Severity.ERROR, _PAGES)
def _missing_table(subject: PageSubject) -> Iterator[Remark]:
    """The page has the table of every level that changed something, up to its own newest."""
    has = subject.table_at
    if not has or len(subject.tables) < len(subject.page.tables):
        return  # the one that is missing may be one whose level cannot be read
    for level in sorted({known.level for known in _tables(subject)} - has.keys()):
        if level < max(has):
            heading = subject.page.tables[0].heading
            yield Remark(level.label, heading, f"no table of {level}", f"a table of {level}")


@CHECKS.add("fact-table-unknown", Severity.ERROR, _PAGES)
def _extra_table(subject: PageSubject) -> Iterator[Remark]:
    """The page has no table of a level that changed nothing.

    Above the newest known one there may be more.
    """
    known = sorted({table.level for table in _tables(subject)})
    for level, table in subject.table_at.items():
        if known and level not in known and level < known[-1]:
            yield Remark(level.label, table.heading, f"a table of {level}", f"tables of {listed(map(str, known))}")


def known_rows(subject: PageSubject, known: Sequence[SupportTable]) -> Iterator[tuple[str, TableRow | None, Support]]:
    """What is known of each tensor (`4_1/InputTensor`), with its row, in every table of a level that is known."""
    for table in subject.tables:
        of_level = (of.rows for of in known if of.level == table.level)
        for name, support in nearest(table, of_level).items():
            yield f"{table.level}/{name}", table.rows.get(name), support


def nearest(table: Table, known: Iterable[Mapping[str, Support]]) -> Mapping[str, Support]:
    """Of what is known of a page's table, that which is most like it: a level may have several, each for functions."""

    def differing(rows: Mapping[str, Support]) -> int:
        pairs = [(row, rows[name]) for name, row in table.rows.items() if name in rows]
        return sum(other_counts(*pair) + other_types(*pair) for pair in pairs)

    return min(known, key=differing, default={})


def other_counts(row: TableRow, known: Support) -> bool:
    """Whether a row has dimension counts, and others than are known."""
    return bool(row.dimension_counts and known.dimension_counts and row.dimension_counts != known.dimension_counts)


def other_types(row: TableRow, known: Support) -> bool:
    """Whether a row has data types, and others than are known."""
    return bool(row.data_types and known.data_types and set(row.data_types) != _type_names(known))


def _type_names(known: Support) -> set[str]:
    return {data_type.name for data_type in known.data_types}


@CHECKS.add("fact-dimension-counts", Severity.ERROR, _PAGES)
def _dimension_counts(subject: PageSubject) -> Iterator[Remark]:
    """The tables have the dimension counts of the newest page."""
    for name, row, known in known_rows(subject, _tables(subject)):
        if row is not None and other_counts(row, known):
            expected = counts_text(known.dimension_counts)
            yield Remark(name, row.quoted("dimension_counts"), counts_text(row.dimension_counts or ()), expected)


@CHECKS.add("fact-data-types", Severity.ERROR, _PAGES)
def _data_types(subject: PageSubject) -> Iterator[Remark]:
    """The tables have the data types of the newest page."""
    for name, row, known in known_rows(subject, _tables(subject)):
        if row is not None and other_types(row, known):
            has, expected = set(row.data_types or ()), _type_names(known)
            differing = (("no", expected - has), ("has", has - expected))
            found = "; ".join(f"{word} {types_text(names)}" for word, names in differing if names)
            yield Remark(name, row.quoted("data_types"), found, types_text(expected))
