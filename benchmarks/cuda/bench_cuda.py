"""The torch backend on CUDA: its kernels beside eager torch, torch.compile, and the device's own copy.

A case is timed in rounds, in each of which every way has its turn and the copy, of as many bytes as the case moves,
has its own. What is counted is each input element once, each index once, each output element once. torch.compile gets
what a person would write, without care for negative indices and those out of range; it may only be less work.
"""

from __future__ import annotations

import functools
import math
import statistics
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
from cuda_table import Heat, Measured, Product, Way
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from pytest_benchmark.fixture import BenchmarkFixture
from torch.nn import functional

from dml_conformance.backends.torch import TorchBackend, kernels
from dml_conformance.backends.torch.memory import BITS
from dml_conformance.backends.torch.operators import torch_operators
from dml_conformance.reports.model.records import Throughput
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes, slots
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]

Tensor = torch.Tensor
Work = Callable[[], object]

KINDS = (DataType.UINT8, DataType.FLOAT16, DataType.FLOAT32, DataType.INT64)
LARGE = {"full": 256 * 2**20, "tiny": 2**20}
ROUNDS = {"full": 9, "tiny": 3}
SMALL = (16 * 2**10, 128 * 2**10, 2**20, 16 * 2**20)
IN_A_ROW = 10  # runs that are timed together where they follow each other
FLUSH = 512 * 2**20  # bytes; more than any cache holds
FLUSHES = 6  # take the device a millisecond, in which the launch that is timed gets into the queue


class Case(NamedTuple):
    """What to measure.

    Attributes:
        make: the descriptor, from data type and bytes of output.
        plain: the same as a person would write it in torch, from the input tensors.
        of_copy: share of the copy's speed to reach.
        times_eager: times eager torch's speed to reach.
    """

    make: Callable[[DataType, int], OperatorDesc]
    plain: Callable[..., Tensor] | None
    of_copy: float | None = None
    times_eager: float | None = None


# --- descriptors ------------------------------------------------------------------------------------------------------


def square(kind: DataType, size: int) -> tuple[int, int]:
    """Rows and columns, powers of 2, as many of the one as of the other or twice as many columns."""
    exponent = int(math.log2(size // kind.size))
    return 2 ** (exponent // 2), 2 ** (exponent - exponent // 2)


def tall(kind: DataType, size: int) -> tuple[int, int]:
    """Rows of 1 KiB."""
    return size // 1024, 1024 // kind.size


def odd(kind: DataType, size: int) -> tuple[int, int]:
    """A square short of a row and a column, so that no row but the first starts at a multiple of anything."""
    rows, columns = square(kind, size)
    return rows - 1, columns - 1


Shape = Callable[[DataType, int], tuple[int, int]]


def tile(shape: Shape) -> Callable[[DataType, int], OperatorDesc]:
    def make(kind: DataType, size: int) -> OperatorDesc:
        rows, columns = shape(kind, size // 4)
        return TileDesc(TensorDesc.of(kind, (rows, columns)), TensorDesc.of(kind, (2 * rows, 2 * columns)), (2, 2))

    return make


def gather(shape: Shape, axis: int) -> Callable[[DataType, int], OperatorDesc]:
    """As many rows or columns as there are, in random order."""

    def make(kind: DataType, size: int) -> OperatorDesc:
        sizes = shape(kind, size)
        data = TensorDesc.of(kind, sizes)
        return GatherDesc(data, TensorDesc.of(DataType.INT64, (1, sizes[axis])), data, axis, 1)

    return make


def gather_elements(shape: Shape, axis: int) -> Callable[[DataType, int], OperatorDesc]:
    def make(kind: DataType, size: int) -> OperatorDesc:
        data = TensorDesc.of(kind, shape(kind, size))
        return GatherElementsDesc(data, TensorDesc.of(DataType.INT64, data.sizes), data, axis)

    return make


def single_elements(kind: DataType, size: int) -> OperatorDesc:
    rows, columns = square(kind, size)
    return GatherNdDesc(
        TensorDesc.of(kind, (1, rows, columns)),
        TensorDesc.of(DataType.INT64, (rows, columns, 2)),
        TensorDesc.of(kind, (1, rows, columns)),
        2,
        3,
    )


def slices(kind: DataType, size: int) -> OperatorDesc:
    """Rows of 1 KiB of 16 matrices, each by two indices."""
    rows, columns = tall(kind, size)
    return GatherNdDesc(
        TensorDesc.of(kind, (16, rows // 16, columns)),
        TensorDesc.of(DataType.INT64, (1, rows, 2)),
        TensorDesc.of(kind, (1, rows, columns)),
        3,
        2,
    )


def single_elements_in_batches(kind: DataType, size: int) -> OperatorDesc:
    rows, columns = square(kind, size)
    data = TensorDesc.of(kind, (1, rows, columns))
    return GatherNd1Desc(data, TensorDesc.of(DataType.INT64, (rows, columns, 1)), data, 2, 3, 1)


def slices_in_batches(kind: DataType, size: int) -> OperatorDesc:
    rows, columns = tall(kind, size)
    data = TensorDesc.of(kind, (16, rows // 16, columns))
    return GatherNd1Desc(data, TensorDesc.of(DataType.INT64, (16, rows // 16, 1)), data, 3, 3, 1)


# --- what a person would write ----------------------------------------------------------------------------------------


def plain_tile(source: Tensor) -> Tensor:
    return source.repeat(2, 2)


def plain_gather(axis: int) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda source, indices: torch.index_select(source, axis, indices[0])


def plain_gather_elements(axis: int) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda source, indices: torch.gather(source, axis, indices)


def plain_single_elements(source: Tensor, indices: Tensor) -> Tensor:
    return source[0][indices[..., 0], indices[..., 1]]


def plain_slices(source: Tensor, indices: Tensor) -> Tensor:
    return source[indices[0, :, 0], indices[0, :, 1]]


def plain_single_elements_in_batches(source: Tensor, indices: Tensor) -> Tensor:
    return torch.gather(source[0], 1, indices[..., 0])


def plain_slices_in_batches(source: Tensor, indices: Tensor) -> Tensor:
    return source[torch.arange(16, device=source.device)[:, None], indices[..., 0]]


CASES = {
    "TILE 2x2": Case(tile(square), plain_tile, 0.90),
    "GATHER, rows of 1 KiB": Case(gather(tall, 0), plain_gather(0), 0.95),
    "GATHER, last axis": Case(gather(square, 1), plain_gather(1), 0.60),
    "GATHER, last axis, rows of 1 KiB": Case(gather(tall, 1), plain_gather(1), 0.60),
    "GATHER_ELEMENTS, axis 0": Case(gather_elements(square, 0), plain_gather_elements(0), None, 2),
    "GATHER_ELEMENTS, axis 0, rows of 1 KiB": Case(gather_elements(tall, 0), plain_gather_elements(0), None, 2),
    "GATHER_ELEMENTS, last axis": Case(gather_elements(square, 1), plain_gather_elements(1), 0.75),
    "GATHER_ELEMENTS, last axis, rows of 1 KiB": Case(gather_elements(tall, 1), plain_gather_elements(1), 0.75),
    "GATHER_ND, single elements": Case(single_elements, plain_single_elements, None, 1),
    "GATHER_ND, slices of 1 KiB": Case(slices, plain_slices, 0.90),
    "GATHER_ND1, single elements": Case(single_elements_in_batches, plain_single_elements_in_batches, None, 1),
    "GATHER_ND1, slices of 1 KiB": Case(slices_in_batches, plain_slices_in_batches, 0.90),
    "TILE 2x2, odd width": Case(tile(odd), None, None, 1),
    "GATHER, rows of an odd width": Case(gather(odd, 0), None, None, 1),
    "GATHER, last axis, odd width": Case(gather(odd, 1), None, None, 1),
    "GATHER_ELEMENTS, axis 0, odd width": Case(gather_elements(odd, 0), None, None, 1),
    "GATHER_ELEMENTS, last axis, odd width": Case(gather_elements(odd, 1), None, None, 1),
}


# --- measuring --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", CASES)
def bench_large(
    benchmark: BenchmarkFixture, measured: list[Measured], pytestconfig: pytest.Config, name: str, kind: DataType
) -> None:
    sizes = pytestconfig.getoption("--sizes")
    case = CASES[name]
    measure(benchmark, measured, name, case, case.make(kind, LARGE[sizes]), ROUNDS[sizes])


@pytest.mark.parametrize("size", SMALL, ids=lambda size: f"{size // 1024}K")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.plain and name.count(",") < 2])
def bench_small(
    benchmark: BenchmarkFixture, measured: list[Measured], pytestconfig: pytest.Config, name: str, size: int
) -> None:
    sizes = pytestconfig.getoption("--sizes")
    if size > LARGE[sizes] // 4:
        pytest.skip("no smaller than the large ones")
    make = CASES[name].make
    case = Case(make, None)
    measure(benchmark, measured, name, case, make(DataType.FLOAT32, size), ROUNDS[sizes])


def measure(
    benchmark: BenchmarkFixture, measured: list[Measured], name: str, case: Case, desc: Any, rounds: int
) -> None:
    assert decide(desc, HIGHEST).outcome is Outcome.ACCEPT
    tensors = {field.attribute: getattr(desc, field.attribute) for field in spec_of(desc).tensor_fields}
    useful = sum(tensor.element_count * tensor.data_type.size for tensor in tensors.values())
    shape = " ".join(
        f"{attribute.removesuffix('_tensor').title()}{{{','.join(map(str, tensor.sizes))}}}"
        for attribute, tensor in tensors.items()
    )
    output = tensors["output_tensor"]
    sources = dict(zip(("input_tensor", "indices_tensor"), filled(desc), strict=False))
    target = torch.zeros(output.sizes, dtype=BITS[output.data_type.size], device="cuda")
    ways = dict(works(case, desc, sources, target))
    copied = torch.ones(useful // 2, dtype=torch.int8, device="cuda")
    copy = torch.empty_like(copied)
    flushed = torch.empty(FLUSH, dtype=torch.int8, device="cuda")
    everything: dict[object, Work] = {**ways, "copy": lambda: copy.copy_(copied)}
    seconds: dict[tuple[object, Heat], list[float]] = {}
    for work in everything.values():
        work()

    def take_round() -> None:
        for way, work in everything.items():
            torch.cuda.synchronize()
            for _ in range(FLUSHES):
                flushed.zero_()
            seconds.setdefault((way, Heat.COLD), []).append(timed(work, 1))
            work()
            seconds.setdefault((way, Heat.WARM), []).append(timed(work, IN_A_ROW))

    benchmark.pedantic(take_round, rounds=rounds)  # type: ignore[no-untyped-call]
    size, data_type = output.element_count * output.data_type.size, output.data_type.name
    for heat in Heat:
        speed = useful // 2 * 2 / statistics.median(seconds["copy", heat])
        for way in ways:
            row = Throughput(desc.operator, data_type, shape, useful, tuple(seconds[way, heat]), speed, size)
            goals = (case.of_copy, case.times_eager) if way is Way.KERNELS and heat is Heat.COLD else ()
            measured.append(Measured(name, way, heat, row, *goals))


def works(case: Case, desc: Any, sources: dict[str, Tensor], target: Tensor) -> Iterator[tuple[Way, Work]]:
    """Each way to do the case; all come to the same bytes."""
    operator = torch_operators()[desc.operator]
    yield Way.EAGER, lambda: operator.run(desc, {**sources, "output_tensor": target})
    expected = operator.run(desc, sources)["output_tensor"]
    assert operator.plan is not None
    kernel = kernels.prepared(operator.plan, desc, list(sources.values()), target)
    assert kernel is not None
    kernel()
    assert torch.equal(target, expected)
    yield Way.KERNELS, kernel
    if case.plain is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the compiler says of itself
            torch.compiler.reset()
            compiled = torch.compile(case.plain, fullgraph=True, dynamic=False)
            assert torch.equal(compiled(*sources.values()).view(target.shape), expected)
        yield Way.COMPILED, lambda: compiled(*sources.values())


def timed(work: Work, runs: int) -> float:
    """Seconds of one of several runs that follow each other, by the device's clock."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(runs):
        work()
    end.record()
    torch.cuda.synchronize()
    return round(start.elapsed_time(end) / 1000 / runs, 9)


def filled(desc: Any) -> Iterator[Tensor]:
    """Tensors of random bits, and of random indices that are in range."""
    generator = torch.Generator("cuda").manual_seed(1)
    tensor: TensorDesc = desc.input_tensor
    count = tensor.element_count * tensor.data_type.size
    noise = torch.randint(-(2**62), 2**62, (-(-count // 8),), device="cuda", generator=generator)
    kind = BITS[tensor.data_type.size]
    yield noise.view(torch.int8)[:count].clone().view(kind).view(tensor.sizes)
    if torch_operators()[desc.operator].numbers:
        sizes = desc.indices_tensor.sizes
        limits = spec_of(desc).index.limits(desc)  # type: ignore[union-attr]
        indices = torch.empty(sizes, dtype=torch.int64, device="cuda")
        if len(limits) == 1:
            yield indices.random_(0, limits[0], generator=generator)
        else:
            for position, limit in enumerate(limits):
                indices[..., position].random_(0, limit, generator=generator)
            yield indices


# --- products ---------------------------------------------------------------------------------------------------------

TYPES = {DataType.FLOAT16: torch.float16, DataType.FLOAT32: torch.float32}
HEADS, HEAD = 16, 64


class Multiplication(NamedTuple):
    """An operator that multiplies: the descriptor, what torch has for it, and the additions and multiplications."""

    desc: OperatorDesc
    own: Callable[..., Tensor]
    operations: int


def gemm(kind: DataType, scale: int) -> Multiplication:
    n = 8192 // scale
    matrix = TensorDesc.of(kind, (1, 1, n, n))
    desc = descriptor_classes()["GEMM"](matrix, matrix, None, matrix, 0, 0, 1.0, 0.0, None)
    return Multiplication(desc, torch.matmul, 2 * n**3)


def convolution(kind: DataType, scale: int) -> Multiplication:
    batch, channels, size = 32 // scale, 256, 56
    image, filters = TensorDesc.of(kind, (batch, channels, size, size)), TensorDesc.of(kind, (channels, channels, 3, 3))
    ones, zeros = (1, 1), (0, 0)
    desc = descriptor_classes()["CONVOLUTION"](
        image, filters, None, image, 1, 0, ones, ones, ones, ones, zeros, 1, None
    )
    own = functools.partial(functional.conv2d, padding=1)
    return Multiplication(desc, own, 2 * batch * channels**2 * size**2 * 9)


def attention(kind: DataType, scale: int) -> Multiplication:
    batch, length = 4, 4096 // scale
    rows = TensorDesc.of(kind, (batch, length, HEADS * HEAD))
    desc = descriptor_classes()["MULTIHEAD_ATTENTION"](
        *(rows, rows, rows, *(None,) * 8, rows, None, None), HEAD**-0.5, -10000.0, HEADS, 0
    )

    def own(*sources: Tensor) -> Tensor:
        q, k, v = (source.view(batch, length, HEADS, HEAD).transpose(1, 2) for source in sources)
        return functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    return Multiplication(desc, own, 4 * batch * HEADS * length**2 * HEAD)


MULTIPLICATIONS = {"GEMM": gemm, "CONVOLUTION, 3 by 3": convolution, "MULTIHEAD_ATTENTION": attention}


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", MULTIPLICATIONS)
def bench_products(
    benchmark: BenchmarkFixture, products: list[Product], pytestconfig: pytest.Config, name: str, kind: DataType
) -> None:
    sizes = pytestconfig.getoption("--sizes")
    scale = 1 if sizes == "full" else 8
    backend = TorchBackend("cuda")
    of = MULTIPLICATIONS[name](kind, scale)
    tensors = {slot.key: torch.randn(slot.tensor.sizes, device="cuda", dtype=TYPES[kind]) for slot in slots(of.desc)}
    target = {"output_tensor": tensors.pop("output_tensor")}
    n = 8192 // scale
    a, b = (torch.randn(n, n, device="cuda", dtype=TYPES[kind]) for _ in range(2))
    works: list[Work] = [
        lambda: backend.execute_on_device(of.desc, tensors, target),
        lambda: of.own(*tensors.values()),
        lambda: torch.matmul(a, b),
    ]
    seconds: list[list[float]] = [[] for _ in works]

    def take_round() -> None:
        for work, taken in zip(works, seconds, strict=True):
            work()
            taken.append(timed(work, 3))

    for work in works:
        work()
    expected = of.own(*tensors.values())
    torch.testing.assert_close(target["output_tensor"], expected, rtol=0, atol=float(expected.abs().max()) / 2**8)
    benchmark.pedantic(take_round, rounds=ROUNDS[sizes])  # type: ignore[no-untyped-call]
    of_product = 2 * n**3 / statistics.median(seconds[2])
    products.append(Product(name, kind.name, of.operations, tuple(seconds[0]), tuple(seconds[1]), of_product))
