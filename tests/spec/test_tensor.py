"""The arithmetic on tensors against brute force."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from dml_conformance.spec import tensor as tensor_module
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.tensor import (
    TensorDesc,
    clusters,
    elements_overlap,
    implied_size_in_bytes,
    minimum_size_in_bytes,
    packed_strides,
    product,
    span_in_elements,
    without_gaps,
)

SIZED = [data_type for data_type in DataType if data_type.bits >= 8]


def places(sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Where every element stands, one by one."""
    return [
        sum(i * stride for i, stride in zip(coordinates, strides, strict=True))
        for coordinates in itertools.product(*map(range, sizes))
    ]


def layouts(count: int, seed: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Small layouts of all kinds: any strides, near misses, permuted and padded ones, broadcast dimensions."""
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        rank = rng.randint(1, 5)
        sizes = tuple(rng.randint(1, 4) for _ in range(rank))
        kind = rng.randrange(3)
        if kind == 0:
            strides = tuple(rng.randint(0, 12) for _ in range(rank))
        else:
            order = rng.sample(range(rank), rank)
            chosen, step = [0] * rank, 1
            for d in order:
                chosen[d] = step
                step = max(step * sizes[d] + rng.choice((0, 0, 1, 3, -1)), 1)
            if kind == 2:
                chosen[rng.randrange(rank)] = rng.choice((0, 1, 2))
            strides = tuple(chosen)
        result.append((sizes, strides))
    return result


@pytest.mark.parametrize("seed", range(4))
def test_overlap_is_what_brute_force_finds(seed: int) -> None:
    found = {True: 0, False: 0}
    for sizes, strides in layouts(2000, seed):
        where = places(sizes, strides)
        expected = len(set(where)) < len(where)
        assert elements_overlap(sizes, strides) is expected, (sizes, strides)
        found[expected] += 1
    assert min(found.values()) > 200  # both answers are tried


def test_overlap_is_found_in_interleaved_layouts() -> None:
    # Neither dimension steps over the other: only a search tells.
    assert elements_overlap((3, 3), (2, 3)) is False
    assert elements_overlap((3, 3), (2, 4)) is True
    assert elements_overlap((4, 4), (6, 9)) is True
    assert elements_overlap((3, 4), (6, 9)) is False


def test_overlap_of_huge_tensors_is_told_at_once() -> None:
    assert elements_overlap((2**31, 2), (1, 2**31)) is False
    assert elements_overlap((2**31, 2), (1, 2**31 - 1)) is True
    assert elements_overlap((2**31, 2), (0, 1)) is True


@pytest.mark.parametrize("seed", range(2))
def test_span_ends_with_the_last_element(seed: int) -> None:
    for sizes, strides in layouts(500, seed):
        assert span_in_elements(sizes, strides) == max(places(sizes, strides)) + 1
        assert span_in_elements(sizes, None) == product(sizes)


def test_packed_strides_number_the_elements() -> None:
    for sizes in itertools.product(range(1, 4), repeat=4):
        assert places(sizes, packed_strides(sizes)) == list(range(product(sizes)))
    assert packed_strides(()) == ()


@pytest.mark.parametrize("data_type", SIZED, ids=lambda data_type: data_type.name)
def test_minimum_size_is_the_formula_of_the_helpers_page(data_type: DataType) -> None:
    for sizes, strides in layouts(200, 7):
        last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        size = (last + 1) * data_type.size
        assert implied_size_in_bytes(data_type, sizes, strides) == size
        minimum = minimum_size_in_bytes(data_type, sizes, strides)
        assert minimum % 4 == 0
        assert size <= minimum < size + 4
        assert TensorDesc.of(data_type, sizes, strides).total_tensor_size_in_bytes == minimum
        assert minimum_size_in_bytes(data_type, sizes, None) == minimum_size_in_bytes(
            data_type, sizes, packed_strides(sizes)
        )


def test_sizes_do_not_wrap() -> None:
    assert minimum_size_in_bytes(DataType.UINT8, (3,), (2**31,)) == 2**32 + 4
    assert minimum_size_in_bytes(DataType.FLOAT64, (2**32 - 1,), None) == (2**32 - 1) * 8


def test_element_sizes_are_those_of_the_names() -> None:
    for data_type in SIZED:
        assert data_type.name.endswith(str(data_type.size * 8))


def test_clusters_have_every_element_and_little_between(monkeypatch: pytest.MonkeyPatch) -> None:
    far = 24
    monkeypatch.setattr(tensor_module, "FAR", far)
    rng, found = random.Random(3), set()
    for sizes, small in layouts(2_000, 11):
        strides = tuple(stride * rng.choice((1, 1, 7, 100)) for stride in small)
        tensor = TensorDesc.of(DataType.UINT16, sizes, strides)
        parts, elements = clusters(tensor), sorted(set(places(sizes, strides)))
        found.add(min(len(parts), 3))
        if len(parts) == 1:
            assert parts == [slice(0, tensor.total_tensor_size_in_bytes)]
            continue
        held = [n for part in parts for n in range(part.start // 2, part.stop // 2)]
        assert len(set(held)) == len(held)
        assert set(elements) <= set(held)
        together = without_gaps(tensor)
        assert len(clusters(together)) == 1
        moved = zip(places(sizes, strides), places(sizes, together.effective_strides), strict=True)
        assert all(held[after] == before for before, after in moved)
    assert found == {1, 2, 3}


def test_a_gap_is_one_where_no_element_lies_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_module, "FAR", 24)
    assert clusters(TensorDesc.of(DataType.UINT8, (2, 3), (27, 1))) == [slice(0, 3), slice(27, 30)]
    assert clusters(TensorDesc.of(DataType.UINT8, (2, 3), (26, 1))) == [slice(0, 32)]
    assert clusters(TensorDesc.of(DataType.UINT8, (2, 3), (1, 27))) == [slice(0, 2), slice(27, 29), slice(54, 56)]
    assert len(clusters(TensorDesc.of(DataType.UINT8, (3, 2), (50, 70)))) == 1  # 70 lies between 50 and 100
    assert len(clusters(TensorDesc.of(DataType.UINT8, (2, 2, 2), (27, 27, 1)))) == 1
    assert len(clusters(TensorDesc.of(DataType.UINT4, (2, 3), (100, 1)))) == 1


def test_effective_strides() -> None:
    assert TensorDesc.of(DataType.INT8, (2, 3)).effective_strides == (3, 1)
    assert TensorDesc.of(DataType.INT8, (2, 3), (1, 2)).effective_strides == (1, 2)
    assert TensorDesc.of(DataType.INT8, (2, 3), (0, 1)).element_count == 6
    assert TensorDesc.of(DataType.INT8, (2, 3)).dimension_count == 2
