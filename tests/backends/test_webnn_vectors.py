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
from slow_reference import bind, read_output, store

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.spec.datatypes import DataType
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
        inputs: the bound input tensors by Python attribute name.
        expected: bit patterns of the output's elements, in row-major order.
    """

    desc: OperatorDesc
    inputs: Mapping[str, Binding]
    expected: list[int]


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
    expected = bit_patterns(vector["expected"])
    for desc in descs:
        inputs = {f"{name}_tensor": _bound(tensor(described), described) for name, described in named.items()}
        yield Case(desc, inputs, expected)


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
    assert counts == {"gather": 38, "gather_elements": 12, "gather_nd": 14, "tile": 6}
    assert len({vector["id"] for vector in vectors()}) == 70
    # gather_nd is stated twice: as GATHER_ND and as GATHER_ND1 without batches.
    assert len(CASES) == 70 + 14


@pytest.mark.parametrize("case", CASES)
def test_vector(case: Case, backend: Backend) -> None:
    assert decide(case.desc, HIGHEST).outcome is Outcome.ACCEPT
    assert backend.validate(case.desc, HIGHEST).accepted
    tensor = getattr(case.desc, "output_tensor")  # noqa: B009 - OperatorDesc names no tensors
    output = bind(tensor, b"\xcd")
    backend.execute(case.desc, HIGHEST, case.inputs, {"output_tensor": output})
    assert read_output(case.desc, output) == case.expected
