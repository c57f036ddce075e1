"""What is not plausible is marked wherever measurements are listed, and no report begins with it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import report_data
from msgspec.structs import replace
from rich.console import Console

from dml_conformance.reports.history.database import HistoryFile
from dml_conformance.reports.model.records import Caches, Caveat, Throughput, at_largest_size
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.plots import speed_tables
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.reports.views.console import print_summary
from dml_conformance.reports.views.markdown import markdown

FALSE = 1e-9  # seconds


def with_false_ones(data_types: tuple[str, ...]) -> Summary:
    """What was timed, with all of these types said to take a nanosecond."""
    summary = Summary()
    summary.start(report_data.campaign())
    summary.record(report_data.plain())
    for row in report_data.throughputs():
        changed = replace(row, seconds=(FALSE,), caveats=(Caveat.IMPLAUSIBLE,))
        summary.throughput(changed if row.data_type in data_types else row)
    summary.finish(report_data.ending())
    return summary


@pytest.fixture
def summary() -> Summary:
    return with_false_ones(("INT64",))


def marked(rows: list[Throughput]) -> list[Throughput]:
    return [row for row in rows if not row.is_plausible]


def test_the_terminal_and_markdown_count_it(summary: Summary) -> None:
    console = Console(file=io.StringIO(), width=200)
    print_summary(summary, console)
    told = f"Not plausible, and marked in the report%s: {len(marked(summary.throughputs))} measurements."
    for text, plural in ((console.file.getvalue(), "s"), (markdown(summary), "")):  # type: ignore[attr-defined]
        assert told % plural in text
        assert "INT64" not in text
        assert "FLOAT32" in text


def test_a_run_of_nothing_else_has_no_table() -> None:
    nothing = with_false_ones(tuple(row.data_type for row in report_data.throughputs()))
    console = Console(file=io.StringIO(), width=200)
    print_summary(nothing, console)
    for text in (console.file.getvalue(), markdown(nothing)):  # type: ignore[attr-defined]
        assert "Not plausible" in text
        assert "slowest" not in text.lower()
    assert speed_tables(nothing.throughputs)[0].families == []
    assert report_html(CampaignReport([nothing]))


def test_the_page_has_it_in_its_tables_alone(summary: Summary) -> None:
    tables = speed_tables(summary.throughputs)
    for table, caches in zip(tables, Caches, strict=True):
        rows = [row for row in summary.throughputs if row.caches is caches]
        assert table.roofline is not None
        assert table.roofline.left_out == len(marked(rows))
        assert max(share for _, share, _ in table.families) < 2
        kept = [row for row in at_largest_size(rows) if row.is_plausible]
        assert sum(number for *_, number in table.families) == len(kept)
        assert table.widest == max(max(row.fastest_bytes_per_second, row.copy_bytes_per_second) for row in kept)
    page = report_html(CampaignReport([summary]))
    assert f"{Caveat.IMPLAUSIBLE}</em>: {Caveat.IMPLAUSIBLE.meaning}" in page
    assert "% (not plausible)" in page


def test_the_certificate_marks_it_and_a_history_leaves_it_out(summary: Summary, tmp_path: Path) -> None:
    rows = Certificate.of(summary).throughput
    assert {row.data_type for row in rows if Caveat.IMPLAUSIBLE in row.caveats} == {"INT64"}
    with HistoryFile(tmp_path / "h.db", create=True) as history:
        history.add(summary)
        ((_, (run,)),) = history.series().items()
    assert {timing.data_type for timing in run.throughput} == {"FLOAT32", "FLOAT16", "INT8"}
