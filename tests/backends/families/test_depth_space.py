"""SPACE_TO_DEPTH, DEPTH_TO_SPACE and their successors: where each element goes, and what undoes what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, small_runs, with_values

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

NAMES = ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH1", "DEPTH_TO_SPACE1")
CLASSES: Any = descriptor_classes()
DEPTH_COLUMN_ROW, COLUMN_ROW_DEPTH = 0, 1
ORDERS = [(), (DEPTH_COLUMN_ROW,), (COLUMN_ROW_DEPTH,)]  # the older operators have none


def deep_place(wide: tuple[int, ...], channels: int, block: int, order: int) -> tuple[int, ...]:
    """Where the tensor of many channels has what the other one has at some coordinates."""
    n, c, y, x = wide
    row, column = y % block, x % block
    if order == DEPTH_COLUMN_ROW:
        return n, (row * block + column) * channels + c, y // block, x // block
    return n, (c * block + row) * block + column, y // block, x // block


def slowly(run: Run) -> list[int]:
    desc, source = run.desc, run.memory("input_tensor")
    is_to_depth, order = desc.operator.startswith("SPACE"), getattr(desc, "order", DEPTH_COLUMN_ROW)
    wide = (desc.input_tensor if is_to_depth else desc.output_tensor).sizes
    places = {c: deep_place(c, wide[1], desc.block_size, order) for c in slow.walk(wide)}
    if is_to_depth:
        places = {deep: c for c, deep in places.items()}
    return [int.from_bytes(source.element(places[c]), "little") for c in slow.walk(desc.output_tensor.sizes)]


def output(run: Run) -> Any:
    expected = run.expected["output_tensor"]
    assert expected.open is None
    return expected.values


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_agrees_with_the_pages_formula(name: str) -> None:
    for run in small_runs(name):
        assert output(run).reshape(-1).tolist() == slowly(run), run.desc


def moved(name: str, values: Any, sizes: tuple[int, ...], block: int, order: tuple[int, ...]) -> Any:
    tensors = TensorDesc.of(DataType.UINT16, values.shape), TensorDesc.of(DataType.UINT16, sizes)
    suffix = "1" if order else ""
    return output(with_values(CLASSES[name + suffix](*tensors, block, *order), HIGHEST, input_tensor=values))


VALUES = np.arange(2 * 3 * 6 * 12, dtype=np.uint16).reshape(2, 3, 6, 12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("block", [1, 2, 3, 6])
def test_one_undoes_the_other(order: tuple[int, ...], block: int) -> None:
    deep = moved("SPACE_TO_DEPTH", VALUES, (2, 3 * block**2, 6 // block, 12 // block), block, order)
    assert np.array_equal(moved("DEPTH_TO_SPACE", deep, VALUES.shape, block, order), VALUES)
    assert block == 1 or not np.array_equal(deep.reshape(-1), VALUES.reshape(-1))


def test_blocks_of_blocks_are_larger_blocks() -> None:
    """In an image of one channel, up to the order of the places in a block."""
    image = VALUES.reshape(1, 1, 36, 12)
    twice = moved("SPACE_TO_DEPTH", moved("SPACE_TO_DEPTH", image, (1, 4, 18, 6), 2, ()), (1, 36, 6, 2), 3, ())
    once = moved("SPACE_TO_DEPTH", image, (1, 36, 6, 2), 6, ())
    assert np.array_equal(np.sort(twice, axis=1), np.sort(once, axis=1))


def test_orders_are_the_same_in_one_channel_and_only_there() -> None:
    image, images = VALUES[:1, :1], VALUES
    by_order = [moved("SPACE_TO_DEPTH", image, (1, 4, 3, 6), 2, order) for order in ORDERS]
    assert all(np.array_equal(found, by_order[0]) for found in by_order)
    by_order = [moved("SPACE_TO_DEPTH", images, (2, 12, 3, 6), 2, order) for order in ORDERS]
    assert np.array_equal(by_order[0], by_order[1])
    assert not np.array_equal(by_order[0], by_order[2])
