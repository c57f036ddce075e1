"""A score as text, as the page docs/strength.md, and as a row for each wrong backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from dml_conformance.reports.model.records import JUDGED_PHASES
from strength.measure import BY_RULE
from strength.mutants import FAMILIES
from strength.score import PROMISED, Score, ScoreRow

TITLE = "# How strong the suite is"
NAMED = 4  # operators of a survivor

_INTRODUCTION = """
A suite that finds nothing says little, unless it would have found something. So it is run on backends that are wrong on
purpose. Each is the reference with one fault; it is *killed* where a case fails. What is counted is a *planting*: one
wrong backend at one operator and one feature level, where its fault can show. A planting counts as killed by a budget
only if it is killed with every seed tried.

Two kinds of wrong backends are used. Some are made by hand, after bugs that implementations have had or could have
(`tests/strength/mutants`, a module a family). The others follow from the registry of rules
(`tests/strength/rule_mutants.py`), so that a new operator has its own without a line written for it:

* one *forgets* the rule: it accepts what this rule alone refuses;
* one *loosens* it: it accepts that only where the descriptor is one step from a valid one, so it is wrong by one;
* one *over-applies* it: it refuses what is valid and one step from breaking this rule alone. Of all steps by which that
  could be, it is the one by which the fewest of a few hundred valid descriptors are refused.

A step is the smallest change of one field, or the next table of the feature levels (`tests/strength/steps.py`).
For the rules of execution, what it means to forget or to overdo one is among the backends made by hand.

## How to read the tables

Under *examples*, *boundaries*, *search* and *sweep* stands what each phase of the {largest} budget kills, in this
order, of that which those before it left, as a share of all plantings; under a budget's name what its campaign kills.
*Cases* is the median number of cases of a campaign up to the kill, at one operator and level, of the first budget.

`python tests/strength --operator GATHER --level 6_4 --details -` has a row for each wrong backend, with its fault and
its *witness*: the smallest failing case that shrinking led to. What fails only now and then, or after other cases, does
not shrink.

`python tests/strength --record --workers 2` measures the score and writes this page and the totals that certificates
show (`conformance/strength.json`, which names the operators); with `--operator`, which may be repeated, of these
operators alone; with `--outcomes FILE` what was interrupted goes on. A score is out of date when the version of the
suite, a rule, a wrong backend or the cases have changed; a test tells.
"""

_LIMITS = """
## Coverage of the specification

`python tests/strength --coverage` counts what the examples, boundaries and sweep of the standard budget reach, at
each operator and level: every rule broken or left open, where it can be broken alone; valid descriptors; every rule of
execution; every data type with every dimension count, and both with packed, padded and permuted outputs (an output of
one dimension with packed ones); an output whose dimensions interleave; every index type with every pattern of indices.
What there is to reach follows from the tables and rules. A gap fails the tests.

## What this does not show

* The score on record is that of the newest level, where every operator and rule is; `--level` measures another. What
  is wrong at one level alone is found where a campaign executes that level, or a sample of it.
* Every wrong backend is the reference with one fault. Two faults may hide each other, and a fault nobody thought of is
  not among them.
* Backends that end their process, hang or take all memory are not here: they are run in processes of their own.
* Each phase is run on a fresh backend: what one kept from the phase before is not there.
* A real race depends on timing; here it is played, by a backend that now and then is late.
* What is derived is derived from the rules as this project states them. A rule that is missing has no wrong backend.
"""


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


def as_markdown(score: Score) -> str:
    """The whole page: totals."""
    parts = [TITLE, _INTRODUCTION.format(largest=score.budgets[-1]).strip(), "## Score", *_table_of_budgets(score)]
    rows = [[*cells(score, row), _faults(row.name)] for row in (*score.families, score.total)]
    parts += ["## Families", *_table([*headers(score), "faults"], rows)]
    parts += ["## Survivors", *_survivors(score), "## Left out", *_left_out(score), _LIMITS.strip()]
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


def _table_of_budgets(score: Score) -> Iterable[str]:
    seeds = ", ".join(map(str, score.seeds))
    yield (
        f"Suite version {score.suite_version}, {score.total.mutants} wrong backends, {len(score.operators)} operators, "
        f"feature level {', '.join(score.levels)}, seed {seeds}."
    )
    rows = [
        [b, f"{score.total.killed[b]:,}", f"{score.total.plantings:,}", f"{score.share(b):.2%}", f"{PROMISED[b]:.0%}"]
        for b in score.budgets
    ]
    yield from _table(["budget", "killed", "of", "share", "promised"], rows)


def _survivors(score: Score) -> Iterable[str]:
    if not score.survivors:
        yield "None."
        return
    found: dict[tuple[str, str], list[str]] = {}
    for survivor in score.survivors:
        found.setdefault((survivor.budget, survivor.mutant), []).append(f"{survivor.operator} {survivor.level}")
    faults = {row.name: row.about or "what its name says" for row in score.mutants}
    rows = [[budget, f"`{mutant}`", faults[mutant], _places(places)] for (budget, mutant), places in found.items()]
    yield from _table(["budget", "backend", "fault", "at least one seed does not kill it at"], rows)


def _places(places: Sequence[str]) -> str:
    """Where something survives: all places where they are few, else the first ones and how many there are."""
    named = ", ".join(places[:NAMED])
    return named if len(places) <= NAMED else f"{len(places)} places, such as {named}"


def _left_out(score: Score) -> Iterable[str]:
    yield (
        "These would be no other than a right backend, or than another wrong one. The reason is worked out "
        "from the rule at that level (`derived` in `rule_mutants.py`). The tests check on descriptors that a rule is "
        "open, that it cannot be broken alone, and that there is no step; that a loosened rule is the same as a "
        "forgotten one rests on a sample, and that there is nothing to overdo in what is executed is a judgement."
    )
    rows = [[reason, f"{count:,}"] for reason, count in sorted(score.left_out.items())]
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
