"""ROI_ALIGN_GRAD beside derivatives of ROI_ALIGN1, and its open places; onnxruntime has no gradient of RoiAlign."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import assert_conforms, executed, numbers, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

CLASSES: Any = descriptor_classes()
KIND = DataType.FLOAT32
AVERAGE, MAX = 2, 7
NEAREST, LINEAR = 0, 1
IMAGE, OUTPUT = (2, 1, 5, 6), (2, 3)
ROWS = np.float32([[1, 1, 4, 3], [2, 0.5, 5, 4], [4, 3, 1, 1]])
BATCH = np.uint32([0, 1, 0])


def forward(image: Any, rows: Any, mode: int, samples: int, backend: TorchBackend | None = None) -> Any:
    """What ROI_ALIGN1 gives, as the reference has it, or a backend."""
    tensors = [TensorDesc.of(KIND, sizes) for sizes in (IMAGE, rows.shape, (len(rows), 1, *OUTPUT))]
    index = TensorDesc.of(DataType.UINT32, (len(rows),))
    desc = CLASSES["ROI_ALIGN1"](
        tensors[0], tensors[1], index, tensors[2], AVERAGE, mode, 1.0, 1.0, 0.5, -0.5, 0.0, samples, samples, False
    )
    run = with_values(desc, HIGHEST, input_tensor=image, roi_tensor=rows, batch_indices_tensor=BATCH)
    found = run.expected["output_tensor"].values if backend is None else executed(backend, run)["output_tensor"]
    return numbers(found, KIND).astype(np.float64)


def backward(
    gradient: Any,
    mode: int,
    samples: int,
    *,
    rows: Any = ROWS,
    function: int = AVERAGE,
    image: Any = None,
    batch: Any = BATCH,
) -> Any:
    """A case of the gradient, of the regions too where there is an image."""
    count = len(rows)
    source, regions, found = (TensorDesc.of(KIND, sizes) for sizes in (IMAGE, rows.shape, (count, 1, *OUTPUT)))
    given = None if image is None else source
    desc = CLASSES["ROI_ALIGN_GRAD"](
        given, found, regions, TensorDesc.of(DataType.UINT32, (count,)), source, None if image is None else regions,
        function, mode, 1.0, 1.0, 0.5, -0.5, samples, samples, False,
    )  # fmt: skip
    arrays = {"input_gradient_tensor": gradient, "roi_tensor": rows, "batch_indices_tensor": batch[:count]}
    return with_values(desc, HIGHEST, **arrays, **({} if image is None else {"input_tensor": image}))


def ends(run: Any, key: str = "output_gradient_tensor") -> tuple[Any, Any]:
    within = run.expected[key].within
    assert within is not None
    return numbers(within.low, KIND), numbers(within.high, KIND)


GRADIENT = np.arange(18, dtype=np.float32).reshape(3, 1, *OUTPUT) - 7


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_it_is_the_derivative_of_the_forward_operator(samples: int) -> None:
    """What each element of the image adds to the forward result, times the gradient there; regions overlap."""
    run = backward(GRADIENT, LINEAR, samples)
    units = np.eye(math.prod(IMAGE), dtype=np.float32).reshape(-1, *IMAGE)
    derivative = np.array([(forward(unit, ROWS, LINEAR, samples) * GRADIENT).sum() for unit in units]).reshape(IMAGE)
    low, high = ends(run)
    assert (low - 1e-4 <= derivative).all()
    assert (derivative <= high + 1e-4).all()
    assert (high - low < 4e-3).all()
    assert_conforms(TorchBackend("cpu"), run)


def test_nearest_neighbours_have_the_whole_and_those_as_near_a_part() -> None:
    rows = np.float32([[1, 1, 4, 3], [0, 0, 6, 4]])
    run = backward(GRADIENT[:2], NEAREST, 1, rows=rows)
    low, high = ends(run)
    assert np.array_equal(low[0, 0, 1:3, 1:4], GRADIENT[0, 0])
    assert np.array_equal(high[0, 0, 1:3, 1:4], GRADIENT[0, 0])
    assert (high[1, 0] - low[1, 0]).max() > 0  # a region twice as large as the output
    assert_conforms(TorchBackend("cpu"), run)


def test_samples_out_of_bounds_add_nothing() -> None:
    rows = np.float32([[-9, -9, -3, -3]])
    low, high = ends(backward(GRADIENT[:1], LINEAR, 2, rows=rows))
    assert not low.any()
    assert not high.any()


def test_of_several_samples_the_greatest_may_be_any() -> None:
    image = np.arange(math.prod(IMAGE), dtype=np.float32).reshape(IMAGE)
    run = backward(np.abs(GRADIENT), LINEAR, 2, function=MAX, image=image)
    low, high = ends(run)
    assert not low.any()
    assert high.any()
    assert_conforms(TorchBackend("cpu"), run)
    one, mean = ends(backward(GRADIENT, LINEAR, 1, function=MAX, image=image)), ends(backward(GRADIENT, LINEAR, 1))
    assert np.array_equal(one, mean)


def test_regions_move_by_nothing_where_their_gradients_are_0() -> None:
    image = np.arange(math.prod(IMAGE), dtype=np.float32).reshape(IMAGE) ** 2 / 64
    gradient = GRADIENT * np.float32([1, 0, 1]).reshape(3, 1, 1, 1)
    run = backward(gradient, LINEAR, 1, image=image)
    low, high = ends(run, "output_roi_gradient_tensor")
    assert not low[1].any()
    assert not high[1].any()
    assert np.isinf(low[[0, 2]]).all()
    assert_conforms(TorchBackend("cpu"), run)


def test_the_torch_backends_regions_move_as_the_forward_operator_does() -> None:
    """By differences of corners moved a little, within elements; the page's own pseudocode is no derivative."""
    backend, step = TorchBackend("cpu"), 2.0**-6
    image = np.arange(math.prod(IMAGE), dtype=np.float32).reshape(IMAGE) ** 2 / 64
    rows = ROWS + np.float32([0.125, 0.375, 0.25, 0.0625])
    found = numbers(
        executed(backend, backward(GRADIENT, LINEAR, 1, rows=rows, image=image))["output_roi_gradient_tensor"], KIND
    )
    for corner in range(4):
        moved = [rows.copy(), rows.copy()]
        for way, each in zip((step, -step), moved, strict=True):
            each[:, corner] += way
        more, less = (forward(image, each, LINEAR, 1, backend) for each in moved)
        slope = ((more - less) / (2 * step) * GRADIENT).sum((1, 2, 3))
        assert np.allclose(found[:, corner], slope, rtol=1e-3, atol=1e-3)


def test_an_index_beyond_the_batch_leaves_open_what_its_region_adds() -> None:
    """No page says which image takes that; the gradients of the other regions are told as before."""
    image, batch = np.ones(IMAGE, np.float32), np.uint32([0, 2, 1])
    run = backward(GRADIENT, LINEAR, 1, image=image, batch=batch)
    assert np.isinf(ends(run)).all()
    assert_conforms(TorchBackend("cpu"), run)
    still = ends(backward(GRADIENT * 0, LINEAR, 1, image=image, batch=batch), "output_roi_gradient_tensor")
    assert np.isinf(still).all((0, 2)).tolist() == [False, True, False]
