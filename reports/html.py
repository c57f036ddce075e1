"""The report for people: one HTML page that holds all it needs and asks no network for anything.

What it says is made from sums and a few samples, and needs no script. Below that are the cases themselves, as many as
fit in MAX_PAGE bytes, compressed; the page's script lists and shows them.

All text is escaped by the template engine and rid of control characters on the way, or put in place by the script as
text; links lead to https addresses only; the page's own policy (Content-Security-Policy) forbids it to load anything
or to run any script but its own.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from dml_conformance.backends.foreign_text import one_line, printable
from dml_conformance.backends.processes.losses import MOST_FORGIVEN
from dml_conformance.reports.cases import Cases, all_of, embed
from dml_conformance.reports.plots import PANEL, Roofline, rooflines, rules_by_phase, types_by_rank_and_level
from dml_conformance.reports.records import Caches, Caveat, Record, Throughput, Verdict, at_largest_size
from dml_conformance.reports.summary import (
    FACETS,
    JUDGED,
    Cell,
    CellVerdict,
    FailureGroup,
    FailureKind,
    RuleCoverage,
    Summary,
)
from dml_conformance.reports.text import (
    binary_size,
    brief_seconds,
    duration,
    level_ranges,
    pretty_json,
    rate,
    share_of_copy,
)
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, INDICES
from dml_conformance.spec.registry import operators

MAX_FIRST = 5  # groups of failures named beside the matrix
MAX_GROUPS = 60  # groups of failures of one kind that are shown
MAX_PAGE = 4_900_000  # bytes
MAX_TOLD = 1000  # bytes of the sentences about what was left out
# Scripts of every page, and of those that have cases, in the order in which they are put together.
STATIC_SCRIPTS = ("copy", "print")
CASE_SCRIPTS = (
    *STATIC_SCRIPTS,
    *("elements", "data", "json", "state", "list", "tensors", "case", "explorer"),
)
MAX_REASON, BRIEF_REASON = 400, 120  # characters

# A word that fits under a symbol in the matrix.
CELL_WORDS = {
    CellVerdict.CONFORMANT: "conforms",
    CellVerdict.NOT_CONFORMANT: "differs",
    CellVerdict.INCOMPLETE: "incomplete",
    CellVerdict.OBSERVED_ONLY: "observed",
    CellVerdict.NOT_SUPPORTED: "unsupported",
}
CELL_MEANINGS = {
    CellVerdict.CONFORMANT: "at least one case passed, none failed",
    CellVerdict.NOT_CONFORMANT: "a case failed, crashed or timed out",
    CellVerdict.INCOMPLETE: "claimed, but the run broke off, had a fault of its own, or judged nothing",
    CellVerdict.OBSERVED_ONLY: "the specification leaves every case open",
    CellVerdict.NOT_SUPPORTED: "the backend does not claim it",
}
VERDICT_MEANINGS = {
    Verdict.PASS: "as the specification says",
    Verdict.FAIL: "wrong decision, wrong value, or memory touched that is not the output’s",
    Verdict.CRASH: "the backend raised an exception, or its process died",
    Verdict.TIMEOUT: "no answer in time",
    Verdict.OBSERVED: "left open by the specification; recorded, not judged",
    Verdict.NOT_SUPPORTED: "not claimed by the backend",
    Verdict.WAIVED: "a known difference that a waiver names",
    Verdict.ERROR: "a fault of the harness",
}
FACET_TITLES = {
    "data_type": "Data types",
    "index_type": "Index types",
    "rank": "Dimension counts",
    "layout": "Layouts of the input",
    "pattern": "Patterns of values and indices",
}


def report_html(summary: Summary, cases: Cases | None = None) -> str:
    """The whole page, with the cases of the same campaign where they are given."""
    campaign = summary.campaign
    return render_with_cases(
        "report.html.j2",
        {} if cases is None else {str(campaign.backend["name"]): cases},
        summary=summary,
        campaign=campaign,
        conformance=summary.conformance,
        why_incomplete=summary.why_incomplete() if summary.conformance != "not conformant" else [],
        duration=duration(summary.seconds),
        counts=[(verdict, summary.counts[verdict], VERDICT_MEANINGS[verdict]) for verdict in VERDICT_MEANINGS],
        matrix=_matrix(summary),
        cell_verdicts=_legend(summary),
        first=sorted(summary.failures.values(), key=lambda group: -group.count)[:MAX_FIRST],
        decision_rules=_decision_rules(summary),
        decision_count=_count(summary, FailureKind.DECISION),
        value_groups=_groups(summary, FailureKind.OUTPUT),
        value_count=_count(summary, FailureKind.OUTPUT),
        lost_groups=_groups(summary, FailureKind.CRASH, FailureKind.TIMEOUT),
        lost_count=_count(summary, FailureKind.CRASH, FailureKind.TIMEOUT),
        error_groups=_groups(summary, FailureKind.ERROR),
        error_count=_count(summary, FailureKind.ERROR),
        observed=_observed(summary),
        not_claimed=summary.not_claimed(),
        reasons={verdict: reasons.most_common() for verdict, reasons in summary.reasons.items() if reasons},
        speed=_speed(summary.throughputs),
        caveats=[caveat for caveat in Caveat if any(caveat in row.caveats for row in summary.throughputs)],
        coverage=_rule_coverage(summary),
        heat=rules_by_phase(summary),
        type_heats=types_by_rank_and_level(summary),
        facets=_facets(summary),
        phases=summary.phases(),
        most_forgiven=MOST_FORGIVEN,
    )


def render_with_cases(
    template: str, campaigns: Mapping[str, Cases], changes: Mapping[tuple[str, str], str] | None = None, **values: Any
) -> str:
    """A page from one of this package's templates that carries as many cases as MAX_PAGE has room for.

    Args:
        template: its name.
        campaigns: the cases of each campaign, by its label; empty for a page without.
        changes: what became of cases since a baseline; see `embed`.
        values: for the template.
    """
    if not campaigns:
        return render(template, CASE_SCRIPTS, carried=None, **values)
    # Once without the cases, to know how much room the rest leaves; what is told of them is no longer than this.
    bare = render(template, CASE_SCRIPTS, carried=all_of(campaigns), cases_rows="", cases_whole="", **values)
    embedded = embed(campaigns, MAX_PAGE - len(bare.encode()) - MAX_TOLD, changes)
    return render(
        template,
        CASE_SCRIPTS,
        carried=embedded.told,
        cases_rows=Markup(f"{embedded.rows}\n{embedded.flags}"),  # noqa: S704 - base64
        cases_whole=Markup("\n".join(embedded.blocks)),  # noqa: S704
        **values,
    )


def render(template: str, scripts: Iterable[str] = STATIC_SCRIPTS, **values: Any) -> str:
    """A page from one of this package's templates, which gets these values, its style and its scripts in one."""
    modules = "".join(_text(f"script/{name}.js") for name in scripts)
    script = f'"use strict";\n{{\n{modules}}}\n'  # within a block, so that no name of theirs is global
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            max_groups=MAX_GROUPS,
            plot=PANEL,
            style=Markup(_text("report.css")),  # noqa: S704 - this package's own files
            script=Markup(script),  # noqa: S704
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


@cache
def _text(name: str) -> str:
    return resources.files("dml_conformance.reports").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dml_conformance.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters.update(
        count="{:,}".format,
        plural=lambda count, noun: f"{count:,} {noun}{'' if count == 1 else 's'}",
        case=_case,
        size=binary_size,
        brief_time=brief_seconds,
        share_of_copy=share_of_copy,
        rate=rate,
        sentence=lambda text: f"{text[:1].upper()}{text[1:]}.",
        breakable=lambda name: escape(printable(name)).replace("_", Markup("_<wbr>")),
        https=lambda address: address if address.startswith("https://") else "",
        short=lambda text: one_line(text, MAX_REASON),
        brief=lambda text: one_line(text, BRIEF_REASON),
        to_cases=lambda traits: "#cases?" + urlencode({name: value for name, value in traits.items() if value}),
    )
    return environment


def _clean(value: Any) -> Any:
    """What the template prints, without control characters."""
    return printable(value) if type(value) is str else value


def _case(record: Record) -> str:
    """What is executed, without the labels: the level stands in the caption."""
    return pretty_json(
        {name: record.case_json[name] for name in ("type", "desc", "data") if record.case_json.get(name)}
    )


@dataclass(frozen=True)
class MatrixCell:
    """A cell of the matrix as a page tells of it: symbol, word, and all its counts."""

    cell: Cell
    style: str
    symbol: str
    word: str
    told: str

    @classmethod
    def of(cls, cell: Cell) -> MatrixCell:
        counts = ", ".join(
            f"{cell.counts[verdict]:,} {verdict}" for verdict in VERDICT_MEANINGS if cell.counts[verdict]
        )
        word = f"{cell.failures:,} differ" if cell.failures else CELL_WORDS[cell.verdict]
        told = f"{cell.operator} at {cell.level}: {cell.verdict}; {counts or 'no cases'}"
        return cls(cell, str(cell.verdict).replace(" ", "-"), cell.verdict.symbol, word, told)


def _matrix(summary: Summary) -> list[tuple[str, list[MatrixCell]]]:
    rows: dict[str, list[MatrixCell]] = {operator: [] for operator in summary.campaign.operators}
    for cell in summary.matrix():
        rows[cell.operator].append(MatrixCell.of(cell))
    return list(rows.items())


def _legend(summary: Summary) -> list[tuple[CellVerdict, int, str]]:
    """The verdicts that the matrix has, how often, and what they mean."""
    found = Counter(cell.verdict for cell in summary.matrix())
    return [(verdict, found[verdict], CELL_MEANINGS[verdict]) for verdict in CellVerdict if found[verdict]]


@dataclass(frozen=True)
class ShownRule:
    """A rule as a page tells of it; the last three are "" for one that the campaign does not list."""

    id: str
    statement: str = ""
    source: str = ""
    erratum: str = ""


def shown_rule(rules: Iterable[Mapping[str, Any]], rule_id: str) -> ShownRule:
    """The rule of this id out of `Campaign.rules`."""
    for rule in rules:
        if rule["id"] == rule_id:
            return ShownRule(rule_id, rule["statement"], rule["source"], rule["erratum"])
    return ShownRule(rule_id or "no rule in particular")


@dataclass(frozen=True)
class _Group:
    """Failures of one operator and rule, ready to be shown."""

    group: FailureGroup
    rule: ShownRule
    levels: str
    samples: Sequence[Record]


def _group(summary: Summary, group: FailureGroup) -> _Group:
    samples = [group.smallest, *(record for record in group.shown() if record.case != group.smallest.case)]
    levels = level_ranges(group.levels, summary.campaign.levels)
    return _Group(group, shown_rule(summary.campaign.rules, group.rule), levels, samples)


def _groups(summary: Summary, *kinds: FailureKind) -> list[_Group]:
    return [_group(summary, group) for group in summary.failure_groups(*kinds)]


def _count(summary: Summary, *kinds: FailureKind) -> int:
    return sum(group.count for group in summary.failure_groups(*kinds))


@dataclass(frozen=True)
class _DecisionRule:
    """A rule on which backend and specification decide differently, over all operators."""

    rule: ShownRule
    count: int
    groups: Sequence[_Group]
    smallest: Record


def _decision_rules(summary: Summary) -> list[_DecisionRule]:
    by_rule: dict[str, list[_Group]] = {}
    for group in _groups(summary, FailureKind.DECISION):
        by_rule.setdefault(group.group.rule, []).append(group)
    found = [
        _DecisionRule(
            groups[0].rule,
            sum(group.group.count for group in groups),
            groups,
            min((group.group for group in groups), key=lambda group: group.smallest_size).smallest,
        )
        for groups in by_rule.values()
    ]
    return sorted(found, key=lambda rule: (-rule.count, rule.rule.id))


def _observed(summary: Summary) -> list[Mapping[str, Any]]:
    order = summary.campaign.operators.index
    return [
        {
            "group": group,
            "rule": shown_rule(summary.campaign.rules, group.rule),
            "levels": level_ranges(group.levels, summary.campaign.levels),
            "reason": group.reasons.most_common(1)[0][0],
        }
        for group in sorted(summary.observed.values(), key=lambda group: (group.rule, order(group.operator)))
    ]


@dataclass(frozen=True)
class _SpeedRow:
    """A measurement and its bar, in hundredths of the widest: median, the device's copy, slowest and fastest run."""

    row: Throughput
    bar: float
    copy: float
    slowest: float
    fastest: float


@dataclass(frozen=True)
class _Speed:
    """The measurements in one state of the caches.

    Attributes:
        caches: their state.
        roofline: the plot; None where nothing can be drawn.
        bars: of the largest size, by operator.
        sizes: ascending.
        by_size: for each operator its data types, each with a measurement or None for each size.
    """

    caches: Caches
    roofline: Roofline | None
    bars: Mapping[str, Sequence[_SpeedRow]]
    sizes: Sequence[int]
    by_size: Mapping[str, Sequence[tuple[str, Sequence[Throughput | None]]]]


def _speed(rows: Sequence[Throughput]) -> list[_Speed]:
    plots = {plot.caches: plot for plot in rooflines(rows)}
    found = []
    for caches in Caches:
        own = [row for row in rows if row.caches is caches]
        if own:
            sizes = sorted({row.size for row in own})
            found.append(_Speed(caches, plots.get(caches), _bars(at_largest_size(own)), sizes, _by_size(own, sizes)))
    return found


def _by_size(rows: Iterable[Throughput], sizes: Sequence[int]) -> dict[str, list[tuple[str, list[Throughput | None]]]]:
    by_type: dict[tuple[str, str], dict[int, Throughput]] = {}
    for row in rows:
        by_type.setdefault((row.operator, row.data_type), {})[row.size] = row
    found: dict[str, list[tuple[str, list[Throughput | None]]]] = {}
    for (operator, data_type), by_size in by_type.items():
        found.setdefault(operator, []).append((data_type, [by_size.get(size) for size in sizes]))
    return found


def _bars(rows: Sequence[Throughput]) -> dict[str, list[_SpeedRow]]:
    """The measurements by operator."""
    rates = [(row.useful_bytes / min(row.seconds), row.copy_bytes_per_second) for row in rows]
    widest = max((max(pair) for pair in rates), default=1.0)
    found: dict[str, list[_SpeedRow]] = {}
    for row in rows:
        ends = (row.useful_bytes / max(row.seconds), row.useful_bytes / min(row.seconds))
        scaled = [100 * rate / widest for rate in (row.bytes_per_second, row.copy_bytes_per_second, *ends)]
        found.setdefault(row.operator, []).append(_SpeedRow(row, *scaled))
    return found


def _rule_coverage(summary: Summary) -> Mapping[str, Any]:
    rules = summary.rule_coverage()
    by_subject: dict[str, list[RuleCoverage]] = {}
    for coverage in rules:
        by_subject.setdefault(coverage.rule["id"].partition(".")[0], []).append(coverage)
    return {"rules": rules, "by_subject": by_subject, "ways": Counter(coverage.ways for coverage in rules)}


@dataclass(frozen=True)
class _Facet:
    """Judged, accepted cases by one trait (rows) and operator (columns); None where an operator cannot have it."""

    title: str
    rows: list[tuple[str, list[int | None]]]

    @property
    def gaps(self) -> int:
        return sum(count == 0 for _, counts in self.rows for count in counts)


def _facets(summary: Summary) -> list[_Facet]:
    names = summary.campaign.operators
    levels: dict[str, list[int | None]] = {level: [] for level in summary.campaign.levels}
    for cell in summary.matrix():
        levels[cell.level].append(sum(cell.counts[verdict] for verdict in JUDGED))
    facets = [_Facet("Feature levels", list(levels.items()))]
    for facet, possible in _possible(summary).items():
        counts = summary.coverage[facet]
        rows: list[tuple[str, list[int | None]]] = [
            (value, [counts[value, name] if counts[value, name] or name in having else None for name in names])
            for value, having in possible.items()
        ]
        facets.append(_Facet(FACET_TITLES[facet], rows))
    return facets


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
        support = {(kind, name) for name, table in tables if group in table for kind in table[group].data_types}
        for kind, name in sorted(support):
            found[facet].setdefault(kind.name, set()).add(name)
    for rank, name in sorted({(rank, name) for name, table in tables for rank in table[DATA].dimension_counts}):
        found["rank"].setdefault(str(rank), set()).add(name)
    indexing = {name for name in names if operators()[name].index is not None}
    for facet in FACETS:
        for value, name in sorted(summary.coverage[facet]):
            if value:
                alike = {"layout": set(names), "pattern": indexing if name in indexing else set(names) - indexing}
                found[facet].setdefault(value, set()).update(alike.get(facet, {name}))
    return found
