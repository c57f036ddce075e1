"""A long sweep whose workers are killed now and then, beside the same one undisturbed.

PYTHONPATH=. python benchmarks/kill_sweep.py --cases 1000000 --every 100000 --workers 2 --svg docs/images/kill-sweep.svg

Judges the same corpus twice, with all reports, as `dml-conformance run --out` does; the second time a worker is killed
(SIGKILL, one of them at random, whatever it is doing) each time that so many records more have come in. Prints both
digests, the wall times, and the most memory that the process that collects and its workers had; draws the time per
case and the memory over the run. Exit code 0: both digests are the same; 1: they are not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import psutil

from dml_conformance.conformance.campaign.driver import BLOCK_LINES, describe_sweep
from dml_conformance.conformance.exchange.corpus import WHOLE, CorpusLine, Header, corpus_lines, in_blocks
from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.conformance.workers.tasks import CaseBlock
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import Ending, Record
from dml_conformance.reports.model.stream import Consumer, FanOut
from dml_conformance.reports.output.folder import OutputFolder
from dml_conformance.reports.output.reports import ReportFolder

SAMPLES = 100
MIB = 2**20


class Sample(NamedTuple):
    """How a run stood.

    Attributes:
        cases: judged so far.
        seconds: since the first case was handed out.
        parent: bytes of memory that this process has.
        worker: bytes that the largest worker has.
    """

    cases: int
    seconds: float
    parent: int
    worker: int


class Run(msgspec.Struct):
    """One sweep.

    Attributes:
        digest: of its results, as the certificate has it.
        seconds: from the first case to the last.
        report_seconds: from there to the last report.
        samples: taken on the way.
        killed: after how many records a worker was killed.
        losses: of workers, as the pool tells them.
        parent_peak: VmHWM of the process that collects, in bytes.
        worker_peak: VmHWM of the largest worker.
    """

    digest: str
    seconds: float
    report_seconds: float
    samples: list[Sample]
    killed: list[int]
    losses: dict[str, int]
    parent_peak: int
    worker_peak: int


class Watcher(Consumer):
    """A consumer that takes samples, and kills workers.

    Args:
        workers: to be killed.
        cases: that there will be.
        every: records from one kill to the next; 0 for none.
        seed: of the choice among the workers.
    """

    def __init__(self, workers: Workers, cases: int, every: int, seed: int) -> None:
        self._workers, self._cases, self._every = workers, cases, every
        self._step = max(4 * BLOCK_LINES, cases // SAMPLES)
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._own = psutil.Process()
        self._count = 0
        self._started = time.perf_counter()
        self.killed: list[int] = []
        self.worker_peak = 0
        self.samples = [self._sample()]

    def record(self, record: Record | EncodedRecord) -> None:
        self._next()

    def _next(self) -> None:
        self._count += 1
        if self._count % self._step == 0 or self._count == self._cases:
            self.samples.append(self._sample())
        if self._every and self._count % self._every == 0 and self._count < self._cases:
            self._kill()

    def _kill(self) -> None:
        pids = self._workers.pids
        if pids:
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(pids), signal.SIGKILL)
                self.killed.append(self._count)

    def _sample(self) -> Sample:
        sizes = [0]
        for pid in self._workers.pids:
            with suppress(psutil.Error):
                sizes.append(psutil.Process(pid).memory_info().rss)
            self.worker_peak = max(self.worker_peak, peak(pid))
        seconds = time.perf_counter() - self._started
        return Sample(self._count, seconds, self._own.memory_info().rss, max(sizes))


def blocks(header: Header) -> Iterator[CaseBlock]:
    """The cases of a corpus, made on the way."""
    lines = (CorpusLine(number, content) for number, content in enumerate(corpus_lines(header), 1))
    cases = (line for line in lines if 1 < line.number <= header.cases + 1)
    for block in in_blocks(cases, BLOCK_LINES):
        yield CaseBlock.of_lines("corpus", block)


def sweep(setup: JudgeSetup, header: Header, count: int, every: int, seed: int) -> Run:
    """Judge a corpus with all reports."""
    with (
        TemporaryDirectory() as name,
        closing(Workers(setup, count)) as workers,
        OutputFolder(Path(name) / "out") as folder,
    ):
        (claims,) = workers.capabilities()
        reports = ReportFolder(folder)
        watcher = Watcher(workers, header.cases, every, seed)
        stream = FanOut(reports, watcher)
        stream.start(describe_sweep(claims, setup, [header], [], WHOLE))
        started = time.perf_counter()
        workers.feed(blocks(header), [stream])
        judged = time.perf_counter()
        stream.finish(Ending.now())
        digest = json.loads((Path(name) / "out" / "certificate.json").read_text())["digests"]["results"]
        return Run(
            digest=digest,
            seconds=judged - started,
            report_seconds=time.perf_counter() - judged,
            samples=watcher.samples,
            killed=watcher.killed,
            losses=dict(workers.losses),
            parent_peak=peak(os.getpid()),
            worker_peak=watcher.worker_peak,
        )


def peak(pid: int) -> int:
    """The most memory that a process has had, in bytes; 0 where the system does not say."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


# --- what is drawn ----------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 720, 460
LEFT, RIGHT = 64, 16
PANELS = ((34, 200), (262, 428))  # top and bottom of each
LABEL = "Time per case and memory over a sweep, undisturbed and with workers killed"
CAPTION = "cases judged; a mark on the axis: a worker was killed"
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; }
.axis { stroke: #8c959f; }
.grid { stroke: #8c959f; stroke-opacity: 0.3; }
.line { fill: none; stroke-width: 1.8; }
.a { stroke: #0969da; } .b { stroke: #bc4c00; } .kill { stroke: #bc4c00; stroke-width: 1.5; }
.dashed { stroke-dasharray: 5 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .axis, .grid { stroke: #8b949e; }
  .a { stroke: #58a6ff; } .b, .kill { stroke: #f0883e; }
}
"""


class Curve(NamedTuple):
    """A curve.

    Attributes:
        points: in the units of the axes.
        kind: its classes.
        told: what the legend says of it.
        label: what stands at its end.
    """

    points: Sequence[tuple[float, float]]
    kind: str
    told: str = ""
    label: str = ""


def drawing(quiet: Run, disturbed: Run, cases: int) -> str:
    """Time per case and memory over both runs, as SVG that can be read on a light and on a dark page."""
    times = [
        Curve(per_case(quiet.samples), "a", "undisturbed"),
        Curve(per_case(disturbed.samples), "b dashed", "workers killed"),
    ]
    memory = [
        Curve([(s.cases, s.parent / MIB) for s in quiet.samples], "a", label="the process that collects"),
        Curve([(s.cases, s.worker / MIB) for s in quiet.samples], "a", label="the largest worker"),
        Curve([(s.cases, s.parent / MIB) for s in disturbed.samples], "b dashed"),
        Curve([(s.cases, s.worker / MIB) for s in disturbed.samples], "b dashed"),
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{LABEL}">',
        f"<style>{STYLE}</style>",
        *panel("Microseconds per case", times, cases, PANELS[0], disturbed.killed),
        *panel("Memory, MiB", memory, cases, PANELS[1], disturbed.killed),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 2}" text-anchor="middle">{CAPTION}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def per_case(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """Microseconds for each case between one sample and the next, but for the few cases before the last."""
    return [
        (float(late.cases), 1e6 * (late.seconds - early.seconds) / (late.cases - early.cases))
        for early, late in pairwise(samples)
        if late.cases - early.cases >= samples[1].cases
    ]


def panel(
    title: str, lines: Sequence[Curve], cases: int, place: tuple[int, int], killed: Sequence[int]
) -> Iterator[str]:
    top, bottom = place
    step = nice_step(max((y for line in lines for _, y in line.points), default=1.0))
    high = step * (1 + max(int(y / step) for line in lines for _, y in line.points))

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * x / cases

    def up(y: float) -> float:
        return bottom - (bottom - top) * y / high

    yield f'<text class="title" x="{LEFT}" y="{top - 18}">{title}</text>'
    for n in range(round(high / step) + 1):
        y = up(n * step)
        kind = "grid" if n else "axis"
        yield f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{n * step:,.10g}</text>'
    for n in range(5):
        x, count = across(cases * n / 4), cases * n / 4
        anchor = ("start", "middle", "middle", "middle", "end")[n]
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="{anchor}">{count:,.0f}</text>'
    for count in killed:
        x = across(count)
        yield f'<line class="kill" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom - 6}" y2="{bottom + 4}"/>'
    for line in lines:
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in line.points)
        yield f'<polyline class="line {line.kind}" points="{points}"/>'
        if line.label:
            y = up(min(y for _, y in line.points[-3:])) + 18
            yield f'<text x="{WIDTH - RIGHT}" y="{y:.1f}" text-anchor="end">{line.label}</text>'
    x = LEFT + 210.0
    for line in lines:
        if line.told:
            yield f'<line class="line {line.kind}" x1="{x}" x2="{x + 22}" y1="{top - 22}" y2="{top - 22}"/>'
            yield f'<text x="{x + 27}" y="{top - 18}">{line.told}</text>'
            x += 50 + 6.2 * len(line.told)


def nice_step(most: float) -> float:
    """Between four and ten of these make up the most."""
    power = 10.0 ** (len(str(int(max(most, 1.0)))) - 1)
    return next(step * power for step in (0.1, 0.2, 0.5, 1.0, 2.0) if most / (step * power) <= 6)


def main() -> int:
    parser = argparse.ArgumentParser(description="a sweep whose workers are killed, beside the same undisturbed")
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--every", type=int, default=10_000, help="records from one kill to the next")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--backend", default="torch:cpu")
    parser.add_argument("--operator", action="append", default=[], help="one of those judged; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of the corpus, and of whom is killed")
    parser.add_argument("--json", type=Path, help="where all figures go")
    parser.add_argument("--svg", type=Path, help="where the drawing goes")
    options = parser.parse_args()
    setup, header = JudgeSetup((options.backend,)), Header.of(options.cases, options.seed, options.operator)
    runs: dict[str, Run] = {}
    for name, every in (("undisturbed", 0), ("disturbed", options.every)):
        # In a process of its own, whose memory is this sweep's alone.
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            run = runs[name] = alone.submit(sweep, setup, header, options.workers, every, options.seed).result()
        print(
            f"{name}: {run.digest}\n"
            f"  {options.cases:,} cases in {run.seconds:.1f} s, {1e6 * run.seconds / options.cases:.1f} us a case; "
            f"reports in {run.report_seconds:.1f} s\n"
            f"  VmHWM: {run.parent_peak / MIB:.0f} MiB, largest worker {run.worker_peak / MIB:.0f} MiB\n"
            f"  killed: {len(run.killed)}; lost: {run.losses or 'none'}",
            flush=True,
        )
    quiet, disturbed = runs["undisturbed"], runs["disturbed"]
    same = quiet.digest == disturbed.digest
    print("the digests are the same" if same else "THE DIGESTS DIFFER")
    if options.json:
        figures: dict[str, Any] = {
            "measured": datetime.now(UTC).date().isoformat(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "cases": options.cases,
            "every": options.every,
            "workers": options.workers,
            "backend": options.backend,
            "same": same,
            "runs": runs,
        }
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    if options.svg:
        options.svg.write_text(drawing(quiet, disturbed, options.cases), encoding="utf-8")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
