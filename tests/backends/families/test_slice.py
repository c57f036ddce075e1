"""SLICE, SLICE1 and SLICE_GRAD: the pages' formulas in plain Python, and what holds of slices of slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, small_runs, with_values
from msgspec.structs import replace

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

NAMES = ("SLICE", "SLICE1", "SLICE_GRAD")
CLASSES: Any = descriptor_classes()
KIND = DataType.UINT16


def place(desc: Any, coordinates: tuple[int, ...]) -> tuple[int, ...]:
    """Where the larger tensor has the element that the smaller one has at some coordinates."""
    if desc.operator == "SLICE":
        return tuple(o + s * c for o, s, c in zip(desc.offsets, desc.strides, coordinates, strict=True))
    found = []
    for d, c in enumerate(coordinates):
        start = desc.input_window_offsets[d]
        if desc.input_window_strides[d] < 0:
            start += desc.input_window_sizes[d] - 1
        found.append(start + desc.input_window_strides[d] * c)
    return tuple(found)


def slowly(run: Run) -> list[int]:
    """The output's elements in order."""
    desc = run.desc
    if desc.operator != "SLICE_GRAD":
        source = run.memory("input_tensor")
        found = [source.element(place(desc, c)) for c in slow.walk(desc.output_tensor.sizes)]
        return [int.from_bytes(element, "little") for element in found]
    source = run.memory("input_gradient_tensor")
    copies = {place(desc, c): source.element(c) for c in slow.walk(desc.input_gradient_tensor.sizes)}
    return [int.from_bytes(copies.get(c, b"\0"), "little") for c in slow.walk(desc.output_gradient_tensor.sizes)]


def output(run: Run) -> Any:
    (expected,) = run.expected.values()
    assert expected.open is None
    return expected.values


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_agrees_with_the_pages_formula(name: str) -> None:
    for run in small_runs(name):
        assert output(run).reshape(-1).tolist() == slowly(run), run.desc
        (key,) = run.expected
        if output(run).size <= 24:
            assert np.array_equal(run.parts(key).values, output(run)), run.desc


def sliced(values: Any, **fields: tuple[int, ...]) -> Any:
    """What SLICE1 takes of an array; as many elements as the window has unless `count` says otherwise."""
    offsets = fields.get("offsets", (0,) * values.ndim)
    windows = fields.get("windows", values.shape)
    strides = fields.get("strides", (1,) * values.ndim)
    count = tuple(1 + (window - 1) // abs(stride) for window, stride in zip(windows, strides, strict=True))
    tensors = TensorDesc.of(KIND, values.shape), TensorDesc.of(KIND, fields.get("count", count))
    return output(with_values(CLASSES["SLICE1"](*tensors, offsets, windows, strides), HIGHEST, input_tensor=values))


VALUES = np.arange(4 * 7 * 3, dtype=np.uint16).reshape(4, 7, 3)


def test_turned_round_twice_is_the_same() -> None:
    backwards = sliced(VALUES, strides=(-1, -1, -1))
    assert np.array_equal(backwards, VALUES[::-1, ::-1, ::-1])
    assert np.array_equal(sliced(backwards, strides=(-1, -1, -1)), VALUES)


def test_strides_and_offsets_of_a_slice_of_a_slice_add_up() -> None:
    twice = sliced(sliced(VALUES, strides=(1, 2, 1)), offsets=(1, 1, 0), windows=(3, 3, 3), strides=(-2, 2, -1))
    assert np.array_equal(twice, sliced(VALUES, offsets=(1, 2, 0), windows=(3, 5, 3), strides=(-2, 4, -1)))


def test_an_output_smaller_than_the_window_has_its_first_elements() -> None:
    for strides in ((2, 3, 1), (-2, -3, -1)):
        whole = sliced(VALUES, strides=strides)
        assert np.array_equal(sliced(VALUES, strides=strides, count=(1, 2, 3)), whole[:1, :2, :3])


@pytest.mark.parametrize("strides", [(1, 2, 1), (-1, 3, -2)])
def test_the_gradient_is_the_slice_transposed(strides: tuple[int, ...]) -> None:
    """Slicing what the gradient has put back gives the gradient, and its other elements are all 0."""
    window = (1, 0, 0), (3, 7, 3), strides
    gradient = sliced(VALUES + 1, offsets=window[0], windows=window[1], strides=strides)
    tensors = TensorDesc.of(KIND, gradient.shape), TensorDesc.of(KIND, VALUES.shape)
    whole = output(with_values(CLASSES["SLICE_GRAD"](*tensors, *window), HIGHEST, input_gradient_tensor=gradient))
    assert np.array_equal(sliced(whole, offsets=window[0], windows=window[1], strides=strides), gradient)
    assert np.count_nonzero(whole) == gradient.size
    assert whole.sum() == gradient.sum()


def test_slice_is_slice1_with_the_window_that_it_needs() -> None:
    for run in small_runs("SLICE", 60):
        desc = run.desc
        windows = tuple(1 + (size - 1) * stride for size, stride in zip(desc.sizes, desc.strides, strict=True))
        # Of one element none is a step away, and INT holds no stride as large as UINT.
        strides = tuple(min(stride, 2**31 - 1) for stride in desc.strides)
        same = CLASSES["SLICE1"](desc.input_tensor, desc.output_tensor, desc.offsets, windows, strides)
        assert np.array_equal(output(Run(replace(run.case, desc=same), run.bindings)), output(run))


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        ({"input_window_sizes": (5,)}, ()),
        ({"input_window_offsets": (1,)}, ("SLICE1.window-range",)),
        ({"input_window_offsets": (2**32 - 1,)}, ("SLICE1.window-range",)),
        ({"input_window_sizes": (4,)}, ()),
        ({"input_window_sizes": (2,)}, ("SLICE1.output-sizes",)),
        ({"input_window_sizes": (0,)}, ("SLICE1.window-sizes",)),
        ({"input_window_strides": (0,)}, ("SLICE1.strides",)),
        ({"input_window_strides": (-2,)}, ()),
        ({"input_window_strides": (-5,)}, ("SLICE1.output-sizes",)),
        ({"input_window_strides": (-(2**31),)}, ("SLICE1.output-sizes",)),
        ({"input_window_strides": (2, 1)}, ("SLICE1.array-lengths",)),
    ],
)
def test_windows_at_the_ends_of_their_ranges(change: dict[str, Any], rules: tuple[str, ...]) -> None:
    """Two elements of a window of five, two or more steps apart."""
    tensors = TensorDesc.of(KIND, (5,)), TensorDesc.of(KIND, (2,))
    desc = replace(CLASSES["SLICE1"](*tensors, (0,), (5,), (2,)), **change)
    decision = decide(desc, HIGHEST)
    assert decision.rules == rules
    assert (decision.outcome is Outcome.ACCEPT) == (not rules)
