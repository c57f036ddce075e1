"""Markdown for the job page of a CI server or a comment: the outcome, operators by levels, and what differs.

It is bounded, so that no server cuts it: the largest that the usual ones take is a comment of 65,536 characters. What
does not fit is counted. What a backend says of itself stands in code, where it can be neither markup nor a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.records import Record, Verdict
from dml_conformance.reports.model.summary import CellVerdict, Conformance, FailureGroup, FailureKind, Summary
from dml_conformance.reports.model.text import (
    BETWEEN_EPOCHS,
    counts_text,
    difference_text,
    duration,
    executed_texts,
    figure,
    largest_sizes,
    level_ranges,
    share_of_copy,
)

MAX_CHARACTERS = 60_000
MAX_LINE = 3_000  # of a reproducing line; with more explicit values than that it is no line to copy
MAX_REASON = 300
SHOWN_DIFFERENCES = 3
SHOWN_TIMED, SHOWN_INACCURATE, MAX_LABEL = 20, 20, 60
_MARKUP = re.compile(r"([\\`*{}\[\]()#+!|~<>&@$]|(?<!\w)_|_(?!\w))")


def markdown(summary: Summary, most: int = MAX_CHARACTERS) -> str:
    """The whole text, of at most `most` characters as long as those hold the table and a line for the rest."""
    head = "\n".join(_head(summary))
    tail = "\n".join(_tail(summary))
    groups = list(summary.failure_groups(*FailureKind))
    shown: list[str] = []
    room = most - len(head) - len(tail) - 200
    for number, group in enumerate(groups):
        section = "\n".join(_failure(summary, group))
        room -= len(section) + 1
        if room < 0:
            rest = groups[number:]
            cases = sum(group.count for group in rest)
            shown.append(f"{len(rest):,} more groups of failures, {cases:,} cases, are in the report.\n")
            break
        shown.append(section)
    differs = ["## What differs\n", *shown] if groups else []
    return "\n".join([head, *differs, tail]) + "\n"


def _head(summary: Summary) -> Iterator[str]:
    campaign, outcome = summary.campaign, summary.conformance
    yield f"# {CellVerdict[outcome.name].symbol} {_plain(campaign.backend['name'])}: {outcome}\n"
    yield f"{_plain(summary.headline())}\n"
    if outcome is Conformance.INCOMPLETE:
        yield from (f"- {_plain(reason)}" for reason in summary.why_incomplete())
        yield ""
    took = duration(summary.seconds)
    facts = (
        ("device", _code(campaign.backend["device"])),
        ("cases", counts_text(summary.counts, (Verdict.PASS, Verdict.FAIL))),
        ("run", _plain(campaign.started) + (f", {took}" if took else "")),
        ("made with", _plain(f"suite {campaign.suite_version}, budget {campaign.budget}, seed {campaign.seed}")),
    )
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {name} | {text} |" for name, text in facts)
    yield ""
    yield from _matrix(summary)


def _matrix(summary: Summary) -> Iterator[str]:
    """Operators by levels; a cell that is not conformant has how many cases failed."""
    levels = summary.campaign.levels
    cells = {(cell.operator, cell.level): cell for cell in summary.matrix()}
    yield "## Operators and levels\n"
    yield f"| operator | {' | '.join(levels)} |"
    yield f"|---|{':-:|' * len(levels)}"
    for operator in summary.campaign.operators:
        row = [cells[operator, level] for level in levels]
        texts = [cell.verdict.symbol + (f" {cell.counts.failed:,}" if cell.counts.failed else "") for cell in row]
        yield f"| {_plain(operator)} | {' | '.join(texts)} |"
    found = {cell.verdict for cell in cells.values()}
    legend = ", ".join(f"{verdict.symbol} {verdict}" for verdict in CellVerdict if verdict in found)
    numbers = "; numbers are failed cases" if any(cell.counts.failed for cell in cells.values()) else ""
    yield f"\n{legend}{numbers}.\n"
    if executed := executed_texts(summary.executed_at()):
        yield f"{BETWEEN_EPOCHS} Executed\n"
        yield from (f"- {_plain(text)}" for text in executed)
        yield ""


def _failure(summary: Summary, group: FailureGroup) -> Iterator[str]:
    """A group of failures with its smallest case."""
    record = group.smallest
    where = level_ranges(group.levels, summary.campaign.levels)
    title = f"{_plain(group.operator)} {_plain(group.rule or 'no rule in particular')}"
    yield f"### {title}\n"
    yield f"{group.kind}: {group.count:,} {'case' if group.count == 1 else 'cases'} at {_plain(where)}.\n"
    rule = next((rule for rule in summary.campaign.rules if rule["id"] == group.rule), None)
    if rule is not None:
        yield f"The rule: {_plain(rule['statement'])} ([source]({_address(rule['source'])})).\n"
    lines = list(_record_lines(record))
    if lines:
        yield from _fenced("\n".join(lines), "text")
    if record.reproduce:
        if len(record.reproduce) <= MAX_LINE:
            yield from _fenced(one_line(record.reproduce), "sh")
        else:
            yield f"Too long for a line: `dml-conformance replay results.sqlite#{record.case[:12]} --backend ...`\n"


def _record_lines(record: Record) -> Iterator[str]:
    if record.reason:
        yield one_line(record.reason, MAX_REASON)
    yield from (one_line(difference_text(d), MAX_REASON) for d in record.differences[:SHOWN_DIFFERENCES])
    if record.difference_count > SHOWN_DIFFERENCES:
        yield f"{record.difference_count:,} elements differ"


def _tail(summary: Summary) -> Iterator[str]:
    yield from _accuracy(summary)
    sizes, rows = largest_sizes(summary.throughputs)
    if rows:
        yield f"## Throughput\n\nOutputs of {sizes}.\n"
        yield "| operator | slowest type | of the copy | fastest type | of the copy |"
        yield "|---|---|--:|---|--:|"
        for operator, found in list(rows.items())[:SHOWN_TIMED]:
            ends = " | ".join(f"{_label(row.data_type)} | {share_of_copy(row)}" for row in (found[0], found[-1]))
            yield f"| {_label(operator)} | {ends} |"
        yield ""
        if len(rows) > SHOWN_TIMED:
            yield f"{len(rows) - SHOWN_TIMED} more operators are in the report.\n"
    if summary.throughputs_left_out:
        yield f"{summary.throughputs_left_out:,} more measurements are in the results alone.\n"
    yield f"Cases: {summary.total:,}, failed: {summary.failed:,}. Results digest: `{summary.digests.results}`."


def _accuracy(summary: Summary) -> Iterator[str]:
    rows = summary.least_accurate()
    if not rows:
        return
    yield f"## Accuracy\n\nErrors in ULP, held to the bounds of profile `{summary.campaign.accuracy}`.\n"
    yield "| operator | type | results | largest | 99.9 % within |"
    yield "|---|---|--:|--:|--:|"
    for operator, data_type, errors in rows[:SHOWN_INACCURATE]:
        figures = f"{errors.count:,} | {figure(errors.largest)} | {figure(errors.most)}"
        yield f"| {_label(operator)} | {_label(data_type)} | {figures} |"
    yield ""
    if len(rows) > SHOWN_INACCURATE:
        yield f"{len(rows) - SHOWN_INACCURATE} more with smaller errors are in the report.\n"


def _label(name: str) -> str:
    return _plain(one_line(name, MAX_LABEL))


def _plain(text: str) -> str:
    """Text without markup, on one line."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def _code(text: str) -> str:
    """Text as code on one line of a table."""
    line = one_line(text)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}".replace("|", "\\|") if line else ""


def _fenced(text: str, language: str) -> Iterator[str]:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    yield f"{fence}{language}\n{text}\n{fence}\n"


def _address(url: str) -> str:
    return re.sub(r"[\s()<>]", lambda match: f"%{ord(match[0]):02X}", url)
