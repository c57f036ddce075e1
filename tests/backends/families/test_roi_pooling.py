"""ROI_POOLING: windows walked element by element, properties, and onnxruntime's MaxRoiPool."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import assert_conforms, numbers, small_runs, with_values
from onnx_node import computed, elements
from torch.utils._python_dispatch import TorchDispatchMode

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import Size2d
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

POOLING: Any = descriptor_classes()["ROI_POOLING"]
KIND = DataType.FLOAT32


def windows(first: int, last: int, count: int, size: int) -> list[list[int]]:
    """The elements that each window along a dimension sees, by the formulas of the page."""
    length = last - first + 1
    starts = [n * length // count + first for n in range(count)]
    ends = [((n + 1) * length + count - 1) // count + first for n in range(count)]
    return [
        [place for place in range(start, end) if 0 <= place < size] for start, end in zip(starts, ends, strict=True)
    ]


def test_the_reference_agrees_with_the_pages_formulas() -> None:
    seen = opened = 0
    for run in small_runs("ROI_POOLING", 120):
        desc, expected = run.desc, run.expected["output_tensor"]
        images, regions = elements(run).values()
        within = expected.within
        assert within is not None
        low, high = (numbers(part, desc.output_tensor.data_type) for part in (within.low, within.high))
        for n, (image, *row) in enumerate(regions.reshape(-1, 5).astype(float)):
            x1, y1, x2, y2 = (corner * desc.spatial_scale for corner in row)
            if image >= len(images) or any(abs(corner % 1 - 0.5) < 1e-4 for corner in (x1, y1, x2, y2)):
                continue
            rows = windows(round(y1), round(y2), desc.pooled_size.height, images.shape[2])
            columns = windows(round(x1), round(x2), desc.pooled_size.width, images.shape[3])
            for y, of_rows in enumerate(rows):
                for x, of_columns in enumerate(columns):
                    is_free = not of_rows or not of_columns or row[0] > row[2] or row[1] > row[3]
                    for c in range(images.shape[1]):
                        opened += is_free
                        if is_free:
                            assert low[n, c, y, x] == -np.inf
                            assert high[n, c, y, x] == np.inf
                            continue
                        part = [float(images[int(image), c, i, j]) for i in of_rows for j in of_columns]
                        found = [number for number in part if not math.isnan(number)]
                        assert (len(found) < len(part)) == (within.nan is not None and within.nan[n, c, y, x])
                        if found and not 0 < abs(max(found)) < 2.0**-14:
                            assert low[n, c, y, x] <= max(found) <= high[n, c, y, x], (desc, n, c, y, x)
                            assert max(found) == 0 or low[n, c, y, x] == high[n, c, y, x], (desc, n, c, y, x)
                        seen += 1
    assert seen > 1000
    assert opened < seen


def pooled(rows: list[list[float]], scale: float = 1.0, size: tuple[int, int] = (1, 1), width: int = 6) -> Any:
    """Of images 1, 2, ... in a row; the least and the greatest that are right, and where anything is."""
    count, (height, columns) = len(rows), size
    tensors = [
        TensorDesc.of(KIND, sizes) for sizes in ((2, 1, 1, width), (1, 1, count, 5), (count, 1, height, columns))
    ]
    desc = POOLING(*tensors, scale, Size2d(width=columns, height=height))
    images = np.arange(1, 2 * width + 1, dtype=np.float32)
    run = with_values(desc, HIGHEST, input_tensor=images, roi_tensor=np.float32(rows))
    assert_conforms(TorchBackend("cpu"), run)
    within = run.expected["output_tensor"].within
    assert within is not None
    return numbers(within.low, KIND).reshape(count, -1).tolist(), numbers(within.high, KIND).reshape(count, -1).tolist()


def test_corners_are_inclusive_and_ends_are_not() -> None:
    low, high = pooled([[0, 1, 0, 3, 0], [1, 0, 0, 0, 0]])
    assert low == high == [[4], [7]]
    low, high = pooled([[0, 0, 0, 4, 0]], size=(1, 2))
    assert low == high == [[3, 5]]


def test_halves_go_up_or_to_even() -> None:
    low, high = pooled([[0, 0.5, 0, 0.5, 0], [0, 1.5, 0, 1.5, 0]])
    assert (low, high) == ([[1], [3]], [[2], [3]])


@pytest.mark.parametrize("row", [[0, 7, 0, 9, 0], [0, 3, 0, 1, 0], [2, 0, 0, 1, 0], [0, math.nan, 0, 1, 0]])
def test_what_the_page_has_no_windows_for_is_open(row: list[float]) -> None:
    assert pooled([row]) == ([[-math.inf]], [[math.inf]])


def test_a_window_is_clamped_to_the_image() -> None:
    low, high = pooled([[0, -4, 0, 2, 0], [0, 4, 0, 90, 0]])
    assert low == high == [[3], [6]]


def test_a_long_image_takes_torch_no_step_for_each_of_its_places() -> None:
    """One of 2^24 took more than the 60 s that a case has."""

    class Counted(TorchDispatchMode):
        steps = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.steps += 1
            return func(*args, **(kwargs or {}))

    with Counted() as counted:
        pooled([[0, 1, 0, 3, 0], [1, 0, 0, 3999, 0]], width=4000)
    assert 0 < counted.steps < 1000


def test_it_agrees_with_onnxruntime() -> None:
    """MaxRoiPool, which rounds halves away from 0 and gives 0 for what lies outside; scales above 0 alone."""
    seen = 0
    for run in small_runs("ROI_POOLING", 60):
        desc, within = run.desc, run.expected["output_tensor"].within
        given = elements(run)
        if desc.input_tensor.data_type is not KIND or within is None or not desc.spatial_scale:
            continue
        rows = given["roi_tensor"].reshape(-1, 5)
        if rows[:, 0].max() >= len(given["input_tensor"]) or not np.isfinite(given["input_tensor"]).all():
            continue
        size = [desc.pooled_size.height, desc.pooled_size.width]
        arrays = {"X": given["input_tensor"], "rois": rows}
        (found,) = computed("MaxRoiPool", arrays, pooled_shape=size, spatial_scale=desc.spatial_scale)
        assert within.holds(found.view(np.uint32), KIND).all(), desc
        seen += 1
    assert seen > 5
