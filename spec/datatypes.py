"""The enumerations of DirectML.h that a tensor description uses.

Source: DML_TENSOR_DATA_TYPE, DML_TENSOR_TYPE, DML_TENSOR_FLAGS (header and their pages).
"""

from __future__ import annotations

from enum import IntEnum


class DataType(IntEnum):
    """`DML_TENSOR_DATA_TYPE`; the values are the header's."""

    UNKNOWN = 0
    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13

    @property
    def size(self) -> int:
        """Bytes of one element that has them for itself; 0 for UNKNOWN."""
        return ELEMENT_SIZE[self]

    @property
    def bits(self) -> int:
        """Bits of one element; 0 for UNKNOWN."""
        return ELEMENT_BITS[self]

    @property
    def shares_bytes(self) -> bool:
        """Whether two elements share a byte of memory."""
        return self in UNPACKED

    @property
    def unpacked(self) -> DataType:
        """The type of the elements where each has its bytes for itself."""
        return UNPACKED.get(self, self)

    @property
    def limits(self) -> tuple[int, int] | None:
        """The least and the largest value of an integer type."""
        if self.is_float or not self.bits:
            return None
        if self.is_signed_integer:
            return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1
        return 0, 2**self.bits - 1

    @property
    def is_float(self) -> bool:
        return self in FLOATING_POINT

    @property
    def is_signed_integer(self) -> bool:
        return self.name.startswith("INT")


ELEMENT_SIZE = {
    DataType.UNKNOWN: 0,
    DataType.FLOAT32: 4,
    DataType.FLOAT16: 2,
    DataType.UINT32: 4,
    DataType.UINT16: 2,
    DataType.UINT8: 1,
    DataType.INT32: 4,
    DataType.INT16: 2,
    DataType.INT8: 1,
    DataType.FLOAT64: 8,
    DataType.UINT64: 8,
    DataType.INT64: 8,
    DataType.UINT4: 1,
    DataType.INT4: 1,
}
UNPACKED = {DataType.UINT4: DataType.UINT8, DataType.INT4: DataType.INT8}

FLOATING_POINT = frozenset({DataType.FLOAT32, DataType.FLOAT16, DataType.FLOAT64})

# The page of DML_TENSOR_DATA_TYPE puts the first of two 4-bit elements into the low half of a byte.
ELEMENT_BITS = {kind: 8 * size for kind, size in ELEMENT_SIZE.items()} | dict.fromkeys(UNPACKED, 4)


class TensorType(IntEnum):
    """`DML_TENSOR_TYPE`."""

    INVALID = 0
    BUFFER = 1


class TensorFlag(IntEnum):
    """`DML_TENSOR_FLAGS`; a bit field, so a tensor's flags are a plain integer."""

    NONE = 0
    OWNED_BY_DML = 1


def types(names: str) -> frozenset[DataType]:
    """`types("FLOAT32 FLOAT16")`: the set of these data types."""
    return frozenset(DataType[name] for name in names.split())


# The sets that the operators' tables are made of; each adds the name of the page's list to a search.
FLOATS = types("FLOAT32 FLOAT16")
UP_TO_32_BIT = FLOATS | types("INT32 INT16 INT8 UINT32 UINT16 UINT8")
UP_TO_64_BIT_NO_FLOAT64 = UP_TO_32_BIT | types("INT64 UINT64")
ALL = UP_TO_64_BIT_NO_FLOAT64 | types("FLOAT64")
INDEX_TYPES = types("INT64 INT32 UINT64 UINT32")
