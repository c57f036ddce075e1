"""What a person sees in a terminal: progress while the run goes on, and the outcome at its end.

Rich looks after widths, colours and `NO_COLOR`. Where the output is no terminal (a log), progress is a line every few
seconds, and where it cannot show symbols they are letters.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from types import TracebackType
from typing import TypeVar

from rich import progress as bars
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.errors import WITHOUT_ULP
from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.inputs import input_lines
from dml_conformance.reports.model.networks import NetworkVerdict
from dml_conformance.reports.model.records import (
    Campaign,
    Ending,
    Phase,
    Record,
    Throughput,
    Verdict,
)
from dml_conformance.reports.model.stream import Consumer
from dml_conformance.reports.model.summary import CellVerdict, Conformance, FailureGroup, FailureKind, Summary, Verdicts
from dml_conformance.reports.model.text import (
    brief_seconds,
    claims_text,
    count_of,
    counts_text,
    difference_text,
    duration,
    figure,
    largest_sizes,
    level_ranges,
    of_deviation,
    part_of_bound,
    share_of_copy,
)

_T = TypeVar("_T")

SHOWN_FAILURES = 10
SHOWN_INACCURATE = 10  # operators and types with the largest errors
SHOWN_LAYERS = 10  # wrong ones of a network
SHOWN_TIMED = 20  # operators whose throughput is shown
LINE_INTERVAL = 10.0  # seconds between lines where there is no terminal
STEP_INTERVAL = 0.25  # seconds before a loop gets a bar in a terminal, and between its updates
MAX_REASON = 240  # characters
SHOWN_REASONS = 5  # why cases were set aside
MOST_INPUTS = 3  # of a case, whose values are shown
_ALWAYS = (Verdict.PASS, Verdict.FAIL)  # verdicts that are told though there are none

STYLES = {
    CellVerdict.CONFORMANT: "green",
    CellVerdict.NARROWER: "cyan",
    CellVerdict.NOT_CONFORMANT: "bold red",
    CellVerdict.INCOMPLETE: "yellow",
    CellVerdict.OBSERVED_ONLY: "blue",
    CellVerdict.NOT_SUPPORTED: "dim",
}
NETWORK_STYLES = {
    NetworkVerdict.RIGHT: "green",
    NetworkVerdict.WRONG: "bold red",
    NetworkVerdict.INCOMPLETE: "yellow",
}
OUTCOME_STYLES = {
    Conformance.CONFORMANT: "bold green",
    Conformance.NARROWER: "bold cyan",
    Conformance.NOT_CONFORMANT: "bold red",
    Conformance.INCOMPLETE: "bold yellow",
}


class Terminal(Console):
    """A console whose reader may go away. Rich would end the process with 1, which is said of what is not conformant.

    Raises:
        BrokenPipeError: from whatever prints; the reader has gone.
    """

    def on_broken_pipe(self) -> None:
        raise


class Progress(Consumer):
    """A consumer that shows how far the run is: in a terminal a bar for each phase, elsewhere a line now and then.

    Args:
        console: where to; standard error if none is given, so that standard output holds the outcome alone.
        planned: cases that each phase will have, where that is known.
        clock: seconds, rising.
    """

    def __init__(
        self,
        console: Console | None = None,
        planned: Mapping[Phase, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Terminal(stderr=True)
        self._planned = dict(planned or {})
        self._clock = clock
        self._counts: dict[Phase, Verdicts] = {}
        self._tasks: dict[Phase, bars.TaskID] = {}
        self._bars: bars.Progress | None = None
        self._phase: Phase | None = None
        self._next = 0.0
        self._measured = 0
        self._measuring: bars.TaskID | None = None

    def start(self, campaign: Campaign) -> None:
        text = f"Testing {campaign.backend['name']} on {campaign.backend['device']}"
        _print(self._console, _text(self._console, text))
        _print(self._console, _text(self._console, f"Claims: {one_line(claims_text(campaign.backend), MAX_REASON)}"))
        self._next = self._clock() + LINE_INTERVAL
        if self._console.is_terminal:
            self._bars = _started_bars(self._console, "{task.description:<10}", _Tally(), transient=False)

    def record(self, record: Record | EncodedRecord) -> None:
        phase, verdict = record.traits.phase, record.traits.verdict
        if phase is not self._phase:
            self._enter(phase)
        counts = self._counts[phase]
        counts[verdict] += 1
        if self._bars is not None:
            self._bars.update(self._tasks[phase], advance=1)
        elif self._clock() >= self._next:
            self._line(phase)

    def throughput(self, row: Throughput) -> None:
        """These are few, but take their time."""
        if self._phase is not None:
            self._leave(self._phase)
            self._phase = None
        self._measured += 1
        if self._bars is None:
            if self._clock() >= self._next:
                self._next = self._clock() + LINE_INTERVAL
                _print(self._console, Text(f"throughput: {count_of(self._measured, 'measurement')}"))
            return
        if self._measuring is None:
            self._measuring = self._bars.add_task("throughput", total=None, measured=0)
        self._bars.update(self._measuring, measured=self._measured)

    def finish(self, ending: Ending) -> None:
        if self._phase is not None:
            self._leave(self._phase)
        if self._bars is not None and self._measuring is not None:
            self._bars.update(self._measuring, total=1, completed=1)
        self.close()
        if not ending.complete:
            _print(self._console, Text(_fit(self._console, f"Stopped before the end. {ending.reason}"), "yellow"))

    def close(self) -> None:
        """Give the terminal back where a run does not finish."""
        if self._bars is not None:
            self._bars.stop()

    def _enter(self, phase: Phase) -> None:
        if self._phase is not None:
            self._leave(self._phase)
        self._phase = phase
        counts = self._counts.setdefault(phase, Verdicts())
        if self._bars is not None and phase not in self._tasks:
            self._tasks[phase] = self._bars.add_task(str(phase), total=self._planned.get(phase), counts=counts)

    def _leave(self, phase: Phase) -> None:
        if self._bars is None:
            self._line(phase)
        elif phase not in self._planned:  # known now: all there were
            self._bars.update(self._tasks[phase], total=self._counts[phase].total())

    def _line(self, phase: Phase) -> None:
        self._next = self._clock() + LINE_INTERVAL
        counts = self._counts[phase]
        done = count_of(counts.total(), "case")
        if phase in self._planned:
            done = f"{counts.total():,} of {count_of(self._planned[phase], 'case')}"
        _print(self._console, Text(f"{phase}: {done}, {counts_text(counts, _ALWAYS)}"))


class Steps:
    """How far a long loop is: in a terminal a bar, elsewhere a line now and then, and nothing if it is soon through.

    Use it as a context manager.

    Args:
        what: is being done, in a few words: `Reading results.sqlite`.
        total: how many steps there will be; None where that is not known.
        unit: of what a step is, in the plural.
        console: where to; standard error if none is given.
        clock: seconds, rising.
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        unit: str = "cases",
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Terminal(stderr=True)
        self._what = _fit(self._console, what)
        self._total = total
        self._unit = unit
        self._clock = clock
        self._done = 0
        self._next = clock() + (STEP_INTERVAL if self._console.is_terminal else LINE_INTERVAL)
        self._bars: bars.Progress | None = None
        self._task = bars.TaskID(0)

    def __enter__(self) -> Steps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._show()
            self._bars.stop()

    def advance(self, steps: int = 1) -> None:
        """So many more steps are done."""
        self._done += steps
        if self._clock() >= self._next:
            self._show()

    def reach(self, done: int, total: int | None = None) -> None:
        """So many steps are done by now, of so many if that is known by now."""
        self._total = self._total if total is None else total
        self.advance(done - self._done)

    def over(self, items: Iterable[_T]) -> Iterator[_T]:
        """The items, each a step that is done when the next one is asked for."""
        for item in items:
            yield item
            self.advance()

    def _show(self) -> None:
        if not self._console.is_terminal:
            self._next = self._clock() + LINE_INTERVAL
            planned = "" if self._total is None else f" of {self._total:,}"
            _print(self._console, Text(f"{self._what}: {self._done:,}{planned} {self._unit}"))
            return
        self._next = self._clock() + STEP_INTERVAL
        if self._bars is None:
            done = bars.TextColumn(f"{{task.completed:,.0f}} {self._unit}")
            self._bars = _started_bars(self._console, "{task.description}", done, transient=True)
            self._task = self._bars.add_task(self._what, total=self._total)
        self._bars.update(self._task, completed=self._done, total=self._total)


def _started_bars(console: Console, description: str, done: bars.ProgressColumn, *, transient: bool) -> bars.Progress:
    columns = (
        bars.TextColumn(description, markup=False),
        bars.BarColumn(bar_width=None),
        done,
        bars.TimeElapsedColumn(),
    )
    found = bars.Progress(*columns, console=console, refresh_per_second=8, expand=True, transient=transient)
    found.start()
    return found


class _Tally(bars.ProgressColumn):
    """Cases so far, and how many of them passed and failed."""

    def render(self, task: bars.Task) -> Text:
        if "measured" in task.fields:
            return Text(count_of(task.fields["measured"], "measurement"))
        counts: Verdicts = task.fields["counts"]
        text = Text(f"{count_of(counts.total(), 'case')}  {counts[Verdict.PASS]:,} pass")
        text.append(f"  {counts.failed:,} fail", "bold red" if counts.failed else "dim")
        if counts[Verdict.ERROR]:
            text.append(f"  {counts[Verdict.ERROR]:,} error", "yellow")
        return text


def print_summary(summary: Summary, console: Console | None = None, *, output: str = "") -> None:
    """Print what a campaign came to: matrix, totals, failures with the lines that reproduce them, throughput.

    Args:
        summary: of a stream that has ended.
        console: where to; standard output if none is given.
        output: the folder that the reports are in, to be named at the end.
    """
    console = console or Terminal()
    is_ascii = console.options.ascii_only
    symbols = {verdict: verdict.letter if is_ascii else verdict.symbol for verdict in CellVerdict}
    conformance = summary.conformance
    parts: list[RenderableType] = [
        Text(),
        _matrix(console, summary, symbols),
        _legend(console, summary, symbols),
        Text(),
    ]
    failures = list(summary.failure_groups(*FailureKind))
    for group in failures[:SHOWN_FAILURES]:
        parts += _failure(console, summary, group)
    if len(failures) > SHOWN_FAILURES:
        parts.append(Text(f"{len(failures) - SHOWN_FAILURES} more groups of failures are in the reports."))
    if failures:
        parts.append(Text())
    for verdict, reasons in summary.reasons.items():
        if reasons:
            parts += [*_set_aside(console, verdict, reasons), Text()]
    if summary.campaign.networks:
        parts += [*_networks(console, summary), Text()]
    if summary.errors:
        parts += [*_accuracy(console, summary), Text()]
    if summary.throughputs:
        parts += [*_throughput(console, summary), Text()]
    took = duration(summary.seconds)
    counts = f"{count_of(summary.total, 'case')}: {counts_text(summary.counts, _ALWAYS)}"
    parts.append(Text(counts + (f", in {took}" if took else "")))
    parts.append(Text(_fit(console, f"{conformance}: {summary.headline()}"), OUTCOME_STYLES[conformance]))
    if conformance is Conformance.INCOMPLETE:
        parts += [_indented(console, reason) for reason in summary.why_incomplete()]
    if output:
        parts.append(_text(console, f"Reports: {output}"))
    for part in parts:
        _print(console, part)


def _failure(console: Console, summary: Summary, group: FailureGroup) -> list[RenderableType]:
    """A group of failures with its smallest case."""
    record = group.smallest
    head = f"{group.operator} {group.rule or 'no rule in particular'}"
    where = f": {count_of(group.count, 'case')} at {level_ranges(group.levels, summary.campaign.levels)}"
    if record.phase is Phase.BOUNDARIES and record.case_json.get("data"):
        where += ", the smallest a boundary case"
    kind = (f"{group.kind} ", STYLES[CellVerdict.NOT_CONFORMANT])
    parts: list[RenderableType] = [Text.assemble(kind, (_fit(console, head), "bold"), where)]
    if record.reason:
        parts.append(_indented(console, one_line(record.reason, MAX_REASON)))
    parts += [_indented(console, difference_text(difference)) for difference in record.differences[:1]]
    lines = input_lines(record.case_json, record.first_place)[:MOST_INPUTS]
    parts += [_indented(console, line) for line in lines]
    if record.reproduce:
        parts.append(_indented(console, record.reproduce, "cyan"))
    return parts


def _set_aside(console: Console, verdict: Verdict, reasons: Counter[str]) -> list[RenderableType]:
    """How many cases were declined, or waived, for which reason, the most frequent first."""
    name = str(verdict).replace("-", " ").capitalize()
    parts: list[RenderableType] = [Text(f"{name}, by reason:")]
    for reason, count in reasons.most_common(SHOWN_REASONS):
        parts.append(_indented(console, f"{count_of(count, 'case')}: {one_line(reason, MAX_REASON)}"))
    if len(reasons) > SHOWN_REASONS:
        parts.append(_indented(console, f"and {len(reasons) - SHOWN_REASONS} more reasons, which are in the reports"))
    return parts


def _matrix(console: Console, summary: Summary, symbols: Mapping[CellVerdict, str]) -> RenderableType:
    """Operators by levels; where that is too wide, for each operator the levels of each verdict."""
    cells = grouped(summary.matrix(), attrgetter("operator"))
    levels = summary.campaign.levels
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("operator", no_wrap=True)
    for level in levels:
        table.add_column(_text(console, level), justify="center", no_wrap=True)
    for operator, row in cells.items():
        table.add_row(_text(console, operator), *(Text(symbols[cell.verdict], STYLES[cell.verdict]) for cell in row))
    unbounded = console.options.update(max_width=10_000)
    if console.measure(table, options=unbounded).maximum <= console.width:
        return table
    lines = []
    for operator, row in cells.items():
        lines.append(_text(console, operator, "bold"))
        for verdict in CellVerdict:
            having = [cell.level for cell in row if cell.verdict is verdict]
            if having:
                told = f"{symbols[verdict]} {verdict.word} {level_ranges(having, levels)}"
                lines.append(_indented(console, told, STYLES[verdict]))
    return Group(*lines)


def _legend(console: Console, summary: Summary, symbols: Mapping[CellVerdict, str]) -> Text:
    """What the symbols stand for: on one line, or where that is too wide on one each."""
    found = {cell.verdict for cell in summary.matrix()}
    named = [(f"{symbols[verdict]} {verdict}", STYLES[verdict]) for verdict in CellVerdict if verdict in found]
    is_wide = sum(len(text) + 3 for text, _ in named) > console.width
    return Text("\n" if is_wide else "   ").join(Text(text, style) for text, style in named)


def _networks(console: Console, summary: Summary) -> list[RenderableType]:
    """What each network comes to, and the layers that are wrong."""
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in ("network", "verdict"):
        table.add_column(name, no_wrap=True)
    for name in ("layers", "distinct", "of bound", "time", "copy's"):
        table.add_column(name, justify="right", no_wrap=True)
    parts: list[RenderableType] = [Text("Networks, layer by layer:"), table]
    for found in summary.networks():
        used = [part_of_bound(layer.used or 0.0) for layer in found.least_accurate(1)]
        times = ["" if each is None else brief_seconds(each) for each in (found.seconds, found.least_seconds)]
        style = NETWORK_STYLES[found.verdict]
        figures = f"{found.executions:,}", f"{len(found.layers):,}", used[0] if used else "", *times
        table.add_row(_text(console, found.name), Text(str(found.verdict), style), *figures)
        for layer in found.wrong[:SHOWN_LAYERS]:
            assert layer.outcome is not None
            told = f"{found.name}: {layer.node}, {layer.layer.operator}: {layer.outcome.reason}"
            parts.append(_indented(console, one_line(told, MAX_REASON), style))
        if len(found.wrong) > SHOWN_LAYERS:
            more = count_of(len(found.wrong) - SHOWN_LAYERS, "more wrong layer")
            parts.append(_indented(console, f"{found.name}: {more}, in the reports"))
        if found.network.unmapped:
            unmapped = count_of(len(found.network.unmapped), "node")
            parts.append(_indented(console, f"{found.name}: {unmapped} not mapped", style))
    return [*parts, *_chains(console, summary)]


def _chains(console: Console, summary: Summary) -> list[RenderableType]:
    """What each network comes to from end to end."""
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("network", no_wrap=True)
    for name in ("error", "allowed", "between normalizations"):
        table.add_column(name, justify="right", no_wrap=True)
    told: list[RenderableType] = []
    for name, chain in ((found.name, found.chain) for found in summary.networks() if found.chain is not None):
        if chain.is_whole:
            segment = of_deviation(chain.segment) if chain.segment_end else ""
            error = "no number" if chain.error is None else figure(chain.error)
            table.add_row(_text(console, name), error, of_deviation(chain.allowed), segment)
        else:
            style = NETWORK_STYLES[NetworkVerdict.WRONG if chain.failed else NetworkVerdict.INCOMPLETE]
            told.append(_indented(console, one_line(f"{name}, as a chain: {chain.reason}", MAX_REASON), style))
    title = Text("Networks at reduced size from end to end, in parts of the outputs' standard deviation:")
    return [title, table, *told] if table.row_count else told


def _accuracy(console: Console, summary: Summary) -> list[RenderableType]:
    """The operators and data types that need most of their bounds."""
    rows = summary.least_accurate()
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in ("operator", "type"):
        table.add_column(name, no_wrap=True)
    for name in ("of bound", "largest", "99.9 %", "results", "wrong"):
        table.add_column(name, justify="right", no_wrap=True)
    for operator, data_type, errors in rows[:SHOWN_INACCURATE]:
        known = (figure(errors.largest), figure(errors.most), f"{errors.count:,}") if errors.count else ("", "", "")
        figures = part_of_bound(errors.used), *known, f"{errors.wrong:,}"
        table.add_row(_text(console, operator), _text(console, data_type), *figures)
    title = f"Accuracy in ULP, what needs most of its bound first, tolerance {summary.campaign.accuracy}:"
    parts: list[RenderableType] = [Text(title), table]
    if any(not errors.count for _, _, errors in rows[:SHOWN_INACCURATE]):
        parts.append(Text(WITHOUT_ULP))
    if len(rows) > SHOWN_INACCURATE:
        parts.append(Text(f"{len(rows) - SHOWN_INACCURATE} more, which need less, are in the reports."))
    return parts


def _throughput(console: Console, summary: Summary) -> list[RenderableType]:
    """The slowest and the fastest data type of each operator at the largest size, with warm caches."""
    sizes, rows = largest_sizes(summary.throughputs)
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in ("operator", "type"):
        table.add_column(name, no_wrap=True)
    for name in ("GB/s", "copy GB/s", "of copy"):
        table.add_column(name, justify="right", no_wrap=True)
    for operator, found in list(rows.items())[:SHOWN_TIMED]:
        for row in found if len(found) == 1 else (found[0], found[-1]):
            table.add_row(
                _text(console, operator),
                _text(console, row.data_type),
                f"{row.bytes_per_second / 1e9:,.4g}",
                f"{row.copy_bytes_per_second / 1e9:,.4g}",
                share_of_copy(row),
            )
    parts: list[RenderableType] = []
    if rows:
        parts += [Text(f"Throughput, slowest and fastest type, outputs of {sizes}:"), table]
    if summary.implausible_throughputs:
        parts.append(
            Text(
                f"Not plausible, and marked in the reports: {count_of(summary.implausible_throughputs, 'measurement')}."
            )
        )
    if len(rows) > SHOWN_TIMED:
        parts.append(Text(f"{len(rows) - SHOWN_TIMED} more operators are in the reports."))
    if summary.throughputs_left_out:
        parts.append(Text(f"{summary.throughputs_left_out:,} more measurements are in the results alone."))
    return parts


def _fit(console: Console, text: str) -> str:
    """The text in characters that the terminal takes, all of them harmless."""
    return one_line(text).encode(console.encoding, "backslashreplace").decode(console.encoding)


def _text(console: Console, text: str, style: str = "") -> Text:
    return Text(_fit(console, text), style)


def _indented(console: Console, text: str, style: str = "") -> Text:
    return Text("  " + _fit(console, text), style)


def _print(console: Console, part: RenderableType) -> None:
    """Print without cutting: a reproducing line is copied as a whole, so it is wrapped by the terminal alone."""
    console.print(part, soft_wrap=isinstance(part, Text))
