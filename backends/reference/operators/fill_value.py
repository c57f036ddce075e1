"""FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE: tensors made of numbers alone."""

from __future__ import annotations

import math
from fractions import Fraction
from math import prod
from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute
from dml_conformance.backends.reference.operators._conversion import scalar
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation

CERTAIN = "certain"  # of a part of a sequence: how many of its elements are certain, in place of an input


def fill_value_constant(desc: Any, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = Value"""
    return {"output_tensor": np.full(desc.output_tensor.sizes, scalar(desc.value, desc.output_tensor.data_type))}


def fill_value_sequence(desc: Any, arrays: Arrays) -> dict[str, Expectation]:
    """output[element n, row-major] = ValueStart + n * ValueDelta, as far as `certain_count` goes."""
    tensor, start, delta = desc.output_tensor, desc.value_start, desc.value_delta
    count = prod(tensor.sizes)
    certain = int(arrays[CERTAIN]) if CERTAIN in arrays else certain_count(start, delta, tensor.data_type)
    certain = max(0, min(certain, count))
    values = np.zeros(count, NUMBERS[tensor.data_type])
    steps = np.arange(certain, dtype=np.uint64)
    if tensor.data_type.is_float:
        values[:certain] = start + steps * delta if certain else 0
    else:  # modulo 2^64, of which the low bits are those modulo a lower power
        low_bits = np.uint64(int(start) % 2**64) + steps * np.uint64(int(delta) % 2**64) if certain else steps
        values[:certain] = low_bits.astype(UNSIGNED[tensor.data_type.size]).view(values.dtype)
    free = None if certain == count else (np.arange(count) >= certain).reshape(tensor.sizes)
    return {"output_tensor": Expectation(values.view(UNSIGNED[values.itemsize]).reshape(tensor.sizes), free=free)}


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


def cut_constant(desc: Any, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    return desc, arrays


def cut_sequence(desc: Any, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The sequence from the box's first element on."""
    start, delta, tensor = desc.value_start, desc.value_delta, desc.output_tensor
    first = int(np.ravel_multi_index([span.start for span in spans], tensor.sizes))
    certain = certain_count(start, delta, tensor.data_type) - first
    if certain > 0:
        start += first * delta
    return msgspec.structs.replace(desc, value_start=start), {
        CERTAIN: np.array(min(max(certain, 0), _ENDLESS - 1), np.uint64)
    }


OPERATORS: dict[str, Compute] = {
    "FILL_VALUE_CONSTANT": fill_value_constant,
    "FILL_VALUE_SEQUENCE": fill_value_sequence,
}
CUTS: dict[str, Cut] = {"FILL_VALUE_CONSTANT": cut_constant, "FILL_VALUE_SEQUENCE": cut_sequence}
