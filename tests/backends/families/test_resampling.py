"""Images taken at coordinates between their elements, in fractions, and the gradients of that."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import (
    Element,
    Run,
    assert_conforms,
    count_around,
    example,
    executed,
    kind_of,
    numbers,
    small_runs,
    unit,
)
from msgspec.structs import replace

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.reference.operators import resample as resample_module
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import Size2d

NEAREST, LINEAR = 0, 1
INCREASING = 0
AVERAGE, MAX = 2, 7
HALF = Fraction(1, 2)
TORCH = TorchBackend("cpu")
GRADIENT = "output_gradient_tensor"
Corners = dict[int, Fraction]


def coordinate(desc: Any, d: int, c: int, rank: int) -> Fraction:
    """Where along a dimension of the smaller tensor an element of the larger one lies, counted in elements."""
    if desc.operator == "UPSAMPLE_2D":
        scale = Fraction({1: desc.scale_size.width, 2: desc.scale_size.height}.get(rank - d, 1))
    else:
        scale = Fraction(desc.scales[d])
    of_input = Fraction(getattr(desc, "input_pixel_offsets", (0.5,) * rank)[d])
    of_output = Fraction(getattr(desc, "output_pixel_offsets", (-0.5,) * rank)[d])
    return (c - of_output) / scale - of_input


def corners(desc: Any, d: int, c: int, sizes: Any, down: bool = False) -> Corners:
    """The elements that one is taken from along a dimension, and their weights; halves go `down`, or up."""
    at, last = coordinate(desc, d, c, len(sizes)), sizes[d] - 1
    if desc.interpolation_mode == LINEAR:
        clamped = min(max(at, Fraction(0)), Fraction(last))
        below = math.floor(clamped)
        return {below: 1 - (clamped - below)} | ({below + 1: clamped - below} if below < last else {})
    if hasattr(desc, "rounding_direction"):
        place = math.ceil(at) if desc.rounding_direction == INCREASING else math.floor(at)
    else:
        place = math.ceil(at - HALF) if down else math.floor(at + HALF)
    return {min(max(place, 0), last): Fraction(1)}


def resample(run: Run) -> Iterator[Element]:
    """What FLOAT32 decides is left out: where any element will do, and places beside those of infinities."""
    desc, (x,), data_type = run.desc, run.arrays.values(), run.desc.output_tensor.data_type
    expected, (_, _, is_open) = run.expected["output_tensor"], run.ends()
    if getattr(desc, "antialiased", False):
        return
    size = max(abs(element) for element in x.reshape(-1).tolist())  # by FLOAT32 one beside may have a little weight
    for c in list(slow.walk(desc.output_tensor.sizes))[:64]:
        every = list(product(*(corners(desc, d, at, x.shape).items() for d, at in enumerate(c))))
        elements = [x[tuple(at for at, _ in corner)].item() for corner in every]
        if not np.isfinite(elements).all() or (expected.one_of is not None and expected.one_of[c]):
            continue
        if desc.interpolation_mode == NEAREST:
            yield "output_tensor", c, elements[0], 0, 0
            continue
        weights = [math.prod(weight for _, weight in corner) for corner in every]
        average = sum(Fraction(e) * weight for e, weight in zip(elements, weights, strict=True))
        ulp = unit(average, data_type) if data_type.is_float else 1.0
        if max(map(abs, elements)) < 2.0**125 and math.isfinite(ulp) and not is_open[c]:
            width = size * 2.0**-7 + 4 * ulp + 2.0**-119 if np.isfinite(x).all() else math.inf
            yield "output_tensor", c, average, ulp, width


def resample_gradient(run: Run) -> Iterator[Element]:
    """Exact sums of what comes to each element, halves down or up; they are right as the output's type has them."""
    desc, (given,), data_type = run.desc, run.arrays.values(), run.desc.output_gradient_tensor.data_type
    sizes, kind = desc.output_gradient_tensor.sizes, kind_of(data_type).type
    if given.size > 400 or not np.isfinite(given).all():
        return
    sums: list[dict[Any, Fraction]] = [{}, {}]
    for (down, found), c in product(enumerate(sums), slow.walk(given.shape)):
        for corner in product(*(corners(desc, d, at, sizes, bool(down)).items() for d, at in enumerate(c))):
            place = tuple(at for at, _ in corner)
            weight = math.prod(part for _, part in corner)
            found[place] = found.get(place, Fraction(0)) + weight * Fraction(float(given[c]))
    size = sum(abs(Fraction(float(x))) for x in given.flat)
    low, high, _ = run.ends()
    for place in slow.walk(sizes) if size < 6e4 else ():
        is_linear = desc.interpolation_mode == LINEAR and np.isfinite([low[place], high[place]]).all()
        width = float(size) * 2.0**-6 + 1e-30 if is_linear and data_type is DataType.FLOAT32 else math.inf
        for found in sums:
            yield GRADIENT, place, float(kind(float(found.get(place, 0)))), 0.0, width


# --- regions ----------------------------------------------------------------------------------------------------------


def sample(desc: Any, image: Any, y: float, x: float) -> float:
    """An element of the image between others, or what is out of bounds."""
    if not (0 < y < image.shape[0] - 1 and 0 < x < image.shape[1] - 1):
        return float(desc.out_of_bounds_input_value)
    if desc.interpolation_mode == NEAREST:
        return float(image[round(y), round(x)])
    found = 0.0
    for row, by_row in ((math.floor(y), 1 - y % 1), (math.floor(y) + 1, y % 1)):
        for column, by_column in ((math.floor(x), 1 - x % 1), (math.floor(x) + 1, x % 1)):
            if by_row and by_column:
                found += by_row * by_column * float(image[row, column])
    return found


def samples(desc: Any, ends: Any, c: int, output: int) -> list[float]:
    """The coordinates of the samples of an output element, along a dimension."""
    count, (first, last) = desc.minimum_samples_per_output, ends
    of_input, of_output = getattr(desc, "input_pixel_offset", 0.5), getattr(desc, "output_pixel_offset", -0.5)
    scale = (last - first) / (output * count)
    return [(c * count + k - of_output) * scale + first - of_input for k in range(count)]


def is_told(desc: Any, place: float, size: int) -> bool:
    """Whether a sample is within or out of bounds by every reading, and has one nearest neighbour."""
    is_near = any(abs(place - end) < 1e-3 for end in (-1, 0, size - 1, size))
    is_half = desc.interpolation_mode == NEAREST and abs(place % 1 - 0.5) < 1e-3
    return not is_near and not is_half and (0 < place < size - 1 or place < -1 or place > size)


def roi_align(run: Run) -> Iterator[Element]:
    desc, (images, regions, batch) = run.desc, run.arrays.values()
    if desc.minimum_samples_per_output != desc.maximum_samples_per_output:
        return
    if getattr(desc, "align_regions_to_corners", False):
        return
    for n, row in enumerate(regions.reshape(-1, 4).astype(float)):
        for c, y, x in slow.walk(desc.output_tensor.sizes[1:]):
            ys = samples(desc, row[1::2] * desc.spatial_scale_y, y, desc.output_tensor.sizes[2])
            xs = samples(desc, row[::2] * desc.spatial_scale_x, x, desc.output_tensor.sizes[3])
            told = [
                is_told(desc, place, size)
                for of, size in ((ys, images.shape[2]), (xs, images.shape[3]))
                for place in of
            ]
            index = int(batch.reshape(-1)[n])
            if not all(told) or index >= len(images) or not (np.abs(images[index, c]) <= 1e4).all():
                continue
            image = images[index, c].astype(float)
            found = [sample(desc, image, i, j) for i in ys for j in xs]
            value = max(found) if desc.reduction_function == MAX else sum(found) / len(found)
            slack = 2.0**-9 * max(np.abs(image).max(), 1) * (1 if images.dtype == np.float32 else 4)
            yield "output_tensor", (n, c, y, x), value, slack, slack if desc.reduction_function == AVERAGE else math.inf


SLOW: dict[str, tuple[Callable[[Run], Iterator[Element]], int]] = {
    **dict.fromkeys(("UPSAMPLE_2D", "RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3"), (resample, 150)),
    **dict.fromkeys(("RESAMPLE_GRAD", "RESAMPLE_GRAD1"), (resample_gradient, 80)),
    **dict.fromkeys(("ROI_ALIGN", "ROI_ALIGN1"), (roi_align, 100)),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_is_expected_lies_around_the_formula(name: str) -> None:
    function, count = SLOW[name]
    assert sum(count_around(run, function(run)) for run in small_runs(name, count)) > 300


# --- where a formula is not enough ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [NEAREST, LINEAR])
def test_a_long_dimension_is_what_its_blocks_are(monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Block by block, with elements that go to the same places taken together, in a part of the memory of a sum."""
    count = 2**17
    given = (np.arange(2 * count, dtype=np.float32) % 3).reshape(2, count)
    monkeypatch.setattr(resample_module, "BLOCK_ELEMENTS", 2**14)

    def ends() -> Any:
        run = example(
            "RESAMPLE_GRAD", input_gradient=given, output_gradient=(2, 8), interpolation_mode=mode,
            scales=(1.0, count / 8), input_pixel_offsets=(0.0, 0.0), output_pixel_offsets=(0.0, 0.0),
        )  # fmt: skip
        return run.ends()[:2]

    tracemalloc.start()
    whole = ends()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mode == LINEAR or peak < 60 * given.size  # bytes; weights alone would be 100
    monkeypatch.setattr(resample_module, "BLOCK_ELEMENTS", count)
    monkeypatch.setattr(resample_module, "joined", lambda blocks: blocks[0])
    # FLOAT64's own rounding is another in another order, and so is what is added outward for it.
    assert np.allclose(whole, ends(), rtol=2.0**-22, atol=0)


def test_a_nan_that_may_go_elsewhere_is_not_demanded_beside_an_infinity() -> None:
    """By a scale of 1.25 FLOAT32 has the third element at either of two places, where others are."""
    demanded = []
    for n in range(5):
        given = np.full(5, np.inf, np.float32)
        given[n] = np.nan
        run = example(
            "RESAMPLE_GRAD1", input_gradient=given, output_gradient=(4,), interpolation_mode=NEAREST,
            rounding_direction=INCREASING, scales=(1.25,), input_pixel_offsets=(0.0,), output_pixel_offsets=(-0.5,),
        )  # fmt: skip
        assert_conforms(TORCH, run)
        low, high, _ = run.ends()
        demanded.append((low > high).sum())
    assert demanded == [1, 1, 0, 1, 1]  # only the third may be at another place


def test_at_an_end_the_element_there_may_be_added_up_with_two_weights() -> None:
    # As onnxruntime does, whose rounding of 5.56 / 6 and 5 * 5.56 / 6 adds up to one place more.
    run = example(
        "RESAMPLE2", input=np.float32([-5.5609307289123535]), output=(3,), interpolation_mode=LINEAR, scales=(3.0,),
        rounding_direction=1, input_pixel_offsets=(0.5,), output_pixel_offsets=(-0.5,),
    )  # fmt: skip
    exact = np.full(3, -5.5609307289123535, np.float32)
    assert run.holds(exact).all()
    assert run.holds(np.nextafter(exact, np.float32(-9))).all()
    assert not run.holds(exact * np.float32(1.00001)).any()


@pytest.mark.parametrize("scale", [2, 3])
@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE], ids=lambda tolerance: tolerance.name)
def test_images_may_be_interpolated_in_steps_of_float32(scale: int, tolerance: Tolerance) -> None:
    """One dimension after the other, by a weight and what is left of 1 by it, each step rounded: PyTorch does so. What
    is exact either way has one result."""
    f32, random = np.float32, np.random.default_rng(scale)
    image = (random.random((64, 3, 3), f32) - f32(0.5)) * f32(2.0) ** random.integers(-9, 9, (64, 3, 3)).astype(f32)
    places = ((np.arange(3 * scale) + 0.5) / scale - 0.5).clip(0, 2)
    below = np.floor(places).astype(int)
    above, weight = (below + 1).clip(max=2), (places - below).astype(f32)
    rows = image[:, below] * (f32(1) - weight)[:, None] + image[:, above] * weight[:, None]
    found = rows[..., below] * (f32(1) - weight) + rows[..., above] * weight

    def upsampled(numbers: Any, by: int) -> Run:
        size = 3 * by
        return example(
            "UPSAMPLE_2D", input=numbers[:, None], output=(64, 1, size, size), interpolation_mode=LINEAR,
            scale_size=Size2d(by, by),
        )  # fmt: skip

    run = upsampled(image, scale)
    assert run.holds(found[:, None], tolerance=tolerance).all()
    assert not run.holds(found[:, None] * f32(1 + 2.0**-8), tolerance=tolerance)[:, 0][np.abs(found) > 2].any()
    low, high, _ = upsampled(np.round(image), 2).ends(tolerance=tolerance)
    assert (low == high)[..., 1:-1, 1:-1].all()  # at an end the element there may be added up with two weights


def test_two_weights_of_float32_need_not_add_up_to_1() -> None:
    run = example("RESAMPLE", input=[195, 196], output=(6,), interpolation_mode=LINEAR, scales=(3.0,))
    third = np.float32(1) / np.float32(3)
    found = np.float32(195) * (np.float32(1) - third) + np.float32(196) * third
    assert found == np.float32(195.33331)
    for tolerance in (DIRECTML, PRECISE):
        is_right = run.holds(np.full(6, found), tolerance=tolerance)
        assert is_right.tolist() == [False, False, True, False, False, False]


def test_what_is_antialiased_is_open_and_not_supported() -> None:
    run = example(
        "RESAMPLE3", input=np.arange(9, dtype=np.float32), output=(3,), interpolation_mode=LINEAR, rounding_direction=1,
        scales=(0.25,), input_pixel_offsets=(0.5,), output_pixel_offsets=(-0.5,), antialiased=True,
    )  # fmt: skip
    assert run.expected["output_tensor"].free is not None
    assert TORCH.validate(run.desc, run.case.level).accepted
    with pytest.raises(Unsupported):
        executed(TORCH, run)
    plain = Run(replace(run.case, desc=replace(run.desc, antialiased=False)), run.bindings)
    assert plain.expected["output_tensor"].free is None
    assert_conforms(TORCH, plain)


# --- gradients of regions, which are held against derivatives of the forward operator ---------------------------------

IMAGE, OUTPUT = (2, 1, 5, 6), (3, 1, 2, 3)
ROWS = np.float32([[1, 1, 4, 3], [2, 0.5, 5, 4], [4, 3, 1, 1]])
GIVEN = np.arange(18, dtype=np.float32).reshape(OUTPUT) - 7
SQUARES = np.arange(math.prod(IMAGE), dtype=np.float32).reshape(IMAGE) ** 2 / 64


def region_case(operator: str, count: int, **given: Any) -> Run:
    """Of three regions of two images, with so many samples along each dimension."""
    members = {
        "roi": ROWS, "batch_indices": np.uint32([0, 1, 0]), "reduction_function": AVERAGE, "interpolation_mode": LINEAR,
        "spatial_scale_x": 1.0, "spatial_scale_y": 1.0, "input_pixel_offset": 0.5, "output_pixel_offset": -0.5,
        "minimum_samples_per_output": count, "maximum_samples_per_output": count, "align_regions_to_corners": False,
    }  # fmt: skip
    return example(operator, **members | given)


def forward(image: Any, count: int, **given: Any) -> Run:
    return region_case("ROI_ALIGN1", count, input=image, output=OUTPUT, out_of_bounds_input_value=0.0, **given)


def backward(count: int, **given: Any) -> Run:
    """Of the image, and of the regions too where there is an image."""
    if "input" in given:
        given["output_roi_gradient"] = given.get("roi", ROWS).shape
    return region_case("ROI_ALIGN_GRAD", count, **{"input_gradient": GIVEN, "output_gradient": IMAGE} | given)


@pytest.mark.parametrize("count", [1, 2])
def test_gradients_of_images_are_derivatives(count: int) -> None:
    """What each element of the image adds to the forward result, times the gradient there; regions overlap."""
    run = backward(count)
    units = np.eye(math.prod(IMAGE), dtype=np.float32).reshape(-1, *IMAGE)
    slopes = [
        (numbers(forward(one, count).expected["output_tensor"].values, DataType.FLOAT32) * GIVEN).sum() for one in units
    ]
    low, high, _ = run.ends()
    derivative = np.array(slopes).reshape(IMAGE)
    assert ((low - 1e-4 <= derivative) & (derivative <= high + 1e-4)).all()
    assert (high - low < 4e-3).all()
    assert_conforms(TORCH, run)


def test_nearest_neighbours_have_the_whole_and_those_as_near_a_part() -> None:
    rows = np.float32([[1, 1, 4, 3], [0, 0, 6, 4]])
    run = backward(1, interpolation_mode=NEAREST, roi=rows, input_gradient=GIVEN[:2], batch_indices=np.uint32([0, 1]))
    low, high, _ = run.ends()
    assert np.array_equal(low[0, 0, 1:3, 1:4], GIVEN[0, 0])
    assert np.array_equal(high[0, 0, 1:3, 1:4], GIVEN[0, 0])
    assert (high[1, 0] - low[1, 0]).max() > 0  # a region twice as large as the output
    assert_conforms(TORCH, run)


def test_samples_out_of_bounds_add_nothing() -> None:
    given = {"roi": np.float32([[-9, -9, -3, -3]]), "input_gradient": GIVEN[:1], "batch_indices": np.uint32([0])}
    low, high, _ = backward(2, **given).ends()
    assert not low.any()
    assert not high.any()


def test_of_several_samples_the_greatest_may_be_any() -> None:
    run = backward(2, reduction_function=MAX, input=SQUARES, input_gradient=np.abs(GIVEN))
    low, high, _ = run.ends()
    assert not low.any()
    assert high.any()
    assert_conforms(TORCH, run)
    assert np.array_equal(backward(1, reduction_function=MAX, input=SQUARES).ends(), backward(1).ends())


def test_regions_move_by_nothing_where_their_gradients_are_0() -> None:
    run = backward(1, input_gradient=GIVEN * np.float32([1, 0, 1]).reshape(3, 1, 1, 1), input=SQUARES)
    low, high, _ = run.ends("output_roi_gradient_tensor")
    assert not low[1].any()
    assert not high[1].any()
    assert np.isinf(low[[0, 2]]).all()
    assert_conforms(TORCH, run)


def test_the_torch_backends_regions_move_as_the_forward_operator_does() -> None:
    """By differences of corners moved a little, within elements; the page's own pseudocode is no derivative."""
    step, rows = 2.0**-6, ROWS + np.float32([0.125, 0.375, 0.25, 0.0625])
    found = executed(TORCH, backward(1, roi=rows, input=SQUARES))["output_roi_gradient_tensor"].view(np.float32)
    for corner in range(4):
        moved = rows + np.float32(step) * np.eye(4, dtype=np.float32)[corner]
        results = [
            executed(TORCH, forward(SQUARES, 1, roi=each))["output_tensor"].view(np.float32).astype(float)
            for each in (moved, 2 * rows - moved)
        ]
        slope = ((results[0] - results[1]) / (2 * step) * GIVEN).sum((1, 2, 3))
        assert np.allclose(found[:, corner], slope, rtol=1e-3, atol=1e-3)


def test_an_index_beyond_the_batch_leaves_open_what_its_region_adds() -> None:
    """No page says which image takes that; the gradients of the other regions are told as before."""
    given = {"input": np.ones(IMAGE, np.float32), "batch_indices": np.uint32([0, 2, 1])}
    run = backward(1, **given)
    assert np.isinf(run.ends()[:2]).all()
    assert_conforms(TORCH, run)
    still = backward(1, input_gradient=GIVEN * 0, **given).ends("output_roi_gradient_tensor")
    assert np.isinf(still[:2]).all((0, 2)).tolist() == [False, True, False]
