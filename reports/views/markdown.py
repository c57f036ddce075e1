"""Markdown for the job page of a CI server or a comment: the outcome, operators by levels, and what differs.

It is bounded, so that no server cuts it: the largest that the usual ones take is a comment of 65,536 characters. What
does not fit is counted. What a backend says of itself stands in code, where it can be neither markup nor a mention.
"""

from __future__ import annotations

import re
from functools import cache
from operator import attrgetter
from typing import Any

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.errors import WITHOUT_ULP
from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.summary import CellVerdict, FailureKind, Summary
from dml_conformance.reports.model.templating import environment
from dml_conformance.reports.model.text import (
    BETWEEN_EPOCHS,
    counts_text,
    difference_text,
    largest_sizes,
)

MAX_CHARACTERS = 60_000
MAX_LINE = 3_000  # of a reproducing line; with more explicit values than that it is no line to copy
MAX_REASON, MAX_LABEL = 300, 60
SHOWN_DIFFERENCES, SHOWN_ROWS = 3, 20
_MARKUP = re.compile(r"([\\`*{}\[\]()#+!|~<>&@$]|(?<!\w)_|_(?!\w))")


def markdown(summary: Summary, most: int = MAX_CHARACTERS) -> str:
    """The whole text, of at most `most` characters as long as those hold the table and a line for the rest."""
    parts = _parts()
    sizes, timed = largest_sizes(summary.throughputs)
    head = str(parts.head(summary, grouped(summary.matrix(), attrgetter("operator"))))
    tail = str(parts.tail(summary, summary.least_accurate(), sizes, list(timed.items())))
    groups = list(summary.failure_groups(*FailureKind))
    shown: list[str] = []
    room = most - len(head) - len(tail) - 200
    for number, group in enumerate(groups):
        section = str(parts.failure(summary, group))
        room -= len(section) + 1
        if room < 0:
            rest = groups[number:]
            cases = sum(group.count for group in rest)
            shown.append(f"{len(rest):,} more groups of failures, {cases:,} cases, are in the report.\n")
            break
        shown.append(section)
    differs = ["## What differs\n", *shown] if groups else []
    return "\n".join([head, *differs, tail])


@cache
def _parts() -> Any:
    """The macros of the template."""
    found = environment("dml_conformance.reports.views")
    found.filters.update(
        address=lambda url: re.sub(r"[\s()<>]", lambda match: f"%{ord(match[0]):02X}", url),
        brief=lambda text: one_line(text, MAX_REASON),
        code=_code,
        counts=counts_text,
        difference=difference_text,
        fenced=_fenced,
        label=lambda name: _plain(one_line(name, MAX_LABEL)),
        plain=_plain,
    )
    found.globals.update(
        verdicts=CellVerdict,
        without_ulp=WITHOUT_ULP,
        between_epochs=BETWEEN_EPOCHS,
        max_line=MAX_LINE,
        shown_differences=SHOWN_DIFFERENCES,
        shown_rows=SHOWN_ROWS,
    )
    return found.get_template("summary.md.j2").module


def _plain(text: str) -> str:
    """Text without markup, on one line."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def _code(text: str) -> str:
    """Text as code on one line of a table."""
    line = one_line(text)
    ticks = "`" * (1 + _longest_ticks(line))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}".replace("|", "\\|") if line else ""


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + _longest_ticks(text))
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
