"""UPSAMPLE_2D, RESAMPLE and its successors, with fractions for coordinates."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, executed, numbers, small_runs, with_values
from msgspec.structs import replace

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.reference.layout import bits
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import Size2d
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

NAMES = ("UPSAMPLE_2D", "RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3")
CLASSES: Any = descriptor_classes()
NEAREST, LINEAR = 0, 1
INCREASING, DECREASING = 0, 1
KIND = DataType.UINT8
HALF = Fraction(1, 2)


def place(desc: Any, d: int, c: int) -> int:
    """Where along a dimension the input has the element of the output's coordinate."""
    size = desc.input_tensor.sizes[d]
    if desc.operator == "UPSAMPLE_2D":
        from_end = len(desc.input_tensor.sizes) - d
        return c // {1: desc.scale_size.width, 2: desc.scale_size.height}.get(from_end, 1)
    of_input = Fraction(getattr(desc, "input_pixel_offsets", (0.5,) * 4)[d])
    of_output = Fraction(getattr(desc, "output_pixel_offsets", (-0.5,) * 4)[d])
    coordinate = (c - of_output) / Fraction(desc.scales[d]) - of_input
    if not hasattr(desc, "rounding_direction"):
        rounded = math.floor(coordinate + HALF)
    else:
        rounded = math.ceil(coordinate) if desc.rounding_direction == INCREASING else math.floor(coordinate)
    return min(max(rounded, 0), size - 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_agrees_with_the_pages_formula(name: str) -> None:
    elements = opened = 0
    for run in small_runs(name):
        if run.desc.interpolation_mode == LINEAR:
            continue
        expected, source = run.expected["output_tensor"], run.memory("input_tensor")
        one_of = np.zeros(expected.values.shape, bool) if expected.one_of is None else expected.one_of
        for c in slow.walk(run.desc.output_tensor.sizes):
            element = source.element(tuple(place(run.desc, d, at) for d, at in enumerate(c)))
            assert one_of[c] or expected.values[c] == int.from_bytes(element, "little"), (run.desc, c)
        elements += expected.values.size
        opened += int(one_of.sum())
    assert opened < elements / 5


def resampled(name: str, values: Any, sizes: tuple[int, ...], scales: tuple[float, ...], *more: Any) -> Any:
    """By nearest neighbour; `more` has the rounding direction and both arrays of offsets, as far as there are any."""
    count = len(scales)
    offsets = more[-2:] or ((0.5,) * count, (-0.5,) * count)
    before = (more[0] if len(more) > 2 else DECREASING,) if name in ("RESAMPLE2", "RESAMPLE3") else ()
    fields = (
        NEAREST,
        *before,
        scales,
        *(offsets if name != "RESAMPLE" else ()),
        *((True,) if name == "RESAMPLE3" else ()),
    )
    desc = CLASSES[name](TensorDesc.of(KIND, values.shape), TensorDesc.of(KIND, sizes), *fields)
    run = with_values(desc, HIGHEST, input_tensor=values)
    assert_conforms(TorchBackend("cpu"), run)
    expected = run.expected["output_tensor"]
    assert expected.open is None
    return expected.values


VALUES = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)


def test_a_tie_goes_to_the_higher_coordinate() -> None:
    for name in ("RESAMPLE", "RESAMPLE1"):
        assert resampled(name, np.array([1, 2, 3, 4], np.uint8), (2,), (0.5,)).tolist() == [2, 4]


def test_whole_scales_repeat_as_upsampling_does() -> None:
    """RESAMPLE by a whole number, and UPSAMPLE_2D, are numpy's repeat."""
    tensors = [TensorDesc.of(DataType.FLOAT32, sizes) for sizes in ((1, 3, 4, 5), (1, 3, 8, 15))]
    desc = CLASSES["UPSAMPLE_2D"](*tensors, Size2d(width=3, height=2), NEAREST)
    values = VALUES.astype(np.float32)
    upsampled = with_values(desc, HIGHEST, input_tensor=values).expected["output_tensor"].values.view(np.float32)
    repeated = VALUES.repeat(2, 1).repeat(3, 2)
    assert np.array_equal(upsampled[0], repeated)
    assert np.array_equal(resampled("RESAMPLE", VALUES, (3, 8, 15), (1.0, 2.0, 3.0)), repeated)


def test_the_versions_agree_where_their_pages_say_so() -> None:
    scales, sizes = (1.0, 0.5, 2.0), (3, 3, 8)
    centres = (0.5,) * 3, (-0.5,) * 3
    found = resampled("RESAMPLE", VALUES, sizes, scales)
    assert np.array_equal(resampled("RESAMPLE1", VALUES, sizes, scales, *centres), found)
    # Rounded down half an element later, RESAMPLE2 is RESAMPLE1 (erratum RESAMPLE2-4).
    lower = (0.0,) * 3, (-0.5,) * 3
    assert np.array_equal(resampled("RESAMPLE2", VALUES, sizes, scales, DECREASING, *lower), found)
    for direction in (INCREASING, DECREASING):
        corners = direction, (0.125,) * 3, (0.25,) * 3
        of_2, of_3 = (resampled(name, VALUES, sizes, scales, *corners) for name in ("RESAMPLE2", "RESAMPLE3"))
        assert np.array_equal(of_2, of_3)


def test_turning_the_image_round_turns_the_directions_round() -> None:
    """Corners for offsets, as a turned image has its first element where the last one was."""
    line = np.arange(9, dtype=np.uint8)
    up = resampled("RESAMPLE2", line, (33,), (4.0,), INCREASING, (0.0,), (0.0,))
    down = resampled("RESAMPLE2", line[::-1].copy(), (33,), (4.0,), DECREASING, (0.0,), (0.0,))
    assert np.array_equal(up, down[::-1])
    assert not np.array_equal(up, resampled("RESAMPLE2", line, (33,), (4.0,), DECREASING, (0.0,), (0.0,)))


def test_a_larger_output_repeats_the_edge_and_a_smaller_one_is_cropped() -> None:
    whole = resampled("RESAMPLE", VALUES, (3, 4, 10), (1.0, 1.0, 2.0))
    larger = resampled("RESAMPLE", VALUES, (3, 6, 12), (1.0, 1.0, 2.0))
    assert np.array_equal(larger[:, :4, :10], whole)
    assert (larger[:, :, 10:] == larger[:, :, 9:10]).all()
    assert (larger[:, 4:] == larger[:, 3:4]).all()
    assert np.array_equal(resampled("RESAMPLE", VALUES, (2, 4, 7), (1.0, 1.0, 2.0)), whole[:2, :, :7])


def test_where_float32_decides_any_element_will_do() -> None:
    """A third of 3 elements: whether 1.5 / 0.33 - 0.5 is above 4 is not for a page to say."""
    scale = float(np.float32(1 / 3))
    desc = CLASSES["RESAMPLE2"](
        *(TensorDesc.of(KIND, (n,)) for n in (9, 3)), NEAREST, DECREASING, (scale,), (0.5,), (-0.5,)
    )
    expected = with_values(desc, HIGHEST, input_tensor=np.arange(9, dtype=np.uint8)).expected["output_tensor"]
    assert expected.one_of is not None
    assert expected.one_of.tolist() == [True, True, True]
    assert expected.memory == "input_tensor"


def neighbours(desc: Any, d: int, c: int) -> tuple[int, int, Fraction]:
    """The elements next to the coordinate of the output's along a dimension, and the weight of the second."""
    size, rank = desc.input_tensor.sizes[d], len(desc.input_tensor.sizes)
    if desc.operator == "UPSAMPLE_2D":
        scale = Fraction({1: desc.scale_size.width, 2: desc.scale_size.height}.get(rank - d, 1))
    else:
        scale = Fraction(desc.scales[d])
    of_input = Fraction(getattr(desc, "input_pixel_offsets", (0.5,) * rank)[d])
    of_output = Fraction(getattr(desc, "output_pixel_offsets", (-0.5,) * rank)[d])
    coordinate = min(max((c - of_output) / scale - of_input, Fraction(0)), Fraction(size - 1))
    below = math.floor(coordinate)
    return below, min(below + 1, size - 1), coordinate - below


@pytest.mark.parametrize("name", NAMES)
def test_linear_interpolation_lies_around_exact_averages(name: str) -> None:
    seen = 0
    for run in small_runs(name, 80):
        desc, data_type = run.desc, run.desc.output_tensor.data_type
        expected = run.expected["output_tensor"]
        if desc.interpolation_mode == NEAREST or expected.within is None:
            continue
        low, high = (numbers(part, data_type).astype(float) for part in (expected.within.low, expected.within.high))
        values = numbers(bits(run.bindings["input_tensor"], desc.input_tensor), data_type)
        for c in list(slow.walk(desc.output_tensor.sizes))[:64]:
            average, size = Fraction(0), 0.0
            every = [neighbours(desc, d, at) for d, at in enumerate(c)]
            corners = [((below, 1 - part), (above, part)) for below, above, part in every]
            elements = [[values[tuple(at for at, _ in corner)]] for corner in product(*corners)]
            if not np.isfinite(elements).all() or (expected.within.nan is not None and expected.within.nan[c]):
                continue
            for corner in product(*corners):
                element = Fraction(float(values[tuple(at for at, _ in corner)]))
                average += math.prod((weight for _, weight in corner), start=element)
                size = max(size, abs(float(element)))
            number = float(average)
            ulp = float(np.spacing(values.dtype.type(number))) if data_type.is_float else 1.0
            if not np.isfinite(ulp) or size > 2.0**125:
                continue
            assert low[c] - abs(ulp) <= number <= high[c] + abs(ulp), (desc, c)
            assert low[c] >= number - size * 2.0**-8 - 2 * abs(ulp) - 2.0**-120, (desc, c)
            assert high[c] <= number + size * 2.0**-8 + 2 * abs(ulp) + 2.0**-120, (desc, c)
            seen += 1
    assert seen > 100


def test_whole_averages_are_exact() -> None:
    """Twice the width of [0, 4, 8]: centres are a quarter of an element away from those of the input."""
    tensors = [TensorDesc.of(DataType.FLOAT32, sizes) for sizes in ((1, 1, 1, 3), (1, 1, 1, 6))]
    desc = CLASSES["UPSAMPLE_2D"](*tensors, Size2d(width=2, height=1), LINEAR)
    run = with_values(desc, HIGHEST, input_tensor=np.float32([[[[0, 4, 8]]]]))
    assert_conforms(TorchBackend("cpu"), run)
    within = run.expected["output_tensor"].within
    assert within is not None
    assert within.low.view(np.float32).reshape(-1).tolist() == [0, 1, 3, 5, 7, 8]
    assert within.high.view(np.float32).reshape(-1).tolist() == [0, 1, 3, 5, 7, 8]


def test_what_is_antialiased_is_open_and_not_supported() -> None:
    tensors = [TensorDesc.of(DataType.FLOAT32, sizes) for sizes in ((9,), (3,))]
    desc = CLASSES["RESAMPLE3"](*tensors, LINEAR, DECREASING, (0.25,), (0.5,), (-0.5,), True)
    run = with_values(desc, HIGHEST, input_tensor=np.arange(9, dtype=np.float32))
    assert run.expected["output_tensor"].free is not None
    backend = TorchBackend("cpu")
    assert backend.validate(desc, HIGHEST).accepted
    with pytest.raises(Unsupported):
        executed(backend, run)
    plain = Run(replace(run.case, desc=replace(desc, antialiased=False)), run.bindings)
    assert plain.expected["output_tensor"].free is None
    assert_conforms(backend, plain)
