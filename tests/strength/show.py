"""A score as text, as the page docs/strength.md, and as a row for each wrong backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from dml_conformance.reports.model.records import JUDGED_PHASES
from dml_conformance.spec.levels import HIGHEST
from strength.measure import BY_RULE
from strength.mutants import FAMILIES
from strength.score import PROMISED, Record, Score, ScoreRow, SurvivorRecord

TITLE = "# How strong the suite is"

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

Under a budget's name stands what its campaign kills, as a share of the plantings.

`python tests/strength --operator GATHER --level 6_4 --details -` has a row for each wrong backend: its fault, the share
of its plantings that each phase kills of what those before it left, and its *witness*, the smallest failing case that
shrinking led to. What fails only now and then, or after other cases, does not shrink.

`python tests/strength --record --workers 2` measures the score and writes it down (`docs/measured/strength.json`), with
this page and the totals that certificates show (`conformance/strength.json`). With `--operator`, which may be repeated,
it adds operators that are not on record yet; with `--outcomes FILE` what was interrupted goes on. A score is out of
date when the version of the suite, a rule, a wrong backend or the cases have changed; a test tells.
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


def as_markdown(record: Record) -> str:
    """The whole page: totals."""
    total = record.total
    rows = [
        [budget, f"{killed:,}", f"{total.plantings:,}", f"{killed / total.plantings:.2%}", f"{PROMISED[budget]:.0%}"]
        for budget, killed in total.killed.items()
    ]
    about = (
        f"Suite version {record.suite_version}, {total.mutants} wrong backends, {len(record.operators)} operators, "
        f"feature level {HIGHEST.label}, seed 0."
    )
    parts = [TITLE, _INTRODUCTION.strip(), "## Score", about]
    parts += _table(["budget", "killed", "of", "share", "promised"], rows)
    families = [
        [
            name,
            str(row.mutants),
            f"{row.plantings:,}",
            *(_percent(killed, row.plantings) for killed in row.killed.values()),
            _faults(name),
        ]
        for name, row in record.families.items()
    ]
    parts += ["## Families", *_table(["family", "backends", "plantings", *total.killed, "faults"], families)]
    parts += ["## Survivors", *_survivors(record), "## Left out", *_left_out(record), _LIMITS.strip()]
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
    if not record.survivors:
        yield "None."
        return
    rows = [
        [one.budget, f"`{one.mutant}`", one.about or "what its name says", _places(one)] for one in record.survivors
    ]
    yield from _table(["budget", "backend", "fault", "not killed at"], rows)


def _places(survivor: SurvivorRecord) -> str:
    """Where something survives: all operators where they are few, else the first ones and how many there are."""
    named = ", ".join(survivor.named)
    return named if survivor.places <= len(survivor.named) else f"{survivor.places} operators, such as {named}"


def _left_out(record: Record) -> Iterable[str]:
    yield (
        "These would be no other than a right backend, or than another wrong one. The reason is worked out "
        "from the rule at that level (`derived` in `rule_mutants.py`). The tests check on descriptors that a rule is "
        "open, that it cannot be broken alone, and that there is no step; that a loosened rule is the same as a "
        "forgotten one rests on a sample, and that there is nothing to overdo in what is executed is a judgement."
    )
    rows = [[reason, f"{count:,}"] for reason, count in sorted(record.left_out.items())]
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
