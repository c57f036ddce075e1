"""ROI_ALIGN and ROI_ALIGN1: the page's loops over samples, properties, the open places, and onnxruntime's RoiAlign."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, numbers, small_runs, with_values
from msgspec.structs import replace
from onnx_node import computed, elements

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

NAMES = ("ROI_ALIGN", "ROI_ALIGN1")
CLASSES: Any = descriptor_classes()
KIND = DataType.FLOAT32
AVERAGE, MAX = 2, 7
NEAREST, LINEAR = 0, 1


def sample(desc: Any, image: Any, y: float, x: float) -> float:
    """An element of the image between others; it is within."""
    if desc.interpolation_mode == NEAREST:
        return float(image[round(y), round(x)])
    found = 0.0
    for row, by_row in ((math.floor(y), 1 - y % 1), (math.floor(y) + 1, y % 1)):
        for column, by_column in ((math.floor(x), 1 - x % 1), (math.floor(x) + 1, x % 1)):
            if by_row and by_column:
                found += by_row * by_column * float(image[row, column])
    return found


def places(desc: Any, first: float, last: float, output: int) -> list[list[float]]:
    """The coordinates of the samples of each output element, along a dimension."""
    count = desc.minimum_samples_per_output
    of_input, of_output = getattr(desc, "input_pixel_offset", 0.5), getattr(desc, "output_pixel_offset", -0.5)
    scale = (last - first) / (output * count)
    return [[(c * count + k - of_output) * scale + first - of_input for k in range(count)] for c in range(output)]


def is_told(desc: Any, place: float, size: int) -> bool:
    """Whether a sample is within or out of bounds by every reading, and has one nearest neighbour."""
    is_near = any(abs(place - end) < 1e-3 for end in (-1, 0, size - 1, size))
    is_half = desc.interpolation_mode == NEAREST and abs(place % 1 - 0.5) < 1e-3
    return not is_near and not is_half and (0 < place < size - 1 or place < -1 or place > size)


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_lies_around_the_pages_loops(name: str) -> None:
    seen = 0
    for run in small_runs(name, 150):
        desc, data_type = run.desc, run.desc.output_tensor.data_type
        images, regions, batch = elements(run).values()
        within = run.expected["output_tensor"].within
        if desc.minimum_samples_per_output != desc.maximum_samples_per_output or within is None:
            continue
        if getattr(desc, "align_regions_to_corners", False):
            continue
        low, high = (numbers(part, data_type).astype(float) for part in (within.low, within.high))
        images = np.where(np.isfinite(images), images, np.inf).astype(float)
        for n, row in enumerate(regions.reshape(-1, 4).astype(float)):
            rows = places(desc, row[1] * desc.spatial_scale_y, row[3] * desc.spatial_scale_y, low.shape[2])
            columns = places(desc, row[0] * desc.spatial_scale_x, row[2] * desc.spatial_scale_x, low.shape[3])
            for (y, ys), (x, xs) in ((one, other) for one in enumerate(rows) for other in enumerate(columns)):
                told = all(is_told(desc, place, images.shape[2]) for place in ys)
                if not told or not all(is_told(desc, place, images.shape[3]) for place in xs):
                    continue
                for c, image in enumerate(images[batch.reshape(-1)[n]]):
                    if not np.isfinite(image).all() or np.abs(image).max() > 1e4:
                        continue
                    size = np.array(image.shape)
                    found = [
                        sample(desc, image, i, j)
                        if (np.array((i, j)) > 0).all() and ((i, j) < size - 1).all()
                        else desc.out_of_bounds_input_value
                        for i in ys
                        for j in xs
                    ]
                    value = max(found) if desc.reduction_function == MAX else sum(found) / len(found)
                    slack = 2.0**-9 * max(np.abs(image).max(), 1) * (1 if data_type is KIND else 4)
                    assert low[n, c, y, x] - slack <= value <= high[n, c, y, x] + slack, (desc, n, c, y, x)
                    if desc.reduction_function == AVERAGE:
                        assert high[n, c, y, x] - low[n, c, y, x] <= slack, (desc, n, c, y, x)
                    seen += 1
    assert seen > 300


def aligned(row: list[float], image: Any, output: tuple[int, int], **changes: Any) -> tuple[Any, Any]:
    """The least and the greatest that are right of a region of an image, which the torch backend is within."""
    image = np.float32(image)
    stated: dict[str, Any] = {
        "reduction_function": AVERAGE,
        "interpolation_mode": LINEAR,
        "spatial_scale_x": 1.0,
        "spatial_scale_y": 1.0,
        "input_pixel_offset": 0.5,
        "output_pixel_offset": -0.5,
        "out_of_bounds_input_value": -7.0,
        "minimum_samples_per_output": 1,
        "maximum_samples_per_output": 1,
        "align_regions_to_corners": False,
    } | changes
    index = TensorDesc.of(DataType.UINT32, (1,))
    sizes = (1, 1, *image.shape), (1, 4), (1, 1, *output)
    source, regions, found = (TensorDesc.of(KIND, each) for each in sizes)
    desc = CLASSES["ROI_ALIGN1"](source, regions, index, found, *stated.values())
    run = with_values(
        desc, HIGHEST, input_tensor=image, roi_tensor=np.float32(row), batch_indices_tensor=np.uint32([0])
    )
    assert_conforms(TorchBackend("cpu"), run)
    within = run.expected["output_tensor"].within
    assert within is not None
    return numbers(within.low, KIND)[0, 0].tolist(), numbers(within.high, KIND)[0, 0].tolist()


IMAGE = np.arange(16).reshape(4, 4)


def test_height_follows_from_height() -> None:
    """A region that is wider than it is high, where the page's formula has X for Y."""
    low, high = aligned([0, 1, 4, 3], IMAGE, (2, 2))
    assert low == high == [[4.5, 6.5], [8.5, 10.5]]


def test_there_are_as_many_samples_as_are_said() -> None:
    low, high = aligned([0, 0, 4, 4], IMAGE, (2, 2), minimum_samples_per_output=2, maximum_samples_per_output=2)
    assert np.allclose((low, high), [[2.5, 4.5], [10.5, 12.5]])
    low, high = aligned([0, 0, 4, 4], IMAGE, (2, 2), minimum_samples_per_output=1, maximum_samples_per_output=9)
    assert np.allclose((low, high), [[2.5, 4.5], [10.5, 12.5]])
    low, high = aligned([0, 0, 3, 4], IMAGE, (2, 2), minimum_samples_per_output=1, maximum_samples_per_output=9)
    assert low[0][0] < 0 < 15 < high[0][0]


def test_a_region_that_is_turned_round_turns_the_output_round() -> None:
    low, high = aligned([4, 0, 0, 4], IMAGE, (4, 4))
    assert low == high == IMAGE[:, ::-1].tolist()
    low, high = aligned([1.5, 1.5, 1.5, 1.5], IMAGE, (2, 2))
    assert low == high == [[5, 5], [5, 5]]


def test_between_the_edge_and_out_of_bounds_either_is_right() -> None:
    low, high = aligned([-4, 0, 4, 1], IMAGE, (1, 8), interpolation_mode=NEAREST)
    assert low == [[-7, -7, -7, -7, 0, 1, 2, 3]]
    assert high == [[-7, -7, -7, 0, 0, 1, 2, 3]]
    low, high = aligned([-2, 0, 2, 1], IMAGE, (1, 1), reduction_function=MAX, out_of_bounds_input_value=9.0,
                        minimum_samples_per_output=4, maximum_samples_per_output=4)  # fmt: skip
    assert (low, high) == ([[2.5]], [[9]])


def test_halves_may_go_up_or_down() -> None:
    low, high = aligned([1, 0, 3, 1], IMAGE, (1, 1), interpolation_mode=NEAREST)
    assert (low, high) == ([[1]], [[2]])


def test_corners_may_be_aligned_in_any_way_between_the_elements() -> None:
    low, high = aligned([0, 0, 4, 4], IMAGE, (2, 2), align_regions_to_corners=True)
    assert -8 < low[0][0] <= -7
    assert 15 <= high[1][1] < 16


def test_an_index_beyond_the_batch_leaves_the_outputs_of_its_region_open() -> None:
    tensors = [TensorDesc.of(KIND, sizes) for sizes in ((2, 1, 4, 4), (2, 4), (2, 1, 1, 1))]
    index = TensorDesc.of(DataType.UINT32, (2,))
    desc = CLASSES["ROI_ALIGN"](*tensors[:2], index, tensors[2], AVERAGE, LINEAR, 1.0, 1.0, 0.0, 1, 1)
    rows = np.float32([[0, 0, 2, 2]] * 2)
    run = with_values(
        desc,
        HIGHEST,
        input_tensor=np.ones((2, 1, 4, 4), np.float32),
        roi_tensor=rows,
        batch_indices_tensor=np.uint32([2, 1]),
    )
    within = run.expected["output_tensor"].within
    assert within is not None
    assert numbers(within.low, KIND).reshape(2).tolist() == [-math.inf, 1]
    assert numbers(within.high, KIND).reshape(2).tolist() == [math.inf, 1]
    assert_conforms(TorchBackend("cpu"), run)


def test_it_agrees_with_onnxruntime() -> None:
    """RoiAlign from centre to centre; it has no value but 0 out of bounds, and its MAX is one of products."""
    seen = 0
    for run in small_runs("ROI_ALIGN", 60):
        if run.desc.input_tensor.data_type is not KIND or not np.isfinite(elements(run)["input_tensor"]).all():
            continue
        desc = replace(
            run.desc,
            reduction_function=AVERAGE,
            interpolation_mode=LINEAR,
            spatial_scale_y=run.desc.spatial_scale_x,
            out_of_bounds_input_value=0.0,
            maximum_samples_per_output=run.desc.minimum_samples_per_output,
        )
        run = Run(replace(run.case, desc=desc), run.bindings)
        given, within = elements(run), run.expected["output_tensor"].within
        assert within is not None
        arrays = {
            "X": given["input_tensor"],
            "rois": given["roi_tensor"].reshape(-1, 4),
            "batch_indices": given["batch_indices_tensor"].reshape(-1).astype(np.int64),
        }
        (found,) = computed(
            "RoiAlign",
            arrays,
            coordinate_transformation_mode="half_pixel",
            mode="avg",
            output_height=desc.output_tensor.sizes[2],
            output_width=desc.output_tensor.sizes[3],
            sampling_ratio=desc.minimum_samples_per_output,
            spatial_scale=desc.spatial_scale_x,
        )
        assert within.holds(found.view(np.uint32), KIND).all(), desc
        seen += found.size
    assert seen > 50
