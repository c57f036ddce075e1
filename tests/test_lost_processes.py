"""Every process that a backend loses is counted, wherever that is, and too many of them are a verdict."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_isolation import awful

from conformance.cli import main
from conformance.isolation.backend import IsolatedBackend
from reports.certificate import Certificate
from reports.records import (
    MOST_FORGIVEN,
    Loss,
    LossCause,
)
from reports.store import Store
from reports.summary import Summary
from reports.writing import CERTIFICATE, REPORT, RESULTS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="what is done to processes here is done on POSIX")

QUICK = ("--operator", "TILE", "--level", "1_0", "--budget", "quick")
KILLED = Loss(LossCause.KILLED, "died of SIGKILL in execute")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how often `is_first` of the awful backends holds from now on."""
    folder = tmp_path / "times"
    folder.mkdir()
    monkeypatch.setenv("DML_TEST_ONCE", str(folder))

    def set_times(count: int) -> None:
        for n in range(count):
            (folder / str(n)).touch()

    return set_times


@pytest.fixture
def isolated() -> Iterator[Callable[[str], IsolatedBackend]]:
    made: list[IsolatedBackend] = []

    def make(name: str) -> IsolatedBackend:
        made.append(IsolatedBackend(awful(name)))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def certify(name: str, *more: str, scope: tuple[str, ...] = QUICK) -> Result:
    return CliRunner().invoke(main, ["certify", "--backend", awful(name), *scope, "--out", "out", *more])


def certificate() -> dict[str, Any]:
    """Of the run, held against its records and the page."""
    with Store(Path("out") / RESULTS) as store:
        assert Path("out", CERTIFICATE).read_bytes() == Certificate.of(Summary.of_store(store)).to_json()
        counted = sum(loss.count for record in store.records() for loss in record.lost)
        counted += sum(loss.count for loss in store.ending.lost) if store.ending else 0
    found: dict[str, Any] = json.loads(Path("out", CERTIFICATE).read_text())
    assert counted == found["lost"]["count"] == sum(way["count"] for way in found["lost"]["ways"])
    page = Path("out", REPORT).read_text(encoding="utf-8")
    assert ("Processes of the backend that were lost" in page) is (counted > 0)
    return found


# --- campaigns --------------------------------------------------------------------------------------------------------

LEVELS = ("--operator", "TILE", "--level", "1_0", "--level", "4_1", "--budget", "quick")
WAYS = [
    ("DiesInThe300thDecision", "signal", "SIGSEGV in validate", LEVELS),
    ("IsKilledInThe300thDecision", "killed", "SIGKILL in validate", LEVELS),
    ("KillsInThe40thExecution", "killed", "SIGKILL in execute", QUICK),
    ("KillsItsGroupInThe40thExecution", "killed", "SIGKILL in execute", QUICK),
    ("LeaksDeciding", "memory limit", "memory limit of 300 MiB in validate", LEVELS),
]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize(("name", "cause", "how", "scope"), WAYS, ids=[way[0] for way in WAYS])
def test_a_backend_that_keeps_losing_its_process_is_not_certified(
    name: str, cause: str, how: str, scope: tuple[str, ...], workers: tuple[str, ...], here: Path
) -> None:
    limit = ("--memory-limit", "300MiB") if cause == "memory limit" else ()
    result = certify(name, *workers, *limit, scope=scope)
    assert result.exit_code == 1, result.output
    found = certificate()
    assert found["counts"]["crash"] >= 1
    assert {way["cause"] for way in found["lost"]["ways"]} == {cause}
    assert all(how in way["how"] for way in found["lost"]["ways"])
    assert found["lost"]["forgiven"] <= MOST_FORGIVEN
    assert f"({found['lost']['count']} {cause})" in result.output.splitlines()[-2]
