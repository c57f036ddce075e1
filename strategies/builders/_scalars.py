"""Numbers for DML_SCALAR_UNION, each one that its data type has."""

from __future__ import annotations

import struct

from dml_conformance.spec.datatypes import DataType
from dml_conformance.strategies.context import Context

# The largest finite number, by the bytes of a float.
LARGEST_FLOAT = {2: 65504.0, 4: float.fromhex("0x1.fffffep+127"), 8: float.fromhex("0x1.fffffffffffffp+1023")}
LEAST_FLOAT = {2: 2.0**-24, 4: 2.0**-149, 8: 2.0**-1074}


def float32(number: float) -> float:
    """The nearest number that FLOAT has."""
    nearest: float = struct.unpack("f", struct.pack("f", number))[0]
    return nearest


def any_number(ctx: Context, data_type: DataType) -> int | float:
    """A number of a type, now and then one at the ends of its range."""
    drawn = ctx.chooser.integer(0, 19)
    if data_type.limits is not None:
        low, high = data_type.limits
        ends = (high, low, high // 2 + 1, low + 1)
        return ends[drawn] if drawn < len(ends) else ctx.chooser.integer(max(low, -100), min(high, 100))
    width = data_type.size
    ends_ = (LARGEST_FLOAT[width], -LARGEST_FLOAT[width], LEAST_FLOAT[width], -0.0, float("inf"), 2049.0 + 2**11)
    return ends_[drawn] if drawn < len(ends_) else ctx.chooser.integer(-400, 400) / 4
