"""Tables, rules and history against each other, level by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from dml_conformance.documents.consistency.model import ConsistencyCheck, Found, Standard
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.history import Aspect
from dml_conformance.spec.levels import LOWEST, Level
from dml_conformance.spec.operator import OperatorSpec, Table
from dml_conformance.spec.registry import families
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.tensor_rules import TENSOR_RULES, max_dimension_count


def _levels(standard: Standard) -> Found:
    """Each level's tables contain the lower ones'."""
    for name, spec in standard.operators.items():
        if min(spec.tables) != spec.introduced_in:
            yield (
                f"{name}:lowest-table",
                f"introduced in {spec.introduced_in}, but the lowest table is that of {min(spec.tables)}",
            )
        for tables, (lower, higher) in ((t, pair) for t in spec.variants.values() for pair in pairwise(sorted(t))):
            lost = sorted(_entries(tables[lower]) - _entries(tables[higher]))
            if lost:
                yield f"{name}:table-{higher}", f"not all of {lower} is in the table of {higher}: {lost}"
            elif tables[lower] == tables[higher] and not _has_rule_at(spec, higher):
                yield f"{name}:table-{higher}", f"the table of {higher} says what that of {lower} does"
    for below, level in pairwise(Level):
        if max_dimension_count(level) < max_dimension_count(below):
            yield f"TENSOR:dimension-count-{level}", f"fewer dimensions at {level} than at {below}"


def _entries(table: Table) -> set[tuple[str, str]]:
    """A table as (tensor, entry) pairs, so that tables can be compared as sets."""
    return {
        (name, entry)
        for name, support in table.items()
        for entry in (*(t.name for t in support.data_types), *(f"{c} dimensions" for c in support.dimension_counts))
    }


def _rules(standard: Standard) -> Found:
    """No rule makes a level stricter than a lower one.

    One that a descriptor can break and that starts above its operator would take from that level what a lower one has.
    """
    for introduced, rules in _rule_sets(standard):
        for rule in rules:
            if rule.since > introduced:
                yield f"{rule.id}:since", f"starts at {rule.since}, so that level is stricter than the one below"


def _rule_sets(standard: Standard) -> Iterator[tuple[Level, tuple[Rule, ...]]]:
    """The rules of the tensors and of each operator, with the level that their subject starts at."""
    yield LOWEST, TENSOR_RULES
    for spec in standard.operators.values():
        yield spec.introduced_in, spec.own_descriptor_rules


def _history(standard: Standard) -> Found:
    """Pages, header and history agree on what came when."""
    for name, spec in standard.operators.items():
        witness = standard.history.introductions.get(name)
        if witness is None:
            yield f"{name}:history", "neither header nor history is on record for this operator"
            continue
        said = {"header": witness.header, "history": witness.history or LOWEST.label}
        for where, label in said.items():
            if label != spec.introduced_in.label:
                yield f"{name}:introduced-in-{where}", f"{label} by the {where}, {spec.introduced_in} on its page"
        named = {c.at for c in standard.history.changes if name in c.operators or not c.operators}
        for level in sorted(set(spec.tables) - {spec.introduced_in} - named):
            yield f"{name}:history-{level}", f"the page has a table for {level}, the history no change"
    for change in standard.history.changes:
        for name in standard.operators.keys() & set(change.operators):
            if not _shown_by_page(standard.operators[name], change.aspect, change.at):
                yield (
                    f"{name}:history-{change.level}-{change.aspect}",
                    f"the history has {change.level} change the {change.aspect}, the page does not say how",
                )


def _shown_by_page(spec: OperatorSpec, aspect: Aspect, level: Level) -> bool:
    """Whether tables or rules of an operator differ at a level, in one aspect, from the level below."""
    if aspect in (Aspect.SHAPES, Aspect.TENSORS):
        return _has_rule_at(spec, level)
    return any(_changes(tables, aspect, level) for tables in spec.variants.values())


def _changes(tables: Mapping[Level, Table], aspect: Aspect, level: Level) -> bool:
    below = [lower for lower in tables if lower < level]
    if level not in tables or not below:
        return False
    old, new = tables[max(below)], tables[level]
    if aspect is Aspect.DATA_TYPES:
        return any(old[name].data_types != new[name].data_types for name in new)
    return any(old[name].dimension_counts != new[name].dimension_counts for name in new)


def _has_rule_at(spec: OperatorSpec, level: Level) -> bool:
    """Whether a rule of an operator's own starts or ends at a level."""
    return any(level in (rule.since, rule.until) for rule in spec.own_rules if rule.erratum is None)


# Families whose operators copy whole elements, to places that no value of the data decides. What computes or compares
# has a reason to lack a type; these have none.
_COPYING = frozenset(
    (
        "depth_space",
        "gather",
        "gather_elements",
        "gather_nd",
        "join_split",
        "padding",
        "reverse_subsequences",
        "scatter",
        "slice",
        "tile",
    )
)


def _copying(standard: Standard) -> list[OperatorSpec]:
    return [spec for name, spec in standard.operators.items() if families().get(name) in _COPYING]


def _data_types(standard: Standard) -> Found:
    """Operators that only move data take the same types."""
    newest = {
        spec.name: spec.tables[max(spec.tables)][spec.tensor_fields[0].name].data_types for spec in _copying(standard)
    }
    usual = Counter(newest.values()).most_common(1)[0][0]
    for name, own in newest.items():
        if own != usual:
            yield (
                f"{name}:data-types",
                f"beside the others it lacks {_listed(usual - own)} and adds {_listed(own - usual)}",
            )


def _listed(data_types: frozenset[DataType]) -> str:
    return ", ".join(sorted(data_type.name for data_type in data_types)) or "nothing"


CHECKS = (
    ConsistencyCheck("levels", lambda standard: sum(len(spec.tables) for spec in standard.operators.values()), _levels),
    ConsistencyCheck("rules", lambda standard: sum(len(rules) for _, rules in _rule_sets(standard)), _rules),
    ConsistencyCheck("history", lambda standard: len(standard.operators) + len(standard.history.changes), _history),
    ConsistencyCheck("data-types", lambda standard: len(_copying(standard)), _data_types),
)
