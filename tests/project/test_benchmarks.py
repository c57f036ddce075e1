"""The benchmarks run, and their table says what the samples say. Nothing here depends on how long anything takes."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from places import ROOT
from scripts import loaded

PAGE = ROOT / "docs" / "performance.md"


@pytest.fixture(scope="module")
def ratios() -> ModuleType:
    return loaded(ROOT / "benchmarks" / "ratios.py")


def compared(ratios: ModuleType, rates: list[float], peer_rates: list[float], needed: float | None = None) -> Any:
    """A row of works of one unit that took a core's time twice that of the wall."""
    samples = [ratios.Sample(count=1, wall=1 / rate / 2, core=1 / rate) for rate in rates]
    return ratios.row("suite", "work", "units", samples, "peer", peer_rates, needed, ratios.Clock.CORE)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def test_a_ratio_is_the_median_of_the_rounds_ratios(ratios: ModuleType) -> None:
    """The machine slows down from round to round; in each the work is twice as fast, but in the last."""
    row = compared(ratios, [200, 100, 20], [100, 50, 40])
    assert (row.rate, row.peer_rate) == pytest.approx((100, 50))
    assert (row.low, row.ratio, row.high) == pytest.approx((1.25, 2, 2))


def test_the_ratio_is_not_that_of_the_medians(ratios: ModuleType) -> None:
    row = compared(ratios, [100, 10, 40], [50, 40, 10])
    assert row.rate / row.peer_rate == pytest.approx(1)
    assert row.ratio == pytest.approx(2)


def test_every_round_has_both_sides(ratios: ModuleType) -> None:
    with pytest.raises(ValueError, match="shorter"):
        compared(ratios, [1, 2, 3], [1, 2])


def test_a_rate_is_of_the_clock_asked_for(ratios: ModuleType) -> None:
    sample = ratios.Sample(count=60, wall=3.0, core=2.0)
    assert sample.rate(ratios.Clock.WALL) == 20
    assert sample.rate(ratios.Clock.CORE) == 30


def test_the_share_of_a_core_is_of_all_time_taken(ratios: ModuleType) -> None:
    samples = [ratios.Sample(1, wall=1.0, core=1.0), ratios.Sample(1, wall=9.0, core=1.5)]
    assert ratios.core_share(samples) == pytest.approx(0.25)


@pytest.mark.parametrize(("needed", "met"), [(None, None), (2.0, True), (2.1, False), (0.5, True)])
def test_a_goal_is_met_from_the_ratio_needed_on(ratios: ModuleType, needed: float | None, met: bool | None) -> None:
    assert compared(ratios, [100], [50], needed).is_met is met


def test_quartiles(ratios: ModuleType) -> None:
    assert ratios.quartiles([5, 1, 4, 2, 3]) == (2, 3, 4)
    assert ratios.quartiles([7]) == (7, 7, 7)


# --- table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.1234, "0.12"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (999.4, "999"),
        (999.6, "1.00 k"),
        (20_480, "20.5 k"),
        (999_600, "1.00 M"),
        (7.05e9, "7.05 G"),
        (123e9, "123 G"),
    ],
)
def test_rates_have_three_figures_and_a_prefix(ratios: ModuleType, rate: float, text: str) -> None:
    assert ratios.rate_text(rate) == text


def test_the_table_says_what_the_rows_say(ratios: ModuleType) -> None:
    rows = [
        compared(ratios, [100, 100, 100], [50, 40, 25], 2.5),
        compared(ratios, [100], [50], 10),
        compared(ratios, [30_000], [50]),
    ]
    heading = ratios.Heading("2025-03-04", "A processor, 8 cores", {"numpy": "2.2.3"}, "full")
    where, versions, share, empty, head, rule, *lines = ratios.table(rows, [0.5, 1.0, 0.75], heading).splitlines()
    assert where == "2025-03-04, A processor, 8 cores; sizes: full."
    assert versions == "numpy 2.2.3."
    assert share == "While timed, the process had 0.50 to 1.00 of a core (median 0.75). 1 of 2 goals met."
    assert empty == ""
    assert set(rule) == {"|", "-"}
    assert len({len(line) for line in (head, rule, *lines)}) == 1
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells == [
        ["suite", "work", "100 units", "peer", "40.0", "2.50 (2.25 to 3.25)", "2.50", "yes"],
        ["suite", "work", "100 units", "peer", "50.0", "2.00", "10.0", "no"],
        ["suite", "work", "30.0 k units", "peer", "50.0", "600", "", ""],
    ]


def test_rates_by_the_wall_clock_are_marked(ratios: ModuleType) -> None:
    samples = [ratios.Sample(count=10, wall=2.0, core=1.0)]
    row = ratios.row("suite", "work", "units", samples, "peer", [1.0], None, ratios.Clock.WALL)
    text = ratios.table([row], [0.5], ratios.Heading("2025-03-04", "A processor", {"numpy": "2.2.3"}, "full"))
    assert "| 5.00 units (wall) |" in text


def test_the_table_takes_the_place_of_the_old_one(ratios: ModuleType) -> None:
    page = "before\n<!-- measured -->\nold\n<!-- end -->\nafter\n"
    assert ratios.with_table(page, "new\\1") == "before\n<!-- measured -->\n\nnew\\1\n\n<!-- end -->\nafter\n"
    for wrong in ("no marks", page + page):
        with pytest.raises(ValueError, match="one pair of the marks"):
            ratios.with_table(wrong, "new")


# --- runs ---------------------------------------------------------------------------------------------------------


def bench(storage: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `tox run -e bench` runs, in this environment and with another place for the results."""
    config = configparser.ConfigParser()
    config.read(ROOT / "tox.ini")
    command = config["testenv:bench"]["commands"].strip()
    assert "{posargs}" in command
    assert "file://{tox_root}/build/bench" in command
    command = command.replace("{posargs}", "").replace("{tox_root}/build/bench", str(storage))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", *shlex.split(command), *arguments],
        cwd=ROOT,
        env={**environment, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


def rows_of_page(text: str) -> set[tuple[str, str, str]]:
    """Suite, work and peer of each line of the table."""
    measured = text.partition("<!-- measured -->")[2].partition("<!-- end -->")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*$", measured, re.M)]
    return {(line[0], line[1], line[3]) for line in cells[2:]}


@pytest.mark.slow
def test_every_benchmark_runs_and_the_page_shows_them_all(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    done = bench(tmp_path / "runs", "--sizes", "tiny", "--page", str(page))
    assert done.returncode == 0, done.stdout + done.stderr
    (stored,) = (tmp_path / "runs").rglob("*.json")
    run = json.loads(stored.read_text(encoding="utf-8"))
    rows = [row for benchmark in run["benchmarks"] for row in benchmark["extra_info"]["rows"]]
    named = {(row["suite"], row["work"], row["peer"]) for row in rows}
    assert len(named) == len(rows)
    assert {row["suite"] for row in rows} == {path.stem[6:] for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert all(row["rate"] > 0 and row["peer_rate"] > 0 and row["ratio"] > 0 for row in rows)
    for benchmark in run["benchmarks"]:
        samples = benchmark["extra_info"]["samples"]
        assert len({len(taken) for taken in samples.values()}) == 1, "a round without one of its works"
    assert run["machine_info"]["sizes"] == "tiny"
    assert run["machine_info"]["versions"].keys() >= {"numpy", "torch", "onnx", "hypothesis"}
    assert "node" not in run["machine_info"]
    assert rows_of_page(page.read_text(encoding="utf-8")) == named
    assert rows_of_page(PAGE.read_text(encoding="utf-8")) == named, (
        "run: tox run -e bench -- --page docs/performance.md"
    )


@pytest.mark.slow
def test_a_selection_leaves_the_page_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- measured -->\nkept\n<!-- end -->\n", encoding="utf-8")
    done = bench(tmp_path / "runs", "--sizes", "tiny", "--page", str(page), "-k", "decide")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| validator " in done.stdout
    assert "| sweep " not in done.stdout
    assert f"{page}: left as it is" in done.stdout
    assert "kept" in page.read_text(encoding="utf-8")
