"""FOLD and UNFOLD: windows as columns, and their sum, with the pages' formulas in plain Python."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import slow_reference as slow
from family_cases import Run, small_runs, with_values

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.fold import windows
from dml_conformance.spec.tensor import TensorDesc

CLASSES: Any = descriptor_classes()
F32 = DataType.FLOAT32


def pairs(desc: Any, image: TensorDesc) -> list[tuple[tuple[int, ...], tuple[int, ...] | None]]:
    """For every element of the blocks its place in the image; None in the padding."""
    counts = windows(desc)
    assert isinstance(counts, tuple)
    found = []
    for n, c in product(range(image.sizes[0]), range(image.sizes[1])):
        for row, w in enumerate(slow.walk(desc.window_sizes)):
            for column, b in enumerate(slow.walk(counts)):
                place = [
                    b[d] * desc.strides[d] + w[d] * desc.dilations[d] - desc.start_padding[d] for d in range(len(w))
                ]
                inside = all(0 <= at < size for at, size in zip(place, image.sizes[2:], strict=True))
                found.append(((n, c * prod(desc.window_sizes) + row, column), (n, c, *place) if inside else None))
    return found


def number(element: bytes) -> float:
    return float(np.frombuffer(element, "<f4")[0])


def output(run: Run) -> Any:
    expected = run.expected["output_tensor"]
    assert expected.open is None
    return expected.values


def test_unfold_agrees_with_the_pages_formula() -> None:
    for run in small_runs("UNFOLD", 60):
        source = run.memory("input_tensor")
        slowly = {
            block: b"\0" * 4 if place is None else source.element(place)
            for block, place in pairs(run.desc, run.desc.input_tensor)
        }
        expected = [int.from_bytes(slowly[c], "little") for c in slow.walk(run.desc.output_tensor.sizes)]
        assert output(run).reshape(-1).tolist() == expected, run.desc


def test_fold_agrees_with_the_pages_formula() -> None:
    for run in small_runs("FOLD", 60):
        source = run.memory("input_tensor")
        sums = dict.fromkeys(slow.walk(run.desc.output_tensor.sizes), 0.0)
        for block, place in pairs(run.desc, run.desc.output_tensor):
            if place is not None:
                sums[place] += number(source.element(block))
        assert output(run).view(np.float32).reshape(-1).tolist() == list(sums.values()), run.desc


def unfolded(values: Any, blocks: tuple[int, ...], steps: tuple[tuple[int, ...], ...]) -> Any:
    desc = CLASSES["UNFOLD"](TensorDesc.of(F32, values.shape), TensorDesc.of(F32, blocks), *steps)
    return output(with_values(desc, HIGHEST, input_tensor=values.astype(np.float32))).view(np.float32)


def folded(columns: Any, sizes: tuple[int, ...], steps: tuple[tuple[int, ...], ...]) -> Any:
    desc = CLASSES["FOLD"](TensorDesc.of(F32, columns.shape), TensorDesc.of(F32, sizes), *steps)
    return output(with_values(desc, HIGHEST, input_tensor=columns.astype(np.float32))).view(np.float32)


IMAGE = np.arange(1, 2 * 2 * 6 * 8 + 1).reshape(2, 2, 6, 8)
# Windows, strides, dilations, padding before and behind; with the blocks that an image has.
APART = ((3, 2), (3, 2), (1, 1), (0, 0), (0, 0)), (2, 12, 8)
DENSE = ((3, 2), (2, 1), (1, 2), (1, 0), (2, 1)), (2, 12, 28)


def test_windows_that_tile_the_image_fold_back_to_it() -> None:
    assert np.array_equal(folded(unfolded(IMAGE, APART[1], APART[0]), IMAGE.shape, APART[0]), IMAGE)


def test_what_overlaps_comes_back_as_often_as_it_is_seen() -> None:
    seen = folded(unfolded(np.ones(IMAGE.shape), DENSE[1], DENSE[0]), IMAGE.shape, DENSE[0])
    assert np.array_equal(folded(unfolded(IMAGE, DENSE[1], DENSE[0]), IMAGE.shape, DENSE[0]), seen * IMAGE)
    assert seen.max() > 1


def test_fold_is_the_transpose_of_unfold() -> None:
    random = np.random.default_rng(4)
    image, columns = random.integers(-4, 5, IMAGE.shape), random.integers(-4, 5, DENSE[1])
    assert (unfolded(image, DENSE[1], DENSE[0]) * columns).sum() == (
        folded(columns, IMAGE.shape, DENSE[0]) * image
    ).sum()


def test_sums_that_depend_on_their_order_are_not_judged() -> None:
    desc = CLASSES["FOLD"](TensorDesc.of(F32, (1, 2, 2)), TensorDesc.of(F32, (1, 1, 3)), (2,), (1,), (1,), (0,), (0,))
    columns = np.array([[[0.25, 2.0], [3.0, 2.0**25]]], np.float32)
    expected = with_values(desc, HIGHEST, input_tensor=columns).expected["output_tensor"]
    assert expected.free is not None
    assert expected.free.reshape(-1).tolist() == [True, False, True]
    assert expected.values.view(np.float32).reshape(-1).tolist() == [0.25, 5.0, 2.0**25]
