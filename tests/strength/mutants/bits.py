"""Elements that do not arrive bit for bit."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from strength.mutants.base import Mutant, fault, main_output, plants, types_of_output, variant

FLOAT16 = frozenset({DataType.FLOAT16})
FLOATS = FLOAT16 | {DataType.FLOAT32, DataType.FLOAT64}


class ChangesBits(Mutant, abstract=True):
    """A bug in how elements of some data types are moved."""

    rules, moves = ("values",), True
    data_types: ClassVar[frozenset[DataType]]

    def altered(self, desc: Any, values: Any) -> Any:
        data_type = main_output(desc).tensor.data_type
        return self.moved(values, data_type) if data_type in self.data_types else values

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        has_some = not cls.data_types.isdisjoint(types_of_output(operator, level))
        return has_some and super().shows_at(operator, level)

    def moved(self, bits: Any, data_type: DataType) -> Any:
        raise NotImplementedError


def _floats(bits: Any) -> Any:
    return bits.view(f"f{bits.itemsize}")


def _bits_of(number: float, like: Any) -> Any:
    """The bits of a float as wide as others."""
    return np.array(number, _floats(like).dtype).view(like.dtype)


def _quieted(bits: Any) -> Any:
    return np.where(np.isnan(_floats(bits)), bits | _bits_of(np.nan, bits), bits)


def _flushed(bits: Any) -> Any:
    numbers = _floats(bits)
    return np.where(np.abs(numbers) < np.finfo(numbers.dtype).tiny, bits & _bits_of(-0.0, bits), bits)


plants("moved", ChangesBits, data_types=FLOATS).each(
    NanCanonicalised=lambda bits: np.where(np.isnan(_floats(bits)), _bits_of(np.nan, bits), bits),
    SignallingNanQuieted=fault(_quieted, "Sets the quiet bit of a NaN, as one conversion between float types does."),
    Float16ThroughFloat32=fault(
        _quieted,
        "Moves FLOAT16 by way of FLOAT32, which keeps every number and quiets signalling NaNs.",
        data_types=FLOAT16,
    ),
    SubnormalsFlushed=_flushed,
    Float16SubnormalsFlushed=fault(_flushed, data_types=FLOAT16),
    NegativeZeroLost=lambda bits: np.where(_floats(bits) == 0, bits.dtype.type(0), bits),
    InfinityClamped=fault(
        lambda bits: np.where(np.isinf(_floats(bits)), bits - bits.dtype.type(1), bits),
        "Turns an infinity into the largest finite number.",
    ),
)


class ThroughFloat(ChangesBits, abstract=True):
    """Moves integers by way of a float that does not hold them all."""

    by: ClassVar[type]

    def moved(self, bits: Any, data_type: DataType) -> Any:
        number = np.dtype(data_type.name.lower())
        low, high = np.iinfo(number).min, np.iinfo(number).max
        floats = bits.view(number).astype(self.by)
        fits = (floats >= low) & (floats < self.by(high))
        return np.where(fits, np.where(fits, floats, 0).astype(number), high).view(bits.dtype)


_INT64, _INT32 = (frozenset({DataType[f"INT{width}"], DataType[f"UINT{width}"]}) for width in (64, 32))
variant("Int64ThroughFloat64", ThroughFloat, since="4_1", data_types=_INT64, by=np.float64)
variant("Int32ThroughFloat32", ThroughFloat, since="2_1", data_types=_INT32, by=np.float32)


plants("moved", ChangesBits).each(
    HighHalfLost=fault(
        lambda bits: bits & np.uint64(0xFFFF_FFFF),
        "Moves 64-bit elements in 32 bits.",
        since="4_1",
        data_types=frozenset({DataType.INT64, DataType.UINT64, DataType.FLOAT64}),
    ),
    BytesSwapped=fault(
        lambda bits: bits.byteswap(),
        "Swaps the bytes of 16-bit integers.",
        since="2_1",
        data_types=frozenset({DataType.INT16, DataType.UINT16}),
    ),
)
