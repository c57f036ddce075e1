"""Executing small cases in batches, beside executing them one by one, on the CPU and on a CUDA device.

*Execution* is the backend alone, with memory that lies ready; *judged* is all of it, from the lines of a corpus to
records, by one process or by one for each core.

Where pytest-benchmark is not installed, the same table comes from `PYTHONPATH=. python benchmarks/bench_batch.py`.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from corpus import corpus, corpus_blocks, judged_by
from racing import Goal, Peer, Race, Work, cores
from ratios import Clock, Heading, table
from sizes import SIZES, Sizes

from dml_conformance.backends.base import Batched, Execution
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.campaign.driver import blocks_of, describe_sweep
from dml_conformance.conformance.exchange.corpus import WHOLE, Header, check_corpus, corpus_lines
from dml_conformance.conformance.exchange.corpus_files import open_corpus, write_corpus
from dml_conformance.conformance.judge.judge import Judge, Pending
from dml_conformance.conformance.judge.memory import Layout
from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.executor import InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.model.records import Ending
from dml_conformance.reports.output.folder import OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.registry import spec_of

GOAL = Goal(50_000)
DEVICES = (
    "cpu",
    pytest.param(
        "cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]
    ),
)


@pytest.mark.parametrize("device", DEVICES)
def bench_execution(race: Race, sizes: Sizes, device: str) -> None:
    """The backend alone: one batch, beside as many single executions."""
    backend = TorchBackend(device)
    executions = laid_out(backend, sizes.judged)

    def in_a_batch() -> int:
        backend.execute_batch(executions)
        return len(executions)

    def one_by_one() -> int:
        for execution in executions:
            backend.execute(*execution)
        return len(executions)

    race(
        "cases",
        Work(f"torch:{device}: execution, a batch", in_a_batch),
        Peer(Work(f"torch:{device}: execution, one by one", one_by_one), 20 if device == "cuda" else None),
        clock=Clock.WALL,
    )


@pytest.mark.parametrize("device", DEVICES)
def bench_one_process(race: Race, sizes: Sizes, device: str) -> None:
    """Judged by this process."""
    judges = JudgeSetup((f"torch:{device}",), limits=None).judges()
    blocks = corpus_blocks(sizes.swept)
    race(
        "cases",
        Work(f"torch:{device}: judged in batches", judged_by(InProcess(judges), blocks)),
        Peer(Work(f"torch:{device}: judged one by one", judged_by(InProcess(judges, one_by_one=True), blocks))),
        heavy=True,
        clock=Clock.WALL,
    )


@pytest.mark.parametrize("device", DEVICES)
def bench_all_cores(race: Race, sizes: Sizes, device: str) -> None:
    """Judged by a process for each core, beside the same one by one, and beside one process alone."""
    names = (f"torch:{device}",)
    blocks = corpus_blocks(sizes.swept * cores())
    some = blocks[: max(1, len(blocks) // cores())]
    alone = InProcess(JudgeSetup(names, limits=None).judges(), one_by_one=True)
    goals = [GOAL] if device == "cuda" else []
    with (
        closing(Workers(JudgeSetup(names), cores())) as batches,
        closing(Workers(JudgeSetup(names, one_by_one=True), cores())) as single,
    ):
        race(
            "cases",
            Work(f"torch:{device}: in batches, {cores()} workers", judged_by(batches, blocks)),
            *goals,
            Peer(Work(f"torch:{device}: one by one, 1 process", judged_by(alone, some)), 20 if goals else None),
            Peer(Work(f"torch:{device}: one by one, {cores()} workers", judged_by(single, blocks))),
            heavy=True,
            clock=Clock.WALL,
        )


@pytest.mark.parametrize("device", DEVICES)
def bench_reports(race: Race, sizes: Sizes, device: str) -> None:
    """What `dml-conformance run --out` does once its workers have started: a file checked, judged, and reported on.

    Beside the same cases from lines in memory, and without reports.
    """
    setup = JudgeSetup((f"torch:{device}",))
    count = sizes.swept * cores()
    with TemporaryDirectory() as name, closing(Workers(setup, cores())) as workers:
        (claims,) = workers.capabilities()
        file = Path(name) / "corpus.jsonl.zst"
        write_corpus(file, corpus_lines(Header.of(count, 0)))

        def reported() -> int:
            with open_corpus(file) as reader:
                check_corpus(reader)
            with open_corpus(file) as reader, OutputFolder(Path(name) / "reports", replace=True) as folder:
                reports = ReportFolder(folder)
                reports.start(describe_sweep(claims, setup, [reader.header], [], WHOLE))
                workers.feed(blocks_of([reader], WHOLE), [reports])
                reports.finish(Ending.now())
            return reports.summary.total

        race(
            "cases",
            Work(f"torch:{device}: file to reports, {cores()} workers", reported),
            Peer(Work(f"torch:{device}: records alone, {cores()} workers", judged_by(workers, corpus_blocks(count)))),
            heavy=True,
            clock=Clock.WALL,
        )


def laid_out(backend: Batched, count: int) -> list[Execution]:
    """The executions among so many cases, in one resource of random bytes but for the indices, which are 0."""
    judge = Judge(backend, "")  # type: ignore[arg-type]
    pending = [decided for case in corpus(count) if isinstance(decided := judge.decide(case), Pending)]
    layouts: list[Layout] = []
    for each in pending:
        layouts.append(Layout.of(each.case.desc, each.placement, after=layouts[-1].end if layouts else 0))
    memory = np.random.default_rng(0).integers(0, 256, layouts[-1].end, np.uint8)
    executions = []
    for each, layout in zip(pending, layouts, strict=True):
        bound = layout.bindings(memory)
        index = spec_of(each.case.desc).index
        if index is not None:
            bound[index.indices].view[:] = 0
        written = {slot.key: bound.pop(slot.key) for slot in outputs(each.case.desc)}
        executions.append(Execution(each.case.desc, each.case.level, bound, written))
    return executions


class _Plain:
    """Stands in for pytest-benchmark's fixture."""

    def __init__(self) -> None:
        self.extra_info: dict[str, Any] = {}

    def pedantic(self, work: Callable[[], None], *, setup: Callable[[], None], rounds: int) -> None:
        for _ in range(rounds):
            setup()
            work()


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="batches of small cases, beside one by one")
    parser.add_argument("device", nargs="?", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--sizes", choices=tuple(SIZES), default="full")
    options = parser.parse_args()
    torch.set_num_threads(1)
    races = []
    for bench in (bench_execution, bench_one_process, bench_all_cores, bench_reports):
        race = Race(_Plain(), "batch", SIZES[options.sizes])  # type: ignore[arg-type]
        bench(race, SIZES[options.sizes], options.device)
        races.append(race)
    device = TorchBackend(options.device).capabilities().device
    machine = f"{device}, {cores()} cores, {platform.system()} {platform.machine()}"
    versions = {"Python": platform.python_version(), "torch": str(torch.__version__), "numpy": np.__version__}
    heading = Heading(datetime.now(UTC).date().isoformat(), machine, versions, options.sizes)
    print(table([row for race in races for row in race.rows], [race.share for race in races if race.share], heading))


if __name__ == "__main__":
    main()
