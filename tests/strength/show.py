"""A score as text, as the figures of the page docs/strength.md, and as a row for each wrong backend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module

from dml_conformance.reports.model.records import JUDGED_PHASES
from dml_conformance.spec.levels import HIGHEST
from strength.measure import BY_RULE
from strength.mutants import FAMILIES
from strength.score import PROMISED, Record, Score, ScoreRow

FIGURES = re.compile("(?<=<!-- figures -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)
NAMED = 4  # operators of a survivor


def as_text(score: Score) -> list[str]:
    """Lines for a terminal: the totals and what survives; tables are the caller's."""
    lines = [
        f"{budget}: {score.total.killed[budget]:,} of {score.total.plantings:,} plantings killed "
        f"({score.share(budget):.1%}, promised {PROMISED[budget]:.0%})"
        for budget in score.budgets
    ]
    lines.append(f"{score.total.mutants} wrong backends, seeds {', '.join(map(str, score.seeds))}")
    lines += [f"survives {s.budget}: {s.mutant} ({s.operator} at {s.level})" for s in score.survivors]
    lines += [f"left out, {count:,} plantings: {reason}" for reason, count in score.left_out.items()]
    return lines


def headers(score: Score) -> list[str]:
    return ["family", "backends", *_columns(score)]


def cells(score: Score, row: ScoreRow) -> list[str]:
    """One family's row."""
    return [row.name, str(row.mutants), *_numbers(score, row)]


def with_figures(page: str, record: Record) -> str:
    """The page docs/strength.md with what is on record in the place of its figures."""
    return FIGURES.sub(lambda _: as_markdown(record), page)


def as_markdown(record: Record) -> str:
    """The figures of the page: totals."""
    total = record.totals()
    rows = [
        [budget, f"{killed:,}", f"{total.plantings:,}", f"{killed / total.plantings:.2%}", f"{PROMISED[budget]:.0%}"]
        for budget, killed in total.killed.items()
    ]
    about = (
        f"Suite version {total.suite_version}, {total.mutants} wrong backends, {len(record.operators)} operators, "
        f"feature level {HIGHEST.label}, seed 0."
    )
    parts = ["## Score", about]
    parts += _table(["budget", "killed", "of", "share", "promised"], rows)
    families = [
        [
            name,
            str(row.mutants),
            f"{row.plantings:,}",
            *(_percent(killed, row.plantings) for killed in row.killed.values()),
            _faults(name),
        ]
        for name, row in record.families().items()
    ]
    parts += ["## Families", *_table(["family", "backends", "plantings", *total.killed, "faults"], families)]
    parts += ["## Survivors", *_survivors(record), "## Left out", *_left_out(record)]
    return "\n\n".join(parts) + "\n"


def details(score: Score) -> str:
    """A row for each wrong backend, as a table in Markdown.

    What is refused too much differs from level to level; named is that of the highest one.
    """
    head = ["family", "backend", "fault", *_columns(score), "witness"]
    rows = [
        [row.family, f"`{row.name}`", row.about or "what its name says", *_numbers(score, row), _witness(row)]
        for row in score.mutants
    ]
    return "\n".join(_table(head, rows)) + "\n"


def _faults(family: str) -> str:
    """What the faults of a family are about: the first line of its module."""
    if family == BY_RULE:
        return "Rules that are forgotten, loosened or over-applied."
    if family not in FAMILIES:
        return ""
    return (import_module(f"strength.mutants.{family}").__doc__ or "").partition("\n")[0]


def _survivors(record: Record) -> Iterable[str]:
    rows = [
        [one.budget, f"`{one.mutant}`", one.about or "what its name says", _places(names)]
        for one, names in record.survivors().items()
    ]
    yield from _table(["budget", "backend", "fault", "not killed at"], rows) if rows else ["None."]


def _places(names: Sequence[str]) -> str:
    """Where something survives: all operators where they are few, else the first ones and how many there are."""
    named = ", ".join(names[:NAMED])
    return named if len(names) <= NAMED else f"{len(names)} operators, such as {named}"


def _left_out(record: Record) -> Iterable[str]:
    yield (
        "These would be no other than a right backend, or than another wrong one. The reason is worked out "
        "from the rule at that level (`derived` in `rule_mutants.py`). The tests check on descriptors that a rule is "
        "open, that it cannot be broken alone, and that there is no step; that a loosened rule is the same as a "
        "forgotten one rests on a sample, and that there is nothing to overdo in what is executed is a judgement."
    )
    rows = [[reason, f"{count:,}"] for reason, count in sorted(record.left_out().items())]
    yield from _table(["reason", "plantings"], rows)


def _columns(score: Score) -> list[str]:
    return ["plantings", *map(str, JUDGED_PHASES), *score.budgets, "cases"]


def _numbers(score: Score, row: ScoreRow) -> list[str]:
    killed = [row.phases[str(phase)] for phase in JUDGED_PHASES] + [row.killed[budget] for budget in score.budgets]
    shares = [_percent(number, row.plantings) for number in killed]
    return [f"{row.plantings:,}", *shares, _number(row.cases[score.budgets[0]])]


def _witness(row: ScoreRow) -> str:
    """The smallest failing case: operator, level and rule blamed, then how large its tensors and its JSON are."""
    if (w := row.witness) is None:
        return ""
    return f"{w.operator} {w.level} `{w.rule}`: {w.dimensions} dimensions, {w.elements:,} elements, {w.size} bytes"


def _percent(number: int, of: int) -> str:
    """Rounded down, so that 100 % is all of them."""
    return f"{100 * number // of} %" if of else "-"


def _number(value: float) -> str:
    return "-" if not value else f"{value:,.0f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    yield "\n".join(lines)
