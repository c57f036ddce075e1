"""Benchmarks that need a GPU: timed by its own events, in a table of their own.

The results go to build/bench/cuda.json, from which `cuda_table.py` makes the tables again.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from cuda_table import Measured, Product, Run, median_copy, stored, tables, with_tables
from pytest_benchmark.fixture import BenchmarkFixture

RESULTS = Path(__file__).parents[2] / "build" / "bench" / "cuda.json"
MEASURED = ("dml-conformance", "torch", "triton", "numpy")

_ROWS = pytest.StashKey[list[Measured]]()
_PRODUCTS = pytest.StashKey[list[Product]]()
_IS_SELECTION = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []
    config.stash[_PRODUCTS] = []
    config.stash[_IS_SELECTION] = False
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU")


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    if any(Path(__file__).parent in item.path.parents for item in items):
        items[0].config.stash[_IS_SELECTION] = True


@pytest.fixture
def measured(benchmark: BenchmarkFixture, pytestconfig: pytest.Config) -> Iterator[list[Measured]]:
    """Where a benchmark puts its rows; they are kept with pytest-benchmark's results as well."""
    rows: list[Measured] = []
    yield rows
    benchmark.extra_info["rows"] = msgspec.to_builtins(rows)
    pytestconfig.stash[_ROWS] += rows


@pytest.fixture
def products(benchmark: BenchmarkFixture, pytestconfig: pytest.Config) -> Iterator[list[Product]]:
    """The same for products."""
    rows: list[Product] = []
    yield rows
    benchmark.extra_info["products"] = msgspec.to_builtins(rows)
    pytestconfig.stash[_PRODUCTS] += rows


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: pytest.ExitCode, config: pytest.Config
) -> None:
    rows = config.stash.get(_ROWS, [])
    if not rows:
        return
    today, device = datetime.now(UTC).date().isoformat(), torch.cuda.get_device_name()
    run = Run(today, device, _versions(), median_copy(rows), rows, config.stash[_PRODUCTS])
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_bytes(stored(run))
    text = tables(run)
    terminalreporter.section("speed on the GPU")
    terminalreporter.write_line(text)
    page: Path | None = config.getoption("--page")
    if page is None:
        return
    if exitstatus != pytest.ExitCode.OK or config.stash[_IS_SELECTION]:
        terminalreporter.write_line(f"{page}: GPU tables left as they are, since not every benchmark was run")
    else:
        page.write_text(with_tables(page.read_text(encoding="utf-8"), text), encoding="utf-8")


def _versions() -> dict[str, str]:
    found: dict[str, Any] = {name: importlib.metadata.version(name) for name in MEASURED}
    found["CUDA"] = torch.version.cuda
    driver = Path("/sys/module/nvidia/version")
    if driver.is_file():
        found["driver"] = driver.read_text().strip()
    return found
