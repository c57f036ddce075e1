"""PADDING and PADDING1: coordinates folded step by step in plain Python, constants of every type."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, is_right, small_runs, with_values

from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide

CLASSES: Any = descriptor_classes()
CONSTANT, EDGE, REFLECTION, SYMMETRIC, WRAP = range(5)
NAMES = ("PADDING", "PADDING1")


def folded(place: int, size: int, mode: int) -> int | None:
    """A coordinate brought into a dimension, one fold or turn at a time; None for the constant."""
    while not 0 <= place < size:
        if mode == CONSTANT:
            return None
        if mode == EDGE:
            place += 1 if place < 0 else -1
        elif mode == WRAP:
            place += size if place < 0 else -size
        else:  # folded over the edge: onto the element beside it, or onto the edge itself
            edge, beside = (0, -1) if place < 0 else (size - 1, 1)
            place = 2 * edge - place + (beside if mode == SYMMETRIC else 0)
    return place


def slowly(run: Run) -> list[int | None]:
    """The output's elements in order, None for those of the constant."""
    desc, source, found = run.desc, run.memory("input_tensor"), []
    for c in slow.walk(desc.output_tensor.sizes):
        inner = [
            folded(place - start, size, desc.padding_mode)
            for place, start, size in zip(c, desc.start_padding, desc.input_tensor.sizes, strict=True)
        ]
        found.append(None if None in inner else int.from_bytes(source.element(tuple(map(int, inner))), "little"))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_agrees_with_folding_step_by_step(name: str) -> None:
    modes = set()
    for run in small_runs(name):
        expected, wanted = run.expected["output_tensor"], slowly(run)
        is_padded = np.array([element is None for element in wanted]).reshape(expected.values.shape)
        elements = [element or 0 for element in wanted]
        assert np.where(is_padded, 0, expected.values).reshape(-1).tolist() == elements, run.desc
        assert expected.open is None or not (expected.open & ~is_padded).any()
        if is_padded.size <= 48:
            assert np.array_equal(run.parts("output_tensor").values, expected.values), run.desc
        modes.add(run.desc.padding_mode)
    assert modes == set(range(5))


def padded(values: Any, mode: int, start: int, end: int) -> Any:
    """Padded along the last dimension."""
    ones = (0,) * (values.ndim - 1)
    inner, outer = values.shape, (*values.shape[:-1], start + values.shape[-1] + end)
    tensors = TensorDesc.of(DataType.UINT16, inner), TensorDesc.of(DataType.UINT16, outer)
    desc = CLASSES["PADDING"](*tensors, mode, 7.0, (*ones, start), (*ones, end))
    return with_values(desc, HIGHEST, input_tensor=values).expected["output_tensor"].values


VALUES = np.arange(12, dtype=np.uint16).reshape(3, 4)


@pytest.mark.parametrize(("mode", "first"), [(CONSTANT, 3), (EDGE, 3), (REFLECTION, 3), (SYMMETRIC, 4), (WRAP, 4)])
def test_padding_once_is_padding_in_two_steps(mode: int, first: int) -> None:
    """What was added before is folded again, where it is as much as can be folded at once."""
    whole = padded(VALUES, mode, first + 2, first + 3)
    assert np.array_equal(padded(padded(VALUES, mode, first, first), mode, 2, 3), whole)
    assert np.array_equal(whole[:, first + 2 :][:, :4], VALUES)


@pytest.mark.parametrize(("mode", "period"), [(WRAP, 4), (SYMMETRIC, 8), (REFLECTION, 6)])
def test_what_is_far_out_comes_round_again(mode: int, period: int) -> None:
    row = padded(VALUES, mode, 20, 20)
    assert np.array_equal(row[:, period:], row[:, :-period])
    if mode != WRAP:
        assert np.array_equal(padded(VALUES[:, ::-1], mode, 20, 20), row[:, ::-1])


def constant(name: str, data_type: DataType, value: float) -> tuple[Expectation, DataType]:
    """What is right of one element of padding."""
    tensors = TensorDesc.of(data_type, (1,)), TensorDesc.of(data_type, (2,))
    typed = (int(data_type),) if name == "PADDING1" else ()
    desc = CLASSES[name](*tensors, CONSTANT, *typed, value, (1,), (0,))
    assert not decide(desc, HIGHEST).violations
    run = with_values(desc, HIGHEST, input_tensor=np.zeros(1, NUMBERS[data_type]))
    return run.expected["output_tensor"].at((0,)), data_type


def holds(right: tuple[Expectation, DataType], value: float) -> bool:
    expected, data_type = right
    with np.errstate(over="ignore"):
        found = np.array([value]).astype(NUMBERS[data_type])
    return bool(is_right(expected, found.view(expected.values.dtype), data_type).all())


@pytest.mark.parametrize(
    ("data_type", "value", "right"),
    [
        (DataType.INT32, 10.6, 10),
        (DataType.INT8, -10.6, -10),
        (DataType.UINT8, 255.5, 255),
        (DataType.UINT8, -0.75, 0),
        (DataType.INT8, 127.9, 127),
        (DataType.INT32, -(2.0**31), -(2**31)),
        (DataType.INT64, 2.0**62, 2**62),
        (DataType.FLOAT32, 0.5, 0.5),
        (DataType.FLOAT64, -math.inf, -math.inf),
        (DataType.FLOAT16, 65504.0, 65504.0),
    ],
)
def test_a_constant_of_padding_that_its_type_has(data_type: DataType, value: float, right: float) -> None:
    found = constant("PADDING", data_type, value)
    assert found[0].open is None or not found[0].open.any()
    assert holds(found, right)
    assert not holds(found, right - 64 if math.isfinite(right) else 0)


@pytest.mark.parametrize(
    ("data_type", "value"),
    [(DataType.UINT8, 256.0), (DataType.INT8, -129.0), (DataType.INT32, 2.0**31), (DataType.UINT16, math.nan)],
)
def test_a_constant_beyond_its_type_is_left_open(data_type: DataType, value: float) -> None:
    found = constant("PADDING", data_type, value)
    assert all(holds(found, other) for other in (0, 1, 77))


def test_a_constant_of_float16_is_one_of_its_neighbours() -> None:
    found = constant("PADDING", DataType.FLOAT16, 0.1)
    unit = Fraction(1, 2**14)  # of the numbers from 1/16 to 1/8
    low = Fraction(0.1) // unit * unit
    assert [holds(found, float(low + n * unit)) for n in range(-1, 3)] == [False, True, True, False]
    found = constant("PADDING", DataType.FLOAT16, 1.0e-7)  # subnormal
    assert [holds(found, n * 2.0**-24) for n in range(-1, 4)] == [False, True, True, True, False]
    found = constant("PADDING", DataType.FLOAT16, 65520.0)
    assert [holds(found, n) for n in (65472.0, 65504.0, math.inf, math.nan)] == [False, True, True, False]


def test_constants_of_padding1_are_of_the_tensors_type() -> None:
    for data_type in (kind for kind in DataType if kind.bits >= 8):
        ends = data_type.limits or (0.1, -math.inf)
        for value in ends:
            found = constant("PADDING1", data_type, value)
            assert found[0].open is None
            number = np.array([value]).astype(NUMBERS[data_type])
            assert found[0].values.tobytes() == number.tobytes()
    found = constant("PADDING1", DataType.FLOAT32, math.nan)
    assert [holds(found, value) for value in (math.nan, 0.0, math.inf)] == [True, False, False]


@pytest.mark.parametrize(("mode", "level"), [(REFLECTION, Level.L1_0), (SYMMETRIC, Level.L3_0), (WRAP, Level.L6_4)])
def test_modes_come_with_their_levels(mode: int, level: Level) -> None:
    tensors = TensorDesc.of(DataType.FLOAT32, (1, 1, 1, 2)), TensorDesc.of(DataType.FLOAT32, (1, 1, 1, 5))
    desc = CLASSES["PADDING"](*tensors, mode, 0.0, (0, 0, 0, 1), (0, 0, 0, 2))
    for other in Level:
        assert decide(desc, other).rules == (() if other >= level else ("PADDING.enumerators",))


def test_reflection_of_one_element_is_left_open() -> None:
    tensors = TensorDesc.of(DataType.FLOAT32, (1, 2)), TensorDesc.of(DataType.FLOAT32, (2, 2))
    desc = CLASSES["PADDING"](*tensors, REFLECTION, 0.0, (1, 0), (0, 0))
    assert decide(desc, HIGHEST).rules == ("PADDING.reflection-of-one",)
