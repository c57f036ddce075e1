"""SCATTER and SCATTER_ND."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, boundary_runs, small_runs, with_values

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.values import materialize

NAMES = ("SCATTER", "SCATTER_ND")


def tensor(*sizes: int, data_type: DataType = DataType.FLOAT32, strides: tuple[int, ...] | None = None) -> TensorDesc:
    return TensorDesc.of(data_type, sizes, strides)


def indices(*sizes: int, strides: tuple[int, ...] | None = None) -> TensorDesc:
    return tensor(*sizes, data_type=DataType.INT32, strides=strides)


def scatter(source: TensorDesc, index: TensorDesc, axis: int) -> Any:
    return operators()["SCATTER"].desc(source, index, tensor(*index.sizes), source, axis)


def places(run: Run) -> list[tuple[slow.Coordinates, slow.Coordinates]]:
    """Where each update goes: coordinates of the output, and of the update."""
    desc, index = run.desc, run.memory("indices_tensor")
    sizes, found = desc.input_tensor.sizes, []
    for c in slow.walk(desc.updates_tensor.sizes):
        if desc.operator == "SCATTER":
            place = slow.place_named_by(index.number(c), sizes[desc.axis])
            assert place is not None
            found.append(((*c[: desc.axis], place, *c[desc.axis + 1 :]), c))
            continue
        rank, walked = len(sizes), desc.indices_dimension_count - 1
        rest = desc.input_dimension_count - index.tensor.sizes[-1]
        of_tuple, of_block = c[rank - walked - rest : rank - rest], c[rank - rest :]
        first = rank - desc.input_dimension_count
        named = [
            slow.place_named_by(index.number(slow.right_align((*of_tuple, t), rank)), sizes[first + t])
            for t in range(index.tensor.sizes[-1])
        ]
        found.append((((0,) * first + (*named, *of_block)), c))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_slow_reference(name: str) -> None:
    contested = 0
    for run in small_runs(name):
        source, updates = run.memory("input_tensor"), run.memory("updates_tensor")
        written: dict[slow.Coordinates, list[bytes]] = defaultdict(list)
        for place, update in places(run):
            written[place].append(updates.element(update))
        expected = run.expected["output_tensor"]
        for c in slow.walk(run.desc.output_tensor.sizes):
            value, several = expected.values[c].tobytes(), len(written[c]) > 1
            assert value in (written[c] or [source.element(c)])
            assert (expected.one_of is not None and bool(expected.one_of[c])) == several
            contested += several
        assert expected.free is None
        assert (expected.one_of is None) == (expected.memory == "")
    assert contested  # where the indices lie in one place of memory


@pytest.mark.parametrize("name", NAMES)
def test_no_index_is_made_twice(name: str) -> None:
    """Where every index has memory of its own; of whatever pattern and sign they are, and they are not all alike."""
    patterns = set()
    for run in boundary_runs(name, HIGHEST):
        index = run.desc.indices_tensor
        if index.strides is None:
            named = [place for place, _ in places(run)]
            assert len(set(named)) == len(named), run.desc
            patterns.add(run.case.data["indices_tensor"].pattern)
    assert patterns >= {"in-range", "boundary", "negative", "mixed-sign", "far"}


def test_an_index_out_of_range_leaves_everything_open() -> None:
    for index in (3, -4):
        values = np.array([0, index], np.int32)
        desc = scatter(tensor(3), indices(2), 0)
        run = with_values(
            desc,
            HIGHEST,
            input_tensor=np.zeros(3, np.float32),
            indices_tensor=values,
            updates_tensor=np.ones(2, np.float32),
        )
        free = run.expected["output_tensor"].free
        assert free is not None
        assert free.all()


def test_a_permutation_of_the_updates_changes_nothing() -> None:
    random = np.random.default_rng(7)
    desc = scatter(tensor(4, 50), indices(4, 30), 1)
    index = np.stack([random.permutation(50)[:30] for _ in range(4)]).astype(np.int32)
    source, updates = random.random((4, 50), np.float32), random.random((4, 30), np.float32)
    order = random.permutation(30)
    results = [
        with_values(desc, HIGHEST, input_tensor=source, indices_tensor=i, updates_tensor=u).expected["output_tensor"]
        for i, u in ((index, updates), (index[:, order], updates[:, order]))
    ]
    assert (results[0].values == results[1].values).all()
    assert (results[0].values.view(np.float32) != source).sum() == 120


def test_what_is_scattered_can_be_gathered_again() -> None:
    for run in small_runs("SCATTER", 60):
        expected, desc = run.expected["output_tensor"], run.desc
        if expected.one_of is None:
            index = materialize(run.case)["indices_tensor"]
            packed = TensorDesc.of(desc.input_tensor.data_type, desc.input_tensor.sizes)
            gather = operators()["GATHER_ELEMENTS"].desc(packed, desc.indices_tensor, packed, desc.axis)
            gather = with_tensors(gather, {"output_tensor": TensorDesc.of(packed.data_type, desc.indices_tensor.sizes)})
            gathered = with_values(gather, HIGHEST, input_tensor=expected.values, indices_tensor=index)
            found = gathered.expected["output_tensor"].values
            updates = run.memory("updates_tensor")
            assert [e.tobytes() for e in found.reshape(-1)] == [updates.element(c) for c in slow.walk(found.shape)]
