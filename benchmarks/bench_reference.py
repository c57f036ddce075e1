"""The reference: large tensors beside the plain NumPy primitive, and the onnx package's reference evaluator.

What is compared computes the same: every benchmark checks that first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from onnx.reference import ReferenceEvaluator
from racing import Peer, Race, Work
from sizes import Sizes

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import expected_output
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

Array = npt.NDArray[Any]

WITHIN = 1 / 1.5  # as fast, if it takes 1.5 times as long
ROW_BYTES = 1024
INDEX_TYPE = np.dtype(np.int64)
_TYPES = {np.dtype(kind): DataType[np.dtype(kind).name.upper()] for kind in ("u1", "f4", "i8")}


class Call(NamedTuple):
    """One operator on arrays at hand, and the same by another's hand.

    Attributes:
        desc: the descriptor.
        inputs: the arrays behind its input tensors.
        plain: computes the output, apart from leading sizes of 1.
    """

    desc: OperatorDesc
    inputs: dict[str, Array]
    plain: Callable[[], Array]

    def bound(self) -> dict[str, Binding]:
        return {name: Binding(array.view(np.uint8).reshape(-1), 0, array.nbytes) for name, array in self.inputs.items()}


# --- large tensors beside NumPy -----------------------------------------------------------------------------------


def take_rows(size: int) -> Call:
    source = values((size // ROW_BYTES, ROW_BYTES // 4))
    chosen = indices((1, len(source)), len(source))
    desc = GatherDesc(described(source), described(chosen), described(source), 0, 1)
    return Call(desc, indexed(source, chosen), lambda: np.take(source, chosen[0], axis=0))


def take_last_axis(size: int) -> Call:
    source = values(square(size, 4))
    chosen = indices((1, source.shape[1]), source.shape[1])
    desc = GatherDesc(described(source), described(chosen), described(source), 1, 1)
    return Call(desc, indexed(source, chosen), lambda: np.take(source, chosen[0], axis=1))


def take_along_axis_0(size: int) -> Call:
    return take_along_axis(size, 0)


def take_along_last_axis(size: int) -> Call:
    return take_along_axis(size, 1)


def take_along_axis(size: int, axis: int) -> Call:
    source = values(square(size, 4))
    chosen = indices(source.shape, source.shape[axis])
    desc = GatherElementsDesc(described(source), described(chosen), described(source), axis)
    return Call(desc, indexed(source, chosen), lambda: np.take_along_axis(source, chosen, axis))


def fancy_index_elements(size: int) -> Call:
    source = values(square(size, 4))
    chosen = indices((*source.shape, 2), min(source.shape))
    output = described(source, leading=1)
    desc = GatherNdDesc(described(source, leading=1), described(chosen), output, 2, 3)
    return Call(desc, indexed(source, chosen), lambda: source[chosen[..., 0], chosen[..., 1]])


def fancy_index_slices(size: int) -> Call:
    source = values((size // ROW_BYTES, ROW_BYTES // 4))
    chosen = indices((len(source), 1), len(source))
    desc = GatherNdDesc(described(source), described(chosen), described(source), 2, 2)
    return Call(desc, indexed(source, chosen), lambda: source[chosen[:, 0]])


def fancy_index_batches(size: int) -> Call:
    batches = 16
    source = values((batches, size // ROW_BYTES // batches, ROW_BYTES // 4))
    chosen = indices((*source.shape[:2], 1), source.shape[1])
    desc = GatherNd1Desc(described(source), described(chosen), described(source), 3, 3, 1)
    batch = np.arange(batches)[:, None]
    return Call(desc, indexed(source, chosen), lambda: source[batch, chosen[..., 0]])


def tile_float32(size: int) -> Call:
    return tile(size, np.float32)


def tile_uint8(size: int) -> Call:
    return tile(size, np.uint8)


def tile(size: int, kind: type[np.generic]) -> Call:
    source = values(square(size // 4, np.dtype(kind).itemsize), kind)
    rows, columns = source.shape
    output = TensorDesc.of(_TYPES[source.dtype], (2 * rows, 2 * columns))
    desc = TileDesc(described(source), output, (2, 2))
    return Call(desc, {"input_tensor": source}, lambda: np.tile(source, (2, 2)))


LARGE = {
    "GATHER rows of 1 KiB": ("np.take", take_rows),
    "GATHER last axis": ("np.take", take_last_axis),
    "GATHER_ELEMENTS axis 0": ("np.take_along_axis", take_along_axis_0),
    "GATHER_ELEMENTS last axis": ("np.take_along_axis", take_along_last_axis),
    "GATHER_ND single elements": ("array[i, j]", fancy_index_elements),
    "GATHER_ND slices of 1 KiB": ("array[i]", fancy_index_slices),
    "GATHER_ND1 slices of 1 KiB": ("array[batch, i]", fancy_index_batches),
    "TILE 2x2 FLOAT32": ("np.tile", tile_float32),
    "TILE 2x2 UINT8": ("np.tile", tile_uint8),
}


@pytest.mark.parametrize("name", LARGE)
def bench_numpy(race: Race, sizes: Sizes, name: str) -> None:
    primitive, make = LARGE[name]
    call = make(sizes.large_bytes)
    reference, plain = ready(call)
    size = reference().nbytes

    def run(compute: Callable[[], Array]) -> Callable[[], int]:
        def once() -> int:
            compute()
            return size

        return once

    work = Work(f"{name}, large", run(reference))
    race("bytes", work, Peer(Work(primitive, run(plain)), WITHIN))


# --- beside the onnx package --------------------------------------------------------------------------------------


def onnx_gather(rows: int) -> Call:
    source, chosen = values((4, 6)), indices((1, 3), 4)
    output = TensorDesc.of(DataType.FLOAT32, (3, 6))
    desc = GatherDesc(described(source), described(chosen), output, 0, 1)
    return Call(desc, indexed(source, chosen), evaluated("Gather", [source, chosen[0]], axis=0))


def onnx_gather_elements(rows: int) -> Call:
    source, chosen = values((4, 6)), indices((2, 6), 4)
    output = TensorDesc.of(DataType.FLOAT32, (2, 6))
    desc = GatherElementsDesc(described(source), described(chosen), output, 0)
    return Call(desc, indexed(source, chosen), evaluated("GatherElements", [source, chosen], axis=0))


def onnx_gather_nd(rows: int) -> Call:
    source, chosen = values((64, 64)), indices((rows, 2), 64)
    output = TensorDesc.of(DataType.FLOAT32, (1, rows))
    desc = GatherNdDesc(described(source), described(chosen), output, 2, 2)
    return Call(desc, indexed(source, chosen), evaluated("GatherND", [source, chosen]))


def onnx_gather_nd1(rows: int) -> Call:
    source, chosen = values((2, 3, 4)), indices((2, 3, 1), 3)
    output = TensorDesc.of(DataType.FLOAT32, (2, 3, 4))
    desc = GatherNd1Desc(described(source), described(chosen), output, 3, 3, 1)
    return Call(desc, indexed(source, chosen), evaluated("GatherND", [source, chosen], batch_dims=1))


def onnx_tile(rows: int) -> Call:
    source, repeats = values((2, 3)), np.array((2, 2), INDEX_TYPE)
    desc = TileDesc(described(source), TensorDesc.of(DataType.FLOAT32, (4, 6)), (2, 2))
    return Call(desc, {"input_tensor": source}, evaluated("Tile", [source, repeats]))


SMALL = {
    "GATHER": onnx_gather,
    "GATHER_ELEMENTS": onnx_gather_elements,
    "GATHER_ND": onnx_gather_nd,
    "GATHER_ND1": onnx_gather_nd1,
    "TILE": onnx_tile,
}


@pytest.mark.parametrize("name", SMALL)
def bench_onnx_small(race: Race, sizes: Sizes, name: str) -> None:
    """A dozen elements: what a call costs whatever it does."""
    reference, plain = ready(SMALL[name](4))

    def run(compute: Callable[[], Array]) -> Callable[[], int]:
        def repeatedly() -> int:
            for _ in range(sizes.calls):
                compute()
            return sizes.calls

        return repeatedly

    race("calls", Work(f"{name}, small", run(reference)), Peer(Work("onnx, the same", run(plain)), 1))


def bench_onnx_gather_nd(race: Race, sizes: Sizes) -> None:
    rows = sizes.index_rows
    reference, plain = ready(onnx_gather_nd(rows))

    def run(compute: Callable[[], Array]) -> Callable[[], int]:
        def once() -> int:
            compute()
            return rows

        return once

    race("rows", Work("GATHER_ND, many rows", run(reference)), Peer(Work("onnx, the same", run(plain)), 10), heavy=True)


# --- tools --------------------------------------------------------------------------------------------------------


def values(sizes: tuple[int, ...], kind: type[np.generic] = np.float32) -> Array:
    """Whole numbers: every one its own representation, so that equal values are equal bits."""
    return np.random.default_rng(0).integers(0, 200, sizes).astype(kind)


def indices(sizes: tuple[int, ...], limit: int) -> Array:
    return np.random.default_rng(1).integers(0, limit, sizes, INDEX_TYPE)


def indexed(source: Array, chosen: Array) -> dict[str, Array]:
    return {"input_tensor": source, "indices_tensor": chosen}


def described(array: Array, leading: int = 0) -> TensorDesc:
    """The array as a packed tensor, with leading sizes of 1."""
    return TensorDesc.of(_TYPES[array.dtype], (1,) * leading + array.shape)


def square(size: int, element: int) -> tuple[int, int]:
    """Two equal sizes, of `size` bytes together."""
    side = int((size // element) ** 0.5)
    return side, side


def evaluated(name: str, inputs: list[Array], **attributes: Any) -> Callable[[], Array]:
    """A model of one node, in the onnx package's reference evaluator."""
    names = [f"input{n}" for n in range(len(inputs))]
    node = onnx.helper.make_node(name, names, ["output"], **attributes)
    graph = onnx.helper.make_graph(
        [node],
        name,
        [
            onnx.helper.make_tensor_value_info(each, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for each, array in zip(names, inputs, strict=True)
        ],
        [onnx.helper.make_tensor_value_info("output", onnx.TensorProto.FLOAT, None)],
    )
    evaluator = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]))
    feeds = dict(zip(names, inputs, strict=True))

    def evaluate() -> Array:
        (output,) = evaluator.run(None, feeds)
        return cast(Array, output)

    return evaluate


def ready(call: Call) -> tuple[Callable[[], Array], Callable[[], Array]]:
    """Reference and peer, ready to be called, after both have computed the same."""
    assert decide(call.desc, HIGHEST).outcome is Outcome.ACCEPT
    bound = call.bound()

    def reference() -> Array:
        result: Array = expected_output(call.desc, bound)["output_tensor"].values
        return result

    found, wanted = reference(), call.plain()
    np.testing.assert_array_equal(found.view(wanted.dtype).reshape(wanted.shape), wanted)
    return reference, call.plain
