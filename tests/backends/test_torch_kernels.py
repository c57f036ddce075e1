"""The torch backend's kernels beside eager torch: the same bytes, whatever the layout and whatever the indices.

Without a GPU the kernels run in Triton's interpreter. The tests of the backend in test_torch_backend.py run on them as
well, beside NumPy.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
import slow_reference as slow
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from generated_cases import NAMES, Generator
from test_torch_backend import CUDA
from triton_interpreter import HAS_CUDA, NEEDS_TRITON

from dml_conformance.backends.base import Binding
from dml_conformance.backends.torch import WORTH_A_KERNEL, TorchBackend, TorchEagerBackend, TorchKernelsBackend, kernels
from dml_conformance.backends.torch.kernels import layout, plans
from dml_conformance.backends.torch.kernels.plans import Plan, RepeatedDimension
from dml_conformance.backends.torch.operators import torch_operators
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.accuracy import TOLERANCES, Tolerance
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc, descriptor_classes, inputs, slots, with_tensors
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.cases import patterns

torch = pytest.importorskip("torch")

INTERPRETED = pytest.param(
    "cpu", marks=[NEEDS_TRITON, pytest.mark.skipif(HAS_CUDA, reason="the kernels run on the GPU here")]
)
KERNELS = {"take_rows", "take_columns", "take_columns_packed", "take_along", "take_along_shared", "tile"}


class Pair(NamedTuple):
    """The same operators both ways on one device, and the plans that were launched."""

    kernels: TorchKernelsBackend
    eager: TorchEagerBackend
    launched: list[Plan]


def note_launches(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """A list that gets every plan that is launched from now on."""
    launched: list[Plan] = []
    launch = kernels.launch

    def noted(plan: Plan) -> kernels.Work:
        launched.append(plan)
        return launch(plan)

    monkeypatch.setattr(kernels, "launch", noted)
    return launched


@pytest.fixture(params=[INTERPRETED, CUDA])
def pair(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Pair:
    launched = note_launches(monkeypatch)
    return Pair(TorchKernelsBackend(request.param), TorchEagerBackend(request.param), launched)


def compare(pair: Pair, generator: Generator, desc: Any, indices: str = "wild") -> None:
    """Execute both ways on the same bytes; nothing may differ, guards included."""
    bound = generator.filled(desc, HIGHEST, indices).inputs
    target = slow.bind(desc.output_tensor, generator.random.randbytes(97), offset=64)
    before = {name: binding.buffer.copy() for name, binding in bound.items()}
    outputs = []
    for backend in (pair.eager, pair.kernels):
        output = Binding(target.buffer.copy(), target.offset, target.size)
        backend.execute(desc, HIGHEST, bound, {"output_tensor": output})
        outputs.append(output.buffer)
    assert np.array_equal(*outputs), desc
    for name, buffer in before.items():
        assert np.array_equal(bound[name].buffer, buffer), f"{name} changed"


def bindings(desc: Any) -> tuple[Any, Any]:
    """Memory for the inputs and the output of a descriptor."""
    inputs = Generator("").filled(desc, HIGHEST, "in-range").inputs
    return inputs, {"output_tensor": slow.bind(desc.output_tensor, b"\0")}


# --- whatever is valid ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_generated_cases_come_to_the_bytes_of_eager_torch(pair: Pair, name: str) -> None:
    count = 300 if HAS_CUDA else 120
    generator = Generator(name)
    for _ in range(count):
        compare(pair, generator, generator.case(name).desc)
    assert len(pair.launched) > count / 2


def test_one_kernel_or_another_takes_every_packed_case(pair: Pair) -> None:
    """Only strides, and more dimensions than the kernels have numbers for, leave a case without one."""
    for name in NAMES:
        generator = Generator(f"packed {name}")
        for _ in range(40):
            desc = generator.case(name).desc
            rebuilt: Any = with_tensors(
                desc, {slot.key: TensorDesc.of(slot.tensor.data_type, slot.tensor.sizes) for slot in slots(desc)}
            )
            few = len(pair.launched)
            compare(pair, generator, rebuilt)
            coordinates = rebuilt.indices_tensor.sizes[-1] if name.startswith("GATHER_ND") else 1
            outer = 0 if name != "TILE" else len(rebuilt.output_tensor.sizes)
            if coordinates <= plans.MOST_COORDINATES and outer <= plans.MOST_OUTER:
                assert len(pair.launched) == few + 1, rebuilt


# --- every branch of every kernel -------------------------------------------------------------------------------------


def tensors(
    kind: DataType, source: tuple[int, ...], indices: tuple[int, ...], output: tuple[int, ...], index: DataType
) -> tuple[TensorDesc, TensorDesc, TensorDesc]:
    return TensorDesc.of(kind, source), TensorDesc.of(index, indices), TensorDesc.of(kind, output)


def rows(kind: DataType, count: int, width: int, chosen: int, index: DataType = DataType.INT64) -> OperatorDesc:
    return GatherDesc(*tensors(kind, (count, width), (1, chosen), (chosen, width), index), 0, 1)


def columns(kind: DataType, count: int, width: int, chosen: int, index: DataType = DataType.INT64) -> OperatorDesc:
    return GatherDesc(*tensors(kind, (count, width), (1, chosen), (count, chosen), index), 1, 1)


def units(kind: DataType, count: int, width: int, unit: int, chosen: int) -> OperatorDesc:
    """Columns of several elements each."""
    return GatherDesc(*tensors(kind, (count, width, unit), (1, 1, chosen), (count, chosen, unit), DataType.INT32), 1, 1)


def along(
    kind: DataType, sizes: tuple[int, ...], axis: int, length: int, index: DataType = DataType.INT64
) -> OperatorDesc:
    chosen = (*sizes[:axis], length, *sizes[axis + 1 :])
    return GatherElementsDesc(*tensors(kind, sizes, chosen, chosen, index), axis)


def tuples(
    kind: DataType, sizes: tuple[int, ...], batch: int, grid: tuple[int, ...], coordinates: int, index: DataType
) -> OperatorDesc:
    indices = (*sizes[:batch], *grid, coordinates)
    output = indices[:-1] + sizes[batch + coordinates :]
    rank = max(len(sizes), len(indices), len(output))
    source, indices, output = ((1,) * (rank - len(each)) + each for each in (sizes, indices, output))
    described = tensors(kind, source, indices, output, index)
    counts = len(sizes), batch + len(grid) + 1
    if batch:
        return GatherNd1Desc(*described, *counts, batch)
    return GatherNdDesc(*described, *counts)


def tile(kind: DataType, sizes: tuple[int, ...], repeats: tuple[int, ...]) -> OperatorDesc:
    output = tuple(size * repeat for size, repeat in zip(sizes, repeats, strict=True))
    return TileDesc(TensorDesc.of(kind, sizes), TensorDesc.of(kind, output), repeats)


U8, F16, F32, I64 = DataType.UINT8, DataType.FLOAT16, DataType.FLOAT32, DataType.INT64
UINT32, UINT64, INT32 = DataType.UINT32, DataType.UINT64, DataType.INT32

BRANCHES: dict[str, tuple[OperatorDesc, str, dict[str, int]]] = {
    "rows of 16-byte units": (rows(F32, 40, 64, 70), "take_rows", {"UNIT": 2, "UNITS": 16, "PLACES": 16}),
    "rows in several chunks": (rows(U8, 9, 5000, 7), "take_rows", {"UNIT": 1, "UNITS": 256, "PLACES": 1}),
    "rows of an odd width": (rows(U8, 300, 33, 290, UINT32), "take_rows", {"UNIT": 1, "UNITS": 64}),
    "rows of 4-byte units": (rows(F16, 30, 6, 50, UINT64), "take_rows", {"UNIT": 1, "UNITS": 4}),
    "rows, the same for several batches": (units(U8, 6, 11, 33, 9), "take_rows", {"BATCHES": 1, "COORDINATES": 1}),
    "single elements": (tuples(F16, (30, 40), 0, (700,), 2, I64), "take_rows", {"UNITS": 1, "COORDINATES": 2}),
    "four coordinates": (tuples(U8, (3, 4, 5, 6), 0, (90,), 4, INT32), "take_rows", {"COORDINATES": 4}),
    "batches with indices of their own": (tuples(F32, (5, 7, 8), 1, (6,), 1, UINT64), "take_rows", {"BATCHES": 1}),
    "single elements in batches": (tuples(U8, (9, 40), 1, (70,), 1, INT32), "take_along", {"DOWNWARDS": 0}),
    "two dimensions of batches": (tuples(I64, (2, 3, 7, 2), 2, (4,), 1, I64), "take_rows", {"BATCHES": 1, "UNIT": 2}),
    "columns, four bytes in a word": (columns(U8, 37, 300, 290), "take_columns_packed", {"PACK": 4, "BYTES": 1}),
    "columns, four halves in a word": (columns(F16, 37, 256, 600), "take_columns_packed", {"PACK": 4, "BYTES": 2}),
    "columns, two in a word": (columns(F32, 37, 130, 200, UINT32), "take_columns_packed", {"PACK": 2, "BYTES": 4}),
    "columns of 8 bytes": (columns(I64, 18, 130, 129, INT32), "take_columns_packed", {"PACK": 1, "GROUPS": 2}),
    "columns of several elements": (units(U8, 30, 200, 4, 150), "take_columns_packed", {"PACK": 2, "BYTES": 4}),
    "columns of many rows": (columns(I64, 40, 70, 80), "take_columns_packed", {"PACK": 1, "GROUPS": 4}),
    "columns of long rows": (columns(U8, 3, 1400, 3000), "take_columns_packed", {"PACK": 2, "BYTES": 1}),
    "columns of long rows, several blocks": (columns(F32, 2, 1400, 5000), "take_columns_packed", {"COLUMNS": 4096}),
    "columns of long rows, in words": (columns(U8, 70, 1030, 9008), "take_columns_packed", {"COLUMNS": 8192}),
    "columns of many long rows": (columns(U8, 70, 1030, 900), "take_columns_packed", {"GROUPS": 4}),
    "columns of too long a row": (columns(U8, 2, 70_000, 20_000), "take_columns", {"COLUMNS": 4096, "ROWS": 1}),
    "columns of a short row": (columns(F16, 700, 30, 20), "take_columns", {"COLUMNS": 32, "ROWS": 128}),
    "few columns of many": (columns(F32, 300, 1000, 64), "take_columns", {"COLUMNS": 64, "ROWS": 8}),
    "some columns of many": (columns(F32, 9, 1000, 100), "take_columns", {"COLUMNS": 128, "ROWS": 4}),
    "along the first axis": (along(F32, (50, 40), 0, 60), "take_along", {"DOWNWARDS": 1, "COLUMNS": 16}),
    "along the first axis, bytes": (along(U8, (50, 200), 0, 60, UINT32), "take_along", {"COLUMNS": 64, "ROWS": 4}),
    "along the first axis, few rows": (along(U8, (3, 700), 0, 2), "take_along", {"COLUMNS": 128, "ROWS": 2}),
    "along a middle axis": (along(F16, (5, 6, 70), 1, 9, INT32), "take_along", {"DOWNWARDS": 1}),
    "along the last axis": (along(I64, (7, 30), 1, 1000), "take_along", {"DOWNWARDS": 0, "COLUMNS": 1024}),
    "along the last axis, long": (along(U8, (2, 3000), 1, 5000, UINT64), "take_along_shared", {"COLUMNS": 2048}),
    "along the last axis, longer": (
        along(F32, (2, 1100), 1, 20_000),
        "take_along_shared",
        {"COLUMNS": 2048, "TIMES": 8},
    ),
    "along the last axis, aligned bytes": (along(U8, (2, 2048), 1, 5008), "take_along_shared", {"COLUMNS": 2048}),
    "along the last axis, aligned": (along(F16, (2, 1040), 1, 35_200), "take_along_shared", {"TIMES": 8}),
    "along the last axis, too long": (along(I64, (2, 9000), 1, 8000), "take_along", {"COLUMNS": 4096, "ROWS": 1}),
    "along the last axis, few of many": (along(U8, (3, 9000), 1, 80), "take_along", {"COLUMNS": 128}),
    "along the last axis, short": (along(F32, (999, 3), 1, 5), "take_along", {"COLUMNS": 8, "ROWS": 128}),
    "a matrix twice along both": (tile(F32, (20, 16), (2, 2)), "tile", {"UNIT": 2, "OUTER": 1, "COPIES": 2}),
    "a matrix of an odd width": (tile(U8, (60, 81), (2, 3)), "tile", {"UNIT": 1, "OUTER": 1}),
    "a row longer than a block": (tile(F32, (1, 3001), (1, 2)), "tile", {"OUTER": 0, "UNITS": 1024}),
    "more copies than one program makes": (tile(F16, (5, 24), (19, 1)), "tile", {"OUTER": 0}),
    "many copies of several rows": (tile(F16, (5, 24), (19, 2)), "tile", {"COPIES": 8}),
    "three repeated dimensions": (tile(U8, (3, 4, 5, 6), (2, 3, 2, 2)), "tile", {"OUTER": 3}),
    "two repeated dimensions": (tile(F32, (3, 4, 6), (2, 3, 2)), "tile", {"OUTER": 2}),
    "one element, often": (tile(I64, (1, 1), (40, 30)), "tile", {"OUTER": 0}),
    "each element twice": (tile(F16, (70, 1), (1, 2)), "tile", {"OUTER": 1}),
}


@pytest.mark.few(30)
@pytest.mark.parametrize("case", BRANCHES)
def test_each_branch_is_taken_and_comes_to_the_bytes_of_eager_torch(
    pair: Pair, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "BUSY", 8)  # a GPU that few rows keep busy
    desc, kernel, constants = BRANCHES[case]
    for indices in ("any-sign", "wild"):
        compare(pair, Generator(case), desc, indices)
    plan = pair.launched[-1]
    assert plan.kernel == kernel
    assert {name: plan.constants[name] for name in constants} == constants


def test_the_branches_are_of_all_kernels() -> None:
    assert {kernel for _, kernel, _ in BRANCHES.values()} == KERNELS


LARGE: dict[str, OperatorDesc] = {
    "rows": rows(U8, 70_000, 1000, 80_000),
    "columns": columns(U8, 20_000, 3000, 2500),
    "columns of long rows": columns(F16, 300, 100_000, 90_000),
    "along the first axis": along(F16, (30_000, 999), 0, 20_000),
    "along the last axis": along(F32, (5000, 3001), 1, 4001),
    "along the last axis, bytes": along(U8, (3000, 40_000), 1, 20_001),
    "single elements": tuples(I64, (3000, 3000), 0, (5_000_001,), 2, I64),
    "batches": tuples(F32, (30, 1000, 128), 1, (2000,), 1, INT32),
    "a matrix": tile(U8, (4000, 5001), (2, 3)),
    "a row": tile(F32, (1, 1000), (30_000, 1)),
    # More elements than 32 bits with a sign can count, and more bytes than any 32 bits can.
    "far rows": rows(U8, 2_100_000, 1024, 2_200_000),
    "far columns": along(U8, (2_200_000, 1024), 0, 2_100_000, INT32),
    "a far matrix": tile(F16, (32_768, 20_000), (2, 2)),
}


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device here")
@pytest.mark.parametrize("name", LARGE)
def test_large_tensors_come_to_the_bytes_of_eager_torch(name: str) -> None:
    """On the device alone: the tensors are too large to carry to and fro."""
    desc: Any = LARGE[name]
    operator = torch_operators()[desc.operator]
    generator = torch.Generator("cuda").manual_seed(1)

    def filled(tensor: TensorDesc, dtype: Any) -> Any:
        return torch.randint(-128, 128, tensor.sizes, dtype=torch.int8, device="cuda", generator=generator).to(dtype)

    width = desc.output_tensor.data_type.size
    dtype = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
    sources = {"input_tensor": filled(desc.input_tensor, dtype)}
    if operator.numbers:
        kind = {INT32: torch.int32, I64: torch.int64}[desc.indices_tensor.data_type]
        limit = 2 * max(desc.input_tensor.sizes)
        shape = desc.indices_tensor.sizes
        indices = torch.randint(-limit, limit, shape, dtype=kind, device="cuda", generator=generator)
        sources["indices_tensor"] = indices
    target = torch.full(desc.output_tensor.sizes, 77, dtype=dtype, device="cuda")
    assert operator.plan is not None
    work = kernels.prepared(operator.plan, desc, list(sources.values()), target)
    assert work is not None
    work()
    assert torch.equal(target, operator.run(desc, sources)["output_tensor"])


# --- products ---------------------------------------------------------------------------------------------------------

CONVOLUTION, ATTENTION = (descriptor_classes()[name] for name in ("CONVOLUTION", "MULTIHEAD_ATTENTION"))
SHARING_HEADS = descriptor_classes()["MULTIHEAD_ATTENTION1"]


def convolution(
    sizes: tuple[int, ...],
    filters: tuple[int, ...],
    counts: tuple[int, ...],
    steps: tuple[int, int] = (1, 1),
    gaps: tuple[int, int] = (1, 1),
    before: tuple[int, int] = (0, 0),
    behind: tuple[int, int] = (0, 0),
    *,
    bias: bool = False,
    mode: int = 1,
    kind: DataType = DataType.FLOAT16,
) -> OperatorDesc:
    image, weights, target = (TensorDesc.of(kind, of) for of in (sizes, filters, (sizes[0], filters[0], *counts)))
    one = TensorDesc.of(kind, (1, filters[0], 1, 1)) if bias else None
    return CONVOLUTION(image, weights, one, target, mode, 0, steps, gaps, before, behind, (0, 0), 1, None)


def attention(batch: int, heads: int, groups: int, queries: int, keys: int, size: int, width: int) -> OperatorDesc:
    q, k, v, target = (
        TensorDesc.of(DataType.FLOAT16, (batch, length, row))
        for length, row in (
            (queries, heads * size),
            (keys, groups * size),
            (keys, groups * width),
            (queries, heads * width),
        )
    )
    scale = size**-0.5
    if heads == groups:
        return ATTENTION(q, k, v, *(None,) * 8, target, None, None, scale, -10000.0, heads, 0)
    return SHARING_HEADS(q, k, v, *(None,) * 9, target, None, None, scale, -10000.0, heads, groups, 0)


PRODUCTS = {
    "windows": convolution((2, 40, 9, 7), (37, 40, 3, 2), (8, 6), before=(1, 0), bias=True),
    "windows that lie apart": convolution((1, 33, 11, 12), (32, 33, 2, 3), (5, 4), (2, 2), (2, 3), (1, 0), (0, 1)),
    "windows beside the image": convolution((1, 32, 2, 2), (130, 32, 2, 2), (7, 5), before=(3, 1), behind=(3, 3)),
    "turned windows": convolution((1, 70, 4, 5), (48, 70, 3, 3), (2, 3), mode=0),
    "single pixels": convolution((3, 64, 5, 5), (64, 64, 1, 1), (5, 5), bias=True),
    "windows of FLOAT32": convolution((2, 40, 9, 7), (37, 40, 3, 2), (8, 6), before=(1, 0), bias=True, kind=F32),
    "turned windows of FLOAT32": convolution((1, 70, 4, 5), (148, 70, 3, 3), (2, 3), mode=0, kind=F32),
    "attention": attention(2, 3, 3, 130, 70, 16, 32),
    "attention of one key": attention(1, 2, 2, 5, 1, 32, 16),
    "heads that share keys": attention(1, 4, 2, 9, 65, 64, 64),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's NumPy tells of infinities
@pytest.mark.parametrize("tolerance", TOLERANCES.values(), ids=TOLERANCES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_right_of_whatever_is_multiplied(pair: Pair, name: str, tolerance: Tolerance) -> None:
    desc, judge = PRODUCTS[name], Judge(pair.kernels, "", tolerance=tolerance, repeat=64 if HAS_CUDA else 2)
    domains = {slot.key: patterns(spec_of(desc), slot.field) for slot in inputs(desc)}
    for pattern in max(domains.values(), key=len):
        few = len(pair.launched)
        data = {key: Recipe(pattern, seed) for seed, key in enumerate(domains)}
        record = judge.record(Case.of(desc, HIGHEST, data, rule=f"{desc.operator}.values"), Phase.SWEEP)
        assert record.verdict is Verdict.PASS, (pattern, record.reason, record.differences)
        assert {plan.kernel for plan in pair.launched[few:]} in ({"turn", "convolve"}, {"attend"})
        for plan in pair.launched[few:]:  # filters alone are packed before each launch
            assert sum(not each.is_contiguous() for each in plan.tensors) <= (plan.kernel == "convolve")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scores_that_are_all_negatively_infinite_leave_later_ones_what_they_are(pair: Pair) -> None:
    desc = attention(1, 1, 1, 3, 130, 16, 16)
    device = pair.kernels.device
    sources = {slot.key: torch.ones(slot.tensor.sizes, dtype=torch.float16, device=device) for slot in inputs(desc)}
    sources["key_tensor"][:, :100] = -torch.inf
    sources["value_tensor"][:, 115:] = 3.0
    target = torch.zeros(desc.output_tensor.sizes, dtype=torch.float16, device=device)
    pair.kernels.execute_on_device(desc, sources, {"output_tensor": target})
    assert torch.equal(target, torch.full_like(target, 2.0))


@pytest.mark.parametrize(
    "change",
    [
        {"direction": 1},
        {"group_count": 2, "filter_tensor": TensorDesc.of(DataType.FLOAT16, (64, 32, 1, 1))},
        {"fused_activation": descriptor_classes()["ACTIVATION_RELU"](None, None)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_no_product_is_planned_for_eager_torch_does(pair: Pair, change: dict[str, Any]) -> None:
    desc = msgspec.structs.replace(PRODUCTS["single pixels"], **change)
    data = {slot.key: Recipe("factors", seed) for seed, slot in enumerate(inputs(desc))}
    record = Judge(pair.kernels, "").record(Case.of(desc, HIGHEST, data, rule="CONVOLUTION.values"), Phase.SWEEP)
    assert (record.verdict, pair.launched) == (Verdict.PASS, []), record.reason


# --- which way is taken -----------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device here")
def test_on_cuda_a_large_output_is_a_kernels_work_and_a_small_one_eager_torchs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = TorchBackend("cuda")  # the first in a process launches some to see whether they run
    launched = note_launches(monkeypatch)
    for count, expected in ((1024, 1), (1023, 0)):
        desc = rows(U8, 4, WORTH_A_KERNEL // 1024, count)
        backend.execute(desc, HIGHEST, *bindings(desc))
        assert len(launched) == expected
        launched.clear()


def test_on_the_cpu_only_the_backend_for_tests_takes_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "launch", None)  # would fail
    desc = rows(U8, 4, 4096, 300)
    for backend in (TorchBackend("cpu"), TorchEagerBackend("cpu")):
        backend.execute(desc, HIGHEST, *bindings(desc))
        assert "triton" not in backend.capabilities().versions


def test_the_eager_backends_say_which_they_are() -> None:
    assert TorchEagerBackend("cpu").capabilities().name == "torch-eager:cpu"
    everything = {"everything": "eager PyTorch, as kernels are for CUDA"}
    assert TorchBackend("cpu").capabilities().as_json()["paths"] == everything
    assert TorchEagerBackend("cpu").capabilities().paths == {"everything": "eager PyTorch, as asked for"}


def test_the_kernels_backend_says_which_it_is_and_that_it_has_no_other_path(pair: Pair) -> None:
    capabilities = pair.kernels.capabilities()
    assert capabilities.name.startswith("torch-kernels:c")
    assert capabilities.versions["triton"] == kernels.version()
    assert f"Triton {kernels.version()} kernels" in capabilities.paths["operators"]
    assert "eager" not in str(capabilities.paths)


def test_where_no_kernel_runs_the_backend_for_them_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(kernels, "version", lambda: "3.6.0")
    with pytest.raises(ValueError, match=r"no kernels run on 'cpu' here; use cuda, or set .* TRITON_INTERPRET to 1"):
        TorchKernelsBackend("cpu")
    monkeypatch.setattr(kernels, "version", lambda: None)
    with pytest.raises(ValueError, match="no kernels run on 'cpu' here; install Triton"):
        TorchKernelsBackend("cpu")


# --- where a kernel cannot be made ------------------------------------------------------------------------------------


@pytest.fixture
def broken_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(plan: Plan) -> kernels.Work:
        def run() -> object:
            raise RuntimeError("Failed to find C compiler.\nmore")

        return run

    monkeypatch.setattr(kernels, "launch", launch)


@pytest.fixture
def no_kernels_kept() -> Iterator[None]:
    missing = kernels.missing
    missing.cache_clear()
    yield
    missing.cache_clear()


def judged(backend: Any, desc: Any) -> Record:
    data = {"input_tensor": Recipe("random-bits", 1)}
    return Judge(backend, "").record(Case.of(desc, HIGHEST, data, rule="TILE.values"), Phase.SWEEP)


@NEEDS_TRITON
@pytest.mark.skipif(HAS_CUDA, reason="the kernels run on the GPU here")
def test_a_kernel_that_cannot_be_made_is_no_pass(broken_compiler: None) -> None:
    """Nothing stands in for it, so that no report says of kernels what eager torch has done."""
    record = judged(TorchKernelsBackend("cpu"), tile(F32, (2, 3), (2, 2)))
    assert (record.verdict, record.rule) == (Verdict.CRASH, "TILE.values")
    assert record.reason.startswith("execute raised RuntimeError: Failed to find C compiler.\nmore, at ")


@NEEDS_TRITON
@pytest.mark.skipif(HAS_CUDA, reason="the kernels run on the GPU here")
def test_what_no_kernel_takes_eager_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = note_launches(monkeypatch)
    assert judged(TorchKernelsBackend("cpu"), tile(U8, (2, 2, 2, 2, 2), (2, 2, 2, 2, 2))).verdict is Verdict.PASS
    assert launched == []


@NEEDS_TRITON
@pytest.mark.skipif(HAS_CUDA, reason="as if there were a GPU")
def test_on_cuda_what_was_found_to_be_missing_is_why_all_is_eager(
    broken_compiler: None, no_kernels_kept: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is not missing does the work: nothing stands in for it later."""

    class AsOnCuda(TorchBackend):
        def _why_without_kernels(self) -> str:
            self._on_cuda = True
            found = super()._why_without_kernels()
            self._on_cuda = False
            return found

    capabilities = AsOnCuda("cpu").capabilities()
    why = "as there are no kernels here: RuntimeError: Failed to find C compiler."
    assert capabilities.paths == {"everything": f"eager PyTorch, {why}"}
    assert "triton" not in capabilities.versions
    monkeypatch.setattr(kernels, "missing", lambda device: "")
    backend = AsOnCuda("cpu")
    first, second = backend.capabilities().paths.items()
    assert first[0] == "outputs of 1,048,576 bytes and more"
    assert first[1] == f"Triton {kernels.version()} kernels, eager PyTorch where no kernel takes the operator or layout"
    assert second == ("smaller outputs", "eager PyTorch")
    large = judged(backend, tile(U8, (1024, 512), (2, 1)))
    assert (large.verdict, large.reason[:27]) == (Verdict.CRASH, "execute raised RuntimeError")
    assert judged(backend, tile(U8, (1023, 512), (2, 1))).verdict is Verdict.PASS


@NEEDS_TRITON
@pytest.mark.skipif(HAS_CUDA, reason="Triton's interpreter is tried")
def test_nothing_is_missing_where_kernels_can_be_made(no_kernels_kept: None) -> None:
    assert kernels.missing(torch.device("cpu")) == ""


# --- layouts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "steps", "expected"),
    [
        ((2, 3, 4), (12, 4, 1), [(24, 1)]),
        ((2, 3, 4), (20, 4, 1), [(2, 20), (12, 1)]),
        ((2, 1, 4), (4, 99, 1), [(8, 1)]),
        ((2, 3), (0, 0), [(6, 0)]),
        ((2, 3), (0, 1), [(2, 0), (3, 1)]),
        ((2, 3), (1, 2), [(2, 1), (3, 2)]),
        ((1, 1), (5, 7), []),
        ((), (), []),
    ],
)
def test_dimensions_are_taken_as_one_where_they_lie_so(
    sizes: tuple[int, ...], steps: tuple[int, ...], expected: list[tuple[int, int]]
) -> None:
    assert layout.collapsed(sizes, steps) == expected
    assert layout.single(sizes, steps) == (None if len(expected) > 1 else expected[0] if expected else (1, 0))


def test_packed_counts_elements_without_a_gap() -> None:
    assert layout.packed((2, 3), (3, 1)) == 6
    assert layout.packed((1, 1), (9, 9)) == 1
    assert layout.packed((2, 3), (4, 1)) is None
    assert layout.packed((4,), (2,)) is None
    assert layout.packed((), ()) == 1


def test_a_unit_divides_all_that_is_moved() -> None:
    memory = torch.zeros(64, dtype=torch.int8)
    aligned = memory[(-memory.data_ptr()) % 16 :].clone()[0:40]
    assert aligned.data_ptr() % 16 == 0
    assert layout.widest((32, 16, 0), (aligned,)) == 16
    assert layout.widest((32, 24), (aligned,)) == 8
    assert layout.widest((32, 7), (aligned,)) == 1
    assert layout.widest((32,), (aligned, aligned[4:])) == 4
    assert layout.widest((3,), (aligned.view(torch.int32),)) == 4
    assert layout.widest((6,), (aligned.view(torch.int32),)) == 8


def test_a_pointer_keeps_the_address_and_changes_the_word() -> None:
    tensor = torch.arange(64, dtype=torch.int8)[16:].view(3, 16)
    for unit, dtype in ((1, torch.int8), (2, torch.int16), (4, torch.int32), (8, torch.int64), (16, torch.int64)):
        found = layout.pointer(tensor, unit)
        assert found.dtype == dtype
        assert found.data_ptr() == tensor.data_ptr()
    assert [layout.words(unit) for unit in (1, 2, 4, 8, 16)] == [1, 1, 1, 1, 2]


def test_powers_of_2() -> None:
    assert [layout.power_of_2(n) for n in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 4, 4, 8, 8, 16]


@pytest.mark.parametrize("seed", range(40))
def test_repeated_dimensions_are_as_few_as_can_be_and_give_the_same(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 5)
    sizes, repeats = ([rng.choice((1, 1, 2, 3)) for _ in range(rank)] for _ in range(2))
    source = np.arange(np.prod(sizes)).reshape(sizes)
    found = plans.repeated(sizes, [step // source.itemsize for step in source.strides], repeats)
    few = np.tile(source.reshape([each.size for each in found]), [each.repeat for each in found])
    assert np.array_equal(few.reshape(-1), np.tile(source, repeats).reshape(-1))
    for outer, inner in pairwise(found):
        assert outer.size > 1, "adds its repeats to the inner one"
        assert inner.repeat > 1, "goes on in the outer one"


def test_repeated_dimensions_that_lie_apart_stay_apart() -> None:
    assert plans.repeated((2, 3), (4, 1), (2, 1)) == [RepeatedDimension(2, 4, 2), RepeatedDimension(3, 1, 1)]
    assert plans.repeated((2, 1, 3), (3, 0, 1), (2, 1, 1)) == [RepeatedDimension(6, 1, 2)]


def test_what_no_kernel_can_do_has_no_plan() -> None:
    source = torch.zeros(4, 6, 8)[:, :, ::2]  # rows with gaps
    indices, target = torch.zeros(1, 1, 3, dtype=torch.int64), torch.zeros(3, 6, 4)
    desc: Any = GatherDesc(*tensors(F32, (4, 6, 4), (1, 1, 3), (3, 6, 4), I64), 0, 1)
    assert plans.gather(desc, source, indices, target) is None
    assert plans.gather(desc, source.contiguous(), indices, target) is not None
    many: Any = tuples(U8, (2, 2, 2, 2, 2), 0, (3,), 5, I64)
    flat = torch.zeros(2, 2, 2, 2, 2, dtype=torch.int8)
    indices = torch.zeros(many.indices_tensor.sizes, dtype=torch.int64)
    assert plans.gather_nd(many, flat, indices, torch.zeros(1, 1, 1, 1, 3)) is None
    deep: Any = tile(U8, (2, 2, 2, 2, 2), (2, 2, 2, 2, 2))
    assert plans.tile(deep, flat, torch.zeros(4, 4, 4, 4, 4, dtype=torch.int8)) is None
