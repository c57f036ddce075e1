"""What was measured on a GPU, and the tables of it.

    python benchmarks/cuda/cuda_table.py build/bench/cuda.json --page docs/performance.md

puts the tables of a run into a page: the GPU may be on another machine than the page.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterable, Sequence
from enum import StrEnum
from operator import attrgetter
from pathlib import Path

import msgspec

from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.records import Throughput

TYPES = {"UINT8": "u8", "FLOAT16": "f16", "FLOAT32": "f32", "INT64": "i64"}  # one for each size of an element
SPREAD = 0.98  # the same work timed twice differs by as much


class Way(StrEnum):
    """Who did the work."""

    KERNELS = "kernels"
    EAGER = "eager torch"
    COMPILED = "torch.compile"


class Heat(StrEnum):
    """How a run found the device."""

    # The L2 cache flushed, the launch waiting in the queue: the device's own time.
    COLD = "cold"
    # Run after run, as fast as they can be launched: for small sizes the time that launching takes.
    WARM = "warm"


class Measured(msgspec.Struct, frozen=True):
    """One way of doing one case.

    Attributes:
        case: in words; the cases of one name differ in data type and size.
        way: who did it.
        heat: how it found the device.
        throughput: operator, type, shapes, seconds of each run, and the copy's speed in the same rounds.
        of_copy: share of the copy's speed to reach; None where none is asked for.
        times_eager: times eager torch's speed to reach, likewise.
    """

    case: str
    way: Way
    heat: Heat
    throughput: Throughput
    of_copy: float | None = None
    times_eager: float | None = None


class Product(msgspec.Struct, frozen=True):
    """An operator that multiplies, beside torch's own function and the device's product of square matrices.

    Attributes:
        case: in words.
        data_type: of the elements.
        operations: of one run, multiplications and additions.
        seconds: of each run of the backend.
        own_seconds: of each run of torch's own function, in the same rounds.
        operations_per_second: of the product of square matrices of the type, in the same rounds.
    """

    case: str
    data_type: str
    operations: int
    seconds: tuple[float, ...]
    own_seconds: tuple[float, ...]
    operations_per_second: float


class Run(msgspec.Struct, frozen=True):
    """All that was measured in one go.

    Attributes:
        date: ISO 8601.
        device: the GPU.
        versions: of what was measured and measured with.
        copy_bytes_per_second: of the device's own copy at the largest size, bytes read plus bytes written.
        rows: in the order of measuring.
        products: likewise.
    """

    date: str
    device: str
    versions: dict[str, str]
    copy_bytes_per_second: float
    rows: list[Measured]
    products: list[Product] = []


def tables(run: Run) -> str:
    """The tables as Markdown: large tensors as shares of the copy's speed, small ones as microseconds."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    largest = max(row.throughput.output_bytes for row in run.rows)
    large = [row for row in run.rows if row.throughput.output_bytes > largest // 2]
    small = [row for row in run.rows if row.throughput.output_bytes <= largest // 2]
    goals = [met for cells in grouped(large, attrgetter("case")).values() for met in [_met(cells)] if met is not None]
    speed = f"{run.copy_bytes_per_second / 1e12:.2f} TB/s"
    types = " / ".join(TYPES.values())
    met = f"{sum(goals)} of {len(goals)} goals met"
    lines = [
        f"{run.date}, {run.device}; its own copy moves {speed}, read plus written. {versions}.",
        "",
        f"**Outputs of {_size(largest)}: shares of the copy's speed** ({types}), cache flushed. {met}.",
        "",
        *_aligned(_large_lines(large)),
        "",
        "**Small outputs: microseconds a run** (kernels / eager torch), FLOAT32, run after run.",
        "",
        *_aligned(_small_lines(small)),
    ]
    if run.products:
        lines += ["", "**Products: TFLOP/s**, run after run.", "", *_aligned(_product_lines(run.products))]
    return "\n".join(lines)


def _large_lines(rows: Sequence[Measured]) -> list[tuple[str, ...]]:
    lines = [("operator", *Way, "kernels, cache warm", "to reach", "met")]
    for cells in grouped(rows, attrgetter("case")).values():
        met = _met(cells)
        lines.append(
            (
                cells[0].case,
                *(_shares(cells, way, Heat.COLD) for way in Way),
                _shares(cells, Way.KERNELS, Heat.WARM),
                _goal(cells),
                {None: "", True: "yes", False: "no"}[met],
            )
        )
    return lines


def _small_lines(rows: Sequence[Measured]) -> list[tuple[str, ...]]:
    sizes = sorted({row.throughput.output_bytes for row in rows})
    lines = [("operator", *(_size(size) for size in sizes))]
    for cells in grouped(rows, attrgetter("case")).values():
        shown = [cells[0].case]
        for size in sizes:
            of_size = [row for row in cells if row.throughput.output_bytes == size]
            pair = [_one(of_size, way, Heat.WARM, "FLOAT32") for way in (Way.KERNELS, Way.EAGER)]
            shown.append(" / ".join(f"{row.throughput.median_seconds * 1e6:.0f}" for row in pair if row is not None))
        lines.append(tuple(shown))
    return lines


def _product_lines(products: Sequence[Product]) -> list[tuple[str, ...]]:
    lines = [("operator", "type", "backend", "torch's own", "product of matrices", "backend's share of it")]
    for row in products:
        own, backend = (row.operations / statistics.median(seconds) for seconds in (row.own_seconds, row.seconds))
        rates = (f"{rate / 1e12:.1f}" for rate in (backend, own, row.operations_per_second))
        lines.append((row.case, row.data_type, *rates, f"{backend / row.operations_per_second:.2f}"))
    return lines


def _shares(cells: Sequence[Measured], way: Way, heat: Heat) -> str:
    rows = [_one(cells, way, heat, data_type) for data_type in TYPES]
    return " / ".join(f"{row.throughput.fraction_of_copy:.2f}" for row in rows if row is not None)


def _goal(cells: Sequence[Measured]) -> str:
    for row in cells:
        if row.of_copy is not None:
            return f"{row.of_copy:.2f}"
        if row.times_eager is not None:
            return f"eager x {row.times_eager:g}"
    return ""


def _met(cells: Sequence[Measured]) -> bool | None:
    """Whether each type reaches what is asked for, and none is slower than eager torch; None if nothing is asked."""
    met = []
    for data_type in TYPES:
        row, eager = (_one(cells, way, Heat.COLD, data_type) for way in (Way.KERNELS, Way.EAGER))
        if row is None or eager is None or (row.of_copy, row.times_eager) == (None, None):
            continue
        ratio = eager.throughput.median_seconds / row.throughput.median_seconds
        is_fast = ratio >= (row.times_eager or 1) * SPREAD
        met.append(is_fast and row.throughput.fraction_of_copy >= (row.of_copy or 0))
    return all(met) if met else None


def _one(cells: Sequence[Measured], way: Way, heat: Heat, data_type: str) -> Measured | None:
    wanted = (way, heat, data_type)
    return next((row for row in cells if (row.way, row.heat, row.throughput.data_type) == wanted), None)


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return shown


def _size(count: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 0.999 * 2**power:
            return f"{count / 2**power:.0f} {unit}"
    return f"{count} B"


_BLOCK = re.compile(r"(<!-- measured on a GPU -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str, text: str) -> str:
    """The page with the tables between its marks replaced.

    Raises:
        ValueError: it has no such marks, or several.
    """
    if len(_BLOCK.findall(page)) != 1:
        raise ValueError("expected one pair of the marks <!-- measured on a GPU --> and <!-- end -->")
    return _BLOCK.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)


def median_copy(rows: Iterable[Measured]) -> float:
    """Bytes a second of the copies beside the largest outputs."""
    rows = list(rows)
    largest = max(row.throughput.useful_bytes for row in rows)
    return statistics.median(
        row.throughput.copy_bytes_per_second for row in rows if row.throughput.useful_bytes > largest // 4
    )


def stored(run: Run) -> bytes:
    """A run as JSON, a line for each row."""
    head = msgspec.json.encode({**msgspec.to_builtins(run), "rows": [], "products": []})
    rows, products = (
        b"[\n" + b",\n".join(map(msgspec.json.encode, part)) + b"\n]" for part in (run.rows, run.products)
    )
    return head.removesuffix(b'[],"products":[]}') + rows + b',"products":' + products + b"}\n"


def load(path: Path) -> Run:
    """A run that was stored.

    Raises:
        OSError: it cannot be read.
        msgspec.ValidationError: it is no run.
    """
    return msgspec.json.decode(path.read_bytes(), type=Run)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Put the tables of a run on a GPU into a page.")
    parser.add_argument("results", type=Path, help="what the run stored: build/bench/cuda.json")
    parser.add_argument("--page", type=Path, help="the page; without one the tables are printed")
    arguments = parser.parse_args()
    made = tables(load(arguments.results))
    if arguments.page is None:
        print(made)
    else:
        text = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(with_tables(text, made), encoding="utf-8")
