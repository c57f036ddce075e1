"""The figures behind the plots: a point stands where its measurement belongs, a shade says how many."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec
import pytest
import report_data
from report_data import plain

from reports.html import report_html
from reports.plots import (
    BOTTOM,
    HEIGHT,
    LEFT,
    MARKERS,
    RIGHT,
    SHADES,
    TOP,
    WIDTH,
    Heat,
    Roofline,
    roofline,
    rules_by_phase,
    types_by_rank_and_level,
)
from reports.records import Phase, Record, Throughput, Verdict
from reports.summary import Summary


def timed(**changes: Any) -> Throughput:
    base = Throughput("GATHER", "FLOAT32", "Input{8} Output{2,512}", 8192, (1e-6, 2e-6, 4e-6), 8192e6)
    return msgspec.structs.replace(base, **changes)


def drawn(*rows: Throughput) -> Roofline:
    plot = roofline(rows)
    assert plot is not None
    return plot


def on_roof(plot: Roofline, x: float) -> float:
    x1, y1, x2, y2 = plot.roof
    return y1 + (x - x1) / (x2 - x1) * (y2 - y1)


def test_a_point_at_the_copys_speed_lies_on_the_roof_and_a_slower_one_below() -> None:
    plot = drawn(timed(seconds=(1e-6,)), timed(seconds=(1e-5,), operator="TILE"))
    on, below = plot.points
    assert on.y == pytest.approx(on_roof(plot, on.x))
    assert below.y > on_roof(plot, below.x)  # the drawing's y runs downwards
    decade = abs(plot.y_ticks[1].at - plot.y_ticks[0].at)
    assert below.y - on.y == pytest.approx(decade)
    assert (on.marker, below.marker) == MARKERS[:2]
    assert plot.markers == {"GATHER": MARKERS[0], "TILE": MARKERS[1]}


def test_whiskers_reach_from_the_slowest_to_the_fastest_run() -> None:
    plot = drawn(timed())
    (point,) = plot.points
    octave = abs(plot.y_ticks[1].at - plot.y_ticks[0].at) * math.log10(2)
    assert point.y - point.fastest == pytest.approx(octave)
    assert point.slowest - point.y == pytest.approx(octave)


def test_ticks_and_points_stay_within_the_axes() -> None:
    plot = drawn(*(timed(useful_bytes=1024 * size, seconds=(size * 1e-7,)) for size in (2, 3, 8, 16)))
    for point in plot.points:
        assert LEFT <= point.x <= WIDTH - RIGHT
        assert TOP <= point.y <= HEIGHT - BOTTOM
    assert [tick.text for tick in plot.x_ticks] == ["1/16", "1/8", "1/4", "1/2"]
    assert [tick.at for tick in plot.x_ticks] == sorted(tick.at for tick in plot.x_ticks)


def test_what_has_no_place_is_left_out_and_counted() -> None:
    assert roofline([]) is None
    assert roofline([timed(shape="in words")]) is None
    plot = drawn(timed(), timed(shape="in words"), timed(copy_bytes_per_second=math.inf))
    assert (len(plot.points), plot.left_out) == (1, 2)


def test_shades_follow_the_order_of_magnitude() -> None:
    heat = Heat.of("t", ("rule", "phase"), ["a", "b", "c"], ["x"], {("a", "x"): 100_000, ("b", "x"): 1})
    assert heat.rows == [("a", [(100_000, SHADES)]), ("b", [(1, 1)]), ("c", [(0, 0)])]


def summary_of(*records: Record) -> Summary:
    summary = Summary()
    report_data.feed(summary, records)
    return summary


def test_rules_by_phase_counts_every_case_of_a_rule() -> None:
    search = {"phase": Phase.SEARCH, "rule": "TENSOR.sizes"}
    heat = rules_by_phase(summary_of(plain(), plain(**search), plain(Verdict.FAIL, **search), plain(rule="FOREIGN")))
    assert list(heat.columns) == ["search", "sweep"]
    counts = {name: [count for count, _ in cells] for name, cells in heat.rows}
    assert counts["TENSOR.sizes"] == [2, 0]
    assert counts["GATHER.values"] == [0, 1]
    assert counts["FOREIGN"] == [0, 1]
    assert counts["TILE.values"] == [0, 0]
    assert [rule["id"] for rule in report_data.campaign().rules] == list(counts)[:-1]


def test_types_by_rank_and_level_counts_judged_accepted_cases() -> None:
    traits = {"data_type": "INT8", "rank": 4}
    found = types_by_rank_and_level(
        summary_of(
            plain(**traits),
            plain(**traits, level="4_0"),
            plain(**{**traits, "rank": 2}),
            plain(**traits, expected="REJECT", answered="reject"),
            plain(Verdict.OBSERVED, **traits),
        )
    )
    ((data_type, heat),) = found
    levels = list(heat.columns)
    counts = {(rank, levels[i]): n for rank, cells in heat.rows for i, (n, _) in enumerate(cells) if n}
    assert data_type == "INT8"
    assert counts == {("4", "3_0"): 1, ("4", "4_0"): 1, ("2", "3_0"): 1}


def test_the_page_draws_a_point_for_each_measurement() -> None:
    summary = summary_of(plain())
    text = report_html(summary)
    assert text.count('<g class="point">') == len(summary.throughputs)
    assert re.findall("<title>([^<]*)</title>", text)[1].startswith("GATHER FLOAT32: ")
