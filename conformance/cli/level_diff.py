"""What differs between two feature levels: operators, tables, rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec, Support
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.tensor_rules import TENSOR_RULES, max_dimension_count

_NOTHING = Support(frozenset(), frozenset())


def level_diff(first: Level, second: Level, specs: Iterable[OperatorSpec]) -> dict[str, Any]:
    """What is added and removed from one level to another; to a lower one things are removed.

    Returns:
        `from`, `to`; `dimension_count_max` of both levels; `tensor_rules` (added, removed); and `operators` that
        differ, each with `exists` at both levels, `tensors` (a row for each group of tensors with what is added and
        removed, and the `variants` that it is of, REDUCE's functions) and `rules` (added, removed).
    """
    return {
        "format": 1,
        "from": first.label,
        "to": second.label,
        "dimension_count_max": [max_dimension_count(first), max_dimension_count(second)],
        "tensor_rules": _added_removed(_rule_ids(TENSOR_RULES, first), _rule_ids(TENSOR_RULES, second)),
        "operators": [diff for spec in specs if (diff := _operator_diff(spec, first, second))],
    }


def _operator_diff(spec: OperatorSpec, first: Level, second: Level) -> dict[str, Any] | None:
    exists = [spec.introduced_in <= level for level in (first, second)]
    tensors = list(_tensors_diff(spec, first, second))
    rules = _added_removed(
        *(_rule_ids(spec.rules, level) if level >= spec.introduced_in else [] for level in (first, second))
    )
    if exists[0] == exists[1] and not tensors and not any(rules.values()):
        return None
    return {"operator": spec.name, "exists": exists, "tensors": tensors, "rules": rules}


def _tensors_diff(spec: OperatorSpec, first: Level, second: Level) -> Iterator[dict[str, Any]]:
    """A row for the tensors of a group that change alike, and of an operator with variants for those that do so."""
    rows: dict[tuple[str, Support, Support], dict[str, Any]] = {}
    for variant in spec.variants:
        before, after = spec.table_at(first, variant) or {}, spec.table_at(second, variant) or {}
        for group, field in ((group, field) for group, fields in spec.type_groups.items() for field in fields):
            old, new = before.get(field.name, _NOTHING), after.get(field.name, _NOTHING)
            if old != new:
                row = rows.setdefault((group, old, new), {"tensors": {}, "variants": {}})
                row["tensors"][field.name] = None
                row["variants"] |= {variant: None} if variant else {}
    for (_, old, new), row in rows.items():
        yield {
            "tensors": list(row["tensors"]),
            "dimension_counts": _added_removed(sorted(old.dimension_counts), sorted(new.dimension_counts)),
            "data_types": _added_removed(
                [t.name for t in sorted(old.data_types)], [t.name for t in sorted(new.data_types)]
            ),
            **({"variants": list(row["variants"])} if row["variants"] else {}),
        }


def _rule_ids(rules: Sequence[Rule], level: Level) -> list[str]:
    return [rule.id for rule in rules if rule.applies_at(level)]


def _added_removed(old: Sequence[Any], new: Sequence[Any]) -> dict[str, list[Any]]:
    return {
        "added": [item for item in new if item not in old],
        "removed": [item for item in old if item not in new],
    }
