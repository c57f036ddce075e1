"""Elements that do not arrive bit for bit."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dml_conformance.spec.datatypes import DataType
from strength.mutants.base import Mutant, plants

_MANTISSA = {2: 10, 4: 23, 8: 52}
FLOATS = frozenset({DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64})


class ChangesBits(Mutant, abstract=True):
    """A bug in how elements of some data types are moved."""

    rules = ("values",)
    data_types: ClassVar[frozenset[DataType]]

    def altered(self, desc: Any, values: Any) -> Any:
        data_type = desc.output_tensor.data_type
        return self.moved(values, data_type) if data_type in self.data_types else values

    def moved(self, bits: Any, data_type: DataType) -> Any:
        raise NotImplementedError


def _float_parts(bits: Any) -> tuple[Any, Any, Any, int]:
    """Sign, exponent and mantissa in place, and the quiet bit."""
    width, mantissa = bits.itemsize * 8, _MANTISSA[bits.itemsize]
    sign = bits & bits.dtype.type(1 << (width - 1))
    fraction = bits & bits.dtype.type((1 << mantissa) - 1)
    return sign, bits - sign - fraction, fraction, 1 << (mantissa - 1)


def _infinity(bits: Any) -> int:
    mantissa = _MANTISSA[bits.itemsize]
    infinity: int = ((1 << (bits.itemsize * 8 - 1)) - 1) >> mantissa << mantissa
    return infinity


@plants("moved", ChangesBits, data_types=FLOATS)
def NanCanonicalised(bits: Any, data_type: DataType) -> Any:
    _, exponent, fraction, quiet = _float_parts(bits)
    is_nan = (exponent == _infinity(bits)) & (fraction != 0)
    return np.where(is_nan, bits.dtype.type(_infinity(bits) | quiet), bits)


@plants("moved", ChangesBits, data_types=FLOATS)
def SignallingNanQuieted(bits: Any, data_type: DataType) -> Any:
    """Sets the quiet bit of a NaN, as one conversion between float types does."""
    _, exponent, fraction, quiet = _float_parts(bits)
    is_nan = (exponent == _infinity(bits)) & (fraction != 0)
    return np.where(is_nan, bits | bits.dtype.type(quiet), bits)


class Float16ThroughFloat32(SignallingNanQuieted):
    """Moves FLOAT16 by way of FLOAT32, which keeps every number and quiets signalling NaNs."""

    data_types = frozenset({DataType.FLOAT16})


@plants("moved", ChangesBits, data_types=FLOATS)
def SubnormalsFlushed(bits: Any, data_type: DataType) -> Any:
    sign, exponent, _, _ = _float_parts(bits)
    return np.where(exponent == 0, sign, bits)


class Float16SubnormalsFlushed(SubnormalsFlushed):
    data_types = frozenset({DataType.FLOAT16})


@plants("moved", ChangesBits, data_types=FLOATS)
def NegativeZeroLost(bits: Any, data_type: DataType) -> Any:
    sign, _, _, _ = _float_parts(bits)
    return np.where(bits == sign, bits.dtype.type(0), bits)


@plants("moved", ChangesBits, data_types=FLOATS)
def InfinityClamped(bits: Any, data_type: DataType) -> Any:
    """Turns an infinity into the largest finite number."""
    sign, exponent, fraction, _ = _float_parts(bits)
    is_infinite = (exponent == _infinity(bits)) & (fraction == 0)
    return np.where(is_infinite, sign | bits.dtype.type(_infinity(bits) - 1), bits)


class ThroughFloat(ChangesBits, abstract=True):
    """Moves integers by way of a float that does not hold them all."""

    by: ClassVar[type]

    def moved(self, bits: Any, data_type: DataType) -> Any:
        number = np.dtype(data_type.name.lower())
        low, high = np.iinfo(number).min, np.iinfo(number).max
        floats = bits.view(number).astype(self.by)
        fits = (floats >= low) & (floats < self.by(high))
        return np.where(fits, np.where(fits, floats, 0).astype(number), high).view(bits.dtype)


class Int64ThroughFloat64(ThroughFloat):
    data_types = frozenset({DataType.INT64, DataType.UINT64})
    by = np.float64
    since = "4_1"


class Int32ThroughFloat32(ThroughFloat):
    since = "2_1"
    data_types = frozenset({DataType.INT32, DataType.UINT32})
    by = np.float32


@plants("moved", ChangesBits, since="4_1", data_types=frozenset({DataType.INT64, DataType.UINT64, DataType.FLOAT64}))
def HighHalfLost(bits: Any, data_type: DataType) -> Any:
    """Moves 64-bit elements in 32 bits."""
    return bits & np.uint64(0xFFFF_FFFF)


@plants("moved", ChangesBits, since="2_1", data_types=frozenset({DataType.INT16, DataType.UINT16}))
def BytesSwapped(bits: Any, data_type: DataType) -> Any:
    """Swaps the bytes of 16-bit integers."""
    return bits.byteswap()
