"""What operators share that make integers of few bits of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask, Numbers, Within

QUOTIENT_ULP = 2.5
FLOAT32 = np.finfo(np.float32)


def has_no_reciprocal(scales: Array) -> Mask:
    """Which scales are 0 or not finite, and where they or their reciprocals are subnormal."""
    tiny = float(np.finfo(scales.dtype).tiny)
    magnitudes = np.abs(scales)
    return np.asarray(~((magnitudes >= tiny) & (magnitudes <= 1 / tiny)))


def quotient_error(x: Numbers, scale: Numbers, quotient: Numbers, data_type: DataType) -> Numbers:
    """How far from the quotient a division may come, of numbers that are rounded to FLOAT32 before if it has not them.

    A division by a power of two is exact, also as a multiplication by its reciprocal.
    """
    is_power = np.abs(np.frexp(scale)[0]) == 0.5
    units = np.where(is_power, 0.0, QUOTIENT_ULP * float(np.finfo(NUMBERS[data_type]).eps))
    rounded = np.where(x == x.astype(np.float32), 0.0, float(FLOAT32.eps) / 2)
    return np.asarray(np.abs(quotient) * (units + rounded))


def quantized_between(
    low: Numbers, quotient: Numbers, high: Numbers, zero_points: tuple[Any, Any, Any], free: Mask, data_type: DataType
) -> Expectation:
    """`clamp(round(quotient) + zero point, least, largest)`, ties to even.

    Args:
        low, quotient, high: the least quotient that is right, the exact one, and the greatest.
        zero_points: the same three of zero points.
        free: where anything is right.
        data_type: of the results.
    """
    least, most = data_type.limits or (0, 0)

    def whole(quotient: Numbers, zero_point: Any) -> Bits:
        numbers = np.clip(np.rint(np.where(free, 0.0, quotient)) + zero_point, least, most)
        found: Bits = numbers.astype(NUMBERS[data_type]).view(UNSIGNED[data_type.size])
        return found

    ends = [whole(*each) for each in zip((low, quotient, high), zero_points, strict=True)]
    is_open = ends[0] != ends[2]
    within = Within(ends[0], ends[2], where=is_open) if is_open.any() else None
    return Expectation(ends[1], free=free if free.any() else None, within=within)
