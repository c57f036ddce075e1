"""RESAMPLE_GRAD and RESAMPLE_GRAD1, with fractions for coordinates, and beside derivatives of the forward operators.

onnxruntime's CPU kernels have no gradient of Resize; torch has that of its own interpolation.
"""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
import torch
from family_cases import assert_conforms, executed, numbers, small_runs, with_values

from dml_conformance.backends.reference.layout import bits
from dml_conformance.backends.reference.operators import resample as resample_module
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

NAMES = ("RESAMPLE_GRAD", "RESAMPLE_GRAD1")
FORWARD = {"RESAMPLE_GRAD": "RESAMPLE1", "RESAMPLE_GRAD1": "RESAMPLE2"}
CLASSES: Any = descriptor_classes()
NEAREST, LINEAR = 0, 1
INCREASING, DECREASING = 0, 1
KIND, KEY = DataType.FLOAT32, "output_gradient_tensor"


def weights(desc: Any, d: int, c: int, down: bool) -> dict[int, Fraction]:
    """Where along a dimension an element of the input goes, and how much of it; halves go `down`, or up."""
    size = desc.output_gradient_tensor.sizes[d]
    of_input, of_output = (Fraction(part[d]) for part in (desc.input_pixel_offsets, desc.output_pixel_offsets))
    coordinate = (c - of_output) / Fraction(desc.scales[d]) - of_input
    if desc.interpolation_mode == NEAREST:
        if hasattr(desc, "rounding_direction"):
            place = math.ceil(coordinate) if desc.rounding_direction == INCREASING else math.floor(coordinate)
        else:
            half = Fraction(1, 2)
            place = math.ceil(coordinate - half) if down else math.floor(coordinate + half)
        return {min(max(place, 0), size - 1): Fraction(1)}
    clamped = min(max(coordinate, Fraction(0)), Fraction(size - 1))
    below = math.floor(clamped)
    found = {below: 1 - (clamped - below)}
    if clamped > below:
        found[below + 1] = clamped - below
    return found


def gradient(desc: Any, values: Any, down: bool) -> tuple[dict[Any, Fraction], dict[Any, float]]:
    """The exact sums, and those of the magnitudes; infinite where an element is not finite."""
    sums: dict[Any, Fraction] = {}
    sizes: dict[Any, float] = {}
    for c in slow.walk(values.shape):
        every = [weights(desc, d, at, down).items() for d, at in enumerate(c)]
        for corner in product(*every):
            place, weight = tuple(at for at, _ in corner), math.prod(part for _, part in corner)
            element = float(values[c])
            is_finite = math.isfinite(element)
            sums[place] = sums.get(place, Fraction(0)) + weight * Fraction(element if is_finite else 0)
            sizes[place] = sizes.get(place, 0.0) + (abs(float(weight) * element) if is_finite else math.inf)
    return sums, sizes


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_lies_around_the_sums_of_the_page(name: str) -> None:
    seen = exact = 0
    for run in small_runs(name, 80):
        desc, expected = run.desc, run.expected[KEY]
        data_type = desc.output_gradient_tensor.data_type
        values = numbers(bits(run.bindings["input_gradient_tensor"], desc.input_gradient_tensor), data_type)
        if expected.within is None or values.size > 400:
            continue
        low, high = (numbers(part, data_type).astype(float) for part in (expected.within.low, expected.within.high))
        readings = [gradient(desc, values, down) for down in (False, True)]
        for place in slow.walk(desc.output_gradient_tensor.sizes):
            found = [float(sums.get(place, Fraction(0))) for sums, _ in readings]
            size = max(sizes.get(place, 0.0) for _, sizes in readings)
            if size > 6e4 or not np.isfinite([low[place], high[place]]).all():
                continue
            # Exact sums are right as the output's type has them.
            least, most = (float(values.dtype.type(one)) for one in (min(found), max(found)))
            assert low[place] <= least <= most <= high[place], (desc, place)
            exact += low[place] == high[place]
            seen += 1
    assert seen > 500
    assert exact > seen / 4


def descriptors(name: str, of: tuple[int, ...], to: tuple[int, ...], mode: int, *more: Any) -> tuple[Any, Any]:
    """The gradient and the forward operator between sizes; `more` has scales, both arrays of offsets, direction."""
    scales, of_input, of_output, *direction = more
    source, output = TensorDesc.of(KIND, of), TensorDesc.of(KIND, to)
    given = (*(direction if name == "RESAMPLE_GRAD1" else ()), scales, of_input, of_output)
    return CLASSES[name](output, source, mode, *given), CLASSES[FORWARD[name]](source, output, mode, *given)


@pytest.mark.parametrize(("name", "mode"), list(product(NAMES, (NEAREST, LINEAR))))
def test_it_is_the_derivative_of_the_forward_operator(name: str, mode: int) -> None:
    """What each element of the image adds to the forward result, times the gradient there; without ties."""
    of, to = (1, 2, 3, 4), (1, 2, 7, 5)
    more = (1.0, 1.0, 2.0, 0.5), (0.0, 0.25, 0.5, 0.125), (0.0, 0.0, -0.5, -0.25), DECREASING
    desc, forward = descriptors(name, of, to, mode, *more)
    image = np.eye(math.prod(of), dtype=np.float32).reshape(-1, *of)
    given = np.arange(math.prod(to), dtype=np.float32).reshape(to) - 20
    run = with_values(desc, HIGHEST, input_gradient_tensor=given)
    found = run.expected[KEY]
    assert found.within is not None
    derivative = [
        (numbers(with_values(forward, HIGHEST, input_tensor=one).expected["output_tensor"].values, KIND) * given).sum()
        for one in image
    ]
    for part in (found.within.low, found.within.high):
        assert np.array_equal(numbers(part, KIND).ravel(), derivative)
    assert_conforms(TorchBackend("cpu"), run)


def test_halves_may_go_up_or_down_together() -> None:
    """The page's own example has them down, the forward operator up; half of each is between."""
    more = (0.5,), (0.5,), (-0.5,)
    desc, _ = descriptors("RESAMPLE_GRAD", (4,), (2,), NEAREST, *more)
    within = with_values(desc, HIGHEST, input_gradient_tensor=np.float32([1, 2])).expected[KEY].within
    assert within is not None
    low, high = numbers(within.low, KIND), numbers(within.high, KIND)
    assert low.tolist() == [0, 0, 0, 0]
    assert high.tolist() == [1, 1, 2, 2]
    desc, _ = descriptors("RESAMPLE_GRAD1", (4,), (2,), NEAREST, *more, INCREASING)
    within = with_values(desc, HIGHEST, input_gradient_tensor=np.float32([1, 2])).expected[KEY].within
    assert within is not None
    assert numbers(within.low, KIND).tolist() == numbers(within.high, KIND).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("mode", [NEAREST, LINEAR])
def test_a_long_dimension_is_what_its_blocks_are(monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Block by block, with elements that go to the same places taken together, in a part of the memory of a sum."""
    count, scales = 2**18, ((1.0, 2.0**15), (0.0, 0.0), (0.0, 0.0))
    monkeypatch.setattr(resample_module, "BLOCK_ELEMENTS", 2**14)
    desc, _ = descriptors("RESAMPLE_GRAD", (2, 8), (2, count), mode, *scales)
    given = (np.arange(2 * count, dtype=np.float32) % 3).reshape(2, count)
    tracemalloc.start()
    whole = with_values(desc, HIGHEST, input_gradient_tensor=given).expected[KEY].within
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mode == LINEAR or peak < 60 * given.size  # bytes; weights alone would be 100
    monkeypatch.setattr(resample_module, "BLOCK_ELEMENTS", count)
    monkeypatch.setattr(resample_module, "joined", lambda blocks: blocks[0])
    within = with_values(desc, HIGHEST, input_gradient_tensor=given).expected[KEY].within
    assert whole is not None
    assert within is not None
    # FLOAT64's own rounding is another in another order, and so is what is added outward for it.
    ends = [[numbers(part, KIND) for part in (of.low, of.high)] for of in (whole, within)]
    assert np.allclose(*ends, rtol=2.0**-22, atol=0)


def test_infinities_are_added_up_and_linearly_open_what_is_near() -> None:
    more = (2.0,), (0.0,), (0.0,), DECREASING
    given = np.float32([1, np.inf, 2, -np.inf, np.inf, 4, 5, 6, 7, 8, np.nan, 9])
    desc, _ = descriptors("RESAMPLE_GRAD1", (6,), (12,), NEAREST, *more)
    run = with_values(desc, HIGHEST, input_gradient_tensor=given)
    assert_conforms(TorchBackend("cpu"), run)
    within = run.expected[KEY].within
    assert within is not None
    assert within.nan is not None
    assert within.nan.tolist() == [False, False, False, False, False, True]
    assert numbers(within.low, KIND)[:5].tolist() == [np.inf, -np.inf, np.inf, 11, 15]
    desc, _ = descriptors("RESAMPLE_GRAD1", (6,), (12,), LINEAR, *more)
    run = with_values(desc, HIGHEST, input_gradient_tensor=given)
    assert_conforms(TorchBackend("cpu"), run)
    within = run.expected[KEY].within
    assert within is not None
    assert within.nan is not None
    assert within.nan.tolist() == [True, True, True, True, True, True]


def test_a_nan_that_may_go_elsewhere_is_not_demanded_beside_an_infinity() -> None:
    """By a scale of 1.25 FLOAT32 has the third element at either of two places, where others are."""
    more = (1.25,), (0.0,), (-0.5,), INCREASING
    desc, _ = descriptors("RESAMPLE_GRAD1", (4,), (5,), NEAREST, *more)
    demanded = []
    for n in range(5):
        given = np.full(5, np.inf, np.float32)
        given[n] = np.nan
        run = with_values(desc, HIGHEST, input_gradient_tensor=given)
        assert_conforms(TorchBackend("cpu"), run)
        within = run.expected[KEY].within
        assert within is not None
        demanded.append((numbers(within.low, KIND) > numbers(within.high, KIND)).sum())
    assert demanded == [1, 1, 0, 1, 1]  # only the third may be at another place


def test_it_agrees_with_the_gradient_of_torchs_interpolation() -> None:
    """Twice and three times as large, from centre to centre, where edges are met."""
    scales, centres = (1.0, 1.0, 2.0, 3.0), ((0.5,) * 4, (-0.5,) * 4)
    desc, _ = descriptors("RESAMPLE_GRAD", (2, 3, 4, 5), (2, 3, 8, 15), LINEAR, scales, *centres)
    given = torch.randint(-9, 9, (2, 3, 8, 15), generator=torch.Generator().manual_seed(7)).float()
    image = torch.zeros(2, 3, 4, 5, requires_grad=True)
    torch.nn.functional.interpolate(image, scale_factor=(2.0, 3.0), mode="bilinear").backward(given)
    run = with_values(desc, HIGHEST, input_gradient_tensor=given.numpy())
    assert image.grad is not None
    found = executed(TorchBackend("cpu"), run)[KEY]
    assert np.allclose(numbers(found, KIND), image.grad.numpy(), atol=1e-4)
    within = run.expected[KEY].within
    assert within is not None
    assert within.holds(image.grad.numpy().view(np.uint32), KIND).all()
