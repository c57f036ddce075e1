"""Operator descriptors as DirectML's structs lie in memory, ready to be sent to the process that has the library.

The structs are laid out for the address at which that process receives them; each costs one `pack_into`. All pointers
point into the same block of memory:

    length of the block, 8 bytes | DML_OPERATOR_DESC | DML_x_OPERATOR_DESC | what its pointers point at, in its order

What a member looks like follows from the kind of its field. A count stands before the first array that it counts.

Source: DirectML.h in DirectX-Headers (MIT).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from dml_conformance.backends.base import Unsupported
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Field, OperatorDesc
from dml_conformance.spec.field_kinds import (
    OPERATOR,
    OPERATORS,
    SCALAR,
    SIZE_2D,
    TENSOR,
    TENSORS,
    ArrayKind,
    Kind,
    OptionalKind,
)
from dml_conformance.spec.tensor import TensorDesc

_T = TypeVar("_T")

# Native sizes and alignment throughout, as the C compiler has them.
HEADER = struct.Struct("@Q")
OPERATOR_DESC = struct.Struct("@IP")  # Type, Desc; DML_TENSOR_DESC looks the same
# DML_TENSOR_DESC {Type, Desc}, then DML_BUFFER_TENSOR_DESC {DataType, Flags, DimensionCount, Sizes, Strides,
# TotalTensorSizeInBytes, GuaranteedBaseOffsetAlignment} and what C adds to make its size a multiple of 8.
BUFFER_TENSOR_DESC = struct.Struct("@IIIPPQI0Q")
TENSOR_DESC = struct.Struct("@IPIIIPPQI0Q")
OPERATOR_DESC_AT = HEADER.size
OPERATOR_STRUCT_AT = OPERATOR_DESC_AT + OPERATOR_DESC.size

BLOCK_SIZE = 1 << 15  # bytes that the receiver sets aside

# How the number in a DML_SCALAR_UNION lies in its first bytes; two of the 4-bit ones share a byte, this is the first.
SCALAR_CODES = {
    DataType.FLOAT16: "e",
    DataType.FLOAT32: "f",
    DataType.FLOAT64: "d",
    DataType.UINT4: "B",
    DataType.INT4: "b",
    DataType.UINT8: "B",
    DataType.INT8: "b",
    DataType.UINT16: "H",
    DataType.INT16: "h",
    DataType.UINT32: "I",
    DataType.INT32: "i",
    DataType.UINT64: "Q",
    DataType.INT64: "q",
}


def beyond_structs(desc: OperatorDesc) -> str:
    """Why the API's structs cannot hold a descriptor; "" where they can."""
    try:
        _measuring_packer().pack(desc)
    except Unsupported as reason:
        return str(reason)
    return ""


@lru_cache(maxsize=1)
def _measuring_packer() -> Packer:
    return Packer(0)


class Packer:
    """Lays descriptors out for one receiver.

    Args:
        address: where the receiver will have the block, in its own memory.
    """

    def __init__(self, address: int) -> None:
        self._address = address
        self._block = bytearray(BLOCK_SIZE)
        self._end = 0  # of what is laid out so far
        self._layouts: dict[type[OperatorDesc], tuple[struct.Struct, tuple[_Member, ...]]] = {}

    def pack(self, desc: OperatorDesc) -> memoryview:
        """The block of a descriptor; good until the next call.

        Raises:
            Unsupported: the API has no way to say it: a number that does not fit its field, strides that are not as
                many as sizes, arrays that differ in length and share a count, a null in an array, or more than there is
                room for.
        """
        self._end = OPERATOR_STRUCT_AT
        try:
            at = self._struct(desc)
            OPERATOR_DESC.pack_into(self._block, OPERATOR_DESC_AT, desc.type_value, at)
        except (struct.error, OverflowError):
            reason = "a number does not fit its field, or there are too many"
            raise Unsupported(f"DirectML's structs cannot hold this descriptor: {reason}") from None
        HEADER.pack_into(self._block, 0, self._end)
        return memoryview(self._block)[: self._end]

    def _allocate(self, size: int) -> int:
        """Where something of that size may be laid out; a multiple of 8, as every struct here ends at one."""
        at = self._end
        self._end = at + (size + 7 & -8)
        return at

    def _struct(self, desc: OperatorDesc) -> int:
        """Lay out the struct of an operator and all that it points at. Returns its address."""
        layout = self._layouts.get(type(desc))
        if layout is None:
            fields = type(desc).fields
            layout = self._layouts[type(desc)] = struct.Struct(struct_format(fields)), _members(fields)
        struct_, members = layout
        at = self._allocate(struct_.size)
        values: list[Any] = []
        for attribute, write in members:
            write(self, values, getattr(desc, attribute), desc)
        struct_.pack_into(self._block, at, *values)
        return self._address + at

    def _tensor(self, tensor: TensorDesc) -> int:
        """Lay out one DML_TENSOR_DESC. Returns its address."""
        at = self._end
        self._end = at + TENSOR_DESC.size
        address = self._address + at
        TENSOR_DESC.pack_into(self._block, at, tensor.type, address + OPERATOR_DESC.size, *self._buffer(tensor))
        return address

    def _tensors(self, tensors: Sequence[TensorDesc]) -> int:
        """Lay out an array of DML_TENSOR_DESC. Returns its address."""
        at = self._allocate(OPERATOR_DESC.size * len(tensors))
        pairs: list[int] = []
        for tensor in _none_missing(tensors):
            inner = self._allocate(BUFFER_TENSOR_DESC.size)
            BUFFER_TENSOR_DESC.pack_into(self._block, inner, *self._buffer(tensor))
            pairs += (tensor.type, self._address + inner)
        _array("IP" * len(tensors)).pack_into(self._block, at, *pairs)
        return self._address + at

    def _buffer(self, tensor: TensorDesc) -> tuple[int, ...]:
        """The members of DML_BUFFER_TENSOR_DESC."""
        sizes, strides = tensor.sizes, tensor.strides
        count = len(sizes)
        if strides is not None and len(strides) != count:
            raise Unsupported(f"{len(strides)} strides for {count} sizes; DirectML has one DimensionCount for both")
        sizes_at = self._numbers(_uints(count), sizes)
        return (
            tensor.data_type,
            tensor.flags,
            count,
            sizes_at,
            0 if strides is None else self._numbers(_uints(count), strides),
            tensor.total_tensor_size_in_bytes,
            tensor.guaranteed_base_offset_alignment,
        )

    def _numbers(self, array: struct.Struct, numbers: Sequence[float]) -> int:
        at = self._end
        self._end = at + (array.size + 7 & -8)
        array.pack_into(self._block, at, *numbers)
        return self._address + at

    def _operators(self, descs: Sequence[OperatorDesc]) -> int:
        """Lay out an array of DML_OPERATOR_DESC. Returns its address."""
        at = self._allocate(OPERATOR_DESC.size * len(descs))
        pairs: list[int] = []
        for desc in _none_missing(descs):
            pairs += (desc.type_value, self._struct(desc))
        _array("IP" * len(descs)).pack_into(self._block, at, *pairs)
        return self._address + at


# Adds to the values of a struct what stands in it for the value of one field; the descriptor is for what it goes with.
_Write = Callable[[Packer, list[Any], Any, OperatorDesc], None]
_Member = tuple[str, _Write]  # the attribute, and how it is written


def _write_plain(packer: Packer, values: list[Any], value: Any, desc: OperatorDesc) -> None:
    values.append(value)


def _write_tensor(packer: Packer, values: list[Any], value: TensorDesc | None, desc: OperatorDesc) -> None:
    values.append(0 if value is None else packer._tensor(value))


def _write_operator(packer: Packer, values: list[Any], value: OperatorDesc | None, desc: OperatorDesc) -> None:
    values.append(0 if value is None else packer._operators((value,)))


def _write_size_2d(packer: Packer, values: list[Any], value: Any, desc: OperatorDesc) -> None:
    values += (value.width, value.height)


def _write_scale_bias(packer: Packer, values: list[Any], value: Any, desc: OperatorDesc) -> None:
    values.append(0 if value is None else packer._numbers(_array("2f"), (value.scale, value.bias)))


def _members(fields: Sequence[Field]) -> tuple[_Member, ...]:
    """How each field of an operator is written."""
    return tuple(
        (field.attribute, _array_writer(field, fields) if isinstance(field.kind, ArrayKind) else _writer(field))
        for field in fields
    )


def _writer(field: Field) -> _Write:
    if field.kind is SCALAR:
        return _scalar_writer(field.typed_by)
    if isinstance(field.kind, OptionalKind):
        return _write_scale_bias
    written: Mapping[Kind, _Write] = {TENSOR: _write_tensor, OPERATOR: _write_operator, SIZE_2D: _write_size_2d}
    return written.get(field.kind, _write_plain)


def _scalar_writer(typed_by: str) -> _Write:
    def write(packer: Packer, values: list[Any], value: float, desc: OperatorDesc) -> None:
        values.append(scalar_bits(value, getattr(desc, typed_by)))

    return write


def _array_writer(field: Field, fields: Sequence[Field]) -> _Write:
    """An array, with its count before it, unless another array with the same count stands before it."""
    laid_out: Mapping[Any, Callable[[Packer, Any], int]] = {TENSORS: Packer._tensors, OPERATORS: Packer._operators}
    lay_out = laid_out.get(field.kind) or _numbers_writer(field.kind.element.code)  # type: ignore[attr-defined]
    first = _first_of_count(field, fields)
    if first is field:

        def write(packer: Packer, values: list[Any], value: Any, desc: OperatorDesc) -> None:
            values += (len(value), lay_out(packer, value))

    else:

        def write(packer: Packer, values: list[Any], value: Any, desc: OperatorDesc) -> None:
            if len(value) != (count := len(getattr(desc, first.attribute))):
                words = f"{field.name} has {len(value)} entries, and {first.name} {count}"
                raise Unsupported(f"{words}; DirectML has one {field.count_field} for both")
            values.append(lay_out(packer, value))

    return write


def _numbers_writer(code: str) -> Callable[[Packer, Any], int]:
    return lambda packer, value: packer._numbers(_array(f"{len(value)}{code}"), value)


def _first_of_count(field: Field, fields: Sequence[Field]) -> Field:
    """The first of the arrays that share a count with this one."""
    return next(other for other in fields if other.count_field == field.count_field)


def struct_format(fields: Sequence[Field]) -> str:
    """The operator's struct in the notation of Python's struct module."""
    counted = {_first_of_count(field, fields) for field in fields if field.count_field}
    return "@" + "".join(("I" if field in counted else "") + field.kind.code for field in fields) + "0Q"


def scalar_bits(value: float, data_type: int) -> int:
    """The number of a DML_SCALAR_UNION as its 8 bytes have it, those that it does not need 0.

    Raises:
        Unsupported: the type has no such number.
        struct.error, OverflowError: likewise.
    """
    code = SCALAR_CODES.get(data_type)  # type: ignore[call-overload]
    if code is None:  # no type, so whatever stands there means nothing
        return 0
    if code not in "efd" and isinstance(value, float):
        if not value.is_integer():
            raise Unsupported("a number has a fraction, and its type is one of integers")
        value = int(value)
    return int.from_bytes(struct.pack(f"<{code}", value), "little")


def _none_missing(entries: Sequence[_T]) -> Sequence[_T]:
    """The entries of an array that has the structures themselves, not pointers to them."""
    if None in entries:
        raise Unsupported("an array's entries are structs in DirectML, none of which can be null")
    return entries


@lru_cache(maxsize=256)
def _array(code: str) -> struct.Struct:
    return struct.Struct("@" + code)


@lru_cache(maxsize=64)
def _uints(count: int) -> struct.Struct:
    return struct.Struct(f"@{count}I")
