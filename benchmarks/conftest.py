"""Options and fixtures of the benchmarks, and the table at the end of a run.

Each benchmark is one pytest-benchmark benchmark, so that its comparison of stored runs works:
`pytest-benchmark --storage file://build/bench compare`.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from racing import Race, cores
from ratios import Heading, table, with_table
from sizes import SIZES, Sizes

MEASURED = ("dml-conformance", "numpy", "torch", "hypothesis", "onnx", "msgspec", "jinja2", "pytest-benchmark")

_RACES = pytest.StashKey[list[Race]]()
_IS_SELECTION = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("speed")
    group.addoption(
        "--sizes", choices=tuple(SIZES), default="full", help="how much each benchmark does (default: %(default)s)"
    )
    group.addoption(
        "--page",
        type=Path,
        metavar="FILE",
        help="put the table into this page, between its marks <!-- measured --> and <!-- end -->; for whole runs only",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_RACES] = []
    config.stash[_IS_SELECTION] = False
    torch.set_num_threads(1)  # every figure here is of one core; NumPy moves data on one anyway


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    if items:
        items[0].config.stash[_IS_SELECTION] = True


def pytest_collection_finish(session: pytest.Session) -> None:
    there = {path.name for path in Path(__file__).parent.glob("bench_*.py")}
    if there - {item.path.name for item in session.items}:
        session.config.stash[_IS_SELECTION] = True


@pytest.fixture(scope="session")
def sizes(pytestconfig: pytest.Config) -> Sizes:
    return SIZES[pytestconfig.getoption("--sizes")]


@pytest.fixture
def race(
    benchmark: BenchmarkFixture, request: pytest.FixtureRequest, pytestconfig: pytest.Config, sizes: Sizes
) -> Iterator[Race]:
    """The one way in which things are timed here; see `racing.Race`."""
    made = Race(benchmark, request.module.__name__.removeprefix("bench_"), sizes)
    yield made
    if made.rows:
        pytestconfig.stash[_RACES].append(made)


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """What the figures depend on; which machine of its kind it was is nobody's business."""
    del machine_info["node"]
    machine_info["cores"] = cores()
    machine_info["versions"] = _versions()
    machine_info["sizes"] = config.getoption("--sizes")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: pytest.ExitCode, config: pytest.Config
) -> None:
    races = config.stash[_RACES]
    if not races:
        return
    heading = Heading(datetime.now(UTC).date().isoformat(), _machine(), _versions(), config.getoption("--sizes"))
    text = table([row for race in races for row in race.rows], [race.share for race in races if race.share], heading)
    terminalreporter.section("speed")
    terminalreporter.write_line(text)
    page: Path | None = config.getoption("--page")
    if page is None:
        return
    if exitstatus != pytest.ExitCode.OK or config.stash[_IS_SELECTION]:
        terminalreporter.write_line(f"{page}: left as it is, since not every benchmark was run")
    else:
        page.write_text(with_table(page.read_text(encoding="utf-8"), text), encoding="utf-8")


def _machine() -> str:
    from cpuinfo import get_cpu_info  # type: ignore[import-untyped]  # pytest-benchmark's own, and slow

    brand = get_cpu_info().get("brand_raw") or platform.processor() or platform.machine()
    return f"{brand}, {cores()} cores, {platform.system()} {platform.machine()}"


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in MEASURED:
        found[name] = importlib.metadata.version(name)
    return found
