"""Steps told from noise, the file of sums, and the commands."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import report_data
from click.testing import CliRunner, Result
from msgspec.structs import replace
from report_data import plain

from conformance.cli import main
from conformance.cli.errors import State
from reports.history import History, HistoryError
from reports.records import Verdict
from reports.steps import steps
from reports.store import StoreWriter
from reports.stream import FanOut
from reports.summary import Summary


def noisy(level: float, count: int, seed: int, spread: float = 0.02) -> list[float]:
    rng = random.Random(seed)
    return [level * rng.gauss(1, spread) for _ in range(count)]


# --- steps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("spread", [0.0, 0.005, 0.03, 0.1])
def test_noise_is_no_step(seed: int, spread: float) -> None:
    assert [step for step in steps(noisy(100, 40, seed, spread)) if step.confirmed] == []


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.3, 10])
def test_a_step_is_found_where_it_is(seed: int, ratio: float) -> None:
    values = noisy(100, 12, seed) + noisy(100 * ratio, 9, seed + 100)
    (step,) = steps(values)
    assert (step.at, step.confirmed) == (12, True)
    assert step.change == pytest.approx(ratio - 1, abs=0.05 * max(1, ratio))


def test_several_steps_are_found() -> None:
    values = noisy(100, 8, 1) + noisy(50, 8, 2) + noisy(80, 8, 3)
    assert [(step.at, step.confirmed) for step in steps(values)] == [(8, True), (16, True)]
    assert [round(step.before, -1) for step in steps(values)] == [100, 50]


def test_one_bad_run_is_no_step() -> None:
    values = noisy(100, 20, 1)
    values[10] = 30
    assert steps(values) == []


@pytest.mark.parametrize("lasting", [1, 2])
def test_the_last_runs_are_not_yet_a_step(lasting: int) -> None:
    (step,) = steps(noisy(100, 12, 1) + noisy(60, lasting, 2))
    assert (step.at, step.confirmed) == (12, False)
    assert steps(noisy(100, 12, 1) + [95] * lasting) == []  # a little off is not told before it is sure


def test_a_little_that_lasts_is_a_step_where_there_is_no_noise() -> None:
    assert [step.at for step in steps([100.0] * 6 + [110.0] * 6)] == [6]
    assert steps([100.0] * 6 + [104.0] * 6) == []


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0]])
def test_too_few_runs_have_no_step(values: list[float]) -> None:
    assert steps(values) == []


# --- the file -----------------------------------------------------------------------------------------------------


def summary_of(day: int = 1, failing: int = 0, speed: float = 1.0, **changes: Any) -> Summary:
    summary = Summary()
    stream = FanOut(summary)
    stream.start(report_data.campaign(started=f"2025-03-{day:02}T09:30:00Z", **changes))
    for number in range(10):
        verdict = Verdict.FAIL if number < failing else Verdict.PASS
        stream.record(plain(verdict, case=f"{number:064x}"))
    for row in report_data.throughputs():
        stream.throughput(replace(row, seconds=tuple(seconds / speed for seconds in row.seconds)))
    stream.finish(report_data.ending())
    return summary


def test_a_run_is_kept_once_and_comes_back(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", create=True) as history:
        assert history.add(summary_of(2, failing=3))
        assert history.add(summary_of(1))
        assert not history.add(summary_of(2, failing=3))
    with History(tmp_path / "h.db") as history:
        ((key, runs),) = history.series().items()
    assert key == (report_data.BACKEND, "NVIDIA H100 80GB HBM3")
    assert [run.started[:10] for run in runs] == ["2025-03-01", "2025-03-02"]
    assert [run.failed("GATHER") for run in runs] == [0, 3]
    assert [run.total(Verdict.PASS) for run in runs] == [10, 7]
    assert runs[1].digest == summary_of(2, failing=3).digests.content
    rows = {(row.operator, row.data_type): row for row in report_data.throughputs()}
    assert runs[0].throughput == {key: row.bytes_per_second for key, row in rows.items()}
    assert runs[0].fractions == {key: row.fraction_of_copy for key, row in rows.items()}


def test_devices_are_series_of_their_own(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", create=True) as history:
        history.add(summary_of(1))
        history.add(summary_of(2, backend={**report_data.campaign().backend, "device": "other"}))
        assert [device for _, device in history.series()] == ["NVIDIA H100 80GB HBM3", "other"]
        for day in range(3, 9):
            history.add(summary_of(day))
        assert [len(runs) for runs in history.series(last=4).values()] == [4, 1]


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="history add"):
        History(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("no database, but longer than a header has to be, so that it is looked at")
    with pytest.raises(HistoryError, match="cannot be used"):
        History(tmp_path / "text.db", create=True)
    assert (tmp_path / "text.db").read_text().startswith("no database")
    sqlite3.connect(tmp_path / "other.db").executescript("CREATE TABLE t (x); PRAGMA user_version = 1;")
    with pytest.raises(HistoryError, match="no history of this suite"):
        History(tmp_path / "other.db", create=True)
    with History(tmp_path / "new.db", create=True) as history:
        history.add(summary_of())
    sqlite3.connect(tmp_path / "new.db").execute("PRAGMA user_version = 9")
    with pytest.raises(HistoryError, match="version 9"):
        History(tmp_path / "new.db")


# --- the commands -------------------------------------------------------------------------------------------------


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["history", *arguments], obj=State())


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Ten runs; from the fifth on three cases fail, from the seventh on everything takes twice as long."""
    path = tmp_path / "history.db"
    with History(path, create=True) as history:
        for day in range(1, 11):
            history.add(summary_of(day, failing=3 if day >= 5 else 0, speed=0.5 if day >= 7 else 1 + day / 1000))
    return str(path)


def test_show_tells_where_a_figure_changed(database: str) -> None:
    shown = call("show", database)
    assert shown.exit_code == 0
    lines = shown.output.splitlines()
    assert lines[0] == "torch:cuda:0 on NVIDIA H100 80GB HBM3: 10 runs"
    assert "run 5: GATHER: 0 failed, then 3" in lines
    assert sum(": GATHER FLOAT32: " in line and "(-50%)" in line and line.startswith("run 7") for line in lines) == 1
    assert sum(line.startswith("run 7: ") for line in lines) == len(report_data.throughputs())
    assert not any("not yet confirmed" in line for line in lines)


def test_json_has_the_same(database: str) -> None:
    (series,) = json.loads(call("show", database, "--format", "json").output)["series"]
    assert [run["verdicts"]["GATHER"] for run in series["runs"]][3:5] == [{"pass": 10}, {"pass": 7, "fail": 3}]
    assert series["verdict_changes"] == [{"run": 5, "operator": "GATHER", "before": 0, "after": 3, "same_setup": True}]
    for rates in series["throughput"]:
        assert [(step["run"], step["confirmed"]) for step in rates["steps"]] == [(7, True)]
        assert len(rates["bytes_per_second"]) == 10


def test_runs_of_another_setup_are_said_to_be_other(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", create=True) as history:
        history.add(summary_of(1, seed=1))
        history.add(summary_of(2, failing=2, seed=2))
    assert "run 2: GATHER: 0 failed, then 2 (other cases:" in call("show", str(tmp_path / "h.db")).output


def test_backends_are_selected(database: str) -> None:
    assert call("show", database, "--backend", "reference").output == "No runs.\n"
    assert "2 runs" in call("show", database, "--backend", report_data.BACKEND, "--last", "2").output


def test_results_are_added_by_command(tmp_path: Path) -> None:
    results = tmp_path / "results.sqlite"
    report_data.feed(StoreWriter(results), report_data.some_sound())
    database = str(tmp_path / "h.db")
    assert (
        call("add", database, str(results), str(tmp_path)).output == f"{database}: 1 run added, 1 were there already\n"
    )
    assert call("add", database, str(results)).output == f"{database}: 0 runs added, 1 were there already\n"
    with History(Path(database)) as history:
        (runs,) = history.series().values()
    assert sum(sum(of.values()) for of in runs[0].counts.values()) == 900
    assert (call("add", database, str(tmp_path / "none")).exit_code, call("show", "none.db").exit_code) == (2, 2)
