"""UPSAMPLE_2D, RESAMPLE and its successors by nearest neighbour, with fractions for coordinates."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, executed, small_runs, with_values
from msgspec.structs import replace

from dml_conformance.backends.base import Unsupported
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


@pytest.mark.parametrize("name", NAMES)
def test_linear_interpolation_is_decided_on_and_not_judged(name: str) -> None:
    run: Run = next(small_runs(name, 1))
    linear = Run(replace(run.case, desc=replace(run.desc, interpolation_mode=LINEAR)), run.bindings)
    assert linear.expected["output_tensor"].free is not None
    assert linear.expected["output_tensor"].free.all()
    backend = TorchBackend("cpu")
    assert backend.validate(linear.desc, linear.case.level).accepted
    with pytest.raises(Unsupported):
        executed(backend, linear)
