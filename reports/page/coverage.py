"""Where the cases of a campaign lie thick or thin: by rule, type, dimension count, level, layout and pattern."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.summary import FACETS, RuleCoverage, Summary
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, INDICES
from dml_conformance.spec.registry import operators

SHADES = 5  # of a heat map, beside the empty one
FACET_TITLES = {
    "data_type": "Data types",
    "index_type": "Index types",
    "rank": "Dimension counts",
    "layout": "Layouts of the input",
    "pattern": "Patterns of values and indices",
}


@dataclass(frozen=True)
class Heat:
    """A table of counts, each with a shade from 0 (none) to SHADES (the most), by order of magnitude.

    Attributes:
        title: of the table.
        traits: of a case, what rows and columns stand for.
        columns: their names.
        rows: name, and for each column the count and its shade.
    """

    title: str
    traits: tuple[str, str]
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[int, int]]]]

    @classmethod
    def of(
        cls,
        title: str,
        traits: tuple[str, str],
        rows: Sequence[str],
        columns: Sequence[str],
        counts: Mapping[tuple[str, str], int],
    ) -> Heat:
        most = max(counts.values(), default=0)

        def shaded(row: str) -> list[tuple[int, int]]:
            found = [counts.get((row, column), 0) for column in columns]
            return [(n, math.ceil(SHADES * math.log1p(n) / math.log1p(most)) if n else 0) for n in found]

        return cls(title, traits, columns, [(row, shaded(row)) for row in rows])


def types_by_rank_and_level(summary: Summary) -> list[tuple[str, Heat]]:
    """For each data type of the output how many judged, accepted cases had which dimension count at which level."""
    counts = summary.shapes
    most = max(counts.values(), default=0)
    levels = summary.campaign.levels
    found = []
    for data_type in sorted({data_type for data_type, _, _ in counts if data_type}):
        ranks = sorted({rank for of, rank, _ in counts if of == data_type})
        own = {(str(rank), level): counts[data_type, rank, level] for rank in ranks for level in levels}
        heat = Heat.of(data_type, ("rank", "level"), [str(rank) for rank in ranks], levels, {**own, ("", ""): most})
        found.append((data_type, heat))
    return found


def by_subject(rules: Sequence[RuleCoverage]) -> dict[str, list[RuleCoverage]]:
    """How often rules were held against the backend, by what their ids begin with."""
    return grouped(rules, lambda coverage: coverage.rule["id"].partition(".")[0])


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
