"""Where the cases of a campaign lie thick or thin: by rule, type, dimension count, layout and pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.summary import FACETS, RuleResult, Summary
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, INDICES
from dml_conformance.spec.registry import operators

FACET_TITLES = {
    "data_type": "Data types",
    "index_type": "Index types",
    "rank": "Dimension counts",
    "layout": "Layouts of the input",
    "pattern": "Patterns of values and indices",
}


def by_subject(rules: Sequence[RuleResult]) -> dict[str, list[RuleResult]]:
    """How often rules were held against the backend, by what their ids begin with."""
    return grouped(rules, lambda result: result.id.partition(".")[0])


@dataclass(frozen=True)
class Facet:
    """Judged, accepted cases by operator (rows) and one trait (columns); None where an operator cannot have it."""

    title: str
    values: Sequence[str]
    rows: Sequence[tuple[str, Sequence[int | None]]]

    @property
    def gaps(self) -> int:
        return sum(count == 0 for _, counts in self.rows for count in counts)


def facets(summary: Summary) -> list[Facet]:
    """The traits that cases can have, each with its counts."""
    found = []
    for facet, possible in _possible(summary).items():
        counts = summary.coverage[facet]
        rows = [
            (name, [counts[value, name] or (0 if name in having else None) for value, having in possible.items()])
            for name in summary.campaign.operators
        ]
        found.append(Facet(FACET_TITLES[facet], list(possible), rows))
    return found


def _possible(summary: Summary) -> dict[str, dict[str, set[str]]]:
    """For each facet its values, and for each value the operators that can have it at the levels asked for.

    Types and dimension counts come from the operators' tables. Layouts and patterns are named by whoever makes the
    cases: those seen, for all operators, but patterns of indices only for operators that have indices.
    """
    names = [name for name in summary.campaign.operators if name in operators()]
    tables = [
        (name, table)
        for name in names
        for label in summary.campaign.levels
        if (table := operators()[name].table_at(Level.parse(label))) is not None
    ]
    found: dict[str, dict[str, set[str]]] = {facet: {} for facet in FACETS}
    for facet, group in (("data_type", DATA), ("index_type", INDICES)):
        of_group = {name: operators()[name].type_groups.get(group, ()) for name in names}
        rows = ((name, table[field.name]) for name, table in tables for field in of_group[name])
        support = {(kind, name) for name, row in rows for kind in row.data_types}
        for kind, name in sorted(support):
            found[facet].setdefault(kind.name, set()).add(name)
    counts = {(n, name) for name, table in tables for row in table.values() for n in row.dimension_counts}
    for rank, name in sorted(counts):
        found["rank"].setdefault(str(rank), set()).add(name)
    indexing = {name for name in names if operators()[name].index is not None}
    for facet in FACETS:
        for value, name in sorted(summary.coverage[facet]):
            if value:
                alike = {"layout": set(names), "pattern": indexing if name in indexing else set(names) - indexing}
                found[facet].setdefault(value, set()).update(alike.get(facet, {name}))
    return found
