"""The torch backend against NumPy and against the validator, with descriptors and data of this file's own making."""

from __future__ import annotations

import importlib
import math
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from dml_conformance.backends.base import Binding, Capabilities, Timed, TimedCold, Unsupported
from dml_conformance.spec.datatypes import ALL, DataType, TensorType, types
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.operators.gather import GatherDesc
from dml_conformance.spec.operators.gather_elements import GatherElementsDesc
from dml_conformance.spec.operators.gather_nd import GatherNdDesc
from dml_conformance.spec.operators.gather_nd1 import GatherNd1Desc
from dml_conformance.spec.operators.tile import TileDesc
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc, implied_size_in_bytes, packed_strides
from dml_conformance.spec.validator import Outcome, decide

torch = pytest.importorskip("torch")

from triton_interpreter import HAS_CUDA, NEEDS_TRITON  # noqa: E402

from dml_conformance.backends.torch import TorchBackend, TorchEagerBackend, TorchKernelsBackend  # noqa: E402
from dml_conformance.backends.torch.operators import in_range  # noqa: E402
from dml_conformance.backends.torch.tables import OPERATORS, support_at  # noqa: E402

CUDA = pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device here")])
NAMES = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1", "TILE")
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
INDEX = {
    DataType.INT32: np.int32,
    DataType.INT64: np.int64,
    DataType.UINT32: np.uint32,
    DataType.UINT64: np.uint64,
}
GUARD = 48  # bytes before and after what is bound


BACKENDS: dict[str, Callable[[str], Any]] = {
    "torch": TorchBackend,
    "torch-eager": TorchEagerBackend,
    "torch-kernels": TorchKernelsBackend,
}
WAYS = [
    "torch:cpu",
    pytest.param("torch-kernels:cpu", marks=[NEEDS_TRITON, pytest.mark.skipif(HAS_CUDA, reason="Triton is for CUDA")]),
    *(pytest.param(f"{name}:cuda", marks=CUDA.marks) for name in BACKENDS),
]


@pytest.fixture(scope="module", params=WAYS)
def backend(request: pytest.FixtureRequest) -> Any:
    family, _, device = request.param.partition(":")
    return BACKENDS[family](device)


# --- descriptors ------------------------------------------------------------------------------------------------------


def tensor_desc(rng: random.Random, data_type: DataType, sizes: tuple[int, ...], *, is_output: bool) -> TensorDesc:
    """A tensor in a layout of its own: packed, padded or permuted; an input's elements may also share memory."""
    strides = None
    if rng.random() < 0.6:
        order = list(range(len(sizes)))
        if rng.random() < 0.5:
            rng.shuffle(order)
        step, found = 1, [0] * len(sizes)
        for d in reversed(order):
            found[d] = step
            step = step * sizes[d] + rng.choice((0, 0, 1, 3))
        strides = tuple(0 if not is_output and rng.random() < 0.15 else stride for stride in found)
    alignment = rng.choice((0, 0, 16, 64))
    tensor = TensorDesc.of(data_type, sizes, strides, alignment=alignment)
    extra = rng.choice((0, 0, 4, 20))
    return msgspec.structs.replace(tensor, total_tensor_size_in_bytes=tensor.total_tensor_size_in_bytes + extra)


def shape(rng: random.Random, rank: int, most: int = 4) -> tuple[int, ...]:
    return tuple(rng.randint(1, most) for _ in range(rank))


def pad(sizes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(sizes)) + sizes


class Kinds(NamedTuple):
    """What a level lets a descriptor be made of."""

    rank: int
    data_type: DataType
    index_type: DataType


def kinds(rng: random.Random, name: str, level: Level) -> Kinds:
    table = operator_named(name).table_at(level)
    assert table is not None
    index_types = table["indices"].data_types if "indices" in table else types("UINT32")
    return Kinds(
        rng.choice(sorted(table["data"].dimension_counts)),
        rng.choice(sorted(table["data"].data_types)),
        rng.choice(sorted(index_types)),
    )


def make_desc(rng: random.Random, name: str, level: Level) -> OperatorDesc:
    """A valid descriptor of small sizes."""
    rank, data_type, index_type = kinds(rng, name, level)

    def tensors(source: tuple[int, ...], indices: tuple[int, ...], output: tuple[int, ...]) -> tuple[TensorDesc, ...]:
        return (
            tensor_desc(rng, data_type, source, is_output=False),
            tensor_desc(rng, index_type, indices, is_output=False),
            tensor_desc(rng, data_type, output, is_output=True),
        )

    most = 4 if rank < 6 else 2
    if name == "TILE":
        sizes, repeats = shape(rng, rank, most), shape(rng, rank, 3 if rank < 6 else 2)
        output = tuple(size * repeat for size, repeat in zip(sizes, repeats, strict=True))
        return TileDesc(
            tensor_desc(rng, data_type, sizes, is_output=False),
            tensor_desc(rng, data_type, output, is_output=True),
            repeats,
        )
    if name == "GATHER":
        index_rank = rng.randint(0, rank)
        leading = rng.randint(max(0, index_rank - 1), rank)  # leading ones of the input make room for the indices
        sizes = pad(shape(rng, rank - leading, most), rank)
        indices = shape(rng, index_rank, most)
        axis = rng.randint(min(leading, rank - 1), rank - 1)
        full = sizes[:axis] + indices + sizes[axis + 1 :]
        output = full[len(full) - rank :] if len(full) >= rank else pad(full, rank)
        if math.prod(full) != math.prod(output):
            return make_desc(rng, name, level)
        return GatherDesc(*tensors(sizes, pad(indices, rank), output), axis, index_rank)
    if name == "GATHER_ELEMENTS":
        sizes, axis = shape(rng, rank, most), rng.randrange(rank)
        indices = (*sizes[:axis], rng.randint(1, 5), *sizes[axis + 1 :])
        return GatherElementsDesc(*tensors(sizes, indices, indices), axis)
    input_rank, index_rank = rng.randint(1, rank), rng.randint(1, rank)
    batch = rng.randrange(min(input_rank, index_rank)) if name == "GATHER_ND1" else 0
    count = rng.randint(1, input_rank - batch)
    if index_rank - 1 + input_rank - batch - count > rank:
        return make_desc(rng, name, level)
    sizes = shape(rng, input_rank, most)
    indices = sizes[:batch] + shape(rng, index_rank - 1 - batch, most) + (count,)
    output = pad(indices[:-1] + sizes[batch + count :], rank)
    described = tensors(pad(sizes, rank), pad(indices, rank), output)
    if name == "GATHER_ND1":
        return GatherNd1Desc(*described, input_rank, index_rank, batch)
    return GatherNdDesc(*described, input_rank, index_rank)


def levels_of(name: str) -> list[Level]:
    return [level for level in Level if operator_named(name).table_at(level) is not None]


def descs(name: str, count: int) -> Iterator[tuple[random.Random, OperatorDesc, Level]]:
    for i in range(count):
        rng = random.Random(f"{name} {i}")
        level = rng.choice(levels_of(name))
        yield rng, make_desc(rng, name, level), level


# --- memory and expectations ------------------------------------------------------------------------------------------


def elements(binding: Binding, tensor: TensorDesc, dtype: Any) -> Any:
    """The logical elements of a binding, as a view."""
    strides = tensor.strides or packed_strides(tensor.sizes)
    size = np.dtype(dtype).itemsize
    return np.ndarray(tensor.sizes, dtype, binding.buffer, binding.offset, [stride * size for stride in strides])


def bind(rng: random.Random, tensor: TensorDesc) -> Binding:
    """A resource of random bytes with room around the tensor."""
    step = max(16, tensor.guaranteed_base_offset_alignment)
    size = (tensor.total_tensor_size_in_bytes + 3) & ~3
    offset = -(-GUARD // step) * step
    length = offset + size + GUARD + rng.randrange(8)
    return Binding(np.frombuffer(rng.randbytes(length), np.uint8).copy(), offset, size)


def limits_of(desc: Any) -> list[int]:
    """The size that each index runs over: one for all, or one for each coordinate of a tuple."""
    if isinstance(desc, GatherNdDesc | GatherNd1Desc):
        sizes = desc.input_tensor.sizes[-desc.input_dimension_count :]
        batch = getattr(desc, "batch_dimension_count", 0)
        return list(sizes[batch : batch + desc.indices_tensor.sizes[-1]])
    return [desc.input_tensor.sizes[desc.axis]]


def draw_indices(rng: random.Random, desc: Any, out_of_range: float) -> Any:
    """Index values of the descriptor's type and sizes: negative where the type allows, some out of range."""
    dtype = INDEX[desc.indices_tensor.data_type]
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    limits = limits_of(desc)
    values = []
    for i in range(math.prod(desc.indices_tensor.sizes)):
        size = limits[i % len(limits)]
        if rng.random() < out_of_range:
            values.append(rng.choice((size, size + 1, highest, highest - size + 1, max(lowest, -size - 1), lowest)))
            if values[-1] == 0:  # the lowest value of an unsigned type
                values[-1] = highest
        else:
            values.append(rng.randint(-size if lowest < 0 else 0, size - 1))
    return np.array(values, dtype).reshape(desc.indices_tensor.sizes)


def expectation(desc: Any, source: Any, indices: Any) -> tuple[Any, Any]:
    """The output by NumPy, and which of its elements come from an index out of range."""
    if isinstance(desc, TileDesc):
        return np.tile(source, desc.repeats), np.zeros(desc.output_tensor.sizes, bool)
    limits = np.array(limits_of(desc), object)
    wide = indices.astype(object)
    bad = (wide >= limits) | (wide < -limits)
    good = np.where(bad, limits, wide % limits).astype(np.int64)  # limits: one place past the end, which is marked
    if isinstance(desc, GatherDesc):
        good = good.reshape(desc.indices_tensor.sizes[len(desc.indices_tensor.sizes) - desc.index_dimensions :])
        marked_dims = {desc.axis}

        def pick(values: Any) -> Any:
            return np.take(values, good, desc.axis)

    elif isinstance(desc, GatherElementsDesc):
        marked_dims = {desc.axis}

        def pick(values: Any) -> Any:
            return np.take_along_axis(values, good, desc.axis)

    else:
        source = source.reshape(desc.input_tensor.sizes[-desc.input_dimension_count :])
        good = good.reshape(desc.indices_tensor.sizes[-desc.indices_dimension_count :])
        batch = getattr(desc, "batch_dimension_count", 0)
        marked_dims = set(range(batch, batch + good.shape[-1]))

        def pick(values: Any) -> Any:
            blocks = [values[at][tuple(np.moveaxis(good[at], -1, 0))] for at in np.ndindex(good.shape[:batch])]
            return np.stack(blocks).reshape(good.shape[:batch] + blocks[0].shape)

    past_the_end = [(0, 1 if d in marked_dims else 0) for d in range(source.ndim)]
    values = pick(np.pad(source, past_the_end))
    unspecified = pick(np.pad(np.zeros(source.shape, bool), past_the_end, constant_values=True))
    sizes = desc.output_tensor.sizes
    return values.reshape(sizes), unspecified.reshape(sizes)


def run_and_check(
    backend: TorchBackend, rng: random.Random, desc: Any, level: Level, *, out_of_range: float = 0.0
) -> int:
    """Execute once and hold every byte against what it has to be; returns how many elements were left open.

    What has no kernel is left out where there is to be nothing else.
    """
    attributes = [field.attribute for field in spec_of(desc).tensor_fields]
    bound = {attribute: bind(rng, getattr(desc, attribute)) for attribute in attributes}
    dtype = BITS[desc.output_tensor.data_type.size]
    indices = None
    if "indices_tensor" in bound:
        view = elements(bound["indices_tensor"], desc.indices_tensor, INDEX[desc.indices_tensor.data_type])
        view[...] = draw_indices(rng, desc, out_of_range)
        indices = view.copy()  # not what was drawn where elements share memory
    source = elements(bound["input_tensor"], desc.input_tensor, dtype)
    expected, unspecified = expectation(desc, source.copy(), indices)

    outputs = {"output_tensor": bound.pop("output_tensor")}
    before = {attribute: binding.buffer.copy() for attribute, binding in bound.items()}
    output = outputs["output_tensor"]
    guards = output.buffer.copy()
    try:
        backend.execute(desc, level, bound, outputs)
    except Unsupported:
        assert isinstance(backend, TorchKernelsBackend)
        return 0

    for attribute, buffer in before.items():
        assert np.array_equal(bound[attribute].buffer, buffer), f"{attribute} changed"
    end = output.offset + desc.output_tensor.total_tensor_size_in_bytes
    assert np.array_equal(output.buffer[: output.offset], guards[: output.offset]), "wrote before the output"
    assert np.array_equal(output.buffer[end:], guards[end:]), "wrote after the output"
    actual = elements(output, desc.output_tensor, dtype)
    differing = (actual != expected) & ~unspecified
    assert not differing.any(), f"{desc} at {level}: elements {np.argwhere(differing).tolist()} differ"
    binding = bound["input_tensor"]
    count = binding.size // np.dtype(dtype).itemsize
    memory = np.frombuffer(binding.buffer, dtype, count, binding.offset)
    assert np.isin(actual[unspecified], memory).all(), f"{desc}: read from outside the input"
    return int(unspecified.sum())


# --- execution --------------------------------------------------------------------------------------------------------


@pytest.mark.few(8)
@pytest.mark.parametrize("name", NAMES)
def test_bytes_agree_with_numpy(backend: TorchBackend, name: str) -> None:
    for rng, desc, level in descs(name, 100):
        assert backend.validate(desc, level).accepted, desc
        run_and_check(backend, rng, desc, level)


@pytest.mark.parametrize("name", NAMES[:4])
def test_indices_out_of_range_read_the_inputs_memory_and_nothing_breaks(backend: TorchBackend, name: str) -> None:
    left_open = sum(run_and_check(backend, rng, desc, level, out_of_range=0.4) for rng, desc, level in descs(name, 60))
    assert left_open > 100
    rng, desc, level = next(descs(name, 1))
    run_and_check(backend, rng, desc, level)  # on CUDA: the context is alive


@pytest.mark.parametrize("data_type", sorted(ALL), ids=lambda data_type: data_type.name)
@pytest.mark.parametrize("name", NAMES)
def test_every_data_type_comes_through_bit_for_bit(backend: TorchBackend, name: str, data_type: DataType) -> None:
    if name == "TILE" and data_type is DataType.FLOAT64:
        pytest.skip("TILE has no FLOAT64")
    width = data_type.size
    # All bytes in the top places, so that every exponent is there: NaN payloads, infinities, subnormals, -0.0.
    values = np.array([top << (8 * (width - 1)) | low for top in range(256) for low in (0, 1, 0x7F)], BITS[width])
    patterns = np.unique(np.concatenate([values, values[::-1] >> (width // 2)]).astype(BITS[width]))
    source = TensorDesc.of(data_type, (len(patterns),))
    if name == "TILE":
        desc: OperatorDesc = TileDesc(source, source, (1,))
    else:
        sizes = (len(patterns), 1) if name.startswith("GATHER_ND") else (len(patterns),)
        source = TensorDesc.of(data_type, (1,) * (len(sizes) - 1) + (len(patterns),))
        indices = TensorDesc.of(DataType.INT64, sizes)
        made: dict[str, Callable[[], OperatorDesc]] = {
            "GATHER": lambda: GatherDesc(source, indices, source, 0, 1),
            "GATHER_ELEMENTS": lambda: GatherElementsDesc(source, indices, source, 0),
            "GATHER_ND": lambda: GatherNdDesc(source, indices, source, 1, 2),
            "GATHER_ND1": lambda: GatherNd1Desc(source, indices, source, 1, 2, 0),
        }
        desc = made[name]()
    assert backend.validate(desc, Level.L6_4).accepted
    inputs = {"input_tensor": resource(patterns), "indices_tensor": resource(np.arange(len(patterns))[::-1])}
    output = resource(np.zeros_like(patterns))
    backend.execute(desc, Level.L6_4, inputs, {"output_tensor": output})
    expected = patterns if name == "TILE" else patterns[::-1]
    assert np.array_equal(output.buffer[: patterns.nbytes].view(BITS[width]), expected)


def resource(values: Any) -> Binding:
    """Values as a whole resource."""
    raw = np.ascontiguousarray(values).view(np.uint8)
    padded = np.concatenate([raw, np.zeros(-len(raw) % 4, np.uint8)])
    return Binding(padded, 0, len(padded))


@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_in_range_knows_the_signs_of_the_index_types(device: str) -> None:
    def ranged(values: list[int], dtype: Any, size: int) -> list[int]:
        bits = torch.from_numpy(np.array(values, dtype))
        found: list[int] = in_range(bits.to(device), size).tolist()
        return found

    for dtype in (np.int32, np.int64):
        assert ranged([0, 6, -1, -7], dtype, 7) == [0, 6, 6, 0]
        extremes = ranged([7, -8, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype, 7)
        assert all(0 <= index < 7 for index in extremes)
    assert ranged([0, 2**31, 2**32 - 2], np.uint32, 2**32 - 1) == [0, 2**31, 2**32 - 2]
    assert ranged([-(2**31)], np.int32, 2**32 - 1) == [2**31 - 1]
    assert ranged([2**32 - 1, 2**31], np.uint32, 7) == [6, 6]
    assert ranged([0, 2**32 - 2], np.uint64, 2**32 - 1) == [0, 2**32 - 2]
    assert ranged([2**64 - 1, 2**63], np.uint64, 7) == [0, 0]


@pytest.mark.parametrize(("index_type", "read"), [(DataType.UINT32, 4), (DataType.UINT64, 0)])
def test_an_unsigned_index_is_never_taken_for_a_negative_one(
    backend: TorchBackend, index_type: DataType, read: int
) -> None:
    source, one = TensorDesc.of(DataType.UINT16, (5,)), TensorDesc.of(DataType.UINT16, (1,))
    desc = GatherDesc(source, TensorDesc.of(index_type, (1,)), one, 0, 1)
    minus_two = np.array([np.iinfo(INDEX[index_type]).max - 1], INDEX[index_type])
    inputs = {"input_tensor": resource(np.arange(5, dtype=np.uint16)), "indices_tensor": resource(minus_two)}
    output = resource(np.zeros(1, np.uint16))
    backend.execute(desc, Level.L4_1, inputs, {"output_tensor": output})
    assert output.buffer.view(np.uint16)[0] == read  # read as signed it would be 3, the last but one


def test_an_input_may_share_its_resource_with_the_output(backend: TorchBackend) -> None:
    tensor = TensorDesc.of(DataType.UINT32, (4,))
    desc = GatherDesc(tensor, tensor, tensor, 0, 1)
    buffer = np.zeros(64, np.uint8)
    buffer[0:16].view(np.uint32)[:] = [3, 2, 1, 0]
    buffer[16:32].view(np.uint32)[:] = [10, 11, 12, 13]
    inputs = {"input_tensor": Binding(buffer, 16, 16), "indices_tensor": Binding(buffer, 0, 16)}
    backend.execute(desc, Level.L3_0, inputs, {"output_tensor": Binding(buffer, 32, 16)})
    assert buffer.view(np.uint32).tolist() == [3, 2, 1, 0, 10, 11, 12, 13, 13, 12, 11, 10, 0, 0, 0, 0]


def test_read_only_memory_is_read_and_never_written(backend: TorchBackend) -> None:
    desc = TileDesc(TensorDesc.of(DataType.UINT8, (4,)), TensorDesc.of(DataType.UINT8, (8,)), (2,))
    fixed = np.arange(4, dtype=np.uint8)
    fixed.flags.writeable = False
    output = np.zeros(8, np.uint8)
    backend.execute(desc, Level.L3_1, {"input_tensor": Binding(fixed, 0, 4)}, {"output_tensor": Binding(output, 0, 8)})
    assert output.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    output.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        backend.execute(
            desc, Level.L3_1, {"input_tensor": Binding(fixed, 0, 4)}, {"output_tensor": Binding(output, 0, 8)}
        )


def test_large_tensors_take_the_same_way(backend: TorchBackend) -> None:
    rows, width = 1000, 3000
    source = np.arange(rows * width, dtype=np.uint32)
    chosen = np.arange(rows, dtype=np.int64)[::-3]
    desc = GatherDesc(
        TensorDesc.of(DataType.FLOAT32, (rows, width)),
        TensorDesc.of(DataType.INT64, (1, len(chosen))),
        TensorDesc.of(DataType.FLOAT32, (len(chosen), width)),
        0,
        1,
    )
    output = resource(np.zeros(len(chosen) * width, np.uint32))
    inputs = {"input_tensor": resource(source), "indices_tensor": resource(chosen)}
    backend.execute(desc, Level.L3_0, inputs, {"output_tensor": output})
    assert np.array_equal(output.buffer.view(np.uint32), source.reshape(rows, width)[chosen].reshape(-1))


def test_timing_gives_one_figure_a_run_and_the_output(backend: TorchBackend) -> None:
    assert isinstance(backend, Timed)
    desc = TileDesc(TensorDesc.of(DataType.UINT8, (4,)), TensorDesc.of(DataType.UINT8, (8,)), (2,))
    inputs = {"input_tensor": resource(np.arange(4, dtype=np.uint8))}
    output = resource(np.zeros(8, np.uint8))
    seconds = backend.time_execution(desc, Level.L3_1, inputs, {"output_tensor": output}, 5)
    assert len(seconds) == 5
    assert all(second > 0 for second in seconds)
    assert output.buffer.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    seconds = backend.time_copy(4096, 3)
    assert len(seconds) == 3
    assert all(second > 0 for second in seconds)


def test_caches_are_emptied_on_a_device_alone(backend: TorchBackend) -> None:
    assert isinstance(backend, TimedCold)
    desc = TileDesc(TensorDesc.of(DataType.UINT8, (4,)), TensorDesc.of(DataType.UINT8, (8,)), (2,))
    inputs = {"input_tensor": resource(np.arange(4, dtype=np.uint8))}
    output = resource(np.zeros(8, np.uint8))
    if "cuda" not in backend.capabilities().versions:
        with pytest.raises(Unsupported, match="caches of a CPU"):
            backend.time_execution_cold(desc, Level.L3_1, inputs, {"output_tensor": output}, 5)
        with pytest.raises(Unsupported, match="caches of a CPU"):
            backend.time_copy_cold(1, 1)
        return
    seconds = backend.time_execution_cold(desc, Level.L3_1, inputs, {"output_tensor": output}, 5)
    assert len(seconds) == 5
    assert output.buffer.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert len(backend.time_copy_cold(4096, 3)) == 3


# --- decisions --------------------------------------------------------------------------------------------------------

HUGE = (2**16, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
HUGE_TOTALS = (2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 4, 2**64 - 1)


def break_tensor(rng: random.Random, tensor: TensorDesc, huge: bool) -> TensorDesc | None:
    def replaced(values: tuple[int, ...]) -> tuple[int, ...]:
        if not values:
            return (1,)
        changed = list(values)
        d = rng.randrange(len(changed))
        changed[d] = rng.choice(HUGE) if huge else rng.choice((0, 1, changed[d] + 1, changed[d] * 2, changed[d] - 1))
        return tuple(max(value, 0) for value in changed)

    total = tensor.total_tensor_size_in_bytes
    strides = tensor.strides or packed_strides(tensor.sizes)
    smallest = implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
    changes: list[dict[str, Any]] = [
        {"sizes": replaced(tensor.sizes)},
        {"sizes": replaced(tensor.sizes), "strides": None},
        {"strides": replaced(strides)},
        {"sizes": (1, *tensor.sizes), "strides": None},
        {"sizes": tensor.sizes[1:], "strides": None},
        {"data_type": rng.choice(list(DataType))},
        {"flags": rng.choice((1, 2, 3, 2**32 - 1))},
        {"type": TensorType.INVALID},
        {"guaranteed_base_offset_alignment": rng.choice((1, 2, 3, 4, 8, 12, 48, 2**31, 2**32 - 1))},
        {"total_tensor_size_in_bytes": rng.choice((0, total - 4, total - 1, total + 1, smallest, smallest - 1))},
    ]
    if huge:
        changes.append({"total_tensor_size_in_bytes": rng.choice(HUGE_TOTALS)})
    elif rng.random() < 0.02:
        return None
    changed = msgspec.structs.replace(tensor, **rng.choice(changes))
    if rng.random() < 0.5 and 0 not in changed.sizes and changed.data_type.size:  # what the change needs, as well
        needed = implied_size_in_bytes(changed.data_type, changed.sizes, changed.strides)
        if needed < 2**64 - 4:
            changed = msgspec.structs.replace(changed, total_tensor_size_in_bytes=(needed + 3) & ~3)
    return changed


def break_desc(rng: random.Random, desc: OperatorDesc, huge: bool) -> OperatorDesc:
    """The same descriptor with one to three of its fields changed; most are invalid."""
    for _ in range(rng.randint(1, 3)):
        field = rng.choice(spec_of(desc).fields)
        value = getattr(desc, field.attribute)
        if field.is_tensor:
            changed = None if value is None else break_tensor(rng, value, huge)
        elif isinstance(value, tuple):
            some = rng.choice((value[1:], (*value, 1), tuple(rng.randint(0, 3) for _ in value)))
            changed = tuple(rng.choice(HUGE) for _ in value) if huge else some
        else:
            changed = rng.choice(HUGE) if huge else max(0, value + rng.choice((-1, 1, 1, 8)))
        desc = msgspec.structs.replace(desc, **{field.attribute: changed})
    return desc


@pytest.mark.parametrize("huge", [False, True], ids=["small", "huge"])
@pytest.mark.parametrize("name", NAMES)
def test_decisions_are_the_validators(name: str, huge: bool) -> None:
    backend = TorchBackend("cpu")
    seen = dict.fromkeys(Outcome, 0)
    open_but_accepted = 0
    for rng, valid, level in descs(name, 250):
        variants = [(valid, at) for at in rng.sample(list(Level), 2)]
        variants += [(break_desc(rng, valid, huge), level) for _ in range(4)]
        for desc, at in variants:
            outcome = decide(desc, at).outcome
            answer = backend.validate(desc, at)
            seen[outcome] += 1
            assert bool(answer.reason) is not answer.accepted
            if outcome is not Outcome.UNSPECIFIED:
                assert answer.accepted == (outcome is Outcome.ACCEPT), f"{answer} {decide(desc, at)} {desc} at {at}"
            elif answer.accepted and not huge:
                open_but_accepted += execute_blindly(backend, rng, desc, at)
    assert seen[Outcome.ACCEPT] > 100
    assert seen[Outcome.REJECT] > 300
    assert huge or open_but_accepted > 0


def execute_blindly(backend: TorchBackend, rng: random.Random, desc: Any, level: Level) -> bool:
    """Run what the specification leaves open: any values will do, as long as nothing breaks."""
    tensors = {field.attribute: getattr(desc, field.attribute) for field in spec_of(desc).tensor_fields}
    if max(max(t.total_tensor_size_in_bytes, t.guaranteed_base_offset_alignment) for t in tensors.values()) > 2**16:
        return False
    bound = {attribute: bind(rng, tensor) for attribute, tensor in tensors.items()}
    output = bound.pop("output_tensor")
    backend.execute(desc, level, bound, {"output_tensor": output})
    return True


def test_each_kind_of_refusal_says_what_is_wrong() -> None:
    backend = TorchBackend("cpu")
    tensor = TensorDesc.of(DataType.FLOAT32, (2, 3))
    wide = TensorDesc.of(DataType.FLOAT32, (2, 6))
    valid = TileDesc(tensor, wide, (1, 2))
    replace = msgspec.structs.replace
    broken: dict[str, OperatorDesc] = {
        "OutputTensor is missing": replace(valid, output_tensor=None),
        "InputTensor is of type": replace(valid, input_tensor=replace(tensor, type=TensorType.INVALID)),
        "InputTensor has flags 0x2": replace(valid, input_tensor=replace(tensor, flags=2)),
        "OutputTensor is OWNED_BY_DML": replace(valid, output_tensor=replace(wide, flags=1)),
        "InputTensor has data type": replace(valid, input_tensor=replace(tensor, data_type=DataType.FLOAT64)),
        "InputTensor is FLOAT16, the output FLOAT32": replace(
            valid, input_tensor=replace(tensor, data_type=DataType.FLOAT16)
        ),
        "InputTensor has 9 dimensions": replace(valid, input_tensor=TensorDesc.of(DataType.FLOAT32, (1,) * 9)),
        "InputTensor has 3 dimensions, the output 2": replace(
            valid, input_tensor=TensorDesc.of(DataType.FLOAT32, (1, 2, 3))
        ),
        "InputTensor has a size of 0": replace(valid, input_tensor=replace(tensor, sizes=(2, 0))),
        "InputTensor has 4294967296 elements": replace(valid, input_tensor=replace(tensor, sizes=(2**16, 2**16))),
        "InputTensor has strides": replace(valid, input_tensor=replace(tensor, strides=(1,))),
        "OutputTensor has several elements in one place": replace(valid, output_tensor=replace(wide, strides=(0, 1))),
        "InputTensor needs 24 bytes": replace(valid, input_tensor=replace(tensor, total_tensor_size_in_bytes=23)),
        "InputTensor has alignment 2": replace(valid, input_tensor=replace(tensor, guaranteed_base_offset_alignment=2)),
        "RepeatsCount is 1": replace(valid, repeats=(2,)),
        "Repeats is (0, 2)": replace(valid, repeats=(0, 2)),
        "TILE gives sizes (4, 6), OutputTensor has (2, 6)": replace(valid, repeats=(2, 2)),
    }
    assert backend.validate(valid, Level.L3_1).accepted
    for reason, desc in broken.items():
        answer = backend.validate(desc, Level.L3_1)
        assert not answer.accepted
        assert answer.reason.startswith(reason)
    assert "at level 2_0" in backend.validate(next(descs("GATHER_ND", 1))[1], Level.L2_0).reason


def test_bytes_needed_are_what_torch_would_allocate() -> None:
    backend = TorchBackend("cpu")
    for name in NAMES:
        for _, desc, level in descs(name, 20):
            tensor: TensorDesc = desc.input_tensor  # type: ignore[attr-defined]
            dtype = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.data_type.size]
            strides = tensor.strides or packed_strides(tensor.sizes)
            storage = torch.empty_strided(tensor.sizes, strides, dtype=dtype, device="meta").untyped_storage()
            least = -(-storage.nbytes() // 4) * 4
            for total, fits in ((least, True), (least - 1, False)):
                changed = msgspec.structs.replace(tensor, total_tensor_size_in_bytes=total)
                answer = backend.validate(msgspec.structs.replace(desc, input_tensor=changed), level)
                assert answer.accepted is fits, (answer, changed)


def test_sizes_beyond_what_torch_can_address_are_decided_all_the_same() -> None:
    backend = TorchBackend("cpu")
    needed = (2**30 * (2**32 - 1) + 1) * 4
    spread = TensorDesc(DataType.FLOAT32, (2**30 + 1,), (2**32 - 1,), needed)
    packed = TensorDesc.of(DataType.FLOAT32, (2**30 + 1,))
    assert needed > 2**63
    assert backend.validate(TileDesc(spread, packed, (1,)), Level.L4_1).accepted
    short = msgspec.structs.replace(spread, total_tensor_size_in_bytes=needed - 4)
    assert not backend.validate(TileDesc(short, packed, (1,)), Level.L4_1).accepted


def test_repeats_beyond_what_torch_can_count_are_refused() -> None:
    most = 2**32 - 1
    wide = TensorDesc.of(DataType.UINT8, (most,))
    assert TorchBackend("cpu").validate(TileDesc(wide, wide, (1,)), Level.L4_1).accepted
    assert not TorchBackend("cpu").validate(TileDesc(wide, wide, (most,)), Level.L4_1).accepted


def test_batches_that_leave_no_tuple_are_refused() -> None:
    source, indices = TensorDesc.of(DataType.UINT8, (2, 1, 5)), TensorDesc.of(DataType.UINT32, (1, 2, 1))
    desc = GatherNd1Desc(source, indices, TensorDesc.of(DataType.UINT8, (1, 1, 2)), 3, 2, 2)
    assert "2 batch dimensions" in TorchBackend("cpu").validate(desc, Level.L4_1).reason
    right = msgspec.structs.replace(
        desc, batch_dimension_count=1, output_tensor=TensorDesc.of(DataType.UINT8, (1, 2, 5))
    )
    assert TorchBackend("cpu").validate(right, Level.L4_1).accepted


@pytest.mark.parametrize("name", NAMES)
def test_its_own_tables_are_the_pages(name: str) -> None:
    for level in Level:
        own, pages = support_at(OPERATORS[name], level), operator_named(name).table_at(level)
        if own is None or pages is None:
            assert own is pages is None
            continue
        assert own.data_types == pages["data"].data_types
        assert own.index_types == (pages["indices"].data_types if "indices" in pages else frozenset())
        assert all(frozenset(own.dimension_counts) == support.dimension_counts for support in pages.values())


class UnknownDesc(OperatorDesc, frozen=True):
    operator = "SLICE_OF_BREAD"


def test_an_operator_it_does_not_have_is_unsupported() -> None:
    backend = TorchBackend("cpu")
    with pytest.raises(Unsupported, match="SLICE_OF_BREAD"):
        backend.validate(UnknownDesc(), Level.L6_4)
    with pytest.raises(Unsupported, match="SLICE_OF_BREAD"):
        backend.execute(UnknownDesc(), Level.L6_4, {}, {})


# --- what it says of itself -------------------------------------------------------------------------------------------


def test_capabilities(backend: TorchBackend) -> None:
    capabilities = backend.capabilities()
    assert isinstance(capabilities, Capabilities)
    family, _, device = capabilities.name.partition(":")
    assert family in BACKENDS
    assert device in ("cpu", "cuda:0")
    assert capabilities.device
    assert capabilities.versions["torch"] == torch.__version__
    assert capabilities.levels == tuple(Level)
    assert set(capabilities.operators) == set(NAMES) == set(OPERATORS)
    assert capabilities.executes


def test_without_a_name_the_device_is_cuda_where_there_is_one() -> None:
    assert TorchBackend().capabilities().name == ("torch:cuda:0" if HAS_CUDA else "torch:cpu")


@pytest.mark.parametrize("name", ["tpu", "cpu:1", "cuda:x", "cuda:", "CUDA", "cuda:-1"])
def test_a_device_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="use cpu, cuda, or cuda and a number"):
        TorchBackend(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_cuda_where_there_is_none_says_what_to_do(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"no device '.*use torch:cpu, or install"):
        TorchBackend(name)


def test_a_cuda_device_beyond_the_last_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="no device 'cuda:2'; use one of cpu, cuda:0, cuda:1"):
        TorchBackend("cuda:2")


def test_without_torch_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dml_conformance.backends.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'dml-conformance\[torch\]'"):
        importlib.import_module("dml_conformance.backends.torch")


def test_the_first_use_of_a_backend_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rng, desc, level in descs("GATHER_ND1", 5):
            run_and_check(TorchBackend("cpu"), rng, desc, level)
