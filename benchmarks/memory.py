"""How much memory the process takes that collects the records of a run and reports on them.

    python benchmarks/memory.py                            # a million that pass
    python benchmarks/memory.py --failing 0.2              # one in five fails
    python benchmarks/memory.py --report results.sqlite    # the page of stored results

The records are made up, and differ in where their cases are bound and, where they fail, in their values; making them
takes most of the time. They come as worker processes write them down. The figure is the most that the process had at a
time, as the system counts it (VmHWM), interpreter and libraries included; what workers take is not in it.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

TESTS = Path(__file__).resolve().parents[1] / "tests" / "support"
if str(TESTS) not in sys.path:  # where records are made up
    sys.path.append(str(TESTS))

import report_data  # noqa: E402

from dml_conformance.conformance.judge.compare import RECORDED  # noqa: E402
from dml_conformance.reports.model.encoded import EncodedRecord, encode_record  # noqa: E402
from dml_conformance.reports.model.records import Difference, Ending, Verdict  # noqa: E402
from dml_conformance.reports.output.folder import OutputFolder  # noqa: E402
from dml_conformance.reports.output.reports import ReportFolder  # noqa: E402
from dml_conformance.reports.page.html import report_html  # noqa: E402
from dml_conformance.reports.page.report import CampaignReport  # noqa: E402
from dml_conformance.reports.store.results import Store  # noqa: E402

DISTINCT = 8000  # records, before where they are bound and their values are changed


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and say what came of it; 1 where a limit was asked for and exceeded."""
    parser = argparse.ArgumentParser(description="Memory of the process that collects results.")
    parser.add_argument("--cases", type=int, default=1_000_000, help="records")
    parser.add_argument("--failing", type=float, default=0.0, help="the share of them that fails")
    parser.add_argument("--report", type=Path, metavar="RESULTS", help="make the page of these results instead")
    parser.add_argument("--at-most", type=float, metavar="MIB", help="fail where it takes more")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    before = most_mebibytes()
    if options.report is not None:
        count, page = page_of(options.report)
    else:
        with TemporaryDirectory() as folder:
            count, page = folder_of(Path(folder) / "out", encoded_stream(options.cases, options.failing))
    most = most_mebibytes()
    print(
        f"{count:,} records, a page of {page:,} bytes, in {time.perf_counter() - started:.0f} s: "
        f"{most:.0f} MiB at the most, {before:.0f} of them before the first record"
    )
    return int(options.at_most is not None and most > options.at_most)


def folder_of(folder: Path, records: Iterator[EncodedRecord]) -> tuple[int, int]:
    """Leave all that a campaign leaves: how many records, and bytes of the page."""
    with OutputFolder(folder) as output:
        reports = ReportFolder(output)
        reports.start(report_data.campaign())
        for record in records:
            reports.record(record)
        reports.finish(Ending.now())
    return reports.summary.total, (folder / "report.html").stat().st_size


def page_of(results: Path) -> tuple[int, int]:
    """Make the page of a stored campaign: how many records, and its bytes."""
    with Store(results) as store:
        report = CampaignReport.of([store])
    return report.summaries[0].total, len(report_html(report).encode())


def encoded_stream(count: int, share: float) -> Iterator[EncodedRecord]:
    """Records as workers write them down, of which a share fails, with as many differences as are recorded."""
    rng = random.Random(count)  # noqa: S311 - contents, no secret
    kinds = list(report_data.faulty(min(count, DISTINCT)))
    passing = cycle([record for record in kinds if record.verdict is Verdict.PASS])
    failing = cycle([record for record in kinds if record.verdict is Verdict.FAIL])
    for i in range(count):
        fails = rng.random() < share
        record = next(failing if fails else passing)
        differences = tuple(_differences(rng.randbytes(8 * RECORDED))) if fails else ()
        yield encode_record(
            msgspec.structs.replace(
                report_data.another(record, i),
                differences=differences,
                difference_count=len(differences),
            )
        )


def _differences(values: bytes) -> Iterator[Difference]:
    """A difference for each pair of floats."""
    for n, (expected, actual) in enumerate(struct.iter_unpack("<2f", values)):
        bits = values[8 * n : 8 * n + 8].hex()
        yield Difference((n,), repr(expected), f"0x{bits[:8]}", repr(actual), f"0x{bits[8:]}")


def most_mebibytes() -> float:
    """The most MiB that this process had at a time; `getrusage` would count what the one that started it had."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
