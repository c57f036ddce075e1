"""Errors of results of arithmetic: their sums, and where they go: results file, certificate, page and texts."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
import report_data
from report_data import plain

from dml_conformance.reports.history.database import setup_of
from dml_conformance.reports.model.encoded import decode_records, encode_records
from dml_conformance.reports.model.errors import LEAST_BIN, MOST, WITHOUT_ULP, ErrorCounts, Errors, bin_end
from dml_conformance.reports.model.records import Record, Verdict
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.page.accuracy import (
    MAX_CURVES,
    MAX_OPEN,
    MAX_ROWS,
    AccuracyResults,
    accuracy_results,
)
from dml_conformance.reports.page.drawing import PANEL
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.checks import check_campaign, check_record
from dml_conformance.reports.store.results import Store, StoreError, StoreWriter
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.reports.views.ctrf import ctrf_json
from dml_conformance.reports.views.junit import junit_xml
from dml_conformance.reports.views.markdown import markdown

EXP, SIN = "ELEMENT_WISE_EXP", "ELEMENT_WISE_SIN"
ONE = Errors(2.5, ((LEAST_BIN, 5), (0, 993), (6, 2)), ((-126, 0.5), (0, 2.5), (64, 1.0)))
OTHER = Errors(7.0, ((0, 10), (12, 1)), ((0, 0.75), (3, 7.0)))
PAIR = (EXP, SIN)


def arithmetic(operator: str = EXP, data_type: str = "FLOAT32", errors: Errors | None = ONE, number: int = 0) -> Record:
    about = {"operator": operator, "rule": f"{operator}.values", "data_type": data_type}
    return plain(number=number, seconds=1e-4, errors=errors, **about)


SOME = (
    arithmetic(number=1),
    msgspec.structs.replace(arithmetic(errors=OTHER, number=2), verdict=Verdict.FAIL, difference_count=3),
    arithmetic(data_type="FLOAT16", errors=OTHER, number=3),
    arithmetic(SIN, errors=Errors(0.0, ((LEAST_BIN, 4),), ((5, 0.0),)), number=4),
    arithmetic(SIN, errors=None, number=5),
)


def summary_of(records: Sequence[Record] = SOME, operators: Sequence[str] = PAIR, **changes: Any) -> Summary:
    return report_data.summary_of(records, operators=tuple(operators), **changes)


def results_of(*summaries: Summary) -> AccuracyResults:
    found = accuracy_results([(f"backend{n}", summary) for n, summary in enumerate(summaries)])
    assert found is not None
    return found


def figures(counts: ErrorCounts) -> tuple[Any, ...]:
    return counts.largest, counts.count, counts.histogram(), counts.magnitudes, counts.quantile(MOST)


# --- sums -------------------------------------------------------------------------------------------------------------


def counted(*errors: Errors) -> ErrorCounts:
    counts = ErrorCounts()
    for each in errors:
        counts.add(each)
    return counts


def test_sums_are_those_of_all_results() -> None:
    counts = counted(ONE, OTHER)
    assert (counts.largest, counts.count) == (7.0, 1011)
    assert counts.histogram() == {2**-5: 5, 1.0: 1003, 2.82843: 2, 8.0: 1}
    assert counts.magnitudes == {-126: 0.5, 0: 2.5, 64: 1.0, 3: 7.0}
    assert figures(counted(OTHER, ONE)) == figures(counts)


def test_a_quantile_is_the_end_of_a_bin_or_the_largest_error() -> None:
    counts = counted(ONE)
    assert counts.quantile(0.005) == 2**-5
    assert counts.quantile(0.006) == counts.quantile(0.998) == 1.0
    assert counts.quantile(MOST) == counts.quantile(1.0) == 2.5  # its bin ends at 2.83
    assert bin_end(6) == pytest.approx(2.828, abs=1e-3)
    assert counted(Errors(0.0, ((LEAST_BIN, 3),))).quantile(MOST) == 0.0
    assert ErrorCounts().quantile(MOST) == 0.0


def test_a_summary_has_them_by_operator_and_type() -> None:
    summary = summary_of()
    assert {key: errors.count for key, errors in summary.errors.items()} == {
        (EXP, "FLOAT32"): 1011,
        (EXP, "FLOAT16"): 11,
        (SIN, "FLOAT32"): 4,
    }
    other = Summary()  # of records that came from another process
    other.start(report_data.campaign(operators=PAIR))
    for record in decode_records(encode_records(SOME)):
        other.record(record)
    assert {key: figures(of) for key, of in other.errors.items()} == {
        key: figures(of) for key, of in summary.errors.items()
    }


# --- the results file and the certificate -----------------------------------------------------------------------------


def test_results_read_back_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(path), SOME, operators=PAIR, accuracy="precise")
    with Store(path) as opened:
        assert tuple(opened.records()) == SOME
        assert opened.campaign.accuracy == "precise"
        read, own = opened.summary(), summary_of(accuracy="precise")
    assert {key: figures(of) for key, of in read.errors.items()} == {key: figures(of) for key, of in own.errors.items()}
    assert Certificate.of(read) == Certificate.of(own)


def test_errors_count_in_the_digest_of_the_content_alone() -> None:
    one, other = summary_of(), summary_of([*SOME[:-1], arithmetic(SIN, errors=OTHER, number=5)])
    assert one.digests.results == other.digests.results
    assert one.digests.content != other.digests.content


def test_older_results_are_read_without_errors(tmp_path: Path) -> None:
    """Of a release that knew neither errors nor tolerances."""
    path = tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(path), [plain()])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE stream SET json = json_remove(json, '$.accuracy') WHERE part = 'campaign'")
        connection.commit()
    with Store(path) as opened:
        assert opened.campaign.accuracy == "directml"
        summary = opened.summary()
    assert summary.errors == {}
    assert Certificate.of(summary).accuracy == []


def test_a_certificate_has_them_and_is_read_back() -> None:
    certificate = Certificate.of(summary_of(accuracy="precise"))
    assert certificate.run.accuracy == "precise"
    assert Certificate.from_json(certificate.to_json()) == certificate
    first, second, third = certificate.accuracy
    assert [(of.operator, of.data_type) for of in (first, second, third)] == [
        (EXP, "FLOAT16"), (EXP, "FLOAT32"), (SIN, "FLOAT32"),
    ]  # fmt: skip
    assert (second.results, second.largest_ulp, second.most_ulp) == (1011, 7.0, 2.82843)
    assert [(share.ulp, share.count) for share in first.errors] == [(1.0, 10), (8.0, 1)]
    old = json.loads(certificate.to_json())
    del old["accuracy"], old["run"]["accuracy"]
    read = Certificate.from_json(json.dumps(old))
    assert (read.accuracy, read.run.accuracy) == ([], "directml")


def test_an_unknown_tolerance_is_refused(tmp_path: Path) -> None:
    check_campaign(report_data.campaign(accuracy="precise"))
    with pytest.raises(ValueError, match="accuracy: expected one of directml, precise, found 'guessed'"):
        check_campaign(report_data.campaign(accuracy="guessed"))
    path = tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(path), [plain()], accuracy="guessed")
    with pytest.raises(StoreError, match="accuracy: expected one of"):
        Store(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"largest": -1.0},
        {"largest": float("inf")},
        {"bins": ((0, 0),)},
        {"bins": ((0, -3),)},
        {"bins": ((LEAST_BIN - 1, 1),)},
        {"bins": ((10_000, 1),)},
        {"magnitudes": ((0, -0.5),)},
        {"magnitudes": ((10**9, 0.5),)},
        {"magnitudes": ((-2000, 0.5),)},
    ],
)
def test_errors_that_no_results_have_are_refused(changes: dict[str, Any]) -> None:
    check_record(arithmetic())
    with pytest.raises(ValueError, match="errors that no results have"):
        check_record(arithmetic(errors=msgspec.structs.replace(ONE, **changes)))


def test_runs_under_different_tolerances_are_not_the_same_conditions() -> None:
    one, other = summary_of(), summary_of(accuracy="precise")
    assert setup_of(one.campaign) != setup_of(other.campaign)
    assert CampaignReport([one, other]).unlike() == ["accuracy"]


# --- the page ---------------------------------------------------------------------------------------------------------


def page_of(*summaries: Summary) -> str:
    return report_html(CampaignReport(summaries, (), [{} for _ in summaries]))


def section(page: str) -> str:
    found = re.search(r'<section id="accuracy".*?</section>', page, re.DOTALL)
    assert found is not None
    return found[0]


def test_the_page_has_a_section_where_there_are_results_of_arithmetic() -> None:
    found = section(page_of(summary_of()))
    assert "tolerance <code>directml</code>" in found
    for text in ("1,011", ">7<", ">2.83<", 'actual">3<'):
        assert text in found
    assert found.count('viewBox="0 0 300') == 2
    assert "FLOAT32 up to 7 ULP about 2^3" in found
    assert '<a href="#accuracy">' in page_of(summary_of())


def test_nothing_is_shown_where_there_are_none() -> None:
    nothing = summary_of([arithmetic(errors=None)])
    page = page_of(nothing)
    for text in ('id="accuracy"', "#accuracy", "ULP"):
        assert text not in page
    assert accuracy_results([("one", nothing)]) is None
    assert "## Accuracy" not in markdown(nothing)
    assert "Accuracy" not in report_data.printed(nothing)


def test_backends_stand_side_by_side() -> None:
    other = summary_of(SOME[:1], accuracy="precise", backend=report_data.backend(name="mine"))
    found = section(page_of(summary_of(), other))
    assert "torch:cuda:0: results were held" in found
    assert "mine: results were held" in found
    assert found.count('blank number">none') == 2  # of what the second one did not try
    assert "FLOAT32, mine up to 2.5 ULP about 2^0" in found


def test_a_point_stands_where_its_error_belongs() -> None:
    plot = results_of(summary_of(SOME[:2]))
    (panel,) = plot.panels
    (curve,) = panel.curves
    points = [tuple(map(float, point)) for point in re.findall(r"([\d.]+) ([\d.]+)", curve.path)]
    assert [x for x, _ in points] == pytest.approx(
        [PANEL.across((power + 126) / 190) for power in (-126, 3, 64)], abs=0.05
    )
    ticks = {tick.text: tick.at for tick in plot.scale.y_ticks()}
    assert list(ticks) == ["0.1", "1", "10"]
    assert points[2][1] == pytest.approx(ticks["1"], abs=0.05)
    assert ticks["1"] < points[0][1] < ticks["0.1"]
    assert panel.operator == EXP


def test_errors_beyond_the_axis_lie_at_its_ends() -> None:
    errors = Errors(1e30, ((0, 2),), ((0, 0.0), (1, 1e30), (2, 1e-9)))
    plot = results_of(summary_of([arithmetic(errors=errors)]))
    scale = plot.scale
    assert scale.up(0.0) == scale.up(1e-9) == scale.y_ticks()[0].at == PANEL.height - PANEL.bottom
    assert scale.up(1e30) == scale.y_ticks()[-1].at == PANEL.top
    assert scale.y_ticks()[-1].text == "1,000,000"


def test_no_curve_is_told_by_its_colour_alone() -> None:
    summaries = [summary_of(backend=report_data.backend(name=f"backend{n}")) for n in range(8)]
    found = results_of(*summaries)
    assert len(found.kinds) == 16
    assert len({(i % 5, marker) for i, (_, marker) in enumerate(found.kinds)}) == 16


def test_of_near_points_the_worst_is_drawn_and_marked() -> None:
    magnitudes = tuple((power, 2.0 if power == 17 else 0.5) for power in range(-126, 128))
    (panel,) = results_of(summary_of([arithmetic(errors=Errors(2.0, ((4, 254),), magnitudes))])).panels
    (curve,) = panel.curves
    assert curve.path.count("L") < 64
    assert f"{PANEL.across(143 / 253):.1f} " in curve.path
    assert "FLOAT32, 2 ULP about 2^17" in [told for _, _, told in curve.marked]


def many(count: int) -> Iterator[Record]:
    for n in range(count):
        for data_type in ("FLOAT16", "FLOAT32"):
            yield arithmetic(f"OPERATOR_{n}", data_type, number=n)


def test_many_operators_are_folded_away_and_what_has_no_room_is_counted() -> None:
    names = [f"OPERATOR_{n}" for n in range(MAX_CURVES // 2 + 7)]
    summary = summary_of(list(many(len(names))), names)
    found = results_of(summary)
    assert found.is_folded
    assert len(found.panels) == MAX_CURVES // 2
    assert found.operators_left_out == 7
    assert len(found.rows) == MAX_ROWS
    assert found.rows_left_out == 2 * len(names) - MAX_ROWS
    few = results_of(summary_of(list(many(MAX_OPEN)), names))
    assert not few.is_folded
    assert few.operators_left_out == few.rows_left_out == 0


def test_what_needs_most_of_its_bound_comes_first() -> None:
    used = {"FLOAT16": 0.25, "FLOAT32": 1.5}
    records = [
        arithmetic(operator, data_type, msgspec.structs.replace(ONE, used=part / (1 + (operator == SIN))), n)
        for n, (operator, (data_type, part)) in enumerate(product(PAIR, used.items()))
    ]
    found = results_of(summary_of(records))
    parts = [row.used for row in found.rows]
    assert parts == sorted(parts, reverse=True) == [1.5, 0.75, 0.25, 0.125]
    assert [panel.used for panel in found.panels] == [1.5, 0.75]
    page = section(page_of(summary_of(records)))
    assert f"{EXP} in FLOAT32 needs most of what its bound allows: 150 %." in page
    chained = Errors(0.0, used=0.5)  # of what was rounded before, which has no errors
    summary = summary_of([arithmetic(errors=chained)])
    assert [(row.used, row.errors[0].count) for row in results_of(summary).rows] == [(0.5, 0)]
    (entry,) = Certificate.of(summary).accuracy
    assert (entry.results, entry.of_the_bound, entry.wrong) == (0, 0.5, 0)
    assert WITHOUT_ULP in report_data.printed(summary)


# --- texts ------------------------------------------------------------------------------------------------------------


def test_markdown_console_and_files_for_servers_have_them_and_the_tolerance() -> None:
    summary = summary_of(accuracy="precise")
    first = [(operator, data_type) for operator, data_type, _ in summary.least_accurate()]
    assert first == [(EXP, "FLOAT16"), (EXP, "FLOAT32"), (SIN, "FLOAT32")]
    text, shown = markdown(summary), report_data.printed(summary)
    assert "bounds of tolerance `precise`" in text
    assert f"| {EXP} | FLOAT32 | 0 % | 7 | 2.83 | 1,011 | 3 |" in text
    assert re.search(rf"{EXP} +FLOAT32 +0 % +7 +2.83 +1,011 +3", shown)
    assert "Accuracy in ULP, what needs most of its bound first, tolerance precise:" in shown
    assert WITHOUT_ULP not in shown
    assert json.loads(ctrf_json(summary))["results"]["environment"]["extra"]["accuracy"] == "precise"
    assert b'<property name="accuracy" value="precise"' in junit_xml(summary)
