"""ONE_HOT."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import INDEX_TYPES, DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc


def slow_elements(run: Run) -> Iterator[bytes | None]:
    """`on` where the index names the coordinate along Axis, else `off`; None where the index is below -size."""
    desc, indices, values = run.desc, run.memory("indices_tensor"), run.memory("values_tensor")
    first, second, *_ = slow.walk(desc.values_tensor.sizes)
    off, on = values.element(first), values.element(second)
    size = desc.output_tensor.sizes[desc.axis]
    for c in slow.walk(desc.output_tensor.sizes):
        index = indices.number((*c[: desc.axis], 0, *c[desc.axis + 1 :]))
        yield None if index < -size else on if c[desc.axis] == slow.place_named_by(index, size) else off


def test_agrees_with_the_slow_reference() -> None:
    left_open = 0
    for run in small_runs("ONE_HOT", 300):
        expected = run.expected["output_tensor"]
        is_open = np.zeros(expected.values.size, bool) if expected.one_of is None else expected.one_of.reshape(-1)
        for element, found, may_be_other in zip(slow_elements(run), expected.values.flat, is_open, strict=True):
            assert (element is None) == may_be_other
            assert element is None or int.from_bytes(element, "little") == found, run.desc
        left_open += int(is_open.sum())
        parts = run.parts("output_tensor").values
        assert (parts == expected.values).reshape(-1)[~is_open].all()
    assert left_open


def one_hot(index_type: DataType, *indices: int, size: int = 4, off: float = 5, on: float = 9) -> Run:
    desc = operators()["ONE_HOT"].desc(
        TensorDesc.of(index_type, (len(indices), 1)),
        TensorDesc.of(DataType.FLOAT32, (2, 1)),
        TensorDesc.of(DataType.FLOAT32, (len(indices), size)),
        1,
    )
    as_type = np.array(indices, index_type.name.lower())
    return with_values(desc, HIGHEST, indices_tensor=as_type, values_tensor=np.array([off, on], np.float32))


@pytest.mark.parametrize("index_type", sorted(INDEX_TYPES), ids=lambda data_type: data_type.name)
def test_indices_in_range_and_beyond(index_type: DataType) -> None:
    assert index_type.limits is not None
    low, high = index_type.limits
    run = one_hot(index_type, 0, 3, 4, high, high // 2 + 1, high - 3)
    expected = run.expected["output_tensor"]
    assert expected.open is None
    found = numbers(expected.values, DataType.FLOAT32)
    assert (found == 9).sum(1).tolist() == [1, 1, 0, 0, 0, 0]
    assert (found[0, 0], found[1, 3]) == (9, 9)
    assert_conforms(TorchBackend("cpu"), run)
    if low < 0:
        run = one_hot(index_type, -1, -4, -5, low)
        expected = run.expected["output_tensor"]
        assert expected.one_of is not None
        assert expected.memory == "values_tensor"
        assert expected.one_of.all(1).tolist() == [False, False, True, True]
        found = numbers(expected.values, DataType.FLOAT32)
        assert (found[0, 3], found[1, 0]) == (9, 9)
        assert_conforms(TorchBackend("cpu"), run)


def test_negative_indices_are_those_from_the_end() -> None:
    forward, backward = one_hot(DataType.INT32, 0, 1, 2, 3), one_hot(DataType.INT32, -4, -3, -2, -1)
    assert (forward.expected["output_tensor"].values == backward.expected["output_tensor"].values).all()


def test_off_and_on_change_places() -> None:
    plain = numbers(one_hot(DataType.UINT32, 1, 7, 3).expected["output_tensor"].values, DataType.FLOAT32)
    turned = numbers(one_hot(DataType.UINT32, 1, 7, 3, off=9, on=5).expected["output_tensor"].values, DataType.FLOAT32)
    assert (plain + turned == 14).all()
