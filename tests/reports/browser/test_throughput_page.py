"""Rooflines and histories as people see them: without scripts, in light and dark, on paper, on a telephone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_data
from msgspec.structs import replace
from report_data import plain, run_on

from dml_conformance.reports.history.database import HistoryFile
from dml_conformance.reports.history.page import history_html
from dml_conformance.reports.history.trends import Trend
from dml_conformance.reports.model.records import Caches, Throughput
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport

Show = Callable[..., Any]


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("roofline") / "report.html"
    path.write_text(report_html(CampaignReport([report_data.summary_of([plain()])])), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve runs: from the fifth on cases fail, from the seventh on TILE takes twice as long."""
    folder = tmp_path_factory.mktemp("history")
    with HistoryFile(folder / "history.sqlite", create=True) as kept:
        for day in range(1, 13):
            kept.add(run_on(day, failing=3 if day >= 5 else 0, rows=map(slower_on(day), report_data.throughputs())))
        ((_, runs),) = kept.series().items()
    path = folder / "history.html"
    path.write_text(history_html([Trend.of(runs)]), encoding="utf-8")
    return path


def slower_on(day: int) -> Callable[[Throughput], Throughput]:
    def timed(row: Throughput) -> Throughput:
        slower = 2 if row.operator == "TILE" and day >= 7 else 1 + day % 3 / 100
        return replace(row, seconds=tuple(slower * seconds for seconds in row.seconds))

    return timed


def unfolded(page: Any) -> Any:
    """The page with all that is folded opened, as for printing."""
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")  # without scripts
    return page


# Of every drawing what lies outside it: its texts, lines and markers.
OUTSIDE = """figures => figures.flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  const parts = [...svg.querySelectorAll("text, path, circle")].filter(part => part.getBoundingClientRect().width);
  return parts.filter(part => {
    const box = part.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1
      || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map(part => part.outerHTML);
})"""


@pytest.mark.few(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["report", "history"])
def test_drawings_need_no_script_and_fit(
    show: Show, request: pytest.FixtureRequest, name: str, width: int, scheme: str
) -> None:
    path = request.getfixturevalue(name)
    page = unfolded(
        show(path, java_script_enabled=False, color_scheme=scheme, viewport={"width": width, "height": 900})
    )
    assert page.locator("figure.plot .panels svg").count() > 2
    assert page.locator(".panels svg").evaluate_all(OUTSIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = colour(page, "body", "background-color")
    for drawn in (".panels .line", ".panels .roof", ".panels .step"):
        if page.locator(drawn).count():
            assert abs(brightness(colour(page, drawn, "stroke")) - brightness(background)) > 60, drawn
    # Small print is no smaller than this, whatever the drawing is scaled by.
    heights = page.locator(".panels text").evaluate_all("texts => texts.map(t => t.getBoundingClientRect().height)")
    assert min(heights) > 9


def colour(page: Any, selector: str, name: str) -> list[int]:
    value = page.locator(selector).first.evaluate(f"element => getComputedStyle(element).getPropertyValue({name!r})")
    return [int(part) for part in re.findall(r"\d+", value)[:3]]


def brightness(parts: list[int]) -> float:
    return 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2]


def test_the_roofline_has_every_measurement_below_the_limit_of_its_size(show: Show, report: Path) -> None:
    """Every row of the made-up device is slower than its copy, so its marker is lower."""
    page = unfolded(show(report))
    assert page.locator("figure.plot").count() == len(Caches)
    assert page.locator(".panels .point").count() == len(report_data.throughputs())
    above = page.locator(".panels svg").evaluate_all(
        """figures => figures.flatMap(svg => {
          const limit = svg.querySelector(".roof");
          const length = limit.getTotalLength();
          const places = [...Array(401).keys()].map(n => limit.getPointAtLength(length * n / 400));
          return [...svg.querySelectorAll(".point")].filter(point => {
            const { e, f } = point.querySelector(".marker").transform.baseVal[0].matrix;
            const nearest = places.reduce((a, b) => Math.abs(a.x - e) < Math.abs(b.x - e) ? a : b);
            return f < nearest.y - 0.7;
          }).map(point => point.textContent);
        })"""
    )
    assert above == []


def test_kinds_of_types_are_told_apart_without_colour(show: Show, report: Path) -> None:
    page = unfolded(show(report))
    kinds = page.locator("figure.plot").first.locator(".legend li")
    markers = [kinds.nth(i).locator(".marker").get_attribute("d") for i in range(kinds.count())]
    dashes = [
        kinds.nth(i).locator(".line").evaluate("line => getComputedStyle(line).strokeDasharray")
        for i in range(kinds.count())
    ]
    assert kinds.all_inner_texts() == ["FLOAT", "INT"]
    assert len(set(markers)) == len(set(dashes)) == kinds.count()


def test_each_panel_is_told_in_words_and_all_figures_stand_in_a_table_on_paper_too(show: Show, report: Path) -> None:
    page = unfolded(show(report))
    panel = page.get_by_role("img", name=re.compile("^TILE, 16 bit: FLOAT16 .* at 64 KiB to .* at 256 MiB"))
    assert panel.count() == len(Caches)
    table = page.get_by_role("group", name="Throughput of each operator and data type at every size, cold caches")
    assert table.is_visible()
    assert table.locator("td").count() == len(report_data.throughputs()) // len(Caches)
    page.emulate_media(media="print")
    assert page.locator(".panels svg").first.is_visible()
    assert page.locator("table.by-size").first.is_visible()


def test_a_history_marks_steps_between_the_runs(show: Show, history: Path) -> None:
    page = show(history)
    assert "1 change of verdicts, 1 step of throughput" in page.text_content(".headline")
    steps = page.locator("figure.plot").locator("svg")
    assert steps.count() == len(report_data.throughputs()) // 5
    lines = steps.first.evaluate(
        """svg => {
          const places = [...svg.querySelectorAll("circle")].map(circle => Number(circle.getAttribute("cx")));
          return [svg.querySelector(".step").getBBox().x, places[5], places[6]];
        }"""
    )
    assert lines[1] < lines[0] < lines[2]
    page.get_by_text(re.compile("^TILE: .* measurements")).click()
    assert page.get_by_text(re.compile("^-50% at run 7|^-49% at run 7")).first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_fault_is_found_in_a_history(
    show: Show, history: Path, assert_accessible: Callable[..., None], scheme: str
) -> None:
    page = show(history, color_scheme=scheme, bypass_csp=True)
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")
    assert_accessible(page, 'role="group"', 500)
