"""Steps told from noise, the file of sums, and the commands."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from pathlib import Path

import pytest
import report_data
from click.testing import Result
from commands import invoke
from html_page import Page
from msgspec.structs import replace
from report_data import run_on

from dml_conformance.reports.history import page as page_module
from dml_conformance.reports.history.database import HistoryError, HistoryFile
from dml_conformance.reports.history.page import MAX_PANELS, PANEL, _rate_chart
from dml_conformance.reports.history.steps import steps
from dml_conformance.reports.history.trends import Trend
from dml_conformance.reports.model.records import Verdict
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.model.text import rate
from dml_conformance.reports.store.results import StoreWriter


def noisy(level: float, count: int, seed: int, spread: float = 0.02) -> list[float]:
    rng = random.Random(seed)
    return [level * rng.gauss(1, spread) for _ in range(count)]


# --- steps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.0, 0.005, 0.03, 0.1])
def test_noise_is_no_step(spread: float) -> None:
    for seed in range(20):
        assert not any(step.confirmed for step in steps(noisy(100, 40, seed, spread))), seed


@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.3, 10])
def test_a_step_is_found_where_it_is(ratio: float) -> None:
    for seed in range(10):
        (step,) = steps(noisy(100, 12, seed) + noisy(100 * ratio, 9, seed + 100))
        assert (step.at, step.confirmed) == (12, True)
        assert step.change == pytest.approx(ratio - 1, abs=0.05 * max(1, ratio))


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (noisy(100, 8, 1) + noisy(50, 8, 2) + noisy(80, 8, 3), [(8, True), (16, True)]),
        ([*noisy(100, 10, 1), 30, *noisy(100, 9, 2)], []),  # one bad run
        (noisy(100, 12, 1) + noisy(60, 1, 2), [(12, False)]),  # the last runs are not yet a step
        (noisy(100, 12, 1) + noisy(60, 2, 2), [(12, False)]),
        (noisy(100, 12, 1) + [95] * 1, []),  # a little off is not told before it is sure
        (noisy(100, 12, 1) + [95] * 2, []),
        ([100.0] * 6 + [110.0] * 6, [(6, True)]),  # a little that lasts, where there is no noise
        ([100.0] * 6 + [104.0] * 6, []),
        ([], []),
        ([1.0], []),
        ([1.0, 1.0], []),
    ],
)
def test_steps_are_told_from_noise(values: list[float], found: list[tuple[int, bool]]) -> None:
    assert [(step.at, step.confirmed) for step in steps(values)] == found
    if len(found) == 2:
        assert [round(step.before, -1) for step in steps(values)] == [100, 50]


# --- the file -----------------------------------------------------------------------------------------------------


def history_of(path: Path, *summaries: Summary) -> str:
    with HistoryFile(path, create=True) as history:
        for summary in summaries:
            history.add(summary)
    return str(path)


def test_a_run_is_kept_once_and_comes_back(tmp_path: Path) -> None:
    with HistoryFile(tmp_path / "h.db", create=True) as history:
        assert history.add(run_on(2, failing=3))
        assert history.add(run_on(1))
        assert not history.add(run_on(2, failing=3))
    with HistoryFile(tmp_path / "h.db") as history:
        ((key, runs),) = history.series().items()
    assert key == (report_data.BACKEND, "NVIDIA H100 80GB HBM3")
    assert [run.started[:10] for run in runs] == ["2025-03-01", "2025-03-02"]
    assert [run.failed("GATHER") for run in runs] == [0, 3]
    assert [run.total(Verdict.PASS) for run in runs] == [10, 7]
    assert runs[1].digest == run_on(2, failing=3).digests.content
    rows = {row.timing: row for row in report_data.throughputs()}
    assert runs[0].throughput == {key: row.bytes_per_second for key, row in rows.items()}


def test_devices_are_series_of_their_own(tmp_path: Path) -> None:
    other = run_on(2, rows=(), backend=report_data.backend(device="other"))
    history_of(tmp_path / "h.db", other, *(run_on(day, rows=()) for day in (1, 3, 4)))
    with HistoryFile(tmp_path / "h.db") as history:
        assert {device: len(runs) for (_, device), runs in history.series().items()} == {
            "NVIDIA H100 80GB HBM3": 3,
            "other": 1,
        }


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="history add"):
        HistoryFile(tmp_path / "none.db")
    text = "no database, but longer than a header has to be, so that it is looked at"
    (tmp_path / "text.db").write_text(text)
    with pytest.raises(HistoryError, match="cannot be used"):
        HistoryFile(tmp_path / "text.db", create=True)
    assert (tmp_path / "text.db").read_text() == text
    sqlite3.connect(tmp_path / "other.db").executescript("CREATE TABLE t (x); PRAGMA user_version = 1;")
    with pytest.raises(HistoryError, match="no history of this suite"):
        HistoryFile(tmp_path / "other.db", create=True)
    sqlite3.connect(history_of(tmp_path / "new.db", run_on(rows=()))).execute("PRAGMA user_version = 9")
    with pytest.raises(HistoryError, match="version 9; this release reads 3"):
        HistoryFile(tmp_path / "new.db")


# --- the commands -------------------------------------------------------------------------------------------------


def call(*arguments: object) -> Result:
    return invoke("history", *arguments)


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Ten runs; from the fifth on three cases fail, from the seventh on everything takes twice as long."""
    runs = (
        run_on(day, failing=3 if day >= 5 else 0, speed=0.5 if day >= 7 else 1 + day / 1000) for day in range(1, 11)
    )
    return history_of(tmp_path / "history.db", *runs)


def test_show_tells_where_a_figure_changed(database: str) -> None:
    shown = call("show", database)
    assert shown.exit_code == 0
    lines = shown.output.splitlines()
    assert lines[0] == "torch:cuda:0 on NVIDIA H100 80GB HBM3: 10 runs"
    assert "run 5: GATHER: 0 failed cases, then 3" in lines
    operators = dict.fromkeys(row.operator for row in report_data.throughputs())
    each = len(report_data.throughputs()) // len(operators)
    for operator in operators:
        (line,) = [line for line in lines if line.startswith(f"run 7: {operator} ")]
        assert re.match(
            rf"run 7: {operator} -50% to -50% in {each} of {each} measurements; most: \w+ \d+ [KM]iB ", line
        )
    assert not any("not yet confirmed" in line for line in lines)


def test_one_step_is_told_with_all_about_it(tmp_path: Path) -> None:
    row = report_data.throughputs()[0]
    rates = [2e9] * 7 + [3e9]
    runs = [run_on(day, rows=[replace(row, seconds=(row.useful_bytes / rate,))]) for day, rate in enumerate(rates, 1)]
    lines = call("show", history_of(tmp_path / "h.db", *runs)).output.splitlines()
    assert lines[-1] == "run 8: GATHER +50%: FLOAT32 64 KiB warm, 2 GB/s, then 3, not yet confirmed"


def test_json_has_the_same(database: str) -> None:
    (series,) = json.loads(call("show", database, "--format", "json").output)["series"]
    assert [run["verdicts"]["GATHER"] for run in series["runs"]][3:5] == [{"pass": 10}, {"pass": 7, "fail": 3}]
    assert series["verdict_changes"] == [{"run": 5, "operator": "GATHER", "before": 0, "after": 3, "same_setup": True}]
    for rates in series["throughput"]:
        assert [(step["run"], step["confirmed"]) for step in rates["steps"]] == [(7, True)]
        assert len(rates["bytes_per_second"]) == 10


def test_steps_that_are_sure_are_told_apart_from_those_that_are_not(tmp_path: Path) -> None:
    rows, runs = report_data.throughputs()[:4], []
    for day in range(1, 9):
        # Of the last one the first two runs and the last are missing, so that its step comes with its last two.
        timed = rows if day in range(3, 8) else rows[:3]
        runs.append(run_on(day, rows=[replace(row, seconds=(1.0 if day < 6 else 2.0,)) for row in timed]))
    lines = call("show", history_of(tmp_path / "h.db", *runs)).output.splitlines()
    assert re.match("run 6: GATHER -50% to -50% in 3 of 4 measurements; most: .*, then [^,]*$", lines[-1])
    assert re.match("run 6: GATHER -50%: FLOAT32 4 MiB cold, .*, not yet confirmed$", lines[-2])


def test_several_histories_are_one_and_backends_are_selected(database: str, tmp_path: Path) -> None:
    in_both = run_on(3, speed=1 + 3 / 1000)
    other = history_of(tmp_path / "other.db", in_both, run_on(11, speed=0.5))
    shown = call("show", database, other).output.splitlines()
    assert shown[0].endswith(": 11 runs")
    assert [line.split()[0] for line in shown[3:14]] == [str(n) for n in range(1, 12)]
    assert [line.split()[1] for line in shown[3:14]] == sorted(line.split()[1] for line in shown[3:14])
    assert call("show", database, "--backend", "reference").output == "No runs.\n"
    assert "2 runs" in call("show", database, "--backend", report_data.BACKEND, "--last", "2").output


# --- the page -----------------------------------------------------------------------------------------------------


def shown_page(database: str, tmp_path: Path, *options: str) -> str:
    result = call("show", database, "--format", "html", "-o", tmp_path / "history.html", *options)
    assert (result.exit_code, result.output) == (0, "")
    return (tmp_path / "history.html").read_text(encoding="utf-8")


def test_the_page_tells_what_changed_and_draws_it(database: str, tmp_path: Path) -> None:
    text = shown_page(database, tmp_path)
    page = Page(text)
    rows = [row for _, row in page.all("tr")]
    assert "52025-03-05T09:30:00ZGATHER0 failed cases, then 3" in rows
    operators = list(dict.fromkeys(row.operator for row in report_data.throughputs()))
    for operator in operators:
        assert any(
            row.startswith(f"72025-03-07T09:30:00Z{operator}slower, -50% to -50% in 24 of 24 measurements")
            for row in rows
        )
        assert f"{operator}: 24 measurements" in text
    row = report_data.throughputs()[0]
    first, last = row.bytes_per_second * 1.001, row.bytes_per_second * 0.5
    figures = (first, last, last, row.bytes_per_second * 1.006)
    assert "FLOAT32, 64 KiB, warm" + "".join(map(rate, figures)) + "-50% at run 7" in rows
    assert f"{MAX_PANELS} that changed most are drawn" in text
    charts = [attributes["aria-label"] for attributes, _ in page.all("svg") if attributes.get("role") == "img"]
    assert len(charts) == MAX_PANELS
    assert re.fullmatch(r"\w+ \w+, \d+ [KM]iB, \w+: .* in run 1, .* in run 10; -50% at run 7", charts[-1])
    assert "10 runs of 1 backend and device: 1 change of verdicts, 5 steps of throughput." in text


def test_a_map_has_the_worst_of_each_family_in_each_of_the_latest_runs(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cells(*options: str) -> tuple[str, list[tuple[str, str]]]:
        page = Page(shown_page(database, tmp_path, *options))
        heads = next(row for _, row in page.all("tr") if row.startswith("Family"))
        return heads, [(at["aria-label"], text) for at, text in page.all("td") if "aria-label" in at]

    assert cells() == ("Family12345678910", [("conforms", "✓")] * 4 + [("3 differ", "✗")] * 6)
    monkeypatch.setattr(page_module, "MAX_RUNS", 7)
    assert cells("--replace") == ("Family45678910", [("conforms", "✓")] + [("3 differ", "✗")] * 6)
    assert "The latest 7 runs." in (tmp_path / "history.html").read_text(encoding="utf-8")


def test_a_mark_stands_between_the_runs_and_the_levels_are_medians(database: str) -> None:
    with HistoryFile(Path(database)) as history:
        ((_, runs),) = history.series().items()
    rates = Trend.of(runs).rates[0]
    chart = _rate_chart(rates, len(runs))
    (mark,) = chart.marks
    places = [x for x, _, _ in chart.points]
    assert mark.x == pytest.approx((places[5] + places[6]) / 2)
    assert (mark.text, mark.is_sure) == ("-50%", True)
    (before, start, end), (after, again, last) = (
        (float(y), float(x), float(to)) for x, y, to in re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)", chart.levels)
    )
    assert (start, end) == pytest.approx((places[0], mark.x), abs=0.1)
    assert (again, last) == pytest.approx((mark.x, places[9]), abs=0.1)
    floor = chart.y_ticks[0].at
    assert (floor - after) / (floor - before) == pytest.approx(0.5 / 1.0035, abs=0.01)
    assert all(PANEL.top <= y <= floor for _, y, _ in chart.points)


def test_the_page_is_the_same_for_the_same_runs_and_holds_all_it_needs(database: str, tmp_path: Path) -> None:
    text = shown_page(database, tmp_path)
    assert call("show", database, "--format", "html").output == text
    page = Page(text)
    assert not page.all("img")
    for _, attributes, _ in page.elements:
        assert not attributes.get("src")
        assert attributes.get("href", "#").startswith(("#", "data:,"))
    assert "default-src 'none'" in text


def test_nothing_from_outside_becomes_markup(tmp_path: Path) -> None:
    script = "<script>alert(1)</script>"
    about = {
        "backend": report_data.backend(name=f'"{script}', device=script, versions={script: script}),
        "suite_version": script,
    }
    row = replace(report_data.throughputs()[0], data_type=script, operator=script)
    runs = [
        run_on(rows=[replace(row, seconds=(1.0 if day < 5 else 2.0,))], started=f"{script}{day}", **about)
        for day in range(1, 9)
    ]
    page = Page(shown_page(history_of(tmp_path / "h.db", *runs), tmp_path))
    assert len(page.all("script")) == 1
    assert not any(name.startswith("on") for _, attributes, _ in page.elements for name in attributes)
    assert page.text().count(script) > 20


def test_an_empty_history_and_wrong_usage(tmp_path: Path) -> None:
    empty, mine = history_of(tmp_path / "h.db"), tmp_path / "mine.html"
    assert "No runs." in shown_page(empty, tmp_path)
    result = call("show", empty, "-o", tmp_path / "x.txt")
    assert (result.exit_code, (tmp_path / "x.txt").exists()) == (2, False)
    assert "go with --format html" in result.output
    mine.write_text("not a page")
    assert call("show", empty, "--format", "html", "--replace", "-o", mine).exit_code == 2
    assert mine.read_text() == "not a page"


def test_runs_of_another_setup_are_said_to_be_other(tmp_path: Path) -> None:
    history = history_of(tmp_path / "h.db", run_on(1, seed=1), run_on(2, failing=2, seed=2))
    assert "run 2: GATHER: 0 failed cases, then 2 (another setup:" in call("show", history).output


def test_results_are_added_by_command(tmp_path: Path) -> None:
    results, database = tmp_path / "results.sqlite", tmp_path / "h.db"
    report_data.feed(StoreWriter(results), report_data.some_sound())
    assert call("add", database, results, tmp_path).output == f"{database}: 1 run added, 1 were there already\n"
    assert call("add", database, results).output == f"{database}: 0 runs added, 1 were there already\n"
    with HistoryFile(database) as history:
        (runs,) = history.series().values()
    assert sum(sum(of.values()) for of in runs[0].counts.values()) == 900
    assert (call("add", database, tmp_path / "none").exit_code, call("show", "none.db").exit_code) == (2, 2)
