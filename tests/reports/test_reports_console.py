"""The terminal: a summary that fits, colours only where wanted, and nothing that steers the terminal from outside."""

from __future__ import annotations

import io
import re

import pytest
import report_data
from report_data import plain, printed
from rich.console import Console

from dml_conformance.reports.model.records import JUDGED_PHASES, Caches, Phase, Verdict, at_largest_size
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.model.summary import CellVerdict, Summary
from dml_conformance.reports.model.text import claims_text, count_of, level_ranges, share_of_copy
from dml_conformance.reports.views.console import (
    LINE_INTERVAL,
    SHOWN_FAILURES,
    SHOWN_REASONS,
    STYLES,
    Progress,
    Steps,
    Terminal,
    print_summary,
)


def test_a_reader_that_has_gone_is_no_verdict(faulty: Summary) -> None:
    """Rich would end the process with 1, which says that something is not conformant."""

    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        print_summary(faulty, Terminal(file=Closed()))


@pytest.fixture(scope="module")
def faulty() -> Summary:
    return report_data.summary_of(report_data.some_faulty())


def test_the_matrix_has_a_symbol_for_each_cell(faulty: Summary) -> None:
    lines = printed(faulty).splitlines()
    for operator in faulty.campaign.operators:
        row = next(line for line in lines if line.split()[:1] == [operator])
        assert row.split()[1:] == [cell.verdict.symbol for cell in faulty.matrix() if cell.operator == operator]
    assert "✓ conformant   ◒ conformant within narrower claims   ✗ not conformant" in lines
    assert printed(faulty, width=80).splitlines()[1].split() == ["operator", *faulty.campaign.levels]


def test_a_narrow_terminal_gets_the_same_in_few_columns(faulty: Summary) -> None:
    lines = printed(faulty, width=50).splitlines()
    reproducing = {"  " + group.smallest.reproduce for group in faulty.failures.values()}
    start = lines.index("GATHER_ELEMENTS")
    verdicts = {cell.level: cell.verdict for cell in faulty.matrix() if cell.operator == "GATHER_ELEMENTS"}
    assert lines[start + 1 : start + 4] == [
        f"  {told.symbol} {told.word} {level_ranges([at for at in verdicts if verdicts[at] is told], list(verdicts))}"
        for told in (CellVerdict.CONFORMANT, CellVerdict.NARROWER, CellVerdict.NOT_CONFORMANT)
    ]
    assert all(len(line) <= 50 for line in lines[start : lines.index("", start)])
    assert reproducing <= set(lines)


def test_failures_come_with_the_line_that_reproduces_them(faulty: Summary) -> None:
    text = printed(faulty, width=60)
    for group in faulty.failures.values():
        record = group.smallest
        assert f"{group.kind} {group.operator} {group.rule}: {count_of(group.count, 'case')} at " in text
        assert f"\n  {record.reproduce}\n" in text  # whole, on one line
        for difference in record.differences[:1]:
            assert f"got {difference.actual} {difference.actual_bits}" in text


def test_only_so_many_failures_are_listed() -> None:
    records = [plain(Verdict.FAIL, rule=f"GATHER.r{i}") for i in range(SHOWN_FAILURES + 4)]
    text = printed(report_data.summary_of(records))
    assert text.count("output GATHER GATHER.r") == SHOWN_FAILURES
    assert "4 more groups of failures are in the reports." in text


def test_what_is_declined_is_told_by_reason_the_most_frequent_first() -> None:
    counts = {"no axis 0": 3, "no strides\x1b[31m": 2, **{f"reason {n}": 1 for n in range(SHOWN_REASONS)}}
    records = [plain(Verdict.NOT_SUPPORTED, reason=reason) for reason, count in counts.items() for _ in range(count)]
    text = printed(report_data.summary_of([plain(), *records]))
    told = "Not supported, by reason:\n  3 cases: no axis 0\n  2 cases: no strides\\x1b[31m\n  1 case: reason 0\n"
    assert told in text
    assert "  1 case: reason 2\n  and 2 more reasons, which are in the reports\n" in text
    assert "by reason" not in printed(report_data.summary_of([plain()]))


def test_totals_outcome_throughput_and_place(faulty: Summary) -> None:
    text = printed(faulty, output="build/certification")
    totals = ", ".join(f"{faulty.counts[verdict]:,} {verdict}" for verdict in Verdict if faulty.counts[verdict])
    assert f"\n{faulty.total:,} cases: {totals}, in 1 min 12 s" in text
    assert f"not conformant: {faulty.headline()}" in text
    assert text.endswith("Reports: build/certification\n")
    timed = at_largest_size(row for row in report_data.throughputs() if row.caches is Caches.WARM)
    gather = sorted((row for row in timed if row.operator == "GATHER"), key=lambda row: row.bytes_per_second)
    assert "outputs of 256 MiB:" in text
    told = [line.split() for line in text.splitlines() if re.match(r"GATHER +[A-Z]+\d+ ", line)]
    assert told == [
        ["GATHER", row.data_type, f"{row.bytes_per_second / 1e9:,.4g}", "2,536", *share_of_copy(row).split()]
        for row in (gather[0], gather[-1])
    ]


def test_an_incomplete_run_says_why() -> None:
    summary = report_data.cut_off("the device was lost")
    text = printed(summary)
    assert "incomplete: No difference was found" in text
    assert "\n  The run did not reach its end: the device was lost.\n" in text


def test_colours_are_used_in_a_terminal_and_not_with_no_color(faulty: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    colour = re.compile(r"\x1b\[[\d;]*3\dm")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colour.search(printed(faulty, force_terminal=True))
    assert "\x1b" not in printed(faulty)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.search(printed(faulty, force_terminal=True))


def test_a_terminal_without_symbols_gets_letters(faulty: Summary) -> None:
    backend = report_data.backend(name="gerät:☃")
    text = printed(report_data.summary_of(report_data.some_faulty(), backend=backend), encoding="ascii")
    assert "+ conformant   n conformant within narrower claims   X not conformant" in text
    assert r"ger\xe4t:\u2603 differs" in text


def test_words_from_outside_do_not_steer_the_terminal() -> None:
    nasty = "[bold]\x1b[2J\x07\x9b31m\u202e\ud800[/bold]"
    backend = report_data.backend(name=nasty, device=nasty)
    records = [plain(verdict, reason=nasty, reproduce=nasty, rule="r") for verdict in Verdict]
    shown = io.StringIO()
    report_data.feed(FanOut(Progress(Console(file=shown, width=100))), records, backend=backend)
    for text in (printed(report_data.summary_of(records, backend=backend), output=nasty), shown.getvalue()):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]", text)
        assert r"[bold]\x1b[2J\x07\x9b31m\u202e\ud800[/bold]" in text


def test_every_verdict_of_a_cell_has_a_style_and_a_letter() -> None:
    assert set(STYLES) == set(CellVerdict)
    assert len({verdict.letter for verdict in CellVerdict}) == len(CellVerdict)
    assert len({verdict.symbol for verdict in CellVerdict}) == len(CellVerdict)


# Progress.


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_terminal_progress_is_a_line_now_and_then() -> None:
    clock, shown = Clock(), io.StringIO()
    progress = Progress(Console(file=shown, width=100), {Phase.SWEEP: 500}, clock)
    progress.start(report_data.campaign())
    for i in range(30):
        clock.now = i * LINE_INTERVAL / 10
        progress.record(plain(Verdict.FAIL if i == 3 else Verdict.PASS))
    progress.record(plain(phase=Phase.SEARCH))
    for row in report_data.throughputs()[:3]:
        clock.now += 0.6 * LINE_INTERVAL
        progress.throughput(row)
    progress.finish(report_data.ending("a worker died"))
    assert shown.getvalue().splitlines() == [
        "Testing torch:cuda:0 on NVIDIA H100 80GB HBM3",
        f"Claims: {claims_text(report_data.campaign().backend)}",
        "sweep: 11 of 500 cases, 10 pass, 1 fail",
        "sweep: 21 of 500 cases, 20 pass, 1 fail",
        "sweep: 30 of 500 cases, 29 pass, 1 fail",
        "search: 1 case, 1 pass, 0 fail",
        "throughput: 3 measurements",
        "Stopped before the end. a worker died",
    ]


def test_in_a_terminal_progress_is_a_bar_for_each_phase() -> None:
    shown = io.StringIO()
    progress = Progress(Console(file=shown, width=90, force_terminal=True), {Phase.EXAMPLES: 15})
    report_data.feed(FanOut(progress), report_data.some_faulty())
    last = re.sub(r"\x1b\[[\d;?]*\w", "", shown.getvalue())
    for phase in JUDGED_PHASES:
        counts = [r.verdict for r in report_data.some_faulty() if r.phase is phase]
        failed = sum(verdict in ("fail", "crash", "timeout") for verdict in counts)
        assert re.search(
            rf"{phase} +━+ {len(counts):,} cases  {counts.count(Verdict.PASS):,} pass  {failed:,} fail", last
        ), phase
    frame = shown.getvalue()[shown.getvalue().rindex("examples ") :]
    # A bar that is still open is drawn in pieces; throughput has one, too.
    assert len(re.findall("━{20,}", frame)) == len(JUDGED_PHASES) + 1
    assert f"{len(report_data.throughputs())} measurements" in re.sub(r"\x1b\[[\d;?]*\w", "", frame)
    assert shown.getvalue().count("\x1b[?25l") == shown.getvalue().count("\x1b[?25h") == 1  # cursor hidden and back


def test_a_run_that_does_not_finish_gives_the_terminal_back() -> None:
    shown = io.StringIO()
    progress = Progress(Console(file=shown, width=90, force_terminal=True))
    progress.start(report_data.campaign())
    progress.record(plain())
    progress.close()
    assert shown.getvalue().count("\x1b[?25h") == 1


# Steps.


def steps_shown(count: int, per_step: float, **options: object) -> str:
    clock, shown = Clock(), io.StringIO()
    with Steps("Reading [x]", count, "rows", Console(file=shown, width=80, **options), clock) as steps:
        for _ in steps.over(range(count)):
            clock.now += per_step
    return shown.getvalue()


@pytest.mark.parametrize(
    ("count", "per_step", "options", "lines"),
    [
        (100, LINE_INTERVAL / 200, {}, []),
        (100, 0.001, {"force_terminal": True}, []),
        (25, LINE_INTERVAL / 10, {}, ["Reading [x]: 10 of 25 rows", "Reading [x]: 20 of 25 rows"]),
    ],
)
def test_a_loop_is_a_line_now_and_then_and_nothing_if_it_is_soon_through(
    count: int, per_step: float, options: dict[str, bool], lines: list[str]
) -> None:
    assert steps_shown(count, per_step, **options).splitlines() == lines


def test_a_long_loop_is_a_bar_in_a_terminal_that_goes_away() -> None:
    shown = steps_shown(20, 1.0, force_terminal=True)
    assert "Reading [x]" in shown
    assert "20 rows" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1
    assert shown.rstrip("\r\n").endswith("\x1b[2K")


def test_steps_may_be_told_as_how_many_are_done() -> None:
    clock, shown = Clock(), io.StringIO()
    with Steps("Verifying", console=Console(file=shown), clock=clock) as steps:
        clock.now = LINE_INTERVAL
        steps.reach(7, 9)
    assert shown.getvalue() == "Verifying: 7 of 9 cases\n"
