"""FOLD and UNFOLD: windows as columns, and their sum, with the pages' formulas in plain Python."""

from __future__ import annotations

import math
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
    return run.expected["output_tensor"].values


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
    """Sums of finite numbers lie in the middle of what is right, and are all that is where they are of whole ones."""
    seen = exact = 0
    for run in small_runs("FOLD", 60):
        source, expected = run.memory("input_tensor"), run.expected["output_tensor"]
        terms: dict[Any, list[float]] = {c: [] for c in slow.walk(run.desc.output_tensor.sizes)}
        for block, place in pairs(run.desc, run.desc.output_tensor):
            if place is not None:
                terms[place].append(number(source.element(block)))
        assert expected.within is not None
        low, high = (part.view(np.float32).astype(float) for part in (expected.within.low, expected.within.high))
        for c, every in terms.items():
            if not sum(map(abs, every)) < 1e38:
                continue
            total = math.fsum(every)
            unit = sum(map(abs, every)) * 2.0**-23 + 2.0**-149
            assert low[c] - unit <= total <= high[c] + unit, (run.desc, c)
            assert high[c] - low[c] <= 2 * len(every) * unit + 2 * prod(run.desc.window_sizes) * 2.0**-124, (
                run.desc,
                c,
            )
            seen += 1
            if all(x == round(x) and abs(x) < 2**16 for x in every):
                assert low[c] == total == high[c]
                exact += total != 0
    assert seen > 500
    assert exact > 25


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


def test_sums_are_right_in_any_order_and_no_other() -> None:
    """The middle element is 1 + 2^-24 + 2^-24: 1 or a unit more, as it is added up; the others are copies."""
    steps = ((3,), (1,), (1,), (1,), (1,))
    desc = CLASSES["FOLD"](TensorDesc.of(F32, (1, 3, 3)), TensorDesc.of(F32, (1, 1, 3)), *steps)
    columns = np.zeros((1, 3, 3), np.float32)
    columns[0, [0, 1, 2], [2, 1, 0]] = 2.0**-24, 2.0**-24, 1.0  # of windows 2, 1 and 0, all of the middle element
    columns[0, 1, 0] = 0.25
    expected = with_values(desc, HIGHEST, input_tensor=columns).expected["output_tensor"]
    unit = np.float32(2.0**-23)
    for middle, is_right in ((1.0, True), (1 + unit, True), (1 - unit, False), (1 + 4 * unit, False)):
        found = np.array([0.25, middle, 0.0], np.float32).view(np.uint32).reshape(1, 1, 3)
        assert expected.within is not None
        assert expected.within.holds(found, F32).reshape(-1).tolist() == [True, is_right, True]
