"""What a crash costs of a backend that dies of whatever it executes: with processes that are forked, and with processes
that are started.

`PYTHONPATH=. python benchmarks/crashes.py`
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.processes import backend as isolation
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.values import buffer_size

DIES = """\
import os
from dml_conformance.backends.reference import ReferenceBackend

class Dies(ReferenceBackend):
    def execute(self, *arguments):
        os.abort()
"""


def seconds_a_crash(name: str, crashes: int, *, forked: bool) -> list[float]:
    """Of each crash, from the request that the process dies of until the next process has died of one."""
    isolation.CAN_FORK = forked
    backend = isolation.IsolatedBackend(name)
    case = next(case for n in range(1000) if (case := numbered_case(0, "TILE", Level.L6_4, n)).data and not case.broken)
    found = []
    try:
        for _ in range(crashes + 2):  # the first ones have to make the process that forks
            began = time.perf_counter()
            _crash(backend, case)
            found.append(time.perf_counter() - began)
    finally:
        backend.close()
    return found[2:]


def _crash(backend: isolation.IsolatedBackend, case: Case) -> None:
    def bound(attribute: str) -> dict[str, Binding]:
        size = buffer_size(getattr(case.desc, attribute))
        return {attribute: Binding(np.zeros(size, np.uint8), 0, size)}

    try:
        backend.execute(case.desc, case.level, bound("input_tensor"), bound("output_tensor"))
    except ProcessLost:
        return
    raise AssertionError("it did not die")


@click.command(help=__doc__)
@click.option("--crashes", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
def main(crashes: int, rounds: int) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "dies.py"
        file.write_text(DIES, encoding="utf-8")
        ratios = []
        for _ in range(rounds):  # in turn, so that whatever else the machine does slows both alike
            forked, started = (
                statistics.median(seconds_a_crash(f"{file}:Dies", crashes, forked=forked)) for forked in (True, False)
            )
            ratios.append(started / forked)
            click.echo(f"forked {forked * 1e3:.0f} ms, started {started * 1e3:.0f} ms a crash: {ratios[-1]:.1f} times")
        click.echo(f"median of {rounds} rounds on {sys.platform}: {statistics.median(ratios):.1f} times")


if __name__ == "__main__":
    main()
