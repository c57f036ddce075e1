"""FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE: tensors made of numbers alone."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation
from dml_conformance.backends.reference.floats import FORMATS, quiet, spacing
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute
from dml_conformance.backends.reference.operators._conversion import scalar
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec import structures
from dml_conformance.spec.accuracy import Subnormals, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation

FIRST = "first"  # of a part of a sequence: which element it begins with, in place of an input


def fill_value_constant(desc: structures.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = Value"""
    return {"output_tensor": np.full(desc.output_tensor.sizes, scalar(desc.value, desc.output_tensor.data_type))}


def fill_value_sequence(desc: structures.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """output[element n, row-major] = ValueStart + n * ValueDelta, added up step by step or multiplied."""
    tensor, start, delta = desc.output_tensor, desc.value_start, desc.value_delta
    first, count = int(arrays[FIRST]) if FIRST in arrays else 0, prod(tensor.sizes)
    certain = max(0, min(certain_count(start, delta, tensor.data_type) - first, count))
    if tensor.data_type.is_float:
        steps = np.arange(first, first + count, dtype=np.float64).reshape(tensor.sizes)
        return {"output_tensor": partial(_floats, tensor.data_type, start, delta, steps, first + certain)}
    places = np.arange(count, dtype=np.uint64) + np.uint64(first)
    # Modulo 2^64, of which the low bits are those modulo a lower power.
    values = np.uint64(int(start) % 2**64) + places * np.uint64(int(delta) % 2**64)
    free = None if certain == count else (np.arange(count) >= certain).reshape(tensor.sizes)
    bits = values.astype(UNSIGNED[tensor.data_type.size]).reshape(tensor.sizes)
    return {"output_tensor": Expectation(bits, free=free)}


@quiet
def _floats(
    data_type: DataType, start: float, delta: float, steps: Array, certain: int, tolerance: Tolerance
) -> Enclosure:
    """A sequence whose first `certain` elements are not rounded.

    Each step after them, and the product in their place, may lose a unit in the last place of the largest number that
    it meets, and what is subnormal.
    """
    of = FORMATS[data_type]
    products = steps * delta
    value = start + products
    largest = np.maximum(np.maximum(np.abs(products), np.abs(value)), abs(start))
    unit = spacing(np, largest, data_type)
    if tolerance.subnormals[data_type] is not Subnormals.KEPT:
        unit = unit + of.normal
    radius = np.where(steps < certain, 0.0, (steps + 1) * unit)
    found = Enclosure(Evaluation(tolerance, data_type), value, value - radius, value + radius)
    return found.opened(~(largest + radius < of.largest)).to(data_type)


def certain_count(start: float | int, delta: float | int, data_type: DataType) -> int:
    """How many elements of a sequence are the same however it is computed: step by step or by multiplying.

    Of an unsigned type all, of a signed one those that it holds. Of a floating-point type those up to which the start,
    the steps and the sums are whole numbers, in units that both start and delta are multiples of, that it has exactly.
    """
    if not (math.isfinite(start) and math.isfinite(delta)):
        return 0
    if not data_type.is_float:
        least, most = data_type.limits or (0, 0)
        return _ENDLESS if least == 0 else _first_beyond(int(start), int(delta), least, most)
    if start == 0 and math.copysign(1, start) < 0:
        return 0  # whether the first zero has a sign
    info = np.finfo(NUMBERS[data_type])
    first, step = Fraction(start), Fraction(delta)
    unit = _unit(first, step)
    most_units = min(Fraction(2 ** (info.nmant + 1)), Fraction(float(info.max)) / unit)
    if unit < Fraction(float(info.tiny)):
        return 0  # subnormal numbers may become zero
    first, step = first / unit, step / unit
    of_steps = most_units // abs(step) + 1 if step else _ENDLESS
    return int(min(_first_beyond(first, step, -most_units, most_units), of_steps, most_units + 1 if step else _ENDLESS))


_ENDLESS = 2**64


def _first_beyond(start: Any, delta: Any, least: Any, most: Any) -> int:
    """The number of the first element of a sequence that lies outside of a range."""
    if not least <= start <= most:
        return 0
    if delta == 0:
        return _ENDLESS
    return int(((most - start) if delta > 0 else (start - least)) // abs(delta)) + 1


def _unit(first: Fraction, step: Fraction) -> Fraction:
    """The greatest power of two that both are multiples of; 1 if they are 0."""
    common = math.lcm(first.denominator, step.denominator)
    whole = math.gcd(int(first * common), int(step * common))
    return Fraction(whole & -whole, common) if whole else Fraction(1)


def cut_constant(desc: structures.FillValue, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    return desc, arrays


def cut_sequence(
    desc: structures.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC, spans: Spans, arrays: Arrays
) -> tuple[Any, Arrays]:
    """The sequence from the box's first element on."""
    first = np.ravel_multi_index([span.start for span in spans], desc.output_tensor.sizes)
    return desc, {FIRST: np.array(first, np.uint64)}


OPERATORS: dict[str, Compute] = {
    "FILL_VALUE_CONSTANT": fill_value_constant,
    "FILL_VALUE_SEQUENCE": fill_value_sequence,
}
CUTS: dict[str, Cut] = {"FILL_VALUE_CONSTANT": cut_constant, "FILL_VALUE_SEQUENCE": cut_sequence}
