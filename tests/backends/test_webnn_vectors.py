"""Expected outputs that others wrote: the WebNN conformance tests, on every backend that runs on the host.

`data/webnn_vectors.jsonl` has one vector a line: `id`, `op`, `source`, `params`, `inputs` and `expected`; a tensor is
`{"dtype", "shape", "data"}`, flat and row-major. See the README beside it.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import pytest
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from places import TESTS
from slow_reference import Memory, bind, store, walk

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes, outputs
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

VECTORS = TESTS / "data" / "webnn_vectors.jsonl"

# struct's codes for what a bit pattern is packed from, and for the unsigned integer of its width.
_PACKED = {
    "float32": ("<f", "<I"),
    "float16": ("<e", "<H"),
    "int32": ("<i", "<I"),
    "uint32": ("<I", "<I"),
    "int64": ("<q", "<Q"),
}


class Case(NamedTuple):
    """A vector stated as one DirectML operator.

    Attributes:
        desc: the descriptor.
        inputs: the bound input tensors by slot.
        expected: bit patterns of each output's elements, in row-major order, by slot.
    """

    desc: OperatorDesc
    inputs: Mapping[str, Binding]
    expected: Mapping[str, list[int]]


@cache
def vectors() -> tuple[dict[str, Any], ...]:
    """All vectors, in the order of the file."""
    return tuple(json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines())


def bit_patterns(tensor: Mapping[str, Any]) -> list[int]:
    packed, unsigned = _PACKED[tensor["dtype"]]
    return [struct.unpack(unsigned, struct.pack(packed, value))[0] for value in tensor["data"]]


def cases(vector: Mapping[str, Any]) -> Iterator[Case]:
    """The vector as each DirectML operator that can state it.

    With r, q and o the ranks of input, indices and output, every tensor gets max(1, r, q, o) dimensions, right-aligned
    with leading ones. gather_nd is GATHER_ND, and GATHER_ND1 with a BatchDimensionCount of 0.
    """
    named, params = vector["inputs"], vector["params"]
    if vector["op"] in BLOCKS:
        yield from BLOCKS[vector["op"]](vector)
        return
    shapes = [named[name]["shape"] for name in named] + [vector["expected"]["shape"]]
    rank = max(1, *map(len, shapes))

    def tensor(described: Mapping[str, Any]) -> TensorDesc:
        shape = described["shape"]
        return TensorDesc.of(DataType[described["dtype"].upper()], (1,) * (rank - len(shape)) + tuple(shape))

    source, output = tensor(named["input"]), tensor(vector["expected"])
    input_rank = len(named["input"]["shape"])
    descs: list[OperatorDesc]
    if vector["op"] == "tile":
        repeats = tuple(params["repeats"])
        descs = [TileDesc(source, output, (1,) * (rank - len(repeats)) + repeats)]
    else:
        indices, index_rank = tensor(named["indices"]), len(named["indices"]["shape"])
        if vector["op"] == "gather":
            axis = rank - input_rank + params["axis"] % input_rank
            descs = [GatherDesc(source, indices, output, axis, index_rank)]
        elif vector["op"] == "gather_elements":
            descs = [GatherElementsDesc(source, indices, output, params["axis"] % input_rank)]
        else:
            assert vector["op"] == "gather_nd"
            descs = [
                GatherNdDesc(source, indices, output, input_rank, index_rank),
                GatherNd1Desc(source, indices, output, input_rank, index_rank, 0),
            ]
    expected = {"output_tensor": bit_patterns(vector["expected"])}
    for desc in descs:
        inputs = {f"{name}_tensor": _bound(tensor(described), described) for name, described in named.items()}
        yield Case(desc, inputs, expected)


def _as_tensor(described: Mapping[str, Any]) -> TensorDesc:
    """The tensor as it is; a scalar gets a dimension."""
    return TensorDesc.of(DataType[described["dtype"].upper()], tuple(described["shape"]) or (1,))


def _slice(vector: Mapping[str, Any]) -> Iterator[Case]:
    """SLICE1, whose window is WebNN's, and SLICE, which has the sizes of what is copied."""
    source, output, params = vector["inputs"]["input"], vector["expected"], vector["params"]
    tensors = _as_tensor(source), _as_tensor(output)
    offsets, strides = (tuple(params[name]) or (least,) for name, least in (("starts", 0), ("strides", 1)))
    inputs, expected = {"input_tensor": _bound(tensors[0], source)}, {"output_tensor": bit_patterns(output)}
    for name, sizes in (("SLICE1", tuple(params["sizes"]) or (1,)), ("SLICE", tensors[1].sizes)):
        yield Case(descriptor_classes()[name](*tensors, offsets, sizes, strides), inputs, expected)


def _pad(vector: Mapping[str, Any]) -> Iterator[Case]:
    source, output, params = vector["inputs"]["input"], vector["expected"], vector["params"]
    tensors = _as_tensor(source), _as_tensor(output)
    mode, value = int(enumeration("DML_PADDING_MODE")[params["mode"].upper()]), params["value"]
    inputs, expected = {"input_tensor": _bound(tensors[0], source)}, {"output_tensor": bit_patterns(output)}
    pads = tuple(params["beginning_padding"]), tuple(params["ending_padding"])
    for name, typed in (("PADDING", ()), ("PADDING1", (int(tensors[0].data_type),))):
        yield Case(descriptor_classes()[name](*tensors, mode, *typed, value, *pads), inputs, expected)


def _concat(vector: Mapping[str, Any]) -> Iterator[Case]:
    parts, output = list(vector["inputs"].values()), vector["expected"]
    tensors = tuple(map(_as_tensor, parts))
    desc = descriptor_classes()["JOIN"](tensors, _as_tensor(output), vector["params"]["axis"])
    bindings = [_bound(tensor, part) for tensor, part in zip(tensors, parts, strict=True)]
    inputs = {f"input_tensors[{n}]": binding for n, binding in enumerate(bindings)}
    yield Case(desc, inputs, {"output_tensor": bit_patterns(output)})


def _split(vector: Mapping[str, Any]) -> Iterator[Case]:
    source, parts = vector["inputs"]["input"], vector["expected"]
    tensor, outputs = _as_tensor(source), tuple(map(_as_tensor, parts))
    desc = descriptor_classes()["SPLIT"](tensor, outputs, vector["params"]["axis"])
    expected = {f"output_tensors[{n}]": bit_patterns(part) for n, part in enumerate(parts)}
    yield Case(desc, {"input_tensor": _bound(tensor, source)}, expected)


BLOCKS = {"slice": _slice, "pad": _pad, "concat": _concat, "split": _split}


def _bound(tensor: TensorDesc, described: Mapping[str, Any]) -> Binding:
    binding = bind(tensor, b"\0")
    store(tensor, binding, bit_patterns(described))
    return binding


CASES = [
    pytest.param(case, id=f"{vector['id']}-{case.desc.operator}") for vector in vectors() for case in cases(vector)
]


@pytest.fixture(scope="module", params=["reference", "torch"])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "reference":
        return ReferenceBackend()
    pytest.importorskip("torch")
    from dml_conformance.backends.torch import TorchBackend

    return TorchBackend("cpu")


def test_all_vectors_are_here() -> None:
    counts = Counter(vector["op"] for vector in vectors())
    assert {op: count for op, count in counts.items() if op not in BLOCKS} == {
        "gather": 38,
        "gather_elements": 12,
        "gather_nd": 14,
        "tile": 6,
    }
    assert {op: counts[op] for op in BLOCKS} == {"slice": 17, "pad": 9, "concat": 44, "split": 18}
    assert len({vector["id"] for vector in vectors()}) == counts.total()
    # These are stated twice: gather_nd also as GATHER_ND1 without batches, slice as SLICE1, pad as PADDING1.
    assert len(CASES) == counts.total() + counts["gather_nd"] + counts["slice"] + counts["pad"]


@pytest.mark.parametrize("case", CASES)
def test_vector(case: Case, backend: Backend) -> None:
    assert decide(case.desc, HIGHEST).outcome is Outcome.ACCEPT
    assert backend.validate(case.desc, HIGHEST).accepted
    targets = {slot.key: bind(slot.tensor, b"\xcd") for slot in outputs(case.desc)}
    backend.execute(case.desc, HIGHEST, case.inputs, targets)
    for slot in outputs(case.desc):
        memory = Memory(bytes(targets[slot.key].view), slot.tensor)
        found = [int.from_bytes(memory.element(place), "little") for place in walk(slot.tensor.sizes)]
        assert found == case.expected[slot.key]
