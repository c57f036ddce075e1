"""The figures behind the plots: a point stands where its measurement belongs, a shade says how many."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec
import pytest
import report_data
from report_data import plain

from dml_conformance.reports.model.records import Caches, Throughput, at_largest_size
from dml_conformance.reports.model.text import share_of_copy
from dml_conformance.reports.page.drawing import MARKERS, PANEL
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.plots import Roofline, roofline, speed_tables
from dml_conformance.reports.page.report import CampaignReport

KIB, MIB = 1 << 10, 1 << 20


def timed(**changes: Any) -> Throughput:
    base = Throughput("GATHER", "FLOAT32", "Input{8} Output{2,512}", 2 * MIB, (1e-3, 2e-3, 4e-3), 1e9, MIB)
    return msgspec.structs.replace(base, **changes)


def at(size: int, seconds: float, **changes: Any) -> Throughput:
    """A measurement of this output size whose runs all took as long."""
    return timed(output_bytes=size, useful_bytes=2 * size, seconds=(seconds,), **changes)


def drawn(*rows: Throughput) -> Roofline:
    plot = roofline(Caches.WARM, rows)
    assert plot is not None
    return plot


def places(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path)]


def test_a_line_runs_from_size_to_size_and_the_limit_lies_where_the_copy_does() -> None:
    rows = [at(16 * KIB << 2 * n, 32 * KIB / 1e9 * 4**n * 10, copy_bytes_per_second=1e9 * 10**n) for n in range(3)]
    plot = drawn(*reversed(rows))
    ((panel,),) = plot.operators.values()
    (line,) = panel.curves
    assert line.rows == rows
    points = places(line.path)
    assert [x for x, _ in points] == pytest.approx([PANEL.across(share) for share in (0, 0.5, 1)], abs=0.05)
    ticks = plot.scale.y_ticks()
    decade = ticks[0].at - ticks[1].at
    limit = places(panel.limit)
    for n, (_, y) in enumerate(points):  # a tenth of 1 GB/s each, below copies of 1, 10 and 100 GB/s
        assert y == points[0][1]
        assert y - limit[n][1] == pytest.approx((n + 1) * decade, abs=0.11)
    assert panel.limit_end == pytest.approx(limit[-1], abs=0.1)


def test_the_limit_of_a_size_is_the_median_of_its_copies() -> None:
    rows = [at(MIB, 1.0, data_type=t, copy_bytes_per_second=c) for t, c in (("INT8", 1e9), ("UINT8", 1e10))]
    rows.append(at(MIB, 1.0, data_type="UINT8", operator="TILE", copy_bytes_per_second=1e12))
    plot = drawn(*rows, at(MIB, 1.0, data_type="FLOAT8", copy_bytes_per_second=1e11))
    ticks = {tick.text: tick.at for tick in plot.scale.y_ticks()}
    ((panel,), (other,)) = plot.operators.values()
    assert panel.limit_end[1] == pytest.approx(ticks["10 GB/s"])
    assert other.limit_end[1] == pytest.approx(ticks["1 TB/s"])


def test_whiskers_reach_from_the_slowest_to_the_fastest_run_but_do_not_stretch_the_axis() -> None:
    slow = {"copy_bytes_per_second": 2e8}
    plot = drawn(timed(**slow), timed(data_type="INT32", seconds=(1e-3, 2e-3, 1e6), **slow))
    ((panel,),) = plot.operators.values()
    (row,), (held_up,) = (curve.rows for curve in panel.curves)
    up, ticks = plot.scale.up, plot.scale.y_ticks()
    octave = abs(ticks[1].at - ticks[0].at) * math.log10(2)
    assert up(row.bytes_per_second) - up(row.fastest_bytes_per_second) == pytest.approx(octave)
    assert up(row.slowest_bytes_per_second) - up(row.bytes_per_second) == pytest.approx(octave)
    assert up(held_up.slowest_bytes_per_second) == PANEL.height - PANEL.bottom
    assert ticks[0].text == "100 MB/s"


def test_a_panel_for_each_operator_and_width_and_a_marker_for_each_kind() -> None:
    types = ("INT8", "FLOAT16", "UINT16", "FLOAT32", "UINT8")
    plot = drawn(*(timed(operator=operator, data_type=t) for operator in ("TILE", "GATHER") for t in types))
    assert {operator: [panel.title for panel in panels] for operator, panels in plot.operators.items()} == {
        "TILE": ["TILE, 8 bit", "TILE, 16 bit", "TILE, 32 bit"],
        "GATHER": ["GATHER, 8 bit", "GATHER, 16 bit", "GATHER, 32 bit"],
    }
    assert plot.kinds == [("FLOAT", MARKERS[0]), ("INT", MARKERS[1]), ("UINT", MARKERS[2])]
    assert [[curve.kind for curve in panel.curves] for panel in plot.operators["TILE"]] == [[1, 2], [0, 2], [0]]
    assert (
        "INT8 1.05 GB/s at 1 MiB, 105 % of the copy (above the one copy that was measured); UINT8"
        in plot.operators["TILE"][0].told
    )


def test_cold_and_warm_caches_have_plots_of_their_own() -> None:
    cold = timed(caches=Caches.COLD, copy_bytes_per_second=1e6)
    plots = [table.roofline for table in speed_tables([timed(), cold, timed(operator="TILE")])]
    assert [(plot.caches, list(plot.operators)) for plot in plots] == [
        (Caches.WARM, ["GATHER", "TILE"]),
        (Caches.COLD, ["GATHER"]),
    ]


def test_ticks_and_points_stay_within_the_axes() -> None:
    sizes = [KIB << n for n in range(0, 20, 2)]
    plot = drawn(*(at(size, 1e-5 + size / 1e9) for size in sizes))
    ((panel,),) = plot.operators.values()
    points = places(panel.curves[0].path)
    assert len(points) == len(sizes)
    for x, y in points:
        assert PANEL.left <= x <= PANEL.width - PANEL.right
        assert PANEL.top <= y <= PANEL.height - PANEL.bottom
    ticks = plot.scale.x_ticks()
    assert len(ticks) == len(sizes)
    assert [tick.text for tick in ticks if tick.text] == ["256 MiB", "16 MiB", "1 MiB", "64 KiB", "4 KiB"]


def test_what_has_no_place_is_left_out_and_counted() -> None:
    unknown = timed(output_bytes=0, shape="in words")
    assert speed_tables([]) == []
    assert roofline(Caches.WARM, [unknown]) is None
    beyond = [
        timed(copy_bytes_per_second=math.inf),
        timed(seconds=(1.0, 0.0)),
        timed(seconds=(5e-324,)),
        timed(seconds=()),
    ]
    plot = drawn(timed(), unknown, *beyond)
    assert (sum(len(panels) for panels in plot.operators.values()), plot.left_out) == (1, 5)
    foreign = drawn(timed(data_type="<b>"), timed(data_type="UINT" + "9" * 30))
    assert foreign.operators["GATHER"][0].title == "GATHER, other types"


def test_the_largest_size_is_that_of_each_operator_type_and_state_of_the_caches() -> None:
    rows = [timed(), timed(output_bytes=4 * MIB), timed(data_type="INT8"), timed(caches=Caches.COLD)]
    assert at_largest_size(rows) == rows[1:]


def test_the_page_draws_a_point_for_each_measurement() -> None:
    summary = report_data.summary_of([plain()])
    text = report_html(CampaignReport([summary]))
    assert text.count('<g class="point">') == len(summary.throughputs)
    points = re.findall('<g class="point"><title>([^<]*)</title>', text)
    row = next(row for row in summary.throughputs if row.data_type == "INT8")  # narrow types come first
    share, seconds = share_of_copy(row, " of the copy"), row.median_seconds * 1e6
    assert "% of the copy (launch-bound" in share
    told = f"{row.bytes_per_second / 1e9:.3g} GB/s, {share}, {seconds:.3g} µs"
    assert points[0] == f"INT8, 64 KiB: {told}"
