"""The number in a DML_SCALAR_UNION."""

from __future__ import annotations

import math
import struct

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level

_FLOATS = {DataType.FLOAT16: "<e", DataType.FLOAT32: "<f", DataType.FLOAT64: "<d"}


def bits_of(value: float | int, data_type: DataType) -> int:
    """The bits that a number has in a type, as a signed integer of its width.

    Beyond the type a float becomes infinite, and of an integer the low bits stay.
    """
    width = data_type.size
    if data_type in _FLOATS:
        try:
            packed = struct.pack(_FLOATS[data_type], value)
        except OverflowError:
            packed = struct.pack(_FLOATS[data_type], math.copysign(math.inf, value))
    else:
        whole = int(value) if math.isfinite(value) else 0
        packed = (whole % 2 ** (8 * width)).to_bytes(width, "little")
    return int.from_bytes(packed, "little", signed=True)


def value_fault(
    desc: OperatorDesc, level: Level, attribute: str = "value_data_type", output: str = "output_tensor"
) -> str:
    """Whether the type of the descriptor's numbers is not the output's data type."""
    found, wanted = getattr(desc, attribute), getattr(desc, output).data_type
    return "" if found == wanted else f"{attribute} is {found}, {output} has {wanted}"
