"""The tables of what was measured on a GPU say what the stored rows say. Nothing here depends on how long anything
takes, and nothing needs a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from places import ROOT
from scripts import loaded

from dml_conformance.reports.model.records import Throughput

FOLDER = ROOT / "benchmarks" / "cuda"
PAGE = ROOT / "docs" / "performance.md"


@pytest.fixture(scope="module")
def table() -> ModuleType:
    return loaded(FOLDER / "cuda_table.py")


def measured(
    table: ModuleType,
    way: str,
    share: float,
    data_type: str = "UINT8",
    *,
    heat: str = "cold",
    case: str = "TILE",
    output_bytes: int = 2**28,
    **goals: float,
) -> Any:
    """A row of a way that has a share of a copy of 1 TB/s."""
    seconds = 1e9 / (share * 1e12)
    row = Throughput("TILE", data_type, "Input{1}", 10**9, (seconds, 9 * seconds, seconds / 9), 1e12, output_bytes)
    return table.Measured(case, way, heat, row, **goals)


def run(table: ModuleType, *rows: Any, **more: Any) -> Any:
    return table.Run("2025-03-04", "A GPU", {"torch": "2.9.0", "triton": "3.5.0"}, 3.0e12, list(rows), **more)


def cells(text: str, heading: str) -> list[list[str]]:
    """The lines of the table under a heading, without its head."""
    lines = text.partition(heading)[2].partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert len({len(line) for line in lines}) == 1
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_large_outputs_are_shown_as_shares_of_the_copy(table: ModuleType) -> None:
    kernels, eager = table.Way.KERNELS, table.Way.EAGER
    text = table.tables(
        run(
            table,
            measured(table, eager, 0.5),
            measured(table, kernels, 0.97, of_copy=0.9),
            measured(table, kernels, 0.96, heat="warm"),
            measured(table, table.Way.COMPILED, 0.7),
            measured(table, eager, 0.25, "INT64"),
            measured(table, kernels, 0.95, "INT64", of_copy=0.9),
        )
    )
    assert "2025-03-04, A GPU; its own copy moves 3.00 TB/s, read plus written. torch 2.9.0, triton 3.5.0." in text
    assert "**Outputs of 256 MiB: shares" in text
    assert "1 of 1 goals met." in text
    assert cells(text, "**Outputs of") == [["TILE", "0.97 / 0.95", "0.50 / 0.25", "0.70", "0.96", "0.90", "yes"]]


@pytest.mark.parametrize(
    ("kernels", "eager", "goals", "goal", "met"),
    [
        (0.90, 0.5, {"of_copy": 0.9}, "0.90", "yes"),
        (0.89, 0.5, {"of_copy": 0.9}, "0.90", "no"),
        (0.90, 0.95, {"of_copy": 0.9}, "0.90", "no"),  # slower than eager torch
        (0.40, 0.2, {"times_eager": 2}, "eager x 2", "yes"),
        (0.35, 0.2, {"times_eager": 2}, "eager x 2", "no"),
        (0.199, 0.2, {"times_eager": 1}, "eager x 1", "yes"),  # within what one work differs from itself
        (0.19, 0.2, {"times_eager": 1}, "eager x 1", "no"),
        (0.10, 0.2, {}, "", ""),
    ],
)
def test_a_goal_is_met_where_it_is_reached_and_eager_torch_is_not_faster(
    table: ModuleType, kernels: float, eager: float, goals: dict[str, float], goal: str, met: str
) -> None:
    rows = (measured(table, table.Way.EAGER, eager), measured(table, table.Way.KERNELS, kernels, **goals))
    text = table.tables(run(table, *rows))
    assert cells(text, "**Outputs of")[0][-2:] == [goal, met]
    assert f"{int(met == 'yes')} of {int(bool(goals))} goals met." in text


def test_small_outputs_are_shown_in_microseconds(table: ModuleType) -> None:
    rows = [measured(table, table.Way.KERNELS, 1.0)]
    for size, share in ((2**14, 50), (2**20, 40)):
        rows.append(measured(table, table.Way.EAGER, share / 2, "FLOAT32", heat="warm", output_bytes=size))
        rows.append(measured(table, table.Way.KERNELS, share, "FLOAT32", heat="warm", output_bytes=size))
        rows.append(measured(table, table.Way.KERNELS, 1.0, "FLOAT32", heat="cold", output_bytes=size))
    text = table.tables(run(table, *rows))
    assert "| 16 KiB  | 1 MiB   |" in text
    assert cells(text, "**Small outputs") == [["TILE", "20 / 40", "25 / 50"]]


def test_products_are_shown_in_operations_a_second(table: ModuleType) -> None:
    """The median counts, and the share is that of the device's product of the type."""
    gemm = table.Product("GEMM", "FLOAT16", 10**12, (0.002, 0.5, 0.001), (0.004, 0.0001, 0.9), 1e15)
    text = table.tables(run(table, measured(table, table.Way.KERNELS, 1.0), products=[gemm]))
    assert cells(text, "**Products") == [["GEMM", "FLOAT16", "500.0", "250.0", "1000.0", "0.50"]]


def test_a_run_comes_back_as_it_was_stored(table: ModuleType, tmp_path: Path) -> None:
    rows = measured(table, table.Way.KERNELS, 0.5, of_copy=0.9), measured(table, table.Way.EAGER, 0.2)
    made = run(table, *rows, products=[table.Product("GEMM", "FLOAT16", 10**12, (0.002,), (0.004,), 1e15)])
    path = tmp_path / "cuda.json"
    path.write_bytes(table.stored(made))
    assert table.load(path) == made
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6
    path.write_text('{"date": 1}', encoding="utf-8")
    with pytest.raises(msgspec.ValidationError):
        table.load(path)


def test_the_pages_tables_are_those_of_the_stored_run(table: ModuleType) -> None:
    """Run: python benchmarks/cuda/cuda_table.py benchmarks/cuda/h200.json --page docs/performance.md"""
    text = PAGE.read_text(encoding="utf-8")
    assert table.with_tables(text, table.tables(table.load(FOLDER / "h200.json"))) == text


def test_the_command_puts_the_tables_into_a_page(table: ModuleType, tmp_path: Path) -> None:
    """In the place of the old ones, and nowhere but between one pair of marks."""
    page, stored = tmp_path / "page.md", FOLDER / "h200.json"
    page.write_text("a\n<!-- measured on a GPU -->\nold\n<!-- end -->\nb\n", encoding="utf-8")
    subprocess.run([sys.executable, FOLDER / "cuda_table.py", stored, "--page", page], check=True, timeout=60, cwd=ROOT)
    made = table.tables(table.load(stored))
    assert page.read_text(encoding="utf-8") == f"a\n<!-- measured on a GPU -->\n\n{made}\n\n<!-- end -->\nb\n"
    for wrong in ("no marks", 2 * page.read_text(encoding="utf-8")):
        with pytest.raises(ValueError, match="one pair of the marks"):
            table.with_tables(wrong, "new")
